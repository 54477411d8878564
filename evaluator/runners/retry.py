"""The one retry policy: what a failed call means, whether it is worth another try, and how long to wait. Pure.

litellm wraps every failure, a cut connection and an unreadable answer included, in exceptions with a made-up status;
what happened is read from the chain of causes. Exceptions are told apart by name and module, so that neither litellm
nor the clients under it are imported here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from evaluator.transcript import Usage, well_formed

LONGEST_MESSAGE = 500

_RETRYABLE = frozenset({"rate_limit", "server_error", "timeout", "connection"})
# A provider says "slow down" in one of these ways.
_CONGESTED_STATUS = frozenset({429, 503, 529})

_NAMES_SCHEMA = re.compile(r"schema|response_format|\btools?\b|tool_choice|\bfunctions?\b|function_declaration", re.I)
_NAMES_MISSING_KEY = re.compile(r"missing credentials|missing .{0,40}api[ _]key|api_key .{0,60}must be set", re.I)
_NO_QUOTA = re.compile(r"insufficient_quota|billing", re.I)
# "litellm.RateLimitError: RateLimitError: OpenAIException - the provider's own words"
_PREFIX = re.compile(r"^(?:litellm\.\w+: )?(?:\w+(?:Error|Exception): )*(?:\w+Exception - )?")


@dataclass(frozen=True)
class Failure:
    """Why a call failed. `kind` as in `Infrastructure`; `message` as it came, of any length; `retry_after`: seconds
    that the provider asked for, None where it did not; `congested`: a sign that too many calls are in flight;
    `broke_off`: an answer had begun, so the call may have been billed; `unreached`: the "host:port" to which there was
    no connection, empty where it is not told, None where there was one; `usage`: what was paid for all the same."""

    kind: str
    message: str
    retryable: bool
    http_status: int | None = None
    retry_after: float | None = None
    congested: bool = False
    broke_off: bool = False
    unreached: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True)
class Policy:
    """How often and how long. `tries`: calls in all; `timeouts`: calls in all where each ran into its time limit, which
    is long, or was answered in part, which may be billed; `unreached`: calls in all while no server has shown up;
    `first`: seconds of the first backoff at most, doubled each time up to `longest`; `patience`: seconds of waiting
    between the tries of one attempt, in all."""

    tries: int = 8
    timeouts: int = 3
    unreached: int = 3
    first: float = 1.0
    longest: float = 60.0
    patience: float = 300.0

    def wait(
        self, failure: Failure, tried: int, waited: float, random: Callable[[], float], *, answered: bool = True
    ) -> float | None:
        """Seconds before the next try; None where there is none.

        `tried`: calls so far; `waited`: seconds waited so far; `random`: uniform in [0, 1); `answered`: whether the
        server has answered anything yet, to whichever attempt. What the provider asks for is honoured up to `longest`;
        without it, exponential backoff with full jitter (Brooker, "Exponential Backoff And Jitter", AWS Architecture
        Blog, 2015).
        """
        if not failure.retryable or tried >= self._tries(failure, answered):
            return None
        if failure.retry_after is not None:
            seconds = min(failure.retry_after, self.longest)
        else:
            seconds = random() * min(self.first * 2.0 ** (tried - 1), self.longest)
        return seconds if waited + seconds <= self.patience else None

    def _tries(self, failure: Failure, answered: bool) -> int:
        if failure.kind == "timeout" or failure.broke_off:
            return self.timeouts
        return self.unreached if failure.unreached is not None and not answered else self.tries


def classify(error: BaseException, *, asks_for_structure: bool = True, now: datetime | None = None) -> Failure:
    """What `error`, raised by a model call, means.

    `asks_for_structure`: whether the request carried a schema or tools that could be refused. `now` resolves a
    Retry-After that is a date; without it such a date is ignored.
    """
    chain = list(_chain(error))
    headers = _headers(chain)
    status = _status(chain, headers)
    kind = _kind(chain, status, asks_for_structure)
    unreached = _unreached(chain) if kind == "connection" else None
    retryable = kind in _RETRYABLE and not (kind == "rate_limit" and _NO_QUOTA.search(_words(chain)))
    return Failure(
        kind=kind,
        message=_message(chain, kind) if unreached is None else str(chain[-1]),
        retryable=retryable,
        http_status=status,
        retry_after=_retry_after(headers, now),
        congested=kind == "timeout" or status in _CONGESTED_STATUS,
        unreached=unreached,
    )


def _kind(chain: list[BaseException], status: int | None, asks_for_structure: bool) -> str:
    if _any_named(chain, "Timeout", "APITimeoutError", "TimeoutError") or status in (408, 504):
        return "timeout"
    if status is None:
        return _kind_without_answer(chain)
    if _any_named(chain, "ContentPolicyViolationError"):
        return "content_filter"
    if status in (401, 403) or _any_named(chain, "AuthenticationError", "PermissionDeniedError"):
        return "authentication"
    if status == 429:
        return "rate_limit"
    if status >= 500 or status == 409:
        return "server_error"
    if status < 400:
        return "malformed_response"
    too_long = _any_named(chain, "ContextWindowExceededError")
    if asks_for_structure and status in (400, 404, 422) and not too_long and _NAMES_SCHEMA.search(_words(chain)):
        return "refused_schema"
    return "refused_request"


def _kind_without_answer(chain: list[BaseException]) -> str:
    if _NAMES_MISSING_KEY.search(_words(chain)):
        return "authentication"
    if _any_named(chain, "TooManyRedirects"):
        return "malformed_response"
    if any(isinstance(error, OSError) or _is_transport_error(error) for error in chain):
        return "connection"
    return "malformed_response"


def _is_transport_error(error: BaseException) -> bool:
    if type(error).__module__.partition(".")[0] not in ("openai", "httpx", "httpcore", "aiohttp"):
        return False
    names = {base.__name__ for base in type(error).__mro__}
    return not names.isdisjoint({"APIConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError"})


def _unreached(chain: list[BaseException]) -> str | None:
    """The address to which no connection came about, as the clients tell it; None where one did."""
    if not _any_named(chain, "ConnectError", "ClientConnectorError", "ConnectionRefusedError", "gaierror"):
        return None
    for error in chain:
        host, port = getattr(error, "host", None), getattr(error, "port", None)
        if isinstance(host, str) and isinstance(port, int):
            return f"{host}:{port}"
    return ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """`error` and what it was raised from, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _any_named(chain: list[BaseException], *names: str) -> bool:
    return any(base.__name__ in names for error in chain for base in type(error).__mro__)


def _headers(chain: list[BaseException]) -> Mapping[str, str]:
    """The headers of the answer that was an error; empty where there was no answer."""
    for error in chain:
        for holder in (getattr(error, "response", None), error):
            headers = getattr(holder, "headers", None)
            if headers:
                return {str(name).lower(): str(value) for name, value in dict(headers).items()}
    return {}


def _status(chain: list[BaseException], headers: Mapping[str, str]) -> int | None:
    """The HTTP status, None where no answer arrived: litellm says 500 then, with a response that has no headers."""
    for error in chain:
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and (headers or status != 500):
            return status
    return None


def _words(chain: list[BaseException]) -> str:
    bodies = (getattr(error, "body", None) for error in chain)
    return " ".join([*(str(error) for error in chain), *(str(body) for body in bodies if body)])[:20_000]


def _message(chain: list[BaseException], kind: str) -> str:
    if kind == "malformed_response":
        said = [str(error) for error in chain if not isinstance(error, StopIteration) and str(error)]
        return f"the answer is not a chat completion: {_PREFIX.sub('', said[-1] if said else 'unreadable')}"
    return _PREFIX.sub("", str(chain[0])) or type(chain[0]).__name__


def shortened(text: str) -> str:
    """One line of at most `LONGEST_MESSAGE` characters, well-formed."""
    line = " ".join(well_formed(text).split())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def _retry_after(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Seconds, from `retry-after-ms` (milliseconds) or `retry-after` (seconds or an HTTP date); None where absent or
    unreadable."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None or now is None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    aware = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and isfinite(number) and number >= 0 else None
