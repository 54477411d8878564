import json
import re

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from evaluator.cases import Request, Subject
from evaluator.runners.request import build, wire_names_of

HCF = {
    "name": "math.hcf",
    "description": "Highest common factor",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
LOOKUP = {"name": "lookup", "description": "Find a customer", "parameters": {"type": "object", "properties": {}}}
ASK = Request(messages=[{"role": "user", "content": "hcf of 4 and 6"}], function=HCF)


def subject(**fields):
    return Subject(model="openai/x", **fields)


def test_the_system_prompt_stands_before_the_messages_of_the_task():
    wire = build(subject(system="Be brief."), ASK)
    assert wire.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hcf of 4 and 6"},
    ]


def test_without_a_system_prompt_the_messages_are_those_of_the_task():
    assert build(subject(), ASK).messages == ASK.messages


def test_prompt_sends_neither_schema_nor_tool():
    wire = build(subject(structured="prompt"), ASK)
    assert (wire.tools, wire.tool_choice, wire.response_format, wire.structured) == (None, None, None, "prompt")


def test_schema_asks_for_a_call_of_the_function_and_nothing_else():
    wire = build(subject(structured="schema"), ASK)
    assert wire.structured == "schema"
    assert wire.tools is None
    assert wire.response_format == {
        "type": "json_schema",
        "json_schema": {
            "name": "math_hcf",
            "schema": {
                "type": "object",
                "properties": {"name": {"type": "string", "const": "math.hcf"}, "arguments": HCF["parameters"]},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            },
        },
    }


def test_schema_accepts_a_right_call_and_refuses_a_wrong_one():
    schema = build(subject(structured="schema"), ASK).response_format["json_schema"]["schema"]
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"name": "math.hcf", "arguments": {"a": 4, "b": 6}})
    assert not validator.is_valid({"name": "math_hcf", "arguments": {"a": 4, "b": 6}})
    assert not validator.is_valid({"name": "math.hcf", "arguments": {"a": 4}})
    assert not validator.is_valid({"name": "math.hcf", "arguments": {"a": 4, "b": 6}, "note": ""})


def test_tool_offers_the_function_and_names_it():
    wire = build(subject(structured="tool"), ASK)
    assert wire.structured == "tool"
    assert wire.tools == [{"type": "function", "function": {**HCF, "name": "math_hcf"}}]
    assert wire.tool_choice == {"type": "function", "function": {"name": "math_hcf"}}
    assert wire.names["math_hcf"] == "math.hcf"


def test_the_repositorys_tools_are_always_sent():
    for structured in ("schema", "tool", "prompt"):
        wire = build(subject(structured=structured, tools=[LOOKUP]), ASK)
        assert {"type": "function", "function": LOOKUP} in wire.tools


def test_a_tool_of_the_repository_replaces_the_tasks_spec_of_the_same_name():
    changed = {**HCF, "parameters": {"type": "object", "properties": {"numbers": {"type": "array"}}}}
    by_tool = build(subject(structured="tool", tools=[changed]), ASK)
    assert by_tool.tools == [{"type": "function", "function": {**changed, "name": "math_hcf"}}]
    by_schema = build(subject(structured="schema", tools=[changed]), ASK)
    sent = by_schema.response_format["json_schema"]["schema"]["properties"]["arguments"]
    assert sent == changed["parameters"]


def test_a_request_without_a_function_falls_to_prompt_and_says_so():
    free = Request(messages=ASK.messages)
    for structured in ("schema", "tool"):
        wire = build(subject(structured=structured), free)
        assert wire.structured == "prompt"
        assert wire.arguments() == {"messages": free.messages}


def test_strict_is_sent_only_where_the_spec_has_it():
    strict = {**HCF, "strict": True}
    asked = Request(messages=ASK.messages, function=strict)
    assert build(subject(structured="schema"), asked).response_format["json_schema"]["strict"] is True
    assert build(subject(structured="tool"), asked).tools[0]["function"]["strict"] is True
    assert "strict" not in json.dumps(build(subject(structured="schema"), ASK).arguments())
    assert "strict" not in json.dumps(build(subject(structured="tool"), ASK).arguments())


def test_the_mechanism_wins_over_a_parameter_of_the_same_name():
    params = {"tool_choice": "auto", "temperature": 0}
    sent = build(subject(structured="tool", params=params), ASK).arguments()
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "math_hcf"}}
    assert sent["temperature"] == 0
    assert build(subject(structured="prompt", params=params), ASK).arguments()["tool_choice"] == "auto"


def test_references_of_the_functions_schema_still_lead_where_they_led():
    tree = {
        "type": "object",
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
        },
        "properties": {
            "root": {"$ref": "#/$defs/node"},
            "count": {"type": "integer"},
            "again": {"$ref": "#/properties/count"},
            "self": {"$ref": "#"},
            "$ref": {"const": {"$ref": "#"}},
        },
        "additionalProperties": False,
    }
    function = {"name": "walk", "parameters": tree}
    wire = build(subject(structured="schema"), Request(messages=ASK.messages, function=function))
    moved = Draft202012Validator(wire.response_format["json_schema"]["schema"])
    alone = Draft202012Validator(tree)
    for arguments in (
        {"root": {"next": {"n": 1}}},
        {"root": {"next": {"n": "one"}}},
        {"again": 3},
        {"again": "three"},
        {"self": {"self": {"count": 1}}},
        {"self": {"self": {"other": 1}}},
        {"$ref": {"$ref": "#"}},
        {"$ref": {"$ref": "#/properties/arguments"}},
    ):
        assert moved.is_valid({"name": "walk", "arguments": arguments}) == alone.is_valid(arguments), arguments


def test_the_tasks_own_spec_is_not_changed_by_sending_it():
    before = json.dumps(HCF)
    build(subject(structured="schema"), ASK)
    build(subject(structured="tool"), ASK)
    assert json.dumps(HCF) == before


def test_an_allowed_name_stands_for_itself_even_where_another_would_become_it():
    names = wire_names_of(["math.hcf", "math_hcf", "math hcf"])
    assert names["math_hcf"] == "math_hcf"
    assert len(set(names.values())) == 3


def test_names_do_not_depend_on_the_order_of_the_tools():
    forward = wire_names_of(["a.b", "a b", "a_b", "c.d"])
    assert forward == wire_names_of(["c.d", "a_b", "a b", "a.b"])


@given(st.lists(st.one_of(st.text(max_size=100), st.from_regex(r"[a.: _]{0,70}", fullmatch=True)), max_size=12))
def test_every_name_is_allowed_on_the_wire_and_leads_back_to_one_real_name(names):
    mapped = wire_names_of(names)
    assert set(mapped) == set(names)
    assert len(set(mapped.values())) == len(mapped)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire) for wire in mapped.values())


# Tools of a case


def test_the_tools_of_a_case_stand_in_place_of_the_repositorys():
    wire = build(subject(tools=[HCF]), Request(messages=[]), [LOOKUP])
    assert [tool["function"]["name"] for tool in wire.tools] == ["lookup"]
    assert set(wire.offered) == {"lookup"}
    assert set(build(subject(tools=[HCF]), Request(messages=[])).offered) == {"math.hcf"}


def test_what_a_spec_says_to_scorers_is_not_sent():
    wire = build(subject(), Request(messages=[]), [{**LOOKUP, "read_only": True}])
    assert wire.tools == [{"type": "function", "function": LOOKUP}]
    assert wire.offered["lookup"]["read_only"] is True


def test_a_tool_of_the_case_that_has_the_functions_name_replaces_its_spec():
    other = {**HCF, "description": "Another"}
    assert build(subject(tools=[HCF]), ASK, [other]).function == other


def test_the_name_that_the_model_knows_is_found_by_the_real_one():
    wire = build(subject(), Request(messages=[]), [HCF])
    assert (wire.wire_name("math.hcf"), wire.wire_name("unknown.tool")) == ("math_hcf", "unknown.tool")
