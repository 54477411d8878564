"""The second stage: comments what the run of a fork or of Dependabot, which may not comment, has left in an artifact.

No code of the pull request is run and nothing is checked out. The comment is that run's own word: no status is set and
no check created, and exit code 0 means published or nothing to publish, never that a change passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from evaluator.errors import EXIT_INCONCLUSIVE, EXIT_PASS, user_error
from evaluator.github import artifacts, downloads, files, foreign_result, workflow_run
from evaluator.github.artifacts import MOST_ARCHIVE_BYTES, MOST_ARTIFACTS, Artifact, UnusableError
from evaluator.github.client import Client, Failure
from evaluator.github.commands import Log
from evaluator.github.comments import NotPosted, Sticky, Superseded, marker, room
from evaluator.github.environment import Environment
from evaluator.github.foreign_result import Report
from evaluator.github.permissions import CODE, RENEW, Lack, NoPermissionError
from evaluator.github.publish import no_result
from evaluator.github.workflow_run import FirstRun
from evaluator.redaction import Redactor
from evaluator.reports.escape import code, log_text, prose
from evaluator.reports.reported import without_signs

ACTIONS, COMMENTS = "actions: read", "pull-requests: write"

# Of the job summary, for what is said beside the reports.
_SUMMARY_RESERVE = 50_000
_LEAST_SUMMARY = 2_000
_TITLE = "trapgate: not published"
_WHERE = "input mode"

T = TypeVar("T")


@dataclass(frozen=True)
class Ending:
    """What became of a run or of one of its artifacts. `nothing`: there was nothing to do; `unusable`: something was
    there and is not used; `unavailable`: GitHub could not be asked, or does not take the comment. `text`: why, as
    sentences."""

    state: Literal["published", "nothing", "unusable", "unavailable"]
    text: str
    artifact: str = ""
    url: str = ""


def publish(settings: Environment, event: Mapping[str, Any], client: Client, log: Log, redactor: Redactor) -> int:
    """Comments what the run that `event` names has reported; returns the exit code: 0 published or nothing to publish,
    3 GitHub could not be asked, or does not take the comment.

    Raises UserError for another event, and where the token lacks a permission.
    """
    run = workflow_run.read(settings.event_name, event, settings.repository)
    endings = []
    for ending in _Stage(settings, client, run, redactor).endings():
        _say(ending, log, redactor)
        endings.append(ending)
    lines = "".join(_line(ending) for ending in endings)
    files.append_summary(settings.summary_file, f"\n## trapgate: second stage\n\n{redactor.clean(lines)}")
    exit_code = EXIT_INCONCLUSIVE if any(ending.state == "unavailable" for ending in endings) else EXIT_PASS
    no_result(settings.output_file, exit_code)  # no verdict: nothing was evaluated here
    for ending in endings:
        if ending.url:
            files.write_outputs(settings.output_file, {"comment-url": ending.url})
    return exit_code


def _say(ending: Ending, log: Log, redactor: Redactor) -> None:
    about = f"Artifact {ending.artifact}: " if ending.artifact else ""
    text = log_text(redactor.clean(f"{about}{ending.text} {ending.url}".rstrip()))
    if ending.state == "unusable":
        log.warning(text, title=_TITLE)
    elif ending.state == "unavailable":
        log.error(text, title=_TITLE)
    else:
        log.line(text)


def _line(ending: Ending) -> str:
    about = f"{code(without_signs(ending.artifact))}: " if ending.artifact else ""
    return f"- {about}{prose(without_signs(ending.text))}\n"


class _UnavailableError(Exception):
    """GitHub could not be asked, in words."""


class _Stage:
    """What is done about one run."""

    def __init__(self, settings: Environment, client: Client, run: FirstRun, redactor: Redactor) -> None:
        self._settings, self._client, self._run, self._redactor = settings, client, run, redactor

    def endings(self) -> Iterator[Ending]:
        """What becomes of the run, or of each of its artifacts as soon as it is known."""
        if why := workflow_run.nothing_to_publish(self._run):
            yield Ending("nothing", why)
            return
        try:
            found = self._pull_request()
            if isinstance(found, Ending):
                yield found
                return
            chosen = self._artifacts()
        except _UnavailableError as error:
            yield Ending("unavailable", str(error))
            return
        if not chosen:
            yield self._no_artifact()
        for artifact in chosen[:MOST_ARTIFACTS]:
            yield self._of_artifact(artifact, found, min(len(chosen), MOST_ARTIFACTS))
        if len(chosen) > MOST_ARTIFACTS:
            left = len(chosen) - MOST_ARTIFACTS
            yield Ending("unusable", f"{left} more artifacts are left out: at most {MOST_ARTIFACTS} are read.")

    def _pull_request(self) -> int | Ending:
        """The open pull request whose head is the run's commit, on the run's branch of the run's repository."""
        run, here = self._run, self._settings.repository
        query = {"state": "open", "head": f"{run.owner}:{run.branch}"}
        listed = self._known(
            self._client.items(f"/repos/{here}/pulls", permission=COMMENTS, params=query),
            COMMENTS,
            "The pull request cannot be found",
        )
        numbers = [
            pull["number"]
            for pull in listed
            if type(pull.get("number")) is int
            and workflow_run.at(pull, "state") == "open"
            and workflow_run.at(pull, "head", "sha") == run.commit
            and workflow_run.at(pull, "head", "repo", "full_name") == run.repository
            and workflow_run.at(pull, "base", "repo", "full_name") == here
        ]
        if not numbers:
            return Ending(
                "nothing",
                f"No open pull request has the commit {run.commit[:12]} as its head: a newer one was pushed, or it is "
                "closed.",
            )
        if len(numbers) > 1:
            return Ending(
                "unusable",
                f"{len(numbers)} open pull requests have the commit {run.commit[:12]} as their head, and GitHub does "
                "not say which one the run was of.",
            )
        return int(numbers[0])

    def _artifacts(self) -> list[Artifact]:
        run, wanted = self._run, self._settings.inputs.artifact
        listed = self._known(
            self._client.items(
                f"/repos/{self._settings.repository}/actions/runs/{run.id}/artifacts",
                permission=ACTIONS,
                params={} if wanted.endswith("*") else {"name": wanted},
                member="artifacts",
            ),
            ACTIONS,
            "The artifacts of the run cannot be listed",
        )
        return artifacts.chosen(listed, wanted, run.id)

    def _no_artifact(self) -> Ending:
        run, wanted = self._run, self._settings.inputs.artifact
        text = f"The run, which ended as `{run.conclusion}`, has left no artifact `{wanted}`."
        return Ending("nothing" if run.conclusion == "cancelled" else "unusable", text)

    def _of_artifact(self, artifact: Artifact, number: int, of: int) -> Ending:
        try:
            report = self._report(artifact, of)
            now = self._pull_request()  # the tip may have moved while the artifact was read
        except UnusableError as error:
            return Ending("unusable", f"Nothing of it is used: {error}.", artifact.name)
        except _UnavailableError as error:
            return Ending("unavailable", str(error), artifact.name)
        if isinstance(now, Ending):
            return Ending(now.state, now.text, artifact.name)
        files.append_summary(self._settings.summary_file, self._redactor.clean(report.summary))
        return self._post(report, artifact, number)

    def _report(self, artifact: Artifact, of: int) -> Report:
        if artifact.expired:
            raise UnusableError("it has expired")
        if artifact.size > MOST_ARCHIVE_BYTES:
            raise UnusableError(f"it has {artifact.size:,} bytes, more than the {MOST_ARCHIVE_BYTES:,} that are read")
        summary_room = (files.summary_room(self._settings.summary_file) - _SUMMARY_RESERVE) // of
        return foreign_result.report(
            self._archive(artifact),
            commit=self._run.commit,
            by=self._run.by,
            comment_bytes=room(self._mark(artifact)),
            summary_bytes=max(_LEAST_SUMMARY, summary_room),
        )

    def _archive(self, artifact: Artifact) -> bytes:
        found = downloads.fetch(
            self._client,
            f"/repos/{self._settings.repository}/actions/artifacts/{artifact.id}/zip",
            permission=ACTIONS,
            scheme=urlsplit(self._settings.api_url).scheme,
            bounds=downloads.Bounds(most=MOST_ARCHIVE_BYTES),
        )
        if isinstance(found, Failure) and found.kind in ("not_found", "malformed"):
            raise UnusableError(f"it cannot be downloaded ({found.message})")
        return self._known(found, ACTIONS, "The artifact cannot be downloaded")

    def _mark(self, artifact: Artifact) -> str:
        """Another one than that of a run which comments itself: neither edits the comment of the other."""
        return marker(f"publish:{artifact.name}", self._settings.job)

    def _post(self, report: Report, artifact: Artifact, number: int) -> Ending:
        settings, run = self._settings, self._run
        if not settings.inputs.comment:
            return Ending("nothing", "The report is in this summary alone (`comment: false`).", artifact.name)
        mark = self._mark(artifact)
        began = run.began or datetime.now(UTC)
        token = settings.inputs.token or ""
        sticky = Sticky(self._client, settings.repository, number, mark, token, run.commit, began)
        posted = sticky.post(self._redactor.clean(report.comment))
        if isinstance(posted, Superseded):
            return Ending("nothing", posted.why, artifact.name)
        if isinstance(posted, NotPosted):
            if posted.lacks:
                raise NoPermissionError(Lack(COMMENTS, posted.why, _WHERE))
            return Ending("unavailable", posted.why, artifact.name)
        return Ending("published", f"Published on pull request {number}.", artifact.name, posted.url)

    def _known(self, found: T | Failure, permission: str, what: str) -> T:
        if not isinstance(found, Failure):
            return found
        why = f"{what}: {found.message.rstrip('.')}"
        if found.status == 401:
            raise user_error(CODE, why, where="input github-token", mend=RENEW)
        # GitHub answers 404 where a token may not even know that there is something.
        if found.kind in ("permission", "not_found"):
            raise NoPermissionError(Lack(permission, why, _WHERE))
        raise _UnavailableError(f"{why}.")
