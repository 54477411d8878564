import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluator.results import Finding
from evaluator.scoring import checks
from evaluator.scoring.answer_checks import sentences
from evaluator.scoring.checks import KINDS, UnknownCheckError, compile_checks
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternTimeoutError
from evaluator.transcript import Call, Transcript

RECORD = {
    "type": "object",
    "required": ["name", "year"],
    "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
    "additionalProperties": False,
}

USABLE: dict[str, dict[str, Any]] = {
    "contains": {"value": "Paris"},
    "icontains": {"value": "Paris"},
    "not_contains": {"value": "Paris"},
    "iregex": {"value": "par+is"},
    "numeric_equals": {"value": 330},
    "sentence_count": {"min": 2, "max": 3},
    "json_valid": {},
    "json_schema": {"schema": RECORD},
    "json_path_equals": {"path": "year", "value": 1889},
    "tool_used": {"name": "search"},
    "tool_not_used": {"name": "search"},
    "no_tool": {},
    "min_tool_calls": {"value": 2},
    "max_tool_calls": {"value": 2},
    "call_counts": {"counts": {"search": 2, "book": 0}},
    "suspended": {},
    "no_tool_before_suspend": {"name": "book"},
}
ON_ANSWERS = (
    *("contains", "icontains", "not_contains", "iregex", "numeric_equals", "sentence_count"),
    *("json_valid", "json_schema", "json_path_equals"),
)
ON_CALLS = tuple(sorted(set(USABLE) - set(ON_ANSWERS)))

WELL_FORMED = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
TOOLS = st.sampled_from(["search", "book", "request_approval", "other"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WELL_FORMED,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WELL_FORMED, inner, max_size=3),
    max_leaves=8,
)
CALLS = st.lists(
    st.builds(Call, tool=TOOLS, turn=st.integers(1, 4), fault=st.sampled_from([None, None, None, "not JSON"])),
    max_size=6,
)


def finding(kind: str, answer: str | None = None, calls: list[Call] | None = None, **fields: Any) -> Finding | None:
    (check,) = compile_checks([{"type": kind} | (fields or USABLE[kind])])
    assert check.kind == kind
    return check(Transcript(text=answer, calls=calls or []))


def holds(kind: str, answer: str | None = None, calls: list[Call] | None = None, **fields: Any) -> bool:
    return finding(kind, answer, calls, **fields) is None


def called(*tools: str) -> list[Call]:
    """One call a turn; tools with `+` between them are called in one turn."""
    return [Call(tool=tool, turn=turn) for turn, together in enumerate(tools, 1) for tool in together.split("+")]


def test_there_are_seventeen_kinds_and_each_has_a_version() -> None:
    assert set(USABLE) == set(KINDS) == set(checks.versions())
    assert len(KINDS) == 17
    assert all(version == f"{kind}@1" for kind, version in checks.versions().items())


@given(st.sampled_from(sorted(KINDS)), WELL_FORMED | JSON.map(json.dumps), CALLS)
def test_no_transcript_makes_a_check_raise_and_a_finding_can_be_stored(
    kind: str, answer: str, calls: list[Call]
) -> None:
    found = finding(kind, answer, calls)
    if found is not None:
        assert found.path.startswith("$")
        json.dumps(found.got if found.got is not None else 0, default=repr).encode()


@pytest.mark.parametrize("kind", ON_ANSWERS)
@pytest.mark.parametrize("answer", [None, "", " \n\t"])
def test_no_answer_satisfies_no_check_on_the_answer(kind: str, answer: str | None) -> None:
    found = finding(kind, answer)
    assert found == Finding(path="$", keyword="empty", message="the answer is empty")


def test_a_check_on_calls_needs_no_answer() -> None:
    held = {kind for kind in ON_CALLS if holds(kind, None, [])}
    assert held == {"tool_not_used", "no_tool", "max_tool_calls", "no_tool_before_suspend"}


@given(WELL_FORMED, WELL_FORMED, WELL_FORMED.filter(bool))
def test_a_text_is_contained_or_it_is_not(before: str, after: str, value: str) -> None:
    whole = before + value + after
    assume(whole.strip())
    assert holds("contains", whole, value=value)
    assert holds("icontains", whole, value=value)
    assert not holds("not_contains", whole, value=value)
    assume(before.strip())
    assert holds("contains", before, value=value) is not holds("not_contains", before, value=value)


@pytest.mark.parametrize(
    ("kind", "answer", "fields", "expected"),
    [
        ("contains", "in paris", {}, False),
        ("icontains", "in PARIS", {}, True),
        ("icontains", "STRASSE", {"value": "straße"}, True),
        ("icontains", "in  Par is", {}, False),
        ("not_contains", "in paris", {}, True),
        ("not_contains", "in Paris", {}, False),
        ("contains", "a\nb", {"value": "a b"}, False),
        ("iregex", "ParrrIS", {}, True),
        ("iregex", "x Paris", {"value": "^paris"}, False),
        ("numeric_equals", "It is 330 m tall.", {}, True),
        ("numeric_equals", "It is 330.5 m tall.", {}, False),
        ("numeric_equals", "It is 330.5 m tall.", {"value": 330, "tol": 0.5}, True),
        ("numeric_equals", "It is 330.1 m tall.", {"value": 330, "tol": 0.1}, True),
        ("numeric_equals", "It is 330.11 m tall.", {"value": 330, "tol": 0.1}, False),
        ("numeric_equals", "It is 0.3 m tall.", {"value": 0.3}, True),
        ("numeric_equals", "1e999", {"value": 1e308, "tol": 1e308}, False),
        ("numeric_equals", "1,234 or -5", {"value": 1234}, True),
        ("numeric_equals", "1,234 or -5", {"value": -5}, True),
        ("numeric_equals", "about 5", {"value": -5}, False),
        ("numeric_equals", "10-20", {"value": 20}, True),
        ("numeric_equals", "three hundred", {}, False),
        ("json_valid", "7", {}, True),
        ("json_valid", "Sure: [1, 2]", {}, True),
        ("json_valid", "```json\n{}\n```", {}, True),
        ("json_valid", "{'a': 1}", {}, False),
        ("json_valid", '{"a": NaN}', {}, False),
        ("json_schema", '{"name": "Eiffel Tower", "year": 1889}', {}, True),
        ("json_schema", '{"name": "Eiffel Tower", "year": 1889.0}', {}, True),
        ("json_schema", '{"name": "Eiffel Tower", "year": 1889.5}', {}, False),
        ("json_schema", '{"name": "Eiffel Tower", "year": true}', {}, False),
        ("json_schema", '{"name": "Eiffel Tower"}', {}, False),
        ("json_schema", '[1] said {"name": "x", "year": 1}', {}, True),
        ("json_schema", '{bad} but {"name": "x", "year": 1}', {}, True),
        ("json_schema", '[1] said {"name": "x", "year": 1}', {"schema": {"type": "array"}}, True),
        ("json_schema", "{}", {"schema": {"$ref": "#/$defs/r", "$defs": {"r": {"type": "object"}}}}, True),
        ("json_schema", "[1] {}", {"schema": {"$ref": "#/$defs/r", "$defs": {"r": {"type": "object"}}}}, True),
        ("json_schema", "[1] {}", {"schema": {"$ref": "#"}}, False),
        ("json_schema", '"x" 3', {"schema": False}, False),
        ("json_path_equals", '{"year": 1889}', {}, True),
        ("json_path_equals", '{"year": 1889.0}', {}, True),
        ("json_path_equals", '{"year": "1889"}', {}, False),
        ("json_path_equals", '[0] {"year": 1889}', {}, True),
        ("json_path_equals", '{"a": [{"b": " EIFFEL tower "}]}', {"path": "a.0.b", "value": "Eiffel Tower"}, True),
        ("json_path_equals", '{"a": ["x"]}', {"path": "a.1", "value": "x"}, False),
        ("json_path_equals", '{"a": ["x"]}', {"path": "a.-1", "value": "x"}, False),
        ("json_path_equals", '{"a": {"0": "x"}}', {"path": "a.0", "value": "x"}, True),
        ("json_path_equals", '["x", 5]', {"path": "1", "value": 5}, True),
        ("json_path_equals", '{"a": null}', {"path": "a", "value": None}, True),
        ("json_path_equals", "{}", {"path": "a", "value": None}, False),
        ("json_path_equals", '{"a": true}', {"path": "a", "value": 1}, False),
        ("json_path_equals", '{"a": 1}', {"path": "a", "value": True}, False),
        ("json_path_equals", '{"a": true}', {"path": "a", "value": 1, "tol": 5}, False),
        ("json_path_equals", '{"a": "1"}', {"path": "a", "value": 1, "tol": 5}, False),
        ("json_path_equals", '{"a": 331}', {"path": "a", "value": 330, "tol": 1}, True),
        ("json_path_equals", '{"a": 24.51}', {"path": "a", "value": 24.5, "tol": 0.01}, True),
        ("json_path_equals", '{"a": 331.5}', {"path": "a", "value": 330, "tol": 1}, False),
        ("json_path_equals", '{"a": ["X"]}', {"path": "a", "value": ["x"]}, False),
        ("json_path_equals", '{"a": [1, 2.0]}', {"path": "a", "value": [1.0, 2]}, True),
        ("json_path_equals", f'{{"a": 1{"0" * 400}}}', {"path": "a", "value": 0.5, "tol": 1}, False),
    ],
)
def test_what_an_answer_satisfies(kind: str, answer: str, fields: dict[str, Any], expected: bool) -> None:
    assert holds(kind, answer, **fields) is expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("One. Two! Three?", 3),
        ("No mark at the end", 1),
        ("Really?! Yes...", 2),
        ("It is 330.5 m tall.", 1),
        ("See example.com or v1.2.3 now.", 1),
        ("The arch is in St. Louis, near Dr. Who, e.g. there.", 1),
        ("He lives (approx.) there. She too.", 2),
        ("This is the best. Period.", 2),
        ('"Stop!" she said. **Done.**', 3),
        ("1. One thing\n2. Another thing", 2),
        ("- one\n- two", 1),
        ("# Title\n\nText.", 2),
        ("これは塔です。高いです。", 2),
        ("1889. 330!", 0),
        ("...", 0),
        ("", 0),
    ],
)
def test_what_a_sentence_is(text: str, number: int) -> None:
    assert sentences(text) == number


@given(st.lists(st.text(alphabet="abc def", min_size=1).filter(str.strip), max_size=6), st.sampled_from(".!?…"))
def test_sentences_that_are_put_together_are_counted(parts: list[str], mark: str) -> None:
    assume(not any(part.strip() in ("ca", "cf") or part.split()[-1] in ("ca", "cf") for part in parts))
    text = " ".join(f"x {part.strip()} x{mark}" for part in parts)
    assert sentences(text) == len(parts)
    if parts:
        assert holds("sentence_count", text, min=len(parts), max=len(parts))
        assert not holds("sentence_count", text, min=len(parts) + 1)
        assert not holds("sentence_count", text, min=0, max=len(parts) - 1)


def test_without_bounds_there_is_at_least_one_sentence() -> None:
    assert compile_checks([{"type": "sentence_count"}])[0](Transcript(text="Yes")) is None
    assert compile_checks([{"type": "sentence_count"}])[0](Transcript(text="42.")) is not None


@given(CALLS, TOOLS)
def test_a_tool_is_used_or_not_and_a_malformed_call_is_neither(calls: list[Call], name: str) -> None:
    mentioned = [call for call in calls if call.tool == name]
    proper = [call for call in mentioned if call.fault is None]
    assert holds("tool_used", None, calls, name=name) is bool(proper)
    assert holds("tool_not_used", None, calls, name=name) is not bool(mentioned)
    assert holds("no_tool", None, calls) is (calls == [])


@given(CALLS, st.integers(0, 7))
def test_a_malformed_call_counts_against_a_limit_and_not_towards_a_minimum(calls: list[Call], value: int) -> None:
    malformed = sum(call.fault is not None for call in calls)
    assert holds("max_tool_calls", None, calls, value=value) is (len(calls) <= value)
    assert holds("min_tool_calls", None, calls, value=value) is (len(calls) - malformed >= value)


@given(CALLS)
def test_counts_hold_for_exactly_the_calls_that_were_made(calls: list[Call]) -> None:
    made = {tool: sum(call.tool == tool for call in calls) for tool in ("search", "book")}
    malformed = any(call.fault is not None and call.tool in made for call in calls)
    assert holds("call_counts", None, calls, counts=made) is not malformed
    for tool in made:
        assert not holds("call_counts", None, calls, counts=made | {tool: made[tool] + 1})


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_number_is_near_enough_by_its_decimals(hundredths: int, off: int, tolerance: int) -> None:
    wanted, got, tol = hundredths / 100, (hundredths + off) / 100, tolerance / 100
    near = off <= tolerance
    assert holds("numeric_equals", f"It is {got:.2f}", value=wanted, tol=tol) is near
    assert holds("json_path_equals", json.dumps({"a": got}), path="a", value=wanted, tol=tol) is near


@pytest.mark.parametrize(
    ("calls", "fields", "expected"),
    [
        ((), {}, False),
        (("search",), {}, False),
        (("search", "request_approval"), {}, True),
        (("search", "save_progress"), {}, True),
        (("request_approval",), {"value": 2}, False),
        (("request_approval", "request_approval"), {"value": 2}, True),
        (("ask_user",), {}, False),
        (("ask_user",), {"tool": "ask_user"}, True),
        (("request_approval",), {"tool": "ask_user"}, False),
    ],
)
def test_a_pause_is_a_call_of_a_tool_that_hands_over(
    calls: tuple[str, ...], fields: dict[str, Any], expected: bool
) -> None:
    (check,) = compile_checks([{"type": "suspended", **fields}])
    assert (check(Transcript(calls=called(*calls))) is None) is expected


@pytest.mark.parametrize(
    ("calls", "fields", "number"),
    [
        (("search", "request_approval", "book"), {}, None),
        (("search",), {}, None),
        (("book", "request_approval"), {}, 1),
        (("search", "request_approval+book"), {}, 3),
        (("search", "book+request_approval"), {}, 2),
        (("request_approval", "book", "request_approval", "book"), {}, None),
        (("search", "book"), {}, 2),
        (("ask_user", "book"), {}, 2),
        (("ask_user", "book"), {"tool": "ask_user"}, None),
    ],
)
def test_a_tool_waits_for_the_pause(calls: tuple[str, ...], fields: dict[str, Any], number: int | None) -> None:
    found = finding("no_tool_before_suspend", None, called(*calls), name="book", **fields)
    assert (found.call if found else None) == number


def test_a_malformed_pause_is_no_pause() -> None:
    calls = [Call(tool="request_approval", fault="not JSON"), Call(tool="book", turn=2)]
    assert not holds("suspended", None, calls)
    assert not holds("no_tool_before_suspend", None, calls, name="book")


@pytest.mark.parametrize(
    ("kind", "answer", "calls", "fields", "expected"),
    [
        ("contains", "Rome", (), {}, Finding(path="$", keyword="contains", wanted="Paris", got="Rome")),
        ("numeric_equals", "5 or 6", (), {}, Finding(path="$", keyword="numeric_equals", wanted=330, got=[5.0, 6.0])),
        (
            *("sentence_count", "One.", (), {}),
            Finding(path="$", keyword="sentence_count", wanted={"min": 2, "max": 3}, got=1),
        ),
        (
            *("json_valid", "so {", (), {}),
            Finding(*(), path="$", keyword="json", message="not JSON: Expecting value (line 1, column 1)"),
        ),
        (
            *("json_schema", '{"name": 7, "year": 1}', (), {}),
            Finding(path="$.name", keyword="type", wanted="string", got=7),
        ),
        (
            *("json_schema", '{"name": 7, "year": "x"}', (), {}),
            Finding(path="$.name", keyword="type", wanted="string", got=7, message="the first of 2"),
        ),
        (
            *("json_path_equals", '{"a": [{"b": 2}]}', (), {"path": "a.0.b", "value": 1}),
            Finding(path="$.a[0].b", keyword="json_path_equals", wanted=1, got=2),
        ),
        (
            *("json_path_equals", '{"a": [{"b": 2}]}', (), {"path": "a.1.b", "value": 1}),
            Finding(path="$.a[1].b", keyword="json_path_equals", wanted=1, message="not there"),
        ),
        ("tool_used", None, ("book",), {}, Finding(path="$", keyword="tool_used", wanted="search", got=["book"])),
        ("tool_not_used", None, ("x", "search"), {}, Finding(path="$", keyword="tool_not_used", got="search", call=2)),
        ("no_tool", None, ("x", "search"), {}, Finding(path="$", keyword="no_tool", got=["x", "search"])),
        ("min_tool_calls", None, ("x",), {}, Finding(path="$", keyword="min_tool_calls", wanted=2, got=1)),
        ("max_tool_calls", None, ("x", "x", "x"), {}, Finding(path="$", keyword="max_tool_calls", wanted=2, got=3)),
        (
            *("call_counts", None, ("search", "x"), {}),
            Finding(path="$", keyword="call_counts", wanted={"search": 2, "book": 0}, got={"search": 1, "book": 0}),
        ),
        ("suspended", None, ("x",), {}, Finding(path="$", keyword="suspended", wanted=1, got=0)),
    ],
)
def test_a_finding_says_what_was_wanted_and_what_was_there(
    kind: str, answer: str | None, calls: tuple[str, ...], fields: dict[str, Any], expected: Finding
) -> None:
    assert finding(kind, answer, called(*calls), **fields) == expected


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        (None, "checks is a list, not None"),
        ({"type": "no_tool"}, "checks is a list, not {'type': 'no_tool'}"),
        (["no_tool"], "checks[0] is an object with a type, not 'no_tool'"),
        ([{"type": "no_tool"}, {"kind": "no_tool"}], "checks[1] is an object with a type, not {'kind': 'no_tool'}"),
        ([{"type": 7}], "checks[0] is an object with a type, not {'type': 7}"),
        ([{"type": "contains"}], "checks[0] (contains): value is missing"),
        ([{"type": "contains", "value": 1889}], "checks[0] (contains): value is a text that is not empty, not 1889"),
        ([{"type": "contains", "value": ""}], "checks[0] (contains): value is a text that is not empty, not ''"),
        (
            [{"type": "no_tool", "name": "x"}],
            "checks[0] (no_tool): unknown field 'name'; it takes type",
        ),
        (
            [{"type": "numeric_equals", "value": 1, "tolerance": 2}],
            "checks[0] (numeric_equals): unknown field 'tolerance'; it takes type, value, tol",
        ),
        (
            [{"type": "json_path_equals", "pth": "a"}],
            "checks[0] (json_path_equals): path is missing; value is missing; "
            "unknown field 'pth'; it takes type, path, value, tol",
        ),
        (
            [{"type": "numeric_equals", "value": True}],
            "checks[0] (numeric_equals): value is a number that a double can hold, not True",
        ),
        (
            [{"type": "numeric_equals", "value": float("nan")}],
            "checks[0] (numeric_equals): value is a number that a double can hold, not 'NaN'",
        ),
        (
            [{"type": "numeric_equals", "value": 10**400}],
            "checks[0] (numeric_equals): value is a number that a double can hold, not 'an integer of 1329 bits'",
        ),
        (
            [{"type": "numeric_equals", "value": 1, "tol": -1}],
            "checks[0] (numeric_equals): tol is a number not below 0, not -1",
        ),
        (
            [{"type": "json_path_equals", "path": "a", "value": "x", "tol": 1}],
            "checks[0] (json_path_equals): value is a number that a double can hold, not 'x'",
        ),
        *(
            (
                [{"type": "json_path_equals", "path": path, "value": 1}],
                "checks[0] (json_path_equals): path is names and list indexes with dots between, "
                f"as items.0.name, not {path!r}",
            )
            for path in ("", "$.a", "a..b", 0)
        ),
        ([{"type": "iregex", "value": "("}], "checks[0] (iregex): value: not a regular expression: "),
        ([{"type": "iregex", "value": 7}], "checks[0] (iregex): value: a pattern is a string"),
        ([{"type": "json_schema", "schema": 7}], "checks[0] (json_schema): schema: not a JSON Schema: "),
        (
            [{"type": "json_schema", "schema": {"$ref": "https://example.com/s.json"}}],
            "references are never fetched",
        ),
        ([{"type": "tool_used", "name": " "}], "checks[0] (tool_used): name is the name of a tool, not ' '"),
        (
            [{"type": "min_tool_calls", "value": 1.0}],
            "checks[0] (min_tool_calls): value is a whole number from 0 to 1,000,000, not 1.0",
        ),
        (
            [{"type": "max_tool_calls", "value": True}],
            "checks[0] (max_tool_calls): value is a whole number from 0 to 1,000,000, not True",
        ),
        (
            [{"type": "call_counts", "counts": {}}],
            "checks[0] (call_counts): counts is an object of tool names, each with a number of calls",
        ),
        (
            [{"type": "call_counts", "counts": {"search": -1}}],
            "checks[0] (call_counts): counts['search'] is a whole number from 0 to 1,000,000, not -1",
        ),
        (
            [{"type": "sentence_count", "min": 3, "max": 2}],
            "checks[0] (sentence_count): max is 2, less than min, 3",
        ),
        (
            [{"type": "suspended", "tool": ""}],
            "checks[0] (suspended): tool is the name of a tool, not ''",
        ),
    ],
)
def test_a_definition_that_is_not_usable_is_refused_by_place_and_field(definitions: Any, message: str) -> None:
    with pytest.raises(MalformedError) as refused:
        compile_checks(definitions)
    assert message in str(refused.value)
    assert not isinstance(refused.value, UnknownCheckError)


def test_an_unknown_kind_is_told_apart_and_the_known_ones_are_listed() -> None:
    with pytest.raises(UnknownCheckError) as refused:
        compile_checks([{"type": "no_tool"}, {"type": "looks_nice"}])
    assert str(refused.value) == f"checks[1]: unknown type 'looks_nice'; known are {', '.join(KINDS)}"


@given(
    st.sampled_from(sorted(KINDS)),
    st.dictionaries(
        st.sampled_from(["value", "name", "path", "tol", "min", "max", "schema", "counts", "tool"]), JSON, max_size=4
    ),
)
def test_any_definition_compiles_or_is_refused(kind: str, fields: dict[str, Any]) -> None:
    try:
        (check,) = compile_checks([{**fields, "type": kind}])
    except MalformedError as error:
        said = str(error)
    else:
        check(Transcript(text="One {}.", calls=called("search")))
        return
    assert said.startswith(f"checks[0] ({kind}): ")


def test_a_catastrophic_pattern_ends_in_time_and_says_so() -> None:
    with pytest.raises(PatternTimeoutError, match=r"the pattern '\(a\+\)\+\$' took longer than 1 s"):
        finding("iregex", "a" * 5000 + "!", value="(a+)+$")
    schema = {"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}}
    with pytest.raises(PatternTimeoutError):
        finding("json_schema", json.dumps({"a": "a" * 5000 + "!"}), schema=schema)


@pytest.mark.parametrize("kind", ["json_valid", "json_schema", "json_path_equals"])
@pytest.mark.parametrize(
    ("answer", "keyword"),
    [
        ("[" * 100_000, "depth"),
        ('{"year":' * 600 + "1" + "}" * 600, "depth"),
        ('{"year": 1889, "year": 1889}', "duplicate_key"),
        ('{"year": 1e999}', "not_finite"),
        ('{"year": ' + "9" * 5000 + "}", "integer_size"),
        ('{"year": "\\ud800"}', "surrogate"),
        ("\ufeff7", "byte_order_mark"),
        ("x" * (8 * 1024 * 1024 + 1), "size"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else value,
)
def test_json_that_no_parser_should_read_is_a_plain_finding(kind: str, answer: str, keyword: str) -> None:
    found = finding(kind, answer)
    assert found is not None
    assert found.keyword == keyword


@pytest.mark.parametrize(
    "answer",
    ["." * 400_000 + "x", ". " * 400_000, "\n" * 400_000 + "x", '."' * 400_000, "e.g." * 200_000, "。" * 400_000],
)
def test_counting_sentences_takes_linear_time(answer: str) -> None:
    found = finding("sentence_count", answer, min=1_000_000)
    assert found is not None
    assert found.keyword == "sentence_count"


def test_the_arena_of_structured_output_is_checked_as_its_authors_mean_it() -> None:
    definitions = [
        {"type": "json_schema", "schema": RECORD},
        {"type": "json_path_equals", "path": "name", "value": "Eiffel Tower"},
        {"type": "json_path_equals", "path": "year", "value": 1889, "tol": 1},
        {"type": "tool_used", "name": "search"},
    ]
    compiled = compile_checks(definitions)
    assert [check.kind for check in compiled] == [definition["type"] for definition in definitions]
    right = Transcript(text='{"name": "eiffel tower", "year": 1890}', calls=called("search"))
    assert [check(right) for check in compiled] == [None] * 4
    wrong = Transcript(text='{"name": "Eiffel", "year": 1900}')
    assert [check(wrong) is None for check in compiled] == [True, False, False, False]


@pytest.mark.parametrize(
    "call",
    [
        Call(tool="search", arguments="{"),
        Call(tool="search", arguments="[1]"),
        Call(tool="search", arguments="{}", unanswered="invalid"),
        Call(tool="search", arguments='{"a": 1, "a": 2}'),
        Call(tool="search", arguments="{}", fault="cut off"),
    ],
)
def test_a_call_that_is_none_is_no_evidence_that_a_tool_was_used(call):
    transcript = Transcript(text="x", calls=[call, call])
    for definition in (
        {"type": "tool_used", "name": "search"},
        {"type": "min_tool_calls", "value": 1},
        {"type": "call_counts", "counts": {"search": 2}},
    ):
        [check] = compile_checks([definition])
        assert check(transcript) is not None
    [forbidden] = compile_checks([{"type": "no_tool"}])
    assert forbidden(transcript) is not None
