"""trapstreet folders, written to disk, → Task."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evaluator import formats
from evaluator.cases import Origin, SourceRef, Task
from evaluator.config.types import Include, TaskConfig
from evaluator.errors import UserError
from evaluator.scoring import prepare
from evaluator.scoring.self_check import self_check
from evaluator.transcript import Infrastructure, Transcript

SPEC = {
    "name": "area",
    "description": "Area of a rectangle.",
    "parameters": {
        "type": "dict",
        "properties": {"sides": {"type": "tuple", "items": {"type": "float"}}, "unit": {"type": "any"}},
        "required": ["sides"],
    },
}
PROMPT = (
    f"Find the area of 2 by 3.\n\nFUNCTION SPEC (JSON):\n{json.dumps(SPEC, indent=2)}\n\nOUTPUT: one {{JSON}} object.\n"
)
GOLD = '{"name": "area", "arguments": {"sides": [2, 3]}}'
MATCHERS = [{"kind": "json_call", "function_name": "area", "args_accepted": {"sides": [[2, 3]], "unit": ["", "m"]}}]


def answer(case_id: str, **changes: Any) -> str:
    return json.dumps(
        {"id": case_id, "answer": GOLD, "type": "json", "matchers": MATCHERS, "difficulty": "easy"} | changes
    )


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def task_files(**changes: str | bytes | None) -> dict[str, str | bytes]:
    files: dict[str, str | bytes | None] = {
        "traptask.yaml": "cases:\n- id: one\n  tags: [easy, critical]\n- id: two\n  tags: [hard]\n",
        "inputs/one/question.txt": PROMPT,
        "inputs/two/question.txt": "Say 42.",
        "expected/one/answer.json": answer("one"),
        "expected/two/answer.json": answer("two", answer="42", matchers=[{"kind": "numeric", "value": 42}]),
    } | {name.replace("__", "/").replace("_dot_", "."): content for name, content in changes.items()}
    return {name: content for name, content in files.items() if content is not None}


def load(root: Path, commit: str | None = None, **config: Any) -> Task:
    source = SourceRef(location="./evals/t", commit=commit, subdirectory="tasks/t" if commit else None)
    return formats.load(TaskConfig(name="t", source="./evals/t", **config), root, source)


def refusal(root: Path, **config: Any) -> UserError:
    with pytest.raises(UserError) as refused:
        load(root, **config)
    return refused.value


def test_a_task_becomes_cases_with_prompt_function_matchers_gold_and_slices(tmp_path: Path) -> None:
    write(tmp_path, task_files())
    task = load(tmp_path)
    one, two = task.cases
    assert (task.name, task.format, task.scorer, task.skipped, task.notes) == ("t", "trapstreet", "trapstreet", [], [])
    assert (one.id, one.slices, one.critical) == ("one", ["easy", "critical"], True)
    assert one.request.messages == [{"role": "user", "content": PROMPT}]
    assert one.request.function == {
        "name": "area",
        "description": "Area of a rectangle.",
        "parameters": {
            "type": "object",
            "properties": {"sides": {"type": "array", "items": {"type": "number"}}, "unit": {}},
            "required": ["sides"],
        },
    }
    assert one.expected == {"matchers": MATCHERS}
    assert one.golds == [Transcript(text=GOLD)]
    assert (two.request.function, two.critical, two.options) == (None, False, {})
    assert self_check(task) == {}


def test_labels_in_the_answer_file_are_not_part_of_the_digest(tmp_path: Path) -> None:
    write(tmp_path, task_files())
    before = load(tmp_path).cases[0].digest()
    write(tmp_path, {"expected/one/answer.json": answer("one", difficulty="hard", category="x")})
    assert load(tmp_path).cases[0].digest() == before
    write(tmp_path, {"inputs/one/question.txt": PROMPT + " "})
    assert load(tmp_path).cases[0].digest() != before


def test_several_files_are_sections_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path, task_files(inputs__two__context_dot_md="The number is 42.", inputs__two__a_dot_txt="A"))
    prompt = load(tmp_path).cases[1].request.messages[0]["content"]
    assert prompt == "## a.txt\n\nA\n\n## context.md\n\nThe number is 42.\n\n## question.txt\n\nSay 42."


def test_hidden_files_are_no_part_of_the_prompt(tmp_path: Path) -> None:
    write(tmp_path, task_files(inputs__two___dot_DS_Store=b"\xff"))
    assert load(tmp_path).cases[1].request.messages[0]["content"] == "Say 42."


def test_a_case_without_an_expected_file_is_loaded_unscored_and_named(tmp_path: Path) -> None:
    write(tmp_path, task_files(expected__two__answer_dot_json=None))
    task = load(tmp_path)
    assert task.cases[1].expected is None
    assert task.notes == ["without an expected answer, so never scored: two"]
    score = prepare(task.scorer, task.cases[1])(Transcript(text="42"))
    assert isinstance(score, Infrastructure)
    assert score.kind == "no_expected"


def test_without_traptask_every_folder_of_inputs_is_an_unscored_case(tmp_path: Path) -> None:
    write(tmp_path, task_files(traptask_dot_yaml=None))
    task = load(tmp_path)
    assert [(case.id, case.expected, case.golds) for case in task.cases] == [("one", None, []), ("two", None, [])]
    assert task.notes == ["there is no traptask.yaml: every folder of inputs/ is a case, and none is scored"]


def test_with_traptask_but_without_cases_every_folder_is_a_scored_case(tmp_path: Path) -> None:
    write(tmp_path, task_files(traptask_dot_yaml="name: mine\n"))
    assert [case.expected is not None for case in load(tmp_path).cases] == [True, True]


def test_ids_are_the_names_of_folders_as_they_are_written(tmp_path: Path) -> None:
    write(tmp_path, {"traptask.yaml": "cases: [{id: 007}, {id: 1.50}, {id: yes}, {id: 2024-01-02}]"})
    for name in ("007", "1.50", "yes", "2024-01-02"):
        write(tmp_path, {f"inputs/{name}/q.txt": "?"})
    assert [case.id for case in load(tmp_path).cases] == ["007", "1.50", "yes", "2024-01-02"]


def test_skipped_cases_are_named_and_not_even_read(tmp_path: Path) -> None:
    yaml = "cases: [{id: one}, {id: gone, skip: true}]"
    write(tmp_path, task_files(traptask_dot_yaml=yaml, inputs__two__question_dot_txt=None))
    task = load(tmp_path)
    assert ([case.id for case in task.cases], task.skipped) == (["one"], ["gone"])


def test_dirs_of_the_task_are_respected(tmp_path: Path) -> None:
    yaml = "dirs: {inputs: data/in, expected: data/out}\ncases: [{id: one}]"
    write(tmp_path, {"traptask.yaml": yaml, "data/in/one/q.txt": "?", "data/out/one/answer.json": answer("one")})
    assert load(tmp_path).cases[0].golds == [Transcript(text=GOLD)]


def test_what_of_the_source_has_no_effect_is_noted(tmp_path: Path) -> None:
    yaml = "colour: red\njudge: {cmd: ./judge}\nsetup_cmd: make\ncases: [{id: one, weight: 3}]\n"
    write(tmp_path, task_files(traptask_dot_yaml=yaml))
    assert load(tmp_path).notes == [
        "traptask.yaml: unknown key colour has no effect",
        "traptask.yaml: unknown key cases.weight has no effect",
        "traptask.yaml: setup_cmd, judge of the source not run; the built-in judge decides",
        "inputs/two is no declared case",
    ]


@pytest.mark.parametrize(
    ("include", "ids"),
    [
        (Include(), ["one", "two"]),
        (Include(tags=["easy"]), ["one"]),
        (Include(tags=["easy", "hard"]), ["one", "two"]),
        (Include(ids=["t*"]), ["two"]),
        (Include(tags=["easy", "hard"], ids=["one", "x"]), ["one"]),
    ],
)
def test_include_takes_cases_by_tag_and_id(tmp_path: Path, include: Include, ids: list[str]) -> None:
    write(tmp_path, task_files())
    assert [case.id for case in load(tmp_path, include=include).cases] == ids


def test_a_case_that_is_not_included_may_be_broken(tmp_path: Path) -> None:
    write(tmp_path, task_files(expected__two__answer_dot_json="{"))
    assert [case.id for case in load(tmp_path, include=Include(ids=["one"])).cases] == ["one"]


@pytest.mark.parametrize(
    ("yaml", "include", "message"),
    [
        (None, Include(tags=["none"]), "tasks.t: include leaves none of the 2 cases"),
        ("cases: []", Include(), "tasks.t: the task has no case"),
        ("cases: [{id: one, skip: true}]", Include(), "tasks.t: every case that is included is marked skip"),
    ],
)
def test_a_task_of_which_nothing_is_left_is_refused(
    tmp_path: Path, yaml: str | None, include: Include, message: str
) -> None:
    write(tmp_path, task_files(**({} if yaml is None else {"traptask_dot_yaml": yaml})))
    error = refusal(tmp_path, include=include)
    assert error.code == "task-empty"
    assert str(error).startswith(message)


def test_options_reach_the_cases_and_a_default_written_down_changes_no_digest(tmp_path: Path) -> None:
    write(tmp_path, task_files())
    plain = load(tmp_path).cases[0]
    written = load(tmp_path, options={"json_call": 1, "no_hedge": False}).cases[0]
    assert written.digest() == plain.digest()
    changed = load(tmp_path, options={"json_call": "upstream", "no_hedge": True}).cases[0]
    assert changed.options == {"json_call": "upstream", "no_hedge": True}
    assert changed.digest() != plain.digest()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"json_call": "2"}, 'tasks.t.options: json_call is "1" or "upstream"'),
        ({"no_hedge": "yes"}, "tasks.t.options: no_hedge is true or false"),
        ({"hedge": True}, "tasks.t.options: unknown option hedge; the format trapstreet has json_call and no_hedge"),
    ],
)
def test_an_unknown_option_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    write(tmp_path, task_files())
    error = refusal(tmp_path, options=options)
    assert (error.code, str(error)) == ("task-option", message)


def test_all_problems_are_reported_at_once_with_file_line_and_column(tmp_path: Path) -> None:
    yaml = "cases:\n- id: one\n- id: two\n- id: three\n- {}\n- id: one\n- id: ../x\n- id: five\n  skip: maybe\n"
    write(
        tmp_path,
        task_files(
            traptask_dot_yaml=yaml,
            inputs__one__question_dot_txt='FUNCTION SPEC (JSON):\n{"name": "f",\n "name": "g"}',
            expected__two__answer_dot_json='{"id": "two",\n "matchers": [NaN]}',
        ),
    )
    error = refusal(tmp_path)
    assert error.code == "task-malformed"
    where = [f"{problem.file}:{problem.line}:{problem.column} {problem.message}" for problem in error.problems]
    assert where == [
        "./evals/t/expected/two/answer.json:2:15 not a JSON number: NaN",
        './evals/t/inputs/one/question.txt:3:2 the function spec: a key stands twice in one object: "name"',
        "./evals/t/inputs/three:0:0 the case 'three' has no folder of inputs",
        "./evals/t/traptask.yaml:5:3 a case is a mapping with an id",
        "./evals/t/traptask.yaml:6:0 the case 'one' is declared twice, first in line 2",
        "./evals/t/traptask.yaml:7:7 the id of a case is the name of its folder",
        "./evals/t/traptask.yaml:9:9 skip is true or false",
    ]


def test_files_of_a_git_source_are_named_by_their_place_in_it(tmp_path: Path) -> None:
    write(tmp_path, task_files(expected__two__answer_dot_json="["))
    error = refusal(tmp_path, commit="a" * 40)
    assert error.problems[0].file == "tasks/t/expected/two/answer.json"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"traptask_dot_yaml": "- a"}, "traptask.yaml:1:1: not a mapping of keys and values"),
        ({"traptask_dot_yaml": "cases: 5"}, "traptask.yaml:1:8: cases is a list"),
        ({"traptask_dot_yaml": "cases: [{id: one, tags: easy}]"}, "traptask.yaml:1:25: tags is a list of words"),
        ({"traptask_dot_yaml": "dirs: {inputs: ../x}"}, "traptask.yaml:1:16: dirs.inputs is a path inside the task"),
        ({"traptask_dot_yaml": "dirs: [a]"}, "traptask.yaml:1:7: dirs is a mapping with inputs and expected"),
        ({"traptask_dot_yaml": "dirs: {inputs: none}"}, "none: there is no such folder"),
        ({"inputs__two__question_dot_txt": b"a\n\xff"}, "inputs/two/question.txt:2:1: not UTF-8 text"),
        ({"inputs__two__question_dot_txt": b"a" * (8 * 1024 * 1024 + 1)}, "question.txt: larger than 8 MiB"),
        ({"inputs__two__question_dot_txt": None, "inputs__two___dot_keep": ""}, "inputs/two: holds no file"),
        ({"expected__two__answer_dot_json": "[]"}, "answer.json: $: not an object"),
        ({"expected__two__answer_dot_json": answer("one")}, "$.id: the answer of 'one' stands in the folder of 'two'"),
        ({"expected__two__answer_dot_json": "\ufeff{}"}, "answer.json:1:1: begins with a byte-order mark"),
        ({"expected__two__answer_dot_json": "[" * 600}, "answer.json:1:501: nested more than 500 levels deep"),
        ({"inputs__two__question_dot_txt": "FUNCTION SPEC (JSON): none"}, "question.txt:1:23: no JSON object follows"),
        ({"inputs__two__question_dot_txt": "FUNCTION SPEC (JSON):\n{"}, "question.txt:2:1: no JSON object follows"),
        (
            {"inputs__two__question_dot_txt": "FUNCTION SPEC (JSON):\n{}"},
            "question.txt:2:1: the function spec has no name",
        ),
        (
            {"inputs__two__question_dot_txt": 'FUNCTION SPEC (JSON): {"name": "f", "parameters": []}'},
            "question.txt:1:23: the function spec's parameters are not an object",
        ),
    ],
)
def test_a_malformed_file_is_a_plain_error(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    write(tmp_path, task_files(**files))
    error = refusal(tmp_path)
    assert error.code == "task-malformed"
    assert message in str(error)


def test_an_alias_bomb_in_traptask_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    write(tmp_path, task_files(traptask_dot_yaml="\n".join(lines)))
    assert refusal(tmp_path).code == "yaml-invalid"


def test_links_that_leave_the_task_are_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"secret.txt": "secret", "folder/q.txt": "secret", "answer.json": answer("two")})
    root = tmp_path / "task"
    write(root, task_files(inputs__one__question_dot_txt=None, inputs__two__question_dot_txt=None))
    (root / "inputs/one").mkdir(parents=True)
    (root / "inputs/one/question.txt").symlink_to(outside / "secret.txt")
    (root / "inputs/two").symlink_to(outside / "folder")
    (root / "expected/two/answer.json").unlink()
    (root / "expected/two/answer.json").symlink_to(outside / "answer.json")
    error = refusal(root)
    assert [problem.file for problem in error.problems] == [
        "./evals/t/expected/two/answer.json",
        "./evals/t/inputs/one/question.txt",
        "./evals/t/inputs/two",
    ]
    assert all(problem.message == "leads out of the task's directory" for problem in error.problems)
    assert "secret" not in str(error)


@pytest.mark.parametrize("name", ["traptask.yaml", "inputs", "expected/two/answer.json"])
def test_a_link_in_place_of_any_part_is_refused_when_it_leads_out(tmp_path: Path, name: str) -> None:
    root = tmp_path / "task"
    write(root, task_files())
    (root / name).rename(tmp_path / "moved")
    (root / name).symlink_to(tmp_path / "moved")
    assert "leads out of the task's directory" in str(refusal(root))


def test_a_link_inside_the_task_is_followed(tmp_path: Path) -> None:
    write(tmp_path, task_files(inputs__two__question_dot_txt=None, shared_dot_txt="Say 42."))
    (tmp_path / "inputs/two").mkdir()
    (tmp_path / "inputs/two/question.txt").symlink_to("../../shared.txt")
    assert load(tmp_path).cases[1].request.messages[0]["content"] == "Say 42."


def test_a_link_to_itself_and_a_pipe_are_problems_not_hangs(tmp_path: Path) -> None:
    write(tmp_path, task_files(inputs__one__question_dot_txt=None, inputs__two__question_dot_txt=None))
    (tmp_path / "inputs/one").mkdir(parents=True)
    (tmp_path / "inputs/two").mkdir()
    (tmp_path / "inputs/one/q.txt").symlink_to("q.txt")
    os.mkfifo(tmp_path / "inputs/two/q.txt")
    text = str(refusal(tmp_path))
    assert "inputs/one" in text
    assert "inputs/two/q.txt: not a regular file" in text


def test_a_case_knows_the_file_of_its_answer_else_the_line_that_declares_it(tmp_path: Path) -> None:
    write(tmp_path, task_files(expected__two__answer_dot_json=None))
    one, two = load(tmp_path).cases
    assert one.origin == Origin(file="./evals/t/expected/one/answer.json")
    assert two.origin == Origin(file="./evals/t/traptask.yaml", line=4)


def test_a_case_that_is_only_a_folder_has_no_line(tmp_path: Path) -> None:
    write(tmp_path, {"inputs/one/question.txt": "Say 42."})
    assert load(tmp_path).cases[0].origin is None
