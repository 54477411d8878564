"""Which call stands for which expected step: an assignment that is best as a whole, never step by step.

Sets of calls are bit masks (bit j = call j). Pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from evaluator.scoring.masks import members


class Candidates(NamedTuple):
    """The calls that can stand for one expected step.

    `compatible`: the calls whose tool fits. `levels[k]`: those of them with at least k + 1 right fields, so that each
    level is a subset of the one before.
    """

    required: bool
    compatible: int
    levels: Sequence[int]


def best(steps: Sequence[Candidates], succeeded: int) -> list[int | None]:
    """For each step the call that stands for it, or None; no call stands for two.

    The assignment is the best in this order: most required steps matched; most steps matched; most right fields in sum;
    most calls of `succeeded` used; of these, and then of the others, the earliest. Which of several assignments of the
    same calls is returned depends on nothing but the arguments.
    """
    found = _uncontested(steps, succeeded)
    if found is None:
        search = _Search(steps)
        search.match()
        search.prefer(succeeded)
        found = search.call_of
    return found


def _uncontested(steps: Sequence[Candidates], succeeded: int) -> list[int | None] | None:
    """The best assignment where no two steps compete for a call, or where no call is left over; else None."""
    found: list[int | None] = []
    compatible = claimed = used = contested = 0
    for step in steps:
        top = step.compatible
        if not top:
            found.append(None)
            continue
        compatible |= top
        for level in reversed(step.levels):
            if level:
                top = level
                break
        contested |= top & claimed
        claimed |= top
        free = top & ~used
        free = free & succeeded or free
        if not free:
            return None
        call = free & -free
        used |= call
        found.append(call.bit_length() - 1)
    return None if contested and used != compatible else found


class _Search:
    """The Hungarian method by phases, with calls in bulk.

    A pair weighs its right fields, plus a bonus for a matched step that no sum of fields outweighs, plus a bonus for a
    required one that nothing else outweighs: the heaviest matching is the best assignment. Steps and calls have prices,
    none below 0, such that no pair weighs more than its two prices together; a pair that weighs just as much is
    *tight*, and only tight pairs are matched. Free calls cost 0, free steps all the same. A phase lowers the prices of
    what free steps reach until they reach a free call, then matches all it can. When no step is free or the free ones
    cost 0, the matching weighs as much as all prices together, and so no other weighs more (Kuhn 1955, Munkres 1957;
    the phases are those of Hopcroft and Karp 1973, over the distances of Edmonds and Karp 1972).
    """

    def __init__(self, steps: Sequence[Candidates]) -> None:
        self.call_of: list[int | None] = [None] * len(steps)
        self.step_of: dict[int, int] = {}
        # rows[step][k]: calls with at least k right fields; such a pair weighs base[step] + k.
        self.rows = [[step.compatible, *step.levels] for step in steps]
        matched = sum(map(len, self.rows))
        required = matched * (len(steps) + 1)
        self.base = [matched + required * step.required for step in steps]
        self.step_price = [max(map(int.__add__, self.base, map(len, self.rows)))] * len(steps)
        self.calls = 0
        for row in self.rows:
            self.calls |= row[0]
        self.call_price = [0] * self.calls.bit_length()
        self.priced = {0: self.calls}
        self.free = self.calls
        self.unvisited = 0
        self.tight: dict[int, int] = {}

    def match(self) -> None:
        """Find the heaviest matching, and prices that prove it."""
        free = [step for step, row in enumerate(self.rows) if row[0]]
        while free and self.step_price[free[0]]:
            self._reprice(free)
            count = 0
            while len(free) != count:
                count = len(free)
                self.unvisited = self.calls
                free = [step for step in free if not self._augment(step, self.free)]

    def prefer(self, succeeded: int) -> None:
        """Use calls of `succeeded` in place of others, then earlier in place of later ones, at the same weight.

        The heaviest matchings are just those of tight pairs that use every call and step with a price above 0. Where
        two of them use different calls, an alternating path leads from a call of one to a call of the other (it cannot
        end at a step: one of the two could then match a step more at the same weight, and the bonuses rule that out).
        So single exchanges lead to the best set of calls; and as these sets are the bases of a matroid, to give up each
        call once, the worst first, for any better one is enough.
        """
        givable = self.priced.get(0, 0)
        dead = 0
        for good, calls in ((False, givable & ~succeeded), (True, givable & succeeded)):
            for call in reversed(list(members(calls))):
                bit = 1 << call
                better = self.free & (succeeded & (bit - 1) if good else succeeded | (bit - 1))
                if self.free & bit or not better:
                    continue
                self.unvisited = self.calls & ~(self.free | dead | bit)
                if self._augment(self.step_of[call], better):
                    self.free |= bit
                else:
                    # What led this call to nothing better leads the next, which asks for more, to nothing either.
                    dead = self.calls & ~(self.free | self.unvisited)

    def _reprice(self, free: list[int]) -> None:
        """Lower the prices of `free`, and of what they reach, until they reach a free call or cost 0."""
        fall, reached = self._reach(free)
        for step in free:
            self.step_price[step] -= fall
        for distance, calls in reached:
            for call in members(calls):
                price = self.call_price[call]
                self.priced[price] ^= 1 << call
                price += fall - distance
                self.priced[price] = self.priced.get(price, 0) | 1 << call
                self.call_price[call] = price
                self.step_price[self.step_of[call]] -= fall - distance
        self.tight = {}

    def _reach(self, free: list[int]) -> tuple[int, list[tuple[int, int]]]:
        """The distance of the nearest free call, at most the price of `free`; and (distance, calls) of those nearer.

        A call's distance is by how much the steps of `free` must come down until tight pairs lead to it (Dijkstra 1959,
        with all calls at one distance taken together).
        """
        fall = self.step_price[free[0]]
        reached: list[tuple[int, int]] = []
        outside = self.calls
        ahead: dict[int, int] = {}
        distances: list[int] = []
        steps, distance = free, 0
        while True:
            for step in steps:
                for slack, calls in self._slacks(step, outside, fall - distance):
                    there = distance + slack
                    if calls & self.free:
                        fall = min(fall, there)
                    elif there in ahead:
                        ahead[there] |= calls
                    else:
                        ahead[there] = calls
                        heappush(distances, there)
            if not distances or distances[0] >= fall:
                return fall, reached
            distance = heappop(distances)
            calls = ahead.pop(distance) & outside
            outside ^= calls
            reached.append((distance, calls))
            steps = [self.step_of[call] for call in members(calls)]

    def _slacks(self, step: int, calls: int, limit: int) -> Iterator[tuple[int, int]]:
        """(slack, calls) of a step's pairs with `calls` that can become tight before prices fall by `limit`.

        With those of one price it goes no further than a free call, beyond which no distance is of use.
        """
        row = self.rows[step]
        surplus = self.step_price[step] - self.base[step]
        for price, left in self._by_price(row[0] & calls):
            total = surplus + price
            for fields in range(min(total, len(row) - 1), max(total - limit, -1), -1):
                found = left & row[fields]
                if found:
                    yield total - fields, found
                    left ^= found
                    if not left or found & self.free:
                        break

    def _by_price(self, calls: int) -> Iterator[tuple[int, int]]:
        """(price, those of `calls` that have it)."""
        while calls:
            price = self.call_price[(calls & -calls).bit_length() - 1]
            same = calls & self.priced[price]
            calls ^= same
            yield price, same

    def _augment(self, root: int, targets: int) -> bool:
        """Give `root` a call, moving steps along tight pairs until one takes a call of `targets`; False if none can.

        Calls that it passes leave `unvisited`, so that searches in a row pass each call once.
        """
        path = [root]
        moves: list[int] = []
        while path:
            tight = self._tight(path[-1])
            ends = tight & targets
            if ends:
                end = ends & -ends
                self.free ^= end
                moves.append(end.bit_length() - 1)
                for step, call in zip(path, moves, strict=True):
                    self.call_of[step] = call
                    self.step_of[call] = step
                return True
            onward = tight & self.unvisited
            if onward:
                bit = onward & -onward
                self.unvisited ^= bit
                call = bit.bit_length() - 1
                moves.append(call)
                path.append(self.step_of[call])
            else:
                path.pop()
                if moves:
                    moves.pop()
        return False

    def _tight(self, step: int) -> int:
        tight = self.tight.get(step)
        if tight is None:
            tight = 0
            row = self.rows[step]
            surplus = self.step_price[step] - self.base[step]
            for price, calls in self._by_price(row[0]):
                if surplus + price < len(row):
                    tight |= calls & row[surplus + price]
            self.tight[step] = tight
        return tight
