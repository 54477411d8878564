from __future__ import annotations

import msgspec
import pytest

from evaluator.cases import Origin
from evaluator.origins import kept, line_of
from evaluator.results import Attempt, CaseResult, Finding, decode_run, encode
from tests.unit import builders

LINES = {
    "$.paths[0][0]": 4,
    "$.paths[0][0].tool": 4,
    "$.paths[0][2]": 10,
    "$.paths[0][2].args.amount": 13,
    "$.paths[0][2].args.items": 14,
    "$.paths[0][2].args.items[0]": 15,
    '$.paths[0][2].rules["$.reason"]': 19,
}
ORIGIN = Origin(file="evals/refund.yaml", line=2, lines=LINES)


def finding(path: str, step: int | None = 3) -> Finding:
    return Finding(path=path, keyword="value", step=step)


def failing(*findings: Finding) -> Attempt:
    return Attempt(number=1, status="scored", passed=False, failure_mode="wrong_arguments", findings=list(findings))


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (finding("$.amount"), 13),
        (finding("$.items[0].sku"), 15),
        (finding("$.items[7]"), 14),
        (finding("$.reason"), 19),
        (finding("$.currency"), 10),
        (finding("$"), 10),
        (finding("$", step=1), 4),
        (finding("$", step=9), 2),
        (finding("$.amount", step=None), 2),
        (None, 2),
    ],
)
def test_a_finding_has_the_line_of_its_value_or_of_what_holds_it(found: Finding | None, line: int) -> None:
    assert line_of(ORIGIN, found) == line


def test_of_several_ways_to_the_goal_nobody_says_which_one_is_meant() -> None:
    two = msgspec.structs.replace(ORIGIN, lines=LINES | {"$.paths[1][0]": 30})
    assert line_of(two, finding("$.amount")) == 2


def test_a_key_that_is_no_plain_name_is_found() -> None:
    odd = Origin(file="f", lines={'$.paths[0][0].args["a.b[0]"]': 7})
    assert line_of(odd, finding('$["a.b[0]"].c', step=1)) == 7


def test_of_the_lines_only_those_are_kept_that_a_failed_attempt_needs() -> None:
    passing = Attempt(number=2, status="scored", passed=True, findings=[finding("$.reason")])
    small = kept(ORIGIN, [failing(finding("$.amount"), finding("$.items[7]"), finding("$", step=9)), passing])
    assert small == Origin(
        file="evals/refund.yaml", line=2, lines={"$.paths[0][2].args.amount": 13, "$.paths[0][2].args.items": 14}
    )
    for each in (finding("$.amount"), finding("$.items[7]")):
        assert line_of(small, each) == line_of(ORIGIN, each)


def test_an_origin_is_stored_and_is_no_part_of_what_a_case_is() -> None:
    task = builders.task_result(builders.outcomes(1, 1))
    cases = [msgspec.structs.replace(case, origin=ORIGIN) for case in task.cases]
    moved = builders.run([msgspec.structs.replace(task, cases=cases)])
    [again] = decode_run(encode(moved), "results.json").tasks
    assert [case.origin for case in again.cases] == [ORIGIN, ORIGIN]
    assert [case.digest for case in again.cases] == [case.digest for case in task.cases]


def test_a_case_without_an_origin_costs_nothing_and_older_results_are_read() -> None:
    run = builders.run([builders.task_result(builders.outcomes(1, 0))])
    assert b"origin" not in encode(run)
    assert decode_run(encode(run), "results.json").tasks[0].cases[0].origin is msgspec.UNSET
    assert CaseResult.__struct_fields__[-1] == "origin"
