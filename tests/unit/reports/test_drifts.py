"""What a report says of layers that moved, of noise, and of what somebody accepted."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from msgspec.structs import replace

from evaluator.models import together
from evaluator.reports import comment, page, terminal
from evaluator.reports.words import WITNESSES
from evaluator.results import Acceptance, Attempt, CanaryResult, Evidence, LiveCanaries, Reason, Run
from evaluator.transcript import Usage
from tests.unit.reports import builders, drifts, rendered
from tests.unit.reports.builders import build, outcomes, task_result
from tests.unit.reports.rendered import LINKED_BY_GITHUB
from tests.unit.reports.test_escape import hostile

COMMAND_OR_LABEL = (
    "accept a new baseline with `trapgate baseline accept` or, on a pull request, by the label `trapgate:accept`"
)
MODEL_FELL = (
    "Run again to rule out chance. If it stays, pin another model version or mend the prompt; to live with it, set the "
    "label `trapgate:accept` on a pull request or accept a new baseline with `trapgate baseline accept`."
)


def first_line(run: Run) -> str:
    return comment.render(run).partition("\n")[0]


def notes(run: Run) -> str:
    return comment.render(run).splitlines()[2]


def advice(run: Run) -> list[str]:
    lines = comment.render(run).splitlines()
    return [line.removeprefix("**What to do:** ") for line in lines if line.startswith("**What to do:**")]


def block(run: Run) -> tuple[str, list[str]]:
    """The line that opens the block of the witnesses, and its rows."""
    text = comment.render(run)
    at = text.index("<summary>What moved")
    opening = text[text.rindex("\n", 0, at) + 1 : text.index("\n", at)]
    inside = text[at : text.index("</details>", at)]
    return opening, [line for line in inside.splitlines() if line.startswith("| ")][1:]


def test_each_witness_has_a_line_with_the_layer_that_it_vouches_for_in_the_order_of_the_layers() -> None:
    opening, rows = block(drifts.changed())

    assert opening == "<details open><summary>What moved: the change</summary>"
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| =\u00a0steady", "validators", "replay canaries"],
        ["| =\u00a0steady", "validators", "baseline scored again"],
        ["| =\u00a0steady", "provider", "live canaries"],
        ["| =\u00a0steady", "model", "control arm"],
    ]
    assert rows[3].endswith(
        "base now 0.97, change now 0.06: the base still does better than the change, p = 0.00012. |"
    )


def test_the_block_stands_above_every_figure() -> None:
    text = comment.render(drifts.model_moved())

    assert text.index("What moved: the model") < text.index("| | metric |")
    assert "🧭\u00a0moved | model | control arm" in text


def test_what_a_witness_says_is_told_apart_by_words_and_not_by_colour() -> None:
    for _, row in zip(range(3), ("steady", "moved", "silent"), strict=True):
        assert f"{row}: " in terminal.render(_all_states())
        assert f"{row} | " in comment.render(_all_states())
        assert re.search(f"<td>[^<]*{row}</td>", page.render(_all_states()))


def _all_states() -> Run:
    return drifts.moved(
        drifts.dropped(), None, live_canaries=("moved", "One moved."), control_arm=("silent", "No key.")
    )


def test_on_a_plain_pass_the_block_is_folded_and_its_title_sums_it_up() -> None:
    opening, rows = block(drifts.calm())

    assert opening == "<details><summary>What moved: nothing, by 3 of 4 witnesses</summary>"
    assert len(rows) == 4
    assert "\n  What moved: nothing, by 3 of 4 witnesses\n" in terminal.render(drifts.calm())
    assert "replay canaries" not in terminal.render(drifts.calm())


def test_a_terminal_gives_each_witness_a_line_of_its_own() -> None:
    lines = terminal.render(drifts.provider_moved()).splitlines()

    assert "  What moved: the provider" in lines
    assert "    = steady: replay canaries (validators): All 412 recorded answers are judged as they must be." in lines
    assert [
        line for line in lines if line.startswith("    ~ moved: live canaries (provider): 1 of 7 came out otherwise.")
    ]


def test_a_page_shows_the_witnesses_too() -> None:
    shown = rendered.Page(page.render(drifts.changed()))

    assert "What moved: the change" in shown.prose
    assert "control arm" in shown.prose


def test_a_result_without_witnesses_has_no_block() -> None:
    for run in (builders.regressing(), builders.passing()):
        assert "What moved" not in comment.render(run) + terminal.render(run) + page.render(run)


def test_a_pass_under_which_a_witness_moved_unfolds_the_block() -> None:
    run = drifts.moved(builders.passing(), None, live_canaries=("moved", "One is refused now."))

    assert block(run)[0] == "<details open><summary>What moved</summary>"


def test_witnesses_of_several_models_are_shown_once_where_they_agree_and_named_where_they_do_not() -> None:
    run = _side_by_side()
    _, rows = block(run)

    assert len(rows) == 5
    assert sum("replay canaries" in row for row in rows) == 1
    assert f"| control arm | `a/one` {drifts.IDLE} |" in rows[3]
    assert "| control arm | `b/two` 12 cases of refunds asked again" in rows[4]
    assert f"    ? silent: control arm (model): a/one: {drifts.IDLE}" in terminal.render(run).splitlines()


def _side_by_side() -> Run:
    good = build([task_result("refunds", outcomes(20, 0))], [task_result("refunds", outcomes(20, 0))])
    one = drifts.moved(replace(good, subject=builders.Subject(model="a/one")), None)
    two = replace(drifts.changed(), subject=builders.Subject(model="b/two"))
    run = together([one, two], [])
    assert run.alone is not None
    return replace(run, layer="change")


def test_of_several_models_the_first_lines_say_which_layer_moved_under_which() -> None:
    run = _side_by_side()

    assert notes(run).startswith("By model: regression (the change) b/two; pass a/one.")
    assert first_line(run).startswith(
        "### ❌ trapgate: regression — the change is the cause: b/two: refunds `pass_rate`"
    )


def test_the_layer_of_the_first_model_is_its_own_and_not_that_of_all() -> None:
    run = _side_by_side()
    assert run.alone is not None
    run = replace(run, alone=replace(run.alone, verdict="drift", layer="model"))

    assert notes(run).startswith("By model: drift (the model) a/one; regression (the change) b/two.")


def test_a_regression_that_the_control_arm_vouches_for_says_that_the_change_is_the_cause() -> None:
    assert first_line(drifts.changed()) == (
        "### ❌ trapgate (refund-agent): regression — the change is the cause: refunds `pass_rate` fell 1.00 → 0.40 "
        "(12 of 20 cases regressed, p < 0.001)"
    )
    assert advice(drifts.changed())[0].startswith("Mend the change: asked again today, the base still does well")


def test_a_regression_that_no_control_arm_vouches_for_does_not_blame_the_change() -> None:
    run = drifts.moved(drifts.dropped(), "change")

    assert "the cause" not in first_line(run)
    assert advice(run) == ["Mend the change; the cases are below."]


def test_where_the_control_arm_is_silent_the_first_line_says_that_the_layer_is_not_known_and_why() -> None:
    run = drifts.unexplained()

    assert first_line(run).endswith(
        "; which layer moved is not known: the control arm was not asked: `OPENAI_API_KEY` is not set"
    )
    assert block(run)[0] == "<details open><summary>What moved: not known</summary>"
    assert advice(run)[0].startswith("Read below why the control arm is silent.")


def test_a_result_of_old_is_not_said_to_leave_the_layer_open() -> None:
    assert "not known" not in comment.render(builders.regressing())


def test_a_broken_floor_or_a_recording_leaves_no_layer_open() -> None:
    floor = builders.Rule(metric="pass_rate", task="t", min=0.9)
    broken = build([task_result("t", outcomes(0, 20))], rules=[floor])
    recorded = build(
        [task_result("t", outcomes(0, 20), deterministic=True)], [task_result("t", outcomes(20, 0), deterministic=True)]
    )

    for run in (broken, recorded):
        assert run.verdict == "regression"
        assert "not known" not in comment.render(drifts.moved(run, None, control_arm=("silent", drifts.NOT_ASKED)))


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (drifts.validators_moved(), "the validators moved, not the model: canary numeric-invented-unit is judged"),
        (drifts.provider_moved(), "the provider moved, not the change: refunds `pass_rate` fell 1.00 → 0.40; the base"),
        (drifts.model_moved(), "the model moved, not the change: refunds `pass_rate` fell 1.00 → 0.40; the base does"),
    ],
)
def test_a_drift_names_its_layer_once(run: Run, said: str) -> None:
    assert f"drift — {said}" in first_line(run)
    assert len(re.findall("(?i)the (?:model|provider|validators) moved", first_line(run))) == 1


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (drifts.model_moved(), "drift — the model moved, not the change: {}; the base does as badly now as the change"),
        (
            drifts.provider_moved(),
            "drift — the provider moved, not the change: {}; the base does as badly now as the change; 1 more reason "
            "below",
        ),
        (
            drifts.nothing_changed(),
            "drift — the model moved, not the change: {}; nothing of what is asked differs from the baseline",
        ),
        (
            drifts.softened(drifts.model_moved()),
            "pass, although the model moved — {}; the base does as badly now as the change",
        ),
        (
            drifts.softened(drifts.nothing_changed()),
            "pass, although the model moved — {}; nothing of what is asked differs from the baseline",
        ),
    ],
)
def test_where_a_layer_moved_and_cases_got_worse_the_first_line_says_what_fell_and_why_in_short(
    run: Run, said: str
) -> None:
    assert first_line(run).endswith(said.format("refunds `pass_rate` fell 1.00 → 0.40"))


def test_the_figures_of_the_control_arm_stand_in_its_own_line_alone() -> None:
    for run in (drifts.provider_moved(), drifts.model_moved()):
        assert comment.render(run).count("12 cases of refunds asked again") == 1
    assert "\n- refunds `pass_rate` fell 1.00 → 0.40; the base does" in comment.render(drifts.provider_moved())


def test_a_critical_case_that_fell_under_a_moved_layer_is_named() -> None:
    run = drifts.model_moved()
    text = "refunds: the critical case call-09 passed in the baseline and fails now."
    run = replace(
        run,
        rules=[replace(rule, outcome="ok") for rule in run.rules],
        warnings=[Reason(kind="critical", text=text, task="refunds")],
    )

    for each in (run, replace(run, verdict="pass", reasons=[])):
        assert "refunds: the critical case `call-09` passed in the baseline and fails now; the base" in first_line(each)


def test_a_warning_of_a_rule_is_not_what_fell() -> None:
    run = drifts.model_moved()
    rules = [replace(rule, outcome="warn") for rule in run.rules]
    warnings = [Reason(kind="rule", text=rule.text, task="refunds") for rule in rules]

    assert "fell" not in first_line(replace(run, rules=rules, warnings=warnings))


def test_a_softened_drift_without_a_drop_says_what_moved_and_that_the_rules_hold() -> None:
    run = drifts.softened(drifts.moved(builders.provider_drifting(), "model"))

    assert first_line(run).startswith(
        "### ⚠️ trapgate: pass, although the model moved — another model answers under the same name: `gpt-4.1-mini-"
    )
    assert first_line(run).endswith("; 1 rule holds, json-call `pass_rate` stayed at 0.35")


def test_a_softened_drift_still_says_what_can_be_done() -> None:
    assert advice(drifts.softened(drifts.model_moved())) == [MODEL_FELL]
    without = drifts.softened(drifts.moved(builders.provider_drifting(), "model"))
    assert advice(without)[0].startswith("Nothing in this change explains it. Name a dated version of the model")


def test_of_several_models_what_fell_names_the_model_under_which_it_fell() -> None:
    good = build([task_result("refunds", outcomes(20, 0))], [task_result("refunds", outcomes(20, 0))])
    one = drifts.moved(replace(good, subject=builders.Subject(model="a/one")), None)
    two = replace(drifts.model_moved(), subject=builders.Subject(model="b/two"))

    assert "the model moved, not the change: b/two: refunds `pass_rate` fell 1.00 → 0.40; the base does" in first_line(
        together([one, two], [])
    )
    assert " — b/two: refunds `pass_rate` fell 1.00 → 0.40; the base does as badly now" in first_line(
        replace(together([one, drifts.softened(two)], []), layer="model")
    )


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [
        ("failed wrong_type score=0 | $.a:type", "passed score=1", "is judged passed, must fail (`wrong_type`)"),
        ("passed score=1", "failed wrong_value score=0", "is judged failed (`wrong_value`), must pass"),
        ("failed a score=0", "failed b score=0", "is judged failed (b), must fail (a)"),
        ("passed score=1", "passed score=0.9", "is judged passed, as it must be, with other figures or findings"),
        ("passed score=1", "crashed with KeyError: 'x'", "crashed with KeyError: 'x', must pass"),
        ("refused duplicate at 1:3", "value 1", "value 1, must be: refused duplicate at 1:3"),
        (
            "every expected answer passes",
            f"6 of 6 otherwise: {', '.join(f'case-{n} (score 0)' for n in range(6))}",
            "6 of 6 otherwise, must be: every expected answer passes",
        ),
    ],
)
def test_a_failed_canary_is_said_by_its_verdicts_and_its_words_stay_in_the_table(
    expected: str, got: str, said: str
) -> None:
    canary = CanaryResult(id="json/a_b", expected=expected, got=got, ok=False)
    results = replace(builders.BROKEN_CANARIES, cases=[canary])
    run = build([task_result("t", outcomes(1, 0))], [task_result("t", outcomes(1, 0))], canaries=results)
    line = first_line(run)

    assert line.startswith("### 🧭 trapgate: drift — the validators moved, not the model: canary `json/a_b`")
    assert line.endswith(said)
    assert "json/a_b" in rendered.page(comment.render(run)).exact
    assert expected in rendered.page(comment.render(run)).exact
    assert got in rendered.page(comment.render(run)).exact


def test_nobody_is_told_to_accept_a_run_whose_canaries_failed() -> None:
    text = comment.render(builders.drifting())

    assert "2 more reasons" in text
    assert "accept a new baseline" not in text
    assert "`trapgate canaries`" in advice(builders.drifting())[0]
    assert len(advice(builders.drifting())) == 1


def test_the_words_of_a_provider_end_in_one_full_stop() -> None:
    said = "'anyOf' is not permitted.."
    run = drifts.moved(
        builders.passing(),
        "provider",
        verdict="drift",
        reasons=[Reason(kind="provider", text=said), Reason(kind="provider", text=said.replace("any", "one"))],
        live_canaries=("moved", f"1 of 7 live canaries moved: {said}"),
    )
    run = replace(run, warnings=[Reason(kind="note", text=said), Reason(kind="task", text=said)])

    assert ".." not in comment.render(run)
    assert "not permitted.\n" in comment.render(run)


def test_what_a_witness_says_is_a_sentence() -> None:
    run = drifts.moved(
        builders.passing(),
        None,
        live_canaries=("silent", "the baseline has no live canaries"),
        control_arm=("silent", "a/one could not be asked: no key"),
    )

    assert "| The baseline has no live canaries. |" in block(run)[1][2]
    assert "| a/one could not be asked: no key. |" in block(run)[1][3]


def test_the_layer_of_the_decision_counts_and_not_the_kind_of_the_reason() -> None:
    run = replace(drifts.model_moved(), layer="provider")

    assert "drift — the provider moved, not the change" in first_line(run)


@pytest.mark.parametrize("run", [drifts.provider_moved(), builders.provider_drifting()])
def test_the_advice_on_a_layer_that_moved_says_that_the_change_does_not_explain_it(run: Run) -> None:
    assert advice(run)[0].startswith("Nothing in this change explains it.")
    assert advice(run)[0].endswith(f" If it is meant, {COMMAND_OR_LABEL}.")


@pytest.mark.parametrize("run", [drifts.model_moved(), drifts.nothing_changed()])
def test_the_advice_on_a_model_that_does_worse_is_to_rule_out_chance_and_then_how_to_live_with_it(run: Run) -> None:
    assert advice(run) == [MODEL_FELL]


def test_no_label_is_offered_where_the_validators_moved_since_none_is_taken() -> None:
    moved = build(
        [task_result("t", outcomes(7, 13))],
        [task_result("t", outcomes(7, 13))],
        validator=["t/call-03 attempt 1: passed → failed (wrong_type)"],
    )

    [said] = advice(moved)
    assert said.endswith("If it is right now, accept a new baseline with `trapgate baseline accept`.")


def test_a_model_drift_under_which_no_figure_fell_says_that_nothing_got_worse() -> None:
    run = builders.provider_drifting()

    assert first_line(run).endswith("; nothing got worse")
    assert first_line(drifts.moved(run, "model")).endswith("; nothing got worse")


def test_nothing_is_said_to_hold_where_anything_fell_or_nothing_was_compared() -> None:
    run = builders.provider_drifting()
    assert run.comparison is not None
    [task] = run.comparison.tasks
    assert task.pass_rate is not None
    fell = replace(task, pass_rate=replace(task.pass_rate, difference=-0.05))
    warned = [Reason(kind="critical", text="t: the critical case x passed in the baseline and fails now.")]
    others = [
        replace(run, comparison=replace(run.comparison, tasks=[fell])),
        replace(run, comparison=replace(run.comparison, tasks=[replace(task, pass_rate=None)])),
        replace(run, rules=[replace(rule, outcome="warn") for rule in run.rules]),
        replace(run, warnings=warned),
        drifts.model_moved(),
        drifts.provider_moved(),
        drifts.validators_moved(),
    ]

    for each in others:
        assert "nothing got worse" not in first_line(each)


def _hidden(**said: tuple[str, str]) -> Run:
    """Nine of twenty cases were not scored, and of the others more fell than chance allows."""
    now: dict[str, list[Attempt]] = outcomes(5, 15)
    for n in range(12, 21):
        now[f"call-{n:02}"] = [builders.broken()]
    run = build([task_result("refunds", now)], [task_result("refunds", outcomes(20, 0))])
    return drifts.moved(run, None, **(said or {"control_arm": ("silent", drifts.NOT_ASKED)}))


def test_a_proven_drop_under_an_inconclusive_run_is_in_its_first_line_and_mended_first() -> None:
    run = _hidden()

    assert run.verdict == "inconclusive"
    assert re.match(
        r"### ❓ trapgate: inconclusive — 9 of 20 attempts have no answer: `rate_limit`: HTTP 429 after 5 tries; "
        r"besides, refunds "
        r"`pass_rate` fell 1\.00 → 0\.45 \(6 of 11 cases regressed, p = 0\.016\); 2 more reasons below",
        first_line(run),
    )
    assert advice(run)[0] == "Mend the change first: what fell is more than noise, whatever is still missing."
    assert advice(run)[1].startswith("Run again later, or with a smaller `limits.concurrency`")


def test_a_proven_drop_beside_a_reason_of_another_task_names_its_own() -> None:
    run = _hidden()
    first = Reason(kind="baseline", text="There is no baseline for the other task.")

    assert "; besides, refunds `pass_rate` fell 1.00" in first_line(replace(run, reasons=[first]))
    two = [replace(run, subject=builders.Subject(model=name)) for name in ("a/one", "b/two")]
    assert "; besides, a/one: refunds `pass_rate` fell 1.00" in first_line(together(two, []))


def test_an_inconclusive_run_without_a_proven_drop_says_nothing_of_one() -> None:
    hidden = _hidden()
    chance = [
        replace(rule, text=f"{rule.text.removesuffix('.')}; that is within noise at alpha 0.02.")
        for rule in hidden.rules
    ]
    warned = [replace(rule, outcome="warn") for rule in hidden.rules]

    for run in (builders.inconclusive(), replace(hidden, rules=chance), replace(hidden, rules=warned)):
        assert "besides" not in first_line(run)
        assert "Mend the change" not in comment.render(run)


def test_nobody_is_told_to_mend_a_change_where_the_base_does_as_badly() -> None:
    run = _hidden(control_arm=("moved", drifts.FELL))

    assert "besides, refunds `pass_rate` fell" in first_line(run)
    assert "Mend the change" not in comment.render(run)


def _blocked(fell: int, cases: int) -> Run:
    rule = builders.Rule(metric="pass_rate", task="t", max_drop=0.05, on_noise="fail")
    run = build([task_result("t", outcomes(cases - fell, fell))], [task_result("t", outcomes(cases, 0))], rules=[rule])
    assert run.verdict == "regression"
    return drifts.moved(run, None, control_arm=("silent", drifts.NOT_ASKED))


@pytest.mark.parametrize(("fell", "p"), [(1, "0.500"), (5, "0.031")])
def test_a_rule_that_blocks_without_evidence_says_so_and_asks_for_another_run(fell: int, p: str) -> None:
    run = _blocked(fell, 6)

    assert f"({fell} of 6 cases regressed, p = {p}; the rule blocks on any drop)" in first_line(run)
    [said] = advice(run)
    assert said.startswith("Run again to see whether it stays")
    assert "`on_noise: fail` blocks on any drop." in said


def test_a_rule_that_blocks_any_rise_says_rise() -> None:
    rule = builders.Rule(metric="failure_modes.wrong_value", task="t", max_rise=0.0, on_noise="fail")
    run = build([task_result("t", outcomes(2, 1))], [task_result("t", outcomes(3, 0))], rules=[rule])

    assert "; the rule blocks on any rise)" in first_line(run)


def test_the_same_rule_with_evidence_blocks_by_it_and_asks_for_the_control_arm() -> None:
    run = _blocked(8, 10)

    assert "p = 0.004)" in first_line(run)
    assert "on_noise" not in "".join(advice(run))
    assert advice(run)[0].startswith("Read below why the control arm is silent.")


def test_a_drop_without_evidence_that_the_control_arm_explains_is_to_be_mended() -> None:
    run = drifts.moved(_blocked(1, 3), "change", control_arm=("steady", drifts.HOLDS))

    assert advice(run)[0].startswith("Mend the change")


def test_an_inconclusive_run_whose_schemas_are_refused_says_so_first() -> None:
    run = drifts.refused()

    assert first_line(run).startswith(
        "### ❓ trapgate (refund-agent): inconclusive — the provider refuses a schema: 18 of 20 attempts have no answer"
    )
    [mend] = advice(run)
    assert mend.startswith("Ask the provider, or ask for structure by another mechanism (`structured`)")
    assert block(run)[0] == "<details open><summary>What moved: the provider</summary>"


def test_an_inconclusive_run_under_which_the_provider_moved_otherwise_names_no_schema() -> None:
    run = drifts.moved(builders.inconclusive(), "provider", live_canaries=("moved", "One is invalid now."))

    assert "inconclusive — the provider moved: json-call: 8 of 20" in first_line(run)


def test_cases_that_were_changed_or_removed_call_for_a_new_baseline() -> None:
    now = task_result("t", outcomes(20, 0), content={f"call-{n:02}": "other" for n in range(1, 6)})
    run = build([now], [task_result("t", outcomes(20, 0))])

    assert "comparison" in {reason.kind for reason in run.reasons}
    assert advice(run)[0] == (
        "Cases were changed or removed, so these cannot be compared. Bring them back. "
        f"If it is meant, {COMMAND_OR_LABEL}."
    )


def _without(number: int) -> Run:
    """The last cases of the baseline are gone."""
    kept = {case: attempts for case, attempts in outcomes(20, 0).items() if case <= f"call-{20 - number:02}"}
    return build([task_result("t", kept)], [task_result("t", outcomes(20, 0))])


def test_cases_that_were_removed_are_named_in_the_first_line_three_of_them_at_most() -> None:
    assert _without(2).verdict == "inconclusive"
    assert re.search("removed:? .?`call-19`, `call-20`", first_line(_without(2)))
    assert re.search("removed:? .?`call-16`, `call-17`, `call-18` and 2 more", first_line(_without(5)))


def test_cases_that_were_changed_are_named_in_the_first_line() -> None:
    now = task_result("t", outcomes(20, 0), content={f"call-{n:02}": "other" for n in range(1, 3)})

    assert "; changed: `call-01`, `call-02`; 1 more reason below" in first_line(
        build([now], [task_result("t", outcomes(20, 0))])
    )


def test_a_pass_from_which_cases_were_left_out_is_no_green_light() -> None:
    now = task_result("t", outcomes(20, 0), content={"call-01": "other"})
    changed = build([now], [task_result("t", outcomes(20, 0))])

    for run in (drifts.moved(_without(1), None), drifts.moved(changed, None)):
        assert run.verdict == "pass"
        assert first_line(run).startswith("### ⚠️ trapgate: pass, with cases left out — 1 rule holds")
        assert block(run)[0].startswith("<details open>")
    small = drifts.small_suite()
    assert small.comparison is not None
    part = replace(small.comparison.tasks[0], removed=["x"])
    both = replace(small, comparison=replace(small.comparison, tasks=[part]))
    assert "pass, with a possible drop and cases left out — no rule failed" in first_line(both)


def test_a_model_whose_cases_were_left_out_has_no_green_mark_in_the_table_of_models() -> None:
    good = build([task_result("t", outcomes(20, 0))], [task_result("t", outcomes(20, 0))])
    one, two = (
        replace(run, subject=builders.Subject(model=name))
        for run, name in ((good, "a/one"), (drifts.moved(_without(1), None), "b/two"))
    )
    text = comment.render(together([one, two], []))

    assert "\n| ✅ | `a/one` |" in text
    assert "\n| ⚠️ | `b/two` |" in text
    assert text.startswith("### ⚠️ trapgate: pass, with cases left out")


def test_an_accepted_verdict_stays_what_it_is_and_says_who_accepted_it() -> None:
    run = drifts.accepted()

    assert first_line(run).startswith(
        "### ❌ ☑️ trapgate (refund-agent): regression, accepted by octocat — the change is the cause: refunds"
    )
    assert notes(run).startswith("Accepted by octocat, 2026-05-05 09:12 UTC: label trapgate:accept on `#41`. Compared")
    assert terminal.render(run).startswith("trapgate (refund-agent): regression, accepted by octocat — the change")
    assert "<title>trapgate (refund-agent): regression, accepted by octocat</title>" in page.render(run)
    assert advice(run) == []


@pytest.mark.parametrize("name", drifts.ALL)
def test_no_accepted_run_looks_like_a_pass(name: str) -> None:
    run = drifts.accepted(drifts.ALL[name]())

    assert not re.match("### ✅ trapgate", first_line(run))
    assert f"{run.verdict}" in first_line(run)
    assert "accepted by octocat" in first_line(run)


def test_an_acceptance_without_a_name_is_still_shown() -> None:
    run = replace(drifts.changed(), accepted=Acceptance(by=" ", at="", why=""))

    assert "regression, accepted — the change" in first_line(run)
    assert notes(run).startswith("Accepted. Compared")


def test_an_unchanged_run_says_in_its_first_line_that_no_model_was_asked() -> None:
    run = drifts.unchanged()

    assert first_line(run) == (
        "### ✅ trapgate (refund-agent): pass — nothing that matters differs from the baseline: no model was asked; "
        "1 rule holds, refunds `pass_rate` stayed at 0.95"
    )
    assert notes(run).startswith("The baseline's own answers were judged again by today's rules.")


def test_what_the_baseline_cost_is_not_what_an_unchanged_run_cost() -> None:
    text = comment.render(drifts.unchanged())

    assert "34 of 34 canaries as expected · no model was asked · 1 min 01 s" in text
    assert "cost `$" not in text


def test_an_unchanged_run_that_a_new_floor_fails_says_both() -> None:
    floor = builders.Rule(metric="pass_rate", task="t", min=0.9)
    run = replace(drifts.moved(build([task_result("t", outcomes(0, 20))], rules=[floor]), None), unchanged=True)

    assert "regression — t `pass_rate`, min 0.9: it is 0.00" in first_line(run)
    assert notes(run).startswith("Nothing that matters differs from the baseline: no model was asked.")


def test_what_the_run_is_held_against_besides_the_baseline_is_in_the_first_lines() -> None:
    assert notes(drifts.anchored()) == (
        "Compared with trapgate-baselines at `3f2c1ab`, moved by itself 2026-05-04 02:00 UTC: the run passed. Also "
        "held against the last accepted baseline: accepted 2026-05-03 16:20 UTC by octocat: first level that we ship."
    )
    assert "Also held against" not in notes(drifts.changed())


def test_a_rule_against_the_accepted_baseline_is_told_from_the_same_rule_against_the_current_one() -> None:
    text = comment.render(drifts.anchored())

    assert "| ⚠️ | `pass_rate` | 0.90 [0.80, 0.95] | 0.87 [0.76, 0.93], n = 60 | −0.03 |" in text
    assert (
        "| ❌ | `pass_rate` since the accepted baseline | 1.00 | 0.87, n = 60 | −0.13 | 8 worse, 0 better of 60,"
        in text
    )
    assert "x  refunds pass_rate since the accepted baseline  1.00" in terminal.render(drifts.anchored(), width=200)
    assert "<code>pass_rate</code> since the accepted baseline</td>" in page.render(drifts.anchored())
    assert first_line(drifts.anchored()) == (
        "### ❌ trapgate: regression — the change is the cause: refunds `pass_rate` fell 1.00 → 0.87 since the "
        "accepted baseline (8 of 60 cases regressed, p = 0.008 after Holm)"
    )


def test_a_pass_takes_its_figure_from_the_rule_against_the_current_baseline() -> None:
    run = build([task_result("t", outcomes(20, 0))], [task_result("t", outcomes(20, 0))])
    since = replace(run.rules[0], anchor=True, baseline=0.5)

    assert first_line(replace(run, rules=[since, run.rules[0]])).endswith("2 rules hold, t `pass_rate` stayed at 1.00")


def test_drops_that_add_up_are_advised_on_as_such() -> None:
    assert len(advice(drifts.anchored())) == 1
    assert advice(drifts.anchored())[0].startswith("Small drops have added up since the last baseline that somebody")


def test_a_drop_that_is_too_much_by_itself_is_not_said_to_have_added_up() -> None:
    run = drifts.anchored()
    both = replace(run, rules=[replace(run.rules[0], outcome="fail"), run.rules[1]])

    assert advice(both)[0].startswith("Mend the change")


def _tested(**values: object) -> Run:
    run = drifts.dropped()
    assert run.comparison is not None
    evidence = replace(Evidence(test="sign-flip", n=60, worse=9, better=2, difference=-0.12, p=0.004), **values)
    part = replace(run.comparison.tasks[0], pass_rate=evidence)
    rule = replace(run.rules[0], evidence=evidence)
    return replace(run, rules=[rule], comparison=replace(run.comparison, tasks=[part]))


@pytest.mark.parametrize(
    ("p", "adjusted", "said"),
    [
        (0.004, 0.012, "p = 0.004, 0.012 after Holm over 3 tests"),
        (0.0001, 0.0003, "p < 0.001, the same after Holm over 3 tests"),
        (0.0005, 0.0015, "p < 0.001, 0.002 after Holm over 3 tests"),
        (0.00001, 0.5, "p < 0.001, 0.500 after Holm over 3 tests"),
    ],
)
def test_a_p_that_was_corrected_stands_with_its_correction_in_table_and_sentence(
    p: float, adjusted: float, said: str
) -> None:
    text = comment.render(_tested(p=p, adjusted=adjusted, family=3))

    assert f"9 worse, 2 better of 60, {said}; `max_drop` 0 |" in text
    assert f", {said} (sign-flip test, one-sided)" in text


def test_a_test_that_stood_alone_mentions_no_correction() -> None:
    assert "Holm" not in comment.render(_tested())


def test_clusters_are_counted_beside_the_cases_that_they_hold() -> None:
    text = comment.render(_tested(clusters=20))

    assert "9 worse, 2 better of 60 in 20 clusters, p = 0.004" in text
    assert "- `refunds`: 60 paired cases in 20 clusters, 1 attempt each; 9 regressed, 2 fixed;" in text
    assert "(9 of 60 cases in 20 clusters regressed, 2 fixed, p = 0.004)" in text
    assert "in 1 cluster," in comment.render(_tested(clusters=1))


def test_the_sentence_on_a_task_says_pairs_attempts_difference_interval_p_and_what_it_could_have_seen() -> None:
    text = comment.render(_tested(low=-0.2, high=-0.04, detectable=0.11, adjusted=0.008, family=2))

    assert (
        "- `refunds`: 60 paired cases, 1 attempt each; 9 regressed, 2 fixed; difference in `pass_rate` −0.12 "
        "[−0.20, −0.04], p = 0.004, 0.008 after Holm over 2 tests (sign-flip test, one-sided).\n"
    ) in text


@pytest.mark.parametrize(("adjusted", "is_said"), [(0.02, False), (0.021, True)])
def test_the_drop_that_these_cases_would_miss_is_said_only_where_none_was_proven(
    adjusted: float, is_said: bool
) -> None:
    text = comment.render(_tested(detectable=0.11, adjusted=adjusted, family=5))

    assert ("one-sided). A real drop under 0.11 would be missed more than one time in five.\n" in text) is is_said
    assert ("would be missed" in text) is is_said


def test_a_big_drop_in_few_cases_is_no_green_light() -> None:
    run = drifts.small_suite()

    assert run.verdict == "pass"
    assert first_line(run) == (
        "### ⚠️ trapgate: pass, with a possible drop — no rule failed; possible drop in t `pass_rate` 1.00 → 0.33, "
        "within noise (6 cases)"
    )
    assert "✅" not in comment.render(run)
    assert advice(run)[0].startswith("This can be noise or a real change")
    assert block(run)[0].startswith("<details open>")
    assert '<body class="yellow">' in page.render(run)


def test_a_warning_that_is_about_no_change_leaves_the_pass_green() -> None:
    run = build([task_result("t", outcomes(3, 2))], rules=[builders.Rule(metric="pass_rate", task="t", min=0.8)])

    assert first_line(run).startswith("### ✅ trapgate: pass — no rule failed; t `pass_rate` 0.60 may lie beyond")


def test_a_pass_that_only_warns_of_drift_says_which_layer_moved() -> None:
    run = drifts.moved(builders.passing(), "model", control_arm=("silent", drifts.IDLE))

    assert first_line(run).startswith("### ⚠️ trapgate: pass, although the model moved — 1 rule holds")
    assert block(run)[0] == "<details open><summary>What moved: the model</summary>"


def test_a_model_with_a_possible_drop_has_no_green_mark_in_the_table_of_models() -> None:
    good = build([task_result("t", outcomes(6, 0))], [task_result("t", outcomes(6, 0))])
    small = replace(drifts.small_suite(), subject=builders.Subject(model="b/two"))
    text = comment.render(together([replace(good, subject=builders.Subject(model="a/one")), small], []))

    assert "\n| ✅ | `a/one` |" in text
    assert "\n| ⚠️ | `b/two` |" in text
    assert text.startswith("### ⚠️ trapgate: pass, with a possible drop — no rule failed; b/two: possible drop in t")


@pytest.mark.parametrize(
    ("live", "control", "said"),
    [
        (Usage(input_tokens=200, output_tokens=104, cost_usd=0.0008), 0.0006, "plus `$0.0020` and 1,234 tokens"),
        (Usage(input_tokens=200, output_tokens=104), 0.0006, "plus at least `$0.0012` and 1,234 tokens"),
        (Usage(input_tokens=200, output_tokens=104, cost_usd=0.0008), None, "plus at least `$0.0008` and 1,234 tokens"),
        (Usage(), None, "plus an unknown cost and at least 930 tokens"),
        (None, None, "plus an unknown cost and at least 930 tokens"),
    ],
)
def test_what_the_witnesses_cost_is_added_to_no_total_and_unknown_stays_unknown(
    live: Usage | None, control: float | None, said: str
) -> None:
    text = comment.render(drifts.spending(live=live, control=control))

    assert f" · {said} for live canaries and the control arm · 1 min 01 s" in text
    assert "cost `$0.0120` · 8,200 tokens in, 1,400 out" in text


def test_only_the_witnesses_that_asked_a_model_are_said_to_have_cost_something() -> None:
    run = drifts.spending(live=None)
    alone = replace(run, control=None, live=replace(run.live or LiveCanaries(), usage=Usage(cost_usd=0.002)))

    assert " · plus `$0.0012` and 930 tokens for the control arm · " in comment.render(replace(run, live=None))
    assert " · plus `$0.0020` and an unknown number of tokens for live canaries · " in comment.render(alone)
    assert "plus" not in comment.render(replace(run, live=LiveCanaries(silent="no key"), control=None))


def test_of_several_models_the_witnesses_costs_are_added_up() -> None:
    usage = Usage(input_tokens=1, output_tokens=1, cost_usd=0.001)
    one, two = (
        replace(drifts.spending(live=usage), control=None, subject=builders.Subject(model=name)) for name in ("a", "b")
    )

    assert "plus `$0.0020` and 4 tokens for live canaries" in comment.render(together([one, two], []))


def test_what_the_change_changed_is_named_without_digests() -> None:
    run = drifts.changed()
    assert run.comparison is not None
    names = ["model", "params.seed", "system", "tools/refund", "tools/x"]

    assert notes(run).endswith("Changed since the baseline: the system prompt.")
    assert notes(replace(run, comparison=replace(run.comparison, subject=[*names, "tools/y"]))).endswith(
        "Changed since the baseline: the model, params.seed, the system prompt, tools/refund, tools/x and 1 more."
    )
    assert "1f2e3d4c5b6a" not in comment.render(run)
    assert "- system prompt changed" in comment.render(run)


@pytest.mark.parametrize("most", [3_000, 4_000, 8_000, 20_000])
def test_the_verdict_and_every_witness_stay_whatever_else_goes(most: int) -> None:
    bad, good = outcomes(0, 900), outcomes(900, 0)
    run = build([task_result("refunds", bad)], [task_result("refunds", good)])
    text = comment.render(drifts.moved(run, "change", control_arm=("steady", drifts.HOLDS)), max_bytes=most)

    assert len(text.encode()) <= most
    assert text.startswith(
        "### ❌ trapgate: regression — the change is the cause: refunds `pass_rate` fell 1.00 → 0.00"
    )
    assert all(f"| {name} |" in text for _, name in WITNESSES.values())
    assert text.count("<details") == text.count("</details>")


def test_a_witness_cannot_talk_the_others_out_of_the_comment() -> None:
    run = drifts.moved(drifts.dropped(), None, replay_canaries=("steady", "x " * 50_000), control_arm=("silent", "No."))

    assert all(f"| {name} |" in comment.render(run) for _, name in WITNESSES.values())


def _hostile(text: str) -> Run:
    run = drifts.anchored()
    assert run.comparison is not None
    said = {name: (state, text) for name, state in zip(WITNESSES, ("moved", "steady", "silent", "silent"), strict=True)}
    run = drifts.moved(run, None, reasons=[Reason(kind="rule", text=text, task="refunds"), *run.reasons], **said)
    other = drifts.moved(
        replace(drifts.calm(), subject=builders.Subject(model=text)), "model", control_arm=("moved", text)
    )
    comparison = replace(run.comparison or run.comparison, anchor=text, subject=[text], fingerprint=[text])
    return replace(
        together([run, other], []),
        comparison=comparison,
        layer=None,
        unchanged=True,
        accepted=Acceptance(by=text, at=text, why=text),
    )


_PLAIN = rendered.page(comment.render(_hostile("plain")))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(hostile)
@example("</details>\n\n| a | b |\n<!-- trapgate:comment -->@user #1 https://a.example")
@example("@octocat")
def test_hostile_words_of_witnesses_and_of_who_accepted_change_neither_tags_nor_tables(text: str) -> None:
    shown = rendered.page(comment.render(_hostile(text)))

    assert set(shown.tags) <= set(_PLAIN.tags) | {"code"}
    assert "a" not in shown.tags
    assert shown.attributes <= {"open", "align"}
    assert shown.tags.count("details") == shown.tags.count("summary")
    assert set(shown.columns) <= set(_PLAIN.columns)
    assert not shown.comments
    assert not LINKED_BY_GITHUB.search(shown.prose)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=30)
@given(hostile)
def test_hostile_words_of_witnesses_reach_neither_the_page_nor_the_log_as_code(text: str) -> None:
    shown = rendered.Page(page.render(_hostile(text)))
    plain = rendered.Page(page.render(_hostile("plain")))
    log = terminal.render(_hostile(text))

    assert set(shown.tags) <= set(plain.tags) | {"code"}
    assert shown.attributes == plain.attributes
    assert not shown.comments
    assert not [line for line in log.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in log
    assert all(line.isprintable() for line in log.split("\n"))


def test_a_mention_in_who_accepted_notifies_nobody() -> None:
    run = replace(drifts.changed(), accepted=Acceptance(by="@octocat", at="2026-05-05T09:12:44Z", why="@team agreed"))

    assert "regression, accepted by `@octocat` — " in first_line(run)
    assert "@" not in rendered.page(comment.render(run)).prose
