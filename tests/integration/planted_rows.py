"""The rows of docs/planted-changes.md: each plants one change and gives what trapgate makes of it."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from evaluator import config as configuration
from evaluator import pipeline
from evaluator.baselines import BaselineState, Missing
from evaluator.github import action
from evaluator.results import Run, decode_run
from evaluator.scoring import json_call
from evaluator.scoring.json_call import strictly_equal
from tests.integration.agents import InTurns
from tests.integration.judging import tasks as capitals
from tests.integration.planted import (
    CAREFUL,
    CARELESS,
    KEY,
    SHORTER,
    TRAP,
    Bed,
    Seen,
    accept,
    bed,
    calling,
    dear,
    edit,
    evaluate,
    generous,
    is_case,
    move_by_itself,
    order_of,
    provider,
    shape_of,
    system,
)
from tests.integration.repository import ROOT, call, trapgate
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer, Received, Reply, anthropic

WORSE = {"prompts/system.md": (CAREFUL, CARELESS)}
HARMLESS = {"prompts/system.md": (CAREFUL, SHORTER)}


@dataclass(frozen=True)
class Row:
    """A planted change. `words`: what was planted; `layer`: that the verdict names, empty for none; `witnesses`: the
    states of replay canaries, baseline scored again, live canaries and control arm."""

    words: str
    verdict: str
    layer: str
    witnesses: str
    plant: Callable[[Bed], Seen]


ROWS: dict[str, Row] = {}


def row(
    words: str, verdict: str, layer: str = "", witnesses: str = ""
) -> Callable[[Callable[[Bed], Seen]], Callable[[Bed], Seen]]:
    """Makes a function a row of the table, under its own name."""

    def added(plant: Callable[[Bed], Seen]) -> Callable[[Bed], Seen]:
        ROWS[plant.__name__] = Row(words, verdict, layer, witnesses, plant)
        return plant

    return added


# The validators


@row(
    "our scorer changed under the same version, where a canary looks",
    "drift",
    "validator",
    "moved silent silent silent",
)
def scorer_where_a_canary_looks(base: Bed) -> Seen:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_call, "strictly_equal", json_call.equal_as_floats)
        return evaluate(base.folder("canary"), provider(), base.baseline)


def within_a_cent(got: Any, wanted: Any) -> bool:
    """As a scorer whose author thinks that half a cent does not matter."""
    if isinstance(got, float) and isinstance(wanted, float):
        return abs(got - wanted) < 0.01
    return strictly_equal(got, wanted)


def half_a_cent_off(request: Received) -> float:
    return 24.505 if order_of(request) == 7 else 24.5


@row(
    "our scorer changed under the same version, where no canary looks",
    "drift",
    "validator",
    "steady moved steady silent",
)
def scorer_where_no_canary_looks(base: Bed) -> Seen:
    odd = bed(base.parent, "odd", provider(half_a_cent_off))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_call, "strictly_equal", within_a_cent)
        return evaluate(odd.folder("no-canary"), provider(half_a_cent_off), odd.baseline)


OTHER_JSONSCHEMA = "99.0.0"


def another_jsonschema(folder: Path) -> Path:
    """The installed jsonschema package under another version, which tells multiples of a fraction by the remainder."""
    installed = Path(jsonschema.__file__).parent
    shutil.copytree(installed, folder / "jsonschema", ignore=shutil.ignore_patterns("__pycache__", "tests"))
    edit(folder / "jsonschema" / "_keywords.py", "failed = int(quotient) != quotient", "failed = bool(instance % dB)")
    info = folder / f"jsonschema-{OTHER_JSONSCHEMA}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: jsonschema\nVersion: {OTHER_JSONSCHEMA}\n")
    return folder


@row("another jsonschema, which judges a keyword otherwise", "drift", "validator", "steady moved steady silent")
def another_jsonschema_package(base: Bed) -> Seen:
    folder = base.folder("jsonschema")
    packages = another_jsonschema(base.parent / "packages")
    with ModelServer(provider()) as server:
        done = trapgate(folder, "run", base_url=server.base_url, PYTHONPATH=f"{packages}:{ROOT}")
    results = folder / "trapgate-results" / "results.json"
    assert done.returncode == 4, done.stdout + done.stderr
    return Seen(decode_run(results.read_bytes(), str(results)), server.requests)


@row(
    "a task's judge registers its matcher after its main function ran",
    "drift",
    "validator",
    "moved silent silent silent",
)
def judge_broken(base: Bed) -> Seen:
    folder = base.parent / "capitals"
    capitals.write_task(folder / "task")
    capitals.write_trap(folder)

    def script(request: Received) -> Reply:
        found = re.search(r"capital of \.(\w\w)", json.dumps(request.body["messages"]))
        assert found is not None
        return Reply(text=capitals.CAPITALS[found[1]])

    first = evaluate(folder, script, Missing("b"))
    assert {case.attempts[0].passed for case in first.run.tasks[0].cases} == {True}
    baseline = accept(folder, first.run)
    (folder / "task" / "judge.py").write_text(capitals.LATE_MATCHER_JUDGE)
    return evaluate(folder, script, baseline)


# What is evaluated, and by which rules


@row("a case removed", "inconclusive", "", "steady steady steady silent")
def case_removed(base: Bed) -> Seen:
    folder = base.folder("removed")
    listed = folder / "task" / "traptask.yaml"
    cases = [case for case in json.loads(listed.read_text())["cases"] if case["id"] != "r11"]
    listed.write_text(json.dumps({"cases": cases}))
    for part in ("inputs", "expected"):
        shutil.rmtree(folder / "task" / part / "r11")
    return evaluate(folder, provider(), base.baseline)


@row(
    "the gate loosened in the pull request that worsens the prompt",
    "regression",
    "change",
    "steady steady steady steady",
)
def gate_loosened(base: Bed) -> Seen:
    folder = base.folder("loosened", WORSE)
    edit(folder / "trap.yaml", "metric: pass_rate, max_drop: 0.05", "metric: pass_rate, min: 0.01")
    with GitHubServer() as github, ModelServer(provider(generous())) as server:
        runner = ActionsRunner(base.parent / "runner", github)
        shutil.copytree(folder, runner.workspace, dirs_exist_ok=True)
        for name in ("trap.yaml", ".trap/baseline.json"):
            runner.on_base(name, (base.template / name).read_bytes())
        environ = runner.environ("pull_request", runner.pull_request()) | {"OPENAI_API_KEY": KEY}
        with calling(server, {"OPENAI_API_KEY": KEY}):
            code = action.run(environ | {"PATH": os.environ["PATH"]}, io.StringIO())
        [posted] = github.comments[7]
    results = runner.workspace / "trapgate-results" / "results.json"
    seen = Seen(decode_run(results.read_bytes(), str(results)), server.requests)
    assert code == seen.code
    assert seen.comment.strip() in posted["body"]
    return seen


# The provider


as_ever = provider()
REFUSED = "Invalid schema for response_format 'refund': 'multipleOf' is not permitted."


def refusing_all(request: Received) -> Reply:
    return Reply(status=400, error=REFUSED) if "response_format" in request.body else as_ever(request)


def refusing_one(request: Received) -> Reply:
    if shape_of(request) == "any_of":
        return Reply(status=400, error="Invalid schema for response_format: 'anyOf' is not permitted.")
    return as_ever(request)


@row("the provider refuses every schema, which it took", "inconclusive", "provider", "steady steady moved silent")
def provider_refuses_schemas(base: Bed) -> Seen:
    return evaluate(base.folder("refuses"), refusing_all, base.baseline)


@row("the provider refuses a schema that no case needs", "drift", "provider", "steady steady moved silent")
def provider_refuses_a_live_canary(base: Bed) -> Seen:
    return evaluate(base.folder("refuses-one"), refusing_one, base.baseline)


def bending(request: Received) -> Reply:
    """A provider that no longer holds its model to any schema."""
    if is_case(request):
        return Reply(text=json.dumps({"refund": {"order": order_of(request)}}))
    if shape_of(request) == "held":
        return Reply(text=json.dumps({"name": "canary_held", "arguments": {"level": "medium", "note": "more"}}))
    return as_ever(request)


@row(
    "the provider stops holding the model to schemas, and the prompt is reworded",
    "drift",
    "provider",
    "steady steady moved moved",
)
def provider_bends_schemas(base: Bed) -> Seen:
    return evaluate(base.folder("bends", HARMLESS), bending, base.baseline)


@row("another model answers under the same name, nothing worse", "drift", "model", "steady steady steady silent")
def another_model_answers(base: Bed) -> Seen:
    return evaluate(base.folder("answers"), provider(model="scripted-2"), base.baseline)


# The model and the change


@row("the model swapped in trap.yaml for a worse one", "regression", "change", "steady steady silent steady")
def model_swapped(base: Bed) -> Seen:
    folder = base.folder("swapped", {"trap.yaml": ("openai/scripted", "openai/cheaper")})
    worse = dear()
    return evaluate(folder, provider(lambda r: worse(r) if r.body["model"] == "cheaper" else 24.5), base.baseline)


@row("the prompt worsened", "regression", "change", "steady steady steady steady")
def prompt_worsened(base: Bed) -> Seen:
    return evaluate(base.folder("prompt", WORSE), provider(generous()), base.baseline)


@row("the prompt worsened, and another model answers as well", "regression", "change", "steady steady steady steady")
def prompt_worsened_and_another_model(base: Bed) -> Seen:
    return evaluate(base.folder("both", WORSE), provider(generous(), model="scripted-2"), base.baseline)


@row("the model worse for base and change alike, the prompt reworded", "drift", "model", "steady steady steady moved")
def model_worse_for_both(base: Bed) -> Seen:
    return evaluate(base.folder("alike", HARMLESS), provider(dear()), base.baseline)


@row("the same with `on_drift: warn`", "pass", "model", "steady steady steady moved")
def model_worse_for_both_as_a_warning(base: Bed) -> Seen:
    folder = base.folder("warn", HARMLESS | {"trap.yaml": ("gate:\n", "gate:\n  on_drift: warn\n")})
    return evaluate(folder, provider(dear()), base.baseline)


@row("the model worse, nothing changed", "drift", "model", "steady steady steady moved")
def model_worse_and_nothing_changed(base: Bed) -> Seen:
    return evaluate(base.folder("nightly"), provider(dear()), base.baseline)


@row("one critical case worsened by the prompt", "regression", "change", "steady steady steady steady")
def critical_case_worsened(base: Bed) -> Seen:
    critical = bed(base.parent, "critical", critical=["r03"])

    def worse(request: Received) -> float:
        return 49.0 if order_of(request) == 3 and "generous" in system(request) else 24.5

    return evaluate(critical.folder("critical-worse", WORSE), provider(worse), critical.baseline)


def flickering(base: Bed, name: str, edits: Mapping[str, tuple[str, str]]) -> Seen:
    """A critical case that fails in the run's one attempt and passes ever after."""
    critical = bed(base.parent, name, critical=["r03"])
    asked = InTurns()

    def once(request: Received) -> float:
        return 49.0 if order_of(request) == 3 and asked(3) == 0 else 24.5

    return evaluate(critical.folder(f"{name}-flickers", edits), provider(once), critical.baseline)


@row("one critical case failed once, and passes when it is asked again", "pass", "", "steady steady steady steady")
def critical_case_flickers(base: Bed) -> Seen:
    return flickering(base, "critical-2", HARMLESS)


@row("the same where nothing changed", "pass", "", "steady steady steady steady")
def critical_case_flickers_at_night(base: Bed) -> Seen:
    return flickering(base, "critical-3", {})


@row(
    "a worse model in `trap.yaml`, and no key to ask the baseline's",
    "regression",
    witnesses="steady steady silent silent",
)
def control_arm_without_a_key(base: Bed) -> Seen:
    worse = dear()

    def script(request: Received) -> Reply:
        if "/messages" in request.path:
            return anthropic(call(order_of(request)))
        return Reply(text=call(order_of(request), worse(request)))

    trap = TRAP.replace("openai/", "anthropic/").replace("structured: schema", "structured: prompt")
    other = bed(base.parent, "anthropic", script, trap=trap, key="ANTHROPIC_API_KEY")
    folder = other.folder("no-key", {"trap.yaml": ("anthropic/", "openai/")})
    return evaluate(folder, script, other.baseline)


# Dollars for an answer of 11 tokens in and 7 out, and for the answers of a run: 12 cases and 30 live canaries.
AN_ANSWER = 11e-6 + 14e-6
LIMIT = 42 * AN_ANSWER


@row(
    "the prompt worsened, and `max_cost_usd` leaves nothing to ask the base",
    "regression",
    witnesses="steady steady steady silent",
)
def control_arm_without_money(base: Bed) -> Seen:
    folder = base.folder("poor", WORSE)
    edit(folder / "trap.yaml", "limits: {", f"limits: {{max_cost_usd: {LIMIT:.6f}, ")
    return evaluate(folder, provider(generous()), base.baseline)


# Recordings


def scored(folder: Path, wrong: Sequence[int], baseline: BaselineState) -> Seen:
    """Recorded answers as `trapgate score` judges them, some of them wrong."""
    outputs = folder / "outputs.jsonl"
    rows = [
        {"case_id": f"r{n:02}", "attempt": 1, "text": call(n, 49.0 if n in wrong else 24.5), "stop_reason": "stop"}
        for n in range(12)
    ]
    outputs.write_text("".join(json.dumps(each) + "\n" for each in rows))
    run = pipeline.score(
        "./task",
        outputs=outputs,
        format_name=None,
        config=configuration.load(folder / "trap.yaml"),
        task_name=None,
        folder=folder,
        output=folder / "trapgate-results",
        cache=folder / ".cache",
        baseline=baseline,
        environ={},
    )
    return Seen(run, [])


@row("one recorded answer worse than in the baseline", "regression", "", "steady steady silent silent")
def recording_worse(base: Bed) -> Seen:
    folder = base.folder("recorded")
    baseline = accept(folder, scored(folder, [], Missing("b")).run)
    return scored(folder, [4], baseline)


@row("a recording whose baseline was stored with another verdict", "drift", "validator", "steady moved silent silent")
def recording_with_another_baseline_verdict(base: Bed) -> Seen:
    folder = base.folder("recorded-otherwise")
    run = scored(folder, [], Missing("b")).run
    return scored(folder, [], accept(folder, with_first_attempt(run, passed=False, failure_mode="wrong_value")))


def with_first_attempt(run: Run, **changes: Any) -> Run:
    """The run as another scorer would have stored it: its first attempt with other fields."""
    task = run.tasks[0]
    first, *others = task.cases
    changed = replace(first, attempts=[replace(first.attempts[0], **changes)])
    return replace(run, tasks=[replace(task, cases=[changed, *others])])


# Noise


STEPS, A_STEP, MANY = 4, 2, 24


@row("four small drops in a row, each within noise", "regression", "change", "steady steady silent steady")
def four_small_drops(base: Bed) -> Seen:
    quiet = f"{TRAP}drift: {{live_canaries: false}}\n"
    start = bed(base.parent, "ratchet", cases=MANY, trap=quiet)

    def worse(request: Received) -> float:
        step = re.search(r"Step (\d)", system(request))
        return 49.0 if step and order_of(request) < A_STEP * int(step[1]) else 24.5

    state, seen = start.baseline, None
    for step in range(1, STEPS + 1):
        folder = start.folder(f"step-{step}", {"prompts/system.md": (CAREFUL, f"Step {step}.\n")})
        seen = evaluate(folder, provider(worse), state)
        if step < STEPS:
            assert (seen.run.verdict, seen.run.layer) == ("pass", None), seen.comment
            state = move_by_itself(state, seen.run, folder)
    assert seen is not None
    return seen


@row("nothing", "pass", "", "steady steady steady silent")
def nothing(base: Bed) -> Seen:
    return evaluate(base.folder("nothing"), provider(), base.baseline)


@row("nothing, in a run that asks for text alone", "pass", "", "steady steady silent silent")
def nothing_but_text(base: Bed) -> Seen:
    text = bed(base.parent, "text", trap=TRAP.replace("structured: schema", "structured: prompt"))
    return evaluate(text.folder("nothing-but-text"), provider(), text.baseline)
