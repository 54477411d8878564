"""A command as the solution: real programs, run by the whole line and judged like any answer."""

from __future__ import annotations

import json
import shutil

import pytest

from evaluator import config as configuration
from evaluator import foreign, pipeline
from evaluator.errors import UserError
from evaluator.isolation.command import Refusal
from evaluator.progress import NoProgress
from evaluator.runners.stopping import StopSignal
from tests.integration.judging.tasks import CAPITALS, MANIFEST_JUDGE, found, texts, verdicts, write_task
from tests.integration.repository import ROOT, trapgate
from tests.servers.model_server import ModelServer, Reply

SOLUTION = f"""\
import json, os, pathlib, sys
manifest = json.loads(os.environ["TRAP_MANIFEST"])
asked = pathlib.Path(manifest["inputs_dir"], "question.txt").read_text()
case = asked.split(".")[1][:2]
capital = {CAPITALS!r}[case]
"""


def write(folder, solution, judge="task", judge_text=MANIFEST_JUDGE, **keys):
    """A repository whose solution is SOLUTION and then `solution`."""
    write_task(folder / "task", judge_text, matchers=True)
    (folder / "solution.py").write_text(SOLUTION + solution)
    trap = {
        "cmd": "python3 solution.py",
        "tasks": {"capitals": {"source": "./task", "judge": judge}},
        "gate": {"rules": [{"task": "capitals", "metric": "pass_rate", "max_drop": 0.0}]},
        **keys,
    }
    (folder / "trap.yaml").write_text(json.dumps(trap))


def run(folder, baseline=None, environ=None, **more):
    return pipeline.evaluate(
        configuration.load(folder / "trap.yaml"),
        folder=folder,
        output=folder / "results",
        cache=folder / ".cache",
        baseline=baseline,
        progress=NoProgress(),
        environ=environ or {},
        **more,
    )


def attempts(result):
    return {case.id: case.attempts[0] for case in result.tasks[0].cases}


def test_the_example_of_a_trapstreet_solution_and_task_runs_as_it_is(tmp_path):
    folder = shutil.copytree(ROOT / "examples" / "own-judge", tmp_path / "own-judge")
    done = trapgate(folder, "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 planned attempts scored" in done.stdout
    assert "its grader says passed true, score 1.0, n_passed 3, n_total 3, n_scored 3" in done.stdout


@pytest.mark.parametrize("judge", ["task", "both", "builtin"])
def test_what_a_command_prints_is_judged_like_any_answer(tmp_path, judge):
    write(tmp_path, "print(capital if case != 'it' else 'Milan')", judge)
    assert verdicts(run(tmp_path)) == dict.fromkeys(CAPITALS, "passed") | {"it": "wrong_value"}


def test_output_errors_files_exit_code_and_time_are_kept_and_the_judge_finds_them(tmp_path):
    solution = """
print(capital)
print("working", file=sys.stderr)
outputs = pathlib.Path(manifest["outputs_dir"])
(outputs / "deep").mkdir()
(outputs / "deep" / "notes.bin").write_bytes(b"\\x00\\xff")
"""
    judge = MANIFEST_JUDGE + (
        "outputs = pathlib.Path(manifest['outputs_dir'])\n"
        "if (outputs / 'deep').exists():\n"
        "    assert (outputs / 'deep' / 'notes.bin').read_bytes() == b'\\x00\\xff'\n"
        "    assert pathlib.Path(manifest['run']['stderr']).read_text() == 'working\\n'\n"
        "    (outputs / 'seen').touch()\n"
    )
    write(tmp_path, solution, judge_text=judge)
    result = run(tmp_path)
    assert set(verdicts(result).values()) == {"passed"}
    transcript = attempts(result)["fr"].transcript
    assert (transcript.text, transcript.process.exit_code, transcript.process.stderr) == ("Paris\n", 0, "working\n")
    assert transcript.process.files == {"deep/notes.bin": b"\x00\xff"}
    assert transcript.seconds > 0


def test_a_crash_is_the_solution_s_own_failure_and_a_regression(tmp_path):
    write(tmp_path, "print(capital)", "builtin")
    baseline = found(run(tmp_path))
    (tmp_path / "solution.py").write_text(SOLUTION + "print(capital)\nraise SystemExit(3)\n")
    result = run(tmp_path, baseline)
    assert set(verdicts(result).values()) == {"unparseable"}
    assert attempts(result)["fr"].findings[0].message == "the solution ended with exit code 3"
    assert result.verdict == "regression"
    assert "files of the solution changed" in result.comparison.fingerprint


def test_a_solution_that_sleeps_for_ever_fails_with_124(tmp_path):
    write(tmp_path, "import time\nif case == 'fr': time.sleep(600)\nprint(capital)", "builtin", timeout=3)
    result = run(tmp_path)
    assert verdicts(result) == dict.fromkeys(CAPITALS, "passed") | {"fr": "unparseable"}
    process = attempts(result)["fr"].transcript.process
    assert (process.exit_code, process.limit) == (124, "time")


def test_a_solution_that_cannot_be_started_is_infrastructure(tmp_path):
    write(tmp_path, "", cmd="./nowhere")
    result = run(tmp_path)
    assert set(verdicts(result).values()) == {"command_failed"}
    assert result.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        ("(outputs / 'link').symlink_to('/etc/passwd')", "link is a symbolic link"),
        ("(outputs / 'big').write_bytes(bytes(300_000))", "more than 262144 bytes"),
    ],
)
def test_outputs_that_cannot_be_taken_are_infrastructure(tmp_path, deed, message):
    write(tmp_path, f"outputs = pathlib.Path(manifest['outputs_dir'])\n{deed}\nprint(capital)")
    infrastructure = attempts(run(tmp_path))["fr"].infrastructure
    assert infrastructure.kind == "outputs_refused"
    assert message in infrastructure.message


def test_it_sees_the_listed_variables_and_no_others_and_their_values_are_not_kept(tmp_path):
    write(
        tmp_path,
        "print(capital, len(os.environ['MY_KEY']), 'OTHER' in os.environ)\n"
        "if capital == 'Rome':\n    print(os.environ['MY_KEY'], file=sys.stderr)",
        env=["MY_KEY", "GONE"],
    )
    result = run(tmp_path, environ={"MY_KEY": "sk-0123456789", "OTHER": "x"})
    made = attempts(result)
    assert made["fr"].transcript.text == "Paris 13 False\n"
    assert made["it"].infrastructure.message == "the answer held the value of MY_KEY, so it was thrown away"
    assert b"sk-0123456789" not in (tmp_path / "results" / "results.json").read_bytes()
    assert "the variable GONE, which `env` lists, is not set" in texts(result.warnings)


def test_it_finds_neither_expected_answers_nor_rules_nor_results_nor_git_in_its_folder(tmp_path):
    write(tmp_path, "print(capital, sorted(path.name for path in pathlib.Path().iterdir()))")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("token")
    text = attempts(run(tmp_path))["fr"].transcript.text
    assert text == "Paris ['solution.py']\n"


@pytest.mark.parametrize(("stdin", "read"), [("question.txt", True), (True, True), (False, False)])
def test_standard_input_is_the_file_that_is_named_or_the_prompt_or_nothing(tmp_path, stdin, read):
    write(tmp_path, "print(capital, sys.stdin.read() == asked)", stdin=stdin)
    assert attempts(run(tmp_path))["fr"].transcript.text == f"Paris {read}\n"


def test_its_own_set_up_command_runs_once_in_the_copy(tmp_path):
    setup = ["python3", "-c", "open('data.txt', 'w').write('set up')"]
    write(tmp_path, "print(capital, open('data.txt').read())", setup_cmd=setup)
    assert attempts(run(tmp_path))["fr"].transcript.text == "Paris set up\n"
    assert not (tmp_path / "data.txt").exists()


def test_an_interrupted_run_is_resumed_without_running_what_was_done(tmp_path):
    write(tmp_path, "print(capital)", limits={"concurrency": 1})

    class Interrupting(NoProgress):
        done = 0

        def attempt(self, *, failed, cost_usd, resumed=False):
            self.done += 1
            if self.done == 2:
                stop.request("SIGTERM")

    class Counting(NoProgress):
        resumed = 0

        def attempt(self, *, failed, cost_usd, resumed=False):
            self.resumed += resumed

    stop = StopSignal()
    arguments = {
        "folder": tmp_path,
        "output": tmp_path / "results",
        "cache": tmp_path.parent / f"{tmp_path.name}-cache",
    }
    config = configuration.load(tmp_path / "trap.yaml")
    first = pipeline.evaluate(config, baseline=None, progress=Interrupting(), environ={}, stop=stop, **arguments)
    # Judges stop as well; what was paid for is in the journal, and judged by the run that takes it up.
    assert (first.verdict, set(verdicts(first).values())) == ("inconclusive", {"cancelled"})
    counting = Counting()
    second = pipeline.evaluate(config, baseline=None, progress=counting, environ={}, **arguments)
    assert set(verdicts(second).values()) == {"passed"}
    assert counting.resumed >= 2


def test_a_limit_on_cost_cannot_be_kept_and_is_an_error(tmp_path):
    write(tmp_path, "print(capital)", limits={"max_cost_usd": 1})
    with pytest.raises(UserError, match=r"limits\.max_cost_usd cannot be kept") as refused:
        run(tmp_path)
    assert refused.value.code == "price-unknown"


def test_where_nothing_isolates_it_it_is_refused_unless_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "available", lambda *_: Refusal(("no landlock",)))
    write(tmp_path, "print(capital)", "builtin")
    with pytest.raises(UserError, match=r"the solution `python3 solution\.py` cannot run, because nothing here keeps"):
        run(tmp_path)
    result = run(tmp_path, unsafe_judges=True)
    assert set(verdicts(result).values()) == {"passed"}
    assert result.fingerprint.packages["isolation of cmd"] == "resource limits"
    assert "--unsafe-judges: the solution `python3 solution.py` ran without isolation (no landlock)" in texts(
        result.warnings
    )


def test_a_model_on_the_command_line_is_called_in_its_place(tmp_path):
    write(tmp_path, "print(capital)", "builtin")
    with ModelServer(lambda _: Reply(text="Paris")) as server:
        done = trapgate(tmp_path, "run", "--model", "openai/scripted", base_url=server.base_url)
        assert len(server.requests) == len(CAPITALS), done.stdout + done.stderr
