"""Normalizers of free text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import scoring
from evaluator.scoring.normalizers import UnknownNormalizerError, normalizer, versions

text = normalizer("text@1")


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("  Late   delivery\n", "late delivery"),
        ("Don't panic!", "dont panic"),
        ("Refund - partial", "refund partial"),
        ("«Très» bien…", "très bien"),
        ("ΟΔΟΣ", "οδος"),
        ("STRASSE", "strasse"),
        ("Straße", "straße"),
        ("a\u00a0b\u2003c", "a b c"),
        ("$24 + 1", "$24 + 1"),
        ("?!", ""),
    ],
)
def test_text_1_trims_lowers_drops_punctuation_and_folds_white_space(written: str, normal: str) -> None:
    assert text(written) == normal


@given(st.text())
def test_what_text_1_gives_is_normal_already(written: str) -> None:
    assert text(text(written)) == text(written)


@given(st.text(alphabet=" \n\tabcXYZ.,!?-'"))
def test_text_1_leaves_no_punctuation_no_upper_case_and_single_spaces(written: str) -> None:
    normal = text(written)
    assert normal == normal.strip().lower()
    assert "  " not in normal
    assert not set(normal) & set("\n\t.,!?-'")


@pytest.mark.parametrize("name", ["text", "text@3", "TEXT@1", "", None, 1, ["text@1"]])
def test_an_unknown_name_or_version_is_refused_with_those_there_are(name: object) -> None:
    with pytest.raises(UnknownNormalizerError, match=r"^unknown normalizer .*; known are text@1, text@2$"):
        normalizer(name)


def test_each_normalizer_is_in_the_versions_that_a_run_records() -> None:
    assert versions() == {"normalizer_text_1": "text@1", "normalizer_text_2": "text@2"}
    assert scoring.versions().items() >= versions().items()
    assert scoring.versions()["trace"] == "trace@1"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Refund 24.50", "refund 24.50.", True),
        ("Refund 24.50", "Refund 2450", False),
        ("-5", "5", False),
        ("50%", "50", False),
        ("2/3", "23", False),
        ("14:30", "1430", False),
        ("Damaged, on arrival!", "damaged on  arrival", True),
    ],
)
def test_text_2_tells_numbers_apart_that_text_1_does_not(one, other, equal):
    normalize = normalizer("text@2")
    assert (normalize(one) == normalize(other)) == equal
