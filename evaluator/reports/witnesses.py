"""What the four witnesses say: which layer moved, and which is as it was."""

from __future__ import annotations

from evaluator.reports import numbers
from evaluator.reports.escape import shorten
from evaluator.reports.models import all_runs, model_of
from evaluator.reports.phrases import sentence
from evaluator.reports.verdict import layer_of, verdict_of
from evaluator.reports.view_model import WitnessRow
from evaluator.reports.words import LAYER_NAMES, STATES, WITNESSES, WitnessName, WitnessState
from evaluator.results import Run, Witness

_TEXT_BYTES = 400


def witness_rows(run: Run) -> list[WitnessRow]:
    """A row for each witness of each model; what witnesses of several models say alike stands once. Empty where a
    result has no witness."""
    said: dict[tuple[WitnessName, WitnessState, str], list[str]] = {}
    for each in all_runs(run):
        for witness in each.witnesses:
            said.setdefault((witness.name, witness.state, witness.text), []).append(model_of(each))
    runs = len(all_runs(run))
    order = list(WITNESSES)
    return [
        WitnessRow(
            look=STATES[state],
            state=state,
            layer=WITNESSES[name][0],
            name=WITNESSES[name][1],
            models=models if len(models) < runs else (),
            text=sentence(shorten(text, _TEXT_BYTES)),
        )
        for (name, state, text), models in sorted(said.items(), key=lambda item: order.index(item[0][0]))
    ]


def summary(run: Run) -> str:
    """What moved: "the model", "not known", "nothing, by 3 of 4 witnesses"; empty where the verdict rests on something
    else."""
    if run.layer is not None:
        return LAYER_NAMES[run.layer]
    if is_unexplained(run):
        return "not known"
    witnesses = [witness for each in all_runs(run) for witness in each.witnesses]
    if run.verdict != "pass" or any(witness.state == "moved" for witness in witnesses):
        return ""
    heard = sum(witness.state != "silent" for witness in witnesses)
    return f"nothing, by {numbers.count(heard)} of {numbers.counted(len(witnesses), 'witness', 'witnesses')}"


def vouches_for_change(run: Run) -> bool:
    """Whether the control arm says that the change is the cause: the base, asked again, still does well."""
    said = control_arm(run)
    return run.verdict == "regression" and run.layer == "change" and said is not None and said.state == "steady"


def is_unexplained(run: Run) -> bool:
    """Whether cases got worse and the control arm could not say why. A broken floor alone asks for no cause, and of
    recordings nobody can be asked."""
    said = control_arm(run)
    asked = {task.name for each in all_runs(run) for task in each.tasks if not task.deterministic}
    dropped = any(reason.kind in ("rule", "critical") and reason.task in asked for reason in run.reasons)
    return run.verdict == "regression" and run.layer is None and dropped and said is not None and said.state == "silent"


def control_arm(run: Run) -> Witness | None:
    """What the control arm says; of several models, that of the first one that the verdict rests on."""
    return next((witness for witness in decisive(run).witnesses if witness.name == "control_arm"), None)


def decisive(run: Run) -> Run:
    """The run of the first model that the verdict rests on."""
    same = (each for each in all_runs(run) if (verdict_of(each), layer_of(each)) == (run.verdict, run.layer))
    return next(same, run)
