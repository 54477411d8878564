"""Which repository on which GitHub server a work folder belongs to, and with what token it is asked."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evaluator.errors import UserError, user_error

_GITHUB = "https://github.com"
_NAME = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_BRANCH = "refs/heads/"
_QUEUE = f"{_BRANCH}gh-readonly-queue/"
_QUEUED = re.compile(rf"{_QUEUE}(.+)/pr-[^/]+")
_SCP = re.compile(r"(?:[^@/]+@)?([^:/@]+):(?!//)(.+)")


@dataclass(frozen=True)
class GitHub:
    """Where to ask for a repository. `repository` is `owner/name`."""

    api_url: str
    repository: str
    token: str = field(repr=False)


def github(folder: Path, environ: Mapping[str, str]) -> GitHub:
    """The repository of `folder`: GITHUB_REPOSITORY, else the remote `origin` where that is on github.com or the server
    of GITHUB_SERVER_URL: a token goes to no other. Raises UserError `baseline-no-repository` or `baseline-no-token`."""
    server = environ.get("GITHUB_SERVER_URL", "").strip().rstrip("/") or _GITHUB
    name = environ.get("GITHUB_REPOSITORY", "").strip()
    if name and not _is_name(name):
        raise _no_repository(f"GITHUB_REPOSITORY is `{name}`, which is not of the form owner/name")
    if not name:
        name = _of_remote(git(folder, "remote", "get-url", "origin"), server)
    token = (environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN") or "").strip()
    if not token:
        raise user_error(
            "baseline-no-token",
            f"the baselines are on a branch of {name}, and there is no token to ask GitHub with",
            where="GITHUB_TOKEN",
            mend="Set GITHUB_TOKEN or GH_TOKEN to a token that may read `contents`, and write them to accept.",
        )
    return GitHub(_api_url(server, environ), name, token)


def git(folder: Path, *arguments: str) -> str | None:
    """What git says in `folder`; None where it says nothing."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=10, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def current_branch(folder: Path, environ: Mapping[str, str]) -> str | None:
    """The branch of the code: of a job of GitHub Actions the one that its event is about, for a checkout there has
    none, and that of the base where something is to be merged; else the one that is checked out in `folder`."""
    if not _is_job(environ):
        return git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    ref = environ.get("GITHUB_REF", "")
    if ref.startswith(_QUEUE):
        queued = _QUEUED.fullmatch(ref)
        return queued[1] if queued else None
    if ref.startswith(_BRANCH) and not environ.get("GITHUB_BASE_REF"):
        return ref.removeprefix(_BRANCH) or None
    return environ.get("GITHUB_BASE_REF") or _in_event(environ, "pull_request", "base", "ref")


def proposed(environ: Mapping[str, str]) -> str:
    """What this job is about where that is not merged yet, in words; empty where it is, or nobody says so."""
    ref = environ.get("GITHUB_REF", "")
    if not _is_job(environ):
        return ""
    if ref.startswith(_QUEUE):
        return "a merge queue"
    return "a pull request" if environ.get("GITHUB_BASE_REF") or ref.startswith("refs/pull/") else ""


def default_branch(folder: Path, environ: Mapping[str, str]) -> str | None:
    """The repository's default branch, as the event of a job of GitHub Actions or the clone knows it: a checkout there
    does not."""
    told = _in_event(environ, "repository", "default_branch") if _is_job(environ) else None
    if told:
        return told
    name = git(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    return name.removeprefix("origin/") if name else None


def _is_job(environ: Mapping[str, str]) -> bool:
    return environ.get("GITHUB_ACTIONS") == "true"


def _in_event(environ: Mapping[str, str], *keys: str) -> str | None:
    """A text of the event's payload, None where it has none, or none can be read."""
    try:
        value: Any = json.loads(Path(environ.get("GITHUB_EVENT_PATH", "")).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value else None


def _of_remote(url: str | None, server: str) -> str:
    if url is None:
        raise _no_repository("the work folder has no remote `origin`, and GITHUB_REPOSITORY is not set")
    host, path = _host_and_path(url)
    name = path.strip("/").removesuffix(".git")
    if host != urlsplit(server).hostname or not _is_name(name):
        shown = f"{host}/{name}" if host else name
        raise _no_repository(f"the remote `origin` ({shown}) is no repository on {server}")
    return name


def _host_and_path(url: str) -> tuple[str | None, str]:
    """Host and path of a git URL, or of its short form `user@host:path`. A secret may stand before the host."""
    if "://" not in url:
        match = _SCP.fullmatch(url)
        return (match[1].lower(), match[2]) if match else (None, url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None, ""
    return parts.hostname, parts.path


def _api_url(server: str, environ: Mapping[str, str]) -> str:
    given = environ.get("GITHUB_API_URL", "").strip().rstrip("/")
    if given:
        return given
    return "https://api.github.com" if server == _GITHUB else f"{server}/api/v3"


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and not {".", ".."} & set(name.split("/"))


def _no_repository(what: str) -> UserError:
    return user_error(
        "baseline-no-repository",
        f"the baselines are on a branch of a repository on GitHub, and it is not known which: {what}",
        where="baseline.store",
        mend="Set GITHUB_REPOSITORY to owner/name, and GITHUB_SERVER_URL for another server than github.com.",
    )
