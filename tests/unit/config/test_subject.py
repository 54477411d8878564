from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator import config
from evaluator.cases import Subject, digest_of
from evaluator.config.subject import load_subject
from evaluator.errors import UserError
from evaluator.scoring import schema as scoring_schema

WORDS = (
    *("name", "description", "type", "function", "strict", "tools", "parameters", "input_schema", "inputSchema"),
    *("properties", "required", "items", "$ref", "$schema", "$defs", "enum", "anyOf", "pattern", "x"),
)
SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
SPEC = {"name": "refund", "description": "Pays back.", "parameters": SCHEMA}


def loaded(folder: Path, keys: str = "", model: str | None = "a/b") -> Subject:
    text = "tasks: {t: {source: ./t}}\n" + keys
    return load_subject(config.parse(text, "trap.yaml"), folder, model)


def refusal(folder: Path, keys: str) -> str:
    with pytest.raises(UserError) as caught:
        loaded(folder, keys)
    assert caught.value.code == "subject-invalid"
    return str(caught.value)


def tools_of(folder: Path, content: Any, name: str = "tools.json") -> list[dict[str, Any]]:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return loaded(folder, f"tools: {name}\n").tools


def tools_refusal(folder: Path, content: Any, name: str = "tools.json") -> str:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return refusal(folder, f"tools: {name}\n")


def test_the_subject_is_model_parameters_system_prompt_and_tools(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_bytes("Be brief.\r\nÜ\n".encode())
    (tmp_path / "tools.json").write_text(json.dumps(SPEC))
    keys = "params: {temperature: 0}\nsystem: system.md\ntools: tools.json\nstructured: tool\n"
    assert loaded(tmp_path, keys) == Subject(
        model="a/b", params={"temperature": 0}, system="Be brief.\r\nÜ\n", tools=[SPEC], structured="tool"
    )


def test_the_model_of_the_caller_is_taken_before_that_of_the_file(tmp_path: Path) -> None:
    assert loaded(tmp_path, "model: c/d\n", model=None).model == "c/d"
    assert loaded(tmp_path, "model: c/d\n", model="e/f").model == "e/f"


def test_no_model_at_all_names_both_places_for_one(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        loaded(tmp_path, model=None)
    assert caught.value.code == "model-missing"
    assert str(caught.value) == (
        "trap.yaml: no model is named\n    Write `model: provider/name` into the file, or pass --model provider/name."
    )


@pytest.mark.parametrize(
    "spec",
    [
        SPEC,
        {"type": "function", "function": SPEC},
        {"type": "function", **SPEC},
        {"name": "refund", "description": "Pays back.", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}},
        {
            "name": "refund",
            "title": "Refund",
            "description": "Pays back.",
            "inputSchema": SCHEMA,
            "annotations": {"readOnlyHint": False},
        },
    ],
    ids=["bare", "openai", "openai-flat", "anthropic", "mcp"],
)
@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: [s], lambda s: {"tools": [s]}], ids=["one", "list", "tools"])
def test_every_dialect_becomes_one_spec(tmp_path: Path, spec: Any, wrap: Any) -> None:
    assert tools_of(tmp_path, wrap(spec)) == [SPEC]


def test_strict_is_kept_and_what_is_left_out_is_filled_in(tmp_path: Path) -> None:
    assert tools_of(tmp_path, {"type": "function", "function": {"name": "ping", "strict": True}}) == [
        {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}, "strict": True}
    ]


@pytest.mark.parametrize(
    ("keys", "read_only"),
    [
        ({"read_only": True}, True),
        ({"annotations": {"readOnlyHint": True, "title": "Look up"}}, True),
        ({"read_only": False, "annotations": {"readOnlyHint": True}}, False),
        ({"annotations": {"readOnlyHint": False}}, False),
        ({"annotations": {"readOnlyHint": "yes"}}, False),
        ({"annotations": None}, False),
        ({}, False),
    ],
)
def test_a_tool_that_changes_nothing_is_marked_whatever_the_dialect(
    tmp_path: Path, keys: dict[str, Any], read_only: bool
) -> None:
    expected = {**SPEC, "read_only": True} if read_only else SPEC
    mcp = {"name": "refund", "description": "Pays back.", "inputSchema": SCHEMA, **keys}
    assert tools_of(tmp_path, mcp) == [expected]
    assert tools_of(tmp_path, {"type": "function", "function": {**SPEC, **keys}}) == [expected]


def test_a_folder_is_read_in_the_order_of_names_and_other_files_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "b.json").write_text(json.dumps([{"name": "b1"}, {"name": "b2"}]))
    (folder / "c.yml").write_text("name: c\n")
    (folder / "a.yaml").write_text("name: a\ndescription: |\n  Two\n  lines\n")
    (folder / "README.md").write_text("not a tool")
    assert [tool["name"] for tool in loaded(tmp_path, "tools: tools/\n").tools] == ["a", "b1", "b2", "c"]


def test_a_draft_that_a_schema_names_is_the_one_it_is_checked_by(tmp_path: Path) -> None:
    pair = {"type": "object", "properties": {"p": {"type": "array", "items": [{"type": "string"}]}}}
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", **pair}
    assert tools_of(tmp_path, {"name": "a", "parameters": draft7})[0]["parameters"] == draft7
    assert "$.parameters.properties.p.items: not a valid JSON Schema" in tools_refusal(
        tmp_path, {"name": "a", "parameters": pair}
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"name": "a",\n "parameters": }', "tools.json:2:16: not JSON: Expecting value"),
        ('[{"name": "a"},\n {"description": "x"}]', '2:2: $[1]: the tool has no name\n    Write `"name"` as text.'),
        ('{"name": " "}', '1:1: $: the tool has no name\n    Write `"name"` as text.'),
        ("[]", "1:1: $: the list of tools is empty"),
        ('{"tools": []}', "1:11: $.tools: the list of tools is empty"),
        ('"a"', '1:1: $: wanted a tool spec, got the text "a"'),
        ('{"type": "function", "function": 3}', "1:34: $.function: wanted a tool spec, got the number 3"),
        (
            '[{"name": "a"},\n {"name": "b"},\n {"name": "a"}]',
            '3:2: $[2]: tool "a" is already defined in tools.json:1',
        ),
        ('{"name": "a",\n "paramters": {}}', '2:2: $.paramters: unknown key; did you mean "parameters"?'),
        (
            '{"name": "a",\n "qqqqq": {}}',
            "2:2: $.qqqqq: unknown key\n"
            "    Known keys: description, inputSchema, input_schema, name, parameters, read_only, strict, type.",
        ),
        (
            '{"name": "a", "parameters": {}, "input_schema": {}}',
            "1:1: $: parameters and input_schema are both given\n    Keep one of them.",
        ),
        ('{"name": "a", "description": 1}', "1:30: $.description: wanted text, got the number 1"),
        ('{"name": "a", "strict": "x"}', '1:25: $.strict: wanted true or false, got the text "x"'),
        ('{"name": "a", "read_only": 1}', "1:28: $.read_only: wanted true or false, got the number 1"),
        (
            '{"type": "web_search", "name": "web_search"}',
            '1:10: $.type: tools of type "web_search" are run by the provider and are not supported\n'
            "    Only function tools can be evaluated.",
        ),
        ('{"name": "a", "parameters": 1}', "1:29: $.parameters: wanted a JSON Schema, got the number 1"),
        (
            '{"name": "a", "parameters": {"type": "string"}}',
            '1:38: $.parameters.type: the arguments of a tool are an object, not the text "string"',
        ),
        (
            '{"name": "a", "parameters": {"properties": {"x y": {"type": "int"}}}}',
            '1:61: $.parameters.properties."x y".type: not a type of JSON Schema: the text "int"\n'
            "    The types are array, boolean, integer, null, number, object and string.",
        ),
        (
            '{"name": "a", "parameters": {"required": "x"}}',
            "1:42: $.parameters.required: not a valid JSON Schema: 'x' is not of type 'array'",
        ),
    ],
)
def test_a_faulty_tool_is_named_with_file_line_and_json_path(tmp_path: Path, content: str, message: str) -> None:
    assert tools_refusal(tmp_path, content) == (message if message.startswith("tools") else f"tools.json:{message}")


def test_the_types_of_gorilla_are_refused_with_the_right_word(tmp_path: Path) -> None:
    schema = {"type": "dict", "properties": {"x": {"type": "float"}, "y": {"type": "any"}}}
    assert tools_refusal(tmp_path, json.dumps({"name": "a", "parameters": schema}, indent=1)).splitlines() == [
        'tools.json:4:11: $.parameters.type: "dict" is no type of JSON Schema',
        '    Write "object".',
        'tools.json:7:13: $.parameters.properties.x.type: "float" is no type of JSON Schema',
        '    Write "number".',
        'tools.json:10:13: $.parameters.properties.y.type: "any" is no type of JSON Schema',
        "    Leave the type out.",
    ]


@pytest.mark.parametrize(
    "part",
    [{"$ref": "https://elsewhere/schema.json"}, {"pattern": "("}, {"pattern": "(" * 5000}],
    ids=["remote reference", "no pattern", "deep pattern"],
)
def test_a_schema_that_cannot_be_applied_is_refused(tmp_path: Path, part: dict[str, Any]) -> None:
    parameters = {"type": "object", "properties": {"x": part}}
    assert tools_refusal(tmp_path, {"name": "a", "parameters": parameters}).startswith("tools.json:1:29: $.parameters")


def test_a_schema_nested_without_end_is_refused(tmp_path: Path) -> None:
    schema: dict[str, Any] = {}
    for _ in range(48):
        schema = {"properties": {"x": schema}}
    tools_of(tmp_path, {"name": "a", "parameters": schema})  # within the bounds
    for _ in range(200):
        schema = {"properties": {"x": schema}}
    assert "nested more than 100 levels deep" in tools_refusal(tmp_path, {"name": "a", "parameters": schema})


def test_a_schema_too_deep_for_the_validator_is_refused(tmp_path: Path) -> None:
    schema: dict[str, Any] = {}
    for _ in range(40):
        schema = {"not": schema}
    deep = {"name": "a", "parameters": schema}
    assert tools_of(tmp_path, deep) != []
    scoring_schema._compile.cache_clear()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 180)  # as if called from deep within a program
    try:
        message = tools_refusal(tmp_path, deep)
    finally:
        sys.setrecursionlimit(limit)
    assert message.startswith("tools.json:1:29: $.parameters: not a JSON Schema: maximum recursion depth exceeded")


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools").mkdir()

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")  # root may read every folder, so the system cannot be asked

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert refusal(tmp_path, "tools: tools\n") == "tools: cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"name": "a", "name": "b"}', "tools.json:1:15: a key stands twice in one object"),
        ('{"name": "a", "x": NaN}', "tools.json:1:20: not a JSON number"),
        ('{"name": "\\ud800"}', "tools.json:1:11: the escape of half a character"),
        ('{"name": "a", "x": 18446744073709551616}', 'tools.json:1:20: "18446744073709551616" does not fit in 64 bits'),
        ("[" * 100_000, "nested more than"),
        ("[" * 200 + "]" * 200, "tools.json:1:101: nested more than 100 levels deep"),
        ("\ufeff{}", "tools.json:1:1: begins with a byte-order mark"),
    ],
    ids=["duplicate", "NaN", "surrogate", "huge", "unclosed", "deep", "mark"],
)
def test_hostile_json_is_refused_with_its_place(tmp_path: Path, content: str, message: str) -> None:
    assert message in tools_refusal(tmp_path, content)


def test_hostile_yaml_is_refused_with_its_place(tmp_path: Path) -> None:
    assert tools_refusal(tmp_path, "name: a\nname: b\n", "tools.yaml") == (
        'tools.yaml:2:1: key "name" appears twice, first in line 1'
    )


def test_the_faults_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "a.json").write_text('{"name": "x"}')
    (folder / "b.json").write_text("{")
    (folder / "c.yaml").write_text("- name: x\n- {}\n")
    lines = [line for line in refusal(tmp_path, "system: gone.md\ntools: tools\n").splitlines() if line[0] != " "]
    assert lines == [
        "tools/b.json:1:2: not JSON: Expecting property name enclosed in double quotes",
        'tools/c.yaml:1:3: $[0]: tool "x" is already defined in tools/a.json:1',
        "tools/c.yaml:2:3: $[1]: the tool has no name",
        "trap.yaml: system: there is no file gone.md",
    ]


def test_an_empty_prompt_and_an_empty_folder_are_faults(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_text(" \n")
    (tmp_path / "tools").mkdir()
    assert refusal(tmp_path, "system: system.md\ntools: tools/\n") == (
        "system.md: the system prompt is empty\n    Write the prompt, or leave `system` out of trap.yaml.\n"
        "trap.yaml: tools: tools/ has no file *.json, *.yaml or *.yml"
    )


def test_a_prompt_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_bytes(b"a\xff")
    assert refusal(tmp_path, "system: system.md\n") == (
        "system.md:1:2: not UTF-8 text\n    Save the file in the encoding UTF-8."
    )
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path, "system: folder\n") == "folder: cannot be read: Is a directory"
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path, "system: pipe\n") == "pipe: not a regular file"


def test_a_tools_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("")
    assert refusal(tmp_path, "tools: tools.py\n") == (
        "tools.py: wanted a folder, or a file that ends in .json, .yaml, .yml"
    )


def test_a_link_that_leaves_the_folder_is_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "repository"
    (inside / "tools").mkdir(parents=True)
    (tmp_path / "secret.json").write_text(json.dumps(SPEC))
    (inside / "system.md").symlink_to(tmp_path / "secret.json")
    (inside / "tools" / "a.json").symlink_to("../../secret.json")
    message = "a symbolic link that leaves the folder of trap.yaml is not followed"
    assert refusal(inside, "system: system.md\ntools: tools\n") == f"system.md: {message}\ntools/a.json: {message}"
    (inside / "outside").symlink_to(tmp_path)
    assert refusal(inside, "tools: outside\n") == f"outside: {message}"


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("Be brief.")
    (tmp_path / "system.md").symlink_to("real.md")
    assert loaded(tmp_path, "system: system.md\n").system == "Be brief."


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(json_values | st.fixed_dictionaries({"name": st.just("a"), "parameters": json_values}))
def test_any_json_is_a_set_of_tools_or_is_refused_as_a_user_error(tmp_path: Path, content: Any) -> None:
    with contextlib.suppress(UserError):
        assert all(tool["name"] for tool in tools_of(tmp_path, content))


def test_links_in_a_circle_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert refusal(tmp_path, "system: a\n").startswith("trap.yaml: system: there is no file a\n")


def test_the_fingerprint_names_each_part_of_the_subject() -> None:
    bias = {str(token): -100 for token in range(50)}
    subject = Subject(
        model="a/b",
        params={"temperature": 0, "reasoning_effort": "low", "logit_bias": bias},
        system="Be brief.",
        tools=[SPEC],
        structured="schema",
    )
    assert subject.entries() == {
        "model": "a/b",
        "structured": "schema",
        "params.temperature": "0",
        "params.reasoning_effort": '"low"',
        "params.logit_bias": digest_of(bias)[:12],
        "system": digest_of("Be brief.")[:12],
        "tools/refund": digest_of(SPEC)[:12],
    }


def test_the_fingerprint_tells_a_number_from_text() -> None:
    one = Subject(model="a/b", params={"stop": "1"}).entries()
    other = Subject(model="a/b", params={"stop": 1}).entries()
    assert one != other
