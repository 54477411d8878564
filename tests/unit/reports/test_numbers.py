from __future__ import annotations

import pytest

from evaluator.reports import numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.00"),
        (0.35, "0.35"),
        (1.0, "1.00"),
        (0.999, "0.999"),
        (2999 / 3000, "0.9997"),
        (0.0004, "0.0004"),
        (1e300, "1e+300"),
    ],
)
def test_a_rate_has_two_decimals_unless_they_would_claim_all_or_nothing(value: float, shown: str) -> None:
    assert numbers.rate(value) == shown


def test_a_small_difference_is_visible_on_both_sides() -> None:
    assert numbers.pair("pass_rate", 0.824, 0.821) == ("0.8240", "0.8210")
    assert numbers.pair("pass_rate", 0.82, 0.82) == ("0.82", "0.82")


def test_figures_are_shown_in_the_unit_of_their_metric() -> None:
    assert numbers.figure("cost_usd", 0.0123) == "$0.0123"
    assert numbers.figure("cost_usd", 1234.5) == "$1,234.50"
    assert numbers.figure("input_tokens", 12345) == "12,345"
    assert numbers.figure("failure_modes.wrong_tool", 0.05) == "0.05"
    assert numbers.figure("pass_rate", None) == "–"
    assert numbers.figure("pass_rate", float("nan")) == "–"


def test_a_change_carries_its_sign() -> None:
    assert numbers.change("pass_rate", 0.35, 0.0) == "−0.35"
    assert numbers.change("pass_rate", 0.0, 0.05) == "+0.05"
    assert numbers.change("pass_rate", 0.5, 0.5) == "0.00"
    assert numbers.change("cost_usd", 0.02, 0.01) == "−$0.0100"
    assert numbers.change("input_tokens", 10, 10) == "0"
    assert numbers.change("pass_rate", None, 0.5) == "–"


def test_a_small_p_is_not_rounded_to_zero() -> None:
    assert numbers.probability(0.0078) == "p = 0.008"
    assert numbers.probability(1e-9) == "p < 0.001"


def test_durations_read_as_people_say_them() -> None:
    shown = [numbers.duration(seconds) for seconds in (0.42, 12, 61.3, 119.7, 7800)]

    assert shown == ["0.4 s", "12 s", "1 min 01 s", "2 min 00 s", "2 h 10 min"]


def test_things_are_counted_with_their_plural() -> None:
    assert numbers.counted(1, "case") == "1 case"
    assert numbers.counted(1200, "canary", "canaries") == "1,200 canaries"


def test_a_mean_of_counts_has_two_decimals_at_most_unless_they_would_claim_none() -> None:
    shown = [numbers.figure("extra_calls", value) for value in (0.0, 2.0, 0.4166, 1.5, 0.004, 1234.5)]

    assert shown == ["0", "2", "0.42", "1.5", "0.004", "1,234.5"]
    assert numbers.change("extra_calls", 0.25, 0.75) == "+0.5"
    assert numbers.change("missing_calls", 1.0, 1.0) == "0"
    assert numbers.pair("retry_tokens", 0.331, 0.334) == ("0.3310", "0.3340")
