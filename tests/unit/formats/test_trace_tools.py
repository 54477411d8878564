"""What fixtures expect against the tools on offer: faults with step, tool, path, wanted, got, place and mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluator import loading
from evaluator.cases import Task
from evaluator.scoring.self_check import self_check
from tests.unit.formats.trace_fixtures import fixture, load, loaded, spec, write

LATE = """\
task_id: late
input: Order 4821 is late.
expected_invocations:
  - tool: lookup_order
    args: {order_id: "4821"}
  - tool: send_email
    rules:
      $.template: any
    args:
      order_id: "4821"
  - tool: issue_refund
    args:
      amount: 24.5
      order_id: 4821
"""
ORDER = {"type": "string"}
LOOKUP = spec("lookup_order", "order_id", order_id=ORDER)
EMAIL = spec("send_email", "order_id", "template", order_id=ORDER, template={"enum": ["late", "lost"]})
REFUND = spec(
    "issue_refund",
    "order_id",
    "amount",
    order_id=ORDER,
    amount={"type": "number", "exclusiveMinimum": 0},
    reason={"enum": ["late", "broken"]},
    fast={"type": "boolean"},
    lines={"type": "array", "items": {"$ref": "#/$defs/line"}, "minItems": 1},
    to={"type": "object", "properties": {"iban": {"type": "string"}}, "additionalProperties": False},
)
REFUND["parameters"]["$defs"] = {
    "line": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["item"]}
}
TOOLS = [LOOKUP, EMAIL, REFUND]


def late(folder: Path, old: str = "", new: str = "", name: str = "late.yaml") -> Task:
    """The task of one fixture in YAML, with something in it changed."""
    assert old in LATE
    write(folder, LATE.replace(old, new) if old else LATE, name=name)
    return load(folder)


def with_trap_yaml(task: Task, tools: list[dict[str, Any]] = TOOLS) -> dict[str, str]:
    return self_check(loading.with_tools(task, tools))


def fault_of(folder: Path, tools: list[dict[str, Any]] = TOOLS, **step: Any) -> str | None:
    """What is said of one expected call of issue_refund without its file; None for nothing."""
    steps = [{"tool": "issue_refund", **step}]
    faults = self_check(loaded(folder, fixture(expected_invocations=steps, tools=tools)))
    return faults["partial"].removeprefix("./t/fixture-1.json: step 1 issue_refund ") if faults else None


def test_a_number_where_the_tool_wants_text_is_named_with_its_line_and_a_mend(tmp_path: Path) -> None:
    assert with_trap_yaml(late(tmp_path)) == {
        "late": "./t/late.yaml:14: step 3 issue_refund $.order_id: the tool's schema wants a string, the fixture has "
        'the number 4821; write it in quotes: "4821"'
    }


def test_a_sound_fixture_has_no_fault_and_a_gold_though_a_value_is_left_open(tmp_path: Path) -> None:
    task = loading.with_tools(late(tmp_path, "order_id: 4821", "order_id: '4821'"), TOOLS)
    assert (self_check(task), task.notes, len(task.cases[0].golds)) == ({}, [], 1)


@pytest.mark.parametrize("source", ["inline", "file"])
def test_tools_of_the_fixture_and_of_its_files_say_the_same(tmp_path: Path, source: str) -> None:
    write(tmp_path, TOOLS, name="specs/tools.json")
    steps = [{"tool": "lookup_order", "args": {"order_id": 4821}}]
    task = loaded(
        tmp_path, fixture(expected_invocations=steps, tools=TOOLS if source == "inline" else "specs/tools.json")
    )
    assert self_check(task)["partial"] == (
        "./t/fixture-1.json: step 1 lookup_order $.order_id: the tool's schema wants a string, the fixture has "
        'the number 4821; write it in quotes: "4821"'
    )


def test_the_spec_that_is_on_offer_decides_and_not_the_fixture_s_own(tmp_path: Path) -> None:
    steps = [{"tool": "lookup_order", "args": {"order_id": 4821}}]
    task = loaded(tmp_path, fixture(expected_invocations=steps, tools=[LOOKUP]))
    assert with_trap_yaml(task, [spec("lookup_order", order_id={"type": "integer"})]) == {}


def test_a_fixture_in_jsonl_is_named_by_its_line(tmp_path: Path) -> None:
    row = '{"task_id": "%s", "input": "x", "expected_invocations": [{"tool": "lookup_ordr"}]}\n'
    write(tmp_path, row % "a" + "\n" + row % "b", name="rows.jsonl")
    said = 'step 1: there is no tool "lookup_ordr" on offer; did you mean "lookup_order"?'
    assert with_trap_yaml(load(tmp_path)) == {"a": f"./t/rows.jsonl:1: {said}", "b": f"./t/rows.jsonl:3: {said}"}


def test_a_misspelt_tool_is_named_with_the_nearest_on_offer(tmp_path: Path) -> None:
    assert with_trap_yaml(late(tmp_path, "tool: issue_refund", "tool: issue_refnd")) == {
        "late": './t/late.yaml:11: step 3: there is no tool "issue_refnd" on offer; did you mean "issue_refund"?'
    }


def test_a_tool_that_is_like_no_other_is_named_with_those_on_offer(tmp_path: Path) -> None:
    steps = [{"tool": "lookup_order", "args": {"order_id": "1"}, "alternatives": [{"tool": "zzz"}]}]
    paths = [[], steps]
    task = loaded(tmp_path, fixture(expected_invocations=..., expected_paths=paths))
    assert with_trap_yaml(task)["partial"] == (
        './t/fixture-1.json: path 2, step 1, alternative 1: there is no tool "zzz" on offer; '
        "on offer are issue_refund, lookup_order, send_email"
    )
    assert self_check(task) == {}  # no tools are known


def test_a_rule_at_a_misspelt_path_is_named_with_the_nearest_argument_and_its_line(tmp_path: Path) -> None:
    assert with_trap_yaml(late(tmp_path, "$.template", "$.tmplate"))["late"].partition("; also ")[0] == (
        './t/late.yaml:8: step 2 send_email $.tmplate: the rule is of nothing: the tool\'s schema has no "tmplate"; '
        'did you mean "template"?'
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            {"amount": "24.5"},
            '$.amount: the tool\'s schema wants a number, the fixture has the text "24.5"; write it '
            "without quotes: 24.5",
        ),
        (
            {"fast": "true"},
            '$.fast: the tool\'s schema wants true or false, the fixture has the text "true"; write it '
            "without quotes: true",
        ),
        (
            {"order_id": False},
            "$.order_id: the tool's schema wants a string, the fixture has false; write it in quotes",
        ),
        ({"order_id": None}, "$.order_id: the tool's schema wants a string, the fixture has null"),
        ({"order_id": {"id": 1}}, "$.order_id: the tool's schema wants a string, the fixture has a mapping"),
        ({"to": "me"}, '$.to: the tool\'s schema wants an object, the fixture has the text "me"'),
        ({"amount": 0}, "$.amount: the tool's schema wants above 0, the fixture has the number 0"),
        (
            {"reason": "brokn"},
            '$.reason: the tool\'s schema wants one of "late", "broken", the fixture has the text '
            '"brokn"; did you mean "broken"?',
        ),
        ({"lines": []}, "$.lines: the tool's schema wants 1 or more items, the fixture has an empty list"),
        (
            {"lines": [{"item": "glass", "count": "1"}]},
            "$.lines[0].count: the tool's schema wants a whole number, the "
            'fixture has the text "1"; write it without quotes: 1',
        ),
        ({"lines": [{"count": 1}]}, "$.lines[0].item: the tool's schema wants it, and the fixture leaves it out"),
        ({"to": {"ibam": "DE"}}, '$.to.ibam: the tool\'s schema has no "ibam"; did you mean "iban"?'),
        ({"to": {"zzz": "DE"}}, '$.to.zzz: the tool\'s schema has no "zzz"; it has iban'),
        ({"to": {}, "note": "more than the schema speaks of"}, None),
        ({}, None),
    ],
)
def test_an_argument_that_the_schema_refuses_is_named_with_what_is_wanted(
    tmp_path: Path, args: dict[str, Any], said: str | None
) -> None:
    assert fault_of(tmp_path, args=args) == said


@pytest.mark.parametrize(
    ("rules", "args", "said"),
    [
        (
            {"$.reason": {"one_of": ["late", "lost"]}},
            {},
            '$.reason: the tool\'s schema wants one of "late", "broken", one_of has the text "lost"',
        ),
        (
            {"$.order_id": {"one_of": [4821]}},
            {},
            '$.order_id: the tool\'s schema wants a string, one_of has the number 4821; write it in quotes: "4821"',
        ),
        (
            {"$.amount": {"regex": "^2"}},
            {},
            "$.amount: the tool's schema wants a number, and a regex looks at texts alone",
        ),
        ({"$.order_id": {"regex": "^2"}}, {}, None),
        (
            {"$.to.ibn": "ignore"},
            {},
            '$.to.ibn: the rule is of nothing: the tool\'s schema has no "ibn"; did you mean "iban"?',
        ),
        ({"$.to.iban": "any"}, {}, None),
        ({"$.note": "any"}, {"note": "given"}, None),
        (
            {"$.note": "any"},
            {},
            '$.note: the rule is of nothing: the tool\'s schema has no "note"; it has amount, fast, '
            "lines, order_id, reason, to",
        ),
        (
            {"$.order_id": "any"},
            {"order_id": 7},
            '$.order_id: the tool\'s schema wants a string, the fixture has the number 7; write it in quotes: "7"',
        ),
        (
            {"$.to": "exact"},
            {"to": {"iban": 1}},
            '$.to.iban: the tool\'s schema wants a string, the fixture has the number 1; write it in quotes: "1"',
        ),
    ],
)
def test_a_rule_that_the_schema_makes_void_is_named(
    tmp_path: Path, rules: dict[str, Any], args: dict[str, Any], said: str | None
) -> None:
    assert fault_of(tmp_path, args=args, rules=rules) == said


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^n": {}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {}}, "allOf": [{"properties": {"note": {}}}]},
        {"$ref": "#/$defs/all", "$defs": {"all": {"type": "object"}}},
    ],
)
def test_a_rule_is_not_refused_where_the_schema_may_have_further_arguments(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    tool = {"name": "issue_refund", "parameters": parameters}
    assert fault_of(tmp_path, [tool], args={}, rules={"$.note": "ignore"}) is None


def test_what_depends_on_arguments_that_are_left_out_is_no_fault(tmp_path: Path) -> None:
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {}, "c": {"type": "object", "required": ["x"]}},
        "required": ["b"],
        "minProperties": 3,
        "if": {"properties": {"b": {"const": 1}}},
        "then": {"properties": {"a": {"const": 2}}},
    }
    tool = {"name": "issue_refund", "parameters": parameters}
    assert fault_of(tmp_path, [tool], args={"a": 1, "c": {"y": 1}}) is None


def test_of_many_faults_the_first_are_said(tmp_path: Path) -> None:
    said = fault_of(tmp_path, args={"amount": "1", "order_id": 1, "fast": 1, "reason": 1, "lines": 1})
    assert said is not None
    assert said.count("; also ./t/fixture-1.json: step 1 issue_refund $.") == 2
    assert said.endswith("; and 2 more")


def test_what_the_expected_calls_get_wrong_otherwise_is_said_by_step(tmp_path: Path) -> None:
    steps = [{"tool": "lookup_order", "args": {"order_id": "1"}}]
    mocks = [{"tool": "lookup_order", "result": {"error": "down"}}]
    assert self_check(loaded(tmp_path, fixture(expected_invocations=steps, mocks=mocks)))["partial"] == (
        "./t/fixture-1.json: the expected answer fails its own scorer as ignored_error: step 1 lookup_order $ "
        '(ignored_error): got {"error": "down"}, call 1 failed and none of this tool succeeded later, and yet there is '
        "an answer"
    )


def test_names_that_are_not_on_offer_are_noted_with_the_fixtures_that_have_them(tmp_path: Path) -> None:
    step = {"expected_invocations": [{"tool": "lookup_order", "args": {"order_id": "1"}}]}
    mocks = [{"tool": "issue_refnd", "result": 1}, {"tool": "lookup_order", "result": 1}]
    task = loaded(
        tmp_path,
        fixture(task_id="a", mocks=mocks, **step),
        fixture(task_id="b", mocks=mocks, read_only=["zzz"], **step),
    )
    assert task.notes == []
    assert loading.with_tools(task, TOOLS).notes == [
        'there is no tool "issue_refnd" on offer; did you mean "issue_refund"? (named by a, b)',
        'there is no tool "zzz" on offer; on offer are issue_refund, lookup_order, send_email (named by b)',
    ]


def test_mocks_that_no_valid_call_can_meet_are_noted(tmp_path: Path) -> None:
    step = {"expected_invocations": [{"tool": "lookup_order", "args": {"order_id": "1"}}]}
    mock = {"tool": "lookup_order", "args": {"order_id": 1}, "result": {"error": "no such order"}}
    mocks = [{"tool": "lookup_order", "result": 1}, mock]
    task = loading.with_tools(loaded(tmp_path, fixture(mocks=mocks, **step)), TOOLS)
    assert task.notes == [
        "mocks that no valid call has the arguments of: partial: mocks[1] lookup_order $.order_id: the tool's schema "
        'wants a string, the mock has the number 1; write it in quotes: "1"'
    ]
    many = [fixture(task_id=f"{number}", mocks=[mock], **step) for number in range(7)]
    (tmp_path / "fixture-1.json").unlink()
    assert loading.with_tools(loaded(tmp_path, *many), TOOLS).notes[0].endswith("; and 2 more")


def test_lines_are_known_of_every_path_and_alternative_in_yaml(tmp_path: Path) -> None:
    text = (
        "task_id: a\ninput: x\nexpected_paths:\n"
        '- - {tool: lookup_order, args: {order_id: "1"}}\n'
        "-\n  - tool: lookup_order\n    args: {order_id: '1'}\n    alternatives:\n"
        "    - tool: issue_refund\n      args:\n        amount: 1\n        lines:\n        - item: x\n"
        "          count: one\n      rules:\n        $.reason:\n          one_of:\n          - late\n          - lost\n"
    )
    write(tmp_path, text, name="a.yaml")
    said = with_trap_yaml(load(tmp_path))["a"].split("; also ")
    assert [each.partition(" $.")[0] for each in said] == [
        "./t/a.yaml:13: path 2, step 1, alternative 1 issue_refund",
        "./t/a.yaml:19: path 2, step 1, alternative 1 issue_refund",
    ]
