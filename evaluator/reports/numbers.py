"""Numbers as a reader wants them. Rates are fractions of 1 with two decimals; more only where two would mislead."""

from __future__ import annotations

import math
import re

from evaluator.vocabulary import AMOUNT_METRICS, COUNT_METRICS

_TIME = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d{1,9})?(?:Z|\+00:00)", re.ASCII)
NOTHING = "–"
_MINUS = "−"
_MOST_DECIMALS = 4
# Decimals of an amount of dollars below one.
_CENTS = 4
_MOST_CENTS = 9


def rate(value: float) -> str:
    """0.354 → "0.35"; 2999 of 3000 is "0.9997", never "1.00"."""
    decimals = next((d for d in range(2, _MOST_DECIMALS) if not _looks_whole(value, d)), _MOST_DECIMALS)
    return _decimal(value, decimals)


def _looks_whole(value: float, decimals: int) -> bool:
    return value not in (0.0, 1.0) and round(value, decimals) in (0.0, 1.0)


def figure(metric: str, value: float | None) -> str:
    """A value in the unit of its metric; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if metric == "cost_usd":
        return money(value)
    if metric in COUNT_METRICS:
        return mean_count(value)
    return count(value) if metric in AMOUNT_METRICS else rate(value)


def mean_count(value: float) -> str:
    """A mean of counts: 2.0 is "2", 0.4166 is "0.42"; more decimals only where two would claim that there is none."""
    decimals = next((d for d in range(2, _MOST_DECIMALS) if value == 0 or round(value, d)), _MOST_DECIMALS)
    text = f"{value:,.{decimals}f}" if abs(value) < 1e15 else f"{value:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def pair(metric: str, baseline: float, now: float) -> tuple[str, str]:
    """Both sides with as many decimals as it takes to see that they differ."""
    before, after = figure(metric, baseline), figure(metric, now)
    if before == after and baseline != now and metric not in AMOUNT_METRICS:
        return _decimal(baseline, _MOST_DECIMALS), _decimal(now, _MOST_DECIMALS)
    return before, after


def change(metric: str, baseline: float | None, now: float | None) -> str:
    """now − baseline with its sign."""
    if baseline is None or now is None:
        return NOTHING
    difference = now - baseline
    if difference == 0:
        return "0" if metric in (*AMOUNT_METRICS, *COUNT_METRICS) else "0.00"
    return ("+" if difference > 0 else _MINUS) + figure(metric, abs(difference))


def signed(value: float) -> str:
    """A difference of rates: "+0.05", "−0.35", "0.00"."""
    return change("", 0.0, value)


def interval(low: float | None, high: float | None) -> str:
    """ " [0.18, 0.57]" with its leading space, empty where the figure has no interval."""
    return "" if low is None or high is None else f" [{_decimal(low, 2)}, {_decimal(high, 2)}]"


def probability(p: float) -> str:
    """ "p = 0.008"; below a thousandth only that it is."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def money(dollars: float) -> str:
    """Four decimals below a dollar, for a case often costs less than a cent; more where four would leave fewer than two
    digits: what costs something is never "$0.0000"."""
    if abs(dollars) >= 1:
        return f"${dollars:,.2f}"
    wanted = 1 - math.floor(math.log10(abs(dollars))) if dollars else 0
    whole, _, decimals = f"{dollars:.{min(max(_CENTS, wanted), _MOST_CENTS)}f}".partition(".")
    return f"${whole}.{decimals[:_CENTS]}{decimals[_CENTS:].rstrip('0')}"


def count(number: float) -> str:
    """ "12,345"."""
    return f"{number:,.0f}" if abs(number) < 1e15 else f"{number:.3g}"


def counted(number: int, singular: str, plural: str = "") -> str:
    """ "1 case", "2 cases"."""
    return f"{count(number)} {singular if number == 1 else plural or singular + 's'}"


def moments(text: str) -> str:
    """`text` with its times in ISO 8601 and UTC as people write them: "2026-05-04 10:00 UTC"."""
    return _TIME.sub(r"\1 \2 UTC", text)


def duration(seconds: float) -> str:
    """ "0.4 s", "12 s", "3 min 05 s", "2 h 10 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{count(hours)} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _decimal(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}" if abs(value) < 1e6 else f"{value:.3g}"
    return text.replace("-", _MINUS)
