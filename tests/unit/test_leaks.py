"""What holds a secret is thrown away or refused, and never asked, scored or compared with a part of it missing."""

from __future__ import annotations

import msgspec
import pytest

from evaluator import leaks
from evaluator.attempts import Made
from evaluator.cases import Case, Recorded, Request, SourceRef, Subject, Task
from evaluator.errors import UserError
from evaluator.redacted import redacted
from evaluator.redaction import Redactor
from evaluator.results import decode_run, encode
from evaluator.runners.spending import spent_before
from evaluator.transcript import Call, Infrastructure, Process, Transcript, Usage
from tests.unit.reports import builders

KEY = "sk-proj-Zq7Xw9Kp3Lm5Rt1V"
REDACTOR = Redactor({"OPENAI_API_KEY": KEY, "OTHER_TOKEN": "ghs_0123456789abcdef"})


def task(text: str) -> Task:
    cases = [Case(id="a", request=Request(messages=[{"role": "user", "content": text}]))]
    return Task(name="t", format="trace", source=SourceRef(location="./t"), scorer="trace@1", cases=cases)


@pytest.mark.parametrize(
    "answer",
    [
        Transcript(text=f"it is {KEY}."),
        Transcript(text="", calls=[Call(tool="f", arguments=f'{{"a": "{KEY}"}}')]),
        Transcript(text="", process=Process(exit_code=0, files={"out.txt": KEY.encode()})),
    ],
    ids=["text", "arguments", "file"],
)
def test_an_answer_that_holds_a_secret_is_nobodys_failure_and_names_the_variable(answer: Transcript) -> None:
    held = leaks.without(answer, REDACTOR)
    assert held == Infrastructure(
        kind="secret", message="the answer held the value of OPENAI_API_KEY, so it was thrown away"
    )


def test_what_an_answer_cost_is_kept_though_the_answer_is_not() -> None:
    spent = Usage(input_tokens=3, output_tokens=2, cost_usd=0.5)
    held = leaks.without(Transcript(text=KEY, usage=spent), REDACTOR)
    assert isinstance(held, Infrastructure)
    assert held.usage == spent
    assert spent_before(held, [Transcript(text="a turn", usage=spent)]).usage == Usage(
        input_tokens=6, output_tokens=4, cost_usd=1.0
    )


def test_any_other_answer_stays_as_it_came() -> None:
    answer = Transcript(text="keys look like sk-proj-… or sk-proj-...")
    assert leaks.without(answer, REDACTOR) is answer


def test_a_recording_is_no_exception() -> None:
    kept, lost = Made("a", 1, Transcript(text="fine")), Made("a", 2, Transcript(text=KEY))
    one, other = leaks.recorded_without([kept, lost], REDACTOR)
    assert one == kept
    assert isinstance(other.result, Infrastructure)


def test_a_task_that_holds_a_secret_is_refused_by_case_and_variable() -> None:
    leaks.refuse([task("Keys begin with sk-proj-...")], [Subject(model="a/b")], REDACTOR)
    with pytest.raises(UserError) as caught:
        leaks.refuse([task(f"Use {KEY}.")], [Subject(model="a/b", system="ghs_0123456789abcdef")], REDACTOR)
    assert caught.value.code == "secret-in-text"
    assert sorted(f"{problem.file}: {problem.message}" for problem in caught.value.problems) == [
        "a/b: the model's name, its parameters, the system prompt or a tool hold the value of OTHER_TOKEN",
        "t/a: its text holds the value of OPENAI_API_KEY",
    ]


def test_the_recordings_of_a_task_are_looked_at_one_by_one_and_refuse_nothing() -> None:
    recorded = Recorded(case_id="a", number=1, transcript=Transcript(text=KEY))
    leaks.refuse([msgspec.structs.replace(task("fine"), recorded=[recorded])], [], REDACTOR)


def test_a_stored_run_stays_readable_whatever_is_masked_in_it() -> None:
    run = builders.inconclusive()
    for secret in ("call-07", "rate_limit", "HTTP 429 after 5 tries", "arguments", "openai/gpt-4.1-mini"):
        clean, data = redacted(run, Redactor({"A_PASSWORD": secret}))
        assert decode_run(data, "results.json") == clean
        assert encode(clean) == data
        assert clean.tasks[0].cases[0].request == run.tasks[0].cases[0].request
