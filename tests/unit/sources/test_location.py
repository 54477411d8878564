"""Source strings: what is understood, what is refused, and in which words."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import Problem, UserError
from evaluator.sources.location import GitSource, LocalSource, parse, parse_reference

SHA = "0123456789abcdef0123456789abcdef01234567"
SHA256 = "0123456789abcdef" * 4


def refusal(text: str) -> UserError:
    with pytest.raises(UserError) as caught:
        parse(text, where="tasks.a.source")
    return caught.value


def outcome(text: str) -> tuple[GitSource | LocalSource | None, tuple[Problem, ...]]:
    try:
        return parse(text), ()
    except UserError as error:
        return None, error.problems


def test_a_relative_path_is_a_local_source() -> None:
    assert parse("./evals/refunds") == LocalSource("./evals/refunds")


@pytest.mark.parametrize("commit", [SHA, SHA256])
def test_a_pinned_https_source_has_its_url_commit_and_subdirectory(commit: str) -> None:
    source = parse(f"git+https://example.com/owner/repo@{commit}#subdirectory=tasks/core")
    assert source == GitSource("https://example.com/owner/repo", commit, "tasks/core")


def test_without_a_fragment_the_source_is_the_whole_repository() -> None:
    assert parse(f"git+https://example.com/o/r.git@{SHA}") == GitSource("https://example.com/o/r.git", SHA, "")


def test_the_user_of_an_ssh_url_is_not_taken_for_a_commit() -> None:
    source = parse(f"git+ssh://git@example.com:2222/owner/repo@{SHA}")
    assert source == GitSource("ssh://git@example.com:2222/owner/repo", SHA)
    assert refusal("git+ssh://git@example.com/owner/repo").code == "source-not-pinned"


def test_a_file_url_names_a_repository_on_this_machine() -> None:
    assert parse(f"git+file:///srv/repo@{SHA}") == GitSource("file:///srv/repo", SHA)


def test_an_upper_case_commit_is_the_same_commit() -> None:
    assert parse(f"git+https://example.com/o/r@{SHA.upper()}") == parse(f"git+https://example.com/o/r@{SHA}")


def test_a_percent_encoded_subdirectory_is_decoded_once() -> None:
    source = parse(f"git+https://example.com/o/r@{SHA}#subdirectory=my%20tasks/50%2525/")
    assert isinstance(source, GitSource)
    assert source.subdirectory == "my tasks/50%25"


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("@main", "`main` is a branch or tag, which can move"),
        ("@feature/x", "`feature/x` is a branch or tag, which can move"),
        ("@v1.2.3", "`v1.2.3` is a branch or tag, which can move"),
        ("@0123abc", "`0123abc` is not a full commit id (40 or 64 hexadecimal digits)"),
        (f"@{SHA}0", f"`{SHA}0` is not a full commit id (40 or 64 hexadecimal digits)"),
        ("", "the source names no commit"),
    ],
)
def test_a_source_that_is_not_pinned_is_refused_with_the_command_that_pins_it(ref: str, message: str) -> None:
    error = refusal(f"git+https://example.com/o/r{ref}#subdirectory=x")
    assert error.code == "source-not-pinned"
    assert error.problems[0].message == f"{message}: the same evaluation could not be run again"
    assert "`trapgate pin trap.yaml`" in error.problems[0].mend
    assert error.problems[0].file == "tasks.a.source"


@pytest.mark.parametrize(
    "text",
    [
        f"git+https://user:hunter2secret@example.com/o/r@{SHA}",
        f"git+https://hunter2secret@example.com/o/r@{SHA}",
        f"git+https://:hunter2secret@example.com/o/r@{SHA}",
        f"git+ssh://git:hunter2secret@example.com/o/r@{SHA}",
        "git+https://user:hunter2secret@example.com/o/r@main",
        "git+https://user:hunter2secret@example.com",
        f"git+https://user:hunter2@secret@example.com/o/r@{SHA}",
    ],
)
def test_credentials_in_a_url_are_refused_and_never_shown(text: str) -> None:
    error = refusal(text)
    assert error.code == "source-invalid"
    assert "hunter2" not in str(error)
    assert "secret" not in str(error)
    assert "TRAPGATE_GIT_TOKEN" in str(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the source is empty"),
        ("  ", "the source is empty"),
        ("a\nb", "the source has a character that cannot be printed"),
        ("a\x00b", "the source has a character that cannot be printed"),
        ("x" * 3000, "the source is longer than 2048 characters"),
        (f"git+http://example.com/o/r@{SHA}", "http is refused: whoever sits on the line could change the task"),
        (f"git+git://example.com/o/r@{SHA}", "the git protocol is refused: whoever sits on the line could change"),
        (f"git+ext://example.com/o/r@{SHA}", "only https, ssh and file URLs are understood"),
        ("git+ext::sh -c touch% /tmp/pwned", "only https, ssh and file URLs are understood"),
        ("ext::sh -c touch% /tmp/pwned", "git's remote helpers (`name::address`) run programs and are refused"),
        (f"https://example.com/o/r@{SHA}", "a repository's address starts with `git+`"),
        ("git@example.com:o/r", "`user@host:path` is not a source"),
        (f"git+ssh://git@example.com:o/r@{SHA}", "the host in the URL is missing or not valid"),
        (f"git+https:///o/r@{SHA}", "the host in the URL is missing or not valid"),
        (f"git+https://-oProxyCommand=x/o/r@{SHA}", "the host in the URL is missing or not valid"),
        (f"git+ssh://-oProxyCommand=x/o/r@{SHA}", "the host in the URL is missing or not valid"),
        (f"git+ssh://-ox@example.com/o/r@{SHA}", "the user name in the URL is not valid"),
        (f"git+file://host/o/r@{SHA}", "a file URL has no host"),
        (f"git+https://example.com@{SHA}", "the URL carries credentials"),
        (f"git+https://example.com/@{SHA}", "the path of the repository is missing"),
        (f"git+https://example.com/o/r?token=x@{SHA}", "the path of the repository is missing or has characters"),
        ("git+https://example.com/o/r@--upload-pack=x", "what follows `@` is not the name of a commit, branch or tag"),
        ("git+https://example.com/o/r@a..b", "what follows `@` is not the name of a commit, branch or tag"),
        ("git+https://example.com/o/r@a*", "what follows `@` is not the name of a commit, branch or tag"),
        (f"git+https://example.com/o/r@{SHA}#egg=x", "after `#` only `subdirectory=<path>` is understood"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=a&egg=x", "after `#` only `subdirectory=<path>`"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=/etc", "the subdirectory is absolute"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=%2Fetc", "the subdirectory is absolute"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=", "the subdirectory has an empty, `.` or `..` component"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=a/../b", "the subdirectory has an empty, `.` or `..`"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=a/%2e%2e/b", "the subdirectory has an empty, `.` or `..`"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=a//b", "the subdirectory has an empty, `.` or `..`"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=a%0Ab", "or a character that is refused"),
        (f"git+https://example.com/o/r@{SHA}#subdirectory=%ff", "the subdirectory is not UTF-8"),
    ],
)
def test_a_source_that_is_not_understood_is_refused_with_the_reason(text: str, message: str) -> None:
    error = refusal(text)
    assert error.code == "source-invalid"
    assert message in error.problems[0].message
    assert error.problems[0].mend


def test_pinning_changes_nothing_but_the_commit() -> None:
    for ref in ("", "@main", f"@{SHA}"):
        reference = parse_reference(f"git+https://example.com/o/r{ref}#subdirectory=my%20tasks/")
        assert reference.pinned(SHA) == f"git+https://example.com/o/r@{SHA}#subdirectory=my%20tasks/"


names = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=8)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
commits = st.text("0123456789abcdef", min_size=40, max_size=40)


@given(host=names, path=paths, commit=commits, subdirectory=paths, user=st.sampled_from(["", "git@"]))
def test_what_is_written_is_what_is_read(host: str, path: str, commit: str, subdirectory: str, user: str) -> None:
    host = host.strip("_") or "h"
    source = GitSource(f"ssh://{user}{host}/{path}", commit, subdirectory)
    assert parse(str(source)) == source


@given(st.text(max_size=80), st.sampled_from(["", "git+", "git+https://", "git+ssh://", "git+file:///", "ext::"]))
def test_any_text_is_either_a_safe_source_or_a_refusal_with_a_mend(text: str, prefix: str) -> None:
    source, problems = outcome(prefix + text)
    assert all(problem.message and problem.mend for problem in problems)
    if isinstance(source, GitSource):
        assert source.url.partition("://")[0] in ("https", "ssh", "file")
        assert not set(source.subdirectory.split("/")) & {".", ".."}
        assert not source.subdirectory.startswith("/")
        assert len(source.commit) in (40, 64)
    elif isinstance(source, LocalSource):
        assert "://" not in source.path
    else:
        assert problems


@given(
    password=st.text(string.ascii_letters + string.digits + "-_:@%/", min_size=4, max_size=30).map("Zq9x".__add__),
    tail=st.sampled_from(["", f"@{SHA}", "@main", "#egg=x", "/../x"]),
)
def test_no_error_ever_shows_a_password(password: str, tail: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(f"git+https://user:{password}@example.com/o/r{tail}")
    assert password not in str(caught.value)
