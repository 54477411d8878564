"""Traces from trap.yaml to a verdict, and recordings from disk: the command line as a process, a model on a socket."""

from __future__ import annotations

import json

import pytest

from tests.integration.agents import (
    CANCEL,
    EMAIL,
    LOOKUP,
    REFUND,
    TOOLS,
    InTurns,
    accept,
    at_once,
    attempts,
    copy,
    edited,
    fixture_path,
    hasty,
    only_hasty,
    order_of,
    playing,
    results_of,
    right,
    run,
    spec,
    texts,
    trap,
    turn,
    write,
    write_json,
    write_repository,
)
from tests.integration.repository import trapgate

CASES = 8
ARGUMENTS = "metric: argument_score, max_drop: 0.02"


@pytest.fixture(scope="module")
def accepted(tmp_path_factory):
    """A repository with the baseline of an agent that does everything right, twice a case."""
    folder = write_repository(tmp_path_factory.mktemp("accepted"), CASES, trap(ARGUMENTS, repeats=2))
    done, _ = run(folder, playing(right))
    assert done.returncode == 0, done.stdout + done.stderr
    accept(folder)
    return folder


def dearer():
    """49.00 for 24.50 in seven cases of eight; one of these only in one attempt of its two."""
    asked = InTurns()

    def script(request):
        order = order_of(request)
        messages = request.body["messages"]
        refunding = len(messages) == 4  # system, user, the call of the order, what it gave
        wrong = order < 6 or (order == 6 and refunding and asked(order) == 0)
        return turn(request, right(order, 49.0 if wrong else 24.5))

    return script


def astray(order):
    """Another tool in the first cases, one call more in the next, the wrong order in the last."""
    look, (refund, email) = right(order)[0][0], right(order)[1]
    if order < 3:
        return [[look], [(CANCEL, {"order_id": order}), email]]
    if order < 6:
        return [[look], [refund, email], [(CANCEL, {"order_id": order})]]
    return [[refund, email], [look]]


def other_words(folder):
    write_json(folder / "tools" / f"{REFUND}.json", spec(REFUND, "Pays money back.", TOOLS[REFUND]))


def other_tickets(folder):
    fixture_path(folder, 7).unlink()
    path = fixture_path(folder, 0)
    mocks = json.loads(path.read_text())["mocks"]
    mocks[0]["result"]["total"] = 48.0
    edited(path, mocks=mocks)


@pytest.fixture(scope="module")
def runs(accepted, tmp_path_factory):
    """Name → folder, process and results of a run of a changed repository or agent."""
    parent = tmp_path_factory.mktemp("changed")

    def job(name, script, change=lambda folder: None):
        folder = copy(accepted, parent / name)
        change(folder)
        return lambda: (folder, *run(folder, script))

    return at_once(
        {
            "dearer": job("dearer", only_hasty(dearer()), hasty),
            "astray": job("astray", only_hasty(playing(astray)), hasty),
            "other words": job("other words", playing(right), other_words),
            "other tickets": job("other tickets", playing(right), other_tickets),
        }
    )


def judged_by(folder, *rules):
    """The stored run of `folder` judged again by a gate of these rules."""
    write(folder / "gate.yaml", trap(*rules, repeats=2))
    done = trapgate(
        folder, "compare", ".trap/baseline.json", "trapgate-results/results.json", "--config", "gate.yaml", "--json"
    )
    return done.returncode, json.loads(done.stdout)


# Live, on frozen tools


def test_a_live_run_holds_calls_with_their_results_turns_and_every_figure(accepted):
    found = attempts(results_of(accepted))
    assert len(found) == 2 * CASES
    attempt = found["r03", 1]
    assert (attempt.status, attempt.passed, attempt.failure_mode) == ("scored", True, None)
    calls = [(call.turn, call.tool, json.loads(call.arguments), call.result) for call in attempt.transcript.calls]
    assert calls == [
        (1, LOOKUP, {"order_id": 3}, {"order_id": 3, "total": 49.0}),
        (2, REFUND, {"order_id": 3, "amount": 24.5}, {"ok": True}),
        (2, EMAIL, {"order_id": 3, "template": "refunded"}, {"ok": True}),
    ]
    assert attempt.transcript.text == "Half of it is on its way."
    # Three answers of 11 and 7 tokens each.
    assert (attempt.transcript.usage.input_tokens, attempt.transcript.usage.output_tokens) == (33, 21)
    assert attempt.transcript.usage.cost_usd == pytest.approx(33e-6 + 21 * 2e-6)
    names = ("tool_score", "order_score", "argument_score", "argument_score_matched", "missing_calls", "extra_calls")
    assert [attempt.values[name] for name in names] == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert attempt.values["schema_valid"] == 1.0


def test_a_wrong_amount_blocks_by_the_argument_score_and_the_argument_is_named(runs):
    folder, done, found = runs["dearer"]
    assert (done.returncode, found.verdict) == (1, "regression")
    # One field of five is wrong in six cases, and in one attempt of two in another.
    assert found.tasks[0].metrics["argument_score"].value == pytest.approx(1 - (6 + 0.5) * 0.2 / CASES)
    assert [(rule.metric, rule.outcome) for rule in found.rules] == [("argument_score", "fail")]
    finding = attempts(found)["r00", 1].findings[0]
    assert (finding.tool, finding.path, finding.wanted, finding.got) == (REFUND, "$.amount", 24.5, 49.0)
    assert "argument_score" in texts(found.reasons)
    comment = (folder / "trapgate-results" / "comment.md").read_text()
    assert "argument_score" in comment.splitlines()[0]
    row = next(line for line in comment.splitlines() if line.startswith("| `r00` |"))
    assert [part for part in (REFUND, "$.amount", "`24.5`", "`49.0`") if part not in row] == []


def test_repeats_give_the_mean_the_share_of_cases_that_always_pass_and_the_cases_that_flip(runs):
    folder, _, found = runs["dearer"]
    metrics = found.tasks[0].metrics
    assert metrics["pass_rate"].value == pytest.approx(1.5 / CASES)
    assert metrics["all_k_pass_rate"].value == pytest.approx(1 / CASES)
    assert found.tasks[0].failure_modes == {"wrong_arguments": 13}
    assert sorted(attempts(found)["r06", number].passed for number in (1, 2)) == [False, True]
    comment = (folder / "trapgate-results" / "comment.md").read_text()
    assert "Cases that flip" in comment
    assert "| `r06` | 1 of 2 | `wrong_arguments` × 1 |" in comment


def test_a_gate_on_the_argument_score_alone_sees_what_other_figures_do_not(runs):
    folder, _, _ = runs["dearer"]
    for rule in ("metric: tool_score, max_drop: 0.0", "metric: order_score, min: 1.0", "metric: extra_calls, max: 0"):
        assert judged_by(folder, rule)[0] == 0
    assert judged_by(folder, ARGUMENTS)[0] == 1


@pytest.mark.parametrize(
    ("rule", "now"),
    [
        ("metric: failure_modes.wrong_tool, max_rise: 0.0, on_noise: fail", 3 / 8),
        ("metric: extra_calls, max_rise: 0.5, on_noise: fail", 6 / 8),
        ("metric: order_score, min: 0.95, on_noise: fail", (3 * 2 / 3 + 3 + 2 * 2 / 3) / 8),
    ],
)
def test_a_gate_on_one_kind_of_fault_blocks_by_it(runs, rule, now):
    folder, _, found = runs["astray"]
    assert found.tasks[0].failure_modes == {"wrong_tool": 6, "extra_call": 6, "wrong_order": 4}
    code, judged = judged_by(folder, rule)
    assert (code, judged["verdict"]) == (1, "regression")
    assert [each["outcome"] for each in judged["rules"]] == ["fail"]
    assert judged["rules"][0]["now"] == pytest.approx(now)


def test_other_words_in_a_tool_are_the_change_under_test_and_every_case_stays_comparable(accepted, runs):
    _, done, found = runs["other words"]
    assert (done.returncode, found.verdict) == (0, "pass")
    before = {case.id: case.digest for case in results_of(accepted).tasks[0].cases}
    assert {case.id: case.digest for case in found.tasks[0].cases} == before
    task = found.comparison.tasks[0]
    assert (task.paired, task.not_comparable) == (CASES, [])
    assert any(f"tools/{REFUND}" in line for line in found.comparison.fingerprint)
    assert not any(f"tools/{LOOKUP}" in line for line in found.comparison.fingerprint)


def test_another_answer_of_a_tool_makes_another_case_and_a_deleted_fixture_is_missing(runs):
    _, done, found = runs["other tickets"]
    assert (done.returncode, found.verdict) == (3, "inconclusive")
    task = found.comparison.tasks[0]
    assert (task.not_comparable, task.removed, task.paired) == (["r00"], ["r07"], CASES - 2)
    said = texts(found.reasons)
    assert "14 of 16 planned attempts were scored" in said
    assert "1 changed, 1 removed" in said


# From disk


@pytest.fixture
def recorded(tmp_path):
    """A repository whose fixtures hold two recorded attempts each, all of them right."""
    folder = write_repository(tmp_path, CASES, trap("metric: pass_rate, max_drop: 0.0", repeats=2))
    for order in range(CASES):
        write_recordings(folder, order, right(order), right(order))
    return folder


def write_recordings(folder, order, *plans):
    """Recordings of a case, one for each plan; its calls got the results of the mocks."""
    recordings = [
        {
            "attempt": number,
            "actual_invocations": [
                {"turn": turn_number, "tool": tool, "args": args, "result": {"ok": True}}
                for turn_number, message in enumerate(plan, 1)
                for tool, args in message
            ],
            "final_answer": "Half of it is on its way.",
            "input_tokens": 30,
            "output_tokens": 20,
        }
        for number, plan in enumerate(plans, 1)
    ]
    edited(fixture_path(folder, order), recordings=recordings)


def score(folder, *arguments):
    """Exit code, output and results of scoring what the fixtures recorded."""
    done = trapgate(folder, "score", "./evals/refunds", *arguments)
    return done.returncode, done.stdout + done.stderr, results_of(folder)


def test_recordings_are_scored_without_a_model_and_without_a_configuration(recorded):
    look, (refund, _) = right(3, 49.0)[0], right(3, 49.0)[1]
    write_recordings(recorded, 3, right(3), [look, [refund]])
    code, said, found = score(recorded, "--format", "trace")
    assert (code, found.verdict) == (0, "pass"), said
    right_one, wrong_one = attempts(found)["r03", 1], attempts(found)["r03", 2]
    assert right_one.passed
    assert (wrong_one.passed, wrong_one.failure_mode) == (False, "missing_call")
    assert wrong_one.values == {
        "tool_score": pytest.approx(2 / 3),
        "order_score": pytest.approx(2 / 3),
        "argument_score": pytest.approx(2 / 5),
        "argument_score_matched": pytest.approx(2 / 3),
        "missing_calls": 1,
        "extra_calls": 0,
        "extra_read_only_calls": 0,
        "calls": 2,
        "unanswered_calls": 0,
        "score": 0,  # without a trap.yaml there are no tools, and no schemas to check the calls by
    }
    assert (wrong_one.transcript.usage.input_tokens, wrong_one.transcript.usage.output_tokens) == (30, 20)
    assert "do not say what they were made with" not in said


def test_of_recordings_any_change_counts_and_those_without_a_subject_are_named(recorded):
    code, said, found = score(recorded, "--config", "trap.yaml")
    assert (code, found.verdict) == (0, "pass"), said
    assert "16 of 16 recordings do not say what they were made with: whether they are stale is unknown." in said
    accept(recorded)
    write_recordings(recorded, 5, right(5), right(5, 49.0))
    code, said, found = score(recorded, "--config", "trap.yaml")
    assert (code, found.verdict) == (1, "regression"), said
    assert [(each.id, each.now) for each in found.comparison.tasks[0].regressed] == [("r05", 0.5)]
    assert found.tasks[0].metrics["all_k_pass_rate"].value == pytest.approx(7 / 8)


def test_attempts_that_were_not_recorded_count_against_coverage(recorded):
    (recorded / "trap.yaml").write_text(trap("metric: pass_rate, min: 0.5", repeats=2))
    write_recordings(recorded, 0, right(0))
    code, said, found = score(recorded, "--config", "trap.yaml")
    assert (code, found.verdict) == (3, "inconclusive")
    assert (found.tasks[0].planned, found.tasks[0].scored) == (16, 15)
    assert "refunds: 15 of 16 planned attempts were scored, 95% are needed." in said
    write_recordings(recorded, 1)
    code, said, found = score(recorded, "--format", "trace")
    assert (code, found.tasks[0].planned, found.tasks[0].scored) == (3, 15, 13), said


def test_a_folder_without_a_recording_has_nothing_to_score(tmp_path):
    folder = write_repository(tmp_path, 1, trap())
    code, said, _ = score(folder, "--format", "trace")
    assert code == 2
    assert "there is nothing to score: the task has no recordings" in said


# Where it does not go


def test_a_black_box_cannot_be_run_on_traces_and_is_told_so(tmp_path):
    folder = write_repository(tmp_path, 1, trap(model="cmd: cat"))
    write(folder / "trap.yaml", (folder / "trap.yaml").read_text().replace("params: {temperature: 0}\n", ""))
    for command in ("run", "validate"):
        done = trapgate(folder, command)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "a command is the solution, and a task of the format trace has no files for it to read" in done.stderr
        assert "tasks.refunds" in done.stderr
