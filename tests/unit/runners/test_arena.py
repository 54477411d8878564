"""What is sent where the answer is JSON, what a search answers, and what is said of a wrong answer."""

import json

import pytest

from evaluator.cases import Passage, Request, Subject
from evaluator.corpus import SEARCH, search
from evaluator.runners.feedback import json_fault
from evaluator.runners.frozen import FrozenTools
from evaluator.runners.request import build
from evaluator.runners.text_calls import understood
from evaluator.transcript import Call, Transcript
from tests.unit.formats.arena_task import RECORD, SCHEMA

CORPUS = [Passage(title="Tern", text="Built in 1994."), Passage(title="Gannet", text="Built in 2003.")]
USER = {"role": "user", "content": "Return the record of the Tern."}
ASKED = Request(messages=[USER], tools=[SEARCH], answer_schema=SCHEMA, corpus=CORPUS, max_turns=16, text_calls=True)
LIST = {"type": "array", "items": {"type": "string"}}


def wire(structured="prompt", request=ASKED, tools=(SEARCH,), subject_tools=()):
    return build(Subject(model="m", structured=structured, tools=list(subject_tools)), request, tools)


def named(built):
    """The names of the tools on the wire."""
    return [tool["function"]["name"] for tool in built.tools or []]


# Mechanisms


def test_prompt_sends_nothing_but_the_tools():
    built = wire("prompt")
    assert (built.structured, built.response_format, built.tool_choice, built.answer_tool) == ("prompt", *[None] * 3)
    assert named(built) == ["search"]


def test_schema_sends_the_schema_of_the_answer_as_it_is_beside_the_tools():
    built = wire("schema")
    assert built.structured == "schema"
    assert built.response_format == {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert (named(built), built.answer_tool) == (["search"], None)


def test_tool_offers_a_tool_whose_arguments_are_the_answer():
    built = wire("tool")
    assert (built.structured, built.answer_tool, built.response_format) == ("tool", "answer", None)
    assert named(built) == ["search", "answer"]
    assert built.tools[1]["function"]["parameters"] == SCHEMA
    assert built.tool_choice is None, "the search has to stay possible"


def test_without_other_tools_the_answer_tool_is_the_one_to_be_called():
    built = wire("tool", tools=())
    assert named(built) == ["answer"]
    assert built.tool_choice == {"type": "function", "function": {"name": "answer"}}


@pytest.mark.parametrize(
    ("taken", "name"),
    [(["answer"], "answer_2"), (["answer", "answer_2", "answer_4"], "answer_3"), (["Answer"], "answer")],
)
def test_the_answer_tool_has_a_name_that_no_other_has(taken, name):
    built = wire("tool", tools=[{"name": each} for each in taken])
    assert built.answer_tool == name
    assert named(built) == [*taken, name]


def test_the_tools_of_the_repository_are_on_offer_beside_the_answer():
    assert named(wire("tool", tools=(), subject_tools=[SEARCH])) == ["search", "answer"]


def test_an_answer_that_need_be_no_object_is_no_tool_but_can_be_a_schema():
    request = Request(messages=[USER], answer_schema=LIST)
    assert (wire("tool", request).structured, wire("tool", request).answer_tool) == ("prompt", None)
    assert wire("schema", request).response_format["json_schema"]["schema"] == LIST


def test_without_a_schema_there_is_no_shape_to_ask_for():
    request = Request(messages=[USER], tools=[SEARCH])
    for structured in ("schema", "tool"):
        assert wire(structured, request).structured == "prompt"


# Calls in the text


@pytest.mark.parametrize("keys", [("name", "arguments"), ("name", "parameters")])
def test_an_answer_with_the_keys_of_a_call_is_no_call(keys):
    answer = Transcript(text=json.dumps(dict(zip(keys, ["Tern", {"a": 1}], strict=True))))
    assert understood(answer, wire(), ASKED) == answer


def test_a_call_of_a_tool_on_offer_in_the_text_is_one():
    said = understood(Transcript(text='{"name": "search", "arguments": {"query": "Tern"}}'), wire(), ASKED)
    assert [call.tool for call in said.calls] == ["search"]
    written = understood(
        Transcript(text=f'{{"name": "answer", "arguments": {json.dumps(RECORD)}}}'), wire("tool"), ASKED
    )
    assert [call.tool for call in written.calls] == ["answer"]


def test_a_tagged_call_of_an_unknown_tool_is_a_call():
    text = '<tool_call>{"name": "lookup", "arguments": {}}</tool_call>'
    assert [call.tool for call in understood(Transcript(text=text), wire(), ASKED).calls] == ["lookup"]


# The search


def ask(arguments, corpus=CORPUS, tool="search", mocks=()):
    return FrozenTools([], mocks, {"search"}, corpus).answer(Call(tool=tool, arguments=arguments))


def test_a_search_is_answered_from_the_corpus():
    assert ask('{"query": "Gannet built"}') == (search(CORPUS, "Gannet built"), None)
    assert ask('{"query": "Gannet", "k": 1}').result == "[Gannet] Built in 2003."
    assert ask('{"query": "puffin"}') == ("No results.", None)


@pytest.mark.parametrize("arguments", ["{}", '{"query": 1}', '{"query": ["Tern"]}', '{"query": null}', '{"q": "Tern"}'])
def test_a_query_that_is_no_text_gets_an_error(arguments):
    assert ask(arguments) == ({"error": "the query is not a text"}, "invalid")


@pytest.mark.parametrize("arguments", ["", "Tern", '["Tern"]', '{"query": "a", "query": "b"}', '{"query": "a'])
def test_arguments_that_are_no_object_get_the_error_of_any_tool(arguments):
    assert ask(arguments) == ({"error": "the arguments are not a JSON object"}, "malformed")


def test_without_a_corpus_a_search_is_a_tool_like_any_other():
    assert ask('{"query": "Tern"}', corpus=[]).unanswered == "unmatched"


# Feedback


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps({**RECORD, "built": "1994"}), "field $.built failed type: expected integer, got string"),
        (json.dumps({**RECORD, "sources": []}), "field $.sources failed minItems: expected 1, got []"),
        (json.dumps({"name": "Tern"}), "field $.built failed required: it is missing"),
        (json.dumps({**RECORD, "owner": 1}), "field $.owner failed additionalProperties: the schema does not name it"),
        ("no", "the answer holds no JSON of the wanted kind: not JSON: Expecting value (line 1, column 1)"),
        ("[1]", "the answer holds no JSON of the wanted kind: there is no object in the text (line 1, column 1)"),
        (None, "the answer holds no JSON of the wanted kind: not JSON: Expecting value (line 1, column 1)"),
    ],
)
def test_what_is_wrong_with_an_answer_is_a_sentence(text, said):
    assert json_fault(text, SCHEMA) == said


@pytest.mark.parametrize(
    "text", [json.dumps(RECORD), f"Here:\n```json\n{json.dumps(RECORD)}\n```", json.dumps({**RECORD, "built": 1})]
)
def test_an_answer_that_is_valid_has_no_fault_of_shape(text):
    assert json_fault(text, SCHEMA) is None


def test_a_schema_that_cannot_be_used_refuses_nothing():
    assert json_fault("{}", {"$ref": "https://example.org/schema"}) is None
