"""What `search` finds in the passages of a task."""

import pytest

from evaluator.cases import Passage
from evaluator.corpus import search

CORPUS = [
    Passage(title="Tern", text="The ferry Tern, built in 1994."),
    Passage(title="Gannet", text="The ferry Gannet is longer than the Tern."),
    Passage(title="Ærø", text="Straße zum Hafen; café_bar."),
    Passage(title="Harbour", text="The ferry leaves at ten. The ferry is late."),
    Passage(title="Puffin", text="The ferry Puffin."),
]


def titles(query, corpus=CORPUS):
    """The titles of what is found, in order."""
    return [part[1 : part.index("]")] for part in search(corpus, query).split("\n\n")]


def test_passages_come_as_title_and_text_with_a_blank_line_between():
    assert search(CORPUS[:2], "tern") == (
        "[Tern] The ferry Tern, built in 1994.\n\n[Gannet] The ferry Gannet is longer than the Tern."
    )


def test_the_passage_that_shares_most_words_comes_first_and_ties_stay_in_order():
    assert titles("the longer tern") == ["Gannet", "Tern", "Harbour"]
    assert titles("Tern") == ["Tern", "Gannet"]


def test_three_passages_are_found_at_most():
    assert titles("ferry") == ["Tern", "Gannet", "Harbour"]


def test_a_word_counts_once_however_often_it_stands_there_or_is_asked_for():
    assert titles("late ferry") == ["Harbour", "Tern", "Gannet"]
    assert titles("ferry ferry ferry built") == ["Tern", "Gannet", "Harbour"]


@pytest.mark.parametrize("query", ["", "  ", "?!", "submarine", "ter"])
def test_nothing_shared_is_no_result(query):
    assert search(CORPUS, query) == "No results."


@pytest.mark.parametrize("query", ["ÆRØ", "STRASSE", "cafe\u0301", "bar"])
def test_words_of_any_script_are_found_in_any_case_and_composition(query):
    assert titles(query) == ["Ærø"]


def test_an_empty_corpus_has_no_results():
    assert search([], "ferry") == "No results."
