"""Files of the Berkeley leaderboard, written to disk or of its own package, → Task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.config.types import Include
from evaluator.errors import UserError
from evaluator.formats.bfcl.files import CATEGORIES
from evaluator.scoring import prepare
from evaluator.scoring.self_check import self_check
from tests.unit.formats.bfcl_files import PLAY, STOP, answer, load, question, write
from tests.unit.scoring.bfcl_reference import data

SUPPORTED = (
    "simple_python, multiple, parallel, parallel_multiple, irrelevance, live_simple, live_multiple, live_parallel, "
    "live_parallel_multiple, live_irrelevance"
)


def refused(folder: Path, **config: Any) -> UserError:
    with pytest.raises(UserError) as raised:
        load(folder, **config)
    return raised.value


def messages(error: UserError) -> list[str]:
    return [str(problem).split("\n")[0] for problem in error.problems]


# What a row becomes


def test_a_row_is_a_case_with_its_functions_as_tools_of_one_answer(tmp_path: Path) -> None:
    write(tmp_path, simple_python=[question("simple_1")], simple_python__answers=[answer("simple_1")])
    task = load(tmp_path)
    (case,) = task.cases
    assert (task.format, task.scorer, case.id, case.slices) == ("bfcl", "bfcl", "simple_1", ["simple_python"])
    assert case.request.messages == [{"role": "user", "content": "Play Sia."}]
    assert (case.request.max_turns, case.request.text_calls, case.options) == (1, False, {})
    assert case.origin is not None
    assert (case.origin.file, case.origin.line) == ("./t/BFCL_v4_simple_python.json", 1)


def test_the_types_of_function_specs_become_those_of_json_schema(tmp_path: Path) -> None:
    write(tmp_path, irrelevance=[question("i")])
    (case,) = load(tmp_path).cases
    assert case.request.tools[0] == {
        "name": "music.play",
        "description": "Play an artist.",
        "parameters": {
            "type": "object",
            "properties": {
                "artist": {"type": "string", "description": "Who."},
                "minutes": {"type": "number"},
                "seats": {"type": "array", "items": {"type": "integer"}},
                "mood": {},
            },
            "required": ["artist"],
        },
    }


def test_what_is_wanted_keeps_the_declared_types_since_a_change_may_offer_other_tools(tmp_path: Path) -> None:
    truth = {"music.play": {"artist": ["Sia"], "seats": [[1, 2]], "volume": ["", 3]}}
    write(tmp_path, simple_python=[question("s")], simple_python__answers=[answer("s", truth)])
    (case,) = load(tmp_path).cases
    assert case.expected == {
        "calls": [
            {
                "tool": "music.play",
                "required": ["artist"],
                "arguments": {
                    "artist": {"accepted": ["Sia"], "type": "string"},
                    "seats": {"accepted": [[1, 2]], "type": "tuple", "items": "integer"},
                    "volume": {"accepted": ["", 3]},
                },
            }
        ]
    }


def test_no_call_is_right_where_nothing_is_relevant_and_no_answers_are_read(tmp_path: Path) -> None:
    write(tmp_path, irrelevance=[question("i")], irrelevance__answers="not read")
    (case,) = load(tmp_path).cases
    assert case.expected == {"calls": []}
    assert self_check(load(tmp_path)) == {}


def test_a_prompt_describes_the_functions_in_a_system_message_that_joins_the_rows_own(tmp_path: Path) -> None:
    turn = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Play Sia."}]
    write(tmp_path, simple_python=[question("s", question=[turn])], simple_python__answers=[answer("s")])
    (case,) = load(tmp_path, options={"calls": "prompt"}).cases
    system, user = case.request.messages
    assert system["role"] == "system"
    assert system["content"].startswith("You may call the functions that are described below.")
    assert system["content"].endswith("\n\nBe short.")
    described = system["content"].partition("Functions (JSON):\n")[2].partition("\n\n")[0]
    assert [spec["name"] for spec in json.loads(described)] == ["music.play", "stop"]
    assert user == turn[1]
    assert case.request.tools == []
    assert case.expected is not None
    assert (case.options, case.expected["functions"]) == ({"calls": "prompt"}, ["music.play", "stop"])


def test_a_default_that_is_written_down_changes_no_digest(tmp_path: Path) -> None:
    write(tmp_path, simple_python=[question("s")], simple_python__answers=[answer("s")])
    written = load(tmp_path, options={"calls": "native", "matching": "optimal"})
    assert written.cases[0].digest() == load(tmp_path).cases[0].digest()
    assert load(tmp_path, options={"matching": "greedy"}).cases[0].digest() != written.cases[0].digest()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_calls": True}, "unknown option text_calls; the format bfcl has calls and matching"),
        ({"calls": "both"}, "calls is native or prompt"),
        ({"matching": True}, "matching is optimal or greedy"),
    ],
)
def test_an_option_that_is_not_there_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    write(tmp_path, irrelevance=[question("i")])
    error = refused(tmp_path, options=options)
    assert (error.code, str(error)) == ("task-option", f"tasks.t.options: {message}")


# Golds


@pytest.mark.parametrize(
    ("accepted", "given"),
    [
        ({"artist": ["Sia", "sia"], "minutes": [20.0, ""]}, {"artist": "Sia", "minutes": 20.0}),
        ({"artist": ["Sia"], "minutes": ["", 20.0]}, {"artist": "Sia"}),
        ({"artist": ["", "Sia"]}, {"artist": "Sia"}),
        ({"artist": [""]}, {"artist": ""}),
        ({"artist": ["Sia"], "volume": [3, ""]}, {"artist": "Sia"}),
        ({"artist": ["Sia"], "seats": [[1, 2], [3]]}, {"artist": "Sia", "seats": [1, 2]}),
    ],
)
def test_a_gold_has_the_first_accepted_values_and_leaves_out_what_comes_first_so(
    tmp_path: Path, accepted: dict[str, Any], given: dict[str, Any]
) -> None:
    rows = [answer("s", {"music.play": accepted})]
    task = load(write(tmp_path, simple_python=[question("s")], simple_python__answers=rows))
    (gold,) = task.cases[0].golds
    assert [(call.tool, json.loads(call.arguments)) for call in gold.calls] == [("music.play", given)]
    assert self_check(task) == {}


def test_an_object_of_a_gold_has_one_value_for_each_key(tmp_path: Path) -> None:
    spec = {
        "name": "f",
        "parameters": {
            "type": "dict",
            "properties": {"where": {"type": "dict"}, "all": {"type": "array", "items": {"type": "dict"}}},
            "required": [],
        },
    }
    form = {"city": ["Oslo", "oslo"], "zip": ["", "0150"]}
    rows = [answer("s", {"f": {"where": [form], "all": [[form]]}})]
    write(tmp_path, simple_python=[question("s", function=[spec])], simple_python__answers=rows)
    task = load(tmp_path)
    (call,) = task.cases[0].golds[0].calls
    assert json.loads(call.arguments) == {"where": {"city": "Oslo"}, "all": [{"city": "Oslo"}]}
    assert self_check(task) == {}


def test_a_gold_that_no_right_answer_passes_is_named_with_its_line(tmp_path: Path) -> None:
    rows = [answer("ok"), answer("bad", {"music.play": {"artist": ["Sia"], "volume": [3]}})]
    write(tmp_path, simple_python=[question("ok"), question("bad")], simple_python__answers=rows)
    assert self_check(load(tmp_path)) == {
        "bad": "./t/BFCL_v4_simple_python.json:2: the expected answer fails its own scorer as unexpected_argument: "
        "step 1 music.play $.volume (unexpected_argument): got 3"
    }


def test_of_the_leaderboards_own_data_four_answers_cannot_be_given() -> None:
    task = load(data())
    assert len(task.cases) == 3475
    assert {category: sum(category in case.slices for case in task.cases) for category in CATEGORIES} == {
        "simple_python": 400,
        "multiple": 200,
        "parallel": 200,
        "parallel_multiple": 200,
        "irrelevance": 240,
        "live_simple": 258,
        "live_multiple": 1053,
        "live_parallel": 16,
        "live_parallel_multiple": 24,
        "live_irrelevance": 884,
    }
    assert set(self_check(task)) == {
        *("live_multiple_862-181-3", "live_multiple_964-207-0", "live_simple_106-63-0", "live_simple_112-68-0")
    }


def test_in_a_prompt_the_same_golds_pass() -> None:
    task = load(data(), options={"calls": "prompt"}, include=Include(tags=["multiple"]))
    assert len(task.cases) == 200
    assert self_check(task) == {}


# Which files and cases


def test_categories_are_tags_slices_and_files_of_one_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        simple_python=[question("s")],
        simple_python__answers=[answer("s")],
        irrelevance=[question("i1"), question("i2")],
    )
    assert [case.id for case in load(tmp_path).cases] == ["i1", "i2", "s"]
    assert [case.id for case in load(tmp_path, include=Include(tags=["irrelevance"])).cases] == ["i1", "i2"]
    assert [case.id for case in load(tmp_path, include=Include(ids=["*2", "s"])).cases] == ["i2", "s"]
    assert str(refused(tmp_path, include=Include(tags=["java"]))) == (
        "tasks.t: include leaves none of the 3 cases\n"
        "    Check the tags and the id globs against the ids of the rows; the tags are the categories."
    )


def test_what_is_not_supported_beside_what_is_is_left_out_and_noted(tmp_path: Path) -> None:
    write(tmp_path, irrelevance=[question("i")], simple_java="anything", memory="", multi_turn_base="")
    (tmp_path / "BFCL_v3_simple.json").write_text("older")
    (tmp_path / "README.md").write_text("# Data")
    task = load(tmp_path)
    assert [case.id for case in task.cases] == ["i"]
    assert task.notes == [
        "not supported yet, so left out: BFCL_v3_simple.json, BFCL_v4_memory.json, BFCL_v4_multi_turn_base.json, "
        f"BFCL_v4_simple_java.json; supported are {SUPPORTED}"
    ]


def test_nothing_but_what_is_not_supported_is_refused_with_what_is(tmp_path: Path) -> None:
    write(tmp_path, simple_javascript="", live_relevance="")
    error = refused(tmp_path)
    assert error.code == "format-unsupported"
    assert str(error) == (
        "./t: not supported yet: BFCL_v4_live_relevance.json, BFCL_v4_simple_javascript.json\n"
        f"    The categories that can be judged are: {SUPPORTED}."
    )


def test_a_folder_without_such_files_is_another_format_or_refused(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("[]")
    assert refused(tmp_path).code == "format-unknown"
    assert str(refused(tmp_path, format="bfcl")).startswith("./t: there is no file BFCL_v4_<category>.json\n")


def test_a_file_without_a_row_is_an_empty_task(tmp_path: Path) -> None:
    assert str(refused(write(tmp_path, irrelevance="\n\n"))) == (
        "tasks.t: the task has no case\n    A case is a line of a file BFCL_v4_<category>.json."
    )


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (tmp_path / "outside.json").write_text(json.dumps(question("s")))
    (folder / "BFCL_v4_irrelevance.json").symlink_to(tmp_path / "outside.json")
    assert messages(refused(folder)) == [
        "./t/BFCL_v4_irrelevance.json: leads out of the task's directory",
    ]


# Faults


def with_function(**changes: Any) -> dict[str, Any]:
    return question("s", function=[{**PLAY, **changes}])


def with_type(declared: Any) -> dict[str, Any]:
    return with_function(parameters={"type": "dict", "properties": {"artist": declared}, "required": []})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": 5}, "$.id: is a text without control characters and spaces around it"),
        (question(" s"), "$.id: is a text without control characters and spaces around it"),
        (question("s", question=[]), "$.question: is a list with one turn, a list of messages"),
        (question("s", question="Play."), "$.question: is a list with one turn, a list of messages"),
        (question("s", question=[[]]), "$.question[0]: has no message"),
        (
            question("s", question=[[{"role": "user", "content": "a"}]] * 3),
            "$.question: has 3 turns; conversations of several turns are not supported yet",
        ),
        (question("s", question=[["a"]]), "$.question[0][0]: is a message, an object with role and content"),
        (
            question("s", question=[[{"role": "tool", "content": "a"}]]),
            "$.question[0][0].role: is system, user or assistant",
        ),
        (question("s", question=[[{"role": "user", "content": None}]]), "$.question[0][0].content: is a text"),
        (question("s", function=PLAY), "$.function: is a list of function specs"),
        (question("s", function=[{}]), "$.function[0]: is a function spec, an object with a name"),
        (
            question("s", function=[STOP, STOP]),
            "$.function[1].name: 'stop' is the name of another function of this row",
        ),
        (with_function(description=1), "$.function[0].description: is a text"),
        (
            with_function(parameters=[]),
            "$.function[0].parameters: is an object with properties, an object, and required, a list",
        ),
        (
            with_function(parameters={"type": "dict", "properties": {}, "required": [1]}),
            "$.function[0].parameters.required: is a list of names",
        ),
        (
            with_type({"type": "number"}),
            "$.function[0].parameters.properties.artist.type: is one of string, integer, float, boolean, array, tuple, "
            "dict, any",
        ),
        (
            with_type({"type": "array"}),
            "$.function[0].parameters.properties.artist.items.type: is one of string, integer, float, boolean, array, "
            "tuple, dict, any",
        ),
    ],
)
def test_a_malformed_question_is_named_with_file_line_and_path(tmp_path: Path, row: Any, message: str) -> None:
    write(tmp_path, irrelevance=[question("before"), row])
    error = refused(tmp_path)
    assert error.code == "task-malformed"
    assert messages(error) == [f"./t/BFCL_v4_irrelevance.json:2:1: {message}"]


def test_a_spec_that_nests_without_end_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(120):
        nested = {"type": "array", "items": nested}
    assert messages(refused(write(tmp_path, irrelevance=[with_type(nested)]))) == [
        "./t/BFCL_v4_irrelevance.json:1:1: $.function[0].parameters: nested more than 100 schemas deep"
    ]


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ({}, "$.ground_truth: is a list of calls, each an object with the function's name as its one key"),
        ([], "$.ground_truth: holds 0 calls; the category wants one"),
        ([{"stop": {}}, {"stop": {}}], "$.ground_truth: holds 2 calls; the category wants one"),
        ([{}], "$.ground_truth: is a list of calls, each an object with the function's name as its one key"),
        ([{"play": {}}], "$.ground_truth[0]: there is no function 'play'; there is music.play, stop"),
        (
            [{"stop": []}],
            "$.ground_truth[0]: the arguments are an object of parameters and lists of accepted values",
        ),
        (
            [{"music.play": {"artist": "Sia"}}],
            "$.ground_truth[0]: arguments.artist: the accepted values are a list, not 'Sia'",
        ),
    ],
)
def test_a_malformed_answer_is_named_with_file_line_and_path(tmp_path: Path, calls: Any, message: str) -> None:
    rows = [answer("ok"), {"id": "s", "ground_truth": calls}]
    write(tmp_path, multiple=[question("ok"), question("s")], multiple__answers=rows)
    assert messages(refused(tmp_path)) == [f"./t/possible_answer/BFCL_v4_multiple.json:2:1: {message}"]


def test_an_accepted_object_without_lists_of_values_is_a_fault(tmp_path: Path) -> None:
    spec = {"name": "f", "parameters": {"type": "dict", "properties": {"at": {"type": "dict"}}, "required": []}}
    rows = [answer("s", {"f": {"at": [{"city": "Oslo"}]}})]
    write(tmp_path, multiple=[question("s", function=[spec])], multiple__answers=rows)
    assert messages(refused(tmp_path)) == [
        "./t/possible_answer/BFCL_v4_multiple.json:1:1: $.ground_truth[0]: arguments.at: an accepted object has a list "
        "of values for each key, not {'city': 'Oslo'}"
    ]


def test_every_fault_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        irrelevance=[question("i"), question("i"), question("j", question=[[]], function=None)],
        parallel=[question("p1"), question("i"), question("p2")],
        parallel__answers='{"id": "p1", "ground_truth": []}\n{"id": "p1"\n[1]\n{"id": "other", "ground_truth": []}\n',
        multiple=[question("m")],
        live_simple=[question("l")],
        live_simple__answers='{"id": "l", "id": "l"}\n',
    )
    (tmp_path / "possible_answer" / "BFCL_v4_simple_python.json").unlink(missing_ok=True)
    assert messages(refused(tmp_path)) == [
        "./t/BFCL_v4_irrelevance.json:2:1: $.id: 'i' is already the id of line 1",
        "./t/BFCL_v4_irrelevance.json:3:1: $.function: is a list of function specs",
        "./t/BFCL_v4_irrelevance.json:3:1: $.question[0]: has no message",
        "./t/BFCL_v4_live_simple.json:1:1: 'l' has no answer in ./t/possible_answer/BFCL_v4_live_simple.json",
        "./t/BFCL_v4_parallel.json:2:1: $.id: 'i' is already the id of ./t/BFCL_v4_irrelevance.json:1",
        "./t/BFCL_v4_parallel.json:2:1: 'i' has no answer in ./t/possible_answer/BFCL_v4_parallel.json",
        "./t/BFCL_v4_parallel.json:3:1: 'p2' has no answer in ./t/possible_answer/BFCL_v4_parallel.json",
        './t/possible_answer/BFCL_v4_live_simple.json:1:13: a key stands twice in one object: "id"',
        "./t/possible_answer/BFCL_v4_multiple.json: there is no such file",
        "./t/possible_answer/BFCL_v4_parallel.json:1:1: $.ground_truth: holds 0 calls; the category wants several",
        "./t/possible_answer/BFCL_v4_parallel.json:2:12: not JSON: Expecting ',' delimiter",
        "./t/possible_answer/BFCL_v4_parallel.json:3:1: $: not an object",
        "./t/possible_answer/BFCL_v4_parallel.json:4:1: $.id: there is no question 'other' in BFCL_v4_parallel.json",
    ]


def test_every_case_of_a_written_task_can_be_scored(tmp_path: Path) -> None:
    write(tmp_path, simple_python=[question("s")], simple_python__answers=[answer("s")], irrelevance=[question("i")])
    for case in load(tmp_path).cases:
        score = prepare("bfcl", case)(case.golds[0])
        assert (score.passed, score.values["score"]) == (True, 1.0)  # type: ignore[union-attr]
