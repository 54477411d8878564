"""What `trapgate init` writes: a trap.yaml, a workflow, a system prompt and a first task of three cases.

They run as they are; the cases are there to be replaced.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evaluator import __version__

REPOSITORY = "trapgate/trapgate"
ACTION_REFERENCE = f"{REPOSITORY}@v{__version__}"
SCHEMA_ADDRESS = f"https://raw.githubusercontent.com/{REPOSITORY}/v{__version__}/evaluator/config/trap.schema.json"
CHECKOUT_REFERENCE = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2"
UPLOAD_REFERENCE = "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2"
DEFAULT_MODEL = "openai/gpt-4.1-mini"
TASK_FOLDER = "evals/first-task"
WORKFLOW = ".github/workflows/trapgate.yml"


def files(model: str = DEFAULT_MODEL) -> dict[str, str]:
    """Path to text of every file of the starter, for a folder that is the top of its repository."""
    return {
        "trap.yaml": _trap(model),
        "prompts/system.md": _SYSTEM,
        WORKFLOW: _WORKFLOW,
        **{f"{TASK_FOLDER}/{path}": text for path, text in _task().items()},
    }


def missing(folder: Path, model: str = DEFAULT_MODEL) -> dict[str, str]:
    """As `files` and a .gitignore, what there is to write in `folder`: what exists there is left out, and so is the
    workflow where the top of the repository is further up, since GitHub reads workflows there only."""
    wanted = files(model) | {".gitignore": _GITIGNORE}
    if not _is_top(folder):
        del wanted[WORKFLOW]
    return {name: text for name, text in wanted.items() if not (folder / name).exists()}


def _is_top(folder: Path) -> bool:
    """Whether `folder` is the top of a git work tree, or may become one."""
    path = folder.resolve()
    return (path / ".git").exists() or not any((parent / ".git").exists() for parent in path.parents)


def _trap(model: str) -> str:
    return f"""\
# yaml-language-server: $schema={SCHEMA_ADDRESS}
model: {json.dumps(model)}
params: {{temperature: 0, max_tokens: 512}}
system: prompts/system.md # what a pull request changes and this gate guards
repeats: 3 # attempts per case: more of them see smaller drops

tasks:
  first-task:
    source: ./{TASK_FOLDER}

baseline:
  path: .trap/baseline.json
  allow_missing: true # true until there is a baseline: `trapgate baseline accept` writes false

gate:
  rules:
    # A drop on fewer than six cases is never significant, so `warn` could not fail: with more cases, take on_noise out.
    - {{task: first-task, metric: pass_rate, max_drop: 0.05, on_noise: fail}}

limits: {{timeout: 900}} # seconds; max_cost_usd stops at a price, for a model whose price is known
"""


_SYSTEM = """\
You are the support assistant of a small shop.
Answer with what was asked for and nothing else: no introduction, no explanation, no Markdown.
"""

_GITIGNORE = "/trapgate-results/\n"

_WORKFLOW = f"""\
name: trapgate
on:
  pull_request:
    types: [opened, synchronize, reopened, labeled] # labeled: trapgate:accept counts in the run that it starts
  merge_group: # a required check has to report here as well

permissions: {{}}

concurrency: # a new commit ends the run of the old one; a label has its own group, where no other label cancels its run
  group: evaluate-${{{{ github.event.pull_request.number || github.sha }}}}-${{{{ github.event.label.name }}}}
  cancel-in-progress: ${{{{ github.event.action == 'synchronize' }}}}

jobs:
  evaluate:
    name: Evaluate # what a ruleset requires, so that a red check blocks the merge
    runs-on: ubuntu-latest
    timeout-minutes: 30
    permissions:
      contents: read # the repository, and the rules and baseline of its base
      pull-requests: write # the comment
    steps:
      - uses: {CHECKOUT_REFERENCE}
        with:
          persist-credentials: false
      - uses: {ACTION_REFERENCE}
        env:
          OPENAI_API_KEY: ${{{{ secrets.OPENAI_API_KEY }}}}
      - if: always() # what is wrong is what one wants to look at
        uses: {UPLOAD_REFERENCE}
        with:
          name: trapgate-results
          path: trapgate-results
"""

_FUNCTION: dict[str, Any] = {
    "name": "open_ticket",
    "description": "Open a support ticket for an order.",
    "parameters": {
        "type": "object",
        "properties": {
            "order": {"type": "integer", "description": "Number of the order."},
            "topic": {"type": "string", "enum": ["delivery", "refund", "damage"]},
            "urgent": {"type": "boolean", "description": "False unless the customer says so."},
        },
        "required": ["order", "topic"],
    },
}

_CALL_QUESTION = f"""\
Write the function call that does what the customer asks for.

USER REQUEST:
The lamp of order 4711 came with a broken shade. Please look into it.

FUNCTION SPEC (JSON):
{json.dumps(_FUNCTION, indent=2)}

OUTPUT FORMAT: one JSON object, nothing around it:
{{"name": "<function>", "arguments": {{"<argument>": <value>}}}}
"""


def _task() -> dict[str, str]:
    cases: list[tuple[str, str, str, str, list[dict[str, Any]]]] = [
        (
            "ticket",
            "function-call",
            _CALL_QUESTION,
            json.dumps({"name": "open_ticket", "arguments": {"order": 4711, "topic": "damage"}}),
            [
                {
                    "kind": "json_call",
                    "function_name": "open_ticket",
                    "args_accepted": {"order": [4711], "topic": ["damage"], "urgent": ["", False]},
                }
            ],
        ),
        (
            "total",
            "arithmetic",
            "Two mugs at 8.50 each and one lamp at 24.00, plus 4.90 for delivery.\n"
            "What is the total? Answer with the number alone.\n",
            "45.90",
            [{"kind": "leading_numeric", "value": 45.9, "tolerance": 0.001}],
        ),
        (
            "policy",
            "policy",
            "Returns are accepted for 30 days after delivery. A customer wants to return a mug after 12 days.\n"
            "Is the return accepted? Answer with yes or no.\n",
            "yes",
            [{"kind": "leading_word", "value": "yes"}],
        ),
    ]
    texts = {"traptask.yaml": _manifest([(name, tag) for name, tag, *_ in cases])}
    for name, tag, question, answer, matchers in cases:
        expected = {"id": name, "answer": answer, "matchers": matchers, "category": tag}
        texts[f"inputs/{name}/question.txt"] = question
        texts[f"expected/{name}/answer.json"] = json.dumps(expected, indent=2) + "\n"
    return texts


def _manifest(cases: list[tuple[str, str]]) -> str:
    entries = "".join(f"  - {{id: {name}, tags: [{tag}]}}\n" for name, tag in cases)
    return f"name: first-task\ndirs: {{inputs: inputs, expected: expected}}\ncases:\n{entries}"
