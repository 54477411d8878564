"""Canaries of now beside those of the baseline: which moved, and when nothing can be said."""

import itertools
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.live import canaries
from evaluator.live.comparison import moved
from evaluator.results import LiveCanaries
from tests.unit.live.builders import live, sent

ANY_OF = "schema/any_of"
FEATURE = "strict response schema with anyOf, of null and of objects"
ENUM = "schema/enum"


def told(before, now, *, same_model=True):
    witness, said = moved(before, now, same_model=same_model)
    assert witness.name == "live_canaries"
    assert (witness.state == "moved") is bool(said)
    return witness.state, said


def one(before, now, message="", canary=ANY_OF):
    return told(live(sent(canary, *before)), live(sent(canary, *now, message=message)))


VALID, INVALID, REFUSED = (["valid"] * 3, ["invalid"] * 3, ["refused"] * 3)
MIXED = ["valid", "invalid", "valid"]
LOST = ["timeout"] * 3


@pytest.mark.parametrize("before", [VALID, INVALID, MIXED, ["valid", "timeout", "timeout"], ["refused", "valid"]])
def test_what_was_accepted_and_is_refused_moved_and_the_provider_is_quoted(before):
    assert one(before, REFUSED, "anyOf is not permitted") == (
        "moved",
        [f"{FEATURE}: accepted → refused: anyOf is not permitted"],
    )


def test_what_was_valid_and_is_invalid_moved():
    assert one(VALID, INVALID) == ("moved", [f"{FEATURE}: valid → invalid in 3 of 3 attempts"])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (VALID, VALID),
        (INVALID, INVALID),
        (INVALID, VALID),
        (REFUSED, REFUSED),
        (REFUSED, VALID),
        (REFUSED, INVALID),
        (VALID, MIXED),
        (MIXED, INVALID),
        (MIXED, VALID),
        (VALID, ["valid", "refused", "refused"]),
        (VALID, ["invalid", "invalid", "timeout"]),
        (["valid", "valid", "timeout"], INVALID),
    ],
)
def test_anything_else_did_not_move(before, now):
    assert one(before, now) == ("steady", [])


@pytest.mark.parametrize(
    ("before", "now"),
    [(VALID, LOST), (LOST, REFUSED), (LOST, INVALID), (VALID, ["refused", "timeout", "refused"]), (VALID, [])],
)
def test_without_an_answer_on_either_side_nothing_is_said(before, now):
    assert one(before, now) == ("silent", [])


def test_validity_says_nothing_of_a_provider_that_does_not_hold_its_model_to_schemas():
    before = live(sent(ANY_OF, *VALID), sent(ENUM, *MIXED))
    now = live(sent(ANY_OF, *INVALID), sent(ENUM, *INVALID))
    assert told(before, now) == ("steady", [])
    # A refusal is the provider's all the same, and another mechanism is another matter.
    assert told(before, live(sent(ANY_OF, *REFUSED), sent(ENUM, *VALID)))[0] == "moved"
    other = live(sent("tool/enum", *VALID), *before.canaries)
    assert told(other, live(sent("tool/enum", *INVALID), *now.canaries))[1] == [
        "strict forced tool with an enum of 60 values: valid → invalid in 3 of 3 attempts"
    ]


def test_a_shape_that_is_always_bent_leaves_the_others_comparable():
    before = live(sent(ANY_OF, *VALID), sent("schema/numbers", *INVALID))
    now = live(sent(ANY_OF, *INVALID), sent("schema/numbers", *INVALID))
    assert told(before, now)[0] == "moved"


def test_a_canary_that_is_sent_otherwise_is_not_compared():
    before = live(msgspec.structs.replace(sent(ANY_OF, *VALID), digest="0" * 64))
    witness, said = moved(before, live(sent(ANY_OF, *REFUSED)), same_model=True)
    assert (witness.state, said) == ("silent", [])
    assert witness.text == "no live canary was sent in the form that the baseline's had"


@pytest.mark.parametrize(
    ("before", "now", "same_model", "text"),
    [
        (None, live(sent(ANY_OF, *VALID)), True, "the baseline has no live canaries"),
        (live(sent(ANY_OF, *VALID)), None, True, "this run sent no live canaries"),
        (live(sent(ANY_OF, *VALID)), live(), True, "this run sent no live canaries"),
        (None, LiveCanaries(silent="only text"), True, "only text"),
        (
            LiveCanaries(silent="only text"),
            live(sent(ANY_OF, *VALID)),
            True,
            "the baseline sent no live canaries: only text",
        ),
        (
            live(sent(ANY_OF, *VALID)),
            live(sent(ANY_OF, *REFUSED)),
            False,
            "the baseline's live canaries were sent to another model",
        ),
        (
            live(sent("plain", *VALID)),
            live(sent("plain", *VALID)),
            True,
            "no live canary was sent in the form that the baseline's had",
        ),
        (
            live(sent(ANY_OF, *VALID)),
            live(sent(ANY_OF, "authentication", "cancelled", message="bad key")),
            True,
            "the live canaries of this run got no answer: authentication, cancelled: bad key",
        ),
        (
            live(sent(ANY_OF, "bad_request", message="no such model")),
            live(sent(ANY_OF, *REFUSED)),
            True,
            "the live canaries of the baseline got no answer: bad_request: no such model",
        ),
        (
            live(sent(ANY_OF, *VALID)),
            live(sent(ANY_OF)),
            True,
            "the live canaries of this run got no answer: none was made",
        ),
    ],
)
def test_a_silent_witness_says_why(before, now, same_model, text):
    witness, said = moved(before, now, same_model=same_model)
    assert (witness.state, witness.text, said) == ("silent", text, [])


def test_a_steady_witness_counts_what_it_heard():
    before = live(*(sent(name, *VALID) for name in (ANY_OF, ENUM)), sent("schema/map", *REFUSED))
    now = live(sent(ANY_OF, *VALID), sent(ENUM, *LOST), sent("schema/map", *REFUSED))
    witness, _ = moved(before, now, same_model=True)
    assert witness.text == (
        "2 live canaries answered as in the baseline, 1 of them refused then and now; "
        "1 live canary got no answer, then or now"
    )


def test_a_moved_witness_counts_and_names_the_first():
    before = live(*(sent(name, *VALID) for name in (ENUM, ANY_OF, "schema/map")))
    now = live(sent(ENUM, *REFUSED), sent(ANY_OF, *REFUSED, message="no anyOf"), sent("schema/map", *VALID))
    witness, said = moved(before, now, same_model=True)
    assert witness.text == f"2 of 3 live canaries moved: {FEATURE}: accepted → refused: no anyOf"
    assert said[1] == "strict response schema with an enum of 60 values: accepted → refused"


def test_text_from_outside_stays_short_and_on_one_line():
    before = live(msgspec.structs.replace(sent(ANY_OF, *VALID), id="x\n" * 900))
    now = live(msgspec.structs.replace(before.canaries[0], attempts=REFUSED, message="y\n" * 900))
    witness, (said,) = moved(before, now, same_model=True)
    for text in (witness.text, said):
        assert "\n" not in text
        assert len(text) < 700
    silent, _ = moved(None, LiveCanaries(silent="z" * 900), same_model=True)
    assert len(silent.text) == 300


# Properties

WORDS = st.lists(st.sampled_from(["valid", "invalid", "refused", "timeout", "bad_request", "odd"]), max_size=3)
IDS = ["plain", *(canary.id for name in canaries.MECHANISMS for canary in canaries.of(name))]
RUNS = st.dictionaries(st.sampled_from(IDS), WORDS, max_size=8)


def run_of(attempts):
    return live(*(sent(canary_id, *words) for canary_id, words in attempts.items()))


@given(RUNS, RUNS, st.randoms(use_true_random=False))
def test_the_order_of_canaries_changes_nothing(before, now, random):
    def shuffled(attempts):
        return run_of(dict(random.sample(list(attempts.items()), len(attempts))))

    assert moved(shuffled(before), shuffled(now), same_model=True) == moved(
        run_of(before), run_of(now), same_model=True
    )


@given(RUNS, RUNS)
def test_a_canary_on_one_side_alone_never_moves(before, now):
    _, said = moved(run_of(before), run_of(now), same_model=True)
    features = {canaries.by_id(canary_id).feature for canary_id in before.keys() & now.keys()}
    assert {text.partition(":")[0] for text in said} <= features


@given(RUNS)
def test_a_run_beside_itself_never_moves(attempts):
    assert told(run_of(attempts), run_of(attempts))[0] != "moved"


@given(RUNS, RUNS)
def test_nothing_moves_that_is_neither_refused_nor_invalid_in_every_attempt(before, now):
    _, said = moved(run_of(before), run_of(now), same_model=True)
    bad = {name for name, words in now.items() if words and set(words) in ({"refused"}, {"invalid"})}
    assert len(said) <= len(bad & before.keys())


def test_chance_alone_moves_a_canary_with_a_probability_of_at_most_one_in_sixty_four():
    """The bound of docs/live-canaries.md: by the exact probability of every outcome, for models whose share of valid
    answers differs from canary to canary and is the same in both runs."""
    names = (ANY_OF, ENUM, "schema/map")
    attempts = [["valid"] * good + ["invalid"] * (canaries.ATTEMPTS - good) for good in range(canaries.ATTEMPTS + 1)]
    moving = []
    for outcome in itertools.product(range(canaries.ATTEMPTS + 1), repeat=2 * len(names)):
        before, now = (
            {name: attempts[good] for name, good in zip(names, half, strict=True)}
            for half in (outcome[: len(names)], outcome[len(names) :])
        )
        if moved(run_of(before), run_of(now), same_model=True)[1]:
            moving.append(outcome)
    assert moving
    for shares in itertools.product((0.0, 0.25, 0.5, 0.8, 0.9, 1.0), repeat=len(names)):
        chances = [
            [math.comb(canaries.ATTEMPTS, good) * p**good * (1 - p) ** (canaries.ATTEMPTS - good) for good in range(4)]
            for p in shares
        ] * 2
        chance = sum(math.prod(row[good] for row, good in zip(chances, outcome, strict=True)) for outcome in moving)
        assert chance <= 1 / 64 + 1e-12, shares
