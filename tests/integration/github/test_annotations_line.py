"""From a fixture on disk to the line that GitHub shows: traces are scored, the action publishes what came of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree

from evaluator import config, pipeline
from evaluator.baselines import BaselineState, Found, Missing
from evaluator.results import SCHEMA_VERSION, Baseline, Run, not_accepted
from tests.integration.github.evaluation import Evaluation, perform
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer

TRAP = """\
model: openai/gpt-4.1-mini
tasks:
  refunds:
    source: ./refunds
gate:
  rules:
    - metric: argument_score
      max_drop: 0.02
"""
FIXTURE = """\
task_id: {name}
input: Half of it was broken.
expected_invocations:
  - tool: lookup_order
    args:
      order_id: "4821"
  - tool: issue_refund
    args:
      order_id: "4821"
      amount: 24.5
actual_invocations:
  - {{turn: 1, tool: lookup_order, args: {{order_id: "4821"}}}}
  - {{turn: 2, tool: issue_refund, args: {{order_id: "4821", amount: {amount}}}}}
"""
AMOUNT = 1 + FIXTURE.splitlines().index("      amount: 24.5")
NAMES = ("broken-lamp", "late-parcel", "two-orders")


@pytest.fixture
def runner(tmp_path: Path) -> ActionsRunner:
    with GitHubServer() as server:
        job = ActionsRunner(tmp_path, server)
        for write in (job.write, lambda files: [job.on_base(*each) for each in files.items()]):
            write({"evals/trap.yaml": TRAP})
        yield job


def scored(runner: ActionsRunner, amounts: tuple[float, ...], baseline: BaselineState) -> Run:
    """The task with these amounts recorded."""
    folder = runner.workspace / "evals"
    for name, amount in zip(NAMES, amounts, strict=True):
        runner.write({f"evals/refunds/{name}.yaml": FIXTURE.format(name=name, amount=amount)})
    return pipeline.score(
        "./refunds",
        outputs=None,
        format_name=None,
        config=config.load(folder / "trap.yaml"),
        task_name="refunds",
        folder=folder,
        output=runner.temp,
        cache=runner.temp,
        baseline=baseline,
        environ={},
    )


def regressed(runner: ActionsRunner) -> Run:
    before = scored(runner, (24.5, 24.5, 24.5), Missing("none"))
    accepted = Baseline(schema_version=SCHEMA_VERSION, accepted=not_accepted(before), run=before)
    return scored(runner, (24.5, 49.0, 49.0), Found("baseline", accepted))


def annotated(log: str) -> list[str]:
    """The annotations that the runner makes of a log: of commands between a stop and its end it takes none."""
    found, token = [], None
    for line in log.splitlines():
        if token is None and line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif token is not None:
            token = None if line == f"::{token}::" else token
        elif re.match("::(error|warning|notice) ", line):
            found.append(line)
    return found


@pytest.mark.parametrize("head", [None, "eve/agent"], ids=["of the repository", "of a fork"])
def test_the_rule_and_the_wrong_values_are_annotated_at_their_lines_in_any_pull_request(
    runner: ActionsRunner, head: str | None
) -> None:
    run = regressed(runner)
    assert run.verdict == "regression"
    event = runner.pull_request(head_repository=head)
    code, log = perform(runner.environ("pull_request", event, config="evals/trap.yaml"), Evaluation(run))
    assert code == 1
    rule, *cases = annotated(log)
    assert rule.startswith("::error file=evals/trap.yaml,line=7,title=trapgate%3A regression::refunds argument_score")
    assert cases == [
        f"::error file=evals/refunds/{name}.yaml,line={AMOUNT},title=trapgate%3A regression%3A refunds/{name}::"
        f"refunds/{name}: wrong_arguments, step 2 issue_refund $.amount (value): wanted 24.5, got 49.0"
        for name in ("late-parcel", "two-orders")
    ]


def test_the_junit_file_lies_beside_the_results_and_says_the_same(runner: ActionsRunner) -> None:
    environ = runner.environ("pull_request", runner.pull_request(), config="evals/trap.yaml")
    perform(environ, Evaluation(regressed(runner)))
    document = etree.fromstring((runner.workspace / "trapgate-results" / "junit.xml").read_bytes())
    failed = [case.get("name") for case in document.iter("testcase") if len(case) and case[0].tag == "failure"]
    assert failed == ["verdict", "rule refunds argument_score, max_drop 0.02", "late-parcel", "two-orders"]


def test_a_pass_is_not_annotated(runner: ActionsRunner) -> None:
    before = scored(runner, (24.5, 24.5, 24.5), Missing("none"))
    accepted = Baseline(schema_version=SCHEMA_VERSION, accepted=not_accepted(before), run=before)
    run = scored(runner, (24.5, 24.5, 24.5), Found("baseline", accepted))
    environ = runner.environ("pull_request", runner.pull_request(), config="evals/trap.yaml")
    code, log = perform(environ, Evaluation(run))
    assert (code, annotated(log)) == (0, [])
