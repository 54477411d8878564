"""How a run ends that has no verdict: an error of the user's, a cancelled job, a bug of ours. Each is told everywhere
that a verdict would be told, in the place of one."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evaluator import pipeline
from evaluator.baselines.file import write_atomically
from evaluator.errors import EXIT_CONFIGURATION, EXIT_INCONCLUSIVE, EXIT_INTERNAL, UserError
from evaluator.github import files, no_verdict, permissions, publish
from evaluator.github.annotations import ROOM
from evaluator.github.client import Client
from evaluator.github.commands import Log
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.github.permissions import NoPermissionError
from evaluator.redaction import Redactor
from evaluator.reports import junit


def user_error(
    environment: Environment, activity: Activity, client: Client, error: UserError, log: Log, redactor: Redactor
) -> None:
    """Publishes what the user has to mend: annotations, and every problem in summary, comment and junit.xml."""
    error = permissions.completed(error, permissions.needed(environment, activity))
    lines = publish.to_add(error.needed) if isinstance(error, NoPermissionError) else ""
    # Before anything is escaped: a secret is known by its value.
    error = UserError(error.code, *(publish.redacted(problem, redactor) for problem in error.problems))
    commit = activity.head_sha or environment.sha
    ending = _Ending(
        code=EXIT_CONFIGURATION,
        title=f"configuration error (`{error.code}`)",
        word=error.code,
        text=str(error),
        more=lines,
        say=lambda: problems(error, log, environment.workspace),
        comment=lambda most: no_verdict.of_error(error, commit, most),
        # What is wrong may be the folder itself.
        reports=not any(problem.file == "input output" for problem in error.problems),
    )
    _end(environment, activity, client, ending, log)


def cancelled(environment: Environment, activity: Activity, client: Client, signal: str, log: Log) -> None:
    """Publishes that a run was stopped before it began."""
    text, commit = f"Cancelled ({signal}) before anything was evaluated.", activity.head_sha or environment.sha
    ending = _Ending(
        code=EXIT_INCONCLUSIVE,
        title="cancelled",
        word="cancelled",
        text=text,
        say=lambda: log.warning(text, title="trapgate: cancelled"),
        comment=lambda _: no_verdict.of_cancelled(text, commit),
    )
    _end(environment, activity, client, ending, log)


def crash(environment: Environment, activity: Activity, client: Client, error: BaseException, log: Log) -> None:
    """Publishes a bug of ours, in the place of what the run has said of a verdict. Never raises."""
    text, commit = crash_text(error), activity.head_sha or environment.sha
    ending = _Ending(
        code=EXIT_INTERNAL,
        title="internal error",
        word="internal-error",
        text=text,
        say=lambda: log.error(text, title="trapgate: internal error"),
        comment=lambda _: no_verdict.of_crash(text, commit),
    )
    _end(environment, activity, client, ending, log)


@dataclass(frozen=True)
class _Ending:
    """A run without a verdict. `word`: for programs; `more`: Markdown below `text` in the summary; `say`: tells the
    log; `comment`: Markdown of at most so many bytes; `reports`: whether the output folder is known."""

    code: int
    title: str
    word: str
    text: str
    say: Callable[[], None]
    comment: Callable[[int], str]
    more: str = ""
    reports: bool = True


def _end(environment: Environment, activity: Activity, client: Client, ending: _Ending, log: Log) -> None:
    """The outputs come first, the last value of a name counts. Any sink may be what broke, or break in the same way
    once more: none takes another with it."""
    sinks: dict[str, Callable[[], None]] = {
        "outputs": lambda: publish.no_result(environment.output_file, ending.code),
        "log": ending.say,
        "report": lambda: _no_reports(environment, ending),
        "summary": lambda: _no_verdict(environment.summary_file, ending),
        "comment": lambda: publish.comment(environment, activity, client, ending.comment, log),
    }
    for name, write in sinks.items():
        try:
            write()
        except Exception as broken:
            with contextlib.suppress(Exception):
                text = f"The {name} could not be written: {type(broken).__name__}."
                log.warning(text, title=f"trapgate: no {name}")


def _no_reports(environment: Environment, ending: _Ending) -> None:
    """Removes the files of this run, or of one before it, that tell a verdict. The test of junit.xml is an error."""
    if environment.inputs.mode == "publish" or not ending.reports:
        return
    output = files.output_folder(environment.workspace, environment.inputs.output)
    pipeline.clear(output)
    text = junit.no_verdict(ending.word, ending.text, environment.began.isoformat())
    write_atomically(output / "junit.xml", text.encode())
    files.give_to_owner(environment.workspace, output)


def _no_verdict(summary: Path, ending: _Ending) -> None:
    said = "**There is no verdict: what stands above is none.**" if summary.stat().st_size else "There is no verdict."
    text = f"## trapgate: {ending.title}\n\n{said}\n\n{publish.verbatim(ending.text)}{ending.more}"
    files.append_summary(summary, text)


def problems(error: UserError, log: Log, workspace: Path | None = None) -> None:
    """Prints each problem as an annotation, in `workspace` at its line. Where they are more than GitHub shows, the rest
    as lines, and how many in the last annotation."""
    title, most = f"trapgate: {error.code}", len(error.problems) if len(error.problems) <= ROOM else ROOM - 1
    for problem in error.problems[:most]:
        log.problem(problem, title=title, inside=workspace is not None and _inside(workspace, problem.file))
    if rest := error.problems[most:]:
        log.outside("\n".join(map(str, rest)))
        log.error(f"… and {len(rest)} more: all of them are in the log and in the job summary.", title=title)


def crash_text(error: BaseException) -> str:
    """What broke and where. Not the exception's message, which may quote a secret or a model."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"Internal error: {type(error).__name__}{place}. This is a fault of trapgate, not of the change. Report it."


def _inside(workspace: Path, file: str) -> bool:
    """Whether GitHub can show an annotation on `file`."""
    return bool(file) and not Path(file).is_absolute() and (workspace / file).is_file()
