from __future__ import annotations

from evaluator.errors import Problem, UserError
from evaluator.github.no_verdict import of_beginning, of_crash, of_error

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_comment_without_a_verdict_names_the_commit_and_every_problem() -> None:
    error = UserError(
        "bad", Problem("trap.yaml", 3, 5, "unknown key `x`", "Write `y`."), Problem("", 0, 0, "it is odd")
    )
    assert of_error(error, COMMIT, 10_000) == (
        "### ⛔ trapgate: configuration error: no verdict for `0123456789ab`\n\n"
        "- it is odd\n- `trap.yaml:3:5`: unknown key `x`\n  Write `y`.\n"
    )


def test_problems_that_do_not_fit_are_counted() -> None:
    error = UserError("bad", *(Problem("f", number, 1, "\u202e" * 600, "é" * 900) for number in range(1, 200)))
    text = of_error(error, COMMIT, 65_000)
    assert len(text.encode()) <= 65_000
    shown = text.count("\n- `f:")
    assert text.endswith(f"- … and {199 - shown} more, in the log of the job.\n")
    assert 3 <= shown < 199


def test_a_crash_is_told_as_words() -> None:
    assert of_crash("Internal error: KeyError at x.py:3.", COMMIT).startswith(
        "### ⛔ trapgate: internal error: no verdict for `0123456789ab`\n\nInternal error: KeyError"
    )


def test_a_run_that_goes_on_names_its_commit_and_says_that_there_is_no_verdict() -> None:
    assert of_beginning(COMMIT) == (
        "### ⏳ trapgate: evaluating `0123456789ab`: no verdict yet\n\n"
        "The verdict will stand here. Should this stay, the run was killed before it could say anything: see its log.\n"
    )
