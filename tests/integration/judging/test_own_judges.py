"""Tasks judged by the judge that they bring: real judges, in Python, as processes in the isolation of this machine."""

from __future__ import annotations

import pytest

from evaluator import config as configuration
from evaluator import foreign, stored
from evaluator.errors import UserError
from evaluator.gate import exit_code
from evaluator.isolation.command import Refusal
from evaluator.reports import comment
from evaluator.results import decode_run, encode
from tests.integration.judging.tasks import (
    CAPITALS,
    GRADER,
    LATE_MATCHER_JUDGE,
    MANIFEST_JUDGE,
    PAYLOAD_JUDGE,
    found,
    score,
    texts,
    verdicts,
    write_task,
    write_trap,
)
from tests.integration.repository import trapgate
from tests.integration.sources.repositories import Repository
from tests.servers.model_server import ModelServer, Reply

WRONG = CAPITALS | {"it": "Milan", "gr": ""}


@pytest.mark.parametrize("judge", [MANIFEST_JUDGE, PAYLOAD_JUDGE], ids=["manifest", "payload"])
def test_each_contract_is_found_by_the_judge_that_knows_it(tmp_path, judge):
    write_task(tmp_path / "task", judge)
    write_trap(tmp_path)
    run = score(tmp_path, WRONG)
    assert verdicts(run) == dict.fromkeys(CAPITALS, "passed") | {"it": "wrong_value", "gr": "unparseable"}
    task = run.tasks[0]
    assert (task.scorer, task.planned, task.scored) == ("judge:task", 6, 6)
    assert all(canary.ok for canary in run.canaries.cases), [c for c in run.canaries.cases if not c.ok]
    assert run.fingerprint.scorers["judge of capitals"] in task.cases[0].attempts[0].scorer
    assert run.fingerprint.scorers["isolation"]


def test_the_reason_that_a_judge_gives_is_the_finding(tmp_path):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    case = next(case for case in score(tmp_path, WRONG).tasks[0].cases if case.id == "it")
    assert [(f.keyword, f.message) for f in case.attempts[0].findings] == [("judge", "wanted Rome")]


def test_a_judge_that_registers_its_matcher_too_late_is_drift_that_names_it_and_every_case(tmp_path):
    write_task(tmp_path / "task", LATE_MATCHER_JUDGE)
    write_trap(tmp_path)
    run = score(tmp_path, CAPITALS)
    assert (run.verdict, exit_code(run)) == ("drift", 4)
    assert "capitals: expected answers before `python3 judge.py`" in texts(run.reasons)
    assert "6 of 6 otherwise: fr (score 0), it (score 0), es (score 0)" in texts(run.reasons)


def test_the_same_judge_under_the_other_contract_is_drift_that_says_key_error(tmp_path):
    payload_only = MANIFEST_JUDGE.replace("TRAPTASK_MANIFEST", "TRAPTASK_PAYLOAD")
    write_task(tmp_path / "task", payload_only)
    write_trap(tmp_path)
    run = score(tmp_path, CAPITALS)
    assert run.verdict == "drift"
    assert "fr (judge_crashed: exit code 1: KeyError: 'run')" in texts(run.reasons)


def test_a_broken_judge_stops_a_run_before_the_first_call_to_a_model(tmp_path):
    write_task(tmp_path / "task", LATE_MATCHER_JUDGE)
    write_trap(tmp_path)
    with ModelServer(lambda _: Reply(text="Paris")) as server:
        done = trapgate(tmp_path, "run", base_url=server.base_url)
        assert server.requests == []
    assert done.returncode == 4, done.stdout + done.stderr
    assert "python3 judge.py" in done.stdout


def test_a_model_is_judged_by_the_task_and_the_grader_is_reported_beside_it(tmp_path):
    write_task(tmp_path / "task", grader=GRADER)
    write_trap(tmp_path)
    with ModelServer(
        lambda request: Reply(text=CAPITALS[asked(request)] if asked(request) != "it" else "Milan")
    ) as server:
        done = trapgate(tmp_path, "run", base_url=server.base_url)
    run = decode_run((tmp_path / "trapgate-results" / "results.json").read_bytes(), "r")
    assert verdicts(run) == dict.fromkeys(CAPITALS, "passed") | {"it": "wrong_value"}, done.stdout
    said = "passed true, score 0.8333333333333334, n_passed 5, n_total 6, n_scored 6"
    assert run.tasks[0].notes == [f"its grader says {said}; this is reported and decides nothing"]


def asked(request):
    return request.body["messages"][-1]["content"].split(".")[1][:2]


def test_a_grader_that_divides_by_what_was_scored_does_not_hide_what_was_not(tmp_path):
    crashes = MANIFEST_JUDGE.replace("right =", "assert said != 'crash', 'cannot read this'\nright =")
    write_task(tmp_path / "task", crashes, grader=GRADER)
    write_trap(tmp_path)
    run = score(tmp_path, dict.fromkeys(CAPITALS, "crash") | {"fr": "Paris"})
    assert "score 1.0, n_passed 1, n_total 6, n_scored 1" in run.tasks[0].notes[0]
    assert (run.verdict, run.tasks[0].scored, run.tasks[0].planned) == ("inconclusive", 1, 6)
    assert "1 of 6 planned attempts were scored" in texts(run.reasons)


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("print('fine')", "judge_no_json", "it printed no JSON: not JSON: Expecting value (line 1, column 1)"),
        ("print('{\"score\": NaN}')", "judge_no_json", "it printed no JSON: not a JSON number: NaN"),
        ('print(\'{"score": 1, "score": 0}\')', "judge_no_json", "a key stands twice in one object"),
        ("raise SystemExit(125)", "judge_no_json", "it wrote nothing to standard error"),
        ("raise SystemExit(124)", "judge_timeout", "it ran out of time"),
        ("while True: pass", "judge_timeout", "it ran out of time, after 3 s"),
        ("raise KeyError('outputs')", "judge_crashed", "exit code 1: KeyError: 'outputs'"),
        ("os.kill(os.getpid(), 9)", "judge_crashed", "exit code 137"),
        ("print('x' * 10**8)", "judge_crashed", "it exceeded its bound of output"),
        ("print('{\"score\": null}')", "judge_no_score", "it gave no score"),
        ("print('[1]')", "judge_no_score", "it gave no score"),
        ("print('{\"score\": true}')", "judge_no_score", "its score is no number from 0 to 1: True"),
        ("print('{\"score\": 1.5}')", "judge_no_score", "its score is no number from 0 to 1: 1.5"),
    ],
)
def test_a_judge_without_a_verdict_is_infrastructure_and_never_a_failed_answer(tmp_path, statement, kind, message):
    judge = MANIFEST_JUDGE.replace("right =", f"if said == 'trap':\n    {statement}\n    raise SystemExit(0)\nright =")
    write_task(
        tmp_path / "task", judge, answers={"fr": "Paris"}, judge_keys={"timeout": 3 if "while" in statement else 60}
    )
    write_trap(tmp_path)
    run = score(tmp_path, {"fr": "trap"})
    infrastructure = run.tasks[0].cases[0].attempts[0].infrastructure
    assert infrastructure.kind == kind
    assert message in infrastructure.message
    assert run.verdict == "inconclusive"


def test_a_score_between_none_and_full_is_kept_and_does_not_pass(tmp_path):
    judge = MANIFEST_JUDGE.replace("1.0 if right else 0.0", "1.0 if right else 0.75 if said == 'Par' else 0.0")
    write_task(tmp_path / "task", judge, answers={"fr": "Paris"})
    write_trap(tmp_path)
    attempt = score(tmp_path, {"fr": "Par"}).tasks[0].cases[0].attempts[0]
    assert (attempt.passed, attempt.failure_mode, attempt.values) == (False, "wrong_value", {"score": 0.75})


@pytest.mark.parametrize(
    ("judge", "what"),
    [
        ("print('{\"score\": 1.0}')", "capitals: mutant answers before `python3 judge.py`"),
        ("print('{\"score\": 0.0}')", "capitals: expected answers before `python3 judge.py`"),
        (
            MANIFEST_JUDGE.replace("right = exit_code == 0 and", "right = not said or"),
            "capitals: empty answers before `python3 judge.py`",
        ),
    ],
    ids=["takes everything", "takes nothing", "takes the empty answer"],
)
def test_a_judge_that_cannot_tell_right_from_wrong_is_drift(tmp_path, judge, what):
    write_task(tmp_path / "task", judge)
    write_trap(tmp_path)
    run = score(tmp_path, CAPITALS)
    assert run.verdict == "drift"
    assert what in texts(run.reasons)
    assert "6 of 6 otherwise: fr (score" in texts(run.reasons)


def test_a_task_without_any_expected_answer_is_refused_since_nothing_shows_that_its_judge_works(tmp_path):
    write_task(tmp_path / "task", answers={"fr": None})
    write_trap(tmp_path)
    with pytest.raises(UserError, match="no case has an expected answer") as refused:
        score(tmp_path, {"fr": "Paris"})
    assert refused.value.code == "judge-unwitnessed"


def test_the_variable_that_a_task_names_is_the_only_one_that_its_judge_gets(tmp_path):
    judge = MANIFEST_JUDGE.replace("TRAPTASK_MANIFEST", "MY_MANIFEST") + 'assert "TRAPTASK_PAYLOAD" not in os.environ\n'
    write_task(tmp_path / "task", judge, judge_keys={"manifest_envvar": "MY_MANIFEST"})
    write_trap(tmp_path)
    assert set(verdicts(score(tmp_path, CAPITALS)).values()) == {"passed"}


def test_a_judge_sees_nothing_of_our_environment_and_nothing_of_another_case(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    looks = MANIFEST_JUDGE + (
        'own = {"HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "TRAPTASK_MANIFEST", "TRAPTASK_PAYLOAD"}\n'
        "assert set(os.environ) <= own | {'LC_CTYPE'}, sorted(os.environ)\n"
        'mark = pathlib.Path(os.environ["TMPDIR"], "mark")\nassert not mark.exists()\nmark.touch()\n'
        "try:\n    pathlib.Path('judge.py').write_text('')\nexcept OSError:\n    pass\n"
        "else:\n    raise SystemExit('wrote to the task')\n"
    )
    write_task(tmp_path / "task", looks)
    write_trap(tmp_path)
    run = score(tmp_path, CAPITALS)
    assert set(verdicts(run).values()) == {"passed"}, texts(run.reasons)


def test_a_set_up_command_prepares_the_copy_that_the_judge_reads_and_not_the_source(tmp_path):
    task = write_task(
        tmp_path / "task", MANIFEST_JUDGE + "import prepared\n", setup_cmd='python3 -c \'open("prepared.py", "w")\''
    )
    write_trap(tmp_path)
    assert set(verdicts(score(tmp_path, CAPITALS)).values()) == {"passed"}
    assert not (task / "prepared.py").exists()


def test_a_set_up_command_that_fails_is_an_error_with_what_it_said(tmp_path):
    write_task(tmp_path / "task", setup_cmd=["python3", "-c", "raise SystemExit('no compiler')"])
    write_trap(tmp_path)
    with pytest.raises(UserError, match="failed with exit code 1: no compiler") as failed:
        score(tmp_path, CAPITALS)
    assert failed.value.code == "judge-setup"


def test_an_answer_cut_at_the_token_limit_fails_whatever_the_judge_would_say(tmp_path):
    write_task(tmp_path / "task", answers={"fr": "Paris"})
    write_trap(tmp_path)
    with ModelServer(lambda _: Reply(text="Paris", finish_reason="length")) as server:
        trapgate(tmp_path, "run", base_url=server.base_url)
    run = decode_run((tmp_path / "trapgate-results" / "results.json").read_bytes(), "r")
    assert verdicts(run) == {"fr": "truncated"}


# both


def test_where_both_judge_the_built_in_one_decides_and_each_disagreement_is_named(tmp_path):
    strict = MANIFEST_JUDGE.replace("wanted.lower() in said.lower()", "wanted == said")
    write_task(tmp_path / "task", strict, matchers=True)
    write_trap(tmp_path, judge="both")
    run = score(tmp_path, CAPITALS | {"fr": "It is Paris.", "it": "Milan", "es": "madrid"})
    assert verdicts(run) == dict.fromkeys(CAPITALS, "passed") | {"it": "wrong_value"}
    agrees = {case.id: case.attempts[0].values["judge_agrees"] for case in run.tasks[0].cases}
    assert agrees == dict.fromkeys(CAPITALS, 1.0) | {"fr": 0.0, "es": 0.0}
    finding = run.tasks[0].cases[0].attempts[0].findings[-1]
    assert (finding.keyword, finding.message) == (
        "judges_differ",
        "the task's own judge refuses this answer, the built-in one accepts it",
    )
    assert "the built-in judge and the task's own differ on 2 of 6 cases: fr, es" in texts(run.warnings)


def test_where_the_task_s_judge_gives_no_verdict_the_built_in_one_stands_and_that_is_said(tmp_path):
    crashes = MANIFEST_JUDGE.replace("right =", "assert said != 'rome', 'lower case'\nright =")
    write_task(tmp_path / "task", crashes, matchers=True)
    write_trap(tmp_path, judge="both")
    run = score(tmp_path, CAPITALS | {"it": "rome"})
    assert set(verdicts(run).values()) == {"passed"}
    assert "the task's own judge gave no verdict on 1 of 6 cases: it" in texts(run.warnings)
    case = next(case for case in run.tasks[0].cases if case.id == "it")
    assert case.attempts[0].findings[-1].keyword == "judge_crashed"


# drift of a judge


def accepted(tmp_path, answers, **task):
    """The baseline of these answers; the run that makes it has none to compare with."""
    run = score(tmp_path, answers)
    assert {canary.ok for canary in run.canaries.cases} == {True}
    return found(run)


def test_an_unchanged_judge_gives_the_same_verdicts_again(tmp_path):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    run = score(tmp_path, WRONG, accepted(tmp_path, WRONG))
    assert (run.verdict, run.comparison.validator_drift) == ("pass", [])


def test_a_judge_that_drifts_between_two_pinned_commits_is_drift_that_names_the_judge_and_the_cases(tmp_path):
    repository = Repository.create(tmp_path / "upstream")
    write_task(repository.path / "task")
    before = repository.commit()
    (repository.path / "task" / "judge.py").write_text(
        MANIFEST_JUDGE.replace("wanted.lower() in said.lower()", "wanted == said")
    )
    after = repository.commit()
    source = f"git+file://{repository.path}@{{}}#subdirectory=task"
    lax = CAPITALS | {"fr": "It is Paris.", "it": "rome"}

    write_trap(tmp_path, source.format(before), trust=True)
    baseline = accepted(tmp_path, lax)
    write_trap(tmp_path, source.format(after), trust=True)
    run = score(tmp_path, CAPITALS, baseline)

    assert (run.verdict, exit_code(run)) == ("drift", 4)
    assert [change.partition(" attempt ")[0] for change in run.comparison.validator_drift] == [
        "capitals/fr",
        "capitals/it",
    ]
    version = run.fingerprint.scorers["judge of capitals"]
    assert f"by the task's judge `python3 judge.py` ({version}): passed → failed (wrong_value)" in texts(run.reasons)
    assert "The judge of capitals is another than the baseline's" in texts(run.warnings)
    assert run.comparison.tasks[0].not_comparable == []


def test_a_source_that_is_not_trusted_runs_nothing(tmp_path):
    repository = Repository.create(tmp_path / "upstream")
    write_task(repository.path / "task")
    write_trap(tmp_path, f"git+file://{repository.path}@{repository.commit()}#subdirectory=task")
    with pytest.raises(UserError, match="would run what another's source brings, and trust is not set"):
        configuration.load(tmp_path / "trap.yaml")


def test_a_change_from_a_task_s_judge_to_the_built_in_one_compares_nothing_and_is_no_drift(tmp_path):
    write_task(tmp_path / "task", matchers=True)
    write_trap(tmp_path)
    baseline = accepted(tmp_path, CAPITALS)
    write_trap(tmp_path, judge="builtin")
    run = score(tmp_path, CAPITALS, baseline)
    assert run.verdict == "inconclusive"
    assert run.comparison.validator_drift == []
    assert sorted(run.comparison.tasks[0].not_comparable) == sorted(CAPITALS)


# compare


def compare(tmp_path, baseline, run, config=True):
    return stored.compare(
        baseline,
        run,
        config=configuration.load(tmp_path / "trap.yaml") if config else None,
        folder=tmp_path,
        cache=tmp_path / "cache",
        environ={},
    )


def test_compare_judges_both_sides_anew_by_the_judge_of_the_configuration(tmp_path):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    baseline, run = accepted(tmp_path, CAPITALS), score(tmp_path, WRONG)
    compared = compare(tmp_path, baseline, run)
    assert compared.comparison.validator_drift == []
    assert sorted(change.id for change in compared.comparison.tasks[0].regressed) == ["gr", "it"]


def test_compare_does_not_believe_a_stored_verdict_that_the_judge_does_not_give(tmp_path):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    baseline, run = accepted(tmp_path, CAPITALS), score(tmp_path, WRONG)
    forged = decode_run(encode(run).replace(b'"passed": false', b'"passed": true'), "r")
    compared = compare(tmp_path, baseline, forged)
    assert compared.verdict == "drift"


def test_compare_without_the_judge_is_an_error_and_keeps_no_stored_verdict(tmp_path):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    baseline, run = accepted(tmp_path, CAPITALS), score(tmp_path, CAPITALS)
    with pytest.raises(UserError, match="the stored verdicts of capitals cannot be repeated") as refused:
        compare(tmp_path, baseline, run, config=False)
    assert refused.value.code == "judge-needed"


def test_compare_with_a_task_that_has_other_cases_by_now_is_an_error(tmp_path):
    task = write_task(tmp_path / "task")
    write_trap(tmp_path)
    baseline, run = accepted(tmp_path, CAPITALS), score(tmp_path, CAPITALS)
    (task / "expected" / "fr" / "answer.json").write_text('{"answer": "Lyon"}')
    with pytest.raises(UserError, match=r"the task now has other cases \(fr\)"):
        compare(tmp_path, baseline, run)


# refusal


@pytest.fixture
def no_isolation(monkeypatch):
    monkeypatch.setattr(foreign, "available", lambda *_: Refusal(("landlock is not there", "nor are namespaces")))


def test_where_nothing_isolates_a_judge_it_is_refused_with_the_reasons(tmp_path, no_isolation):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    with pytest.raises(UserError) as refused:
        score(tmp_path, CAPITALS)
    assert refused.value.code == "judge-refused"
    assert "landlock is not there; nor are namespaces" in str(refused.value)
    assert "--unsafe-judges" in str(refused.value)


def test_unsafe_judges_run_and_the_report_says_so_first(tmp_path, no_isolation):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    run = score(tmp_path, CAPITALS, unsafe=True)
    assert set(verdicts(run).values()) == {"passed"}
    assert run.fingerprint.scorers["isolation"] == "resource limits"
    first = comment.render(run).split("| ")[0]
    assert "the judges of capitals ran without isolation (landlock is not there" in first


def test_unsafe_judges_are_isolated_all_the_same_where_that_can_be_had(tmp_path):
    write_task(tmp_path / "task")
    write_trap(tmp_path)
    run = score(tmp_path, CAPITALS, unsafe=True)
    assert run.fingerprint.scorers["isolation"] != "resource limits"
    assert "unsafe" not in texts(run.warnings)


# validate


def test_validate_tries_the_judge_without_a_model(tmp_path):
    write_task(tmp_path / "task", LATE_MATCHER_JUDGE)
    write_trap(tmp_path)
    done = trapgate(tmp_path, "validate")
    assert done.returncode == 2, done.stderr
    assert "expected answers before `python3 judge.py`: 6 of 6 otherwise" in done.stdout
