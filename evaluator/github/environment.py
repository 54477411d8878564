"""What the Actions runner tells the action: settings and inputs, read once from the environment and checked together.

Source: GitHub's documentation, "Variables reference" and "Metadata syntax" (inputs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeGuard
from urllib.parse import urlsplit

from evaluator.errors import Problem, UserError

DEFAULT_CONFIG = "trap.yaml"
DEFAULT_OUTPUT = "trapgate-results"
DEFAULT_LABEL = "trapgate:accept"
MODES = ("evaluate", "publish")

_CODE = "action-environment"

# Of the runner itself: with these one can write to its caches and ask for cloud credentials in the workflow's name.
_RUNNER_SECRETS = re.compile(r"^(ACTIONS_.*|INPUT_GITHUB-TOKEN|GITHUB_TOKEN|GH_TOKEN)$")

_UTC = re.compile(r"[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}(\.[0-9]{1,6})?Z")


@dataclass(frozen=True)
class Inputs:
    """The action's inputs. None: not given, and so decided by trap.yaml. Paths are relative to the workspace."""

    config: str = DEFAULT_CONFIG
    model: str | None = None
    tasks: tuple[str, ...] | None = None
    baseline: str | None = None
    token: str | None = field(default=None, repr=False)
    comment: bool = True
    output: str = DEFAULT_OUTPUT
    unsafe_judges: bool = False
    move_baseline: bool = False
    skip_unchanged: bool = False
    accept_label: str = DEFAULT_LABEL
    mode: str = MODES[0]
    artifact: str = DEFAULT_OUTPUT
    tracking_issue: bool = False
    allow_pull_request_target: bool = False


@dataclass(frozen=True)
class Environment:
    """The runner's settings. `repository` is `owner/name`; the URLs have no trailing slash; `began`: when this run of
    the action did."""

    api_url: str
    server_url: str
    event_name: str
    event_path: Path
    repository: str
    sha: str
    ref: str
    job: str
    workspace: Path
    runner_temp: Path
    output_file: Path
    summary_file: Path
    began: datetime
    inputs: Inputs


class InputsError(UserError):
    """Inputs are wrong, and they alone. `environment`: the settings, with the default in the place of each of these."""

    def __init__(self, environment: Environment, *problems: Problem) -> None:
        self.environment = environment
        super().__init__(_CODE, *problems)


def read(environ: Mapping[str, str], began: datetime | None = None) -> Environment:
    """The settings in `environ`. `began`: when the run of the action did, now where it does so here.

    Raises UserError `action-environment` that names every missing or malformed one: an InputsError where all of them
    are inputs.
    """
    reader = _Reader(environ)
    environment = Environment(
        api_url=reader.setting("GITHUB_API_URL", _url),
        server_url=reader.setting("GITHUB_SERVER_URL", _url),
        event_name=reader.setting("GITHUB_EVENT_NAME"),
        event_path=Path(reader.setting("GITHUB_EVENT_PATH", _file)),
        repository=reader.setting("GITHUB_REPOSITORY", _repository),
        sha=reader.setting("GITHUB_SHA", _sha),
        ref=environ.get("GITHUB_REF", ""),
        job=environ.get("GITHUB_JOB", ""),
        workspace=Path(reader.setting("GITHUB_WORKSPACE", _folder)),
        runner_temp=Path(reader.setting("RUNNER_TEMP", _folder)),
        output_file=Path(reader.setting("GITHUB_OUTPUT", _file)),
        summary_file=Path(reader.setting("GITHUB_STEP_SUMMARY", _file)),
        began=began or datetime.now(UTC),
        inputs=reader.inputs(),
    )
    if reader.problems:
        raise UserError(_CODE, *reader.problems, *reader.wrong_inputs)
    if reader.wrong_inputs:
        raise InputsError(environment, *reader.wrong_inputs)
    return environment


def without_runner_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` for everything that is not GitHub: provider keys stay, the runner's and GitHub's own tokens do not."""
    return {name: value for name, value in environ.items() if not _RUNNER_SECRETS.match(name)}


class _Reader:
    """Reads one variable after the other and collects what is wrong with them: `problems` with settings of the runner,
    `wrong_inputs` with inputs."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[Problem] = []
        self.wrong_inputs: list[Problem] = []

    def setting(self, name: str, fault: Callable[[str], str | None] = lambda _: None) -> str:
        """The value of `name`; where it is missing or `fault` finds one, a problem is kept and the text returned."""
        value = self._environ.get(name, "").strip()
        what = fault(value) if value else "is not set"
        if what:
            mend = "The Actions runner sets it; outside of a workflow use `trapgate run`."
            self.problems.append(Problem(name, 0, 0, what, mend))
        return value.rstrip("/") if fault is _url else value

    def inputs(self) -> Inputs:
        """The inputs; an empty one is unset, since the runner passes every declared input. Where a problem is kept, the
        default stands in."""
        tasks = tuple(part.strip() for part in re.split(r"[,\n]", self._input("tasks") or "") if part.strip())
        return Inputs(
            config=self._path("config") or DEFAULT_CONFIG,
            model=self._input("model"),
            tasks=tasks or None,
            baseline=self._path("baseline"),
            token=self._input("github-token"),
            comment=self._boolean("comment", default=True),
            output=self._path("output") or DEFAULT_OUTPUT,
            unsafe_judges=self._boolean("unsafe-judges", default=False),
            move_baseline=self._boolean("move-baseline", default=False),
            skip_unchanged=self._boolean("skip-unchanged", default=False),
            accept_label=self._input("accept-label") or DEFAULT_LABEL,
            mode=self._mode(),
            artifact=self._input("artifact") or DEFAULT_OUTPUT,
            tracking_issue=self._boolean("tracking-issue", default=False),
            allow_pull_request_target=self._boolean("allow-pull-request-target", default=False),
        )

    def _input(self, name: str) -> str | None:
        return self._environ.get("INPUT_" + name.upper(), "").strip() or None

    def _path(self, name: str) -> str | None:
        value = self._input(name)
        if value and (value.startswith("/") or ".." in Path(value).parts or "\0" in value):
            mend = "Give a path inside the workspace, such as `evals/trap.yaml`."
            self.wrong_inputs.append(Problem(f"input {name}", 0, 0, f"`{value}` leaves the workspace", mend))
            return None
        return value

    def _mode(self) -> str:
        value = self._input("mode") or MODES[0]
        if value not in MODES:
            mend = f"Give {' or '.join(f'`{mode}`' for mode in MODES)}."
            self.wrong_inputs.append(Problem("input mode", 0, 0, f"`{value}` is no mode", mend))
            return MODES[0]
        return value

    def _boolean(self, name: str, *, default: bool) -> bool:
        value = self._input(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            self.wrong_inputs.append(Problem(f"input {name}", 0, 0, f"`{value}` is neither `true` nor `false`"))
            return default
        return value.lower() == "true"


def _url(value: str) -> str | None:
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - raises where it is none
    except ValueError:
        return f"`{value}` is not a URL"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        return f"`{value}` is not an http or https URL of a server"
    return None


def _repository(value: str) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+", value) or ".." in value.split("/"):
        return f"`{value}` is not of the form owner/name"
    return None


def _sha(value: str) -> str | None:
    return None if is_commit(value) else f"`{value}` is not a full commit id"


def _folder(value: str) -> str | None:
    return None if Path(value).is_dir() else f"`{value}` is not a folder"


def _file(value: str) -> str | None:
    return None if Path(value).is_file() else f"`{value}` is not a file"


def is_commit(value: object) -> TypeGuard[str]:
    """Whether `value` is a full git object id (SHA-1 or SHA-256)."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", value) is not None


def utc(value: object) -> datetime | None:
    """The time that `value` is, in ISO 8601 and UTC as GitHub writes it, with or without a fraction of a second; None
    where it is none."""
    if not isinstance(value, str) or not _UTC.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:  # of a month 13
        return None
