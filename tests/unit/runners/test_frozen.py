"""What frozen tools answer, and what of a case they cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.cases import SUBJECT, Case, Frozen, Request
from evaluator.runners.frozen import FrozenTools, held_to_answers, unanswerable
from evaluator.transcript import Call

OFFERED = {"lookup", "refund"}


def frozen(result, tool="lookup", **args):
    return Frozen(tool=tool, args=args, result=result)


def anything(result, tool="lookup"):
    return Frozen(tool=tool, result=result)


def ask(tools, arguments='{"id": 1}', tool="lookup"):
    return tools.answer(Call(tool=tool, arguments=arguments))


def test_a_mock_wins_over_a_recorded_result_and_a_mock_for_these_arguments_over_one_for_any():
    recorded, exact, free = frozen("recorded", id=1), frozen("mocked", id=1), anything("any")
    assert ask(FrozenTools([recorded], [free, exact], OFFERED)).result == "mocked"
    assert ask(FrozenTools([recorded], [free], OFFERED)).result == "any"
    assert ask(FrozenTools([recorded], [frozen("other", id=2)], OFFERED)).result == "recorded"
    assert ask(FrozenTools([], [free, exact], OFFERED)).result == "mocked"
    assert ask(FrozenTools([frozen("other", id=2)], [free], OFFERED)) == ("any", None)


def test_several_results_of_the_same_call_are_given_in_order_and_the_last_again():
    tools = FrozenTools([frozen({"error": "busy"}, id=1), frozen("x", id=2), frozen("done", id=1)], [], OFFERED)
    assert [ask(tools).result for _ in range(4)] == [{"error": "busy"}, "done", "done", "done"]
    assert ask(tools, '{"id": 2}').result == "x"


def test_a_mock_for_any_arguments_counts_all_calls_that_it_answers():
    tools = FrozenTools([], [anything("first"), anything("second")], OFFERED)
    assert [ask(tools, f'{{"id": {number}}}').result for number in range(3)] == ["first", "second", "second"]


@pytest.mark.parametrize(
    ("kept", "arguments", "found"),
    [
        ({"id": 1}, '{"id": 1.0}', True),
        ({"id": 1.0}, '{"id": 1}', True),
        ({"id": 1}, '{"id": true}', False),
        ({"id": 1}, '{"id": "1"}', False),
        ({"id": None}, "{}", False),
        ({}, '{"id": null}', False),
        ({"a": [1, 2]}, '{"a": [2, 1]}', False),
        ({"a": 1, "b": 2}, ' {"b": 2,\n"a": 1}', True),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
    ],
)
def test_arguments_of_a_recording_are_equal_as_json_is(kept, arguments, found):
    tools = FrozenTools([Frozen(tool="lookup", args=kept, result="yes")], [], OFFERED)
    assert (ask(tools, arguments).unanswered is None) == found


@pytest.mark.parametrize(
    ("kept", "arguments", "found"),
    [
        ({"id": 1}, '{"id": 1.0}', True),
        ({"id": 1}, '{"id": true}', False),
        ({"id": None}, "{}", False),
        ({"a": [1, 2]}, '{"a": [2, 1]}', True),
        ({"a": 1}, '{"a": 1, "b": 2}', True),
        ({"a": {"b": 1}}, '{"a": {"b": 1, "c": 2}}', True),
        ({"a": 1, "b": 2}, '{"a": 1}', False),
        ({}, '{"a": 1}', True),
    ],
)
def test_a_mock_answers_what_an_expected_step_with_its_arguments_would_accept(kept, arguments, found):
    tools = FrozenTools([], [Frozen(tool="lookup", args=kept, result="yes")], OFFERED)
    assert (ask(tools, arguments).unanswered is None) == found


def test_the_mock_that_names_most_arguments_answers():
    mocks = [frozen("by id", id=1), frozen("by both", id=1, day=2), frozen("by day", day=2), anything("any")]
    tools = FrozenTools([], mocks, OFFERED)
    assert ask(tools, '{"id": 1, "day": 2}').result == "by both"
    assert ask(tools, '{"id": 1, "day": 3}').result == "by id"
    assert ask(tools, '{"id": 2, "day": 2}').result == "by day"
    assert ask(tools, '{"id": 2}').result == "any"


@pytest.mark.parametrize(
    ("call", "unanswered", "error"),
    [
        (Call(tool="lookup", arguments='{"id": 2}'), "unmatched", "no result is available for these arguments"),
        (Call(tool="delete", arguments='{"id": 1}'), "unknown_tool", "there is no tool of this name"),
        (Call(tool="lookup", arguments='{"id": '), "malformed", "the arguments are not a JSON object"),
        (Call(tool="lookup", arguments="[1]"), "malformed", "the arguments are not a JSON object"),
        (Call(tool="lookup", arguments=""), "malformed", "the arguments are not a JSON object"),
        (Call(tool="lookup", arguments='{"id": 1, "id": 1}'), "malformed", "the arguments are not a JSON object"),
        (Call(tool="lookup", arguments='{"a":' * 501), "malformed", "the arguments are not a JSON object"),
        (Call(tool="delete", arguments="x"), "malformed", "the arguments are not a JSON object"),
        (Call(tool="lookup", arguments="{}", fault="odd"), "malformed", "the arguments are not a JSON object"),
    ],
)
def test_what_nothing_answers_gets_an_error_that_says_why_and_nothing_of_what_is_right(call, unanswered, error):
    tools = FrozenTools([frozen("secret", id=1), frozen("secret", "refund", id=7)], [], OFFERED)
    assert tools.answer(call) == ({"error": error}, unanswered)


def test_arguments_as_deep_as_json_may_be_are_compared():
    deep: object = 1
    for _ in range(490):
        deep = [deep]
    arguments = '{"a": ' + "[" * 490 + "1" + "]" * 490 + "}"
    assert ask(FrozenTools([frozen("deep", a=deep)], [], OFFERED), arguments).result == "deep"


RESULTS = st.lists(st.tuples(st.integers(0, 2), st.integers()), min_size=1, max_size=8)


@given(RESULTS, st.lists(st.integers(0, 2), max_size=12))
def test_each_call_gets_the_results_of_its_own_arguments_in_their_order(kept, calls):
    tools = FrozenTools([frozen(result, id=number) for number, result in kept], [], OFFERED)
    asked = dict.fromkeys(range(3), 0)
    for number in calls:
        own = [result for which, result in kept if which == number]
        wanted = (
            own[min(asked[number], len(own) - 1)] if own else {"error": "no result is available for these arguments"}
        )
        assert ask(tools, f'{{"id": {number}}}').result == wanted
        asked[number] += 1


# Whether a case's own golds can be answered


def case(*paths, recorded=(), mocks=(), max_turns=16):
    request = Request(messages=[], mocks=list(mocks), max_turns=max_turns)
    tools = {SUBJECT: [{"name": name, "parameters": {}} for name in sorted(OFFERED)]}
    return Case(id="c", request=request, expected={"paths": list(paths)}, recorded=list(recorded), tools=tools)


def step(tool="lookup", **fields):
    return {"turn": 1, "tool": tool, **fields}


def test_a_case_whose_steps_all_have_a_result_is_answerable():
    path = [step(args={"id": 1}), step("refund", args={"id": 1.0, "amount": 24.5})]
    kept = [frozen("a", id=1), frozen("b", "refund", id=1, amount=24.5)]
    assert unanswerable(case(path, recorded=kept)) == []
    assert unanswerable(case(path, recorded=kept[:1], mocks=kept[1:])) == []
    assert unanswerable(case(path, mocks=[kept[0], anything("b", "refund")])) == []


def test_every_expected_call_without_a_result_is_named_with_its_place():
    paths = [
        [step(args={"id": 1}), step("refund", args={"id": 2})],
        [step("erase", args={}), step("refund")],
    ]
    assert unanswerable(case(*paths, recorded=[frozen("a", id=1)])) == [
        'path 1, step 2: no result is kept for refund with {"id": 2}',
        "path 2, step 1: erase is not among the tools on offer",
        "path 2, step 2: no result is kept for refund",
    ]


def test_alternatives_and_optional_steps_are_expected_calls_too():
    alternative = {"tool": "refund", "args": {"id": 3}}
    path = [step(args={"id": 1}, alternatives=[alternative]), step("refund", args={"id": 4}, optional=True)]
    assert unanswerable(case(path, recorded=[frozen("a", id=1)])) == [
        'path 1, step 1: no result is kept for refund with {"id": 3}',
        'path 1, step 2: no result is kept for refund with {"id": 4}',
    ]


@pytest.mark.parametrize("rule", [{"any": True}, {"regex": "x"}, {"normalizer": "text@1"}, {"one_of": [1]}])
def test_a_field_with_a_rule_needs_any_result_of_the_tool(rule):
    path = [step(args={"id": 1}, rules={"$.note": rule})]
    assert unanswerable(case(path, recorded=[frozen("a", id=9, note="n")])) == []
    assert unanswerable(case(path, recorded=[frozen("a", "refund", id=9)])) == [
        "path 1, step 1: no result is kept for lookup"
    ]


def test_a_rule_that_is_plain_equality_leaves_nothing_open():
    path = [step(args={"id": [1]}, rules={"$.id": {"exact": True}})]
    assert unanswerable(case(path, recorded=[frozen("a", id=[2])])) == [
        'path 1, step 1: no result is kept for lookup with {"id": [1]}'
    ]


def test_a_case_whose_tools_are_not_asked_to_answer_has_nothing_to_answer():
    path = [step(args={"id": 1})]
    assert unanswerable(case(path, max_turns=1)) == []
    assert len(unanswerable(case(path, max_turns=2))) == 1
    assert len(unanswerable(case(path, max_turns=1, mocks=[anything("x", "refund")]))) == 1


def test_a_case_that_expects_nothing_is_answerable():
    assert unanswerable(Case(id="c", request=Request(messages=[], max_turns=9))) == []
    assert unanswerable(case([])) == []


def recorded_case(recorded, mocks=()):
    request = Request(messages=[], mocks=list(mocks), max_turns=4)
    return Case(id="a", request=request, expected={"paths": []}, recorded=list(recorded))


def test_recorded_answers_that_decide_are_part_of_a_live_case():
    one = held_to_answers(recorded_case([frozen({"ok": True}, "refund", amount=49)]))
    other = held_to_answers(recorded_case([frozen({"ok": False}, "refund", amount=49)]))
    none = held_to_answers(recorded_case([]))
    assert len({one.digest(), other.digest(), none.digest()}) == 3
    assert none == recorded_case([])


def test_recorded_answers_behind_a_mock_decide_nothing_and_change_no_digest():
    mocks = [anything({"ok": True}, "refund")]
    plain = held_to_answers(recorded_case([], mocks))
    recorded = held_to_answers(recorded_case([frozen({"ok": False}, "refund", amount=49)], mocks))
    assert recorded.digest() == plain.digest()
    assert recorded.recorded == []
