from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.github import environment

SHA = "a" * 40


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    for name in ("event.json", "output", "summary"):
        (tmp_path / name).touch()
    (tmp_path / "workspace").mkdir()
    return {
        "GITHUB_API_URL": "https://git.example.org/api/v3/",
        "GITHUB_SERVER_URL": "https://git.example.org",
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": "octo/agent",
        "GITHUB_SHA": SHA,
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_JOB": "evals",
        "GITHUB_WORKSPACE": str(tmp_path / "workspace"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "RUNNER_TEMP": str(tmp_path),
    }


def test_the_runners_settings_are_read_and_nothing_of_github_com_is_assumed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    settings = environment.read(environ)
    assert settings.api_url == "https://git.example.org/api/v3"
    assert settings.server_url == "https://git.example.org"
    assert settings.workspace == tmp_path / "workspace"
    assert settings.inputs == environment.Inputs()


def test_all_missing_and_malformed_settings_are_named_together(environ: dict[str, str]) -> None:
    del environ["GITHUB_API_URL"]
    environ |= {"GITHUB_REPOSITORY": "agent", "GITHUB_SHA": "main", "RUNNER_TEMP": "/nowhere", "INPUT_COMMENT": "maybe"}
    with pytest.raises(UserError) as caught:
        environment.read(environ)
    assert caught.value.code == "action-environment"
    assert [f"{problem.file}: {problem.message}" for problem in caught.value.problems] == [
        "GITHUB_API_URL: is not set",
        "GITHUB_REPOSITORY: `agent` is not of the form owner/name",
        "GITHUB_SHA: `main` is not a full commit id",
        "RUNNER_TEMP: `/nowhere` is not a folder",
        "input comment: `maybe` is neither `true` nor `false`",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "git.example.org",
        "ftp://git.example.org",
        "https://",
        "https://me:secret@git.example.org",
        "https://[",
        "https://a:99999",
        "",
    ],
)
def test_an_api_url_that_names_no_server_is_refused(environ: dict[str, str], url: str) -> None:
    with pytest.raises(UserError, match="GITHUB_API_URL"):
        environment.read(environ | {"GITHUB_API_URL": url})


def test_where_only_inputs_are_wrong_the_error_has_the_settings_with_defaults_in_their_place(
    environ: dict[str, str], tmp_path: Path
) -> None:
    wrong = {"CONFIG": "/etc/trap.yaml", "OUTPUT": "../out", "COMMENT": "no", "MOVE-BASELINE": "yes", "MODE": "watch"}
    given = {"INPUT_MODEL": "openai/a", "INPUT_GITHUB-TOKEN": "ghs_abcdef", "INPUT_TASKS": "refunds"}
    environ |= {**{f"INPUT_{name}": value for name, value in wrong.items()}, **given}
    with pytest.raises(environment.InputsError) as caught:
        environment.read(environ)
    assert caught.value.code == "action-environment"
    assert len(caught.value.problems) == len(wrong)
    settings = caught.value.environment
    assert settings.inputs == environment.Inputs(model="openai/a", tasks=("refunds",), token="ghs_abcdef")
    assert settings.workspace == tmp_path / "workspace"


def test_where_a_setting_of_the_runner_is_wrong_too_there_are_no_settings_to_go_by(environ: dict[str, str]) -> None:
    with pytest.raises(UserError) as caught:
        environment.read(environ | {"INPUT_COMMENT": "maybe", "GITHUB_SHA": "main"})
    assert not isinstance(caught.value, environment.InputsError)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-30T18:00:00Z", datetime(2026, 11, 30, 18, tzinfo=UTC)),
        ("2026-11-30T18:00:00.000001Z", datetime(2026, 11, 30, 18, 0, 0, 1, tzinfo=UTC)),
        *(
            (odd, None)
            for odd in (
                "2026-11-30T18:00:00",
                "2026-11-30T18:00:00+14:00",
                "2026-13-30T18:00:00Z",
                "2026-11-30",
                "now",
                "",
            )
        ),
        (None, None),
        (1_764_525_600, None),
        ("２026-11-30T18:00:00Z", None),
    ],
)
def test_a_time_is_one_in_utc_as_github_writes_it(text: object, time: datetime | None) -> None:
    assert environment.utc(text) == time


def test_inputs_keep_their_hyphens_and_an_empty_one_is_unset(environ: dict[str, str]) -> None:
    environ |= {
        "INPUT_CONFIG": "evals/trap.yaml",
        "INPUT_MODEL": "",
        "INPUT_TASKS": "refunds, json-call\n\n search ,",
        "INPUT_BASELINE": " ",
        "INPUT_GITHUB-TOKEN": "ghs_abcdef",
        "INPUT_COMMENT": "False",
        "INPUT_OUTPUT": "",
        "INPUT_UNSAFE-JUDGES": "true",
        "INPUT_MOVE-BASELINE": "true",
        "INPUT_SKIP-UNCHANGED": "TRUE",
        "INPUT_ACCEPT-LABEL": " evals: meant ",
    }
    assert environment.read(environ).inputs == environment.Inputs(
        config="evals/trap.yaml",
        tasks=("refunds", "json-call", "search"),
        token="ghs_abcdef",
        comment=False,
        unsafe_judges=True,
        move_baseline=True,
        skip_unchanged=True,
        accept_label="evals: meant",
    )


@pytest.mark.parametrize("name", ["comment", "unsafe-judges", "move-baseline", "skip-unchanged"])
def test_a_switch_is_true_or_false_and_nothing_else(environ: dict[str, str], name: str) -> None:
    with pytest.raises(UserError, match=f"input {name}: `yes` is neither `true` nor `false`"):
        environment.read(environ | {f"INPUT_{name.upper()}": "yes"})


def test_an_empty_label_is_the_default_one(environ: dict[str, str]) -> None:
    assert environment.read(environ | {"INPUT_ACCEPT-LABEL": " "}).inputs.accept_label == "trapgate:accept"


def test_a_token_does_not_show_where_settings_are_printed(environ: dict[str, str]) -> None:
    settings = environment.read(environ | {"INPUT_GITHUB-TOKEN": "ghs_abcdef"})
    assert "ghs_abcdef" not in repr(settings)


@pytest.mark.parametrize("path", ["/etc/passwd", "../trap.yaml", "evals/../../trap.yaml"])
@pytest.mark.parametrize("name", ["CONFIG", "BASELINE", "OUTPUT"])
def test_a_path_that_leaves_the_workspace_is_refused(environ: dict[str, str], name: str, path: str) -> None:
    with pytest.raises(UserError, match=f"input {name.lower()}: `{path}` leaves the workspace"):
        environment.read(environ | {f"INPUT_{name}": path})


def test_provider_keys_are_handed_on_and_the_runners_tokens_are_not() -> None:
    environ = {
        "OPENAI_API_KEY": "sk-123456",
        "INPUT_GITHUB-TOKEN": "ghs_1",
        "GITHUB_TOKEN": "ghs_1",
        "ACTIONS_RUNTIME_TOKEN": "x",
        "ACTIONS_ID_TOKEN_REQUEST_URL": "https://x",
        "GITHUB_SHA": SHA,
    }
    assert environment.without_runner_secrets(environ) == {"OPENAI_API_KEY": "sk-123456", "GITHUB_SHA": SHA}
