"""View → sections: what stands below the metric table as plain tables and lists, the same for Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from evaluator.reports.numbers import NOTHING, count, counted
from evaluator.reports.view_model import CaseRow, FindingRow, Listing, TaskNote, View

_OPEN_ROWS = 10


@dataclass(frozen=True)
class Code:
    """A name or a value, to be shown exactly."""

    text: str


# Running text, something exact, or several of both side by side.
Piece = str | Code
Cell = Sequence[Piece]
Row = Sequence[Cell]


@dataclass(frozen=True)
class Section:
    """`title` is our own words, for it stands where Markdown is not read. No `columns`: a list of single cells.
    `more`: rows that were left out. `open`: what the verdict rests on; `listed`: shown where nothing can be folded."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    more: str = ""
    open: bool = False
    listed: bool = False


def sections(view: View) -> list[Section]:
    """What there is to show, in the order of the report; a section without rows is left out."""
    shown = [section for section in _all_sections(view) if section.rows or section.more]
    return shown if view.several_tasks else [_without_task(section) for section in shown]


def _without_task(section: Section) -> Section:
    """Where there is only one task, naming it in every row is noise."""
    if not section.columns or section.columns[0] != "task":
        return section
    return replace(section, columns=section.columns[1:], rows=[row[1:] for row in section.rows])


def _all_sections(view: View) -> Iterator[Section]:
    drift, unclear = view.verdict == "drift", view.verdict == "inconclusive"
    yield _list("More reasons", view.more_reasons, is_open=False)
    yield _list("Stored verdicts that today’s scorers do not give again", view.validator_drift, is_open=True)
    yield from _open_cases("Regressed cases", "regressed", view.regressed)
    failed = "Other failed cases" if view.compared else "Failed cases"
    if view.rests_on_failed:
        yield from _open_cases(failed, "failed", view.failed)
    else:
        yield _cases(failed, view.failed, listed=True)
    yield _cases("Newly fixed cases", view.fixed)
    yield Section(
        title="Coverage: attempts without a verdict",
        columns=("task", "scored", "planned", "share", "what kept the others"),
        rows=[
            (_code(row.task), (row.scored,), (row.planned,), (row.share,), (_joined(row.why, "; ") or NOTHING,))
            for row in view.coverage.shown
        ],
        more=_more(view.coverage),
        open=unclear,
    )
    yield Section(
        title="Cases that were not compared",
        columns=("task", "why", "cases"),
        rows=[(_code(row.task), (row.what,), _names(row.names)) for row in view.unpaired.shown],
        more=_more(view.unpaired),
        open=unclear,
    )
    yield _modes(view)
    yield Section(
        title="Slices",
        columns=("task", "slice", "scored", "pass_rate", "other figures"),
        rows=[
            (_code(row.task), _code(row.name), (row.scored,), (row.pass_rate,), (row.others or NOTHING,))
            for row in view.slices.shown
        ],
        more=_more(view.slices),
    )
    yield Section(
        title="Canaries that scored otherwise than they must",
        columns=("canary", "expected", "got"),
        rows=[(_code(row.id), _code(row.expected), _code(row.got)) for row in view.canaries.shown],
        more=_more(view.canaries),
        open=drift,
    )
    yield _list("What differs from the baseline", view.fingerprint, is_open=drift)
    yield _list("Warnings", view.warnings, is_open=len(view.warnings) <= _OPEN_ROWS)
    yield _notes("Faults of the task", view.faults)
    yield _notes("Notes on the task", view.task_notes)
    yield _list("Versions", view.versions, is_open=False)


def _list(title: str, lines: Listing[str], *, is_open: bool) -> Section:
    rows = [((line,),) for line in lines.shown]
    return Section(title=_counted_title(title, lines), columns=(), rows=rows, more=_more(lines), open=is_open)


def _notes(title: str, notes: Listing[TaskNote]) -> Section:
    rows = [((*_code(note.task), *_code(note.name), note.text),) for note in notes.shown]
    return Section(title=_counted_title(title, notes), columns=(), rows=rows, more=_more(notes))


def _open_cases(title: str, what: str, cases: Listing[CaseRow]) -> Iterator[Section]:
    """The first cases unfolded; the others folded in a section of their own."""
    first, rest = cases.shown[:_OPEN_ROWS], cases.shown[_OPEN_ROWS:]
    section = _cases(title, cases)
    if not rest:
        yield replace(section, open=True)
        return
    yield replace(section, rows=_rows(first), more="", open=True)
    more = counted(len(cases) - len(first), f"more {what} case")
    yield replace(section, title=f"… and {more}", rows=_rows(rest))


def _cases(title: str, cases: Listing[CaseRow], *, listed: bool = False) -> Section:
    return Section(
        title=_counted_title(title, cases),
        columns=("task", "case", "mode", "path", "wanted", "got"),
        rows=_rows(cases.shown),
        more=_more(cases),
        listed=listed,
    )


def _rows(cases: Sequence[CaseRow]) -> list[Row]:
    return [row for case in cases for row in _case_rows(case)]


def _modes(view: View) -> Section:
    known = any(row.baseline != NOTHING for row in view.modes.shown)
    return Section(
        title="Failure modes",
        columns=("task", "mode", "attempts", "share", *(["share in the baseline"] if known else [])),
        rows=[
            (_code(r.task), _code(r.mode), (r.attempts,), (r.share,), *([(r.baseline,)] if known else []))
            for r in view.modes.shown
        ],
        more=_more(view.modes),
    )


def _case_rows(case: CaseRow) -> list[Row]:
    """One row for each finding; the case is named in the first one."""
    name: Cell = [Code(case.id), *(["critical"] if case.critical else []), *([case.rates] if case.rates else [])]
    mode = _code(case.mode) or (NOTHING,)
    found: list[Row] = [_finding(row) for row in case.findings.shown]
    if case.findings.more:
        found.append((("…",), (f"and {counted(case.findings.more, 'more finding')}",), ()))
    found = found or [((NOTHING,), (NOTHING,), (NOTHING,))]
    first, *rest = found
    return [(_code(case.task), name, mode, *first), *(((), (), (), *row) for row in rest)]


def _finding(row: FindingRow) -> Row:
    got: Cell = [*_code(row.got), *([row.note] if row.note else [])]
    return ((Code(row.path), f"({row.keyword})"), _code(row.wanted) or (NOTHING,), got or (NOTHING,))


def _code(text: str) -> Cell:
    return (Code(text),) if text else ()


def _names(names: Listing[str]) -> Cell:
    pieces: list[Piece] = [Code(name) for name in names.shown]
    return [*pieces, _more(names)] if names.more else pieces


def _joined(lines: Listing[str], separator: str) -> str:
    return separator.join([*lines.shown, *([_more(lines)] if lines.more else [])])


def _more(listing: Listing[object]) -> str:
    if not listing.more:
        return ""
    return f"… and {count(listing.more)} more" if listing.shown else f"{count(listing.more)}, not shown here"


def _counted_title(title: str, listing: Listing[object]) -> str:
    return f"{title} ({count(len(listing))})"
