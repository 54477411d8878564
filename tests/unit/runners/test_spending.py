"""What several answers cost together."""

from hypothesis import given
from hypothesis import strategies as st

from evaluator.runners.spending import spent_before, total
from evaluator.transcript import Infrastructure, Transcript, Usage

FAILED = Infrastructure(kind="timeout", message="no")


def answers(*usages):
    return [Transcript(usage=usage) for usage in usages]


def test_tokens_and_dollars_are_summed():
    one = Usage(input_tokens=3, output_tokens=4, cost_usd=0.1)
    two = Usage(input_tokens=30, output_tokens=40, cost_usd=0.2)
    assert total(answers(one, two)) == Usage(input_tokens=33, output_tokens=44, cost_usd=0.30000000000000004)


def test_a_figure_that_is_unknown_once_is_unknown_and_the_others_stay():
    one = Usage(input_tokens=3, output_tokens=4)
    two = Usage(input_tokens=30, cost_usd=0.0)
    assert total(answers(one, two)) == Usage(input_tokens=33)
    assert total(answers(one, None)) is None


def test_a_price_of_zero_is_known():
    assert total(answers(Usage(cost_usd=0.0), Usage(cost_usd=0.0))) == Usage(cost_usd=0.0)


def test_a_failure_carries_what_was_paid_before_it_and_nothing_where_nothing_was():
    paid = Usage(input_tokens=3, output_tokens=4, cost_usd=0.1)
    assert spent_before(FAILED, answers(paid)).usage == paid
    assert spent_before(FAILED, []) is FAILED


@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_known_counts_add_up(counts):
    summed = total(answers(*(Usage(input_tokens=count) for count in counts)))
    assert summed == Usage(input_tokens=sum(counts))
