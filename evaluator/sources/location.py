"""A source string → where the files are. Pure: nothing is looked up, nothing is run.

`git+<url>@<commit>#subdirectory=<path>` with an https, ssh or file URL, or the path of a local folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from evaluator.errors import UserError, user_error

MAX_LENGTH = 2048

_EXAMPLE = "git+https://host/owner/repo@<commit>#subdirectory=<path>"
_SCHEMES = ("https", "ssh", "file")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)
_SHORT = re.compile(r"[0-9a-f]{4,63}", re.IGNORECASE)
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~%!$&()*+,;=:-]+)+/?")
# git's own rules for ref names, narrowed to what is safe to print and to match literally.
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+=%-]*")
_REMOTE_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_SCP = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:")


@dataclass(frozen=True)
class LocalSource:
    """`path` as written: relative to the folder of trap.yaml, or absolute."""

    path: str


@dataclass(frozen=True)
class GitSource:
    """`url` without `git+`; `commit` 40 or 64 lower-case hex digits; `subdirectory` with `/`, empty for the root."""

    url: str
    commit: str
    subdirectory: str = ""

    def __str__(self) -> str:
        fragment = f"#subdirectory={self.subdirectory}" if self.subdirectory else ""
        return f"git+{self.url}@{self.commit}{fragment}"


@dataclass(frozen=True)
class Reference:
    """A git source as written, pinned or not. `ref` None: none is named. `fragment` with its `#`, or empty."""

    url: str
    ref: str | None
    subdirectory: str
    fragment: str

    @property
    def commit(self) -> str | None:
        """The full commit id, in lower case, or None where `ref` is anything else."""
        return self.ref.lower() if self.ref and _COMMIT.fullmatch(self.ref) else None

    @property
    def looks_short(self) -> bool:
        """Whether `ref` reads as an abbreviated commit id (a branch may still bear such a name)."""
        return bool(self.ref and not self.commit and _SHORT.fullmatch(self.ref))

    def pinned(self, commit: str) -> str:
        """The same source at `commit`, everything else spelled as it was."""
        return f"git+{self.url}@{commit}{self.fragment}"


def is_git(text: str) -> bool:
    """Whether `text` means a git repository; whether it is a valid source is for `parse` to say."""
    return text.startswith("git+")


def parse(text: str, *, where: str = "") -> LocalSource | GitSource:
    """The source that `text` names. `where` is shown as its place.

    Raises UserError `source-invalid`, or `source-not-pinned` where a git source names no full commit id.
    """
    _require_plain(text, where)
    if not is_git(text):
        return LocalSource(_local_path(text, where))
    reference = parse_reference(text, where=where)
    if reference.commit is None:
        raise _not_pinned(reference, where)
    return GitSource(reference.url, reference.commit, reference.subdirectory)


def parse_reference(text: str, *, where: str = "") -> Reference:
    """A `git+…` source that need not be pinned. Raises UserError `source-invalid`."""
    _require_plain(text, where)
    address, hash_sign, fragment = text.removeprefix("git+").partition("#")
    scheme, separator, rest = address.partition("://")
    if not separator or scheme not in _SCHEMES:
        raise _bad_scheme(scheme if separator else "", where)
    authority, _, path = rest.partition("/")
    path, at, ref = f"/{path}".rpartition("@") if "@" in path else (f"/{path}", "", "")
    _check_authority(scheme, authority, where)
    if not _PATH.fullmatch(path):
        raise _invalid("the path of the repository is missing or has characters that a URL must percent-encode", where)
    if at:
        _check_ref(ref, where)
    return Reference(f"{scheme}://{authority}{path}", ref or None, _subdirectory(fragment, where), hash_sign + fragment)


def _require_plain(text: str, where: str) -> None:
    if not text.strip():
        raise _invalid("the source is empty", where)
    if len(text) > MAX_LENGTH:
        raise _invalid(f"the source is longer than {MAX_LENGTH} characters", where)
    if not text.isprintable():
        raise _invalid("the source has a character that cannot be printed", where)


def _local_path(text: str, where: str) -> str:
    if _REMOTE_HELPER.match(text):
        raise _invalid("git's remote helpers (`name::address`) run programs and are refused", where)
    if "://" in text:
        raise _invalid("a repository's address starts with `git+`", where)
    if _SCP.match(text):
        raise _invalid("`user@host:path` is not a source", where, "Write git+ssh://user@host/path@<commit>.")
    return text


def _check_authority(scheme: str, authority: str, where: str) -> None:
    if scheme == "file":
        if authority:
            raise _invalid("a file URL has no host", where, "Write git+file:///absolute/path@<commit>.")
        return
    user, at, host = authority.rpartition("@")
    if at and (scheme != "ssh" or ":" in user):
        raise _invalid(
            "the URL carries credentials; they would end up in logs and results (they are not shown here)",
            where,
            "Take them out, put the token into the environment variable TRAPGATE_GIT_TOKEN, and revoke the one that "
            "was written here.",
        )
    if at and not _USER.fullmatch(user):
        raise _invalid("the user name in the URL is not valid", where)
    if not _HOST.fullmatch(host):
        raise _invalid("the host in the URL is missing or not valid", where)


def _check_ref(ref: str, where: str) -> None:
    parts = ref.split("/")
    odd = ".." in ref or "@{" in ref or any(not p or p.startswith(".") or p.endswith((".", ".lock")) for p in parts)
    if odd or not _REF.fullmatch(ref):
        raise _invalid("what follows `@` is not the name of a commit, branch or tag", where)


def _subdirectory(fragment: str, where: str) -> str:
    if not fragment:
        return ""
    key, equals, value = fragment.partition("=")
    if key != "subdirectory" or not equals or "&" in value:
        raise _invalid("after `#` only `subdirectory=<path>` is understood", where)
    try:
        path = unquote(value, errors="strict")
    except UnicodeDecodeError as error:
        raise _invalid("the subdirectory is not UTF-8", where) from error
    if path.startswith("/"):
        raise _invalid("the subdirectory is absolute", where, "Write it relative to the top of the repository.")
    parts = path.removesuffix("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or not path.isprintable() or "\\" in path:
        raise _invalid("the subdirectory has an empty, `.` or `..` component, or a character that is refused", where)
    return "/".join(parts)


def _not_pinned(reference: Reference, where: str) -> UserError:
    if reference.ref is None:
        message = "the source names no commit"
    elif reference.looks_short:
        message = f"`{reference.ref}` is not a full commit id (40 or 64 hexadecimal digits)"
    else:
        message = f"`{reference.ref}` is a branch or tag, which can move"
    return user_error(
        "source-not-pinned",
        f"{message}: the same evaluation could not be run again",
        where=where,
        mend="Write the full id; `trapgate pin trap.yaml` puts it into the file for branches and tags.",
    )


def _bad_scheme(scheme: str, where: str) -> UserError:
    reasons = {
        "http": "http is refused: whoever sits on the line could change the task",
        "git": "the git protocol is refused: whoever sits on the line could change the task",
    }
    known = "only https, ssh and file URLs are understood"
    return _invalid(reasons.get(scheme, known), where, f"Write {_EXAMPLE}.")


def _invalid(message: str, where: str, mend: str = f"A source is a local folder or {_EXAMPLE}.") -> UserError:
    return user_error("source-invalid", message, where=where, mend=mend)
