import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.json_text import JsonFault
from evaluator.scoring.extract_json import balanced_end, extract_json

QUADRATIC = 30  # seconds of CPU; what is linear takes one at most, what is not would take hours

OBJECTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=10), min_size=1, max_size=3)
PROSE = st.text(alphabet="abc ,.:;'!?\n", max_size=30)
PIECES = st.lists(st.sampled_from([*'{}[]",:\\`', "\n", "```", "json", "a", "1", '"a":1']), max_size=25).map("".join)


@given(PROSE, OBJECTS, PROSE)
def test_an_object_between_prose_is_found(before: str, value: dict[str, object], after: str) -> None:
    assert extract_json(before + json.dumps(value) + after) == value


@given(PROSE, OBJECTS, PROSE)
def test_a_fenced_object_is_found(before: str, value: dict[str, object], after: str) -> None:
    assert extract_json(f"{before}\n```json\n{json.dumps(value, indent=2)}\n```\n{after}", wants_object=True) == value


@given(PIECES | st.text())
def test_it_never_raises_and_gives_an_object_where_one_is_wanted(text: str) -> None:
    assert isinstance(extract_json(text, wants_object=True), dict | JsonFault)
    extract_json(text)


@given(PIECES)
def test_a_whole_text_that_parses_wins(text: str) -> None:
    try:
        value = json.loads(text.strip())
    except ValueError:
        return
    found = extract_json(text)
    assert found == value or isinstance(found, JsonFault)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ('Braces in {"a": "} {"} strings', {"a": "} {"}),
        ('{"a": 1} and {"b": 2}', {"a": 1}),
        ('{broken} and {"b": 2}', {"b": 2}),
        ('{ never closed\n{"b": 2}', {"b": 2}),
        ('{ wrong ] kind {"b": 2}', {"b": 2}),
        ('{"no end\n{"b": 2}', {"b": 2}),
        ('x = [1, {"b": 2}]', [1, {"b": 2}]),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('````\n```\n{"a": 1}\n```\n````\n[7]', {"a": 1}),
        ("```python\nprint()\n```\n```json\n[2]\n```", [2]),
    ],
)
def test_what_is_taken_from_a_text(text: str, value: object) -> None:
    assert extract_json(text) == value


@pytest.mark.parametrize("text", ['{"a": 1, "a": {"b": 2}}', '{"a": NaN, "c": {"b": 2}}', '{note: {"a": 1}}'])
def test_a_fragment_of_a_refused_document_is_not_an_answer(text: str) -> None:
    assert isinstance(extract_json(text), JsonFault)


def test_an_array_is_passed_over_where_an_object_is_wanted() -> None:
    assert extract_json('[1] then {"a": 1}', wants_object=True) == {"a": 1}
    fault = extract_json("[1]", wants_object=True)
    assert str(fault) == "there is no object in the text (line 1, column 1)"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000,
        "{" * 500_000,
        '{"' * 200_000,
        '{"\\"' * 200_000,
        "```a\n" * 100_000,
        "```\n{\n```\n" * 50_000,
        "{x}" * 100_000,
        "[{]}" * 100_000,
        "{x" * 100_000 + "}" * 100_000,
    ],
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    start = time.process_time()
    assert isinstance(extract_json(text), JsonFault)
    assert time.process_time() - start < QUADRATIC


def test_balanced_end_respects_strings() -> None:
    text = 'x {"a": "}"} y'
    assert balanced_end(text, 2) == 12
    assert balanced_end("{", 0) is None
