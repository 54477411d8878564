"""(Case, attempt) → what was expected beside what came, with the attempts judged by the real scorers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evaluator import scoring
from evaluator.cases import Case, Request
from evaluator.reports.page_pairs import Pair
from evaluator.reports.page_sides import MOST_PAIRS, side_by_side
from evaluator.results import Attempt, CaseResult, Score
from evaluator.transcript import Call, Transcript


def laid_out(
    scorer: str, expected: Any, said: Transcript, *, options: dict[str, Any] | None = None, **request: Any
) -> list[Pair]:
    case = Case(id="a", request=Request(messages=[], **request), expected=expected, options=options or {})
    found = scoring.prepare(scorer, case)(said)
    assert isinstance(found, Score), found
    attempt = Attempt(
        number=1,
        status="scored",
        passed=found.passed,
        failure_mode=found.failure_mode,
        findings=found.findings,
        transcript=said,
    )
    result = CaseResult(
        id="a", digest="", request=case.request, expected=expected, attempts=[attempt], options=case.options
    )
    return list(side_by_side(result)(attempt).shown)


def shown(pairs: list[Pair]) -> list[tuple[str, str | None, str | None]]:
    return [(p.state, p.wanted and p.wanted.title, p.got and p.got.title) for p in pairs]


def step(tool: str, args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"tool": tool, **({} if args is None else {"args": args}), **more}


def call(tool: str, args: Any = None, **more: Any) -> Call:
    return Call(tool=tool, arguments=args if isinstance(args, str) else json.dumps(args or {}), **more)


LOOK, PAY, MAIL = step("look", {"id": 1}), step("pay", {"id": 1, "sum": 2.5}), step("mail", {"id": 1})
LOOKED, PAID, MAILED = call("look", {"id": 1}), call("pay", {"id": 1, "sum": 2.5}), call("mail", {"id": 1})


def traced(paths: list[list[dict[str, Any]]], *calls: Call, text: str | None = None, **more: Any) -> list[Pair]:
    return laid_out("trace", {"paths": paths, **more}, Transcript(calls=list(calls), text=text, stop_reason="stop"))


def test_right_calls_stand_beside_their_steps() -> None:
    assert shown(traced([[LOOK, PAY]], LOOKED, PAID, text="Done.")) == [
        ("right", "step 1 look", "call 1 look"),
        ("right", "step 2 pay", "call 2 pay"),
        ("plain", None, "answer"),
    ]


def test_a_wrong_argument_is_marked_and_an_extra_call_shifts_nothing() -> None:
    pairs = traced([[LOOK, PAY]], LOOKED, call("pay", {"id": 1, "sum": 99}), call("burn"))

    assert shown(pairs) == [
        ("right", "step 1 look", "call 1 look"),
        ("differs", "step 2 pay", "call 2 pay"),
        ("extra", None, "call 3 burn"),
    ]
    assert pairs[1].paths == ["$.sum"]


def test_a_step_that_was_skipped_stands_alone() -> None:
    assert shown(traced([[LOOK, PAY, MAIL]], LOOKED, MAILED)) == [
        ("right", "step 1 look", "call 1 look"),
        ("missing", "step 2 pay", None),
        ("right", "step 3 mail", "call 2 mail"),
    ]


def test_parallel_calls_of_one_tool_stand_beside_the_step_that_they_fit() -> None:
    one, two = step("look", {"id": 1}, turn=1), step("look", {"id": 2}, turn=1)

    assert shown(traced([[one, two]], call("look", {"id": 2}), call("look", {"id": 1}))) == [
        ("right", "step 1 look", "call 2 look"),
        ("right", "step 2 look", "call 1 look"),
    ]


def test_of_several_paths_that_of_the_scorer_is_shown_and_the_fitting_one_of_a_pass() -> None:
    ways = [[LOOK, PAY, MAIL], [LOOK, MAIL]]

    assert [title for _, title, _ in shown(traced(ways, LOOKED, MAILED))] == ["step 1 look", "step 2 mail"]
    wrong = traced(ways, LOOKED, call("mail", {"id": 7}))
    assert shown(wrong) == [("right", "step 1 look", "call 1 look"), ("differs", "step 2 mail", "call 2 mail")]


def test_a_step_says_what_else_is_right() -> None:
    other = step("look", {"id": 1}, alternatives=[step("find", {"name": "x"})], optional=True)
    [first, second] = traced([[other, step("ping")]], call("find", {"name": "x"}), call("ping", {"any": "thing"}))

    assert first.got is not None
    assert first.wanted is not None
    assert second.wanted is not None
    assert (first.state, first.got.title) == ("right", "call 1 find")
    assert first.wanted.note == 'may be left out; or: [{"tool":"find","args":{"name":"x"}}]'
    assert second.wanted.note == "any arguments"


def test_a_call_says_what_its_tool_answered_and_what_is_wrong_with_it() -> None:
    broken = call("pay", '{"id": 1', fault="it does not close", result={"ok": True}, unanswered="malformed")
    got = traced([[PAY]], broken)[0].got or traced([[PAY]], broken)[1].got

    assert got is not None
    assert (got.text, got.is_json, got.result) == ('{"id": 1', False, '{"ok":true}')
    assert got.note == "malformed: it does not close; answered by a frozen error: malformed"


def test_checks_of_a_trace_stand_beside_the_answer_and_those_that_fail_are_marked() -> None:
    checks = [{"type": "contains", "value": "refund"}, {"type": "contains", "value": "Friday"}]
    last = traced([[LOOK]], LOOKED, text="The refund is on its way.", checks=checks)[-1]

    assert shown([last]) == [("differs", "checks", "answer")]
    assert (last.paths, last.places) == ([], ["$[1]"])


def test_a_json_call_stands_beside_its_accepted_values() -> None:
    accepted = {"sum": [2.5], "unit": ["USD", "EUR"], "soon": [True, ""], "tag": [""]}
    expected = {"matchers": [{"kind": "json_call", "function_name": "pay", "args_accepted": accepted}]}
    said = Transcript(text='```json\n{"name": "pay", "arguments": {"sum": 2.5, "unit": "Dollars"}}\n```')
    first = laid_out("trapstreet", expected, said)[0]

    assert first.wanted is not None
    assert first.got is not None
    assert shown([first]) == [("differs", "pay", "pay")]
    assert first.wanted.text == '{"sum": 2.5, "unit": "USD" | "EUR", "soon": true | (none), "tag": (none)}'
    assert json.loads(first.got.text) == {"sum": 2.5, "unit": "Dollars"}
    assert first.paths == ["$.unit"]


def test_an_answer_that_is_no_call_is_shown_as_it_came() -> None:
    expected = {"matchers": [{"kind": "json_call", "function_name": "pay", "args_accepted": {"sum": [1]}}]}
    [pair] = laid_out("trapstreet", expected, Transcript(text="Sure! {}"))

    assert pair.got is not None
    assert (pair.state, pair.got.text, pair.got.is_json) == ("differs", "Sure! {}", False)


def test_of_matchers_of_one_kind_the_one_that_fails_is_marked() -> None:
    expected = {"matchers": [{"kind": "numeric", "value": 1}, {"kind": "numeric", "value": 2}]}
    [pair] = laid_out("trapstreet", expected, Transcript(text="1 of them"))

    assert pair.places == ["$[1]"]


def test_wanted_calls_of_bfcl_stand_beside_native_calls_and_calls_in_the_text() -> None:
    wanted = {"tool": "pay", "required": ["sum"], "arguments": {"sum": {"accepted": [1, 2], "type": "integer"}}}
    expected = {"calls": [wanted], "functions": ["pay"]}
    native = laid_out("bfcl", expected, Transcript(calls=[call("pay", {"sum": 3})]))
    written = laid_out("bfcl", expected, Transcript(text="[pay(sum=2)]"), options={"calls": "prompt"})

    assert shown(native) == [("differs", "call 1 pay", "call 1 pay")]
    assert native[0].wanted is not None
    assert (native[0].wanted.text, native[0].paths) == ('{"sum": 1 | 2}', ["$.sum"])
    assert shown(written) == [("right", "call 1 pay", "call 1 pay"), ("plain", None, "answer")]


def test_a_continuation_stands_beside_what_it_should_hold() -> None:
    expected = {"format": "json", "content": '{"a": 1, "b": [2, 3]}'}
    [pair] = laid_out("closure", expected, Transcript(text='"b": [2, 4]}', stop_reason="stop"), prefix='{"a": 1, ')

    assert pair.got is not None
    assert (pair.state, pair.got.text, pair.paths) == ("differs", '{"a": 1, "b": [2, 4]}', ["$.b[1]"])
    assert pair.got.is_json


def test_an_answer_of_an_arena_stands_beside_its_checks() -> None:
    checks = [{"type": "json_path_equals", "path": "total.sum", "value": 5}, {"type": "tool_used", "name": "calculate"}]
    said = Transcript(text='{"total": {"sum": 4}}', calls=[call("calculate")])
    pairs = laid_out("arena", {"checks": checks}, said)

    assert shown(pairs) == [("differs", "checks", "answer"), ("plain", None, "call 1 calculate")]
    assert pairs[0].paths == ["$.total.sum"]
    assert pairs[0].places == ["$[0]"]


def of_nobody(expected: Any, said: Transcript | None) -> Sequence[Pair]:
    attempt = Attempt(number=1, status="scored", passed=False, transcript=said)
    return side_by_side(
        CaseResult(id="a", digest="", request=Request(messages=[]), expected=expected, attempts=[attempt])
    )(attempt).shown


def test_what_nobody_knows_the_meaning_of_is_shown_as_it_is() -> None:
    [pair] = of_nobody({"files": {"out.txt": "1"}}, Transcript(text="done"))

    assert pair.wanted is not None
    assert (pair.state, pair.wanted.text) == ("differs", '{"files":{"out.txt":"1"}}')


def test_odd_shapes_of_what_is_expected_break_nothing() -> None:
    said = Transcript(text="x", calls=[call("a", "[")])
    for expected in (
        None,
        {},
        {"paths": [1, [2, {"tool": 3, "alternatives": [4]}], [{"args": 5}]]},
        {"calls": [1, {}, {"tool": None, "arguments": [1]}]},
        {"matchers": [{"kind": "json_call", "args_accepted": 7}]},
        {"matchers": [1, {"kind": []}]},
        {"format": "json"},
        {"checks": 5, "matchers": 5},
    ):
        assert of_nobody(expected, said)
        assert of_nobody(expected, None) == []


def test_the_sides_of_an_attempt_are_bounded_and_those_that_differ_are_kept_first() -> None:
    steps = [step("look", {"id": number}) for number in range(80)]
    pairs = traced([steps], *(call("look", each["args"]) for each in steps[:-1]), call("look", {"id": "last"}))

    assert len(of_nobody({"x": 1}, Transcript(calls=[call("a")] * 500))) == MOST_PAIRS
    assert shown([*pairs[:2], *pairs[-2:]]) == [
        *(("right", f"step {number} look", f"call {number} look") for number in (1, 2, 59)),
        ("differs", "step 80 look", "call 80 look"),
    ]


def test_values_that_only_python_can_write_are_written() -> None:
    [pair] = of_nobody({"n": 10**30, "s": "\ud800"}, Transcript(text="x"))

    assert pair.wanted is not None
    assert pair.wanted.text == '{"n":1000000000000000000000000000000,"s":"\ud800"}'
