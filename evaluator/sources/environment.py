"""The environment that git runs in: nothing of the user's configuration, one token for one host, no prompts, no hooks.

Everything is handed over by environment variables. Arguments of a process can be read by every user of a machine.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

TOKEN = "TRAPGATE_GIT_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_HOST = "TRAPGATE_GIT_HOST"  # noqa: S105 - likewise

MAX_SHOWN = 1000  # characters of git's own words in an error

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_AUTHORITIES = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PASSED = (*_AUTHORITIES, *_PROXIES, *(name.upper() for name in _PROXIES))
_PASSED_TO_SSH = ("HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK")

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.askPass": "",
    "credential.helper": "",
    "transfer.credentialsInUrl": "die",
    "fetch.fsckObjects": "true",
    # Old, harmless faults of real repositories; what decides on names and links is `content.check_name`.
    "fetch.fsck.zeroPaddedFilemode": "ignore",
    "fetch.fsck.badTimezone": "ignore",
    "fetch.fsck.missingSpaceBeforeDate": "ignore",
    "fetch.fsck.missingSpaceBeforeEmail": "ignore",
    "fetch.negotiationAlgorithm": "noop",
    "fetch.recurseSubmodules": "no",
    "fetch.unpackLimit": "1",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "60",
}


@dataclass(frozen=True)
class Remote:
    """What git is told about one repository. `partial`: fetch files only when they are asked for."""

    url: str
    partial: bool = False

    @property
    def scheme(self) -> str:
        """`https`, `ssh` or `file`."""
        return self.url.partition("://")[0]


def git_environment(user: Mapping[str, str], remote: Remote, home: Path) -> dict[str, str]:
    """All variables for a git process that talks to `remote`.

    `user`: the caller's environment, of which only what is named in this module is taken. `home`: an empty folder of
    ours, so that no `.netrc`, `.gitconfig` or attributes file is found.
    """
    environment = {name: user[name] for name in _PASSED if user.get(name)}
    environment |= {
        "PATH": search_path(user),
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": remote.scheme,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    if remote.scheme == "ssh":
        environment |= {name: user[name] for name in _PASSED_TO_SSH if user.get(name)}
        environment["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes -oConnectTimeout=30"
    if remote.scheme == "file":
        environment["GIT_CONFIG_GLOBAL"] = str(_trusting_the_owner(home))
    return environment | _settings(user, remote)


def search_path(user: Mapping[str, str]) -> str:
    """The user's PATH without relative folders: a `git` in the user's repository is not the git we mean."""
    folders = user.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())


def token_host(user: Mapping[str, str]) -> str:
    """The only host (with its port, if any) that gets the token: TRAPGATE_GIT_HOST, else the forge of the running
    workflow, else github.com. A pull request that names another host in trap.yaml must not get hold of the token."""
    server = user.get("GITHUB_SERVER_URL") or "https://github.com"
    return (user.get(TOKEN_HOST) or urlsplit(server).netloc).lower()


def token_for(user: Mapping[str, str], remote: Remote) -> str | None:
    """The token, where there is one and `remote` may have it."""
    token = user.get(TOKEN, "").strip()
    entitled = remote.scheme == "https" and urlsplit(remote.url).netloc.lower() == token_host(user)
    return token if token and entitled else None


def redacted(text: str, user: Mapping[str, str]) -> str:
    """What git said, as one bounded line without secrets and control characters."""
    for secret in sorted(_secrets(user), key=len, reverse=True):
        text = text.replace(secret, "***")
    text = re.sub(r"(?<=://)[^/\s@]+@", "***@", text)
    lines = ("".join(c if c.isprintable() else " " for c in line).strip() for line in text.splitlines())
    line = "; ".join(line for line in lines if line)
    return line if len(line) <= MAX_SHOWN else "…" + line[-MAX_SHOWN:]


def _settings(user: Mapping[str, str], remote: Remote) -> dict[str, str]:
    settings = _SETTINGS | {"remote.origin.url": remote.url}
    if remote.partial:
        settings |= {"remote.origin.promisor": "true", "remote.origin.partialCloneFilter": "blob:none"}
    token = token_for(user, remote)
    # git would send the header to wherever it is redirected.
    settings["http.followRedirects"] = "false" if token else "initial"
    if token:
        base = f"https://{urlsplit(remote.url).netloc}/"
        settings[f"http.{base}.extraHeader"] = f"Authorization: Basic {_basic(token)}"
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _basic(token: str) -> str:
    return base64.b64encode(f"x-access-token:{token}".encode()).decode()


def _secrets(user: Mapping[str, str]) -> set[str]:
    token = user.get(TOKEN, "").strip()
    proxies = (urlsplit(user[name]) for name in (*_PROXIES, *map(str.upper, _PROXIES)) if "@" in user.get(name, ""))
    found = {proxy.password or "" for proxy in proxies}
    if token:
        found |= {token, quote(token, safe=""), _basic(token), base64.b64encode(token.encode()).decode()}
    return found - {""}


def _trusting_the_owner(home: Path) -> Path:
    # In a container the user's repository belongs to another user, which git's server side refuses to serve. The
    # repository was named by its path on purpose, and upload-pack is made to read repositories it does not trust.
    file = home / "served.gitconfig"
    file.write_text("[safe]\n\tdirectory = *\n", encoding="utf-8")
    return file
