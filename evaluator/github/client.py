"""GitHub's REST API: one request after the other, with patience that has a limit, and failures as values.

Sources: GitHub's documentation, "Best practices for using the REST API" (rate limits, redirects) and "Using pagination
in the REST API".
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import requests

from evaluator.github import limits, urls
from evaluator.transcript import well_formed

if TYPE_CHECKING:  # asyncio, which nothing here needs
    from evaluator.runners.stopping import StopSignal

API_VERSION = "2022-11-28"
JSON_MEDIA = "application/vnd.github+json"
RAW_MEDIA = "application/vnd.github.raw+json"

_MEGABYTE = 1 << 20
_LARGEST_ANSWER = 64 * _MEGABYTE
_LONGEST_REASON = 300
_MOST_REDIRECTS = 3
_MOST_PAGES = 200
_CHUNK = 1 << 16
# What GitHub says with a 403 that a permission would mend. Others are about an address, an organization's sign-on, a
# conversation that is locked, a repository that is archived or blocked.
_DENIED = re.compile(r"\bResource not accessible by\b", re.IGNORECASE)

FailureKind = Literal["permission", "not_found", "rate_limit", "unavailable", "refused", "malformed"]


@dataclass(frozen=True)
class Answer:
    """What the server sent with a status below 300. `next`: the URL of the next page, None on the last. Status 302: it
    stands on another server, at `next`."""

    status: int
    data: bytes
    next: str | None = None

    def json(self) -> Any:
        """The body as JSON. Raises ValueError or RecursionError."""
        return json.loads(self.data)


@dataclass(frozen=True)
class Failure:
    """Why there is no answer, in words that may be shown to anyone. `status` None: the server did not answer. Of kind
    `permission` with status 401: the token itself is not accepted."""

    kind: FailureKind
    message: str
    status: int | None = None


class Client:
    """A session with one API server. The token goes to that server only and into no message.

    `patience`: seconds that one request may take in sum, with all waiting and failed tries; `budget`: as much for all
    requests together, since a server that is down would else cost the patience of each, and when it is used up every
    request is tried once; `timeout`: seconds to connect, and between two bytes; `deadline`: seconds for the body of one
    try. `stop`: ends all waiting; from then on every request is tried once.
    """

    def __init__(
        self,
        api_url: str,
        token: str | None,
        *,
        patience: float = 150.0,
        budget: float = 300.0,
        timeout: tuple[float, float] = (10.0, 30.0),
        deadline: float = 120.0,
        largest: int = _LARGEST_ANSWER,
        stop: StopSignal | None = None,
        sleep: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api_url = api_url.rstrip("/")
        self._patience, self._timeout, self._deadline, self._largest = patience, timeout, deadline, largest
        self._budget, self._stop, self._clock = budget, stop, clock
        self._sleep = sleep or (stop.pause if stop is not None else time.sleep)
        self._session = urls.Session()
        # Set as `auth`, since a header would be replaced by an entry of a .netrc file.
        self._authorization = _Bearer(token)

    def get(
        self,
        path: str,
        *,
        permission: str,
        params: Mapping[str, str] | None = None,
        accept: str = JSON_MEDIA,
        abroad: bool = False,
    ) -> Answer | Failure:
        """GET of `path` under the API's URL. `permission`: what a workflow must grant for it. `abroad`: the server may
        name another one where it stands, which is told and not asked."""
        return self._patiently("GET", self._api_url + path, permission, accept=accept, params=params, abroad=abroad)

    def send(
        self, method: Literal["POST", "PATCH", "DELETE"], path: str, *, permission: str, body: Any = None
    ) -> Answer | Failure:
        """A request that changes something. It may arrive twice where the server failed in between."""
        return self._patiently(method, self._api_url + path, permission, body=body)

    def items(
        self, path: str, *, permission: str, params: Mapping[str, str] | None = None, member: str | None = None
    ) -> list[dict[str, Any]] | Failure:
        """All items of a list, page after page. `member`: where the list stands in an object, the name that it has."""
        found: list[dict[str, Any]] = []
        answer = self.get(path, permission=permission, params={**(params or {}), "per_page": "100"})
        for _ in range(_MOST_PAGES):
            if isinstance(answer, Failure):
                return answer
            page = objects(answer, member)
            if isinstance(page, Failure):
                return page
            found += page
            if answer.next is None:
                return found
            if urls.resolved(self._api_url, answer.next) is None:
                return Failure("malformed", "the next page is said to be at what is no plain address")
            if urls.origin(answer.next) != urls.origin(self._api_url):
                return Failure("malformed", "the next page is said to be on another server")
            answer = self._patiently("GET", answer.next, permission)
        return Failure("malformed", f"a list of more than {_MOST_PAGES} pages")

    def _patiently(
        self,
        method: str,
        url: str,
        permission: str,
        *,
        accept: str = JSON_MEDIA,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        abroad: bool = False,
    ) -> Answer | Failure:
        waited, tries = 0.0, 0
        while True:
            began = time.monotonic()
            outcome = self._once(method, url, accept, params, body, abroad=abroad)
            wait = self._wait(outcome, tries)
            if wait is None:
                return _verdict(outcome, permission)
            took = time.monotonic() - began
            waited, self._budget = waited + took, self._budget - took
            if waited + wait > self._patience or wait > self._budget:
                return _given_up(outcome, permission, wait, f"after {waited:.0f} s of waiting")
            self._sleep(wait)
            if self._stop is not None and self._stop.reason is not None:
                return _given_up(outcome, permission, wait, f"since the run was stopped ({self._stop.reason})")
            waited, self._budget, tries = waited + wait, self._budget - wait, tries + 1

    def _wait(self, outcome: _Raw | Failure, tries: int) -> float | None:
        """Seconds to wait before the next try, None where another would not help."""
        backoff = 2.0**tries
        if isinstance(outcome, Failure):
            return backoff if outcome.kind == "unavailable" else None
        if outcome.limited:
            return limits.wait(outcome.headers, tries, self._clock())
        return backoff if outcome.status >= 500 else None

    def _once(
        self, method: str, url: str, accept: str, params: Mapping[str, str] | None, body: Any, *, abroad: bool
    ) -> _Raw | Failure:
        headers = {"Accept": accept, "X-GitHub-Api-Version": API_VERSION, "User-Agent": "trapgate"}
        for _ in range(_MOST_REDIRECTS + 1):
            if urls.origin(url) != urls.origin(self._api_url):
                elsewhere = Failure("refused", "the server redirects to another server")
                return _Raw(302, {}, b"", url, abroad=True) if abroad else elsewhere
            try:
                with self._session.request(
                    method,
                    url,
                    params=params,
                    json=body,
                    headers=headers,
                    auth=self._authorization,
                    timeout=self._timeout,
                    stream=True,
                    allow_redirects=False,
                ) as response:
                    # Followed here: requests would turn a POST into a GET, and send the token along.
                    if response.is_redirect:
                        there = urls.resolved(url, response.headers["Location"])
                        if there is None:
                            return Failure("malformed", "the server redirects to what is no plain address")
                        url, params = there, None
                        continue
                    data = self._read(response)
            except requests.RequestException as error:
                return Failure("unavailable", f"the server cannot be reached ({type(error).__name__})")
            if isinstance(data, Failure):
                return data
            return _Raw(response.status_code, response.headers, data, response.links.get("next", {}).get("url"))
        return Failure("malformed", "the server redirects in a circle")

    def _read(self, response: requests.Response) -> bytes | Failure:
        data, end = bytearray(), time.monotonic() + self._deadline
        for chunk in response.iter_content(_CHUNK):
            data += chunk
            if len(data) > self._largest:
                return Failure("malformed", f"the server's answer is larger than {self._largest:,} bytes")
            if time.monotonic() > end:
                return Failure("unavailable", f"the server's answer took more than {self._deadline:.0f} s")
        return bytes(data)


def objects(answer: Answer, member: str | None = None) -> list[dict[str, Any]] | Failure:
    """The answer as a list of JSON objects, or that `member` of it."""
    page = _parsed(answer)
    if member is not None:
        page = page.get(member) if isinstance(page, dict) else None
    if isinstance(page, list) and all(isinstance(item, dict) for item in page):
        return page
    return Failure("malformed", "the server's answer is not a list of objects", answer.status)


def an_object(answer: Answer) -> dict[str, Any] | Failure:
    """The answer as a JSON object."""
    value = _parsed(answer)
    if isinstance(value, dict):
        return value
    return Failure("malformed", "the server's answer is not an object", answer.status)


def _parsed(answer: Answer) -> Any:
    try:
        return answer.json()
    except (ValueError, RecursionError):
        return None


class _Bearer(requests.auth.AuthBase):
    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


@dataclass(frozen=True)
class _Raw:
    status: int
    headers: Mapping[str, str]
    data: bytes
    next: str | None
    abroad: bool = False

    @property
    def reason(self) -> str:
        """The server's own words, short and on one line."""
        try:
            words = json.loads(self.data)["message"]
        except (ValueError, RecursionError, KeyError, TypeError):
            words = ""
        return " ".join(well_formed(str(words)).split())[:_LONGEST_REASON]

    @property
    def limited(self) -> bool:
        return limits.limited(self.status, self.headers, self.reason)


def _verdict(outcome: _Raw | Failure, permission: str) -> Answer | Failure:
    if isinstance(outcome, Failure):
        return outcome
    status, said = outcome.status, f" ({outcome.reason})" if outcome.reason else ""
    if 200 <= status < 300 or outcome.abroad:
        return Answer(status, outcome.data, outcome.next)
    if status == 401:
        return Failure("permission", f"the server does not accept the token of `github-token`{said}", status)
    if status == 403 and (not outcome.reason or _DENIED.search(outcome.reason)):
        return Failure("permission", f"HTTP 403{said}: the token needs the permission `{permission}`", status)
    if status in (404, 410):
        return Failure("not_found", f"HTTP {status}{said}", status)
    if status < 500:
        return Failure("refused", f"HTTP {status}{said}", status)
    return Failure("unavailable", f"HTTP {status}{said}", status)


def _given_up(outcome: _Raw | Failure, permission: str, wait: float, why: str) -> Failure:
    if isinstance(outcome, _Raw) and outcome.limited:
        return Failure("rate_limit", f"rate limit: asked to wait {wait:.0f} s more; given up {why}", outcome.status)
    failure = _verdict(outcome, permission)
    assert isinstance(failure, Failure)  # noqa: S101 - an answer is never waited for
    return Failure(failure.kind, f"{failure.message}; given up {why}", failure.status)
