"""Which variables hold secrets: the names and shapes that workflows really have, and those that only look like it."""

from __future__ import annotations

import json

import pytest

from evaluator.secret_values import secrets

VALUE = "pK3-9xQ_v7Lm2Ta0"


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "GITHUB_TOKEN"),
        *("INPUT_GITHUB-TOKEN", "INPUT_API-KEY", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
        *("X_SECRET", "CLIENT_SECRET", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "REDIS_PASS", "KEY_PASSPHRASE"),
        *("DEPLOY_PAT", "NPM_AUTH", "npm_config__authToken", "WATSONX_ZENAPIKEY", "SNOWFLAKE_JWT", "SESSION_COOKIE"),
        *("VERTEXAI_CREDENTIALS", "AZURE_CREDENTIAL", "SLACK_WEBHOOK_URL", "OPENAI_API_KEY_2", "API_TOKEN1", "a_token"),
        *("TOKEN", "KEY", "SSH_PRIVATE_KEY", "ANTHROPIC_AUTH_TOKEN", "TRAPGATE_GIT_TOKEN"),
    ],
)
def test_a_variable_named_like_a_secret_holds_one(name: str) -> None:
    assert secrets({name: VALUE}) == {VALUE}


@pytest.mark.parametrize(
    "name",
    [
        *("HOME", "MONKEY", "TOKENS", "MAX_TOKENS", "SECRETARY", "AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "KEYBOARD"),
        *("GITHUB_TOKEN_PERMISSIONS", "SSH_AUTH_SOCK", "PASSENGER", "COMPASS", "PATH", "PATTERN", "PWD", "OLDPWD"),
        *("GITHUB_REPOSITORY", "AWS_WEB_IDENTITY_TOKEN_FILE", "ACTIONS_CACHE_URL", "INPUT_ACCEPT-LABEL", "AUTHORITY"),
    ],
)
def test_a_variable_that_only_looks_so_holds_none(name: str) -> None:
    assert secrets({name: VALUE}) == set()


@pytest.mark.parametrize(
    "value",
    [
        *("1", "none", "true", "false", "", "     ", "abc", "******", "xxxxxxxx", "100000", "4096", "disabled"),
        *("not-needed", "sk-no-key-required", "CHANGEME", "password", "postgres", "placeholder"),
    ],
)
def test_what_is_written_where_no_secret_is_needed_is_none(value: str) -> None:
    assert secrets({"API_KEY": value, "DB_PASSWORD": value}) == set()


def test_the_place_of_a_secret_is_none_and_a_key_that_begins_with_a_slash_is_one(tmp_path) -> None:
    file = tmp_path / "credentials.json"
    file.touch()
    key = "/9jK2/bPxRfiCYEXAMPLE+abc"
    assert secrets({"GOOGLE_APPLICATION_CREDENTIALS": str(file), "AWS_SECRET_ACCESS_KEY": key}) == {key}


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("DATABASE_URL", "postgres://app:s3cr3t-pw@db:5432/app", "s3cr3t-pw"),
        ("ANYTHING", "amqps://app:s3cr3t-pw@queue", "s3cr3t-pw"),
        ("HTTPS_PROXY", "http://me:s3cr3t-pw@proxy:3128", "s3cr3t-pw"),
        ("SENTRY_DSN", "https://0123456789abcdef01@sentry.example/7", "0123456789abcdef01"),
        ("REMOTE", "https://ghp_0123456789abcdef01@github.com/o/r", "ghp_0123456789abcdef01"),
        ("SQL_CONNECTION_STRING", "Server=db;User Id=a;Password=s3cr3t;Encrypt=yes", "s3cr3t"),
        ("STORAGE_CONN_STR", "AccountName=a;AccountKey=c2VjcmV0a2V5;Suffix=x", "c2VjcmV0a2V5"),
        ("JDBC_URL", "jdbc:postgresql://db/app?user=a&password=s3cr3t", "s3cr3t"),
    ],
)
def test_the_password_inside_an_address_is_a_secret_and_the_address_is_not(name, value, secret) -> None:
    assert secrets({name: value}) == {secret}


def test_an_encoded_password_in_an_address_is_known_decoded_too() -> None:
    assert secrets({"DATABASE_URL": "postgres://app:p%40ss%2Fword@db"}) == {"p%40ss%2Fword", "p@ss/word"}


@pytest.mark.parametrize("value", ["https://github.com/o/r", "postgres://app@db/app", "https://[::1", "a:b@c"])
def test_an_address_without_a_password_holds_none(value: str) -> None:
    assert secrets({"DATABASE_URL": value}) == set()


def test_the_secret_members_of_a_service_account_are_known_by_themselves() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"
    account = json.dumps({"type": "service_account", "private_key_id": "0a1b2c3d4e", "private_key": key, "a": {"b": 1}})
    assert secrets({"GOOGLE_CREDENTIALS": account}) == {account, "0a1b2c3d4e", key}


def test_each_key_of_a_list_is_a_secret() -> None:
    assert {"first-key-1", "second-key-2"} <= secrets({"GEMINI_API_KEYS": "first-key-1, second-key-2"})


@pytest.mark.parametrize("value", ["{", '{"a": [', "[" * 100_000, '{"a":' * 100_000])
def test_credentials_that_are_no_json_are_a_secret_as_they_are(value: str) -> None:
    assert secrets({"MY_CREDENTIALS": value + "abcdef"}) == {value + "abcdef"}


@pytest.mark.parametrize(
    "name", ["AWS_BEARER_TOKEN_BEDROCK", "OPENAI_API_KEY_PROD", "OPENAI_KEYS", "API_TOKENS", "EXTRA_HEADERS", "SSHPASS"]
)
def test_a_name_that_may_be_about_a_secret_is_taken_at_its_word_where_the_value_looks_like_one(name: str) -> None:
    assert secrets({name: "abcd1234efgh5678"}) == {"abcd1234efgh5678"}
    assert secrets({name: "plain words"}) == set()


@pytest.mark.parametrize("name", ["CACHE_KEY", "SORT_KEY", "PRIMARY_KEY", "JIRA_PROJECT_KEY"])
def test_a_key_that_is_no_credential_is_an_ordinary_word(name: str) -> None:
    assert secrets({name: "timestamp"}) == set()


def test_what_follows_the_scheme_of_a_header_is_the_secret() -> None:
    assert secrets({"API_AUTH": "Bearer abcd1234efgh"}) == {"Bearer abcd1234efgh", "abcd1234efgh"}


def test_all_secrets_of_a_workflow_in_one_variable_are_each_a_secret() -> None:
    assert "hunter2hunter2" in secrets({"ALL_SECRETS": '{"shop": "hunter2hunter2", "n": 1}'})


@pytest.mark.parametrize("value", ["ollama", "lm-studio", "dummy-key", "sk-dummy", "always", "disable"])
def test_what_stands_in_for_a_key_is_none(value: str) -> None:
    assert secrets({"OPENAI_API_KEY": value}) == set()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_AUTH", "bearer"),
        ("SESSION_COOKIE", "sessionid"),
        ("FIRST_PASS", "refund"),
        ("EOS_TOKEN", "<|im_end|>"),
        ("MASK_TOKEN", "[MASK]"),
        ("MODEL_KEY", "gpt-4o-mini-2024-07-18"),
    ],
)
def test_modes_names_and_special_tokens_are_no_secrets(name: str, value: str) -> None:
    assert secrets({name: value}) == set()
