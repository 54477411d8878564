"""results.json: what is written can be read again, is what the published schema says, and nothing else is taken."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from evaluator import schemas
from evaluator.errors import UserError
from evaluator.results import Baseline, Finding, Run, decode_baseline, decode_run, decode_run_or_baseline, encode
from tests.unit.builders import failed_call, found, outcomes, run, scored, task_result

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture
def result():
    attempts = outcomes(2, 1) | {"broken": [failed_call()], "args": [scored(True, argument_score=1.0)]}
    return run([task_result(attempts, slices={"c000": ["easy"]}, critical=["c001"])])


def test_the_published_schemas_are_those_of_the_types():
    for name, text in schemas.texts().items():
        assert (PUBLISHED / name).read_text(encoding="utf-8") == text, f"run `make schemas` to renew {name}"


def test_a_run_and_a_baseline_survive_the_way_through_json(result):
    baseline = found(*result.tasks).baseline
    assert decode_run(encode(result), "r") == result
    assert decode_baseline(encode(baseline), "b") == baseline


def test_what_is_written_is_valid_by_the_published_schema(result):
    schema = json.loads((PUBLISHED / "results.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(encode(result)), schema, cls=jsonschema.Draft202012Validator)
    broken = json.loads(encode(result)) | {"verdict": "fine"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema, cls=jsonschema.Draft202012Validator)


def test_the_outline_that_other_programs_rely_on_is_there(result):
    document = json.loads(encode(result))
    task = document["tasks"][0]
    assert {"schema_version", "verdict", "reasons", "fingerprint", "canaries", "tasks"} <= document.keys()
    assert document["canaries"].keys() == {"version", "cases"}
    assert {
        "name",
        "format",
        "source",
        "planned",
        "scored",
        "metrics",
        "slices",
        "failure_modes",
        "cases",
    } <= task.keys()
    assert task["metrics"]["pass_rate"].keys() == {"value", "low", "high", "n"}
    assert {"id", "digest", "slices", "attempts"} <= task["cases"][0].keys()
    attempt = task["cases"][0]["attempts"][0]
    assert {
        "number",
        "status",
        "passed",
        "failure_mode",
        "values",
        "scorer",
        "findings",
        "transcript",
    } <= attempt.keys()


def test_null_and_missing_stay_different_in_a_finding():
    null = msgspec.json.encode(Finding(path="$.a", keyword="value", wanted=1, got=None))
    missing = msgspec.json.encode(Finding(path="$.a", keyword="required", wanted=1))
    assert json.loads(null)["got"] is None
    assert "got" not in json.loads(missing)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "r.json: not a readable result file"),
        (b"\xff\xfe", "r.json: not a readable result file"),
        (b"[]", "r.json: not a readable result file"),
        (b"{}", "missing required field `schema_version`"),
        (b'{"schema_version": 1}', "missing required field"),
        (b'{"schema_version": 0}', "written with schema version 0, this trapgate reads version 1"),
        (b'{"schema_version": 2, "verdict": "pass"}', "written with schema version 2"),
        (b'{"a":' * 100_000, "r.json: not a readable result file"),
        (b"[" * 100_000, "r.json: not a readable result file"),
    ],
)
def test_what_is_no_result_is_a_clear_error(data, message):
    for decode in (decode_run, decode_baseline, decode_run_or_baseline):
        with pytest.raises(UserError, match=message.replace("(", r"\(")):
            decode(data, "r.json")


def test_a_fault_deep_in_a_result_is_named_by_its_path(result):
    document = json.loads(encode(result))
    document["tasks"][0]["cases"][0]["attempts"][0]["passed"] = "yes"
    with pytest.raises(UserError, match=r"attempts\[.*\].passed"):
        decode_run(json.dumps(document).encode(), "r.json")


def test_a_file_is_read_as_what_it_holds(result):
    assert isinstance(decode_run_or_baseline(encode(result), "r"), Run)
    assert isinstance(decode_run_or_baseline(encode(found(*result.tasks).baseline), "b"), Baseline)


def edited(result, change):
    """The run as JSON after `change` to its first task; the file's bytes."""
    document = json.loads(encode(result))
    change(document["tasks"])
    return json.dumps(document).encode()


def drop_transcript(tasks):
    tasks[0]["cases"][0]["attempts"][0]["transcript"] = None


def soften(tasks):
    tasks[0]["cases"][0]["expected"] = {"matchers": [{"kind": "min_words", "value": 1}]}


def empty(tasks):
    tasks[0]["cases"][0]["attempts"] = []


def double_task(tasks):
    tasks.append(tasks[0])


def double_case(tasks):
    tasks[0]["cases"].append(tasks[0]["cases"][0])


def double_attempt(tasks):
    tasks[0]["cases"][0]["attempts"] *= 2


def odd_repeats(tasks):
    tasks[0]["repeats"] = 0


def huge_cost(tasks):
    tasks[0]["cases"][0]["attempts"][0]["transcript"]["usage"]["cost_usd"] = 1.7e308


def odd_value(tasks):
    tasks[0]["cases"][0]["attempts"][0]["values"]["score"] = -1


@pytest.mark.parametrize(
    "change",
    [drop_transcript, soften, empty, double_task, double_case, double_attempt, odd_repeats, huge_cost, odd_value],
)
def test_a_file_whose_parts_contradict_each_other_is_not_read(result, change):
    with pytest.raises(UserError, match=r"r\.json: not a readable result file"):
        decode_run(edited(result, change), "r.json")


def test_a_baseline_without_a_case_is_not_one(result):
    nothing = msgspec.structs.replace(found(*result.tasks).baseline, run=run([]))
    with pytest.raises(UserError, match="a baseline without a case"):
        decode_baseline(encode(nothing), "b.json")
