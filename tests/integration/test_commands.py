"""The commands that need no model: what they print, write and return, and that they never import litellm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.results import decode_run
from tests.integration.repository import ROOT, TRAP, call, trapgate, write_task


@pytest.fixture
def repository(tmp_path):
    write_task(tmp_path / "task")
    (tmp_path / "trap.yaml").write_text(TRAP)
    return tmp_path


def write_outputs(folder, amounts):
    """Outputs for cases r00, r01, …, refunding these amounts; None leaves a case out."""
    rows = [
        {"case_id": f"r{n:02}", "attempt": 1, "text": call(n, amount), "stop_reason": "stop", "something": "else"}
        for n, amount in enumerate(amounts)
        if amount is not None
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def score(folder, amounts, *arguments):
    write_outputs(folder, amounts)
    done = trapgate(folder, "score", "./task", "--outputs", "outputs.jsonl", *arguments)
    results = folder / "trapgate-results" / "results.json"
    return done, decode_run(results.read_bytes(), "r") if results.exists() else None


def accept(folder, amounts):
    """Makes such outputs the baseline of trap.yaml; scoring them ends with 3, since there was none before."""
    done, _ = score(folder, amounts, "--config", "trap.yaml")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    done = trapgate(folder, "baseline", "accept", "--why", "first")
    assert done.returncode == 0, done.stderr


# score


def test_score_judges_coverage_and_canaries_only(repository):
    done, run = score(repository, [24.5] * 6 + [49.0] * 4)
    assert (done.returncode, run.verdict, run.rules) == (0, "pass", [])
    assert run.tasks[0].metrics["pass_rate"].value == 0.6
    assert run.tasks[0].deterministic
    assert {path.name for path in (repository / "trapgate-results").iterdir()} == {
        "results.json",
        "comment.md",
        "report.html",
        "junit.xml",
    }


def test_a_case_without_a_row_is_missing_and_counts_against_coverage(repository):
    done, run = score(repository, [24.5] * 9 + [None])
    assert (done.returncode, run.verdict) == (3, "inconclusive")
    assert (run.tasks[0].planned, run.tasks[0].scored) == (10, 9)
    assert run.totals.infrastructure == {"no_output": 1}


def test_a_case_may_have_any_number_of_attempts(repository):
    rows = [{"case_id": "r00", "text": call(0)}, {"case_id": "r00", "text": call(0, 49)}]
    rows += [{"case_id": f"r{n:02}", "text": call(n)} for n in range(1, 10)]
    (repository / "o.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = trapgate(repository, "score", "./task", "--outputs", "o.jsonl", "--json")
    task = json.loads(done.stdout)["tasks"][0]
    assert done.returncode == 0
    assert (task["planned"], task["scored"]) == (11, 11)
    assert task["metrics"]["pass_rate"]["value"] == pytest.approx(0.95)


def test_outputs_of_no_known_case_are_said(repository):
    write_outputs(repository, [24.5] * 10)
    with (repository / "outputs.jsonl").open("a") as file:
        file.write(json.dumps({"case_id": "stranger", "text": "x"}) + "\n")
    done = trapgate(repository, "score", "./task", "--outputs", "outputs.jsonl")
    assert done.returncode == 0
    assert "1 output belongs to no case: stranger" in done.stdout


def test_with_a_configuration_its_gate_and_baseline_judge(repository):
    accept(repository, [24.5] * 10)
    done, run = score(repository, [24.5] * 9 + [49.0], "--config", "trap.yaml")
    assert (done.returncode, run.verdict) == (1, "regression")
    assert run.comparison.tasks[0].regressed[0].findings[0].path == "$.amount"


def test_score_without_anything_to_score_says_what_to_give(repository):
    done = trapgate(repository, "score", "./task")
    assert done.returncode == 2
    assert "there is nothing to score" in done.stderr
    assert "--outputs" in done.stderr


def test_every_bad_row_is_named_at_once(repository):
    (repository / "o.jsonl").write_text('{"case_id": 1}\n{"text": "x"}\nnot json\n')
    done = trapgate(repository, "score", "./task", "--outputs", "o.jsonl")
    assert done.returncode == 2
    for line in (1, 2, 3):
        assert f"o.jsonl:{line}:" in done.stderr


# compare


def test_compare_tells_better_from_worse(repository):
    accept(repository, [24.5] * 8 + [49.0] * 2)
    score(repository, [24.5] * 10, "--config", "trap.yaml")
    better = trapgate(repository, "compare", ".trap/baseline.json", "trapgate-results/results.json")
    score(repository, [24.5] * 7 + [49.0] * 3, "--config", "trap.yaml")
    worse = trapgate(repository, "compare", ".trap/baseline.json", "trapgate-results/results.json", "--json")
    assert better.returncode == 0, better.stdout
    assert worse.returncode == 1
    assert json.loads(worse.stdout)["verdict"] == "regression"


def test_compare_takes_two_result_files(repository):
    score(repository, [24.5] * 10, "--output", "one")
    write_outputs(repository, [49.0] * 10)
    trapgate(repository, "score", "./task", "--outputs", "outputs.jsonl", "--output", "two")
    done = trapgate(repository, "compare", "one/results.json", "two/results.json")
    assert done.returncode == 1


def test_compare_scores_both_sides_again_and_calls_a_doctored_result_drift(repository):
    accept(repository, [24.5] * 10)
    score(repository, [24.5] * 9 + [49.0], "--config", "trap.yaml")
    path = repository / "trapgate-results" / "results.json"
    document = json.loads(path.read_text())
    attempt = document["tasks"][0]["cases"][9]["attempts"][0]
    attempt |= {"passed": True, "failure_mode": None}
    path.write_text(json.dumps(document))
    done = trapgate(repository, "compare", ".trap/baseline.json", "trapgate-results/results.json")
    assert done.returncode == 4
    assert "refunds/r09 attempt 1: passed → failed (wrong_value)" in done.stdout


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 9}', '{"a":' * 100_000])
def test_compare_of_something_else_is_an_error_and_no_verdict(repository, text):
    score(repository, [24.5] * 10)
    (repository / "odd.json").write_text(text)
    for arguments in (["odd.json", "trapgate-results/results.json"], ["trapgate-results/results.json", "odd.json"]):
        done = trapgate(repository, "compare", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("odd.json: ")
        assert "Traceback" not in done.stderr


def test_compare_of_a_file_that_is_not_there_is_an_error(repository):
    done = trapgate(repository, "compare", "a.json", "b.json")
    assert done.returncode == 2
    assert done.stderr.startswith("a.json: there is no such file")


# baseline


def test_accept_writes_who_when_and_why_and_show_says_it(repository):
    accept(repository, [24.5] * 10)
    done = trapgate(repository, "baseline", "show")
    assert done.returncode == 0
    assert ": first" in done.stdout
    assert "10 cases × 1, 10 attempts scored, pass_rate 1.00" in done.stdout


def test_accept_ends_allow_missing_and_keeps_the_rest_of_the_file(repository):
    text = TRAP.replace("baseline: {", "baseline: {allow_missing: true, ") + "# the end\n"
    (repository / "trap.yaml").write_text(text)
    score(repository, [24.5] * 10, "--config", "trap.yaml")
    done = trapgate(repository, "baseline", "accept")
    assert done.returncode == 0, done.stderr
    assert (repository / "trap.yaml").read_text() == text.replace("allow_missing: true", "allow_missing: false")


def test_an_incomplete_run_is_no_baseline(repository):
    score(repository, [24.5] * 9 + [None], "--config", "trap.yaml")
    done = trapgate(repository, "baseline", "accept")
    assert done.returncode == 2
    assert "not every planned attempt was scored (refunds 9 of 10)" in done.stderr
    assert not (repository / ".trap").exists()


def test_a_run_with_broken_canaries_is_no_baseline(repository):
    score(repository, [24.5] * 10)
    path = repository / "trapgate-results" / "results.json"
    document = json.loads(path.read_text())
    document["canaries"]["cases"][0]["ok"] = False
    path.write_text(json.dumps(document))
    done = trapgate(repository, "baseline", "accept")
    assert done.returncode == 2
    assert "the validators cannot be trusted" in done.stderr


def test_show_without_a_baseline_is_an_error(repository):
    done = trapgate(repository, "baseline", "show")
    assert done.returncode == 2
    assert ".trap/baseline.json: there is no baseline yet" in done.stderr


# canaries, validate, init, pin


def test_canaries_are_all_as_expected(repository):
    done = trapgate(repository, "canaries")
    assert done.returncode == 0
    assert " canaries ok (set 2)" in done.stdout
    document = json.loads(trapgate(repository, "canaries", "--json").stdout)
    assert all(canary["ok"] for canary in document["cases"])


def test_a_missing_canary_set_is_an_error_not_a_pass(repository):
    text = "canaries: ./none\n" + TRAP
    (repository / "trap.yaml").write_text(text)
    assert trapgate(repository, "canaries", "--config", "trap.yaml").returncode == 2
    (repository / "none").mkdir()
    done = trapgate(repository, "canaries", "--config", "trap.yaml")
    assert done.returncode == 2
    assert "canaries-broken" in done.stderr


def test_validate_names_a_gold_that_cannot_pass(repository):
    assert trapgate(repository, "validate").returncode == 0
    answer = repository / "task" / "expected" / "r03" / "answer.json"
    answer.write_text(answer.read_text().replace(": 24.5}", ": 42.5}"))
    done = trapgate(repository, "validate")
    assert done.returncode == 2
    place = "./task/expected/r03/answer.json"
    assert f"fault: refunds/r03: {place}: the expected answer fails its own scorer as wrong_value" in done.stdout


def test_init_writes_files_that_are_valid_as_they_are(tmp_path):
    assert trapgate(tmp_path, "init").returncode == 0
    done = trapgate(tmp_path, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    again = trapgate(tmp_path, "init")
    assert again.returncode == 2
    assert "trap.yaml exists already" in again.stderr


def test_init_leaves_alone_what_exists_and_says_so(tmp_path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.md").write_text("mine")
    done = trapgate(tmp_path, "init")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "prompts" / "system.md").read_text() == "mine"
    assert "left out prompts/system.md: it exists already" in done.stdout


def test_pin_turns_a_branch_into_its_commit_and_the_file_then_validates(repository):
    origin = repository / "origin"
    write_task(origin / "tasks" / "t")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    git = ["git", "-C", str(origin), "-c", "user.name=t", "-c", "user.email=t@t"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True, env=environ)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    source = f"git+file://{origin}@main#subdirectory=tasks/t"
    (repository / "trap.yaml").write_text(TRAP.replace("./task", source + "  # the tasks"))
    unpinned = trapgate(repository, "validate")
    assert unpinned.returncode == 2
    assert unpinned.stderr.startswith("trap.yaml:9:13: ")
    assert "trapgate pin" in unpinned.stderr
    assert trapgate(repository, "pin").returncode == 0
    assert f"@{commit}#subdirectory=tasks/t  # the tasks" in (repository / "trap.yaml").read_text()
    done = trapgate(repository, "validate")
    assert done.returncode == 0, done.stdout + done.stderr


# the process


@pytest.mark.parametrize(
    "arguments",
    [
        ["canaries"],
        ["validate"],
        ["score", "./task", "--outputs", "outputs.jsonl"],
        ["compare", "trapgate-results/results.json", "trapgate-results/results.json"],
        ["baseline", "accept"],
    ],
)
def test_what_calls_no_model_imports_no_litellm(repository, arguments):
    score(repository, [24.5] * 10, "--config", "trap.yaml")
    program = (
        "import sys; from evaluator.cli import main; code = main(sys.argv[1:]);"
        "sys.exit('litellm was imported' if 'litellm' in sys.modules else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=repository,
        env={"PATH": os.environ["PATH"], "HOME": str(repository), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [[], ["run"], ["score"], ["compare"], ["baseline", "accept"], ["pin"]])
def test_help_is_there_with_examples(tmp_path, command):
    done = trapgate(tmp_path, *command, "--help")
    assert done.returncode == 0
    assert "example" in done.stdout


def test_bad_arguments_end_with_two(tmp_path):
    assert trapgate(tmp_path, "runn").returncode == 2
    assert trapgate(tmp_path).returncode == 2


# what an attacker or an unlucky machine does


def test_cases_without_a_row_weigh_as_much_as_those_with_five(repository):
    rows = [{"case_id": f"r{n:02}", "attempt": a, "text": call(n)} for n in range(8) for a in range(1, 6)]
    (repository / "o.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = trapgate(repository, "score", "./task", "--outputs", "o.jsonl", "--json")
    task = json.loads(done.stdout)["tasks"][0]
    assert (task["planned"], task["scored"]) == (50, 40)
    assert done.returncode == 3


def test_fewer_attempts_than_the_configuration_asks_for_count_against_coverage(repository):
    (repository / "trap.yaml").write_text(
        "repeats: 5\n" + TRAP.replace("baseline: {", "baseline: {allow_missing: true, ")
    )
    done, run = score(repository, [24.5] * 10, "--config", "trap.yaml")
    assert (done.returncode, run.tasks[0].planned) == (3, 50)


def two_tasks(repository):
    write_task(repository / "other", cases=3)
    text = TRAP.replace("baseline: {", "  other:\n    source: ./other\nbaseline: {", 1)
    (repository / "trap.yaml").write_text(text)


def test_a_score_of_one_task_of_several_is_no_baseline(repository):
    two_tasks(repository)
    done, run = score(repository, [24.5] * 10, "--config", "trap.yaml")
    assert run.selection == ["refunds"]
    done = trapgate(repository, "baseline", "accept")
    assert done.returncode == 2
    assert "it holds the tasks refunds; trap.yaml has other, refunds" in done.stderr


def test_two_tasks_with_one_source_need_a_word_on_which_is_meant(repository):
    text = TRAP.replace(
        "baseline: {", "  lenient:\n    source: ./task\n    options: {json_call: upstream}\nbaseline: {", 1
    )
    (repository / "trap.yaml").write_text(text)
    done, _ = score(repository, [24.5] * 10, "--config", "trap.yaml")
    assert done.returncode == 2
    assert "Say which with --task: refunds, lenient." in done.stderr
    _, run = score(repository, [24.5] * 10, "--config", "trap.yaml", "--task", "lenient")
    assert run.tasks[0].name == "lenient"


def test_a_run_that_ends_with_an_error_leaves_no_older_result_behind(repository):
    score(repository, [24.5] * 10)
    (repository / "task").rename(repository / "moved")
    done = trapgate(repository, "run")
    assert done.returncode == 2
    assert list((repository / "trapgate-results").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
        (["--task", "typo"], "there is no task 'typo'"),
        (["--config", "broken.yaml"], "broken.yaml:"),
    ],
)
def test_a_mistyped_name_or_a_broken_configuration_costs_no_older_result(repository, arguments, said):
    (repository / "broken.yaml").write_text("tasks: [\n")
    score(repository, [24.5] * 10)
    before = {path.name: path.read_bytes() for path in (repository / "trapgate-results").iterdir()}
    done = trapgate(repository, "run", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert {path.name: path.read_bytes() for path in (repository / "trapgate-results").iterdir()} == before
    assert "results.json" in before


def test_publishing_outside_of_a_workflow_says_in_one_line_where_it_belongs(repository):
    done = trapgate(repository, "publish")
    said = "`trapgate publish` runs in a `workflow_run` workflow: see docs/forks.md\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_an_output_folder_that_is_a_file_is_an_error_before_anything_is_done(repository):
    (repository / "taken").write_text("")
    done, _ = score(repository, [24.5] * 10, "--output", "taken")
    assert done.returncode == 2
    assert done.stderr.startswith("taken: cannot write: ")


def test_a_terminal_that_knows_no_unicode_still_gets_the_verdict(repository):
    write_outputs(repository, [24.5] * 10)
    done = trapgate(
        repository,
        "score",
        "./task",
        "--outputs",
        "outputs.jsonl",
        PYTHONIOENCODING="ascii",
        LC_ALL="C",
        PYTHONUTF8="0",
    )
    assert done.returncode == 0, done.stderr
    assert "pass" in done.stdout


def test_a_result_that_could_not_be_delivered_is_no_pass(repository):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "evaluator", "canaries"],
            cwd=repository,
            env={"PATH": os.environ["PATH"], "HOME": str(repository), "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 70
    assert "there is no verdict" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bug_of_ours_is_never_a_verdict(repository):
    program = (
        "import sys; from evaluator import loading\n"
        "def broken(*_, **__): raise KeyError('sk-secret')\n"
        "loading.run_canaries = broken\n"
        "from evaluator.cli import main; sys.exit(main(['canaries']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70
    assert done.stderr == "internal error: KeyError at <string>:2; there is no verdict\n"


@pytest.mark.parametrize("source", ["x" * 5_000, "a\nb", "", "./nowhere", "task/traptask.yaml"])
def test_an_odd_source_is_an_error(repository, source):
    done = trapgate(repository, "score", source, "--outputs", "outputs.jsonl")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
