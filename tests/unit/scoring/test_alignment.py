"""The assignment of calls to steps, against scipy's on composite weights and against trying everything."""

import random
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from evaluator.scoring.alignment import Candidates, best

SLOW = 10  # seconds of CPU; each of these takes a tenth of a second or less, a search that is cubic takes minutes
THOUSAND = 1000
ALL = (1 << THOUSAND) - 1

# Per step: whether it is required, and per call the number of right fields, None where the tool does not fit.
Rights = list[tuple[bool, list[int | None]]]


def candidates(rights: Rights) -> list[Candidates]:
    """Each step has one field more, which no call has right."""
    return [
        Candidates(
            required,
            sum(1 << call for call, right in enumerate(row) if right is not None),
            [sum(1 << call for call, right in enumerate(row) if (right or 0) > k) for k in range(fields(row) + 1)],
        )
        for required, row in rights
    ]


def fields(row: Sequence[int | None]) -> int:
    return max((right or 0 for right in row), default=0)


def figures(steps: Sequence[Candidates], succeeded: int, found: Sequence[int | None]) -> tuple[int, int, int, int]:
    """What an assignment is worth, once it is sure that it is one."""
    pairs = [(step, call) for step, call in zip(steps, found, strict=True) if call is not None]
    calls = [call for _, call in pairs]
    assert len(set(calls)) == len(calls)
    assert all(step.compatible >> call & 1 for step, call in pairs)
    return (
        sum(step.required for step, _ in pairs),
        len(pairs),
        sum(level >> call & 1 for step, call in pairs for level in step.levels),
        sum(succeeded >> call & 1 for call in calls),
    )


def with_calls(steps: Sequence[Candidates], succeeded: int, found: Sequence[int | None]) -> tuple[object, ...]:
    """The figures, then the calls: those that succeeded, then the others, an earlier one worth more."""
    calls = sorted((not succeeded >> call & 1, call) for call in found if call is not None)
    return *figures(steps, succeeded, found), [(-failed, -call) for failed, call in calls]


def every_assignment(steps: Sequence[Candidates], used: int = 0) -> Iterator[list[int | None]]:
    if not steps:
        yield []
        return
    for call in [None, *range(steps[0].compatible.bit_length())]:
        bit = 0 if call is None else 1 << call
        if bit & used == 0 and (call is None or bit & steps[0].compatible):
            for rest in every_assignment(steps[1:], used | bit):
                yield [call, *rest]


def by_scipy(steps: Sequence[Candidates], succeeded: int, calls: int) -> tuple[int, int, int, int]:
    """The best figures, each worth more than all that come after it; a step may also take a place of its own for 0."""
    size = len(steps) + 1
    most_fields = 1 + sum(len(step.levels) for step in steps)
    weights = np.zeros((len(steps), calls + len(steps)))
    for row, step in zip(weights, steps, strict=True):
        right = sum((np.array(bits(level, calls)) for level in step.levels), np.zeros(calls))
        worth = (step.required * size + 1) * most_fields + right
        row[:calls] = np.where(bits(step.compatible, calls), worth * size + np.array(bits(succeeded, calls)), 0)
    assert weights.max(initial=0) * size < 2**53, "weights must be exact as floats"
    rows, columns = linear_sum_assignment(weights, maximize=True)
    kept = [int(column) if weights[row, column] else None for row, column in zip(rows, columns, strict=True)]
    return figures(steps, succeeded, kept)


def bits(mask: int, calls: int) -> list[int]:
    return [mask >> call & 1 for call in range(calls)]


def an_instance(rng: random.Random, most_steps: int, most_calls: int) -> tuple[list[Candidates], int, int]:
    calls = rng.randint(0, most_calls)
    density = rng.choice([0.05, 0.2, 0.5, 1])
    most_fields = rng.choice([0, 1, 6])
    rights: Rights = []
    for _ in range(rng.randint(0, most_steps)):
        most = rng.randint(0, most_fields)
        row = [rng.randint(0, most) if rng.random() < density else None for _ in range(calls)]
        rights.append((rng.random() < 0.7, row))
    return candidates(rights), rng.getrandbits(calls) if calls else 0, calls


@st.composite
def instances(draw: st.DrawFn, most_steps: int, most_calls: int) -> tuple[list[Candidates], int, int]:
    calls = draw(st.integers(0, most_calls))
    row = st.lists(st.none() | st.integers(0, 3), min_size=calls, max_size=calls)
    rights = draw(st.lists(st.tuples(st.booleans(), row), max_size=most_steps))
    return candidates(rights), draw(st.integers(0, (1 << calls) - 1)), calls


@settings(deadline=None)
@given(instances(4, 5))
def test_no_other_assignment_is_better_down_to_the_earliest_calls(instance: tuple[list[Candidates], int, int]) -> None:
    steps, succeeded, _ = instance
    expected = max(with_calls(steps, succeeded, one) for one in every_assignment(steps))
    assert with_calls(steps, succeeded, best(steps, succeeded)) == expected


def test_no_other_assignment_is_better_on_two_thousand_random_instances() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        steps, succeeded, _ = an_instance(rng, 3, 6)
        expected = max(with_calls(steps, succeeded, one) for one in every_assignment(steps))
        assert with_calls(steps, succeeded, best(steps, succeeded)) == expected


@given(instances(12, 12))
def test_the_figures_are_those_of_scipys_assignment(instance: tuple[list[Candidates], int, int]) -> None:
    steps, succeeded, calls = instance
    assert figures(steps, succeeded, best(steps, succeeded)) == by_scipy(steps, succeeded, calls)


def test_the_figures_are_those_of_scipys_assignment_on_two_thousand_random_instances() -> None:
    rng = random.Random(4)
    for _ in range(2000):
        steps, succeeded, calls = an_instance(rng, 25, 25)
        assert figures(steps, succeeded, best(steps, succeeded)) == by_scipy(steps, succeeded, calls)


@given(instances(8, 8), st.randoms(use_true_random=False))
def test_the_order_of_the_steps_changes_no_figure_and_no_call(
    instance: tuple[list[Candidates], int, int], rng: random.Random
) -> None:
    steps, succeeded, _ = instance
    shuffled = rng.sample(steps, len(steps))
    assert with_calls(shuffled, succeeded, best(shuffled, succeeded)) == with_calls(
        steps, succeeded, best(steps, succeeded)
    )


@given(instances(8, 8), st.randoms(use_true_random=False))
def test_the_order_of_the_calls_changes_no_figure(
    instance: tuple[list[Candidates], int, int], rng: random.Random
) -> None:
    steps, succeeded, calls = instance
    place = rng.sample(range(calls), calls)

    def moved(mask: int) -> int:
        return sum(1 << place[call] for call in range(calls) if mask >> call & 1)

    other = [Candidates(s.required, moved(s.compatible), [moved(level) for level in s.levels]) for s in steps]
    assert figures(other, moved(succeeded), best(other, moved(succeeded))) == figures(
        steps, succeeded, best(steps, succeeded)
    )


@given(instances(8, 8))
def test_one_more_call_never_lowers_steps_or_fields(instance: tuple[list[Candidates], int, int]) -> None:
    steps, succeeded, calls = instance
    if not calls:
        return
    kept = (1 << calls - 1) - 1
    fewer = [Candidates(s.required, s.compatible & kept, [level & kept for level in s.levels]) for s in steps]
    before = figures(fewer, succeeded & kept, best(fewer, succeeded & kept))
    assert figures(steps, succeeded, best(steps, succeeded))[:3] >= before[:3]


def test_a_step_leaves_the_call_that_fits_it_best_where_that_is_better_as_a_whole() -> None:
    # Greedy in step order takes call 0 for step 0 (3 + 0 fields); 2 + 3 is better.
    assert best(candidates([(True, [3, 2]), (True, [3, 0])]), 0b11) == [1, 0]


def test_a_required_step_comes_before_an_optional_one_with_more_right_fields() -> None:
    assert best(candidates([(False, [9]), (True, [0])]), 0b1) == [None, 0]


def test_one_required_step_comes_before_any_number_of_optional_ones() -> None:
    # Step 0 fits call 1 alone; to leave it out would not match more, to match it must not cost the required one.
    rights: Rights = [(False, [5, None]), (False, [5, 5]), (True, [0, None])]
    assert best(candidates(rights), 0b11) == [None, 1, 0]


def test_more_steps_come_before_more_right_fields() -> None:
    assert best(candidates([(True, [9, 0]), (True, [0, None])]), 0b11) == [1, 0]


def test_right_fields_come_before_the_success_of_a_call() -> None:
    assert best(candidates([(True, [1, 2])]), 0b01) == [1]


def test_among_equals_a_call_that_succeeded_comes_before_an_earlier_one_that_failed() -> None:
    assert best(candidates([(True, [2, 2, 2])]), 0b110) == [1]


def test_a_later_success_is_reached_through_other_steps() -> None:
    # Both calls that succeeded are used only where step 0 leaves call 0 to step 1.
    assert best(candidates([(True, [1, None, 1]), (True, [1, 1, None])]), 0b101) == [2, 0]


def test_among_equals_the_earliest_calls_are_used() -> None:
    assert set(best(candidates([(True, [1, 1, 1, 1])] * 2), 0)) == {0, 1}


def test_a_step_that_no_call_fits_is_left_over() -> None:
    assert best(candidates([(True, [None, None]), (True, [None, 0])]), 0b11) == [None, 1]


def test_without_steps_or_without_calls_nothing_is_matched() -> None:
    assert best([], 0b1) == []
    assert best(candidates([(True, []), (False, [])]), 0) == [None, None]


def test_one_step_finds_its_call_among_a_thousand() -> None:
    row: list[int | None] = [2] * THOUSAND
    row[700] = row[900] = 3
    assert best(candidates([(True, row)]), ALL) == [700]


def test_one_call_finds_its_step_among_a_thousand() -> None:
    rights: Rights = [(True, [1])] * 700 + [(True, [2])] + [(False, [3])] * 299
    assert [step for step, call in enumerate(best(candidates(rights), 1)) if call is not None] == [700]


def levels_of(rng: random.Random, density: float) -> list[int]:
    levels, level = [], ALL
    for _ in range(10):
        level &= sum(1 << call for call in range(THOUSAND) if rng.random() < density)
        levels.append(level)
    return levels


def all_distinct(rng: random.Random) -> list[Candidates]:
    return [Candidates(True, ALL, [ALL, *[1 << call] * 9]) for call in rng.sample(range(THOUSAND), THOUSAND)]


def half_wrong(rng: random.Random) -> list[Candidates]:
    return [step if rng.random() < 0.5 else Candidates(True, ALL, [ALL, *[0] * 9]) for step in all_distinct(rng)]


def all_the_same(_: random.Random) -> list[Candidates]:
    return [Candidates(True, ALL, [ALL] * 10)] * THOUSAND


def fields_of_three_values(rng: random.Random) -> list[Candidates]:
    calls = [[rng.randrange(3) for _ in range(5)] for _ in range(THOUSAND)]
    steps = []
    for _ in range(THOUSAND):
        wanted = [rng.randrange(3) for _ in range(5)]
        right = [sum(map(int.__eq__, wanted, call)) for call in calls]
        levels = [sum(1 << call for call, count in enumerate(right) if count > k) for k in range(5)]
        steps.append(Candidates(rng.random() < 0.7, ALL, levels))
    return steps


def dense_levels(rng: random.Random) -> list[Candidates]:
    return [Candidates(rng.random() < 0.7, ALL, levels_of(rng, 0.4)) for _ in range(THOUSAND)]


def more_steps_than_calls(rng: random.Random) -> list[Candidates]:
    kept = (1 << 600) - 1
    return [Candidates(s.required, kept, [level & kept for level in s.levels]) for s in dense_levels(rng)]


def a_few_calls_each(rng: random.Random) -> list[Candidates]:
    steps = []
    for _ in range(THOUSAND):
        fitting = sum(1 << call for call in rng.sample(range(THOUSAND), 3))
        levels = [level & fitting for level in levels_of(rng, 0.8)]
        steps.append(Candidates(rng.random() < 0.7, fitting, levels))
    return steps


BIG: list[Callable[[random.Random], list[Candidates]]] = [
    all_distinct,
    half_wrong,
    all_the_same,
    fields_of_three_values,
    dense_levels,
    more_steps_than_calls,
    a_few_calls_each,
]


@pytest.mark.parametrize("build", BIG)
def test_a_thousand_steps_and_calls_are_assigned_exactly_and_soon(
    build: Callable[[random.Random], list[Candidates]],
) -> None:
    rng = random.Random(7)
    steps, succeeded = build(rng), rng.getrandbits(THOUSAND)
    start = time.process_time()
    found = best(steps, succeeded)
    assert time.process_time() - start < SLOW
    assert figures(steps, succeeded, found) == by_scipy(steps, succeeded, THOUSAND)


def test_a_chain_in_which_every_step_must_give_way_is_assigned_soon() -> None:
    # Step i fits calls i and i + 1 and would rather have i + 1; the last step fits one call only.
    steps = [Candidates(True, 3 << i & ALL, [2 << i & ALL] * 9) for i in range(THOUSAND)]
    start = time.process_time()
    assert best(steps, ALL) == list(range(THOUSAND))
    assert time.process_time() - start < SLOW


@settings(deadline=None)
@given(st.integers(1, 60), st.randoms(use_true_random=False))
def test_shuffled_calls_with_distinct_arguments_each_find_their_step(count: int, rng: random.Random) -> None:
    order = rng.sample(range(count), count)
    rows: list[list[int | None]] = [[3 if call == own else 1 for call in range(count)] for own in order]
    assert best(candidates([(True, row) for row in rows]), 0) == order
