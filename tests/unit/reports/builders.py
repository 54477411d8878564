"""Small makers of runs, one for each verdict, with the figures worked out by the evaluator's own pure core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from evaluator.baselines import BaselineState, Found, Missing
from evaluator.cases import Case, Recorded, Request, SourceRef, Subject, Task
from evaluator.comparison import compare_task, fingerprint_differences, pair
from evaluator.config.types import GateConfig, Rule
from evaluator.gate import decide
from evaluator.metrics import summarize, totals
from evaluator.models import together
from evaluator.results import (
    Acceptance,
    Attempt,
    Baseline,
    CanaryResult,
    CanaryResults,
    Comparison,
    Finding,
    Fingerprint,
    Reason,
    Run,
    TaskResult,
)
from evaluator.rules import Facts
from evaluator.transcript import Call, Infrastructure, Transcript, Usage

GOOD_CANARIES = CanaryResults(
    version="1.0.0",
    cases=[
        CanaryResult(id=f"json-call-{n}", expected="passed score=1", got="passed score=1", ok=True) for n in range(34)
    ],
)
BROKEN_CANARIES = CanaryResults(
    version="1.0.0",
    cases=[
        *GOOD_CANARIES.cases,
        CanaryResult(
            id="numeric-invented-unit", expected="failed wrong_value score=0 | $:value", got="passed score=1", ok=False
        ),
        CanaryResult(
            id="json-duplicate-keys",
            expected="failed unparseable score=0",
            got="failed wrong_value score=0 | $:value",
            ok=False,
        ),
    ],
)


def passed(number: int = 1, *, cost: float | None = 0.0006) -> Attempt:
    return Attempt(
        number=number,
        status="scored",
        passed=True,
        values={"schema_valid": 1.0},
        scorer="json_call@1",
        transcript=Transcript(text='{"name":"f"}', usage=Usage(input_tokens=410, output_tokens=55, cost_usd=cost)),
    )


def failed(
    number: int = 1,
    *findings: Finding,
    mode: str = "wrong_value",
    valid: bool = True,
    text: str = "{}",
    cost: float | None = 0.0006,
) -> Attempt:
    return Attempt(
        number=number,
        status="scored",
        passed=False,
        failure_mode=mode,
        values={"schema_valid": float(valid)},
        scorer="json_call@1",
        findings=list(findings) or [Finding(path="$.arguments.amount", keyword="value", wanted=[24.5], got=49.0)],
        transcript=Transcript(text=text, usage=Usage(input_tokens=410, output_tokens=80, cost_usd=cost)),
    )


def broken(
    number: int = 1, kind: str = "rate_limit", message: str = "HTTP 429 after 5 tries", http: int = 429
) -> Attempt:
    return Attempt(
        number=number,
        status="infrastructure",
        infrastructure=Infrastructure(kind=kind, message=message, http_status=http, tries=5),
    )


def stale(number: int = 1, message: str = "made with another system prompt") -> Attempt:
    return Attempt(
        number=number,
        status="stale",
        transcript=Transcript(text="Done."),
        infrastructure=Infrastructure(kind="stale", message=message),
    )


def task_result(
    name: str,
    attempts: dict[str, list[Attempt]],
    *,
    repeats: int = 1,
    slices: dict[str, list[str]] | None = None,
    deterministic: bool = False,
    critical: Sequence[str] = (),
    faults: dict[str, str] | None = None,
    notes: Sequence[str] = (),
    skipped: Sequence[str] = (),
    content: dict[str, str] | None = None,
) -> TaskResult:
    """`slices`: case id → its slices; `content`: case id → text of its request, to give it another digest."""
    cases = [
        Case(
            id=case_id,
            request=Request(messages=[{"role": "user", "content": (content or {}).get(case_id, case_id)}]),
            expected={"answer": 1},
            slices=(slices or {}).get(case_id, []),
            critical=case_id in critical,
        )
        for case_id in attempts
    ]
    recorded: list[Recorded] = []
    task = Task(
        name=name,
        format="trapstreet",
        source=SourceRef(
            location="https://git.example/evals",
            commit="4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            subdirectory="tasks/core_json_schema_output",
        ),
        scorer="json_call@1",
        cases=cases,
        recorded=recorded,
        notes=list(notes),
        skipped=list(skipped),
    )
    return summarize(
        task,
        attempts,
        repeats=repeats,
        planned_per_case=dict.fromkeys(attempts, repeats),
        deterministic=deterministic,
        faults=faults or {},
    )


def fingerprint(**packages: str) -> Fingerprint:
    return Fingerprint(
        packages={"evaluator": "0.1.0", "python": "3.11.9", "jsonschema": "4.26.0", "litellm": "1.110.0", **packages},
        scorers={"json_call": "1"},
        subject={"model": "openai/gpt-4.1-mini", "structured": "prompt", "system": "9f86d081884c"},
        sources={"json-call": "4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
        answered={"models": ["gpt-4.1-mini-2025-04-14"]},
    )


def build(
    now: Sequence[TaskResult],
    baseline: Sequence[TaskResult] | None = None,
    *,
    canaries: CanaryResults = GOOD_CANARIES,
    rules: list[Rule] | None = None,
    before: Fingerprint | None = None,
    after: Fingerprint | None = None,
    validator: Sequence[str] = (),
    movers: Sequence[Reason] = (),
    notes: Sequence[str] = (),
    name: str | None = None,
    allow_missing: bool = False,
    subject: Subject | None = Subject(model="openai/gpt-4.1-mini"),  # noqa: B008 - frozen
) -> Run:
    """A run as the pipeline puts it together: paired, compared, decided."""
    before, after = before or fingerprint(), after or fingerprint()
    gate = GateConfig(rules=rules)
    old = {task.name: task for task in baseline or ()}
    pairings = {task.name: pair(old.get(task.name), task) for task in now} if baseline is not None else {}
    comparison = None
    state: BaselineState = Missing(".trap/baseline.json")
    if baseline is not None:
        comparison = Comparison(
            baseline=".trap/baseline.json at 3f2c1ab",
            tasks=[compare_task(pairing, old.get(task), gate.alpha) for task, pairing in pairings.items()],
            fingerprint=fingerprint_differences(before, after),
            validator_drift=list(validator),
            subject=sorted(
                name
                for name in before.subject.keys() | after.subject.keys()
                if before.subject.get(name) != after.subject.get(name)
            ),
        )
        state = Found(comparison.baseline, Baseline(schema_version=1, accepted=_ACCEPTED, run=_bare(baseline, before)))
    decision = decide(
        gate,
        Facts(
            canaries=canaries,
            tasks=now,
            baseline=state,
            pairings=pairings,
            validator=validator,
            movers=movers,
            allow_missing=allow_missing,
        ),
    )
    return replace(
        _bare(now, after),
        name=name,
        verdict=decision.verdict,
        reasons=[*[Reason(kind="note", text=text) for text in notes], *decision.reasons],
        warnings=decision.warnings,
        rules=decision.rules,
        comparison=comparison,
        canaries=canaries,
        subject=subject,
        commit="8c3ae2f0d1b94f6f0f5c1f4f8f0a7a7b6c5d4e3f",
    )


_ACCEPTED = Acceptance(by="release manager", at="2026-05-04T10:00:00Z", why="first level")


def _bare(tasks: Sequence[TaskResult], prints: Fingerprint) -> Run:
    return Run(
        schema_version=1,
        evaluator="0.1.0",
        started="2026-05-05T08:30:00Z",
        verdict="pass",
        reasons=[],
        fingerprint=prints,
        canaries=GOOD_CANARIES,
        tasks=list(tasks),
        totals=totals(tasks, 61.3),
    )


def outcomes(good: int, bad: int, *, repeats: int = 1, prefix: str = "call") -> dict[str, list[Attempt]]:
    """`good` cases that pass and then `bad` ones that fail, in all attempts."""
    numbers = range(1, repeats + 1)
    return {
        f"{prefix}-{n:02}": [passed(k) if n <= good else failed(k) for k in numbers] for n in range(1, good + bad + 1)
    }


SLICES = {f"call-{n:02}": ["easy" if n <= 10 else "hard"] for n in range(1, 21)}


def passing() -> Run:
    return build(
        [task_result("json-call", outcomes(9, 11), slices=SLICES)],
        [task_result("json-call", outcomes(7, 13), slices=SLICES)],
    )


def regressing() -> Run:
    rows: dict[str, list[Attempt]] = outcomes(0, 20)
    rows["call-01"] = [
        failed(
            1,
            Finding(path="$", keyword="json", message="not JSON: trailing prose"),
            mode="unparseable",
            text="Sure! {}",
        )
    ]
    rows["call-02"] = [
        failed(
            1,
            Finding(path="$.arguments.currency", keyword="enum", wanted=["USD", "EUR"], got="Dollars"),
            Finding(path="$.arguments.items[2].sku", keyword="required", wanted="A-113"),
            mode="missing_argument",
        )
    ]
    return build(
        [task_result("json-call", rows, slices=SLICES)],
        [task_result("json-call", outcomes(7, 13), slices=SLICES)],
        rules=[
            Rule(metric="pass_rate", task="json-call", max_drop=0.0),
            Rule(metric="pass_rate", task="json-call", slice="easy", min=0.8, max_drop=0.05),
            Rule(metric="cost_usd", max=2.5),
        ],
        before=replace(fingerprint(), subject={**fingerprint().subject, "structured": "schema"}),
        notes=["The gate and the baseline are those of the base branch: this change edits the gate in trap.yaml."],
    )


def drifting() -> Run:
    return build(
        [task_result("json-call", outcomes(7, 13), slices=SLICES)],
        [task_result("json-call", outcomes(7, 13), slices=SLICES)],
        canaries=BROKEN_CANARIES,
        validator=["json-call/call-03 attempt 1: passed → failed (wrong_type)"],
        before=fingerprint(jsonschema="4.25.1"),
    )


def provider_drifting() -> Run:
    return build(
        [task_result("json-call", outcomes(7, 13))],
        [task_result("json-call", outcomes(7, 13))],
        movers=[
            Reason(
                kind="model",
                text="Another model answers under the same name: gpt-4.1-mini-2025-04-14 → gpt-4.1-mini-2026-01-01.",
            )
        ],
    )


def inconclusive() -> Run:
    rows = outcomes(5, 15)
    for n in range(9, 21):
        rows[f"call-{n:02}"] = [broken()] if n < 19 else [broken(kind="timeout", message="no answer in 600 s", http=0)]
    return build(
        [task_result("json-call", rows, slices=SLICES, faults={"call-07": "its expected answer is not in the enum"})],
        [task_result("json-call", outcomes(7, 13), slices=SLICES)],
    )


def without_baseline() -> Run:
    return build([task_result("json-call", outcomes(7, 13), slices=SLICES)])


def two_tasks() -> Run:
    """Several attempts a case, a possible drop, cases that came, went and changed."""
    before = outcomes(18, 2, repeats=3)
    now = outcomes(15, 5, repeats=3)
    now["call-04"] = [passed(1), failed(2), passed(3)]
    del now["call-20"]
    now["call-21"] = [passed(1), passed(2), passed(3)]
    refunds_before, refunds_now = outcomes(30, 0, prefix="refund"), outcomes(28, 2, prefix="refund")
    return build(
        [
            task_result("json-call", now, repeats=3, content={"call-19": "another"}, critical=["call-17"]),
            task_result("refunds", refunds_now, notes=["its own judge is not run: the source is not trusted"]),
        ],
        [task_result("json-call", before, repeats=3, critical=["call-17"]), task_result("refunds", refunds_before)],
        rules=[
            Rule(metric="all_k_pass_rate", task="json-call", max_drop=0.02),
            Rule(metric="failure_modes.wrong_value", task="json-call", max_rise=0.0),
            Rule(metric="pass_rate", task="refunds", max_drop=0.0),
        ],
        name="refund-agent",
    )


def traced(
    number: int = 1,
    *findings: Finding,
    mode: str | None = None,
    argument: float = 1.0,
    tool: float = 1.0,
    extra: float = 0.0,
    unanswered: float = 0.0,
    cost: float | None = 0.004,
) -> Attempt:
    """An attempt of a refund agent: three calls, passed where there is no `mode`."""
    called = [
        Call(tool="get_order", arguments='{"order_id":"A-1043"}', turn=1, result={"total": 49.0}),
        Call(tool="check_refund_policy", arguments='{"order_id":"A-1043"}', turn=2, result={"ok": True}),
        Call(tool="issue_refund", arguments='{"order_id":"A-1043","amount":49.0}', turn=3, result={"ok": True}),
    ]
    return Attempt(
        number=number,
        status="scored",
        passed=mode is None,
        failure_mode=mode,
        values={
            "tool_score": tool,
            "order_score": tool,
            "argument_score": argument,
            "argument_score_matched": argument,
            "schema_valid": 1.0,
            "missing_calls": 3 - 3 * tool,
            "extra_calls": extra,
            "unanswered_calls": unanswered,
        },
        scorer="trace@1",
        findings=list(findings),
        transcript=Transcript(
            text="Done.", calls=called, usage=Usage(input_tokens=2400, output_tokens=180, cost_usd=cost)
        ),
    )


WRONG_AMOUNT = Finding(path="$.amount", keyword="value", wanted=24.5, got=49.0, step=3, call=3, tool="issue_refund")


def refunded_whole(number: int = 1, **values: Any) -> Attempt:
    """A partial refund of 24.50 that goes out as 49.00."""
    return traced(number, WRONG_AMOUNT, mode="wrong_arguments", argument=0.8, **values)


def skipped_policy(number: int = 1, **values: Any) -> Attempt:
    """A refund without the look at the policy."""
    missing = Finding(
        path="$",
        keyword="missing_call",
        wanted="check_refund_policy",
        step=2,
        tool="check_refund_policy",
        message="check_refund_policy was not called",
    )
    return traced(number, missing, mode="missing_call", tool=2 / 3, argument=0.6, **values)


REFUND_RULES = [
    Rule(metric="argument_score", task="refunds", max_drop=0.02),
    Rule(metric="all_k_pass_rate", task="refunds", min=0.2),
]
_REFUNDS = ("damaged-lamp", "late-parcel", "no-order-number", "opened-candle", "wrong-size", "gift", "two-orders")


def refund_attempts(**others: list[Attempt]) -> dict[str, list[Attempt]]:
    """The agent's cases, five attempts each, all passed but for `others` (underscores in names stand for hyphens)."""
    good = {case_id: [traced(k) for k in range(1, 6)] for case_id in (*_REFUNDS, "refund-partial")}
    return good | {name.replace("_", "-"): attempts for name, attempts in others.items()}


def refunding() -> Run:
    """Recorded transcripts of a worse prompt: the partial refund goes out whole, other cases flip."""
    now = refund_attempts(
        refund_partial=[refunded_whole(k) for k in range(1, 6)],
        two_orders=[traced(1), refunded_whole(2), traced(3), skipped_policy(4, unanswered=2.0), traced(5)],
        late_parcel=[traced(k, extra=1.0) for k in range(1, 5)] + [skipped_policy(5)],
    )
    return build(
        [task_result("refunds", now, repeats=5, deterministic=True)],
        [task_result("refunds", refund_attempts(), repeats=5, deterministic=True)],
        rules=REFUND_RULES,
        name="refund-agent",
    )


def side_by_side(*models: tuple[str, dict[str, list[Attempt]]], task: str = "refunds", repeats: int = 5) -> Run:
    """Each model's attempts compared with the same baseline, in which everything passed."""
    before = [task_result(task, refund_attempts(), repeats=repeats, deterministic=True)]
    return together(
        [
            build(
                [task_result(task, attempts, repeats=repeats, deterministic=True)],
                before,
                rules=REFUND_RULES,
                subject=Subject(model=model),
            )
            for model, attempts in models
        ],
        [],
    )


def three_models() -> Run:
    """The first one holds; the second gets amounts wrong; the third skips calls and has no price."""
    unpriced = {name: [skipped_policy(k, cost=None) for k in range(1, 6)] for name in refund_attempts()}
    return side_by_side(
        ("openai/gpt-4.1", refund_attempts()),
        (
            "openai/gpt-4.1-mini",
            refund_attempts(
                refund_partial=[refunded_whole(k) for k in range(1, 6)],
                gift=[traced(1), refunded_whole(2), traced(3), skipped_policy(4, extra=1.0), traced(5)],
            ),
        ),
        ("ollama/qwen3-0.6b", unpriced),
    )


EVERY_VERDICT = {
    "pass": passing,
    "regression": regressing,
    "drift": drifting,
    "provider": provider_drifting,
    "inconclusive": inconclusive,
    "no-baseline": without_baseline,
    "two-tasks": two_tasks,
    "refunds": refunding,
    "three-models": three_models,
}


def hostile(text: Any) -> Run:
    """A regression with `text` in every place that the outside world fills."""
    finding = Finding(path=text, keyword=text, wanted=text, got={text: [text]}, step=1, tool=text, message=text)
    bad = failed(1, finding, finding, mode=text, text=text)
    rows = {text: [bad], **{f"{text}{n}": [bad] for n in range(7)}, f"{text}-x": [broken(kind=text, message=text)]}
    rows[f"{text}-u"] = [failed(1, Finding(path=text, keyword=text), mode="unparseable", text=text)]
    good = {case_id: [passed()] for case_id in rows}
    tags = {case_id: [text] for case_id in rows}
    now = task_result(text, rows, slices=tags, critical=[text], faults={text: text}, notes=[text], skipped=[text])
    one = build(
        [now, task_result(f"{text}2", {text: [bad]})],
        [task_result(text, good, slices=tags, critical=[text])],
        rules=[
            Rule(metric="pass_rate", task=text, max_drop=0.0),
            Rule(metric="pass_rate", task=text, slice=text, max_drop=0.0),
        ],
        canaries=CanaryResults(version=text, cases=[CanaryResult(id=text, expected=text, got=text, ok=False)]),
        validator=[text],
        movers=[Reason(kind="provider", text=text)],
        notes=[text],
        name=text,
        subject=Subject(model=text),
    )
    flipping = [traced(1, finding), traced(2, finding, mode=text)]
    other = task_result(text, {text: flipping, f"{text}-s": [stale(message=text)]}, repeats=2, notes=[text])
    run = together([one, build([other], [now], rules=[], notes=[text], subject=Subject(model=f"{text}2"))], [])
    assert run.comparison is not None
    return replace(
        run,
        started=text,
        commit=text,
        evaluator=text,
        comparison=replace(run.comparison, baseline=text, fingerprint=[text]),
        fingerprint=Fingerprint(packages={text: text}, scorers={}, subject={}, sources={}),
    )
