"""The cases of a run as JSON for the script of the page: an index of all of them, and details as far as there is room.

Both are made to stand in a `<script type="application/json">`: no `<` is in them, nor anything that cannot be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from evaluator.reports import numbers
from evaluator.reports.escape import shorten, visible
from evaluator.reports.page_cases import AGAINST, VERDICTS, Found, Row, Shown, asked, attempts, rows
from evaluator.reports.page_pairs import Pair, Side
from evaluator.reports.page_texts import MOST, Texts
from evaluator.reports.view_model import Listing
from evaluator.results import Run

# Bytes of details. Cases come in the order of the index, so passed ones are the first to go without.
ROOM = 20_000_000
_NAME_BYTES = 300

T = TypeVar("T")


@dataclass(frozen=True)
class Data:
    """`index` and `details` are JSON; `cases` counts all, `regressed` those that got worse, `left_out` those without
    details."""

    index: str
    details: str
    cases: int
    regressed: int
    left_out: int


def data(run: Run, *, room: int = ROOM) -> Data:
    """What the explorer of a page shows of a run."""
    found = rows(run)
    details, texts, left_out = _details(found, room)
    return Data(
        index=_json(_index(found, compared=any(each.comparison is not None for each in (run, *run.beside)))),
        details=f'{{"texts":{_json(texts.texts)},"cut":{_json(texts.cut)},"most":{MOST},"cases":[{details}]}}',
        cases=len(found),
        regressed=sum(row.against == "regressed" for row in found),
        left_out=left_out,
    )


def _index(found: Sequence[Row], *, compared: bool) -> dict[str, Any]:
    models, tasks = _places(row.model for row in found), _places(row.task for row in found)
    slices = _places(name for row in found for name in row.slices)
    modes = _places(mode for row in found for mode in row.modes)
    return {
        "models": list(map(_name, models)),
        "tasks": list(map(_name, tasks)),
        "slices": list(map(_name, slices)),
        "modes": list(map(_name, modes)),
        "verdicts": VERDICTS,
        "against": AGAINST if compared else [],
        "rows": [
            [
                models[row.model],
                tasks[row.task],
                _name(row.id),
                VERDICTS.index(row.verdict),
                AGAINST.index(row.against) if row.against else -1,
                int(row.critical),
                row.passed,
                row.scored,
                row.attempts,
                "" if row.before is None else numbers.rate(row.before),
                [slices[name] for name in row.slices],
                [modes[mode] for mode in row.modes],
            ]
            for row in found
        ],
    }


def _places(names: Iterable[str]) -> dict[str, int]:
    """Each name with its place in their order."""
    return {name: place for place, name in enumerate(sorted(set(names)))}


def _name(name: str) -> str:
    return visible(shorten(name, _NAME_BYTES))


def _details(found: Sequence[Row], room: int) -> tuple[str, Texts, int]:
    """The details of the first cases as items of a JSON list, their texts, and how many cases have none."""
    texts, items, spent = Texts(), [], 0
    for row in found:
        if spent + texts.size >= room:
            break
        items.append(_json(_case(row, texts)))
        spent += len(items[-1])
    return ",".join(items), texts, len(found) - len(items)


def _case(row: Row, texts: Texts) -> list[Any]:
    source = row.source
    return [
        _listing(asked(source.case), lambda said: list(map(texts.number, said))),
        texts.number(source.fault),
        _listing(attempts(source), lambda shown: _attempt(shown, texts)),
    ]


def _listing(found: Listing[T], written: Callable[[T], Any]) -> list[Any]:
    """The items that are shown, and how many more there are."""
    return [list(map(written, found.shown)), found.more]


def _attempt(shown: Shown, texts: Texts) -> list[Any]:
    number = texts.number
    return [
        number(shown.arm),
        shown.number,
        number(shown.said),
        number(shown.mode),
        number(shown.why),
        number(shown.figures),
        _listing(shown.findings, lambda finding: _finding(finding, texts)),
        _listing(shown.pairs, lambda pair: _pair(pair, texts)),
    ]


def _finding(found: Found, texts: Texts) -> list[int]:
    said = (found.where, found.keyword, found.wanted, found.got, found.message)
    return [*map(texts.number, said), int(found.is_note)]


def _pair(pair: Pair, texts: Texts) -> list[Any]:
    places = pair.paths if pair.places is None else pair.places
    return [
        texts.number(pair.state),
        _side(pair.wanted, texts),
        _side(pair.got, texts),
        [texts.number(place) for place in places],
        [texts.number(path) for path in pair.paths],
    ]


def _side(side: Side | None, texts: Texts) -> list[int] | None:
    if side is None:
        return None
    said = (side.title, side.text, side.note, side.result)
    return [*map(texts.number, said), int(side.is_json)]


def _json(value: Any) -> str:
    # In JSON that msgspec writes, a "<" can only stand in a string.
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")
