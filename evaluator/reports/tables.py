"""Rows → sections: each table and list of a report as cells, the same for Markdown, HTML and a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.reports.numbers import NOTHING, count, counted
from evaluator.reports.view_model import (
    CanaryRow,
    CaseRow,
    CoverageRow,
    Duels,
    FigureRow,
    FindingRow,
    FlipRow,
    Listing,
    ModelRow,
    ModeRow,
    NamedList,
    SliceRow,
    TaskNote,
    TaskSentence,
    WitnessRow,
)
from evaluator.reports.words import Look


@dataclass(frozen=True)
class Code:
    """A name or a value, to be shown exactly."""

    text: str


# Running text, something exact, a mark, or several of them side by side.
Piece = str | Code | Look
Cell = Sequence[Piece]
Row = Sequence[Cell]


@dataclass(frozen=True)
class Section:
    """`title` is our own words, for it stands where Markdown is not read; `of`, a name from outside, is shown as code
    after it, then another that it stands `beside`. No `columns`: a list of single cells. `more`: rows that were left
    out. `open`: what the verdict rests on; `listed`: shown where nothing can be folded."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    more: str = ""
    open: bool = False
    listed: bool = False
    of: str = ""
    beside: str = ""


def witnesses(title: str, rows: Sequence[WitnessRow]) -> Section:
    """One row for each witness."""
    return Section(
        title=title,
        columns=("", "layer", "witness", "what it says"),
        rows=[((row.look,), (row.layer,), (row.name,), (*map(Code, row.models), row.text)) for row in rows],
    )


def models(rows: Sequence[ModelRow]) -> Section:
    """One row for each model and task, without the columns in which no model has anything."""
    columns: list[tuple[str, list[Cell]]] = [
        ("", [(row.look,) for row in rows]),
        ("model", [_code(row.model) for row in rows]),
        ("task", [_code(row.task) for row in rows]),
        ("all-k pass rate", [(row.all_k,) for row in rows]),
        ("pass rate", [(row.pass_rate,) for row in rows]),
        ("tool", [(row.tool,) for row in rows]),
        ("argument", [(row.argument,) for row in rows]),
        ("order", [(row.order,) for row in rows]),
        ("extra calls", [(row.extra_calls,) for row in rows]),
        ("tokens in / out", [(row.tokens,) for row in rows]),
        ("cost per passed case", [(row.cost,) for row in rows]),
    ]
    used = [(title, cells) for title, cells in columns if any(tuple(cell) != (NOTHING,) for cell in cells)]
    cells = zip(*(column for _, column in used), strict=True)
    return Section(title="Models", columns=[title for title, _ in used], rows=list(cells))


def cases(title: str, rows: Listing[CaseRow], *, before: bool = False) -> Section:
    """What was wanted beside what came, a row for each finding; `before`: what came in the baseline."""
    then = " before" if before else ""
    columns = ("task", "case", f"mode{then}", "where", "wanted", f"got{then}")
    return Section(title=_counted_title(title, rows), columns=columns, rows=case_rows(rows.shown), more=_more(rows))


def case_rows(rows: Sequence[CaseRow]) -> list[Row]:
    """The rows of a table of cases; a case is named in its first one."""
    return [row for case in rows for row in _case_rows(case)]


def _case_rows(case: CaseRow) -> list[Row]:
    name: Cell = [Code(case.id), *(["critical"] if case.critical else []), *([case.rates] if case.rates else [])]
    mode = _code(case.mode) or (NOTHING,)
    found: list[Row] = [_finding(row, case.mode) for row in case.findings.shown]
    if case.findings.more:
        found.append((("…",), (f"and {counted(case.findings.more, 'more finding')}",), ()))
    found = found or [((NOTHING,), (NOTHING,), (NOTHING,))]
    first, *rest = found
    return [(_code(case.task), name, mode, *first), *(((), (), (), *row) for row in rest)]


def _finding(row: FindingRow, mode: str) -> Row:
    """The keyword is left out where it only repeats the failure mode of the case."""
    keyword = [f"({row.keyword})"] if row.keyword != mode else []
    got: Cell = [*_code(row.got), *([row.note] if row.note else [])]
    return ((Code(_where(row)), *keyword), _code(row.wanted) or (NOTHING,), got or (NOTHING,))


def _where(row: FindingRow) -> str:
    """ "step 3 issue_refund $.amount"; a call as a whole needs no path."""
    return row.about if row.about and row.path in ("", "$") else f"{row.about} {row.path}".strip()


def flips(rows: Listing[FlipRow]) -> Section:
    """Cases that cannot be relied on."""
    return Section(
        title=_counted_title("Cases that flip: passed in some attempts, failed in others", rows),
        columns=("task", "case", "passed", "failure modes"),
        rows=[
            (
                _code(row.task),
                [Code(row.id), *(["critical"] if row.critical else [])],
                (row.passed,),
                _modes_cell(row.modes),
            )
            for row in rows.shown
        ],
        more=_more(rows),
    )


def figures(title: str, rows: Listing[FigureRow]) -> Section:
    """Figures that do not stand in the table of the rules."""
    marks = any(row.icon for row in rows.shown)
    return Section(
        title=title,
        columns=("task", *([""] if marks else []), "metric", "baseline", "now", "change", "reading"),
        rows=[
            (
                _code(row.task),
                *([(Look(row.icon, row.sign, ""),)] if marks else []),
                (
                    Code(row.metric),
                    *(("in", Code(row.slice)) if row.slice else ()),
                    *((row.since,) if row.since else ()),
                ),
                (row.baseline,),
                (row.now,),
                (row.change,),
                (row.evidence,),
            )
            for row in rows.shown
        ],
        more=_more(rows),
    )


def coverage(rows: Listing[CoverageRow]) -> Section:
    """What was not scored, and why."""
    return Section(
        title="Coverage: attempts without a verdict",
        columns=("task", "scored", "planned", "share", "what kept the others"),
        rows=[
            (_code(row.task), (row.scored,), (row.planned,), (row.share,), (_joined(row.why, "; ") or NOTHING,))
            for row in rows.shown
        ],
        more=_more(rows),
    )


def unpaired(rows: Listing[NamedList]) -> Section:
    """What was not held against the baseline, and why."""
    return Section(
        title="Cases that were not compared",
        columns=("task", "why", "cases"),
        rows=[(_code(row.task), (row.what,), _names(row.names)) for row in rows.shown],
        more=_more(rows),
    )


def modes(rows: Listing[ModeRow]) -> Section:
    """The mix of failure modes."""
    known = any(row.baseline != NOTHING for row in rows.shown)
    return Section(
        title="Failure modes",
        columns=("task", "mode", "attempts", "share", *(["share in the baseline"] if known else [])),
        rows=[
            (_code(r.task), _code(r.mode), (r.attempts,), (r.share,), *([(r.baseline,)] if known else []))
            for r in rows.shown
        ],
        more=_more(rows),
    )


def duels(shown: Duels) -> Section:
    """Who is better on what, of another model and the baseline's; a task is named in its first row."""
    return Section(
        title="Candidate: figures",
        columns=("task", "metric", "baseline", "candidate", "better", "p after Holm", "cases", "shows from"),
        rows=[
            (
                _code(row.task) if row.task != before else (),
                (*_code(row.metric), *([row.what] if row.what else [])),
                *((text,) for text in (row.baseline, row.candidate, row.better, row.p, row.cases, row.shows)),
            )
            for before, row in zip([None, *(row.task for row in shown.rows.shown)], shown.rows.shown, strict=False)
        ],
        more=_more(shown.rows),
        open=True,
        of=shown.candidate,
        beside=shown.baseline,
    )


def modes_side_by_side(shown: Duels) -> Section:
    """How another model and the baseline's fail."""
    return Section(
        title="Candidate: failure modes",
        columns=("task", "mode", "baseline", "candidate"),
        rows=[(_code(row.task), _code(row.mode), (row.baseline,), (row.share,)) for row in shown.modes.shown],
        more=_more(shown.modes),
        listed=True,
        of=shown.candidate,
        beside=shown.baseline,
    )


def passed_by_one(shown: Duels) -> Section:
    """The cases that only one of two models passes."""
    return Section(
        title="Candidate: cases that only one of the two passes",
        columns=("task", "who", "cases"),
        rows=[(_code(row.task), (row.what,), _names(row.names)) for row in shown.alone.shown],
        more=_more(shown.alone),
    )


def slices(rows: Listing[SliceRow]) -> Section:
    """Each slice with its own figures."""
    return Section(
        title="Slices",
        columns=("task", "slice", "scored", "pass_rate", "other figures"),
        rows=[
            (_code(row.task), _code(row.name), (row.scored,), (row.pass_rate,), (row.others or NOTHING,))
            for row in rows.shown
        ],
        more=_more(rows),
    )


def canaries(rows: Listing[CanaryRow]) -> Section:
    """Canaries that vouch for nothing any more."""
    return Section(
        title="Canaries that scored otherwise than they must",
        columns=("canary", "expected", "got"),
        rows=[(_code(row.id), _code(row.expected), _code(row.got)) for row in rows.shown],
        more=_more(rows),
    )


def lines(title: str, rows: Listing[str]) -> Section:
    """A list of sentences."""
    return Section(
        title=_counted_title(title, rows), columns=(), rows=[((line,),) for line in rows.shown], more=_more(rows)
    )


def notes(title: str, rows: Listing[TaskNote]) -> Section:
    """A list of sentences, each about a task or a case of it."""
    cells = [((*_code(row.task), *_code(row.name), row.text),) for row in rows.shown]
    return Section(title=_counted_title(title, rows), columns=(), rows=cells, more=_more(rows))


def sentences(title: str, rows: Sequence[TaskSentence]) -> Section:
    """What can be said of each task's cases as a whole."""
    return Section(title=title, columns=(), rows=[((*_code(row.task), row.text),) for row in rows])


def _modes_cell(modes: Sequence[tuple[str, str]]) -> Cell:
    """ "wrong_tool × 4, missing_call × 2"."""
    pieces: list[Piece] = []
    for place, (mode, times) in enumerate(modes, start=1):
        pieces += [*_code(mode), f"× {times}{',' if place < len(modes) else ''}"]
    return pieces or (NOTHING,)


def _code(text: str) -> Cell:
    return (Code(text),) if text else ()


def _names(names: Listing[str]) -> Cell:
    pieces: list[Piece] = [Code(name) for name in names.shown]
    return [*pieces, _more(names)] if names.more else pieces


def _joined(texts: Listing[str], separator: str) -> str:
    return separator.join([*texts.shown, *([_more(texts)] if texts.more else [])])


def _more(listing: Listing[object]) -> str:
    if not listing.more:
        return ""
    return f"… and {count(listing.more)} more" if listing.shown else f"{count(listing.more)}, not shown here"


def _counted_title(title: str, listing: Listing[object]) -> str:
    return f"{title} ({count(len(listing))})"
