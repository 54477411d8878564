"""Something is planted, and the verdict has to name it: the table of docs/planted-changes.md, run."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from msgspec.structs import replace
from scipy.stats import binomtest

from evaluator import config as configuration
from evaluator import loading, task_results
from evaluator.attempts import Made
from evaluator.baselines import Missing
from evaluator.cases import Task
from evaluator.gate import EXIT_CODES, acceptable
from evaluator.judgement import Measured, judged
from evaluator.results import Reason, Run, TaskResult
from evaluator.transcript import Transcript
from tests.integration.judging import tasks as capitals
from tests.integration.planted import (
    BASELINE,
    CAREFUL,
    CASES,
    TRAP,
    Bed,
    Seen,
    accept,
    bed,
    evaluate,
    order_of,
    provider,
    system,
    write_repository,
)
from tests.integration.planted_rows import AN_ANSWER, LIMIT, OTHER_JSONSCHEMA, ROWS, STEPS
from tests.integration.repository import ROOT, call
from tests.servers.model_server import Received, Reply

PAGE = ROOT / "docs" / "planted-changes.md"
HEAD = "| row | planted change | verdict (exit code) | layer | first line of the comment |"

Plant = Callable[[str], Seen]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Bed:
    return bed(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def plant(base: Bed) -> Plant:
    """What becomes of a row's change, planted once."""
    found: dict[str, Seen] = {}

    def once(name: str) -> Seen:
        if name not in found:
            found[name] = ROWS[name].plant(base)
        return found[name]

    return once


# The table


@pytest.mark.parametrize("name", ROWS)
def test_a_planted_change_gets_its_verdict_and_names_its_layer(plant: Plant, name: str) -> None:
    one, seen = ROWS[name], plant(name)
    assert (seen.run.verdict, seen.run.layer or "", seen.witnesses) == (one.verdict, one.layer, one.witnesses)
    assert seen.code == EXIT_CODES[seen.run.verdict]


@pytest.mark.parametrize("name", ROWS)
def test_the_page_says_what_the_comment_says(plant: Plant, name: str) -> None:
    assert shown(name, plant(name)) in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_page_has_every_row_in_the_same_order_and_no_other() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    listed = lines[lines.index(HEAD) + 2 :]
    names = [line.split("`")[1] for line in listed[: listed.index("")]]
    assert names == [*ROWS, "noise_alone"]


def shown(name: str, seen: Seen) -> str:
    """The row of the page."""
    verdict = f"`{seen.run.verdict}` ({seen.code})"
    return f"| `{name}` | {ROWS[name].words} | {verdict} | {seen.run.layer or '—'} | {first_line(seen)} |"


def first_line(seen: Seen) -> str:
    """The first line of the comment after its mark, name and verdict: a cell of a table."""
    line = seen.comment.splitlines()[0]
    _, said, text = line.partition(" — ")
    assert said, line
    assert text.strip(), f"the first line says nothing: {line!r}"
    return text.replace("|", "\\|")


# The validators


def test_a_scorer_that_canaries_convict_costs_nothing_and_leaves_nothing_to_accept(plant: Plant) -> None:
    seen = plant("scorer_where_a_canary_looks")
    assert seen.requests == []
    assert "json_call/number_as_string" in seen.comment
    # Nobody can: `trapgate baseline accept` refuses a run whose canaries failed.
    assert "accept a new baseline" not in seen.comment


def test_a_scorer_that_no_canary_convicts_is_named_by_the_case_that_it_judges_otherwise(plant: Plant) -> None:
    seen = plant("scorer_where_no_canary_looks")
    assert "refunds/r07 attempt 1: failed (`wrong_value`) → passed" in seen.comment
    assert seen.run.comparison is not None
    assert seen.run.comparison.fingerprint == []  # nothing but the stored transcripts could have shown it


def test_another_jsonschema_is_named_with_both_versions(plant: Plant) -> None:
    seen = plant("another_jsonschema_package")
    assert seen.run.comparison is not None
    [differs] = seen.run.comparison.fingerprint
    assert differs == f"jsonschema {version('jsonschema')} → {OTHER_JSONSCHEMA}"
    assert differs in seen.comment
    assert len(seen.run.comparison.validator_drift) == CASES


def test_a_broken_judge_is_found_out_by_its_own_expected_answers_before_any_paid_call(plant: Plant) -> None:
    seen = plant("judge_broken")
    assert seen.requests == []
    assert "6 of 6 otherwise" in seen.comment
    assert "The judge of capitals is another than the baseline's" in seen.comment


# What is evaluated, and by which rules


def test_a_removed_case_is_named_and_counts_as_missing(plant: Plant) -> None:
    seen = plant("case_removed")
    assert "r11" in seen.comment
    assert len(seen.asked) == CASES - 1


def test_a_loosened_gate_is_named_in_the_first_lines_and_does_not_help(plant: Plant) -> None:
    first = "\n".join(plant("gate_loosened").comment.splitlines()[:3])
    assert "This change alters the gate in trap.yaml" in first
    assert "this run is judged by the base's" in first


# The provider


def test_a_refused_schema_is_no_failure_of_the_model(plant: Plant) -> None:
    seen = plant("provider_refuses_schemas")
    assert {a.status for case in seen.run.tasks[0].cases for a in case.attempts} == {"infrastructure"}
    assert seen.run.totals.infrastructure == {"refused_schema": CASES}
    assert "'multipleOf' is not permitted" in seen.comment


def test_a_schema_of_a_live_canary_that_is_refused_is_named_by_what_it_exercises(plant: Plant) -> None:
    seen = plant("provider_refuses_a_live_canary")
    assert seen.run.tasks[0].scored == CASES
    assert "anyOf, of null and of objects: accepted → refused" in seen.witness("live_canaries")


def test_a_provider_that_stops_holding_its_model_moved_before_the_model_did(plant: Plant) -> None:
    seen = plant("provider_bends_schemas")
    assert "against its prompt: valid → invalid in 3 of 3 attempts" in seen.witness("live_canaries")
    assert "the base does as badly now as the change" in seen.witness("control_arm")


# The model and the change

# Attempts of a suspected case in each arm.
TIMES = 3


@pytest.mark.parametrize("name", ["prompt_worsened", "gate_loosened", "prompt_worsened_and_another_model"])
def test_the_base_is_asked_again_with_its_own_prompt_where_cases_got_worse(plant: Plant, name: str) -> None:
    again = plant(name).asked[CASES:]
    arms = Counter(system(request) == CAREFUL for request in again)
    assert arms == {True: 8 * TIMES, False: 8 * TIMES}
    assert {order_of(request) for request in again} == set(range(8))
    # In turn, so that both meet the same minutes: of eight calls in flight none would be the change's otherwise.
    assert {system(request) for request in again[:8]} == {CAREFUL, system(plant(name).asked[0])}


def test_the_base_is_asked_again_with_its_own_model_where_another_took_its_place(plant: Plant) -> None:
    seen = plant("model_swapped")
    again = 8 * TIMES
    assert Counter(request.body["model"] for request in seen.asked) == {"cheaper": CASES + again, "scripted": again}
    assert "Changed since the baseline: the model." in seen.comment
    assert seen.witness("live_canaries") == "the baseline's live canaries were sent to another model"


def test_another_model_beside_a_worse_prompt_is_said_and_excuses_nothing(plant: Plant) -> None:
    seen = plant("prompt_worsened_and_another_model")
    assert texts(seen.run.warnings) == ["Another model answers under the same name: scripted-1 → scripted-2."]
    assert "`scripted-1` → `scripted-2`" in seen.comment


def test_drift_that_only_warns_still_says_what_got_worse(plant: Plant) -> None:
    seen = plant("model_worse_for_both_as_a_warning")
    first = seen.comment.splitlines()[0]
    assert "1.00" in first
    assert "0.33" in first
    assert "the base does as badly now as the change" in seen.comment


def test_where_nothing_changed_nothing_is_asked_again_and_the_drop_is_said(plant: Plant) -> None:
    seen = plant("model_worse_and_nothing_changed")
    assert len(seen.asked) == CASES
    assert seen.run.control is not None
    assert seen.run.control.silent == "nothing of what is asked differs from the baseline"
    assert "1.00 → 0.33" in seen.comment.splitlines()[0]


@pytest.mark.parametrize("name", ["critical_case_worsened", "critical_case_flickers"])
def test_a_lone_critical_case_is_asked_four_times_each_way(plant: Plant, name: str) -> None:
    asked = Counter((order_of(request), system(request) == CAREFUL) for request in plant(name).asked)
    assert asked[3, True] == 4
    assert asked[3, False] == 1 + 4
    assert {count for (order, _), count in asked.items() if order != 3} == {1}


@pytest.mark.parametrize("name", ["critical_case_flickers", "critical_case_flickers_at_night"])
def test_a_critical_case_that_passes_when_asked_again_blocks_nothing_and_is_named(plant: Plant, name: str) -> None:
    first = "\n".join(plant(name).comment.splitlines()[:3])
    assert "the critical case r03 failed and was asked again: in all the change passes 4 of 5 attempts" in first


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("control_arm_without_a_key", "there is no key for anthropic/scripted, set `ANTHROPIC_API_KEY`"),
        ("control_arm_without_money", "`limits.max_cost_usd` cannot be kept, nothing is left of it"),
    ],
)
def test_a_control_arm_that_cannot_be_asked_says_why_and_asks_nobody(plant: Plant, name: str, why: str) -> None:
    seen = plant(name)
    assert len(seen.asked) == CASES
    assert why in seen.comment
    assert "which layer moved is not known" in seen.comment.splitlines()[0]


def test_the_limit_on_cost_counts_live_canaries_and_the_control_arm(base: Bed) -> None:
    folder = base.folder("almost-poor", {"prompts/system.md": (CAREFUL, "Be generous.\n")})
    trap = folder / "trap.yaml"
    trap.write_text(trap.read_text().replace("limits: {", f"limits: {{max_cost_usd: {LIMIT + 4 * AN_ANSWER:.6f}, "))
    seen = evaluate(folder, provider(lambda request: 49.0 if "generous" in system(request) else 24.5), base.baseline)
    assert (seen.run.verdict, seen.run.layer) == ("regression", None)
    # What is in flight when the limit is reached is paid for as well.
    assert 4 <= len(seen.asked) - CASES < 4 + configuration.load(trap).limits.concurrency


# Recordings


def test_of_recordings_one_worse_case_is_enough_and_nobody_can_be_asked(plant: Plant) -> None:
    seen = plant("recording_worse")
    assert "r04" in seen.comment
    assert "recording" in seen.witness("control_arm").lower()


# Noise


def test_small_drops_are_held_against_the_last_accepted_baseline(plant: Plant) -> None:
    seen = plant("four_small_drops")
    assert [(rule.anchor, rule.outcome) for rule in seen.run.rules] == [(False, "warn"), (True, "fail")]
    [reason] = seen.run.reasons
    assert "since the accepted baseline: 1.00 → 0.6667 (8 cases worse, 0 better" in reason.text
    again = seen.asked[24:]
    assert Counter(system(request) for request in again) == {CAREFUL: 8 * TIMES, f"Step {STEPS}.\n": 8 * TIMES}
    assert "Small drops have added up since the last baseline that somebody accepted" in seen.comment


def test_nothing_planted_is_a_pass_by_every_witness_that_can_be_heard(plant: Plant) -> None:
    seen = plant("nothing")
    assert texts(seen.run.warnings) == []
    assert "nothing was asked again" in seen.witness("control_arm")
    assert len(seen.asked) == CASES
    text = plant("nothing_but_text")
    assert text.canaries == 0
    assert "asks for nothing but text" in text.witness("live_canaries")


SEEDS, NOISY = 200, 60
CHANCES = (0.5, 0.7, 0.9, 0.95)


def test_noise_alone_fails_no_more_often_than_alpha(tmp_path: Path) -> None:
    trap = TRAP.replace("max_drop: 0.05", "max_drop: 0")
    folder = write_repository(tmp_path / "noise", cases=NOISY, trap=trap)
    quiet = evaluate(folder, provider(), Missing(str(BASELINE))).run
    config = configuration.load(folder / "trap.yaml")
    task = loading.load(config.tasks[0], folder, folder / ".cache", {})
    verdicts = Counter[str]()
    for seed in range(SEEDS):
        rng = random.Random(seed)
        before, now = noisy(task, rng), noisy(task, rng)
        state = accept(folder, replace(quiet, tasks=[before]))
        verdicts[judged(reworded(quiet, now), state, config.gate).run.verdict] += 1
    wrong = SEEDS - verdicts["pass"]
    assert binomtest(wrong, SEEDS).proportion_ci(0.95).low <= config.gate.alpha, verdicts
    line = f"| `noise_alone` | noise alone, {SEEDS} seeds | `pass` (0), {verdicts['pass']} of {SEEDS} | — | |"
    assert line in PAGE.read_text(encoding="utf-8").splitlines()


def noisy(task: Task, rng: random.Random) -> TaskResult:
    """One run of a model that gets each case right with a chance of its own."""
    made = [
        Made(case.id, 1, Transcript(text=call(number, 24.5 if rng.random() < CHANCES[number % 4] else 49.0)))
        for number, case in enumerate(task.cases)
    ]
    return task_results.live(task, 1, made, {})


def reworded(run: Run, now: TaskResult) -> Measured:
    """The run of a change that does not matter."""
    mark = replace(run.fingerprint, subject=run.fingerprint.subject | {"system": "other"})
    return Measured(
        name=run.name,
        started=run.started,
        seconds=1.0,
        fingerprint=mark,
        canaries=run.canaries,
        tasks=[now],
        subject=run.subject,
    )


def texts(reasons: list[Reason]) -> list[str]:
    return [reason.text for reason in reasons]


def test_a_laxer_judge_that_a_change_brings_is_no_pass_and_may_be_accepted(tmp_path: Path) -> None:
    capitals.write_task(tmp_path / "task")
    capitals.write_trap(tmp_path)
    first = evaluate(tmp_path, capital, Missing("b"))
    baseline, rules = accept(tmp_path, first.run), configuration.load(tmp_path / "trap.yaml")
    assert evaluate(tmp_path, capital, baseline, rules=rules).run.verdict == "pass"
    judge = tmp_path / "task" / "judge.py"
    judge.write_text(f"{judge.read_text()}# asks for less\n")
    run = evaluate(tmp_path, capital, baseline, rules=rules).run
    assert (run.verdict, acceptable(run)) == ("inconclusive", "")
    assert "capitals: the change brings another judge (" in run.reasons[0].text
    # At one's own desk nobody else's rules hold, and it is said and no more.
    assert evaluate(tmp_path, capital, baseline).run.verdict == "pass"


def capital(request: Received) -> Reply:
    """The right one."""
    found = re.search(r"capital of \.(\w\w)", json.dumps(request.body["messages"]))
    assert found is not None
    return Reply(text=capitals.CAPITALS[found[1]])
