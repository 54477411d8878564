"""How many expected steps were called in the expected order, where the steps of one group may come in any order."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.scoring.masks import members


def longest(groups: Sequence[Sequence[int]], calls: int) -> int:
    """The most steps that can be matched to calls of their own with those of earlier groups before those of later ones.

    `groups`: in order, for each step of a group the bit mask of the calls (bit j = call j) that can stand for it.
    `calls`: the number of calls. With one step in each group this is the longest common subsequence.
    """
    if _all_in_order(groups):
        return sum(map(len, groups))
    # Bit j: with call j, and not before, one more step can be matched. The number of bits is the answer so far.
    ends = 0
    tables: dict[tuple[int, ...], list[list[int]]] = {}
    for group in groups:
        masks = tuple(sorted(filter(None, group)))
        if not masks:
            continue
        if masks[0] == masks[-1]:
            # Steps that the same calls can stand for can just as well be taken one after the other.
            for mask in masks:
                ends = _next(ends, mask)
            continue
        if masks not in tables:
            tables[masks] = _earliest(masks, calls)
        ends = _mixed(ends, tables[masks])
    return ends.bit_count()


def _all_in_order(groups: Sequence[Sequence[int]]) -> bool:
    """Whether every step finds a call when each takes the first that is left: the usual case, told at little cost."""
    start = 0
    for group in groups:
        used = start
        for mask in group:
            free = mask & ~used
            if not free:
                return False
            used |= free & -free
        start = (1 << used.bit_length()) - 1
    return True


def _next(ends: int, mask: int) -> int:
    """One more step, bit-parallel (Allison and Dix 1986): in each stretch up to an end the first call that fits."""
    either = ends | mask
    return either & ~(either - (ends << 1 | 1))


def _mixed(ends: int, table: list[list[int]]) -> int:
    """A group more: from every end so far, every number of its steps, each as early as can be."""
    before = [-1, *members(ends)]
    after = list(before)
    for matched, end in enumerate(before):
        for total, reached in enumerate(table[end + 1], matched + 1):
            if total == len(after):
                after.append(reached)
            elif reached < after[total]:
                after[total] = reached
    return sum(1 << end for end in after[1:])


def _earliest(masks: Sequence[int], calls: int) -> list[list[int]]:
    """For each first call i, in order, the calls with which one, two, ... steps of a group can be matched from i on."""
    base = _Base(masks, calls)
    table = [base.calls] * (calls + 1)
    for call in reversed(range(calls)):
        base.put_first(call)
        table[call] = base.calls
    return table


class _Base:
    """The earliest calls that can be matched to the steps of one group at once, as calls are put before the others.

    The sets of calls that can be matched at once are the independent sets of a matroid. So the first of the earliest
    calls are as many as can be matched up to there; and a call put before them always joins them, in place of the last
    one that it can be exchanged for where it is one too many.
    """

    def __init__(self, masks: Sequence[int], calls: int) -> None:
        self.calls: list[int] = []
        self.wanted_by = [0] * calls
        for step, mask in enumerate(masks):
            for call in members(mask):
                self.wanted_by[call] |= 1 << step
        self.free = (1 << len(masks)) - 1
        self.call_of = [0] * len(masks)
        self.step_of: dict[int, int] = {}

    def put_first(self, call: int) -> None:
        """`call` comes before all calls so far. `calls` is a new list where it changes."""
        steps = self.wanted_by[call]
        if not steps:
            return
        if not self.free and steps >> self.step_of[self.calls[-1]] & 1:
            # No step is free and the very last call can be exchanged for it: no need to search.
            step = self.step_of.pop(self.calls[-1])
            self.call_of[step] = call
            self.step_of[call] = step
            self.calls = [call, *self.calls[:-1]]
        else:
            dropped = self._exchange(call)
            self.calls = [call, *(other for other in self.calls if other != dropped)]

    def _exchange(self, call: int) -> int | None:
        """Match `call`, moving others; gives the call that is dropped for it, None where a free step is reached."""
        came: dict[int, int] = {}
        queue = [call]
        seen = 0
        for other in queue:
            steps = self.wanted_by[other] & ~seen
            seen |= steps
            if steps & self.free:
                step = (steps & self.free).bit_length() - 1
                came[step] = other
                self.free ^= 1 << step
                self._shift(step, came)
                return None
            for step in members(steps):
                came[step] = other
                queue.append(self.call_of[step])
        dropped = max(queue)
        self._shift(self.step_of.pop(dropped), came)
        return dropped

    def _shift(self, step: int, came: dict[int, int]) -> None:
        """Give `step` the call from which it was reached, that call's step the one before, and so on to the new one."""
        while True:
            call = came[step]
            left = self.step_of.get(call)
            self.call_of[step] = call
            self.step_of[call] = step
            if left is None:
                return
            step = left
