"""Texts that hold a secret and cannot do without it: to mask one there would change what is asked, scored and compared.

So an answer that holds one is thrown away, by whoever it came, before it is scored or stored: nobody's failure, and
never a pass. And what is asked may hold none at all, which is found out before anything is paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from evaluator.attempts import Made
from evaluator.cases import Subject, Task
from evaluator.errors import Problem, UserError
from evaluator.redaction import Redactor
from evaluator.transcript import Infrastructure, Transcript, Usage

KIND = "secret"
_MEND = (
    "Take it out of the text. If it is no secret, give the variable another name: docs/security.md says which names "
    "are taken for secrets."
)


def thrown_away(variables: Sequence[str], usage: Usage | None = None) -> Infrastructure:
    """What stands in the place of an answer that holds the values of `variables`, and what it cost."""
    message = f"the answer held the value of {', '.join(variables)}, so it was thrown away"
    return Infrastructure(kind=KIND, message=message, usage=usage)


def without(transcript: Transcript, redactor: Redactor) -> Transcript | Infrastructure:
    """The answer, or what stands in its place where it holds a secret."""
    found = redactor.holders(msgspec.json.encode(transcript).decode())
    return thrown_away(found, transcript.usage) if found else transcript


def masked(transcript: Transcript, redactor: Redactor) -> Transcript:
    """The answer with every secret in it masked: for a recording, which is written and not scored."""
    plain = msgspec.to_builtins(transcript, builtin_types=(bytes,))
    clean = redactor.clean_value(plain)
    return transcript if clean == plain else msgspec.convert(clean, Transcript, builtin_types=(bytes,))


def recorded_without(made: Iterable[Made], redactor: Redactor) -> list[Made]:
    """Recorded attempts, each as `without` leaves it."""
    return [
        msgspec.structs.replace(each, result=without(each.result, redactor))
        if isinstance(each.result, Transcript)
        else each
        for each in made
    ]


def refuse(tasks: Iterable[Task], subjects: Iterable[Subject], redactor: Redactor) -> None:
    """Raises UserError `secret-in-text` where a task or what it is asked with holds a secret; names the variables."""
    problems = [problem for task in tasks for problem in _of_task(task, redactor)]
    for subject in subjects:
        if found := redactor.holders(_text(subject)):
            what = f"the model's name, its parameters, the system prompt or a tool hold the value of {', '.join(found)}"
            problems.append(Problem(subject.model, 0, 0, what, _MEND))
    if problems:
        raise UserError("secret-in-text", *problems)


def _of_task(task: Task, redactor: Redactor) -> list[Problem]:
    bare = msgspec.structs.replace(task, recorded=[])  # answers, which `without` looks at
    if not redactor.holders(_text(bare)):
        return []
    cases = [(case.id, found) for case in task.cases if (found := redactor.holders(_text(case)))]
    named = [Problem(f"{task.name}/{name}", 0, 0, _said(found), _MEND) for name, found in cases[:10]]
    return named or [Problem(task.name, 0, 0, _said(redactor.holders(_text(bare))), _MEND)]


def _said(variables: Sequence[str]) -> str:
    return f"its text holds the value of {', '.join(variables)}"


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
