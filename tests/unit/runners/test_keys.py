import pytest

from evaluator.runners.keys import missing_key


@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    ],
)
@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": " ", "GEMINI_API_KEY": ""}])
def test_a_key_that_is_absent_or_empty_is_missing(provider, names, environ):
    assert missing_key(provider, environ, {}) == names


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai", "OPENAI_ADMIN_KEY"),
        ("openai", "OPENAI_IDENTITY_TOKEN_FILE"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("anthropic", "ANTHROPIC_AUTH_TOKEN"),
        ("anthropic", "ANTHROPIC_FEDERATION_RULE_ID"),
        ("gemini", "GEMINI_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
    ],
)
def test_whatever_may_stand_for_a_key_is_left_to_the_provider(provider, name):
    assert missing_key(provider, {name: "x"}, {}) is None


def test_another_providers_key_and_an_address_are_no_key():
    environ = {"ANTHROPIC_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_API_BASE": "http://127.0.0.1"}
    assert missing_key("openai", environ, {}) == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    "provider", ["azure", "bedrock", "ollama", "hosted_vllm", "vertex_ai", "mistral", "unheard_of"]
)
def test_a_provider_that_may_do_without_a_key_is_never_refused(provider):
    assert missing_key(provider, {}, {}) is None


def test_headers_of_the_parameters_may_carry_a_credential():
    assert missing_key("anthropic", {}, {"extra_headers": {"authorization": "Bearer x"}}) is None


def test_a_number_of_tokens_is_no_key() -> None:
    assert missing_key("openai", {"OPENAI_MAX_TOKENS": "512"}, {}) == "OPENAI_API_KEY"
