"""What git is told and what it is not; what of its words is shown."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest

from evaluator.sources.environment import Remote, git_environment, redacted, search_path, token_for, token_host

TOKEN = "t0ken/with+odd=characters"
BASIC = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()


def values(environment: dict[str, str]) -> dict[str, str]:
    count = int(environment["GIT_CONFIG_COUNT"])
    return {environment[f"GIT_CONFIG_KEY_{n}"]: environment[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}


@pytest.mark.parametrize(
    ("user", "url", "given"),
    [
        ({}, "https://github.com/o/r", True),
        ({}, "https://GitHub.com/o/r", True),
        ({}, "https://github.com.evil.example/o/r", False),
        ({}, "https://evil.example/github.com", False),
        ({}, "https://github.com:8443/o/r", False),
        ({}, "ssh://git@github.com/o/r", False),
        ({"GITHUB_SERVER_URL": "https://forge.example"}, "https://forge.example/o/r", True),
        ({"GITHUB_SERVER_URL": "https://forge.example"}, "https://github.com/o/r", False),
        ({"TRAPGATE_GIT_HOST": "lab.example:8443"}, "https://lab.example:8443/o/r", True),
        ({"TRAPGATE_GIT_HOST": "lab.example"}, "https://github.com/o/r", False),
    ],
)
def test_the_token_goes_to_its_own_host_over_https_and_nowhere_else(
    tmp_path: Path, user: dict[str, str], url: str, given: bool
) -> None:
    user = user | {"TRAPGATE_GIT_TOKEN": TOKEN}
    environment = git_environment(user, Remote(url), tmp_path)
    assert (token_for(user, Remote(url)) is not None) is given
    assert any(BASIC in value for value in environment.values()) is given
    assert not any(TOKEN in value for value in environment.values())
    assert values(environment)["http.followRedirects"] == ("false" if given else "initial")


def test_the_header_is_bound_to_the_host() -> None:
    user = {"TRAPGATE_GIT_TOKEN": TOKEN}
    environment = git_environment(user, Remote("https://github.com/o/r"), Path("/"))
    assert values(environment)["http.https://github.com/.extraHeader"] == f"Authorization: Basic {BASIC}"


def test_nothing_of_the_users_environment_reaches_git_but_what_is_named(tmp_path: Path) -> None:
    user = {
        "PATH": "/usr/bin",
        "HOME": "/home/someone",
        "GIT_ASKPASS": "/bin/evil",
        "SSH_ASKPASS": "/bin/evil",
        "GIT_SSH_COMMAND": "evil",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": "/evil",
        "GIT_EXEC_PATH": "/evil",
        "GIT_TRACE": "1",
        "LD_PRELOAD": "/evil.so",
        "OPENAI_API_KEY": "evil",
        "GITHUB_TOKEN": "evil",
        "SSH_AUTH_SOCK": "/agent",
        "https_proxy": "http://proxy.example:3128",
    }
    environment = git_environment(user, Remote("https://example.com/o/r"), tmp_path)
    assert "evil" not in " ".join(environment.values())
    assert environment["HOME"] == str(tmp_path)
    assert "SSH_AUTH_SOCK" not in environment
    assert environment["https_proxy"] == "http://proxy.example:3128"


def test_the_ssh_agent_and_home_are_for_ssh_alone(tmp_path: Path) -> None:
    user = {"HOME": "/home/someone", "SSH_AUTH_SOCK": "/agent", "TRAPGATE_GIT_TOKEN": TOKEN}
    environment = git_environment(user, Remote("ssh://git@github.com/o/r"), tmp_path)
    assert environment["HOME"] == "/home/someone"
    assert environment["SSH_AUTH_SOCK"] == "/agent"
    assert "BatchMode=yes" in environment["GIT_SSH_COMMAND"]


def test_a_git_in_the_work_folder_is_never_found() -> None:
    assert search_path({"PATH": ".:/usr/bin::node_modules/.bin:/bin"}) == "/usr/bin:/bin"


@pytest.mark.parametrize(
    "form", [TOKEN, quote(TOKEN, safe=""), BASIC, base64.b64encode(TOKEN.encode()).decode()], ids=str
)
def test_the_token_is_redacted_in_every_form(form: str) -> None:
    shown = redacted(f"fatal: sent {form} and failed", {"TRAPGATE_GIT_TOKEN": TOKEN})
    assert shown == "fatal: sent *** and failed"


def test_credentials_in_any_url_are_redacted() -> None:
    user = {"HTTPS_PROXY": "http://me:pr0xypass@proxy.example:3128"}
    shown = redacted("unable to use http://me:pr0xypass@proxy.example:3128, pr0xypass refused", user)
    assert shown == "unable to use http://***@proxy.example:3128, *** refused"


def test_what_git_says_is_one_bounded_line_without_control_characters() -> None:
    said = "remote: \x1b[31mred\n::error::pwned\r\nfatal: " + "x" * 5000
    shown = redacted(said, {})
    assert shown.isprintable()
    assert len(shown) <= 1001
    assert redacted("a\n::error::b\n\nc", {}) == "a; ::error::b; c"


def test_the_token_host_is_github_unless_said_otherwise() -> None:
    assert token_host({}) == "github.com"
    assert token_host({"GITHUB_SERVER_URL": ""}) == "github.com"
