from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.baselines.names import escape, of_branch

TEXTS = st.text(max_size=300) | st.text(alphabet="=./-_aA2EF~\\%", max_size=200)


@given(TEXTS, TEXTS)
@example("a/b", "a=2Fb")
@example("a" * 300, "a" * 299)
@example("", "=")
@example("main", "Main")
@example("é", "e\u0301")
def test_different_texts_have_different_names(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(TEXTS)
@example("..")
@example(".git")
@example("../../etc/passwd")
@example("a\0b\nc")
@example("\ud800")
def test_a_name_is_one_harmless_folder(text: str) -> None:
    name = escape(text)
    assert re.fullmatch(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]{0,254}", name)
    assert name.lower() not in {".", "..", ".git"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("main", "main"),
        ("trap.yaml", "trap.yaml"),
        ("evals/trap.yaml", "evals=2Ftrap.yaml"),
        ("release/1.x", "release=2F1.x"),
        (".github/trap.yaml", "=2Egithub=2Ftrap.yaml"),
    ],
)
def test_a_name_can_be_read(text: str, name: str) -> None:
    assert escape(text) == name


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_pair_of_configuration_and_branch_has_the_folder_of_another(a: str, b: str, c: str, d: str) -> None:
    assert (of_branch(a, b) == of_branch(c, d)) == ((a, b) == (c, d))
    assert of_branch(a, b).count("/") == 2
