"""One issue that stays open while scheduled runs do not pass: nobody looks at a night's run by itself.

It is found again by a hidden marker, as the comment on a pull request is, among the open issues that this token's own
identity wrote. Nothing here changes the verdict or the exit code.
"""

from __future__ import annotations

from typing import Any, Literal

from evaluator.github import files, permissions
from evaluator.github.authorship import Author
from evaluator.github.client import Answer, Client, Failure, an_object
from evaluator.github.commands import Log
from evaluator.github.comments import LONGEST_BODY, marker
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.github.permissions import Lack, NoPermissionError
from evaluator.reports import comment as comment_report
from evaluator.reports.escape import code, shorten, visible
from evaluator.reports.headline import headline
from evaluator.results import Run

PERMISSION = "issues: write"

# Characters that GitHub takes in a title. We count bytes, which are never fewer.
_LONGEST_TITLE = 256
_TITLE = "trapgate: no tracking issue"


def wanted(settings: Environment, activity: Activity) -> bool:
    """Whether this run keeps an issue."""
    return settings.inputs.tracking_issue and activity.tracking


def check(settings: Environment, activity: Activity, client: Client) -> None:
    """Raises NoPermissionError where the token may not write issues; nothing else is an error here.

    What is asked for is an issue without a title: GitHub looks at the permission first, and then refuses (422).
    """
    if not wanted(settings, activity):
        return
    answer = client.send("POST", f"/repos/{settings.repository}/issues", permission=PERMISSION, body={})
    if isinstance(answer, Failure) and _lacks(answer):
        why = f"the tracking issue could not be written: {answer.message}"
        raise NoPermissionError(
            Lack(PERMISSION, why, "input tracking-issue", "or do without one: `tracking-issue: false`")
        )


def publish(settings: Environment, activity: Activity, client: Client, run: Run, log: Log) -> None:
    """Opens the issue of this run's configuration and job or writes it anew; where the run passes, closes it."""
    if not wanted(settings, activity):
        return
    inputs = settings.inputs
    mark = marker(inputs.config, settings.job, inputs.model, inputs.tasks)
    issue = TrackingIssue(client, settings.repository, mark, inputs.token or "")
    if run.verdict == "pass":
        told = issue.close(f"A scheduled run of {code((run.commit or settings.sha)[:12])} passes.")
    else:
        title = shorten(visible(f"trapgate: {run.verdict} — {headline(run)}"), _LONGEST_TITLE)
        room = LONGEST_BODY - len(mark) - 1
        told = issue.keep(title, comment_report.render(run, max_bytes=room))
    if isinstance(told, Failure):
        _not_kept(settings, activity, told, log)
    elif told:
        log.line(f"Tracking issue: {told}")


class TrackingIssue:
    """The open issue of `repository` that begins with `mark` and was written with `token`."""

    def __init__(self, client: Client, repository: str, mark: str, token: str) -> None:
        self._client, self._path, self._mark = client, f"/repos/{repository}/issues", mark
        self._author = Author(client, token)

    def keep(self, title: str, text: str) -> str | Failure:
        """Writes the issue and returns its address. Runs at once may each open one: the lowest number stays."""
        content = {"title": title, "body": f"{self._mark}\n{text}"}
        found = self._open()
        if isinstance(found, Failure):
            return found
        written = self._edit(found[0], content) if found else self._send("POST", self._path, content)
        if isinstance(written, Failure):
            return written
        found = self._open()
        if isinstance(found, Failure):
            return _address(written)
        first, *others = sorted({written["number"], *found})
        if first != written["number"]:
            kept = self._edit(first, content)
            if isinstance(kept, Failure):
                return kept
            written = kept
        for other in others:
            self._edit(other, {"state": "closed", "state_reason": "not_planned"})
        return _address(written)

    def close(self, why: str) -> str | Failure:
        """Closes the issue, and says why in a comment; returns its address, empty where there was none."""
        found = self._open()
        if isinstance(found, Failure):
            return found
        address = ""
        for number in found:
            closed = self._edit(number, {"state": "closed", "state_reason": "completed"})
            if isinstance(closed, Failure):
                return closed
            address = address or _address(closed)
            # After the closing: where that fails, the next run that passes would say it once more.
            self._send("POST", f"{self._path}/{number}/comments", {"body": why})
        return address

    def _open(self) -> list[int] | Failure:
        """Numbers of one's own open issues with the marker. GitHub lists pull requests among the issues."""
        if self._author.failure is not None:
            return self._author.failure
        issues = self._client.items(self._path, permission=PERMISSION, params={"state": "open"})
        if isinstance(issues, Failure):
            return issues
        own = [issue for issue in issues if "pull_request" not in issue and self._author.wrote(issue, self._mark)]
        return sorted(issue["number"] for issue in own if isinstance(issue.get("number"), int))

    def _edit(self, number: int, content: dict[str, str]) -> dict[str, Any] | Failure:
        return self._send("PATCH", f"{self._path}/{number}", content)

    def _send(self, method: Literal["POST", "PATCH"], path: str, content: dict[str, str]) -> dict[str, Any] | Failure:
        answer = self._client.send(method, path, permission=PERMISSION, body=content)
        issue = an_object(answer) if isinstance(answer, Answer) else answer
        if isinstance(issue, dict) and not isinstance(issue.get("number", issue.get("id")), int):
            return Failure("malformed", "the server's answer has no number")
        return issue


def _address(issue: dict[str, Any]) -> str:
    return str(issue.get("html_url") or f"#{issue['number']}")


def _lacks(failure: Failure) -> bool:
    """Whether a permission is missing. GitHub answers 404 where a token may not even know of a private repository, and
    410 where the repository has no issues."""
    return failure.kind in ("permission", "not_found") and failure.status not in (401, 410)


def _not_kept(settings: Environment, activity: Activity, failure: Failure, log: Log) -> None:
    why = f"The tracking issue could not be written: {failure.message.rstrip('.')}."
    if _lacks(failure):
        why += f" Add to the job: `{permissions.line(permissions.needed(settings, activity))}`."
    elif failure.status == 401:
        why += f" {permissions.RENEW}"
    files.append_summary(settings.summary_file, f"\n## Tracking issue\n\n    {why}\n")
    log.warning(why, title=_TITLE)
