"""A task's own grader: run once for its task, reported, and never what decides.

It gets each case once, by its first attempt, as it would from tp. Its share is over the cases that were scored, so one
case scored out of twenty can be 1.0; here coverage counts, and the gate goes by that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator import foreign
from evaluator.cases import OwnJudge
from evaluator.isolation.command import Isolation
from evaluator.isolation.folders import scratch
from evaluator.json_text import JsonFault
from evaluator.judging import contract
from evaluator.judging.judge import key
from evaluator.judging.verdicts import Judgement, printed
from evaluator.results import Attempt
from evaluator.transcript import well_formed

_FIGURES = ("passed", "score", "n_passed", "n_total", "n_scored")
_LONGEST_VARIABLE = 128 * 1024 - 256  # Linux's MAX_ARG_STRLEN, less the variable's name


def row(case_id: str, attempt: Attempt, judgements: Mapping[str, Judgement]) -> dict[str, Any]:
    """What a grader is told of a case."""
    transcript = attempt.transcript
    said = judgements.get(key(case_id, transcript)) if transcript is not None else None
    usage = transcript.usage if transcript is not None else None
    return {
        "case_id": case_id,
        "exit_code": 1 if transcript is None else transcript.process.exit_code if transcript.process else 0,
        "duration": (transcript.seconds if transcript is not None else None) or 0.0,
        "metrics": said.metrics if said is not None else None,
        "cost": usage.cost_usd if usage is not None else None,
        "judge_exit_code": said.exit_code if said is not None else None,
    }


def grade(
    own: OwnJudge, folder: Path, rows: Sequence[Mapping[str, Any]], isolation: Isolation, stop: Callable[[], bool]
) -> str:
    """What the grader said, in a sentence for the report; empty where the task has none."""
    if own.grader is None:
        return ""
    variables = contract.for_grader(rows, own.grader.envvar)
    if any(len(text.encode()) > _LONGEST_VARIABLE for text in variables.values()):
        return f"its grader `{own.grader}` was not run: the manifest is longer than an environment variable can be"
    with scratch() as work:
        finished = foreign.run(own.grader, folder, work, isolation, stop, variables)
    value = printed(finished)
    if finished.exit_code or finished.error or not isinstance(value, dict):
        why = finished.error or (str(value) if isinstance(value, JsonFault) else f"exit code {finished.exit_code}")
        return well_formed(f"its grader `{own.grader}` gave no figures: {why[:300]}")
    figures = [f"{name} {json.dumps(value[name])[:40]}" for name in _FIGURES if name in value]
    said = ", ".join(figures) or "nothing of what a grader says"
    return f"its grader says {said}; this is reported and decides nothing"
