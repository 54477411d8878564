import base64
import json
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from evaluator.redaction import MASK, Redactor

KEY = "sk-abc/123+DEF=456"


def clean(text, **environ):
    return Redactor(environ).clean(text)


def test_the_value_of_a_secret_is_masked_and_the_rest_stays():
    assert clean(f"401: bad key {KEY}.", OPENAI_API_KEY=KEY) == f"401: bad key {MASK}."


def test_a_secret_is_known_by_the_end_of_its_name():
    for name in (
        "A_KEY",
        "GITHUB_TOKEN",
        "INPUT_GITHUB-TOKEN",
        "X_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "a_token",
        "TOKEN",
    ):
        assert clean(KEY, **{name: KEY}) == MASK, name
    for name in ("HOME", "MONKEY", "TOKENS", "SECRETARY"):
        assert clean(KEY, **{name: KEY}) == KEY, name


def test_a_percent_encoded_secret_is_masked():
    for encoded in (quote(KEY), quote(KEY, safe=""), quote_plus(KEY)):
        assert clean(f"https://host/?key={encoded}&x=1", A_KEY=KEY) == f"https://host/?key={MASK}&x=1"


def test_a_secret_within_base64_is_masked_at_every_offset():
    for before in ("", "u", "us", "user:"):
        encoded = base64.b64encode(f"{before}{KEY}".encode()).decode()
        cleaned = clean(f"Basic {encoded}", A_KEY=KEY)
        assert MASK in cleaned
        left = cleaned.removeprefix("Basic ").split(MASK)
        assert all(len(part) <= 8 for part in left), cleaned


def test_a_secret_in_urlsafe_base64_is_masked():
    secret = "\xff\xfe\xfd??>>~~secret"
    encoded = base64.urlsafe_b64encode(secret.encode()).decode()
    assert "_" in encoded or "-" in encoded
    assert MASK in clean(encoded, A_KEY=secret)


def test_a_secret_in_a_json_string_is_masked():
    secret = 'pass"word\\1'
    assert clean(json.dumps({"a": secret}), DB_PASSWORD=secret) == json.dumps({"a": MASK})


def test_each_line_of_a_secret_of_several_lines_is_masked():
    pem = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n"
    cleaned = clean("error near MIIEvQIBADANBg", MY_KEY=pem)
    assert cleaned == f"error near {MASK}"


def test_a_longer_secret_leaves_no_tail_where_it_begins_with_another():
    assert clean("secret-one-two", A_KEY="secret-one", B_KEY="secret-one-two") == MASK


def test_values_too_short_to_be_secret_stay():
    assert clean("the answer is 1", A_KEY="1", B_TOKEN="") == "the answer is 1"


def test_without_secrets_nothing_changes():
    assert clean("text", HOME="/root") == "text"


@given(st.text(min_size=6).filter(lambda text: text.strip() and len(text.strip()) >= 6), st.text(), st.text())
def test_no_secret_survives_wherever_it_stands(secret, before, after):
    assert secret not in clean(before + secret + after, A_KEY=secret) or secret in MASK
