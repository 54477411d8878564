"""arena.toml, dataset.jsonl and corpus.json → cases, and every fault of them at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.cases import Passage
from evaluator.corpus import SEARCH
from evaluator.errors import UserError
from evaluator.formats import arena
from evaluator.scoring.self_check import self_check
from tests.unit.formats.arena_task import CHECKS, CORPUS, MANIFEST, RECORD, SCHEMA, item, load, loaded, refused, write

DONE = {"type": "contains", "value": "done"}
SEARCHED = {"type": "tool_used", "name": "search"}
NO_TOOLS = MANIFEST.replace('tools = ["search"]', "tools = []")


def path_equals(value: Any, path: str = "built", **more: Any) -> dict[str, Any]:
    return {"type": "json_path_equals", "path": path, "value": value, **more}


REFERRING = {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/$defs/b"}}}


# What becomes of an item


def test_an_item_is_asked_with_the_intent_of_the_task_the_search_and_its_own_schema(tmp_path: Path) -> None:
    task = loaded(tmp_path)
    (case,) = task.cases
    assert (task.format, task.scorer, case.id, case.expected) == ("arena", "arena", "tern", {"checks": CHECKS})
    assert case.request.messages == [
        {"role": "system", "content": "Look the ferry up and answer with JSON only."},
        {"role": "user", "content": "Return the record of the Tern."},
    ]
    assert case.request.tools == [SEARCH]
    assert case.request.answer_schema == SCHEMA
    assert case.request.corpus == [Passage(**passage) for passage in CORPUS]
    assert (case.request.max_turns, case.request.text_calls) == (16, True)


def test_the_format_is_detected_by_its_manifest(tmp_path: Path) -> None:
    assert load(write(tmp_path)).format == "arena"
    (tmp_path / "arena.toml").unlink()
    assert not arena.detect(tmp_path)


def test_intent_passages_checks_and_input_are_in_the_digest_and_tags_are_not(tmp_path: Path) -> None:
    def digest(*items: Any, **files: Any) -> str:
        return loaded(tmp_path, *items, **files).cases[0].digest()

    plain = digest()
    assert digest(item(tags=["old"])) == plain
    others = [
        digest(manifest=MANIFEST.replace("JSON only", "JSON")),
        digest(corpus=CORPUS[:1]),
        digest(item(checks=CHECKS[:2])),
        digest(item(input="Return it.")),
    ]
    assert len({plain, *others}) == 5


def test_text_calls_are_an_option_and_no_other_is_known(tmp_path: Path) -> None:
    write(tmp_path)
    assert load(tmp_path, options={"text_calls": False}).cases[0].request.text_calls is False
    with pytest.raises(UserError, match=r"tasks\.t\.options: unknown option no_hedge; the format arena has text_calls"):
        load(tmp_path, options={"no_hedge": True})
    with pytest.raises(UserError, match="text_calls is true or false"):
        load(tmp_path, options={"text_calls": "no"})


def test_without_tools_there_is_no_search_and_no_corpus(tmp_path: Path) -> None:
    task = loaded(tmp_path, item(checks=CHECKS[:2]), manifest=NO_TOOLS)
    (case,) = task.cases
    assert (case.request.tools, case.request.corpus) == ([], [])
    assert task.notes == ["corpus.json is not read, since arena.toml does not name the tool search"]


def test_an_item_without_a_schema_has_no_answer_schema(tmp_path: Path) -> None:
    checks = [path_equals(1994), {"type": "json_schema", "schema": {}}]
    assert loaded(tmp_path, item(checks=checks)).cases[0].request.answer_schema is None


def test_tags_are_slices_by_which_items_are_chosen(tmp_path: Path) -> None:
    from evaluator.config.types import Include

    write(tmp_path, item(tags=["old", "critical"]), item(id="gannet"))
    (case,) = load(tmp_path, include=Include(tags=["old"])).cases
    assert (case.id, case.slices, case.critical) == ("tern", ["old", "critical"], True)
    with pytest.raises(UserError, match="include leaves none of the 2 cases"):
        load(tmp_path, include=Include(ids=["puffin"]))


def test_what_is_not_read_is_said_in_notes(tmp_path: Path) -> None:
    (tmp_path / "mock_script.json").write_text("{")
    corpus = [{**CORPUS[0], "url": "https://example.org"}]
    task = loaded(tmp_path, item(level=3), manifest=f'{MANIFEST}license = "MIT"\n', corpus=corpus)
    assert task.notes == [
        "arena.toml has keys that are not read: license",
        "corpus.json has keys that are not read: url",
        "mock_script.json has canned turns for another program, which are not used",
        "dataset.jsonl has keys that are not read: level",
    ]


def test_a_place_in_the_source_is_kept_for_later_faults(tmp_path: Path) -> None:
    origin = loaded(tmp_path, "", item()).cases[0].origin
    assert origin is not None
    assert (origin.file, origin.line) == ("./t/dataset.jsonl", 2)


# Golds


def test_a_record_is_built_from_the_schema_and_the_wanted_values(tmp_path: Path) -> None:
    task = loaded(tmp_path)
    (gold,) = task.cases[0].golds
    assert gold.text is not None
    assert json.loads(gold.text) == {**RECORD, "sources": ["x"]}
    (call,) = gold.calls
    assert (call.tool, json.loads(call.arguments)) == ("search", {"query": "Return the record of the Tern."})
    assert str(call.result).startswith("[Tern] The ferry Tern")
    assert self_check(task) == {}


@pytest.mark.parametrize(
    ("checks", "text"),
    [
        (
            [path_equals("x", "items.0.name"), path_equals("y", "items.1.name")],
            '{"items": [{"name": "x"}, {"name": "y"}]}',
        ),
        ([path_equals(1, "0.n")], '[{"n": 1}]'),
        ([{"type": "json_valid"}], "{}"),
        ([{"type": "json_schema", "schema": {"type": "array", "items": {"const": 3}, "minItems": 2}}], "[3, 3]"),
        (
            [{"type": "json_schema", "schema": {"$defs": {"b": {"const": 3}}, **REFERRING}}],
            '{"b": 3}',
        ),
        ([{"type": "json_schema", "schema": {"anyOf": [{"type": "null"}, {"type": "string"}]}}], "null"),
        ([DONE, {"type": "numeric_equals", "value": 4.5}], "done 4.5"),
        ([{"type": "call_counts", "counts": {"search": 2}}], "Done."),
    ],
)
def test_a_gold_is_as_small_as_the_checks_allow(tmp_path: Path, checks: list[Any], text: str) -> None:
    (gold,) = loaded(tmp_path, item(checks=checks)).cases[0].golds
    assert gold.text == text


def test_as_many_searches_are_made_as_are_wanted(tmp_path: Path) -> None:
    checks = [SEARCHED, {"type": "min_tool_calls", "value": 3}, DONE]
    (gold,) = loaded(tmp_path, item(checks=checks)).cases[0].golds
    assert [call.turn for call in gold.calls] == [1, 2, 3]


@pytest.mark.parametrize(
    "check",
    [
        {"type": "iregex", "value": "^[0-9]{4}$"},
        {
            "type": "json_schema",
            "schema": {"type": "object", "required": ["a"], "properties": {"a": {"pattern": "^q"}}},
        },
        path_equals(1, "3.n"),
        path_equals(1, ".".join("a" * 2000)),
        {"type": "sentence_count", "min": 4},
    ],
)
def test_where_no_right_answer_follows_there_is_none_and_a_note(tmp_path: Path, check: dict[str, Any]) -> None:
    task = loaded(tmp_path, item(checks=[check]))
    assert task.cases[0].golds == []
    assert task.notes == ["no right answer follows from the checks, so they were not tried on one: tern"]


# Faults


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "dataset.jsonl:1:1: $: an item is an object with id, input and checks"),
        ('{"id": "a",', "dataset.jsonl:1:12: not JSON: Expecting property name enclosed in double quotes"),
        ('{"id": "a", "id": "b"}', 'dataset.jsonl:1:13: a key stands twice in one object: "id"'),
        (item(id=...), "dataset.jsonl:1:1: $: there is no id"),
        (item(id=7), "dataset.jsonl:1:8: $.id: the id is a text with something in it"),
        (item(id=" a"), "begins or ends with a space, or has a character that cannot be printed"),
        (item(input=...), "dataset.jsonl:1:1: $: there is no input"),
        (item(input="  "), "$.input: the input is a text with something in it"),
        (item(input=["a"]), "$.input: the input is a text with something in it"),
        (item(tags="old"), "$.tags: tags are a list of words"),
        (item(checks=...), "$: there are no checks, so that nothing could fail the item"),
        (item(checks=[]), "$.checks: there are no checks, so that nothing could fail the item"),
        (item(checks={}), "$.checks: checks are a list, so that nothing could fail the item"),
        (item(checks=["json"]), "$.checks[0]: is an object with a type, not 'json'"),
        (item(checks=[DONE, {"type": "json_shema"}]), "$.checks[1]: unknown type 'json_shema'; known are contains,"),
        (item(checks=[{"type": "contains"}]), "$.checks[0]: (contains): value is missing"),
        (item(checks=[{**DONE, "tolerance": 1}]), "unknown field 'tolerance'; it takes type, value"),
        (item(checks=[{"type": "json_schema", "schema": {"type": "dict"}}]), "schema: not a JSON Schema"),
        (
            item(checks=[{"type": "json_schema", "schema": {"$ref": "https://example.org/s"}}]),
            "references are never fetched",
        ),
        (item(checks=[{"type": "iregex", "value": "("}]), "$.checks[0]: (iregex): value: "),
        (item(checks=[DONE, {"type": "tool_used", "name": "serch"}]), 'arena.toml does not name the tool "serch"'),
        (item(checks=[DONE, {"type": "tool_not_used", "name": "rooms"}]), 'does not name the tool "rooms"'),
        (item(checks=[{"type": "call_counts", "counts": {"rooms": 1}}]), 'does not name the tool "rooms"'),
        (item(checks=[{"type": "suspended"}]), "names none of the tools that pause: request_approval, save_progress"),
        (item(checks=[{"type": "suspended", "tool": "wait"}]), 'does not name the tool "wait"'),
    ],
)
def test_a_fault_of_an_item_is_named_with_its_place(tmp_path: Path, line: Any, said: str) -> None:
    found = refused(tmp_path, line)
    assert len(found) == 1
    assert said in found[0]
    assert found[0].startswith("dataset.jsonl:1:")


@pytest.mark.parametrize(
    "checks",
    [
        [{"type": "min_tool_calls", "value": 0}],
        [{"type": "sentence_count", "min": 0}],
        [{"type": "iregex", "value": ".*"}, {"type": "min_tool_calls", "value": 0}],
        [{"type": "iregex", "value": "^|x"}],
    ],
)
def test_an_item_that_every_answer_satisfies_is_refused(tmp_path: Path, checks: list[Any]) -> None:
    (said,) = refused(tmp_path, item(checks=checks))
    assert said.endswith("$.checks: every answer satisfies these checks, so that nothing could fail the item")


@pytest.mark.parametrize(
    "check",
    [
        *(
            {"type": "sentence_count"},
            {"type": "iregex", "value": "[a-z]"},
            {"type": "not_contains", "value": "I think"},
        ),
        *({"type": "no_tool"}, {"type": "max_tool_calls", "value": 4}, {"type": "json_valid"}),
    ],
)
def test_a_check_that_something_fails_is_enough(tmp_path: Path, check: dict[str, Any]) -> None:
    assert len(loaded(tmp_path, item(checks=[check])).cases) == 1


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (
            {"type": "contains", "value": "a b"},
            {"type": "not_contains", "value": "b"},
            "the one text stands in the other",
        ),
        (path_equals(1994), path_equals(1995), "built cannot have both values"),
        (path_equals("Tern"), path_equals("Gannet"), "built cannot have both values"),
        (path_equals(1), path_equals(True), "built cannot have both values"),
        (path_equals(10, tol=1), path_equals(13, tol=1.5), "built cannot have both values"),
        (CHECKS[0], path_equals("1994"), "the schema refuses the value of built"),
        (CHECKS[0], path_equals(1, "owner"), "the schema has no room for owner"),
        (SEARCHED, {"type": "no_tool"}, "at least 1 calls are wanted, and at most 0"),
        ({"type": "max_tool_calls", "value": 1}, {"type": "min_tool_calls", "value": 2}, "at least 2 calls are wanted"),
        (SEARCHED, {"type": "tool_not_used", "name": "search"}, "search is wanted and forbidden"),
        (SEARCHED, {"type": "call_counts", "counts": {"search": 0}}, "search is wanted and counted otherwise"),
        (
            {"type": "tool_not_used", "name": "search"},
            {"type": "call_counts", "counts": {"search": 1}},
            "search is wanted and counted otherwise",
        ),
        (
            {"type": "call_counts", "counts": {"search": 1}},
            {"type": "call_counts", "counts": {"search": 2}},
            "search has two counts",
        ),
        ({"type": "call_counts", "counts": {"search": 2}}, {"type": "max_tool_calls", "value": 1}, "at least 2 calls"),
    ],
)
def test_two_checks_that_exclude_each_other_are_named(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], why: str
) -> None:
    for checks in ([one, other], [other, one]):
        (said,) = refused(tmp_path, item(checks=checks))
        assert f"$.checks[1]: cannot hold together with checks[0]: {why}" in said


@pytest.mark.parametrize(
    "checks",
    [
        [path_equals("Tern "), path_equals("tern")],
        [path_equals(10, tol=1), path_equals(12, tol=1)],
        [path_equals(1), path_equals(1.0)],
        [CHECKS[0], path_equals(1994.5, tol=1)],
        [CHECKS[0], path_equals("x", "sources.0")],
        [{"type": "contains", "value": "b"}, {"type": "not_contains", "value": "a b"}],
        [{"type": "json_schema", "schema": {"properties": {"built": {"enum": ["A"]}}}}, path_equals("a")],
        [SEARCHED, {"type": "max_tool_calls", "value": 1}],
    ],
)
def test_checks_that_can_hold_together_are_not_refused(tmp_path: Path, checks: list[Any]) -> None:
    assert len(loaded(tmp_path, item(checks=checks)).cases) == 1


def test_every_fault_of_every_file_is_said_at_once(tmp_path: Path) -> None:
    found = refused(
        tmp_path,
        item(),
        "",
        item(input=""),
        item(id="other", checks=[{"type": "vibes"}, {"type": "contains"}]),
        manifest=MANIFEST.replace("search", 'search", "serach'),
        corpus='[{"title": "Tern"},\n {"title": "", "text": "x"}]',
    )
    assert [said.split(": ", 1)[0] for said in found] == [
        *("arena.toml:3:1", "corpus.json:1:2", "corpus.json:2:12", "dataset.jsonl:3:8", "dataset.jsonl:3:25"),
        *("dataset.jsonl:4:71", "dataset.jsonl:4:90"),
    ]
    assert found[0].endswith('tool not supported: "serach"; did you mean "search"?')
    assert '$.id: "tern" is already the id of line 1' in found[3]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"corpus": None}, "corpus.json: there is no such file, and arena.toml names the tool search"),
        ({"corpus": []}, 'corpus.json:1:1: $: not a list of {"title", "text"} with something in it'),
        ({"corpus": "[{]"}, "corpus.json:1:3: not JSON"),
        ({"corpus": ["Tern"]}, 'corpus.json:2:2: $[0]: a passage is an object {"title", "text"}'),
        ({"manifest": "tools = [\n"}, "arena.toml: not TOML"),
        ({"manifest": 'id = "a\n'}, "arena.toml:1:8: not TOML: Illegal character '\\n'"),
        ({"manifest": "tools = " + "[" * 3000}, "arena.toml: nested too deeply to be read"),
        ({"manifest": "\n\ntools = 'search'"}, "arena.toml:3:1: tools: not a list of names"),
        ({"manifest": "tools = ['calculator']"}, 'arena.toml:1:1: tool not supported: "calculator"'),
        (
            {"manifest": "tools = ['search']\nsystem_prompt_intent = 3"},
            "arena.toml:2:1: system_prompt_intent: not a text",
        ),
    ],
)
def test_a_fault_of_the_other_files_is_named_with_its_place(tmp_path: Path, files: dict[str, Any], said: str) -> None:
    checks = [DONE]
    found = refused(tmp_path, item(checks=checks), **files)
    assert any(each.startswith(said) for each in found), found


def test_a_manifest_that_cannot_be_read_hides_no_fault_of_an_item_and_makes_none(tmp_path: Path) -> None:
    found = refused(tmp_path, item(), item(), manifest="tools = [")
    assert [said.split(":", 1)[0] for said in found] == ["arena.toml", "dataset.jsonl"]


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        load(tmp_path, format="arena")
    assert str(raised.value).startswith("./t/arena.toml: there is no such file\n")
    assert "./t/dataset.jsonl: there is no such file\n" in str(raised.value)


def test_an_empty_dataset_is_no_task(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the task has no case"):
        loaded(tmp_path, "")


@pytest.mark.parametrize("name", ["dataset.jsonl", "corpus.json", "arena.toml"])
def test_a_link_out_of_the_task_is_not_followed(tmp_path: Path, name: str) -> None:
    task = tmp_path / "task"
    task.mkdir()
    write(task)
    (tmp_path / "outside").write_bytes((task / name).read_bytes())
    (task / name).unlink()
    (task / name).symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="leads out of the task's directory"):
        load(task)


def test_a_corpus_that_would_be_stored_too_often_is_refused(tmp_path: Path) -> None:
    corpus = [{"title": "Tern", "text": "x" * 1024 * 1024}]
    items = [item(id=f"i{number}") for number in range(65)]
    (said,) = refused(tmp_path, *items, corpus=corpus)
    assert said == "corpus.json: 1048580 characters are stored with each of 65 cases, more than 67108864 in all"


@pytest.mark.parametrize(
    "checks",
    [
        [path_equals(10**30)],
        [{"type": "json_schema", "schema": json.loads('{"not":' * 120 + "{}" + "}" * 120)}],
        [path_equals(json.loads("[" * 101 + "]" * 101))],
    ],
)
def test_values_that_could_not_be_stored_are_refused(tmp_path: Path, checks: list[Any]) -> None:
    (said,) = refused(tmp_path, item(checks=checks))
    assert "does not fit in 64 bits" in said or "nested more than 100 levels deep" in said


@pytest.mark.parametrize("depth", [8, 20])
def test_a_schema_that_asks_for_any_number_of_values_has_no_gold_and_takes_no_time(tmp_path, depth):
    import time

    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "minItems": 20, "items": schema}
    checks = [{"type": "json_schema", "schema": schema}, {"type": "tool_used", "name": "search"}]
    began = time.perf_counter()
    task = load(write(tmp_path, item(checks=checks)))
    assert time.perf_counter() - began < 5
    assert task.cases[0].golds == []


def test_a_manifest_with_a_key_of_very_many_parts_is_refused(tmp_path):
    folder = write(tmp_path, manifest=".".join("a" * 20_000) + " = 1\n")
    with pytest.raises(UserError, match="a key of more than 100 parts"):
        load(folder)
