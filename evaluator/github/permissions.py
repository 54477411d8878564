"""Permissions of the job's token: which ones a job needs, the lines that grant them, and what is said where they lack.

The `permissions` of a job are all that it has: whoever adds one by name takes away every one that they leave out. So a
message names all that the job needs with its inputs, not only what is missing now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType

from evaluator.errors import Problem, UserError, user_error
from evaluator.github.client import Failure
from evaluator.github.environment import Environment
from evaluator.github.events import Activity

CODE = "github-permission"
RENEW = "Leave the input `github-token` out, so that it is the job's own token, or renew it."

_ORDER = ("contents", "pull-requests", "issues", "actions")
_LEVELS = ("read", "write")


@dataclass(frozen=True)
class Lack:
    """A permission that a token lacks. `why`: what could not be done; `where`: the setting that asks for it; `instead`:
    how to do without, as the end of a sentence, empty where nobody can."""

    permission: str
    why: str
    where: str
    instead: str = ""


class NoPermissionError(UserError):
    """What a token lacks, and the line to add to the job, with all of `needed` in it."""

    def __init__(self, *missing: Lack, needed: Iterable[str] = ()) -> None:
        self.missing = missing
        self.needed = union(*needed, *(each.permission for each in missing))
        add = f"Add to the job: `{line(self.needed)}`"
        problems = [
            Problem(each.where, 0, 0, each.why, f"{add}{'; ' + each.instead if each.instead else ''}.")
            for each in missing
        ]
        super().__init__(CODE, *problems)


def refused(failure: Failure, lack: Lack) -> UserError:
    """The error for a token that GitHub refuses: a permission that it lacks, or (401) that it is none, which no
    permission mends."""
    if failure.status == 401:
        return user_error(CODE, lack.why, where=lack.where, mend=RENEW)
    return NoPermissionError(lack)


class Checks:
    """Lets what is checked before anything is paid for fail together, as one error.

    Used as a context around each check: a NoPermissionError inside is kept, and `refuse` raises what was kept.
    """

    def __init__(self) -> None:
        self._missing: list[Lack] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if not isinstance(error, NoPermissionError):
            return False
        self._missing += error.missing
        return True

    def refuse(self) -> None:
        """Raises NoPermissionError with everything that was found to be missing."""
        if self._missing:
            raise NoPermissionError(*self._missing)


def needed(settings: Environment, activity: Activity) -> tuple[str, ...]:
    """Every permission that this job needs on this event, given its inputs."""
    inputs = settings.inputs
    if inputs.mode == "publish":  # nothing is checked out
        return union("actions: read", "pull-requests: write")
    wanted = ["contents: write" if inputs.move_baseline else "contents: read"]
    if inputs.comment and activity.comment:
        wanted.append("pull-requests: write")
    elif inputs.move_baseline and activity.before is not None:
        wanted.append("pull-requests: read")  # which pull request was merged
    if inputs.tracking_issue:
        wanted.append("issues: write")
    return union(*wanted)


def completed(error: UserError, needed: Iterable[str]) -> UserError:
    """`error`, where it is about permissions with all that the job needs in the line to add."""
    return NoPermissionError(*error.missing, needed=needed) if isinstance(error, NoPermissionError) else error


def union(*permissions: str) -> tuple[str, ...]:
    """One entry a scope, at the highest level that is asked for, in a fixed order."""
    levels: dict[str, str] = {}
    for permission in permissions:
        scope, level = permission.split(": ")
        levels[scope] = max(level, levels.get(scope, level), key=_LEVELS.index)
    return tuple(f"{scope}: {levels[scope]}" for scope in sorted(levels, key=_place))


def line(permissions: Iterable[str]) -> str:
    """The permissions as one line of YAML."""
    return f"permissions: {{{', '.join(permissions)}}}"


def block(permissions: Iterable[str]) -> str:
    """The permissions as lines of YAML for a job."""
    return "permissions:" + "".join(f"\n  {permission}" for permission in permissions)


def _place(scope: str) -> tuple[int, str]:
    return (_ORDER.index(scope) if scope in _ORDER else len(_ORDER), scope)
