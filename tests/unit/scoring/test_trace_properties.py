"""What holds of trace@1 for all cases and attempts, and figures against a search through all assignments."""

from itertools import permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.cases import Case
from evaluator.scoring import trace_fit
from evaluator.scoring.json_call import strictly_equal
from evaluator.transcript import Call
from evaluator.vocabulary import FAILURE_MODES
from tests.unit.scoring.traces import call, case, score, step

NAMES = st.sampled_from(["get", "put", "end"])
VALUES = st.sampled_from([0, 1, 1.0, True, None, "a", [1, 2], [2, 1], {}, {"x": 1}])
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=2)
RESULTS = st.sampled_from([{"ok": True}, {"ok": False}, "text", None])
CALLS = st.lists(
    st.builds(lambda tool, args, result: call(tool, args, result=result), NAMES, ARGUMENTS, RESULTS), max_size=4
)
FORMS = st.fixed_dictionaries({"tool": NAMES}, optional={"args": ARGUMENTS})
PLAIN = st.builds(lambda tool, turn, args: step(tool, turn=turn, args=args), NAMES, st.integers(1, 3), ARGUMENTS)
STEPS = st.builds(
    lambda form, turn, more: {**form, "turn": turn, **more},
    FORMS,
    st.integers(1, 3),
    st.fixed_dictionaries(
        {},
        optional={
            "alternatives": st.lists(FORMS, max_size=2),
            "optional": st.booleans(),
            "args_match": st.sampled_from(["subset", "exact"]),
        },
    ),
)
PATHS = st.lists(STEPS, max_size=4)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "allowed_tools": st.just(["get", "put"]),
        "read_only": st.just(["get"]),
        "max_extra_calls": st.integers(0, 1),
        "expected_errors": st.just(["put"]),
    },
)
SHARES = ("tool_score", "order_score", "argument_score", "argument_score_matched")


def gold_calls(path: list[Any]) -> list[Call]:
    """The calls that the path's own steps describe, optional ones included."""
    in_turn = sorted(path, key=lambda each: each["turn"])
    return [call(each["tool"], each.get("args", {}), result={"ok": True}) for each in in_turn]


def without_alternatives(one: dict[str, Any]) -> dict[str, Any]:
    """An alternative of fewer fields than the step's own makes the sum of expected fields depend on the calls."""
    return {key: value for key, value in one.items() if key != "alternatives"}


@given(PATHS, CALLS, SETTINGS)
def test_figures_are_shares_or_counts_and_the_mode_is_none_exactly_for_a_pass(
    path: list[Any], calls: list[Call], setting: Any
) -> None:
    found = score(case(*path, **setting), *calls)
    assert found.passed == (found.failure_mode is None) == (found.values["score"] == 1.0)
    assert found.failure_mode is None or found.failure_mode in FAILURE_MODES
    assert all(0.0 <= found.values[name] <= 1.0 for name in (*SHARES, "score") if name in found.values)
    assert found.values["extra_read_only_calls"] <= found.values["extra_calls"] <= found.values["calls"] == len(calls)
    assert found.values["missing_calls"] <= len(path)
    assert found.passed == all(finding.note for finding in found.findings)
    assert [finding.note for finding in found.findings] == sorted(finding.note for finding in found.findings)
    assert all(finding.step is not None or finding.call is not None for finding in found.findings if finding.tool)


@given(PATHS, SETTINGS.map(lambda setting: {**setting, "allowed_tools": ["get", "put", "end"]}))
def test_the_gold_passes_with_every_figure_at_one(path: list[Any], setting: Any) -> None:
    found = score(case(*path, **setting), *gold_calls(path))
    assert found.passed, found
    assert all(found.values[name] == 1.0 for name in (*SHARES, "score") if name in found.values)
    assert (found.values["missing_calls"], found.values["extra_calls"]) == (0.0, 0.0)


@given(st.lists(STEPS.map(without_alternatives), max_size=4), st.data())
def test_taking_right_calls_from_the_gold_one_by_one_never_raises_a_score(path: list[Any], data: Any) -> None:
    the_case, calls = case(*path), gold_calls(path)
    before = score(the_case, *calls).values
    while calls:
        del calls[data.draw(st.integers(0, len(calls) - 1))]
        after = score(the_case, *calls).values
        for name in ("tool_score", "order_score", "argument_score", "score"):
            assert after.get(name, 0.0) <= before.get(name, 0.0), (name, before, after)
        before = after


@given(st.lists(PLAIN, min_size=1, max_size=4), CALLS, st.data())
def test_taking_a_right_call_from_any_attempt_never_raises_a_score(
    path: list[Any], calls: list[Call], data: Any
) -> None:
    right = call(path[0]["tool"], path[0]["args"])
    place = data.draw(st.integers(0, len(calls)))
    the_case = case(*path)
    before = score(the_case, *calls[:place], right, *calls[place:]).values
    after = score(the_case, *calls).values
    for name in ("tool_score", "order_score", "argument_score"):
        assert after.get(name, 0.0) <= before.get(name, 0.0)


@given(PATHS, CALLS, SETTINGS, st.data())
def test_no_figure_depends_on_the_order_in_which_parallel_steps_are_written(
    path: list[Any], calls: list[Call], setting: Any, data: Any
) -> None:
    shuffled = data.draw(st.permutations(path))
    one, other = score(case(*path, **setting), *calls), score(case(*shuffled, **setting), *calls)
    assert (one.failure_mode, one.values) == (other.failure_mode, other.values)


@given(st.lists(PATHS, min_size=1, max_size=3), CALLS, SETTINGS, st.data())
def test_no_figure_depends_on_the_order_of_paths_and_more_paths_never_do_harm(
    paths: list[Any], calls: list[Call], setting: Any, data: Any
) -> None:
    found = score(case(paths=paths, **setting), *calls)
    shuffled = score(case(paths=data.draw(st.permutations(paths)), **setting), *calls)
    assert (found.failure_mode, found.values) == (shuffled.failure_mode, shuffled.values)
    alone = [score(case(*path, **setting), *calls) for path in paths]
    assert found.passed == any(each.passed for each in alone)
    assert found.values in [each.values for each in alone]


def right_fields(expected: Any, sent: Any) -> int:
    """By the definition: leaves and arrays, of values without nested objects."""
    count = 0
    for name, wanted in expected.items():
        if isinstance(wanted, dict) and wanted:
            inner = sent.get(name)
            count += right_fields(wanted, inner) if isinstance(inner, dict) else 0
        elif name in sent:
            got = sent[name]
            orders = permutations(got) if isinstance(wanted, list) and isinstance(got, list) else [got]
            count += any(strictly_equal(list(order) if isinstance(order, tuple) else order, wanted) for order in orders)
    return count


def fields(expected: Any) -> int:
    return sum(fields(value) if isinstance(value, dict) and value else 1 for value in expected.values())


@settings(max_examples=200)
@given(st.lists(PLAIN, min_size=1, max_size=4), st.lists(st.tuples(NAMES, ARGUMENTS), max_size=4))
def test_tool_and_argument_scores_are_those_of_the_best_of_all_assignments(path: list[Any], sent: list[Any]) -> None:
    best = (0, 0)
    slots = [*range(len(sent)), *[None] * len(path)]
    for assignment in set(permutations(slots, len(path))):
        pairs = [(each, sent[call]) for each, call in zip(path, assignment, strict=True) if call is not None]
        if all(each["tool"] == tool for each, (tool, _) in pairs):
            right = sum(right_fields(each["args"], args) for each, (_, args) in pairs)
            best = max(best, (len(pairs), right))
    found = score(case(*path), *(call(tool, args) for tool, args in sent)).values
    total = sum(fields(each["args"]) for each in path)
    assert found["tool_score"] == best[0] / len(path)
    assert found.get("argument_score") == (best[1] / total if total else None)


def has_others(expected: Any, sent: Any) -> bool:
    return any(
        name not in expected or (isinstance(value, dict) and expected[name] and has_others(expected[name], value))
        for name, value in sent.items()
        if name not in expected or isinstance(expected[name], dict)
    )


def closest(one: Any, tool: str, sent: Any) -> tuple[bool, int, int] | None:
    """Satisfied, right fields, minus the fields: of the form of a step that a call fits best, None where none fits."""
    grades = []
    for form in (one, *one.get("alternatives", ())):
        if form["tool"] == tool:
            args = form.get("args", {})
            others = one.get("args_match") == "exact" and "args" in form and has_others(args, sent)
            right = right_fields(args, sent)
            grades.append((right == fields(args) and not others, right, -fields(args)))
    return max(grades, default=None)


@settings(max_examples=300)
@given(st.lists(STEPS, min_size=1, max_size=3), st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3))
def test_with_alternatives_optional_and_exact_steps_the_figures_are_those_of_the_best_assignment(
    path: list[Any], sent: list[Any]
) -> None:
    ranked = []
    for assignment in set(permutations([*range(len(sent)), *[None] * len(path)], len(path))):
        grades = [
            None if call is None else closest(each, *sent[call]) for each, call in zip(path, assignment, strict=True)
        ]
        if any(call is not None and grade is None for call, grade in zip(assignment, grades, strict=True)):
            continue
        missing = [each for each, grade in zip(path, grades, strict=True) if grade is None and not each.get("optional")]
        matched = [grade for grade in grades if grade is not None]
        right = sum(grade[1] for grade in matched)
        expected = sum(-grade[2] for grade in matched) + sum(fields(each.get("args", {})) for each in missing)
        clean = not missing and all(grade[0] for grade in matched)
        ranked.append(
            (-len(missing), len(matched), clean, right if not clean else 0, -expected if not clean else 0, right)
        )
    missed, matches, clean, _, _, _ = max(ranked)
    ratios = {(right, expected) for *head, right, expected, _ in ranked if (head) == [missed, matches, clean]}
    found = score(case(*path), *(call(tool, args) for tool, args in sent))
    if matches - missed:
        assert found.values["tool_score"] == matches / (matches - missed)
    if clean:
        assert found.failure_mode in (None, "extra_call", "wrong_order")
        assert found.values.get("argument_score", 1.0) == 1.0
    else:
        right, negative = max(ratios)
        assert found.values.get("argument_score") == (right / -negative if negative else None)


@given(STEPS, st.lists(st.builds(call, NAMES, ARGUMENTS), min_size=1, max_size=12))
def test_looking_calls_up_by_their_values_says_the_same_as_comparing_one_by_one(one: Any, calls: list[Call]) -> None:
    the_case: Case = case(*[{**one, "turn": 1}] * 3)
    by_default = score(the_case, *calls)
    many, trace_fit._MANY = trace_fit._MANY, 0
    try:
        assert score(the_case, *calls) == by_default
    finally:
        trace_fit._MANY = many
