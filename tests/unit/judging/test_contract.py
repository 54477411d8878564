from __future__ import annotations

import json

from evaluator.judging import contract
from evaluator.judging.contract import Places, for_grader, for_judge


def places(tmp_path, expected=True):
    for name in (
        "inputs/question.txt",
        "inputs/more/table.csv",
        "expected/answer.json",
        "outputs/sum.json",
        "run/stdout",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    run = tmp_path / "run"
    return Places(
        inputs=tmp_path / "inputs",
        expected=tmp_path / "expected" if expected else None,
        outputs=tmp_path / "outputs",
        stdout=run / "stdout",
        stderr=run / "stderr",
        meta=run / "meta.json",
    )


def test_the_manifest_holds_folders_and_what_the_solution_printed(tmp_path):
    manifest = json.loads(for_judge(places(tmp_path), "TRAPTASK_MANIFEST")["TRAPTASK_MANIFEST"])
    run = {name: f"{tmp_path}/run/{file}" for name, file in (("stdout",) * 2, ("stderr",) * 2, ("meta", "meta.json"))}
    assert manifest == {
        "inputs_dir": f"{tmp_path}/inputs",
        "expected_dir": f"{tmp_path}/expected",
        "outputs_dir": f"{tmp_path}/outputs",
        "run": run,
    }


def test_a_case_without_expected_files_has_null_there(tmp_path):
    variables = for_judge(places(tmp_path, expected=False), None)
    assert json.loads(variables["TRAPTASK_MANIFEST"])["expected_dir"] is None
    assert json.loads(variables["TRAPTASK_PAYLOAD"])["expected"] == {}


def test_the_payload_of_older_tasks_names_every_file(tmp_path):
    variables = for_judge(places(tmp_path), "TRAPTASK_PAYLOAD")
    assert list(variables) == ["TRAPTASK_PAYLOAD"]
    assert json.loads(variables["TRAPTASK_PAYLOAD"]) == {
        "inputs": {
            "question.txt": f"{tmp_path}/inputs/question.txt",
            "more/table.csv": f"{tmp_path}/inputs/more/table.csv",
        },
        "outputs": {
            "sum.json": f"{tmp_path}/outputs/sum.json",
            "case_stdout": f"{tmp_path}/run/stdout",
            "case_stderr": f"{tmp_path}/run/stderr",
            "case_meta.json": f"{tmp_path}/run/meta.json",
        },
        "expected": {"answer.json": f"{tmp_path}/expected/answer.json"},
    }


def test_a_task_that_names_no_variable_finds_either_form_under_its_own_name(tmp_path):
    variables = for_judge(places(tmp_path), None)
    assert set(variables) == {contract.MANIFEST, contract.PAYLOAD}
    assert "run" in json.loads(variables[contract.MANIFEST])
    assert "inputs" in json.loads(variables[contract.PAYLOAD])


def test_a_grader_gets_its_list_under_both_names_or_the_one_of_its_task():
    rows = [{"case_id": "a", "metrics": None}]
    assert for_grader(rows, None) == dict.fromkeys(("TRAPTASK_MANIFEST", "TRAPTASK_PAYLOAD"), json.dumps(rows))
    assert for_grader(rows, "GRADES") == {"GRADES": json.dumps(rows)}
