from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.errors import user_error
from evaluator.github.environment import Environment, Inputs
from evaluator.github.events import Activity
from evaluator.github.permissions import Checks, Lack, NoPermissionError, block, completed, line, needed, union

READ = Lack("contents: read", "the base cannot be read", "input github-token")
WRITE = Lack("pull-requests: write", "no comment", "input comment", "or do without one: `comment: false`")
ON_PULL_REQUEST = Activity(pull_request=7, comment=True)
PUSH = Activity(before="0" * 40, moves=True)


def settings(**inputs: object) -> Environment:
    here = Path()
    return Environment(
        api_url="",
        server_url="",
        event_name="",
        event_path=here,
        repository="octo/agent",
        sha="",
        ref="",
        job="",
        workspace=here,
        runner_temp=here,
        output_file=here,
        summary_file=here,
        began=datetime.now(UTC),
        inputs=replace(Inputs(), **inputs),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("activity", "inputs", "wanted"),
    [
        (ON_PULL_REQUEST, {}, ("contents: read", "pull-requests: write")),
        (ON_PULL_REQUEST, {"comment": False}, ("contents: read",)),
        (ON_PULL_REQUEST, {"move_baseline": True}, ("contents: write", "pull-requests: write")),
        (Activity(pull_request=7, fork=True), {}, ("contents: read",)),
        (PUSH, {}, ("contents: read",)),
        (PUSH, {"move_baseline": True}, ("contents: write", "pull-requests: read")),
        (Activity(moves=True), {"move_baseline": True}, ("contents: write",)),
        (Activity(), {"tracking_issue": True}, ("contents: read", "issues: write")),
        (Activity(), {"mode": "publish"}, ("pull-requests: write", "actions: read")),
    ],
)
def test_what_a_job_needs_follows_from_its_event_and_its_inputs(
    activity: Activity, inputs: dict[str, object], wanted: tuple[str, ...]
) -> None:
    assert needed(settings(**inputs), activity) == wanted


def test_the_lines_to_add_are_yaml_for_a_job() -> None:
    both = ("contents: read", "pull-requests: write")
    assert block(both) == "permissions:\n  contents: read\n  pull-requests: write"
    assert line(both) == "permissions: {contents: read, pull-requests: write}"


def test_of_two_levels_of_a_scope_the_higher_one_is_named() -> None:
    assert union("issues: write", "contents: write", "contents: read", "issues: write") == (
        "contents: write",
        "issues: write",
    )
    assert union("models: read", "contents: read") == ("contents: read", "models: read")


def test_everything_that_is_missing_is_one_error_with_all_of_it_in_the_line() -> None:
    checks = Checks()
    for lack in (READ, WRITE):
        with checks:
            raise NoPermissionError(lack)
    with pytest.raises(NoPermissionError) as caught:
        checks.refuse()
    assert caught.value.code == "github-permission"
    added = "Add to the job: `permissions: {contents: read, pull-requests: write}`"
    assert [(problem.file, problem.message, problem.mend) for problem in caught.value.problems] == [
        ("input comment", "no comment", f"{added}; or do without one: `comment: false`."),
        ("input github-token", "the base cannot be read", f"{added}."),
    ]


def test_checks_that_found_nothing_refuse_nothing_and_other_errors_pass_through() -> None:
    checks = Checks()
    with checks:
        pass
    checks.refuse()
    with pytest.raises(KeyError), checks:
        raise KeyError("x")


def test_the_line_to_add_takes_no_permission_away_that_the_job_has() -> None:
    error = completed(NoPermissionError(READ), ("contents: write", "issues: write"))
    assert error.problems[0].mend == "Add to the job: `permissions: {contents: write, issues: write}`."
    other = user_error("bad", "worse")
    assert completed(other, ("issues: write",)) is other
