"""Where a result goes: outputs, job summary, comment and log. Nothing here changes the verdict or the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from evaluator.config.types import Config
from evaluator.errors import Problem
from evaluator.github import files, no_verdict, permissions, tracking_issue
from evaluator.github.annotations import announce
from evaluator.github.client import Client
from evaluator.github.commands import Log
from evaluator.github.comments import NotPosted, Posted, Sticky, Superseded, marker, room
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.github.permissions import Lack, NoPermissionError
from evaluator.github.settling import Settled
from evaluator.redaction import Redactor
from evaluator.reports import comment as comment_report
from evaluator.reports import files as report_files
from evaluator.reports import summary as summary_report
from evaluator.reports import terminal
from evaluator.results import Run

OUTPUTS = (
    "verdict",
    "layer",
    "exit-code",
    "results",
    "pass-rate",
    "baseline",
    "accepted-by",
    "coverage",
    "regressed",
    "fixed",
    "comment-url",
    "cost-usd",
)

# Bytes of the job summary for what may have to be said below the report.
_SUMMARY_RESERVE = 20_000


def outputs(run: Run, code: int, results: str) -> dict[str, str]:
    """The step's outputs; a figure that this run does not have is empty, never 0. `results`: path of results.json."""
    passed = [
        attempt.passed
        for task in run.tasks
        for case in task.cases
        for attempt in case.attempts
        if attempt.status == "scored"
    ]
    compared = run.comparison.tasks if run.comparison else None
    return {
        "verdict": run.verdict,
        "layer": run.layer or "",
        "exit-code": str(code),
        "results": results,
        "pass-rate": f"{sum(map(bool, passed)) / len(passed):.4f}" if passed else "",
        "baseline": run.comparison.baseline if run.comparison else "",
        "accepted-by": run.accepted.by if run.accepted else "",
        "coverage": f"{run.totals.scored / run.totals.planned:.4f}" if run.totals.planned else "",
        "regressed": "" if compared is None else str(sum(len(task.regressed) for task in compared)),
        "fixed": "" if compared is None else str(sum(len(task.fixed) for task in compared)),
        "comment-url": "",  # written again once there is a comment: the last value of a name counts
        "cost-usd": _cost(run),
    }


def reports(output: Path, run: Run) -> None:
    """Writes what people read beside results.json, for a later step to upload."""
    report_files.write(output, run)


def result(
    environment: Environment,
    activity: Activity,
    client: Client,
    settled: Settled,
    log: Log,
    redactor: Redactor,
    *,
    config: Config,
) -> None:
    """Publishes a run. `config`: trap.yaml as the checkout has it. Outputs and summary come first, so that a comment
    that fails takes nothing with it."""
    inputs, run = environment.inputs, settled.run
    shown = terminal.render(run)
    with log.group("Report"):
        log.outside(shown)
    if settled.problem is not None:
        log.problem(redacted(settled.problem, redactor), title="trapgate: baseline not moved", inside=False)
    files.write_outputs(environment.output_file, outputs(run, settled.code, f"{inputs.output}/results.json"))
    summary = environment.summary_file
    text = summary_report.render(run, max_bytes=max(0, files.summary_room(summary) - _SUMMARY_RESERVE))
    files.append_summary(summary, text)
    announce(environment, config, run, log, redactor)
    comment(environment, activity, client, lambda most: comment_report.render(run, max_bytes=most), log)
    tracking_issue.publish(environment, activity, client, run, log)
    # Last, and in no group: what a reader opens the log for.
    log.outside(terminal.first_lines(shown))


def beginning(environment: Environment, activity: Activity, client: Client) -> None:
    """Puts a comment that there is no verdict yet in the place of one on an earlier commit.

    Raises NoPermissionError where the token may not comment: the run would be paid for, and its report would not reach
    the pull request. Whatever else stands in the way may be gone at the end, when it is tried again and told.
    """
    commit = activity.head_sha or environment.sha
    posted = _post(environment, activity, client, lambda _: no_verdict.of_beginning(commit), begun=True)
    if isinstance(posted, NotPosted) and posted.lacks:
        instead = "or do without one: `comment: false`"
        raise NoPermissionError(Lack(posted.lacks, posted.why.rstrip("."), "input comment", instead))


def no_result(output_file: Path, code: int) -> None:
    """Writes the outputs of a step that has no verdict, or removes those that tell one."""
    try:
        files.write_outputs(output_file, dict.fromkeys(OUTPUTS, "") | {"exit-code": str(code)})
    except OSError:  # a full disk has room for a file of nothing
        os.truncate(output_file, 0)
        raise


def comment(
    environment: Environment,
    activity: Activity,
    client: Client,
    text: Callable[[int], str],
    log: Log,
) -> None:
    """Posts what `text` gives for at most so many bytes, where the event and the inputs allow a comment: in place of
    the former one, which would else go on telling the verdict of another commit."""
    posted = _post(environment, activity, client, text)
    if isinstance(posted, NotPosted):
        _not_posted(environment, activity, posted, log)
    elif isinstance(posted, Superseded):
        files.append_summary(environment.summary_file, f"\n## Comment\n\n{verbatim(posted.why)}")
        log.line(posted.why)
    elif posted is not None:
        log.line(f"Comment: {posted.url}")
        files.write_outputs(environment.output_file, {"comment-url": posted.url})


def _post(
    environment: Environment,
    activity: Activity,
    client: Client,
    text: Callable[[int], str],
    *,
    begun: bool = False,
) -> Posted | Superseded | NotPosted | None:
    inputs = environment.inputs
    if not activity.comment or not inputs.comment or activity.pull_request is None:
        return None
    mark = marker(inputs.config, environment.job, inputs.model, inputs.tasks)
    commit, token = activity.head_sha or environment.sha, inputs.token or ""
    sticky = Sticky(client, environment.repository, activity.pull_request, mark, token, commit, environment.began)
    return sticky.post(text(room(mark)), begun=begun)


def _not_posted(environment: Environment, activity: Activity, posted: NotPosted, log: Log) -> None:
    needed = permissions.needed(environment, activity) if posted.lacks else ()
    lines = to_add(needed) if needed else ""
    files.append_summary(environment.summary_file, f"\n## Comment\n\n{verbatim(posted.why)}{lines}")
    mend = f" Add to the job: `{permissions.line(needed)}`." if needed else ""
    log.warning(posted.why + mend, title="trapgate: no comment")


def to_add(needed: tuple[str, ...]) -> str:
    """Markdown: the lines that grant a job what it needs."""
    return f"\n\nAdd to the job:\n\n{verbatim(permissions.block(needed))}"


def redacted(problem: Problem, redactor: Redactor) -> Problem:
    """`problem` without secrets."""
    clean = redactor.clean
    return replace(problem, file=clean(problem.file), message=clean(problem.message), mend=clean(problem.mend))


def verbatim(text: str) -> str:
    """Text from anywhere as an indented code block, in which Markdown has no meaning."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def _cost(run: Run) -> str:
    """Dollars of all models; empty where the price of any is not known."""
    totals = [each.totals for each in (run, *run.beside)]
    if any(each.cost_state != "known" for each in totals):
        return ""
    return f"{sum(each.cost_usd or 0.0 for each in totals):.6f}"
