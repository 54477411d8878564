"""BFCL: cases judged per second from decoded calls, and the leaderboard's own checker beside it, in the same rounds.

`python -m bench.bfcl [--seconds N]`. All 2,351 answers of the supported categories, right as they are, and each with
its last argument wrong. "verdict alone" is pass or fail, "with findings" the whole score: mode, figures and each fault
with its JSON path. The checker is that of `bfcl-eval` (requirements-nodeps.lock), called as its evaluation calls it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from bench.scoring import ROUNDS
from evaluator import formats
from evaluator.cases import Case, SourceRef
from evaluator.config.types import TaskConfig
from evaluator.scoring.bfcl import judged
from evaluator.scoring.bfcl_calls import Decoded, accepts, compile_calls
from tests.unit.scoring.bfcl_reference import checker, data

Answer = list[dict[str, Any]]


def cases() -> list[Case]:
    task = formats.load(TaskConfig(name="bfcl", source="data"), data(), SourceRef(location="data"))
    return [case for case in task.cases if case.expected is not None and case.expected["calls"]]


def rows(category: str) -> tuple[dict[str, Any], dict[str, Any]]:
    def by_id(name: str) -> dict[str, Any]:
        with (data() / name).open(encoding="utf-8") as lines:
            return {row["id"]: row for row in map(json.loads, lines)}

    return by_id(f"BFCL_v4_{category}.json"), by_id(f"possible_answer/BFCL_v4_{category}.json")


def answers(case: Case, *, right: bool) -> Answer:
    calls = [{call.tool: json.loads(call.arguments)} for call in case.golds[0].calls]
    if not right:
        ((_, last),) = calls[-1].items()
        last[next(reversed(last), "extra")] = {"wrong": [1]}
    return calls


def ours(found: list[Case], *, right: bool) -> tuple[Callable[[], int], Callable[[], int]]:
    """The verdict alone, and with findings; each gives the number of passes."""
    prepared = [
        (
            compile_calls((case.expected or {})["calls"]),
            [Decoded(name, args) for call in answers(case, right=right) for name, args in call.items()],
        )
        for case in found
    ]

    def verdicts() -> int:
        return sum(accepts(wanted, calls, greedy=False) for wanted, calls in prepared)

    def with_findings() -> int:
        return sum(judged(wanted, calls).passed for wanted, calls in prepared)

    return verdicts, with_findings


def theirs(found: list[Case], *, right: bool) -> Callable[[], int]:
    known = {category: rows(category) for category in {case.slices[0] for case in found}}
    prepared = []
    for case in found:
        category = case.slices[0]
        questions, truths = known[category]
        truth = truths[case.id]["ground_truth"]
        prepared.append((questions[case.id]["function"], answers(case, right=right), truth, category))
    check = checker()

    def verdicts() -> int:
        return sum(check(*each)["valid"] for each in prepared)

    return verdicts


def rates(sides: dict[str, Callable[[], int]], count: int, seconds: float) -> dict[str, tuple[float, float]]:
    """Cases per second by the wall and of CPU, the best of rounds in which the sides take turns."""
    best = dict.fromkeys(sides, (0.0, 0.0))
    for _ in range(ROUNDS):
        for name, judge in sides.items():
            done, wall, cpu = 0, time.perf_counter(), time.process_time()
            while time.perf_counter() - wall < seconds / ROUNDS:
                judge()
                done += count
            now = done / (time.perf_counter() - wall), done / (time.process_time() - cpu)
            best[name] = max(best[name][0], now[0]), max(best[name][1], now[1])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each line [3]")
    seconds = parser.parse_args().seconds
    found = cases()
    print(f"{len(found)} cases from decoded calls, one process, best of {ROUNDS} rounds in turn")
    print(f"{'cases per second':45} {'wall':>10} {'CPU':>10} {'passed':>8}")
    for right in (True, False):
        verdict, with_findings = ours(found, right=right)
        sides = {"bfcl-eval": theirs(found, right=right), "bfcl@1, verdict alone": verdict}
        sides["bfcl@1, with findings"] = with_findings
        for name, (wall, cpu) in rates(sides, len(found), seconds).items():
            kind = "right" if right else "wrong"
            print(f"{f'{name}, {kind} answers':45} {wall:>10,.0f} {cpu:>10,.0f} {sides[name]():>8,}")


if __name__ == "__main__":
    main()
