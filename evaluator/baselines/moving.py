"""When a run may become the baseline, and what becomes of the anchor. Pure.

A baseline is the ruler of every later run: one that is broken or has gaps would let regressions through. Somebody may
accept a run that did not pass, never one with gaps; a run moves the baseline by itself only where nothing is left to
say about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.baselines import BaselineState, Found, Unreadable
from evaluator.config.types import Config
from evaluator.errors import user_error
from evaluator.results import SCHEMA_VERSION, Acceptance, Anchor, Baseline, LayerWord, Run, models_of

BY_ITSELF = "trapgate"

_AGAIN = "Run again, and accept a run that is complete."


@dataclass(frozen=True)
class Unfit:
    """Why a run is no baseline: the code of the error, what is wrong, and how to mend it."""

    code: str
    what: str
    mend: str


def moved(previous: BaselineState, run: Run, accepted: Acceptance) -> Baseline:
    """`run` as the baseline after `previous`. An explicit acceptance starts anew, without an anchor; a move by itself
    keeps the anchor of `previous`, which is `previous` itself where it has none.

    Raises UserError `baseline-unreadable` where a move by itself would lose the anchor.
    """
    anchor = None
    if not accepted.explicit:
        if isinstance(previous, Unreadable):
            raise user_error(
                "baseline-unreadable",
                f"the baseline that this run would replace cannot be read: {previous.why}",
                where=previous.where,
                mend="Accept a run: `trapgate baseline accept --why …`.",
            )
        if isinstance(previous, Found):
            before = previous.baseline
            anchor = before.anchor or Anchor(accepted=before.accepted, run=before.run)
    return Baseline(schema_version=SCHEMA_VERSION, accepted=accepted, run=run, anchor=anchor)


def by_itself(at: str) -> Acceptance:
    """The acceptance of a run that moves the baseline by itself, at the time `at`."""
    return Acceptance(by=BY_ITSELF, at=at, why="the run passed with full coverage", explicit=False)


def unfit(run: Run, config: Config) -> Unfit | None:
    """Why nobody may accept `run` as the baseline of `config`, None where it is fit."""
    broken = next((fault for each in (run, *run.beside) for fault in _faults(each, config)), None)
    if broken is not None:
        return broken
    known = _models(config)
    foreign = [model for model in models_of(run) if model and known and model not in known]
    if foreign:
        what = f"it is of {', '.join(foreign)}, and {config.path} has {', '.join(known)}"
        return Unfit("accept-model", what, f"Change the model in {config.path} first, and run again.")
    left = [model for model in config.models if model not in models_of(run)]
    if left:
        what = f"it does not have every model of {config.path}: {', '.join(left)} is missing"
        return Unfit("accept-partial", what, "Run again without --model.")
    return None


def unfit_to_move(run: Run, config: Config, previous: BaselineState) -> str:
    """Why `run` may not become the baseline after `previous` by itself, in words; empty where it may."""
    return next(_doubts(run, config, previous), "")


def _doubts(run: Run, config: Config, previous: BaselineState) -> Iterator[str]:
    if run.verdict != "pass":
        yield f"its verdict is {run.verdict}"
    for model, layer in zip(models_of(run), _layers(run), strict=True):
        if layer is not None:
            of = f" of {model}" if run.beside else ""
            yield f"it passed with a warning that the {layer}{of} moved"
    if (fault := unfit(run, config)) is not None:
        yield fault.what
    for each in (run, *run.beside):
        yield from _gaps(each)
        yield from _lost(each)
    if isinstance(previous, Unreadable):
        yield f"the baseline that it would replace cannot be read: {previous.why}"
    if isinstance(previous, Found):
        lost = [model for model in models_of(previous.baseline.run) if model not in models_of(run)]
        # Another model in the place of the only one is a change that was judged; one of several is lost.
        if lost and previous.baseline.run.beside:
            yield f"the baseline has models that this run does not: {', '.join(lost)}"
        if previous.baseline.run == run:
            yield "it is the baseline already"


def _layers(run: Run) -> list[LayerWord | None]:
    """What moved by the run of each model: where they differ, the run as a whole names none."""
    first = run.alone.layer if run.alone is not None else None
    return [first or run.layer, *(each.layer for each in run.beside)]


def _models(config: Config) -> list[str]:
    """What `config` evaluates. A command stands where a model would."""
    if config.models:
        return config.models
    if config.model:
        return [config.model]
    return [str(config.command.program)] if config.command is not None else []


def _lost(run: Run) -> Iterator[str]:
    """Critical cases that this run does not pass once: as the baseline they would guard nothing from then on."""
    for task in run.tasks:
        ids = [case.id for case in task.cases if case.critical and not any(one.passed for one in case.attempts)]
        if ids:
            yield f"critical cases fail in it ({task.name}: {_in_short(ids)}), which somebody has to accept"


def _gaps(run: Run) -> Iterator[str]:
    """What the comparison left out: these cases would leave the baseline unseen."""
    for task in run.comparison.tasks if run.comparison is not None else []:
        for what, ids in (("removed", task.removed), ("changed", task.not_comparable)):
            if ids:
                yield f"cases of the baseline were {what} ({task.task}: {_in_short(ids)}), which somebody has to accept"


def _faults(run: Run, config: Config) -> Iterator[Unfit]:
    if run.unchanged:
        what = "no model was asked, for nothing that matters differs from the baseline: its answers are that one's own"
        yield Unfit("accept-unchanged", what, "Run again without --skip-unchanged.")
    guarding = [
        f"{task.name}/{case.id}"
        for task in run.tasks
        for case in task.cases
        if case.critical and case.id in task.faults
    ]
    if guarding:
        what = f"critical cases that can never pass would guard nothing ({_in_short(guarding)})"
        yield Unfit("accept-incomplete", what, "`trapgate validate` says what to mend.")
    broken = [canary.id for canary in run.canaries.cases if not canary.ok]
    if broken or not run.canaries.cases:
        what = f"its canaries failed ({', '.join(broken) or 'none was scored'}): the validators cannot be trusted"
        yield Unfit("accept-drift", what, "Find out why first: `trapgate canaries`.")
    if any(a.transcript and a.transcript.cached for t in run.tasks for c in t.cases for a in c.attempts):
        what = "some of its answers come from the cache: they are older than the run and cost nothing"
        yield Unfit("accept-cached", what, "Run again without --cache.")
    yield from _left_out(run, config)


def _left_out(run: Run, config: Config) -> Iterator[Unfit]:
    names, wanted = {task.name for task in run.tasks}, {task.name: task.repeats for task in config.tasks}
    if run.selection is not None or names != wanted.keys():
        what = f"it holds the tasks {', '.join(sorted(names))}; {config.path} has {', '.join(sorted(wanted))}"
        yield Unfit("accept-partial", what, _AGAIN)
        return
    few = [f"{task.name} {task.repeats} of {n}" for task in run.tasks if task.repeats < (n := wanted[task.name])]
    if few:
        what = f"it made fewer attempts a case than {config.path} asks for ({', '.join(few)})"
        yield Unfit("accept-incomplete", what, _AGAIN)
    short = [f"{task.name} {task.scored} of {task.planned}" for task in run.tasks if task.scored < task.planned]
    if short or not run.tasks:
        what = f"not every planned attempt was scored ({', '.join(short) or 'no task'})"
        yield Unfit("accept-incomplete", what, _AGAIN)


def _in_short(ids: list[str], most: int = 5) -> str:
    return ", ".join(ids[:most]) + (f" and {len(ids) - most} more" if len(ids) > most else "")
