"""Which values of an environment are secret: by the names of the variables, and by the shape of what is in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Shorter values ("1", "none", "dummy") are no secrets, and masking them would garble every sentence.
SHORTEST = 6

# The last word of a name says what it holds: OPENAI_API_KEY is a key, MAX_TOKENS and TOKEN_FILE are none.
_NAME = re.compile(
    r"(?:(?:^|[_-])(?:KEY|TOKEN|SECRET|CREDENTIALS?|PAT|AUTH|PASS|PASSPHRASE|JWT|COOKIE|WEBHOOK(?:[_-]UR[LI])?"
    r"|ACCESS[_-]KEY[_-]ID|API[_-]KEYS)"
    r"|[_-]PWD|PASSWORD|PASSWD|APIKEY|AUTHTOKEN|PRIVATEKEY)(?:[_-]?\d{1,3})?$",
    re.IGNORECASE,
)
# A word of these inside a name (OPENAI_API_KEY_PROD), or a bare KEY at its end (CACHE_KEY), may be about something
# else: there the value has to look like a secret too.
_INSIDE = re.compile(
    r"(?:^|[_-])(?:KEYS?|TOKEN|SECRETS?|CREDENTIALS?|PASSWORD|PASSWD|PASSPHRASE|JWT|SA|HEADERS|(?:API|ACCESS)[_-]TOKENS)"
    r"(?:$|[_-])|SSHPASS",
    re.IGNORECASE,
)
_BARE_KEY = re.compile(r"KEY(?:[_-]?\d{1,3})?$", re.IGNORECASE)
_KEY_OF_SOMETHING = re.compile(
    r"(?:API|SECRET|PRIVATE|ACCESS|SIGNING|ENCRYPTION|MASTER|LICENSE|SSH|DEPLOY|SERVICE|ACCOUNT)[_-]?KEY", re.IGNORECASE
)
# What is about a secret and is none itself.
_ABOUT = re.compile(
    r"[_-](?:FILE|PATH|DIR|NAME|ID|TYPE|MODE|METHOD|LIMIT|COUNT|SIZE|TTL|TIMEOUT|VERSION|REGION|PERMISSIONS|HOST|PORT|USER)$",
    re.IGNORECASE,
)
# Half of what is named so is a mode, a name or a special token of a model: `bearer`, `sessionid`, `<|im_end|>`.
_WORDY = re.compile(r"(?:AUTH|COOKIE|PASS|PAT|(?:EOS|BOS|PAD|MASK|STOP|SEP|UNK|CLS)_TOKEN)$", re.IGNORECASE)
_NO_CREDENTIAL = re.compile(r"(?:MODEL|PROJECT|CACHE|SORT|PRIMARY|FOREIGN|PARTITION|PUBLIC)[_-]KEY$", re.IGNORECASE)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+(\S+)", re.IGNORECASE)
# Names of addresses with a login inside.
_CONNECTION = re.compile(r"(?:UR[LI]|DSN|CONN(?:ECTION)?(?:[_-]?STR(?:ING)?)?)(?:[_-]?\d{1,3})?$", re.IGNORECASE)
_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#]*@", re.IGNORECASE)
# As in `…;Password=…;` and `…?password=…&`.
_FIELD = re.compile(
    r"(?:^|[;&?\s])(?:password|pwd|passwd|token|secret|sig|(?:api|account|shared ?access|access)[_-]?key)\s*=\s*"
    r"(\"[^\"]+\"|'[^']+'|[^;&\s]+)",
    re.IGNORECASE,
)
# A user name of this length without a password is a token: https://TOKEN@host/.
_TOKEN_AS_USER = 16

# What people write where a secret is asked for and none is needed.
_PLACEHOLDER = re.compile(
    r"undefined|default|disabled?|enabled?|required|optional|always|example|placeholder|change-?me|password|secret"
    r"|postgres|ollama|lm-?studio|dummy[-_\w]*|sk-(?:dummy|test|local|fake|xxx)"
    r"|anything|unused|not-?(?:used|needed|required)|(?:sk-)?no-?key(?:-(?:required|needed))?",
    re.IGNORECASE,
)
# Longer numbers may be one.
_SHORT_NUMBER = re.compile(r"[\d.,]{1,9}")


def secrets(environ: Mapping[str, str]) -> set[str]:
    """The secret values of `environ`: of variables whose names say so, and the passwords inside addresses.

    Of a value that is a JSON object (the credentials of a service account) also those of its members that are named
    like a secret.
    """
    return set(owners(environ))


def owners(environ: Mapping[str, str]) -> dict[str, str]:
    """The same, each with the name of its variable."""
    return {value: name for name, text in environ.items() for value in _of(name, text) if _may_be_secret(value)}


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret as a whole."""
    return _NAME.search(name) is not None


def _of(name: str, text: str) -> Iterator[str]:
    if _NO_CREDENTIAL.search(name):
        return
    is_bare = _BARE_KEY.search(name) is not None and _KEY_OF_SOMETHING.search(name) is None
    sure = is_secret_name(name) and not is_bare and not _WORDY.search(name)
    likely = is_secret_name(name) or (_INSIDE.search(name) is not None and not _ABOUT.search(name))
    if sure or (likely and _looks_secret(text)):
        yield text
        if scheme := _SCHEME.fullmatch(text.strip()):
            yield scheme[1]
        if text.lstrip().startswith("{"):
            yield from _members(text, everything=name.upper().endswith("SECRETS"))
        elif name.upper().endswith("S"):
            yield from (part.strip() for part in text.split(","))
    if _LOGIN.match(text):
        yield from _of_login(text)
    if _CONNECTION.search(name):
        yield from (found.strip("\"'") for found in _FIELD.findall(text))


def _looks_secret(text: str) -> bool:
    """Whether nobody would write `text` by hand: long, and of letters and digits, or a document of its own."""
    bare = text.strip()
    mixed = any(c.isdigit() for c in bare) and any(c.isalpha() for c in bare)
    return len(bare) >= 40 or (len(bare) >= 12 and (mixed or bare.startswith(("{", "["))))


def _members(text: str, *, everything: bool) -> Iterator[str]:
    """The secret members of a JSON object; `everything`: all that are texts."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    waiting = [document]
    while waiting:
        for name, value in waiting.pop().items():
            if isinstance(value, dict):
                waiting.append(value)
            elif isinstance(value, str) and (everything or is_secret_name(name) or name.lower().endswith("key_id")):
                yield value


def _of_login(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url.strip())
        login = (parts.username, parts.password)
    except ValueError:
        return
    user, password = login
    if password:
        yield from (password, unquote(password))
    elif user and len(user) >= _TOKEN_AS_USER:
        yield from (user, unquote(user))


def _may_be_secret(value: str) -> bool:
    bare = value.strip()
    return (
        len(bare) >= SHORTEST
        and len(set(bare)) > 1  # "xxxxxxxx", or masked already
        and not _PLACEHOLDER.fullmatch(bare)
        and not _SHORT_NUMBER.fullmatch(bare)
        and not _is_path(bare)
    )


def _is_path(value: str) -> bool:
    """Whether `value` is the place of a secret. A key may begin with a slash as well, so the place has to exist."""
    if not value.startswith(("/", "./", "../")) or len(value) > 4096 or "\n" in value or "\0" in value:
        return False
    try:
        return Path(value).exists()
    except (OSError, ValueError):
        return False
