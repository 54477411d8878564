import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.recording.scrub import scrub

QUADRATIC = 10  # seconds of CPU; what is linear takes less than one, what is not would take minutes

PEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIB4821\nabc+/=\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    "sk-abcdefghijklmnop12345",
    "sk-proj-abc_DEF-1234567890abcdef",
    "sk-ant-api03-abcdefghij1234567890-_",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "gho_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "glpat-abcdefghij1234567890",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghij",
    "hf_abcdefghijklmnopqrstuvwxyz012345",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0ODIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    PEM,
]
TEXTS = st.lists(
    st.sampled_from([*SECRETS, "hunter2hunter2", "https://", "user:pass@", "Bearer ", "Authorization: Basic ", "***"])
    | st.text(alphabet="ab1 -.:/@\"'_\n", max_size=8),
    max_size=8,
).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_is_known_by_its_shape(secret):
    assert scrub(f"key={secret} end", {}) == ("key=*** end", 1)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("GET / Authorization: Bearer abcdefgh12345678", "GET / Authorization: Bearer ***"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ***"),
        ('{"Authorization": "Bearer abc.def-123456789"}', '{"Authorization": "Bearer ***"}'),
        ("postgres://admin:hunter2@db.internal:5432/x", "postgres://***@db.internal:5432/x"),
        ("see https://a:b@c.org/d?u=https://e:f@g.org", "see https://***@c.org/d?u=https://***@g.org"),
        ("-----BEGIN PRIVATE KEY-----\nMIIB", "***"),
    ],
)
def test_what_says_that_a_secret_follows_is_kept_and_the_secret_is_not(text, cleaned):
    masked = cleaned.count("***")
    assert scrub(text, {}) == (cleaned, masked)


@pytest.mark.parametrize(
    "text",
    [
        "order 4821 of 24.50, sk-12 and risk-assessment-of-2024-in-detail",
        "sk-learn-based-classification-models",
        "the bearer of this letter, bearer authentication",
        '{"url":"http://host:80","mail":"a@b.org"}',
        "https://example.org:8080/a@b",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "AKIAIOSFODNN7EXAMPLES",
        "eyJhbGciOiJIUzI1NiJ9",
    ],
)
def test_what_only_resembles_a_secret_stays(text):
    assert scrub(text, {}) == (text, 0)


def test_the_values_of_this_environment_are_masked_whatever_their_shape():
    environ = {"SHOP_TOKEN": "hunter2hunter2", "HOME": "/home/someone"}
    assert scrub({"q": "hunter2hunter2 in /home/someone"}, environ) == ({"q": "*** in /home/someone"}, 1)


def test_every_string_of_a_value_is_cleaned_and_keys_that_become_equal_are_kept_apart():
    value = {SECRETS[0]: [SECRETS[1], {"a": SECRETS[2]}], SECRETS[3]: SECRETS[4], "n": None}
    assert scrub(value, {}) == ({"***": ["***", {"a": "***"}], "*** (2)": "***", "n": None}, 5)


def test_a_secret_within_json_text_leaves_json():
    for secret in SECRETS:
        text = json.dumps({"key": secret, "next": 'a "quoted" word'})
        assert json.loads(scrub(text, {})[0]) == {"key": "***", "next": 'a "quoted" word'}
    opened = json.dumps({"key": "-----BEGIN PRIVATE KEY-----\nMIIB", "next": 1})
    assert json.loads(scrub(opened, {})[0]) == {"key": "***", "next": 1}


@given(JSON)
def test_what_is_clean_stays_as_it_is(value):
    environ = {"SHOP_TOKEN": "hunter2hunter2"}
    once, _ = scrub(value, environ)
    assert scrub(once, environ) == (once, 0)


@given(st.lists(st.sampled_from(SECRETS) | st.text(alphabet="ab1 .:/@'_\n", max_size=8), max_size=8))
def test_no_secret_survives_between_other_text(parts):
    cleaned, masked = scrub(" ".join(parts), {})
    assert not any(secret in cleaned for secret in SECRETS)
    assert (masked > 0) == any(part in SECRETS for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        "sk-" * 100_000,
        "eyJ" * 100_000,
        "eyJaaaaaaaa." * 25_000,
        "-----BEGIN PRIVATE KEY-----" * 12_000,
        "-" * 300_000,
        "https://" * 40_000,
        "https://a:" * 30_000,
        "http://" + "a" * 300_000,
        "a:" * 150_000 + "@",
        "Bearer " * 45_000,
        "Authorization: " * 20_000,
        "ghp_" * 75_000,
        "A" * 300_000,
    ],
)
def test_the_time_is_linear(text):
    start = time.process_time()
    scrub(text, {})
    assert time.process_time() - start < QUADRATIC


def test_a_value_as_deep_as_json_may_be_is_cleaned():
    deep = json.loads("[" * 490 + '"sk-abcdefghijklmnop12345"' + "]" * 490)
    cleaned, masked = scrub(deep, {})
    assert masked == 1
    assert json.dumps(cleaned) == "[" * 490 + '"***"' + "]" * 490
