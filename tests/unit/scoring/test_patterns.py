import time

import pytest

from evaluator.scoring import patterns
from evaluator.scoring.patterns import PatternError, PatternTimeoutError, compile_pattern

QUADRATIC = 30  # seconds of CPU; what is linear takes one at most, what is not would take hours


def test_a_pattern_is_searched_anywhere_with_its_flags() -> None:
    assert compile_pattern(r"b\d", "i").found_in("aB7")
    assert not compile_pattern(r"b\d").found_in("aB7")
    assert compile_pattern("^b$", "m").found_in("a\nb\nc")
    assert compile_pattern("a.b", "s").found_in("a\nb")


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"^(\w+\s?)*$", r"(a+)+$"])
def test_a_catastrophic_pattern_ends_in_time_with_its_name(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.2)
    start = time.process_time()
    with pytest.raises(PatternTimeoutError, match=r"took longer than 0\.2 s on 50001 characters"):
        compile_pattern(pattern).found_in("a" * 50_000 + "!")
    assert time.process_time() - start < QUADRATIC


@pytest.mark.parametrize(
    ("pattern", "flags", "message"),
    [
        ("(", "", "not a regular expression"),
        (None, "", "a pattern is a string"),
        ("a", "q", "flags are letters of 'imsx'"),
        ("a", 2, "flags are letters of 'imsx'"),
        ("a" * 10_001, "", "a pattern of 10001 characters"),
        ("((a{1000}){1000}){1000}", "", "its repeats written out are longer than 50000 parts"),
        ("(?:(?:a{60}b){60}c){60}", "", "its repeats written out are longer than 50000 parts"),
        ("a{999999999}", "", "its repeats written out are longer than 50000 parts"),
        ("(" * 4000 + ")" * 4000, "", "not a regular expression"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern: object, flags: object, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        compile_pattern(pattern, flags)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^([0-9a-f]{64}:){32}[\]{}]{1,9999}$",
        r"\{1000\}\{1000\}\{1000\}",
        r"[{1000}]{1000}",
        r"\p{L}+",
    ],
)
def test_ordinary_patterns_are_not_refused(pattern: str) -> None:
    compile_pattern(pattern)
