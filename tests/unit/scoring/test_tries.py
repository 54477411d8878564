from __future__ import annotations

import pytest

from evaluator.cases import Case, Request
from evaluator.results import Score
from evaluator.scoring import prepare
from evaluator.transcript import Infrastructure, Transcript, Usage

RIGHT = Transcript(text="42", usage=Usage(input_tokens=10, output_tokens=2))
WRONG = Transcript(text="41", usage=Usage(input_tokens=7, output_tokens=3))


def scored(later: list[Transcript] | None, *, first: Transcript = WRONG, option: str = "") -> Score:
    case = Case(
        id="a",
        request=Request(messages=[]),
        expected={"matchers": [{"kind": "numeric", "value": 42}]},
        options={"scored_try": option} if option else {},
    )
    score = prepare("trapstreet", case)(Transcript(text=first.text, later=later))
    assert isinstance(score, Score)
    return score


def test_without_retries_on_offer_there_are_no_figures_of_them() -> None:
    assert set(scored(None).values) == {"score"}


def test_the_first_try_is_what_counts_and_the_recovered_one_stands_beside_it() -> None:
    score = scored([WRONG, RIGHT])
    assert not score.passed
    assert score.values == {
        "score": 0.0,
        "first_try_pass_rate": 0.0,
        "recovered_pass_rate": 1.0,
        "retry_tokens": 22.0,
    }


def test_the_last_try_counts_where_the_task_says_so() -> None:
    score = scored([WRONG, RIGHT], option="last")
    assert score.passed
    assert (score.values["first_try_pass_rate"], score.values["recovered_pass_rate"]) == (0.0, 1.0)


def test_a_first_try_that_passes_needs_no_other() -> None:
    assert scored([], first=RIGHT).values == {
        "score": 1.0,
        "first_try_pass_rate": 1.0,
        "recovered_pass_rate": 1.0,
        "retry_tokens": 0.0,
    }


def test_a_last_try_that_is_worse_fails_where_the_last_counts() -> None:
    assert not scored([WRONG], first=RIGHT, option="last").passed


def test_tokens_of_retries_that_are_unknown_are_no_figure() -> None:
    assert "retry_tokens" not in scored([Transcript(text="42")]).values


@pytest.mark.parametrize("which", ["", "last"])
def test_a_retry_that_cannot_be_scored_is_nobodys_failure(which: str) -> None:
    case = Case(
        id="a",
        request=Request(messages=[]),
        expected={"matchers": [{"kind": "regex_required", "pattern": "(a+)+$"}]},
        options={"scored_try": which} if which else {},
    )
    slow = Transcript(text="a" * 60 + "!")
    score = prepare("trapstreet", case)(Transcript(text="b", later=[slow]))
    assert isinstance(score, Infrastructure) or not score.passed
