"""Run → View: what a report says is decided here and in the modules that this one calls. Pure."""

from __future__ import annotations

from evaluator.reports import (
    advice,
    candidate,
    cases,
    facts,
    figures,
    headline,
    models,
    reported,
    sections,
    sentences,
    verdict,
    witnesses,
)
from evaluator.reports.phrases import ended
from evaluator.reports.view_model import Listing, View
from evaluator.results import Run

# The first ones stand at the top; the others are folded, never left out.
_REASONS = 8


def view(run: Run, reported_by: str = "") -> View:
    """The whole report of a run, nothing left out. `reported_by`: who else made it, in words of our own, where nobody
    here has checked anything of it."""
    return reported.reported(_view(reported.claimed(run)), reported_by) if reported_by else _view(run)


def _view(run: Run) -> View:
    reasons = headline.reasons(run)
    duels = candidate.duels(run)
    return View(
        model=models.model_of(run),
        verdict=run.verdict,
        said=verdict.words(run),
        look=verdict.look(run),
        calm=verdict.is_calm(run),
        title=f"trapgate ({run.name})" if run.name else "trapgate",
        headline=headline.headline(run),
        notes=headline.notes(run),
        reasons=reasons[:_REASONS],
        more_reasons=Listing(reasons[_REASONS:]),
        advice=advice.advice(run),
        witnesses=witnesses.witness_rows(run),
        moved=witnesses.summary(run),
        models=models.model_rows(run),
        fixes=models.fixes(run),
        figures=figures.figure_rows(run),
        other_figures=figures.other_figures(run),
        facts=facts.facts(run),
        sentences=sentences.task_sentences(run),
        validator_drift=Listing(run.comparison.validator_drift if run.comparison is not None else ()),
        regressed=cases.regressed(run),
        failed=cases.failed(run),
        fixed=cases.fixed(run),
        flips=cases.flips(run),
        coverage=sections.coverage(run),
        unpaired=sections.unpaired(run),
        modes=candidate.beyond(sections.modes(run), duels),
        slices=sections.slices(run),
        canaries=sections.canaries(run),
        fingerprint=Listing(run.comparison.fingerprint if run.comparison is not None else ()),
        warnings=Listing([ended(reason.text) for reason in run.warnings if reason.kind != "note"]),
        faults=sections.faults(run),
        task_notes=sections.task_notes(run),
        versions=Listing(facts.versions(run)),
        footer=facts.footer(run),
        several_tasks=len(run.tasks) > 1,
        compared=run.comparison is not None,
        rests_on_failed=cases.rests_on_failed(run),
        candidates=candidate.lines(run),
        duels=duels,
        beside=[_view(each) for each in run.beside],
    )
