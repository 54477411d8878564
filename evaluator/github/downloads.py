"""Files that the API keeps on another server, such as artifacts: asked for there without the token.

Source: GitHub's documentation, "REST API endpoints for GitHub Actions artifacts": the answer is a redirect to an
address that is good for a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import requests

from evaluator.github.client import Client, Failure, FailureKind
from evaluator.github.urls import Session

_TRIES = 3
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Bounds:
    """`most`: bytes; `timeout`: seconds to connect, and between two bytes; `deadline`: seconds of one try."""

    most: int
    timeout: tuple[float, float] = (10.0, 30.0)
    deadline: float = 120.0


def fetch(
    client: Client,
    path: str,
    *,
    permission: str,
    scheme: str,
    bounds: Bounds,
    sleep: Callable[[float], None] = time.sleep,
) -> bytes | Failure:
    """What stands behind `path` of the API, at once or after one redirect to a server that gets no token. `scheme`: of
    the API: an https server does not send its files in the clear.

    A server that fails is asked three times, each time at a fresh address.
    """
    for number in range(_TRIES):
        answer = client.get(path, permission=permission, abroad=True)
        if isinstance(answer, Failure):
            return answer
        if answer.status != 302:
            return answer.data if len(answer.data) <= bounds.most else _too_large(bounds)
        found = _stored(answer.next or "", scheme, bounds)
        if not isinstance(found, Failure) or found.kind != "unavailable" or number == _TRIES - 1:
            return found
        sleep(2.0**number)
    raise AssertionError  # the last try has returned


def _stored(url: str, scheme: str, bounds: Bounds) -> bytes | Failure:
    if urlsplit(url).scheme not in ("https", scheme):
        return Failure("refused", "the server redirects to an address that is not https")
    try:
        # Without `auth`, requests would look for a login in a .netrc file.
        with (
            Session() as session,
            session.get(
                url,
                headers={"User-Agent": "trapgate"},
                auth=_nobody,
                timeout=bounds.timeout,
                stream=True,
                allow_redirects=False,
            ) as response,
        ):
            if response.status_code == 200:
                return _read(response, bounds)
            status = response.status_code
    except requests.RequestException as error:
        return Failure("unavailable", f"the server of the file cannot be reached ({type(error).__name__})")
    if response.is_redirect:
        return Failure("refused", "the server of the file redirects once more")
    kind: FailureKind = "not_found" if status in (404, 410) else "refused"
    if status >= 500 or status == 429:
        kind = "unavailable"
    return Failure(kind, f"the server of the file answers HTTP {status}", status)


def _read(response: requests.Response, bounds: Bounds) -> bytes | Failure:
    data, end = bytearray(), time.monotonic() + bounds.deadline
    for chunk in response.iter_content(_CHUNK):
        data += chunk
        if len(data) > bounds.most:
            return _too_large(bounds)
        if time.monotonic() > end:
            return Failure("unavailable", f"the file took more than {bounds.deadline:.0f} s")
    return bytes(data)


def _too_large(bounds: Bounds) -> Failure:
    return Failure("malformed", f"the file is larger than {bounds.most:,} bytes")


def _nobody(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
