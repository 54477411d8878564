"""Records → rows and inventory of a structure-closure suite, the same for the same seed. Pure.

Of 21 groups 15 are those of the seven families with `close_required` and `continue_required`, and `opener_retention` on
tool calls. How the six groups of values and escapes are split over the families is trapgate's own choice.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from evaluator.cases import Case, Request
from evaluator.closure import cuts, texts
from evaluator.closure.texts import Record, Text
from evaluator.formats.closure_rows import prompt_digest
from evaluator.results import Score
from evaluator.scoring import closure as scorer
from evaluator.transcript import Transcript

DEFAULT_SEED = 42


class Group(NamedTuple):
    """One (family, control). `write`: the whole text of a record's structure, None where the record has none; `cut`:
    the places where it may be cut."""

    family: str
    control: str
    format: str
    write: Callable[[Record], Text | None]
    cut: Callable[[Text], list[int]]

    @property
    def name(self) -> str:
        """`family/control`."""
        return f"{self.family}/{self.control}"


_CLOSE, _CONTINUE, _VALUE, _ESCAPE = (
    "close_required",
    "continue_required",
    "value_continue_required",
    "escape_continue_required",
)
GROUPS = (
    Group("json_object", _CLOSE, "json", texts.json_object, cuts.before_the_closers),
    Group("json_object", _CONTINUE, "json", texts.json_object, cuts.between_members),
    Group("json_object", _VALUE, "json", texts.json_object, cuts.inside_values),
    Group("json_array", _CLOSE, "json", texts.json_array, cuts.before_the_closers),
    Group("json_array", _CONTINUE, "json", texts.json_array, cuts.between_members),
    Group("json_array", _VALUE, "json", texts.json_array, cuts.inside_values),
    Group("nested_json", _CLOSE, "json", texts.nested_json, cuts.before_the_closers),
    Group("nested_json", _CONTINUE, "json", texts.nested_json, cuts.between_any_members),
    Group("nested_json", _VALUE, "json", texts.nested_json, cuts.inside_values),
    Group("json_string", _CLOSE, "json_string", texts.json_string, cuts.before_the_quote),
    Group("json_string", _CONTINUE, "json_string", texts.json_string, cuts.inside_the_string),
    Group("json_string", _ESCAPE, "json_string", texts.json_string, cuts.inside_escapes),
    Group("tool_call", _CLOSE, "tool_call", texts.tool_call, cuts.at_the_end),
    Group("tool_call", _CONTINUE, "tool_call", texts.tool_call, cuts.between_any_members),
    Group("tool_call", _VALUE, "tool_call", texts.tool_call, cuts.inside_values),
    Group("tool_call", _ESCAPE, "tool_call", texts.tool_call_with_text, cuts.inside_escapes),
    Group("tool_call", "opener_retention", "tool_call", texts.tool_call, cuts.after_the_opener),
    Group("reasoning", _CLOSE, "reasoning", texts.reasoning, cuts.at_the_end),
    Group("reasoning", _CONTINUE, "reasoning", texts.reasoning, cuts.between_lines),
    Group("code_fence", _CLOSE, "code_fence", texts.code_fence, cuts.at_the_end),
    Group("code_fence", _CONTINUE, "code_fence", texts.code_fence, cuts.between_lines),
)
_CALLED = {
    "json_object": "JSON object",
    "json_array": "JSON array",
    "nested_json": "JSON document",
    "json_string": "JSON string",
    "tool_call": "tool call",
    "reasoning": "reasoning block",
    "code_fence": "code block",
}


class Suite(NamedTuple):
    """`rows`: family → its rows. `left_out`: group → records that could not be made a row of it."""

    rows: dict[str, list[dict[str, Any]]]
    inventory: dict[str, Any]
    left_out: dict[str, int]


def build(items: Sequence[Any], *, seed: int = DEFAULT_SEED, tasks: int | None = None) -> Suite:
    """A suite of JSON values and call records.

    `tasks`: how many of `items` are taken, chosen by `seed`, in their order; all where it is None or not fewer. Every
    row's right answer passes the scorer: a record that has nothing to cut for a group, or holds the very delimiters
    that would close it, is left out of that group.
    """
    chosen = range(len(items)) if tasks is None else sorted(_draws(seed).sample(range(len(items)), tasks))
    rows: dict[str, list[dict[str, Any]]] = {}
    groups: dict[str, list[str]] = {}
    left_out: dict[str, int] = {}
    width = len(str(len(items)))
    for number in chosen:
        record = texts.record_of(items[number])
        for group in GROUPS:
            row = _row(record, group, f"t{number + 1:0{width}}", seed)
            if row is None:
                left_out[group.name] = left_out.get(group.name, 0) + 1
                continue
            rows.setdefault(group.family, []).append(row)
            groups.setdefault(group.name, []).append(row["case_id"])
    made_by = {"command": "trapgate build closure", "scorer": scorer.VERSION, "seed": seed, "tasks": len(chosen)}
    return Suite(rows, {"made_by": made_by, "groups": groups}, left_out)


def _draws(seed: int | str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - chance, not secrecy


def _row(record: Record, group: Group, task_id: str, seed: int) -> dict[str, Any] | None:
    text = group.write(record)
    if text is None:
        return None
    places = group.cut(text)
    if not places:
        return None
    case_id = f"{task_id}-{group.family}-{group.control}"
    # A generator of its own for each row: another group or another record changes none of its draws.
    prefix = text.whole[: _draws(f"{seed}/{case_id}").choice(places)]
    if not _gold_passes(group.format, prefix, text.whole):
        return None
    instruction = f"Copy this {_CALLED[group.family]} exactly, then stop:\n{text.whole}\nCopy:\n"
    return {
        "case_id": case_id,
        "task_id": task_id,
        "family": group.family,
        "control": group.control,
        "format": group.format,
        "instruction": instruction,
        "prefix": prefix,
        "expected": text.whole,
        "prompt_hash": prompt_digest(instruction, prefix, None),
    }


def _gold_passes(form: str, prefix: str, whole: str) -> bool:
    case = Case(id="", request=Request(messages=[], prefix=prefix), expected={"format": form, "text": whole})
    score = scorer.prepare(case)(Transcript(text=whole[len(prefix) :]))
    return isinstance(score, Score) and score.values["whole_response_success"] == 1.0


def files(suite: Suite) -> Iterator[tuple[str, str]]:
    """The suite's files, by name: one of rows for each family, and the inventory."""
    for family, rows in suite.rows.items():
        yield f"{family}.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    yield "inventory.json", json.dumps(suite.inventory, ensure_ascii=False, indent=1) + "\n"
