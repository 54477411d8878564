"""View → sections: what stands below the metric table, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evaluator.reports import tables
from evaluator.reports.numbers import counted
from evaluator.reports.tables import Section
from evaluator.reports.view_model import CaseRow, Listing, View

_OPEN_ROWS = 10


def sections(view: View) -> list[Section]:
    """What there is to show, in the order of the report; a section without rows is left out."""
    return [_tidy(section, view) for section in _all_sections(view) if section.rows or section.more]


def witnesses(view: View) -> Section | None:
    """What each witness says, which stands above all figures; None where a result has none."""
    if not view.witnesses:
        return None
    title = f"What moved: {view.moved}" if view.moved else "What moved"
    return replace(tables.witnesses(title, view.witnesses), open=not view.calm)


def models(view: View) -> Section | None:
    """The table of several models, which stands above all sections; None where there is one model."""
    return _tidy(tables.models(view.models), view) if view.models else None


def _tidy(section: Section, view: View) -> Section:
    """Where there is only one task, naming it in every row is noise."""
    if view.several_tasks or "task" not in section.columns:
        return section
    place = section.columns.index("task")
    rows = [[*row[:place], *row[place + 1 :]] for row in section.rows]
    return replace(section, columns=[*section.columns[:place], *section.columns[place + 1 :]], rows=rows)


def _all_sections(view: View) -> Iterator[Section]:
    drift, unclear = view.verdict == "drift", view.verdict == "inconclusive"
    yield tables.lines("More reasons", view.more_reasons)
    yield from _candidate(view)
    drifted = tables.lines("Stored verdicts that today’s scorers do not give again", view.validator_drift)
    yield replace(drifted, open=True)
    yield from _open_cases("Regressed cases", "regressed", view.regressed)
    if view.rests_on_failed:
        yield from _open_cases(_failed_title(view), "failed", view.failed)
    else:
        yield replace(tables.cases(_failed_title(view), view.failed), listed=True)
    yield replace(tables.flips(view.flips), listed=True)
    yield tables.cases("Newly fixed cases", view.fixed, before=True)
    yield tables.figures("Other figures", view.other_figures)
    yield replace(tables.coverage(view.coverage), open=unclear)
    yield replace(tables.unpaired(view.unpaired), open=unclear)
    yield tables.modes(view.modes)
    yield tables.slices(view.slices)
    yield replace(tables.canaries(view.canaries), open=drift)
    yield replace(tables.lines("What differs from the baseline", view.fingerprint), open=drift)
    yield replace(tables.lines("Warnings", view.warnings), open=len(view.warnings) <= _OPEN_ROWS)
    yield tables.notes("Faults of the task", view.faults)
    yield tables.notes("Notes on the task", view.task_notes)
    for other in view.beside:
        yield from _other_model(other)
    yield tables.lines("Versions", view.versions)


def _candidate(view: View) -> Iterator[Section]:
    """What stands beside the baseline's model, where this one is another."""
    if view.duels is not None:
        yield tables.duels(view.duels)
        yield tables.modes_side_by_side(view.duels)
        yield tables.passed_by_one(view.duels)


def _other_model(view: View) -> Iterator[Section]:
    """What there is to see of a model beside the first, all of it folded."""
    suspect = view.verdict != "pass"
    for section in (
        replace(tables.cases("Regressed cases", view.regressed), listed=suspect),
        replace(tables.cases(_failed_title(view), view.failed), listed=suspect),
        tables.flips(view.flips),
        tables.figures("Figures", Listing([*view.figures, *view.other_figures.shown], view.other_figures.more)),
        tables.sentences("Its cases as a whole", view.sentences),
        tables.coverage(view.coverage),
        tables.unpaired(view.unpaired),
        tables.modes(view.modes),
    ):  # warnings stand at the top, each with its model
        yield replace(section, of=view.model)
    for section in _candidate(view):
        yield replace(section, open=False, listed=False, of=view.model)


def _failed_title(view: View) -> str:
    title = "Other failed cases" if view.compared else "Failed cases"
    passed = any(case.passes for case in view.failed.shown)
    return f"{title}, and passed ones that a rule is about" if passed else title


def _open_cases(title: str, what: str, cases: Listing[CaseRow]) -> Iterator[Section]:
    """The first cases unfolded; the others folded in a section of their own."""
    first, rest = cases.shown[:_OPEN_ROWS], cases.shown[_OPEN_ROWS:]
    section = tables.cases(title, cases)
    if not rest:
        yield replace(section, open=True)
        return
    yield replace(section, rows=tables.case_rows(first), more="", open=True)
    more = counted(len(cases) - len(first), f"more {what} case")
    yield replace(section, title=f"… and {more}", rows=tables.case_rows(rest))
