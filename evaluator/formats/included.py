"""Which cases of a source a task of trap.yaml takes: its `include` filter, for every format."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from evaluator.config.types import Include, TaskConfig
from evaluator.errors import UserError, user_error


def included(case_id: str, tags: Collection[str], include: Include) -> bool:
    """Whether a case is in: it has one of the tags (if any are given) and matches one of the id globs (if any)."""
    tagged = not include.tags or bool(set(include.tags) & set(tags))
    return tagged and (not include.ids or any(fnmatchcase(case_id, glob) for glob in include.ids))


def nothing_left(config: TaskConfig, declared: int, chosen: int, *, none: str, listed_in: str) -> UserError:
    """`task-empty`: of `declared` cases `chosen` are included and none is to be run.

    `none`: what to do where the task has no case; `listed_in`: where ids and tags stand.
    """
    if not declared:
        message, mend = "the task has no case", none
    elif chosen:
        message, mend = "every case that is included is marked skip", "Include others, or leave the task out."
    else:
        message = f"include leaves none of the {declared} cases"
        mend = f"Check the tags and the id globs against {listed_in}."
    return user_error("task-empty", message, where=f"tasks.{config.name}", mend=mend)


def some(ids: list[str]) -> str:
    """The first ids, and how many more there are."""
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


def text_calls_of(config: TaskConfig, format_name: str) -> bool:
    """The option `text_calls` of a format that has no other. Raises UserError `task-option`."""
    for key, value in config.options.items():
        if key != "text_calls":
            message = f"unknown option {key}; the format {format_name} has text_calls"
        elif not isinstance(value, bool):
            message = "text_calls is true or false"
        else:
            continue
        raise user_error("task-option", message, where=f"tasks.{config.name}.options")
    return bool(config.options.get("text_calls", True))
