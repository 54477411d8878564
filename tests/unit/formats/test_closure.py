import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from evaluator import formats
from evaluator.cases import SourceRef, Task
from evaluator.config.types import Include, TaskConfig
from evaluator.errors import UserError

SOURCE = SourceRef(location="./evals/closure")


def row(case_id: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "case_id": case_id,
        "task_id": "t1",
        "family": "json_object",
        "control": "close_required",
        "format": "json",
        "instruction": "Go on:",
        "prefix": '{"a": 1',
        "expected": '{"a": 1}',
        **more,
    }


def write(folder: Path, *rows: Any, name: str = "rows.jsonl", inventory: Any = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows))
    if inventory is not None:
        text = inventory if isinstance(inventory, str) else json.dumps({"groups": inventory})
        (folder / "inventory.json").write_text(text)
    return folder


def load(folder: Path, include: Include | None = None, **options: Any) -> Task:
    config = TaskConfig(name="closure", source=SOURCE.location, options=options, include=include or Include())
    return formats.load(config, folder, SOURCE)


def problems(folder: Path, **options: Any) -> str:
    with pytest.raises(UserError) as refused:
        load(folder, **options)
    return str(refused.value)


def test_a_row_becomes_a_case_of_its_group_with_the_rest_of_its_text_as_the_gold(tmp_path):
    task = load(write(tmp_path / "t", row(), row("b", critical=True)))
    case, critical = task.cases
    assert (task.format, task.scorer, task.pooled) == ("closure", "closure", False)
    assert (case.id, case.slices, critical.critical) == ("a", ["json_object/close_required"], True)
    assert case.request.messages == [{"role": "user", "content": "Go on:"}]
    assert (case.request.prefix, case.request.condition) == ('{"a": 1', "completion:text")
    assert case.expected == {"format": "json", "text": '{"a": 1}'}
    assert [gold.text for gold in case.golds] == ["}"]
    assert (case.origin.file, case.origin.line) == ("./evals/closure/rows.jsonl", 1)


def test_the_content_may_stand_in_place_of_the_text_and_makes_no_gold(tmp_path):
    rows = [
        row("value", expected={"a": 1}),
        row("json", expected='{"a":  1}'),
        row("text", format="reasoning", prefix="<think>a", expected="a b"),
    ]
    task = load(write(tmp_path / "t", *rows))
    assert [case.expected["content"] for case in task.cases] == ['{"a": 1}', '{"a":  1}', "a b"]
    assert [case.golds for case in task.cases] == [[], [], []]


def test_token_ids_are_the_prompt_and_the_tokens_of_the_target_are_no_part_of_it(tmp_path):
    (case,) = load(write(tmp_path / "t", row(prompt_token_ids=[5, 6], target_token_ids=[7]))).cases
    assert (case.request.prompt_token_ids, case.request.condition) == ([5, 6], "completion:token_ids")
    (same,) = load(write(tmp_path / "u", row(prompt_token_ids=[5, 6], target_token_ids=[8, 9]))).cases
    assert case.digest() == same.digest()


def test_the_condition_is_in_the_digest_so_that_no_baseline_of_another_is_compared(tmp_path):
    folder = write(tmp_path / "t", row(prompt_token_ids=[5, 6]))
    by_ids, by_prefill = load(folder).cases[0], load(folder, prompting="prefill").cases[0]
    assert by_prefill.request.condition == "prefill"
    assert by_prefill.request.prompt_token_ids is None
    text = load(write(tmp_path / "u", row())).cases[0]
    assert len({case.digest() for case in (by_ids, by_prefill, text)}) == 3


def test_rows_of_two_conditions_are_not_one_task(tmp_path):
    folder = write(tmp_path / "t", row("a", prompt_token_ids=[1]), row("b"))
    assert "1 of 2 rows have prompt_token_ids: two conditions, which are never pooled" in problems(folder)
    assert len(load(folder, prompting="prefill").cases) == 2
    assert len(load(folder, include=Include(ids=["a"])).cases) == 1


def test_every_file_of_rows_is_read_or_the_one_that_is_named(tmp_path):
    folder = write(tmp_path / "t", row("a"), name="one.jsonl")
    write(folder, row("b"), name="two.jsonl")
    assert [case.id for case in load(folder).cases] == ["a", "b"]
    assert [case.id for case in load(folder, file="two.jsonl").cases] == ["b"]
    assert "no.jsonl: there is no such file" in problems(folder, file="no.jsonl")
    assert "options.file: '../x.jsonl' leads out of the task's directory" in problems(folder, file="../x.jsonl")


def test_a_group_a_family_or_a_control_can_be_included(tmp_path):
    rows = [row("a"), row("b", control="continue_required"), row("c", family="mine")]
    folder = write(tmp_path / "t", *rows)
    for tag, ids in (
        ("json_object/close_required", ["a"]),
        ("json_object", ["a", "b"]),
        ("close_required", ["a", "c"]),
    ):
        assert [case.id for case in load(folder, Include(tags=[tag])).cases] == ids


# The inventory


def test_a_case_of_the_inventory_without_a_row_is_planned_named_and_never_asked(tmp_path):
    groups = {"json_object/close_required": ["a", "gone"], "tool_call/opener_retention": ["lost"]}
    task = load(write(tmp_path / "t", row(), inventory=groups))
    assert [(case.id, case.slices, case.absent) for case in task.cases[1:]] == [
        ("gone", ["json_object/close_required"], "inventory.json lists it, and no row has it"),
        ("lost", ["tool_call/opener_retention"], "inventory.json lists it, and no row has it"),
    ]
    assert task.notes == ["in inventory.json, but without a row, so missing: gone, lost"]


def test_an_inventory_may_only_count(tmp_path):
    groups = {"json_object/close_required": 3, "tool_call/opener_retention": 1}
    task = load(write(tmp_path / "t", row(), inventory=groups))
    assert [case.id for case in task.cases] == [
        "a",
        "json_object/close_required/missing-1",
        "json_object/close_required/missing-2",
        "tool_call/opener_retention/missing-1",
    ]


def test_what_the_inventory_does_not_list_is_a_note(tmp_path):
    task = load(write(tmp_path / "t", row("a"), row("b"), inventory={"json_object/close_required": ["a"]}))
    assert (len(task.cases), task.notes) == (2, ["not in inventory.json: b"])
    task = load(write(tmp_path / "u", row("a"), row("b"), inventory={"json_object/close_required": 1}))
    assert task.notes == ["not in inventory.json: 1 of json_object/close_required"]


def test_without_an_inventory_a_note_says_that_nobody_knows_what_is_missing(tmp_path):
    assert load(write(tmp_path / "t", row())).notes == ["no inventory.json: whether all rows are there is not known"]


def test_missing_cases_are_only_those_that_are_included(tmp_path):
    folder = write(tmp_path / "t", row(), inventory={"json_object/close_required": ["a"], "x/close_required": ["b"]})
    assert [case.id for case in load(folder, Include(tags=["json_object"])).cases] == ["a"]
    assert [case.id for case in load(folder, Include(tags=["x"])).cases] == ["b"]


@pytest.mark.parametrize(
    ("inventory", "message"),
    [
        ("{", "inventory.json:1:2: not JSON"),
        ("{}", "Object missing required field `groups`"),
        ({"g": -1}, "Expected `int` >= 0"),
        ({"g": "a"}, "Expected `int | array`, got `str`"),
        ({"other/close_required": ["a"]}, "'a' is of the group json_object/close_required, inventory.json lists it in"),
        ({"json_object/close_required": ["a", "a"]}, "'a' is in json_object/close_required already"),
    ],
)
def test_an_inventory_that_cannot_be_believed_is_refused(tmp_path, inventory, message):
    assert message in problems(write(tmp_path / "t", row(), inventory=inventory))


# Prompt hashes


def test_the_prompt_hash_is_of_the_prompt_as_it_is_sent(tmp_path):
    text = hashlib.sha256(b'Go on:\n{"a": 1').hexdigest()
    ids = hashlib.sha256(b"[5,6]").hexdigest()
    load(write(tmp_path / "t", row(prompt_hash=text), row("b", prompt_hash=f"sha256:{text}")))
    load(write(tmp_path / "u", row(prompt_hash=ids, prompt_token_ids=[5, 6])))
    said = problems(write(tmp_path / "v", row(prompt_hash=ids)))
    assert f"rows.jsonl:1:1: $.prompt_hash: the SHA-256 of instruction and prefix is {text}" in said


# What is malformed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "rows.jsonl:2:2: not JSON"),
        ("[]", "rows.jsonl:2:1: $: not an object"),
        ('{"case_id": "b", "case_id": "c"}', "rows.jsonl:2:18: a key stands twice in one object"),
        ('{"case_id": "b", "expected": NaN}', "not a JSON number: NaN"),
        (row(case_id=1), "rows.jsonl:2:1: $.case_id: Expected `str`, got `int`"),
        (row(case_id=""), "$.case_id: Expected `str` of length >= 1"),
        ({"case_id": "b"}, "$: Object missing required field"),
        (row("b", control="hold"), "$.control: unknown control 'hold'"),
        (row("b", family="a/b"), "$.family: a name with a slash"),
        (row("b", format="xml"), "$.format: unknown format 'xml'"),
        (row("b", format="reasoning", expected=[1]), "$.expected: the content of a reasoning is a text"),
        (row("b", prompt_token_ids=[]), "$.prompt_token_ids: Expected `array` of length >= 1"),
        (row("b", prompt_token_ids=[-1]), "Expected `int` >= 0"),
        (row("b", prompt_token_ids=[True]), "Expected `int`, got `bool`"),
        (row("b", prefix=None), "$.prefix: Expected `str`, got `null`"),
        (row("a"), "rows.jsonl:2:1: $.case_id: 'a' stands in ./evals/closure/rows.jsonl:1 already"),
        ('{"case_id": "\\ud800"}', "half a character"),
    ],
)
def test_a_malformed_row_is_named_with_its_line(tmp_path, line, message):
    assert message in problems(write(tmp_path / "t", row(), line))


def test_every_malformed_row_is_named_at_once(tmp_path):
    said = problems(write(tmp_path / "t", row(), "{", row("b", control="hold"), ""))
    assert "rows.jsonl:2:2" in said
    assert "rows.jsonl:3:1" in said


def test_bytes_that_are_no_text_are_named(tmp_path):
    folder = write(tmp_path / "t", row())
    with (folder / "rows.jsonl").open("ab") as stream:
        stream.write(b'{"case_id": "\xff"}\n')
    assert "rows.jsonl:2:14: not UTF-8 text" in problems(folder)


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    outside = write(tmp_path / "outside", row())
    folder = write(tmp_path / "t", row("b"), name="own.jsonl")
    (folder / "rows.jsonl").symlink_to(outside / "rows.jsonl")
    assert "rows.jsonl: leads out of the task's directory" in problems(folder)


def test_keys_that_nobody_knows_are_a_note(tmp_path):
    task = load(
        write(tmp_path / "t", row(source="x", target_token_ids=[1]), inventory={"json_object/close_required": 1})
    )
    assert task.notes == ["keys of rows that have no effect: source"]


def test_parquet_is_refused_with_what_converts_it(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "rows.parquet").write_bytes(b"PAR1")
    said = problems(folder)
    assert "rows.parquet: Parquet is not read; rows are JSON Lines" in said
    assert "duckdb -c \"COPY (FROM 'rows.parquet') TO 'rows.jsonl' (FORMAT json)\"" in said
    assert "pandas.read_parquet('rows.parquet').to_json('rows.jsonl', orient='records', lines=True" in said
    write(folder, row())
    assert len(load(folder).cases) == 1


def test_a_folder_without_rows_is_not_taken_for_this_format(tmp_path):
    folder = write(tmp_path / "t", {"case_id": "a", "text": "x"})
    with pytest.raises(UserError, match="looks like no task"):
        load(folder)


def test_an_empty_choice_is_refused(tmp_path):
    folder = write(tmp_path / "t", row())
    with pytest.raises(UserError, match="include leaves none of the 1 cases"):
        load(folder, Include(ids=["z"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"no_hedge": True}, "unknown option no_hedge; the format closure has file, prompting, turn_end, delimiters"),
        ({"prompting": "chat"}, "prompting is completion or prefill"),
        ({"turn_end": []}, "turn_end is a text, or a list of texts"),
        ({"turn_end": "</think>"}, "turn_end: '</think>' closes a structure, and no closer is ever removed"),
        ({"delimiters": {"tool_call": ["<a>"]}}, "two different texts"),
        ({"delimiters": {"tool_call": ["<a>", "<a>"]}}, "two different texts"),
        ({"delimiters": {"json": ["<a>", "<b>"]}}, "delimiters: for tool_call or reasoning"),
    ],
)
def test_an_option_that_means_nothing_is_refused(tmp_path, options, message):
    assert message in problems(write(tmp_path / "t", row()), **options)


def test_options_of_scoring_are_part_of_the_case(tmp_path):
    options = {"turn_end": "<|im_end|>", "delimiters": {"reasoning": ["<r>", "</r>"]}}
    (case,) = load(write(tmp_path / "t", row()), **options).cases
    assert case.options == {"turn_end": ["<|im_end|>"], "delimiters": {"reasoning": ["<r>", "</r>"]}}


def test_a_made_up_name_of_a_missing_case_is_never_a_cases_own(tmp_path):
    group = "json_object/close_required"
    folder = write(tmp_path / "t", row(f"{group}/missing-1"), inventory={group: 2})
    task = load(folder)
    assert len({case.id for case in task.cases}) == 2
    assert [case.id for case in task.cases if case.absent] == [f"{group}/missing-2"]


def test_a_row_that_an_empty_continuation_passes_is_a_fault(tmp_path):
    from evaluator.scoring.self_check import self_check

    task = load(write(tmp_path / "t", row("whole", prefix='{"a": 1}'), row("cut")))
    faults = self_check(task)
    assert list(faults) == ["whole"]
    assert "nothing is left to be written" in faults["whole"]
