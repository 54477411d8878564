"""Another model than the baseline's, beside it, in every report."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from msgspec.structs import replace

from evaluator import candidate
from evaluator.cases import Subject
from evaluator.comparison import pair
from evaluator.config.types import Rule
from evaluator.models import together
from evaluator.reports import comment, page, terminal
from evaluator.results import (
    Attempt,
    Candidate,
    CandidateTask,
    Duel,
    LayerWord,
    ModeShare,
    PassCost,
    Reason,
    Run,
    TaskResult,
    VerdictWord,
)
from tests.unit.reports import builders, drifts, rendered
from tests.unit.reports.builders import (
    build,
    failed,
    outcomes,
    passed,
    refund_attempts,
    refunded_whole,
    skipped_policy,
    task_result,
    traced,
)
from tests.unit.reports.rendered import LINKED_BY_GITHUB
from tests.unit.reports.test_escape import hostile

OLD, NEW = "openai/gpt-4.1-mini", "openai/gpt-4.1-nano"


def two_models(
    before: list[TaskResult], now: list[TaskResult], *, new: str = NEW, others: tuple[str, ...] = (), **more: list[Rule]
) -> Run:
    """A run of another model than that of the baseline; `others`: what else of the subject differs."""
    found = build(now, before, subject=Subject(model=new), **more)
    known = {task.name: task for task in before}
    pairings = {task.name: pair(known.get(task.name), task) for task in now}
    beside = candidate.of(replace(found, subject=Subject(model=OLD)), before, new, now, pairings, 0.02)
    assert found.comparison is not None
    return replace(
        found, comparison=replace(found.comparison, candidate=beside, subject=["model", *others], fingerprint=[])
    )


def swapped() -> Run:
    """The candidate is cheaper and better at arguments; one case only the baseline's model passes."""
    before = {name: [refunded_whole(k, cost=0.004) for k in range(1, 6)] for name in refund_attempts()}
    before["gift"] = [traced(k) for k in range(1, 6)]
    now = {name: [traced(k, cost=0.001) for k in range(1, 6)] for name in refund_attempts()}
    now["gift"] = [skipped_policy(k, cost=0.001) for k in range(1, 6)]
    calls = outcomes(7, 13), outcomes(8, 12)
    many = [{f"{name}-{n}": rows for name, rows in side.items() for n in range(4)} for side in (before, now)]
    return two_models(
        [task_result("refunds", many[0], repeats=5), task_result("json-call", calls[0])],
        [task_result("refunds", many[1], repeats=5), task_result("json-call", calls[1])],
    )


def table(text: str) -> list[list[str]]:
    """The cells of the candidate's table, heading first."""
    part = text.partition("<summary>Candidate: figures of")[2].partition("</details>")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|:")]


def row(text: str, *first: str) -> list[str]:
    """The row that begins so. Of several tasks, each is named in its first row."""
    task = ""
    for cells in table(text):
        task = cells[0] or task
        whole = [task, *cells[1:]]
        if tuple(whole[: len(first)]) == first:
            return whole
    raise LookupError(first)


def test_the_first_lines_name_both_models_and_say_whether_the_evidence_is_enough() -> None:
    lines = comment.render(swapped()).splitlines()

    assert lines[4] == (
        f"**Candidate:** `{NEW}` beside the baseline's `{OLD}`. Enough to say that `{NEW}` is better on refunds "
        "`pass_rate` (0.88 against 0.12, p < 0.001), refunds `all_k_pass_rate` (0.88 against 0.12, p < 0.001) and "
        "refunds `cost_usd` (75% less an attempt, p < 0.001); on json-call 20 cases cannot tell the two apart by "
        "`pass_rate`: only a difference of 0.62 or more would show."
    )
    assert f"  Candidate: {NEW} beside the baseline's {OLD}. Enough to say" in terminal.render(swapped())
    assert "<strong>Candidate:</strong>" in page.render(swapped())


def test_a_run_of_the_baselines_own_model_has_no_such_section() -> None:
    for text in (comment.render(builders.regressing()), terminal.render(builders.regressing())):
        assert "Candidate" not in text


def test_who_wins_on_what_stands_in_one_table_with_its_evidence() -> None:
    text = comment.render(swapped())

    assert (
        f"<details open><summary>Candidate: figures of <code>{NEW}</code> beside <code>{OLD}</code></summary>" in text
    )
    assert table(text)[0] == [
        *("task", "metric", "baseline", "candidate", "better", "p after Holm", "cases", "shows from"),
    ]
    assert row(text, "`refunds`", "`pass_rate`")[2:] == ["0.12", "0.88", "candidate", "< 0.001", "32", "–"]
    assert row(text, "`refunds`", "`all_k_pass_rate` k = 5")[2:5] == ["0.12", "0.88", "candidate"]
    assert row(text, "`refunds`", "`cost_usd` an attempt")[2:5] == ["`$0.0040`", "`$0.0010`", "candidate"]
    assert row(text, "`json-call`", "`pass_rate`")[2:] == ["0.35", "0.40", "neither", "1.000", "20", "0.62"]
    assert row(text, "`json-call`", "`output_tokens` an attempt")[2:4] == ["71.25", "70"]


def test_what_a_passed_case_costs_stands_beside_it_and_an_unknown_price_is_never_nothing() -> None:
    def cost_row(old: float | None, new: float | None) -> list[str]:
        sides = [
            {f"c-{n}": [passed(cost=cost), failed(2, cost=cost)][n % 2 : n % 2 + 1] for n in range(20)}
            for cost in (old, new)
        ]
        found = two_models([task_result("t", sides[0])], [task_result("t", sides[1])])
        return row(comment.render(found), "cost per passed case")

    assert cost_row(0.004, 0.00002)[1:4] == ["`$0.0080`", "`$0.00004`", "not tested"]
    assert cost_row(0.004, None)[1:3] == ["`$0.0080`", "unknown"]
    assert cost_row(0.004, 0.0)[1:3] == ["`$0.0080`", "`$0.0000`"]


def test_a_partial_cost_is_a_lower_bound_and_says_so() -> None:
    now: dict[str, list[Attempt]] = {f"call-{n:02}": [passed(cost=None if n > 10 else 0.002)] for n in range(1, 21)}
    found = two_models([task_result("t", outcomes(0, 20))], [task_result("t", now)])

    assert row(comment.render(found), "cost per passed case")[1:3] == ["no case passed", "at least `$0.0010`"]


def test_the_failure_modes_of_both_stand_side_by_side_and_in_one_place_only() -> None:
    text = comment.render(swapped())
    part = text.partition("<summary>Candidate: failure modes of")[2].partition("</details>")[0]

    assert "| `refunds` | `wrong_arguments` | 0.88 | 0.00 |" in part
    assert "| `refunds` | `missing_call` | 0.00 | 0.12 |" in part
    assert "<summary>Failure modes</summary>" not in text
    assert "<summary>Failure modes</summary>" in comment.render(builders.regressing())


def test_cases_that_only_one_passes_are_counted_and_a_few_named() -> None:
    text = comment.render(swapped())
    part = text.partition("<summary>Candidate: cases that only one of the two passes</summary>")[2]

    assert "| `refunds` | only the candidate passes 28 cases | `damaged-lamp-0` " in part
    assert "… and 18 more |" in part
    assert "| `refunds` | only the baseline passes 4 cases | `gift-0` `gift-1` `gift-2` `gift-3` |" in part


def test_it_is_said_that_the_model_is_not_all_that_differs() -> None:
    found = two_models(
        [task_result("t", outcomes(7, 13))], [task_result("t", outcomes(7, 13))], others=("system", "tools/refund")
    )
    line = next(line for line in comment.render(found).splitlines() if line.startswith("**Candidate:**"))

    assert line.endswith("The model is not all that differs: so do system, tools/refund.")
    assert "is not all that differs" not in comment.render(swapped())


def test_recordings_have_no_p_and_a_task_without_pairs_says_why() -> None:
    found = two_models(
        [task_result("t", outcomes(7, 13), deterministic=True)],
        [task_result("t", outcomes(9, 11), deterministic=True), task_result("new", outcomes(1, 1))],
    )
    text = comment.render(found)

    assert row(text, "`t`", "`pass_rate`")[4:] == ["candidate", "recorded", "20", "–"]
    assert row(text, "`new`", "everything")[4] == "nothing is said: the baseline does not know it"


def test_a_terminal_shows_the_table_and_the_modes() -> None:
    text = terminal.render(swapped(), width=160)

    assert f"Candidate: figures of {NEW} beside {OLD}" in text
    assert re.search(r"refunds +pass_rate +0\.12 +0\.88 +candidate +< 0\.001 +32 +–", text)
    assert re.search(r"refunds +wrong_arguments +0\.88 +0\.00", text)


def test_of_several_models_each_that_is_new_has_its_line_at_the_top_and_its_table_folded() -> None:
    first = build([task_result("t", outcomes(7, 13))], [task_result("t", outcomes(7, 13))], subject=Subject(model=OLD))
    other = two_models([task_result("t", outcomes(7, 13))], [task_result("t", outcomes(20, 0))])
    text = comment.render(together([first, other], []))

    assert f"**Candidate:** `{NEW}` beside the baseline's `{OLD}`. Enough" in text.partition("\n| ")[0]
    assert f"<details><summary>Candidate: figures of <code>{NEW}</code> beside <code>{OLD}</code></summary>" in text


@pytest.mark.parametrize("most", [3_000, 6_000, 20_000])
def test_the_sentence_stays_whatever_else_goes(most: int) -> None:
    tasks = [[task_result(f"{'t' * 30}-{n}", outcomes(*counts)) for n in range(60)] for counts in ((0, 20), (20, 0))]
    text = comment.render(two_models(tasks[0], tasks[1], rules=[]), max_bytes=most)

    assert len(text.encode()) <= most
    assert "**Candidate:**" in text
    assert "Enough to say that" in text
    assert text.count("<details") == text.count("</details>")


def stranger(text: str) -> Run:
    """A hostile run with `text` in every name of a candidate."""
    run = builders.hostile(text)
    duels = [
        Duel(metric="pass_rate", baseline=0.5, candidate=0.75, n=20, winner="neither", p=0.5, adjusted=1.0),
        Duel(metric=text, baseline=0.5, candidate=0.75, n=20, winner="candidate", p=0.001, adjusted=0.002),
    ]
    names = [task.name for task in run.tasks]
    cost = PassCost(passed=1, cost_state="known", cost_usd=0.1, each=0.1)
    tasks = [
        CandidateTask(
            task=name,
            paired=20,
            gap=text,
            duels=duels,
            modes=[ModeShare(mode=text, baseline=0.5, candidate=0.25)],
            candidate_cost=cost,
            baseline_cost=cost,
            only_candidate=[text],
            only_baseline=[text],
        )
        for name in names
    ]
    both = Candidate(candidate=text, baseline=text, alpha=0.02, sentence=text, tasks=tasks)
    assert run.comparison is not None
    return replace(run, comparison=replace(run.comparison, candidate=both, subject=[text]))


_PLAIN = rendered.page(comment.render(stranger("plain")))
_PLAIN_PAGE = rendered.Page(page.render(stranger("plain")))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(hostile.filter(bool))
@example("</details>\n\n| a | b |\n<!-- trapgate:comment -->@user #1 https://a.example")
def test_hostile_names_change_neither_tags_nor_tables(text: str) -> None:
    shown = rendered.page(comment.render(stranger(text)))
    whole = rendered.Page(page.render(stranger(text)))

    assert set(shown.tags) <= set(_PLAIN.tags) | {"code"}
    assert "a" not in shown.tags
    assert shown.attributes <= {"open", "align"}
    assert set(shown.columns) <= set(_PLAIN.columns)
    assert not shown.comments
    assert not LINKED_BY_GITHUB.search(shown.prose)
    assert set(whole.tags) <= set(_PLAIN_PAGE.tags)
    assert whole.attributes == _PLAIN_PAGE.attributes
    assert not [line for line in terminal.render(stranger(text)).splitlines() if line.lstrip().startswith("::")]


def worse(*, control: tuple[str, str] = ("steady", drifts.HOLDS), layer: LayerWord | None = "change") -> Run:
    """A candidate that fails most cases which the baseline's model passes."""
    run = two_models([task_result("t", outcomes(20, 0))], [task_result("t", outcomes(8, 12))])
    assert run.verdict == "regression"
    return drifts.moved(run, layer, control_arm=control)


def told(run: Run) -> list[str]:
    lines = comment.render(run).splitlines()
    return [line.removeprefix("**What to do:** ") for line in lines if line.startswith("**What to do:**")]


def test_where_another_model_does_worse_nobody_is_told_to_accept_that_run_or_to_mend_a_change() -> None:
    wanted = f"`{NEW}` does worse. Keep `{OLD}`, or set `model: {NEW}` in `trap.yaml`, run again and accept that run."

    assert told(worse()) == [wanted]
    assert told(worse(control=("silent", drifts.NOT_ASKED), layer=None)) == [wanted]
    hidden = replace(worse(), verdict="inconclusive", layer=None, reasons=[Reason(kind="coverage", text="Too little.")])
    assert told(hidden)[0] == wanted


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [("drift", "validator"), ("drift", "provider"), ("drift", "model"), ("inconclusive", "comparison")],
)
def test_whatever_else_a_run_of_another_model_shows_is_accepted_by_a_run_of_trap_yamls_own(
    verdict: VerdictWord, kind: str
) -> None:
    run = two_models([task_result("t", outcomes(20, 0))], [task_result("t", outcomes(20, 0))])
    [said] = told(replace(run, verdict=verdict, reasons=[Reason(kind=kind, text="It moved.")]))

    assert said.endswith(f" If it is meant, set `model: {NEW}` in `trap.yaml`, run again and accept that run.")
    assert "baseline accept" not in said


def test_under_another_model_a_drop_of_the_base_as_well_is_no_drop_of_that_model() -> None:
    run = worse(control=("moved", drifts.FELL))
    run = replace(
        run, verdict="drift", layer="model", reasons=[Reason(kind="model", text=f"The model moved: {drifts.FELL}")]
    )

    assert told(run) == ["Run again to rule out chance. If it stays, pin another model version or mend the prompt."]


def test_a_drop_of_another_model_that_may_be_chance_calls_for_another_run() -> None:
    rule = Rule(metric="pass_rate", task="t", max_drop=0.0, on_noise="fail")
    run = two_models([task_result("t", outcomes(3, 0))], [task_result("t", outcomes(2, 1))], rules=[rule])

    [said] = told(drifts.moved(run, None, control_arm=("silent", drifts.NOT_ASKED)))
    assert said.startswith("Run again to see whether it stays")


def test_a_name_of_a_model_is_never_read_as_a_place_for_another() -> None:
    run = two_models([task_result("t", outcomes(20, 0))], [task_result("t", outcomes(8, 12))], new="{baseline}")

    assert "set `model: {baseline}` in" in told(drifts.moved(run, "change", control_arm=("steady", drifts.HOLDS)))[0]
