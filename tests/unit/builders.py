"""Small results to compare, gate and render in tests: say what matters, the rest is filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluator.baselines import Found
from evaluator.cases import Case, Request, SourceRef, Task
from evaluator.metrics import summarize, totals
from evaluator.results import (
    SCHEMA_VERSION,
    Acceptance,
    Attempt,
    Baseline,
    CanaryResult,
    CanaryResults,
    Fingerprint,
    Run,
    TaskResult,
)
from evaluator.transcript import Infrastructure, Transcript, Usage

GOOD_CANARIES = CanaryResults(version="1", cases=[CanaryResult(id="c", expected="pass", got="pass", ok=True)])


def scored(
    passed: bool, number: int = 1, mode: str = "wrong_value", cost: float | None = 0.001, **values: float
) -> Attempt:
    usage = Usage(input_tokens=10, output_tokens=5, cost_usd=cost)
    return Attempt(
        number=number,
        status="scored",
        passed=passed,
        failure_mode=None if passed else mode,
        values={"score": float(passed), **values},
        scorer="trapstreet@1",
        transcript=Transcript(text="x", usage=usage),
    )


def failed_call(kind: str = "server_error", number: int = 1, status: int | None = 500) -> Attempt:
    return Attempt(
        number=number,
        status="infrastructure",
        infrastructure=Infrastructure(kind=kind, message="no", http_status=status, tries=3),
    )


def not_run(kind: str = "cost_limit", number: int = 1) -> Attempt:
    return Attempt(number=number, status="not_run", infrastructure=Infrastructure(kind=kind, message="limit"))


def stale(number: int = 1, change: str = "system") -> Attempt:
    why = f"recorded before a change of {change}: a recording cannot answer for it"
    return Attempt(number=number, status="stale", infrastructure=Infrastructure(kind="stale", message=why))


def task_result(
    attempts: Mapping[str, Sequence[Attempt]],
    *,
    name: str = "t",
    repeats: int = 1,
    slices: Mapping[str, list[str]] | None = None,
    critical: Sequence[str] = (),
    changed: Sequence[str] = (),
    deterministic: bool = False,
    faults: Mapping[str, str] | None = None,
) -> TaskResult:
    """A task of the given cases. `changed`: cases whose digest differs from what other calls give the same id."""
    cases = [
        Case(
            id=case_id,
            request=Request(
                messages=[{"role": "user", "content": case_id + (" changed" if case_id in changed else "")}]
            ),
            expected={"matchers": []},
            slices=(slices or {}).get(case_id, []),
            critical=case_id in critical,
        )
        for case_id in attempts
    ]
    task = Task(
        name=name, format="trapstreet", source=SourceRef(location="./t", digest="0"), scorer="trapstreet", cases=cases
    )
    return summarize(
        task,
        attempts,
        repeats=repeats,
        planned_per_case=dict.fromkeys(attempts, repeats),
        deterministic=deterministic,
        faults=faults or {},
    )


def outcomes(passed: int, failed: int, start: int = 0) -> dict[str, list[Attempt]]:
    """`passed` cases that pass, then `failed` that fail, one attempt each, ids c000, c001, …"""
    return {f"c{start + i:03}": [scored(i < passed)] for i in range(passed + failed)}


def fingerprint(**subject: str) -> Fingerprint:
    return Fingerprint(
        packages={"jsonschema": "4.26.0"},
        scorers={"json_call": "1"},
        subject={"model": "m", **subject},
        sources={"t": "0"},
        answered={"models": ["m-2026"], "system_fingerprints": []},
    )


def run(tasks: list[TaskResult], mark: Fingerprint | None = None) -> Run:
    return Run(
        schema_version=SCHEMA_VERSION,
        evaluator="0.1.0",
        started="2026-01-01T00:00:00+00:00",
        verdict="pass",
        reasons=[],
        fingerprint=mark or fingerprint(),
        canaries=GOOD_CANARIES,
        tasks=tasks,
        totals=totals(tasks, 1.0),
    )


def found(*tasks: TaskResult, mark: Fingerprint | None = None) -> Found:
    accepted = Acceptance(by="someone", at="2026-01-01T00:00:00+00:00", why="first")
    return Found(
        ".trap/baseline.json",
        Baseline(schema_version=SCHEMA_VERSION, accepted=accepted, run=run(list(tasks), mark)),
    )
