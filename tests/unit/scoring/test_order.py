"""The longest matching in order, against trying everything, the textbook's table and scipy's matching."""

import random
import time
from collections.abc import Sequence
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from evaluator.scoring.order import longest

SLOW = 10  # seconds of CPU; each of these takes one at most, trying the orders of the groups takes for ever
THOUSAND = 1000
A, B, C = 0, 1, 2


def fitting(tool: int, calls: Sequence[int]) -> int:
    return sum(1 << place for place, called in enumerate(calls) if called == tool)


def grouped(groups: Sequence[Sequence[int]], calls: Sequence[int]) -> list[list[int]]:
    return [[fitting(tool, calls) for tool in group] for group in groups]


def common_subsequence(steps: Sequence[int], calls: int) -> int:
    """The table of Wagner and Fischer; a step equals a call where its mask says so."""
    row = [0] * (calls + 1)
    for mask in steps:
        above, row = row, [0]
        for call in range(calls):
            row.append(above[call] + 1 if mask >> call & 1 else max(above[call + 1], row[call]))
    return row[-1]


def by_trying_every_order(groups: Sequence[Sequence[int]], calls: int) -> int:
    orders = product(*(permutations(group) for group in groups))
    return max(common_subsequence([mask for group in order for mask in group], calls) for order in orders)


def reversed_masks(groups: Sequence[Sequence[int]], calls: int) -> list[list[int]]:
    def turned(mask: int) -> int:
        return int(f"{mask:0{calls}b}"[::-1], 2)

    return [[turned(mask) for mask in group] for group in reversed(groups)]


def random_masks(rng: random.Random, count: int, density: float, calls: int = THOUSAND) -> list[int]:
    return [sum(1 << call for call in range(calls) if rng.random() < density) for _ in range(count)]


@st.composite
def instances(draw: st.DrawFn, most_groups: int, most_steps: int, most_calls: int) -> tuple[list[list[int]], int]:
    calls = draw(st.integers(0, most_calls))
    masks = st.integers(0, (1 << calls) - 1)
    return draw(st.lists(st.lists(masks, max_size=most_steps), max_size=most_groups)), calls


@settings(deadline=None)
@given(instances(3, 3, 8))
def test_no_order_of_the_groups_steps_matches_more(instance: tuple[list[list[int]], int]) -> None:
    assert longest(*instance) == by_trying_every_order(*instance)


def test_no_order_matches_more_on_three_thousand_random_instances() -> None:
    rng = random.Random(4)
    for _ in range(3000):
        calls, density = rng.randint(0, 8), rng.choice([0.2, 0.4, 0.7])
        groups = [random_masks(rng, rng.randint(0, 4), density, calls) for _ in range(rng.randint(0, 3))]
        assert longest(groups, calls) == by_trying_every_order(groups, calls)


@given(instances(30, 1, 30))
def test_with_single_steps_it_is_the_longest_common_subsequence(instance: tuple[list[list[int]], int]) -> None:
    groups, calls = instance
    assert longest(groups, calls) == common_subsequence([mask for group in groups for mask in group], calls)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=3), st.lists(st.integers(0, 2), max_size=12))
def test_groups_of_tools_match_as_many_as_their_best_order(groups: list[list[int]], calls: list[int]) -> None:
    masks = grouped(groups, calls)
    # Steps of one tool are the same to each other: few orders differ.
    orders = product(*(set(permutations(group)) for group in masks))
    best = max(common_subsequence([mask for group in order for mask in group], len(calls)) for order in orders)
    assert longest(masks, len(calls)) == best


@given(instances(6, 5, 20))
def test_read_backwards_it_is_the_same(instance: tuple[list[list[int]], int]) -> None:
    groups, calls = instance
    assert longest(reversed_masks(groups, calls), calls) == longest(groups, calls)


@given(instances(6, 5, 20), st.randoms(use_true_random=False))
def test_the_order_of_parallel_steps_does_not_matter(instance: tuple[list[list[int]], int], rng: random.Random) -> None:
    groups, calls = instance
    assert longest([rng.sample(group, len(group)) for group in groups], calls) == longest(groups, calls)


@given(instances(1, 12, 12))
def test_within_one_group_any_matching_will_do(instance: tuple[list[list[int]], int]) -> None:
    groups, calls = instance
    assert longest(groups, calls) == (matching(groups[0], calls) if groups else 0)


def matching(masks: Sequence[int], calls: int) -> int:
    if not masks or not calls:
        return 0
    graph = csr_array([[mask >> call & 1 for call in range(calls)] for mask in masks])
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


@pytest.mark.parametrize(
    ("groups", "calls", "expected"),
    [
        ([[A], [B], [C]], [A, B, C], 3),
        ([[A], [B]], [B, A], 1),
        ([[A, B]], [B, A], 2),
        ([[A, B], [C]], [B, A, C], 3),
        ([[A, B], [C]], [B, C, A], 2),
        ([[A], [A], [A]], [A, A], 2),
        ([[A, A, B]], [A, B, B], 2),
        ([[A], [B]], [C, A, C, B, C], 2),
        ([[B], [A, C], [B]], [A, B, C, A, B], 4),
        ([[A], [], [B]], [A, B], 2),
        ([[A]], [], 0),
        ([[]], [A], 0),
        ([], [A], 0),
    ],
)
def test_steps_are_matched_in_the_order_of_their_groups(
    groups: list[list[int]], calls: list[int], expected: int
) -> None:
    assert longest(grouped(groups, calls), len(calls)) == expected


def test_a_step_with_alternatives_leaves_the_call_that_another_needs() -> None:
    # Calls A, B; the first step takes either, the second only A; they are parallel.
    assert longest([[0b11, 0b01]], 2) == 2
    assert longest([[0b11], [0b01]], 2) == 1


def test_a_thousand_single_steps_and_calls_are_soon_done() -> None:
    rng = random.Random(7)
    calls = [rng.randrange(20) for _ in range(THOUSAND)]
    steps = [fitting(rng.randrange(20), calls) for _ in range(THOUSAND)]
    start = time.process_time()
    found = longest([[mask] for mask in steps], THOUSAND)
    assert time.process_time() - start < SLOW
    assert found == common_subsequence(steps, THOUSAND)


@pytest.mark.parametrize("density", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("size", [3, 30])
def test_a_thousand_calls_against_groups_are_soon_done(size: int, density: float) -> None:
    rng = random.Random(8)
    # No call fits the first step, so that the usual case of all steps in order does not settle it.
    groups = [[0], *(random_masks(rng, size, density) for _ in range(900 // size))]
    start = time.process_time()
    found = longest(groups, THOUSAND)
    assert time.process_time() - start < SLOW
    assert found == longest(reversed_masks(groups, THOUSAND), THOUSAND)
    in_one_order = common_subsequence([mask for group in groups for mask in group], THOUSAND)
    assert in_one_order < found <= matching([mask for group in groups for mask in group], THOUSAND)


def test_a_thousand_parallel_steps_are_matched_as_one_group() -> None:
    rng = random.Random(9)
    masks = random_masks(rng, THOUSAND, 0.002)
    start = time.process_time()
    found = longest([masks], THOUSAND)
    assert time.process_time() - start < SLOW
    assert found == matching(masks, THOUSAND) < THOUSAND


def test_groups_of_parallel_tools_in_a_trace_of_a_thousand_calls_are_all_found() -> None:
    rng = random.Random(10)
    groups = [rng.choices(range(5), k=4) for _ in range(250)]
    calls = [tool for group in groups for tool in rng.sample(group, 4)]
    assert longest(grouped(groups, calls), THOUSAND) == THOUSAND
    # Without its last call the last group is one short, which only the full search finds.
    assert longest(grouped(groups, calls[:-1]), THOUSAND - 1) == THOUSAND - 1
