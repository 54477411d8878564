"""inventory.json: which cases of each group a structure-closure task must have, by which missing rows are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import count, islice
from typing import Annotated

import msgspec

from evaluator.formats.closure_rows import Row
from evaluator.formats.confined import TaskFolder
from evaluator.json_text import JsonFault, parse_json

FILE = "inventory.json"
_MEND = 'It is {"groups": {"family/control": ["case id", …] or a number of cases}}.'

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class Inventory(msgspec.Struct, frozen=True):
    """`groups`: `family/control` → the ids of its cases, or how many there are."""

    groups: dict[str, list[str] | Count]

    def check(self, folder: TaskFolder, rows: Sequence[Row]) -> None:
        """Reports ids that stand twice, and rows that stand in another group than the inventory says."""
        listed: dict[str, str] = {}
        for group, cases in self.groups.items():
            for case_id in cases if isinstance(cases, list) else ():
                if case_id in listed:
                    message = f"$.groups[{group!r}]: {case_id[:80]!r} is in {listed[case_id]} already"
                    folder.report(folder.directory / FILE, message)
                listed.setdefault(case_id, group)
        for row in rows:
            wanted = listed.get(row.case_id, row.group)
            if wanted != row.group:
                message = f"{row.case_id[:80]!r} is of the group {row.group}, {FILE} lists it in {wanted}"
                folder.report(folder.directory / row.path, message, "", row.line, 1)

    def missing(self, rows: Sequence[Row]) -> dict[str, str]:
        """Id → group of each case without a row. Where a group is only counted, the ids are made up."""
        known = {row.case_id for row in rows}
        counted = Counter(row.group for row in rows)
        found: dict[str, str] = {}
        for group, cases in self.groups.items():
            if isinstance(cases, list):
                found |= {case_id: group for case_id in cases if case_id not in known}
            else:
                found |= dict.fromkeys(self._made_up(group, cases - counted[group], known), group)
        return found

    def _made_up(self, group: str, number: int, known: Collection[str]) -> list[str]:
        """Names for so many cases that nobody names, none of which is a case's own."""
        listed = {case_id for cases in self.groups.values() if isinstance(cases, list) for case_id in cases}
        taken = listed.union(known)
        names = (name for n in count(1) if (name := f"{group}/missing-{n}") not in taken)
        return list(islice(names, max(0, number)))

    def unlisted(self, rows: Sequence[Row]) -> list[str]:
        """The ids of rows that the inventory does not have, and the groups of which there are more than it says."""
        found = []
        listed = {group: set(cases) for group, cases in self.groups.items() if isinstance(cases, list)}
        for row in rows:
            if row.group not in self.groups or (row.group in listed and row.case_id not in listed[row.group]):
                found.append(row.case_id)
        counted = Counter(row.group for row in rows)
        for group, cases in self.groups.items():
            if isinstance(cases, int) and counted[group] > cases:
                found.append(f"{counted[group] - cases} of {group}")
        return found


def read(folder: TaskFolder) -> Inventory | None:
    """The inventory of a folder; None where it has none, or it cannot be read, which is then among the problems."""
    path = folder.directory / FILE
    if not path.exists() and not path.is_symlink():
        return None
    text = folder.read(path)
    if text is None:
        return None
    value = parse_json(text)
    if isinstance(value, JsonFault):
        folder.report(path, value.message, "", value.line, value.column)
        return None
    try:
        return msgspec.convert(value, Inventory)
    except msgspec.ValidationError as error:
        folder.report(path, str(error), _MEND)
        return None
