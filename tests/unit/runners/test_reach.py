import pytest

from evaluator.runners.reach import Reach


def test_three_attempts_in_vain_are_enough_when_nothing_ever_answered():
    reach = Reach({"OPENAI_API_BASE": "http://127.0.0.1:9/v1"})
    assert reach.in_vain("127.0.0.1:9") is None
    assert reach.in_vain("127.0.0.1:9") is None
    given_up = reach.in_vain("127.0.0.1:9")
    assert given_up is not None
    assert given_up.kind == "connection"
    assert given_up.message == ("not run, since nothing answers: no connection to 127.0.0.1:9, set by OPENAI_API_BASE")


def test_a_server_that_answered_once_is_never_given_up():
    reach = Reach({})
    reach.answered = True
    assert [reach.in_vain("127.0.0.1:9") for _ in range(10)] == [None] * 10


@pytest.mark.parametrize(
    ("environ", "address", "words"),
    [
        ({}, "", "no connection to the provider"),
        ({}, "api.openai.com:443", "no connection to api.openai.com:443"),
        (
            {"OPENAI_BASE_URL": "https://models.test/v1"},
            "models.test:443",
            "no connection to models.test:443, set by OPENAI_BASE_URL",
        ),
        ({"HOMEPAGE": "http://models.test:1"}, "models.test:1", "no connection to models.test:1"),
        ({"A_URL": "http://[", "B_URL": "x:y", "C_URL": "http://h:99999999"}, "h:1", "no connection to h:1"),
    ],
)
def test_the_address_is_told_with_the_variables_that_name_it(environ, address, words):
    assert Reach(environ).told(address) == words
