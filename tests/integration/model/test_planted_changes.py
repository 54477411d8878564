"""What docs/planted-changes.md says of the real small model: its prompt, its schemas and the model itself, changed."""

from __future__ import annotations

import http.client
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from evaluator.baselines import Missing
from tests.integration.model.conftest import EXAMPLE
from tests.integration.planted import BASELINE, Bed, Seen, accept, edit, evaluate, system
from tests.integration.repository import ROOT
from tests.servers.model_server import Received, Reply, Script

pytestmark = pytest.mark.model

PAGE = ROOT / "docs" / "planted-changes.md"
HEAD = "| planted change | verdict (exit code) | layer | witnesses, in their order |"
# Six cases that regress are the fewest that one rule can call significant at 0.02.
CASES = ("calendar-free", "price-change", "refund-full", "shipping-track", "stock-move", "ticket-assign")
CRITICAL = "refund-full"
TRAP = f"""\
model: openai/smollm2-135m-instruct
params: {{temperature: 0, seed: 42, max_tokens: 72}}
system: prompts/system.md
structured: schema
tasks:
  function-calls:
    source: ./evals/function-calls
    include: {{ids: [{", ".join(CASES)}]}}
baseline: {{path: .trap/baseline.json}}
gate:
  rules:
    - {{task: function-calls, metric: pass_rate, max_drop: 0.05}}
limits: {{case_timeout: 120, concurrency: 1}}
"""
QUIET = ("limits:", "drift: {live_canaries: false}\nlimits:")
GOOD = (EXAMPLE / "prompts" / "system.md").read_text(encoding="utf-8")
REWORDED = GOOD.replace("Answer with JSON only.", "Answer with nothing but JSON.")
# An example that went stale: the model copies from it what it should copy from the request.
MISLEADING = """\
Write each call exactly as in this example:
{"name": "refund_order", "arguments": {"order_id": 1, "amount": 1.00}}
"""
# Characters of a message that the worse model sees: all of a live canary's, of a task's not its request.
WINDOW = 360

Change = Callable[[Any], None]


@dataclass(frozen=True)
class Row:
    """As in the table: what was planted, and what it gives."""

    words: str
    verdict: str
    layer: str
    witnesses: str

    def shown(self, code: int) -> str:
        """The row of the page."""
        return f"| {self.words} | `{self.verdict}` ({code}) | {self.layer or '—'} | {self.witnesses} |"


NOTHING = Row("nothing", "pass", "", "steady steady steady silent")
SCHEMA = Row("the schema dropped: `structured: prompt`", "regression", "change", "steady steady silent steady")
PROMPT = Row(
    "a stale example in the prompt, which leads a critical case astray",
    "regression",
    "change",
    "steady steady silent steady",
)
MODEL = Row(
    "the model worse for base and change alike (it sees the end of each message only), the prompt reworded",
    "drift",
    "model",
    "steady steady silent moved",
)
ROWS = (NOTHING, SCHEMA, PROMPT, MODEL)


def test_the_page_has_these_rows_and_no_other() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    listed = lines[lines.index(HEAD) + 2 :]
    codes = {"pass": 0, "regression": 1, "drift": 4}
    assert [line for line in listed if line.startswith("|")] == [row.shown(codes[row.verdict]) for row in ROWS]


@pytest.fixture(scope="module")
def shop(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Bed:
    """The example repository with six of its cases, and the baseline of the real model."""
    parent = tmp_path_factory.mktemp("shop")
    folder = parent / "base"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("trapgate-results", ".trap"))
    (folder / "trap.yaml").write_text(TRAP)
    first = evaluate(folder, served(model), Missing(str(BASELINE)))
    assert {case.id: case.attempts[0].passed for case in first.run.tasks[0].cases} == dict.fromkeys(CASES, True)
    return Bed(folder, accept(folder, first.run), parent)


def tag(listed: Path) -> None:
    """Makes one case critical."""
    task = yaml.safe_load(listed.read_text(encoding="utf-8"))
    for case in task["cases"]:
        case["tags"] = [*case.get("tags", []), *(["critical"] if case["id"] == CRITICAL else [])]
    listed.write_text(json.dumps(task))


def served(model: Any, change: Change = lambda _: None) -> Script:
    """The real model behind a provider that lets it see each request as `change` leaves it."""

    def script(request: Received) -> Reply:
        body = json.loads(json.dumps(request.body))
        change(body)
        connection = http.client.HTTPConnection(urlsplit(model.base_url).netloc, timeout=120)
        try:
            connection.request("POST", request.path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return Reply(status=answer.status, body=answer.read())
        finally:
            connection.close()

    return script


def short_sighted(body: Any) -> None:
    """A model that sees the end of each message only."""
    for message in body["messages"]:
        message["content"] = message["content"][-WINDOW:]


def arms(seen: Seen, tell: Callable[[Received], bool]) -> Counter[bool]:
    """How many attempts the control arm made for the base (true) and the change, as the provider saw them."""
    return Counter(tell(request) for request in seen.asked[len(CASES) :])


def check(seen: Seen, row: Row) -> None:
    assert (seen.run.verdict, seen.run.layer or "", seen.witnesses) == (row.verdict, row.layer, row.witnesses)


def test_nothing_planted_passes_with_every_live_canary_as_it_was(shop: Bed, model: Any) -> None:
    seen = evaluate(shop.folder("nothing"), served(model), shop.baseline)
    check(seen, NOTHING)
    assert seen.witness("live_canaries").startswith("9 live canaries answered as in the baseline")
    assert len(seen.asked) == len(CASES)


def test_a_dropped_schema_is_the_changes_doing_for_the_base_still_does_well_with_it(shop: Bed, model: Any) -> None:
    folder = shop.folder("schema", {"trap.yaml": ("structured: schema", "structured: prompt")})
    seen = evaluate(folder, served(model), shop.baseline)
    check(seen, SCHEMA)
    # Six cases, three attempts each way.
    assert arms(seen, lambda request: "response_format" in request.body) == {True: 18, False: 18}
    assert "base now 1.00, change now 0.00" in seen.witness("control_arm")
    assert "the change is the cause" in seen.comment.splitlines()[0]


def test_a_prompt_that_leads_one_critical_case_astray_is_the_changes_doing(shop: Bed, model: Any) -> None:
    folder = shop.folder("prompt", {"prompts/system.md": (GOOD, MISLEADING)})
    edit(folder / "trap.yaml", *QUIET)
    tag(folder / "evals" / "function-calls" / "traptask.yaml")
    seen = evaluate(folder, served(model), shop.baseline)
    check(seen, PROMPT)
    assert [reason.kind for reason in seen.run.reasons] == ["critical"]
    assert arms(seen, lambda request: system(request) == GOOD) == {True: 4, False: 4}
    assert f"the critical case {CRITICAL} passed in the baseline and fails now" in seen.comment.splitlines()[0]


def test_a_model_that_got_worse_for_both_is_not_blamed_on_the_change(shop: Bed, model: Any) -> None:
    folder = shop.folder("model", {"prompts/system.md": (GOOD, REWORDED)})
    edit(folder / "trap.yaml", *QUIET)
    seen = evaluate(folder, served(model, short_sighted), shop.baseline)
    check(seen, MODEL)
    assert "the model moved, not the change" in seen.comment.splitlines()[0]
    assert "the base does as badly now as the change" in seen.witness("control_arm")
