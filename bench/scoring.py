"""Rates of the scorer and time of the canaries, one process: `python -m bench.scoring [--seconds N]`.

What is timed is what a run does for each attempt, from the model's text to a Score with findings. Each figure is the
best of several rounds, by two clocks: the wall's, and the process's own CPU time, which other work touches
less. On an idle machine they agree.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

from evaluator import canaries
from evaluator.cases import Case, Request
from evaluator.scoring import prepare
from evaluator.transcript import Transcript

ROUNDS = 5
CASES = 200

PARAMETERS = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "recipient": {"type": "string"},
        "urgent": {"type": "boolean"},
        "currency": {"type": "string", "enum": ["EUR", "USD"]},
        "labels": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["amount", "recipient"],
}


def case(number: int, *, with_schema: bool) -> Case:
    name = f"payments.send_{number}"
    accepted = {
        "amount": [number],
        "recipient": ["Ada", "Ada Lovelace"],
        "urgent": [True],
        "currency": ["", "EUR"],
        "labels": [["rent", "june"]],
    }
    return Case(
        id=f"case_{number}",
        request=Request(messages=[], function={"name": name, "parameters": PARAMETERS} if with_schema else None),
        expected={"matchers": [{"kind": "json_call", "function_name": name, "args_accepted": accepted}]},
    )


def answer(number: int, *, right: bool) -> Transcript:
    arguments = {"amount": number, "recipient": "Ada Lovelace", "urgent": True, "labels": ["rent", "june"]}
    if not right:
        arguments |= {"amount": f"{number} EUR", "labels": ["june", "rent"]}
    call = {"name": f"payments.send_{number}", "arguments": arguments}
    return Transcript(text=json.dumps(call), stop_reason="stop")


Rates = tuple[float, float]  # cases per second by the wall, and per second of CPU


def rates(score_all: Callable[[], None], count: int, seconds: float) -> Rates:
    wall_best, cpu_best = 0.0, 0.0
    for _ in range(ROUNDS):
        done, wall, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < seconds / ROUNDS:
            score_all()
            done += count
        wall_best = max(wall_best, done / (time.perf_counter() - wall))
        cpu_best = max(cpu_best, done / (time.process_time() - cpu))
    return wall_best, cpu_best


def measure(*, right: bool, with_schema: bool, seconds: float) -> Rates:
    scorers = [prepare("trapstreet", case(number, with_schema=with_schema)) for number in range(CASES)]
    pairs = [(score, answer(number, right=right)) for number, score in enumerate(scorers)]
    assert all(score(transcript).passed == right for score, transcript in pairs)  # noqa: S101

    def score_all() -> None:
        for score, transcript in pairs:
            score(transcript)

    return rates(score_all, len(pairs), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each line [2]")
    seconds = parser.parse_args().seconds
    print(f"json_call from text to Score, {CASES} cases in turn, best of {ROUNDS} rounds")
    print(f"{'cases per second':55} {'wall':>10} {'CPU':>10}")
    for with_schema in (False, True):
        for right in (True, False):
            wall, cpu = measure(right=right, with_schema=with_schema, seconds=seconds)
            kind = "correct answers" if right else "wrong answers, two findings each"
            print(f"{kind + (', with schema_valid' if with_schema else ''):55} {wall:>10,.0f} {cpu:>10,.0f}")
    print(f"{'builtin canaries, whole set, one run':55} {canary_seconds() * 1000:>10,.0f} ms")


def canary_seconds() -> float:
    builtin = canaries.load(canaries.builtin_directory())
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        canaries.run(builtin)
        best = min(best, time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
