"""What is said of fixtures from the wild: every fault at once, with its place and a mend."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evaluator.config.types import Include
from tests.unit.formats.trace_fixtures import CALLS, STEPS, fixture, loaded, refusal, spec, write

ARGS = {"a": 1, "s": "x", "l": [1], "o": {"k": "v"}}
MENDED_TURNS = "List calls in the order of their turns; left out, a turn is the place in the list, from 1."


def step(**changes: Any) -> dict[str, Any]:
    return {"tool": "t", "args": ARGS, **changes}


def on_one_line(folder: Path, **changes: Any) -> str:
    """What is said of a fixture without its position."""
    said = refusal(folder, json.dumps(fixture(**changes)))
    assert said.startswith("./t/fixture-1.json:1:")
    return said.partition(": ")[2]


def test_every_fault_of_every_fixture_is_named_at_once_by_line_column_and_path(tmp_path: Path) -> None:
    broken_step = {"tool": "lookup_order", "args": {}, "rules": {"$.order_id": "exact"}, "optinal": True}
    write(tmp_path, "task_id: 12\ninput: Hello.\ncritical: 'yes'\nexpected_invocations:\n- args: {}\n", name="a.yaml")
    write(tmp_path, f'{json.dumps(fixture())}\n{{"task_id": "two"}}\n{{"task_id"\n', name="b.jsonl")
    assert refusal(tmp_path, fixture(expected_invocations=[broken_step], max_turns=0)) == (
        "./t/a.yaml:1:10: $.task_id: wanted text, got the number 12\n"
        '    Write it in quotes: "12".\n'
        './t/a.yaml:3:11: $.critical: wanted true or false, got the text "yes"\n'
        "./t/a.yaml:5:3: $.expected_invocations[0] has no tool\n"
        "    Add it, e.g. `tool: issue_refund`.\n"
        "./t/b.jsonl:2:1: $ has no input\n"
        "    Add it, e.g. `input: Order 4821 arrived damaged.`.\n"
        "./t/b.jsonl:3:11: not JSON: Expecting ':' delimiter\n"
        './t/fixture-1.json:2:13: $.task_id: "partial" is already the name of ./t/b.jsonl:1\n'
        './t/fixture-1.json:9:19: $.expected_invocations[0].rules."$.order_id": the rule exact needs a value in '
        "args to compare with\n"
        './t/fixture-1.json:11:4: unknown key "optinal" in $.expected_invocations[0]; did you mean "optional"?\n'
        "./t/fixture-1.json:14:15: $.max_turns: wanted a whole number at least 1 and at most 1000, got 0"
    )


@pytest.mark.parametrize(
    ("rules", "path", "message"),
    [
        ({"a": "exact"}, "a", "the path of a rule begins with $"),
        ({"$": "exact"}, '"$"', "a rule at $ is of no field"),
        ({"$.l[0]": "exact"}, '"$.l[0]"', "leads into an array"),
        ({"$.b": "exact"}, '"$.b"', "the rule exact needs a value in args to compare with"),
        ({"$.s": {"tolerance": 1}}, '"$.s"', "the rule tolerance goes with a number, not with 'x'"),
        ({"$.a": "set"}, '"$.a"', "the rule set goes with an array, not with 1"),
        ({"$.s": {"normalizer": "text@3"}}, '"$.s"', "unknown normalizer 'text@3'; known are text@1, text@2"),
        ({"$.s": {"normalizer": "txt@1"}}, '"$.s"', "unknown normalizer 'txt@1'; known are text@1, text@2"),
        ({"$.s": {"regex": "("}}, '"$.s"', "the pattern '(': not a regular expression"),
        ({"$.s": {"regex": "^y"}}, '"$.s"', "the value 'x' that the step gives is refused by its own rule regex"),
        ({"$.s": {"one_of": ["y"]}}, '"$.s"', "the value 'x' that the step gives is refused by its own rule one_of"),
        ({"$." + "k" * 300: "any"}, "", "is too long for the path of a rule"),
        (
            {"$.a": "exakt"},
            '"$.a"',
            'wanted one of exact, set, any, ignore, got the text "exakt"; did you mean "exact"?',
        ),
        ({"$.a": {}}, '"$.a"', "a rule has one of tolerance, normalizer, regex and one_of, got none"),
        (
            {"$.a": {"tolerance": 1, "regex": "x"}},
            '"$.a"',
            "a rule has one of tolerance, normalizer, regex and one_of, got regex, tolerance",
        ),
        ({"$.a": {"tolerance": -1}}, '"$.a".tolerance', "wanted a number at least 0, got -1"),
        ({"$.s": {"one_of": []}}, '"$.s".one_of', "is empty"),
    ],
)
def test_a_rule_that_cannot_be_applied_is_named_by_its_path(
    tmp_path: Path, rules: dict[str, Any], path: str, message: str
) -> None:
    for where, steps in (
        ("$.expected_invocations[0]", [step(rules=rules)]),
        ("$.expected_invocations[0].alternatives[0]", [{"tool": "u", "alternatives": [step(rules=rules)]}]),
    ):
        said = on_one_line(tmp_path, expected_invocations=steps)
        assert said.startswith(f"{where}.rules.{path}")
        assert message in said
        assert len([line for line in said.splitlines() if not line.startswith(" ")]) == 1


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"$.o": "exact", "$.o.k": "any"}, "$.o.k lies inside another field of the step"),
        ({"$.a": "any", '$["a"]': "exact"}, "is the same field as $.a"),
    ],
)
def test_rules_that_get_in_each_other_s_way_are_refused(tmp_path: Path, rules: dict[str, Any], message: str) -> None:
    assert message in on_one_line(tmp_path, expected_invocations=[step(rules=rules)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"expected_paths": [STEPS]},
            "$.expected_paths: expected_invocations is given as well\n"
            "    Put the one sequence into expected_paths, or keep only expected_invocations.",
        ),
        (
            {"expected_invocations": ..., "checks": [{"type": "json_valid"}]},
            "$.checks: there are checks, but no calls are expected, so the case would never be scored\n"
            "    Write expected_invocations; [] where no call is right.",
        ),
        (
            {"expected_invocations": [{"tool": "t", "args_match": "exact"}]},
            "$.expected_invocations[0].args_match: exact, but there are no args to match\n"
            "    Write args; {} where there are none.",
        ),
        (
            {"expected_invocations": [step(alternatives=[{"tool": "u"}, step()])]},
            "$.expected_invocations[0].alternatives[1]: says the same as the step, or as an alternative before it",
        ),
        (
            {"expected_invocations": [step(turn=2), step(turn=1)]},
            f"$.expected_invocations[1].turn: turn 1 stands after turn 2\n    {MENDED_TURNS}",
        ),
        (
            {"actual_invocations": [{"tool": "a", "turn": 5}, {"tool": "b"}]},
            f"$.actual_invocations[1].turn: turn 2 stands after turn 5\n    {MENDED_TURNS}",
        ),
        ({"task_id": " a"}, '$.task_id: " a" begins or ends with a space, or has a character that cannot be printed'),
        (
            {"task_id": "a\nb"},
            '$.task_id: "a\\nb" begins or ends with a space, or has a character that cannot be printed',
        ),
        ({"actual_invocations": [{"args": {}}]}, "$.actual_invocations[0] has no tool"),
        (
            {"actual_invocations": [{"tool": ""}]},
            "$.actual_invocations[0].tool: is empty\n    Only a call with a fault may have no name.",
        ),
        (
            {"actual_invocations": CALLS, "recordings": [{}]},
            "$.actual_invocations: recordings are given as well\n    Put this attempt into recordings too.",
        ),
        (
            {"recordings": [{"attempt": 2}, {}]},
            "$.recordings[1].attempt: attempt 2 is that of recordings[0] too\n"
            "    Number the attempts apart; left out, the number is the place in the list.",
        ),
        (
            {"recordings": [{"schema_checks": [{"step": 1, "valid": True}]}]},
            "$.recordings[0].schema_checks[0].step: there is no call 1; actual_invocations has 0",
        ),
        (
            {"recordings": [{"subject": {"digest": "xyz"}}]},
            '$.recordings[0].subject.digest: wanted 64 hexadecimal digits, got the text "xyz"',
        ),
        (
            {"stop_reason": "max_tokens"},
            '$.stop_reason: wanted one of stop, length, tool_calls, content_filter, null, got the text "max_tokens"',
        ),
        ({"max_turns": 1.0}, "$.max_turns: wanted a whole number, got the number 1.0"),
        ({"tags": "smoke"}, '$.tags: wanted a list, got the text "smoke"'),
        ({"input": [{"role": "usr", "content": "x"}]}, 'got the text "usr"; did you mean "user"?'),
        (
            {"input": [{"role": "user"}]},
            "$.input[0]: the message has no content\n    Only an assistant's message with tool_calls needs none.",
        ),
        (
            {"input": [{"role": "tool", "content": "x"}]},
            "$.input[0]: a message of the role tool says which call it answers\n    Add its tool_call_id.",
        ),
        (
            {"input": [{"role": "user", "content": "x", "tool_call_id": "c"}]},
            "$.input[0].tool_call_id: only a message of the role tool has it",
        ),
    ],
)
def test_what_the_schema_cannot_say_is_said_with_a_mend(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert message in on_one_line(tmp_path, **changes)


def test_checks_are_checked_one_by_one(tmp_path: Path) -> None:
    checks = [
        {"type": "contain", "value": "x"},
        {"type": "json_valid"},
        {"type": "contains"},
        {"type": "iregex", "value": "("},
    ]
    said = refusal(tmp_path, fixture(checks=checks))
    assert "$.checks[0]: unknown type 'contain'; known are contains, icontains" in said
    assert "$.checks[1]" not in said
    assert "$.checks[2]: (contains): value is missing" in said
    assert "$.checks[3]: (iregex): value: not a regular expression: missing ) at position 1" in said
    assert said.count("docs/scoring.md lists the checks and their fields.") == 3


def test_normalizers_that_compare_nothing_are_refused(tmp_path: Path) -> None:
    normalizers = {
        "$.nope": "text@1",
        "order_id": "text@1",
        "$.order_id": "txt@1",
        "lookup": {"$.order_id": "text@1"},
        "issue_refund": {"$.amount": "text@1", "$.order_id": "text@1"},
    }
    said = refusal(tmp_path, fixture(normalizers=normalizers)).splitlines()
    assert [line.partition(": ")[2] for line in said if not line.startswith(" ")] == [
        '$.normalizers."$.nope": no expected step has an argument at $.nope',
        "$.normalizers.order_id: the path of a rule begins with $, as in $.amount, not 'order_id'",
        "$.normalizers.\"$.order_id\": unknown normalizer 'txt@1'; known are text@1, text@2",
        '$.normalizers.lookup: no expected step calls "lookup"; did you mean "lookup_order"?',
        '$.normalizers.issue_refund."$.amount": the arguments at $.amount are no text, and a normalizer compares text',
    ]


def test_names_of_tools_are_held_against_the_inline_specs(tmp_path: Path) -> None:
    steps = [{"tool": "refund", "alternatives": [{"tool": "lookup_orders"}]}]
    said = refusal(
        tmp_path,
        fixture(
            tools=[spec("lookup_order"), {"type": "function", "function": spec("issue_refund")}],
            expected_invocations=steps,
            allowed_tools=["issue_refund", "isue_refund"],
            read_only=["x"],
            expected_errors=["y"],
            mocks=[{"tool": "z", "result": 1}],
        ),
    ).splitlines()
    assert [line.partition(": ")[2] for line in said if not line.startswith(" ")] == [
        '$.expected_invocations[0].tool: there is no tool "refund" in tools; did you mean "issue_refund"?',
        '$.expected_invocations[0].alternatives[0].tool: there is no tool "lookup_orders" in tools; '
        'did you mean "lookup_order"?',
        '$.allowed_tools[1]: there is no tool "isue_refund" in tools; did you mean "issue_refund"?',
        '$.read_only[0]: there is no tool "x" in tools',
        '$.expected_errors[0]: there is no tool "y" in tools',
        '$.mocks[0].tool: there is no tool "z" in tools',
    ]
    assert said[-1] == "    The inline tools are: issue_refund, lookup_order."


def test_a_step_that_the_fixture_itself_forbids_is_refused(tmp_path: Path) -> None:
    said = on_one_line(tmp_path, allowed_tools=["lookup_order"])
    assert said == (
        '$.expected_invocations[1].tool: "issue_refund" is expected, but allowed_tools does not have it\n'
        "    Add it there."
    )


def test_a_bad_inline_spec_is_named_in_every_fixture_that_has_it(tmp_path: Path) -> None:
    tools = [{"name": "a", "parameters": {"type": "dict"}}]
    bad = {"tools": tools, "expected_invocations": []}
    assert refusal(tmp_path, fixture(task_id="a", **bad), fixture(task_id="b", **bad)) == (
        './t/fixture-1.json:9:13: $.tools[0].parameters.type: "dict" is no type of JSON Schema\n'
        '    Write "object".\n'
        './t/fixture-2.json:9:13: $.tools[0].parameters.type: "dict" is no type of JSON Schema\n'
        '    Write "object".'
    )


def test_faults_of_a_tool_file_are_named_there_and_once(tmp_path: Path) -> None:
    write(tmp_path, '[{"name": "a"},\n {"nam": "b"}]', name="specs/{}.json")
    said = refusal(tmp_path, fixture(task_id="a", tools="specs"), fixture(task_id="b", tools="specs/1.json"))
    assert said == (
        "./t/specs/1.json:2:2: $[1]: the tool has no name\n"
        '    Write `"name"` as text.\n'
        './t/specs/1.json:2:3: $[1].nam: unknown key; did you mean "name"?'
    )


def test_a_tool_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path, "name: a\n", "name: [", name="specs/{}.yaml")
    write(tmp_path, "{", b"\xff", name="specs/{}.json")
    said = refusal(tmp_path, fixture(tools="specs"))
    assert "./t/specs/1.json:1:2: not JSON" in said
    assert "./t/specs/2.json:1:1: not UTF-8 text" in said
    assert "./t/specs/2.yaml:2:1: not valid YAML" in said


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("../secrets.json", "leads out of the task's folder\n    Write a path inside of it."),
        ("/etc/tools.json", "leads out of the task's folder\n    Write a path inside of it."),
        ("a/../../secrets.json", "leads out of the task's folder"),
        ("a\0b", "leads out of the task's folder"),
        (
            "nope.json",
            'there are no tools at "nope.json"\n'
            "    Name a file *.json, *.yaml or *.yml of the task, or a folder of such.",
        ),
        ("README.md", 'there are no tools at "README.md"'),
        ("empty", 'there are no tools at "empty"'),
    ],
)
def test_a_path_of_tools_stays_in_the_task(tmp_path: Path, tools: str, message: str) -> None:
    folder = tmp_path / "task"
    write(tmp_path, [spec("stolen")], name="secrets.json")
    write(folder, "# Not a tool", name="README.md")
    (folder / "empty").mkdir()
    assert message in on_one_line(folder, tools=tools)


def test_a_link_out_of_the_task_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    write(tmp_path, [spec("stolen")], name="secrets.json")
    folder.mkdir()
    (folder / "tools.json").symlink_to(tmp_path / "secrets.json")
    (folder / "fixtures").symlink_to(tmp_path)
    said = refusal(folder, fixture(tools="tools.json"))
    assert "./t/fixtures: leads out of the task's directory" in said
    assert "./t/tools.json: leads out of the task's directory" in said
    assert 'there are no tools at "tools.json"' in said


DEEP = '{"task_id": "a", "input": "x", "mocks": [{"tool": "a", "result": %s}]}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "1:2: not JSON: Expecting value"),
        ("", "1:1: not JSON: Expecting value"),
        ('{"task_id": "a",\n "task_id": "b"}', '2:2: a key stands twice in one object: "task_id"'),
        ('{"task_id": "a", "input": NaN}', "1:27: not a JSON number: NaN"),
        ('{"task_id": "a", "input": "\\ud800"}', "1:28: the escape of half a character (a lone surrogate)"),
        (DEEP % ("[" * 120 + "]" * 120), "1:163: nested more than 100 levels deep"),
        (DEEP % ("[" * 100_000), "nested more than 500 levels deep"),
        (DEEP % "123456789012345678901234", '"123456789012345678901234" does not fit in 64 bits'),
        (DEEP % '"123456789012345678901234"', ""),
        (DEEP % ("[" * 97 + "]" * 97), ""),
        (DEEP % ("[" * 98 + "]" * 98), "1:163: nested more than 100 levels deep"),
        (DEEP % "9223372036854775807", ""),
        (DEEP % "9223372036854775808", '"9223372036854775808" does not fit in 64 bits'),
        ("\ufeff{}", "1:1: begins with a byte-order mark"),
        (b'{"task_id": "\xff"}', "1:1: not UTF-8 text"),
        (b" " * (8 * 1024 * 1024 + 1), "larger than 8 MiB, the most that is read"),
        (
            [fixture()],
            "1:1: $: a file holds one fixture\n    Write one a file, or one a line in a file *.jsonl.",
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_hostile_file_is_a_plain_fault(tmp_path: Path, content: Any, message: str) -> None:
    if message:
        assert message in refusal(tmp_path, content)
    else:
        assert loaded(tmp_path, content, format="trace").cases


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task_id: a\ntask_id: b\n", 'fixture-1.yaml:2:1: key "task_id" appears twice, first in line 1'),
        ("task_id: .nan\n", 'fixture-1.yaml:1:10: ".nan" is not a finite number'),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *c]\n", "fixture-1.yaml:3:9: alias *c has no anchor &c before it"),
        ("task_id: a\n---\ntask_id: b\n", "fixture-1.yaml:2:1: a second document begins here"),
        ("just text\n", "$: wanted a mapping, got the text"),
    ],
)
def test_yaml_is_read_as_strictly(tmp_path: Path, content: str, message: str) -> None:
    write(tmp_path, content, name="fixtures/fixture-{}.yaml")
    assert message in refusal(tmp_path)


@pytest.mark.parametrize("content", ["5", '"text"', "null", "[]", "[1]"])
def test_json_that_is_no_object_is_no_fixture(tmp_path: Path, content: str) -> None:
    write(tmp_path, content, name="fixtures/x.json")
    assert "./t/fixtures/x.json:1:1: $: wanted a mapping, got" in refusal(tmp_path)


def test_in_the_folder_fixtures_every_file_is_a_fixture(tmp_path: Path) -> None:
    write(tmp_path, {"name": "package"}, name="fixtures/package.json")
    assert refusal(tmp_path) == (
        "./t/fixtures/package.json:1:1: $ has no input\n"
        "    Add it, e.g. `input: Order 4821 arrived damaged.`.\n"
        "./t/fixtures/package.json:1:1: $ has no task_id\n"
        "    Add it, e.g. `task_id: refund-partial`.\n"
        './t/fixtures/package.json:2:2: unknown key "name"\n'
        "    Known keys: $schema, actual_invocations, allowed_tools, checks, critical, description, expected_answer, "
        "expected_errors, expected_invocations, expected_paths, final_answer, input, input_tokens, limit, max_calls, "
        "max_extra_calls, max_turns, mocks, normalizers, output_tokens, read_only, recordings, skip, stop_reason, "
        "tags, task_id, text_calls, tools."
    )


def test_a_fixture_that_lost_its_task_id_is_not_left_aside_in_silence(tmp_path: Path) -> None:
    assert "$ has no task_id" in refusal(tmp_path, fixture(task_id=...), fixture())


def test_a_faulty_fixture_is_named_even_where_it_is_not_included(tmp_path: Path) -> None:
    assert "$.max_turns" in refusal(tmp_path, fixture(max_turns=0, skip=True), include=Include(ids=["other"]))


def test_of_very_many_problems_the_first_are_shown(tmp_path: Path) -> None:
    rows = "\n".join(json.dumps(fixture(task_id=f"{number}", max_turns=0)) for number in range(300))
    write(tmp_path, rows, name="rows.jsonl")
    said = refusal(tmp_path).splitlines()
    assert said[:3] == [
        "./t: 201 problems, of which these are the first 50",
        "./t: 300 fixtures have faults, of which those of 200 are listed",
        "./t/rows.jsonl:1:220: $.max_turns: wanted a whole number at least 1 and at most 1000, got 0",
    ]
    assert len(said) == 51


def test_of_very_large_files_the_first_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.formats.trace.reading.MOST_LOOKED_THROUGH", 500)
    said = refusal(tmp_path, *(fixture(task_id=name, max_turns=0, description="x" * 300) for name in "abc"))
    assert said.splitlines()[0] == "./t: 3 fixtures have faults, of which those of 1 are listed"


def test_a_pattern_that_never_ends_is_a_fault_of_its_rule(tmp_path: Path) -> None:
    args = {"s": "a" * 40 + "!"}
    rules = {"$.s": {"regex": "^(a|aa)+$"}}
    said = on_one_line(tmp_path, expected_invocations=[{"tool": "t", "args": args, "rules": rules}])
    assert "took longer than 1 s on 41 characters" in said


def test_a_pipe_among_the_fixtures_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, fixture(), name="fixtures/a.json")
    os.mkfifo(tmp_path / "fixtures" / "b.json")
    assert "./t/fixtures/b.json: not a regular file" in refusal(tmp_path)
