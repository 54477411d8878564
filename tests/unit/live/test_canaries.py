"""What is sent to the provider, and that the documents say so."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evaluator.cases import Request, Subject, digest_of
from evaluator.live import canaries
from evaluator.live.canaries import REFERENCE, SHAPES
from evaluator.runners.request import build
from evaluator.runners.schedule import Job
from tests.unit.live.builders import every

DOCUMENT = Path(__file__).parents[3] / "docs" / "live-canaries.md"
SUBJECT = Subject(
    model="openai/x",
    params={"temperature": 0, "seed": 1, "extra_headers": {"X-Team": "a"}},
    system="Be brief.",
    tools=[{"name": "refund"}],
    structured="schema",
)
IDS = [canary.id for canary in every()]


def wire(canary, subject=SUBJECT):
    return build(canaries.subject_for(canary.mechanism, subject), canary.request, canary.tools)


def schema_on_the_wire(canary):
    sent = wire(canary).arguments()
    if canary.mechanism == "schema":
        return sent["response_format"]["json_schema"]["schema"]
    (tool,) = sent["tools"]
    return tool["function"]["parameters"]


@pytest.mark.parametrize("canary", every(), ids=IDS)
def test_every_schema_is_one_by_its_metaschema_also_as_it_is_sent(canary):
    for schema in (canary.shape.parameters, schema_on_the_wire(canary)):
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("canary", every(), ids=IDS)
def test_what_a_prompt_asks_for_is_valid_where_it_is_not_meant_to_be_forbidden(canary):
    asked = canary.shape.asked
    value = {"name": canary.shape.function, "arguments": asked} if canary.mechanism == "schema" else asked
    valid = Draft202012Validator(schema_on_the_wire(canary)).is_valid(value)
    assert valid is not canary.shape.forbidden
    assert json.dumps(asked, ensure_ascii=False) in canary.request.messages[0]["content"]


def test_some_prompt_asks_for_what_its_schema_forbids():
    assert [shape.name for shape in SHAPES if shape.forbidden] == ["held"]


@pytest.mark.parametrize("canary", every(), ids=IDS)
def test_strict_schemas_allow_nothing_beside_what_they_require_at_any_level(canary):
    if not canary.shape.strict:
        return
    objects = [part for part in parts(canary.shape.parameters) if part.get("type") == "object"]
    assert objects
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


def parts(value):
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(item)


@pytest.mark.parametrize("canary", canaries.of("schema"), ids=lambda canary: canary.id)
def test_a_response_schema_is_sent_as_the_format_of_the_response_and_nothing_else(canary):
    sent = wire(canary).arguments()
    assert sent.keys() == {"max_tokens", "extra_headers", "messages", "response_format"}
    assert sent["response_format"]["json_schema"].get("strict", False) is canary.shape.strict


@pytest.mark.parametrize("canary", canaries.of("tool"), ids=lambda canary: canary.id)
def test_a_forced_tool_is_the_only_one_and_has_to_be_called(canary):
    sent = wire(canary).arguments()
    assert sent.keys() == {"max_tokens", "extra_headers", "messages", "tools", "tool_choice"}
    assert sent["tools"][0]["function"] == canary.shape.spec
    assert sent["tool_choice"] == {"type": "function", "function": {"name": canary.shape.function}}
    assert canary.shape.spec.get("strict", False) is canary.shape.strict


@pytest.mark.parametrize("canary", canaries.of("tools"), ids=lambda canary: canary.id)
def test_a_tool_on_offer_is_offered_and_need_not_be_called(canary):
    sent = wire(canary).arguments()
    assert sent.keys() == {"max_tokens", "extra_headers", "messages", "tools"}
    assert [tool["function"] for tool in sent["tools"]] == [canary.shape.spec]


def test_the_reference_is_text_without_any_schema():
    assert wire(REFERENCE).arguments().keys() == {"max_tokens", "extra_headers", "messages"}


@pytest.mark.parametrize("mechanism", ["plain", *canaries.MECHANISMS])
def test_of_the_repository_nothing_is_sent_but_the_model_and_the_headers_that_let_a_call_through(mechanism):
    subject = canaries.subject_for(mechanism, SUBJECT)
    assert (subject.model, subject.system, subject.tools) == ("openai/x", None, [])
    assert subject.params == {"max_tokens": 400, "extra_headers": {"X-Team": "a"}}


def test_what_is_sent_is_sent_by_the_building_that_tasks_have():
    for canary in [REFERENCE, *every()]:
        job = Job("t", "c", 1, Request(messages=canary.request.messages, function=canary.request.function))
        subject = Subject(
            model="m", params={"max_tokens": 400}, structured=canaries.subject_for(canary.mechanism, SUBJECT).structured
        )
        assert canaries.sent(canary).arguments() == build(subject, job.request, canary.tools).arguments()


def test_ids_digests_and_functions_tell_canaries_apart():
    every_one = [REFERENCE, *every()]
    for names in ([canary.id for canary in every_one], [canaries.digest(canary) for canary in every_one]):
        assert len(set(names)) == len(every_one)
    assert all(canaries.by_id(canary.id) == canary for canary in every_one)
    assert canaries.by_id("schema/gone") is None


def test_the_features_that_providers_differ_in_are_all_there():
    features = {shape.name: parts_of(shape) for shape in SHAPES}
    assert len(features["enum"]["enum"][0]) == 60
    assert len([part for part in parts(shape_of("nested").parameters) if part.get("type") == "object"]) == 5
    assert features["defs"].keys() >= {"$defs", "$ref"}
    assert {"type": "null"} in features["any_of"]["anyOf"][0]
    assert features["array"].keys() >= {"minItems", "maxItems"}
    assert {"type": "integer"} in features["map"]["additionalProperties"]
    assert not all(name.isascii() for name in shape_of("unicode").parameters["properties"])
    assert (features["numbers"]["minimum"], features["numbers"]["maximum"]) == ([-(2**31)], [2**31 - 1])
    assert shape_of("numbers").asked == {"least": -(2**31), "large": 2**53 - 1, "tiny": 1e-9}


def shape_of(name):
    return next(shape for shape in SHAPES if shape.name == name)


def parts_of(shape):
    """Keyword → its values, wherever it stands."""
    found = {}
    for part in parts(shape.parameters):
        for key, value in part.items():
            found.setdefault(key, []).append(value)
    return found


def test_another_set_has_another_version():
    # Where this fails, what is sent or how it is judged has changed: give VERSION its next number and write both here.
    digests = [canaries.digest(canary) for canary in [REFERENCE, *every()]]
    content = digest_of([digests, canaries.ATTEMPTS])
    assert (canaries.VERSION, content) == (
        "live_canaries@1",
        "150c66cb86c082d53edd46faf59955015e96fde96f4a827711544495bfbf8cd1",
    )


def test_the_digest_says_nothing_of_model_or_headers_and_all_of_the_rest(monkeypatch):
    before = canaries.digest(canaries.of("schema")[0])
    monkeypatch.setattr(canaries, "MAX_TOKENS", 399)
    assert canaries.digest(canaries.of("schema")[0]) != before


def test_the_table_of_the_document_is_the_set():
    text = DOCUMENT.read_text(encoding="utf-8")
    _, _, table = text.partition("| shape |")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table.partition("\n\n")[0], re.MULTILINE)
    assert rows == [
        *((shape.name, ("strict: " if shape.strict else "") + shape.feature) for shape in SHAPES),
        ("plain", "text without any schema"),
    ]
    assert f"{canaries.ATTEMPTS} attempts" in text
    assert f"`max_tokens: {canaries.MAX_TOKENS}`" in text
    assert f"`{canaries.VERSION}`" in text
