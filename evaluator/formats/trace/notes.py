"""What a reader should know of fixtures that have no fault: what is never scored, tried or met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import UNSET

from evaluator.cases import Case
from evaluator.formats.included import some
from evaluator.scoring.expected_calls import argument_doubts, unknown_tool

_MOST_MOCKS = 5


def notes_of(cases: list[Case]) -> list[str]:
    """The notes, given all that is known of the tools on offer."""
    notes = []
    unscored = [case.id for case in cases if case.expected is None]
    if unscored:
        notes.append(f"without expected_invocations or expected_paths, so never scored: {some(unscored)}")
    unchecked = [case.id for case in cases if case.expected is not None and not case.golds]
    if unchecked:
        notes.append(
            "the expected calls could not be tried on the scorer, since the fixture does not say all of a right answer "
            f"(arguments, or an expected_answer for its checks): {some(unchecked)}"
        )
    return [*notes, *_not_on_offer(cases), *_unmet_mocks(cases)]


def _not_on_offer(cases: Iterable[Case]) -> Iterator[str]:
    """Tools that fixtures name beside their steps, and no model is told of."""
    found: dict[str, list[str]] = {}
    for case in cases:
        offered = [spec["name"] for spec in case.offered()]
        for name in sorted(_named(case).difference(offered) if offered else ()):
            found.setdefault(unknown_tool(name, offered), []).append(case.id)
    yield from (f"{said} (named by {some(ids)})" for said, ids in found.items())


def _named(case: Case) -> set[str]:
    """The tools that a case names outside of its steps, where the self-check does not see them."""
    expected = case.expected or {}
    lists = [expected.get(key, ()) for key in ("allowed_tools", "read_only", "expected_errors")]
    return {name for names in lists for name in names} | {mock.tool for mock in case.request.mocks}


def _unmet_mocks(cases: Iterable[Case]) -> Iterator[str]:
    """Mocks for arguments with which no valid call is made: one may answer a faulty call on purpose."""
    said = []
    for case in cases:
        specs = {spec["name"]: spec for spec in case.offered()}
        for place, mock in enumerate(case.request.mocks):
            if mock.tool in specs and mock.args is not UNSET:
                parameters = specs[mock.tool].get("parameters")
                doubt = next(argument_doubts(mock.args, parameters, holder="the mock"), None)
                if doubt is not None:
                    said.append(f"{case.id}: mocks[{place}] {mock.tool} {doubt.message}")
    if said:
        more = f"; and {len(said) - _MOST_MOCKS} more" if len(said) > _MOST_MOCKS else ""
        yield f"mocks that no valid call has the arguments of: {'; also '.join(said[:_MOST_MOCKS])}{more}"
