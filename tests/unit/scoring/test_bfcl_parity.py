"""bfcl@1 with greedy matching, against the leaderboard's own checker: on all its answers and on mutations of them."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from evaluator import formats
from evaluator.cases import Case, SourceRef
from evaluator.config.types import TaskConfig
from evaluator.results import Score
from evaluator.scoring import prepare
from evaluator.scoring.bounds import json_path
from evaluator.transcript import Call, Transcript
from tests.unit.scoring.bfcl_reference import checker, data

SEED = 20250601
MUTATIONS = 60_000

MODES = {
    "wrong_count": "wrong_count",
    "wrong_func_name": "wrong_tool",
    "missing_required": "missing_argument",
    "missing_optional": "missing_argument",
    "unexpected_param": "unexpected_argument",
    "type_error": "wrong_type",
    "value_error": "wrong_value",
    "dict_checker": "wrong_value",
    "list_dict_checker": "wrong_value",
}
Calls = list[dict[str, Any]]


class Pair(NamedTuple):
    """A case of ours, and what the reference needs of it."""

    case: Case
    category: str
    functions: list[Any]
    truth: list[Any]


def rows(name: str) -> dict[str, Any]:
    with (data() / name).open(encoding="utf-8") as lines:
        return {row["id"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """Every case with an answer, of all categories that are supported."""
    config = TaskConfig(name="bfcl", source="data", options={"matching": "greedy"})
    task = formats.load(config, data(), SourceRef(location="data"))
    known: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    found = []
    for case in task.cases:
        category = case.slices[0]
        if "irrelevance" in category:
            continue
        if category not in known:
            name = f"BFCL_v4_{category}.json"
            known[category] = (rows(name), rows(f"possible_answer/{name}"))
        questions, answers = known[category]
        found.append(Pair(case, category, questions[case.id]["function"], answers[case.id]["ground_truth"]))
    return found


def gold(pair: Pair) -> Calls:
    (transcript,) = pair.case.golds
    return [{call.tool: json.loads(call.arguments)} for call in transcript.calls]


def transcript_of(calls: Calls) -> Transcript:
    made = [Call(tool=name, arguments=json.dumps(args)) for call in calls for name, args in call.items()]
    return Transcript(calls=made, stop_reason="tool_calls")


def mode_of(error_type: str) -> str:
    checker_, _, cause = error_type.partition(":")
    return MODES.get(cause) or MODES[checker_]


def parameter_of(error: str) -> str | None:
    """The parameter that an error of the reference's top level is about."""
    said = re.match(r"(?:Missing required|Unexpected|Optional) parameter:? ('(?:[^'\\]|\\.)*'|\"[^\"]*\")", error)
    said = said or re.match(r"Incorrect type for parameter ('(?:[^'\\]|\\.)*'|\"[^\"]*\")", error)
    return said and said.group(1)[1:-1]


def disagreement(result: dict[str, Any], score: Score) -> str | None:
    """Why a score is not what the reference says, None where it is."""
    if result["valid"] != score.passed:
        return f"verdict: {result} but {score}"
    if score.passed:
        return None
    error, error_type = result["error"], result["error_type"]
    first = score.findings[0]
    if error_type.endswith("cannot_find_match"):
        # The reference names the wanted call that finds none, and says for each call that is left why it is not that.
        index = int(re.search(r"for index (\d+) of possible answers", error[0]).group(1))  # type: ignore[union-attr]
        if first.step != index + 1:
            return f"wanted call {index + 1} finds none, but {first}"
        left = {key: value for each in error[1:] for key, value in each.items()}
        inner = left[f"Model Result Index {(first.call or 0) - 1}"]
        error, error_type = inner["sub_error"], inner["sub_error_type"]
    if score.failure_mode != mode_of(error_type):
        return f"class: {error_type} {error} but {score.failure_mode} {score.findings}"
    name = parameter_of(error[0])
    if name is not None and first.path != json_path([name]):
        return f"parameter: {error} but {first}"
    return None


# What is done to a value


def of_value(value: Any, choose: random.Random) -> Iterator[Any]:
    yield None
    yield ""
    yield " ."
    yield str(value)
    yield json.dumps(value)
    yield [value]
    yield True
    if isinstance(value, bool):
        yield not value
        yield int(value)
    elif isinstance(value, int):
        yield from (float(value), -value, value + 1, str(float(value)), bool(value), value + 0.5)
    elif isinstance(value, float):
        yield from (-value, value + 0.25, int(value), repr(-value))
    elif isinstance(value, str):
        yield from (value.upper(), value.swapcase(), value + ".", f" {value} ", value[::-1], value + "x", value[:-1])
        yield from ("".join(choose.choice("-_/ ,*^.") + letter for letter in value), value.replace(" ", ""))
        yield from (value.replace("'", '"'), f"'{value}'", f'"{value}"', value + "\n", value + "é", 5, -1.5)
    elif isinstance(value, list):
        yield from (value[::-1], value + value, value[:-1], [*value, None], [*value, *value[:1]], {})
        yield from of_list(value, choose)
    elif isinstance(value, dict):
        yield from (dict(reversed(value.items())), {**value, "another": 1}, {}, list(value.items()))
        for key, item in value.items():
            yield {name: member for name, member in value.items() if name != key}
            yield {(name.upper() if name == key else name): member for name, member in value.items()}
            yield from ({**value, key: changed} for changed in of_value(item, choose))


def of_list(value: list[Any], choose: random.Random) -> Iterator[Any]:
    if not value:
        yield [1]
        return
    place = choose.randrange(len(value))
    yield from ([*value[:place], changed, *value[place + 1 :]] for changed in of_value(value[place], choose))
    shuffled = value[:]
    choose.shuffle(shuffled)
    yield shuffled


def of_arguments(args: dict[str, Any], choose: random.Random) -> Iterator[dict[str, Any]]:
    yield {}
    yield {**args, "extra_parameter": 1}
    yield dict(reversed(args.items()))
    for name, value in args.items():
        rest = {key: item for key, item in args.items() if key != name}
        yield rest
        yield {**rest, name.upper(): value}
        yield {**rest, name + "_": value}
        for changed in of_value(value, choose):
            yield {**args, name: changed}
            if choose.random() < 0.1:  # two faults, in either order
                yield {"another": changed, **args, name: changed}
                yield {**dict.fromkeys(list(rest)[:1]), name: changed, **dict(list(rest.items())[1:])}


def of_answer(calls: Calls, truth: list[Any], choose: random.Random) -> Iterator[Calls]:
    yield []
    yield calls + calls
    yield calls[::-1]
    yield calls[:-1]
    yield [*calls, {"another": {}}]
    yield calls[1:] + calls[:1]
    yield [calls[0]] * len(calls)
    for place, call in enumerate(calls):
        ((name, args),) = call.items()
        others = [name.upper(), name.replace(".", "_") + "_", name.rpartition(".")[2] + "2", "another"]
        changed: list[dict[str, Any]] = [{other: args} for other in others]
        changed += [{name: arguments} for arguments in of_arguments(args, choose)]
        changed += [{name: arguments} for arguments in of_accepted(truth[place][name], args, choose)]
        for each in changed:
            yield [*calls[:place], each, *calls[place + 1 :]]
            if len(calls) > 1 and choose.random() < 0.2:
                yield [*calls[:place], each, *calls[place + 1 :]][::-1]


def of_accepted(accepted: dict[str, Any], args: dict[str, Any], choose: random.Random) -> Iterator[dict[str, Any]]:
    """Every accepted value in turn, and those of what the gold answer leaves out changed as well."""
    for name, values in accepted.items():
        for value in values:
            yield {**args, name: value}
            if name not in args:
                yield from ({**args, name: changed} for changed in of_value(value, choose))


def mutations(pairs: list[Pair]) -> Iterator[tuple[Pair, Calls]]:
    """`MUTATIONS` of them, by the seed, spread over all cases."""
    choose = random.Random(SEED)
    everything = [(pair, calls) for pair in pairs for calls in of_answer(gold(pair), pair.truth, choose)]
    yield from choose.sample(everything, MUTATIONS)


def compare(check: Any, found: Iterator[tuple[Pair, Calls]]) -> Counter[str]:
    """How often each outcome was agreed on. Fails with the first cases of disagreement."""
    scorers: dict[str, Any] = {}
    outcomes: Counter[str] = Counter()
    wrong = []
    for pair, calls in found:
        scorer = scorers.get(pair.case.id) or scorers.setdefault(pair.case.id, prepare("bfcl", pair.case))
        score = scorer(transcript_of(calls))
        assert isinstance(score, Score), score
        result = check(pair.functions, calls, pair.truth, pair.category)
        said = disagreement(result, score)
        if said is not None:
            wrong.append((pair.case.id, calls, said))
        outcomes[score.failure_mode or "passed"] += 1
    assert not wrong, f"{len(wrong)} disagreements: {wrong[:5]}"
    return outcomes


def test_every_gold_answer_gets_the_verdict_of_the_reference(pairs: list[Pair]) -> None:
    outcomes = compare(checker(), ((pair, gold(pair)) for pair in pairs))
    assert len(pairs) == 2351
    assert outcomes == {"passed": 2347, "missing_argument": 3, "unexpected_argument": 1}


def test_mutated_answers_get_the_verdict_and_the_class_of_error_of_the_reference(pairs: list[Pair]) -> None:
    outcomes = compare(checker(), mutations(pairs))
    assert outcomes.total() == MUTATIONS >= 50_000
    assert set(outcomes) == {*MODES.values(), "passed"}
    assert min(outcomes.values()) > 1_000, "each class of error is met often"


def test_a_tuple_where_one_is_declared_is_the_list_that_json_has(pairs: list[Pair]) -> None:
    check = checker()
    seen = 0
    for pair in pairs:
        calls = gold(pair)
        for call in calls:
            ((name, args),) = call.items()
            declared = next(each for each in pair.functions if each["name"] == name)["parameters"]["properties"]
            for key in [key for key in args if declared.get(key, {}).get("type") == "tuple"]:
                tuples = [{name: {**args, key: tuple(args[key])}} if each is call else each for each in calls]
                result = check(pair.functions, tuples, pair.truth, pair.category)
                score = prepare("bfcl", pair.case)(transcript_of(calls))
                assert isinstance(score, Score)
                assert result["valid"] == score.passed
                seen += 1
    assert seen >= 10
