"""What a run says, at the lines that it is about: of trap.yaml, and of the fixtures. Pure, but for `announce`.

What the verdict rests on is an error, what may be a drop a warning; where somebody accepted the verdict, its errors are
notices. A pass without a warning says nothing. On a pull request the rules are the base's: a rule is shown at its line
in the checkout, where that has the same one, since GitHub shows lines of the checkout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import UNSET

from evaluator.config.types import Config
from evaluator.gate import exit_code
from evaluator.github import base
from evaluator.github.commands import Log
from evaluator.github.environment import Environment
from evaluator.origins import line_of
from evaluator.redaction import Redactor
from evaluator.reports import cases, causes, unanswered
from evaluator.reports.escape import log_text, shorten
from evaluator.reports.evidence import deciding
from evaluator.reports.models import all_runs, whose
from evaluator.reports.one_line import finding_text
from evaluator.reports.phrases import sentence
from evaluator.reports.verdict import words
from evaluator.reports.view_model import CaseRow
from evaluator.results import CaseResult, Reason, RuleResult, Run, TaskResult
from evaluator.rules import describe

Level = Literal["error", "warning", "notice"]
# File and line, 0 for no line.
Place = tuple[str, int]

# GitHub shows ten of each level a step. Two are left for what the step has to say of itself.
ROOM = 8
# So many places of trap.yaml come before the first case.
_RULES_FIRST = 3
_LINES = 6
_LINE_BYTES = 500
# GitHub keeps 4,096 characters of a message.
_MESSAGE_BYTES = 3800
_TITLE_BYTES = 200
# What is said of a run beside its verdict and is no mere note.
_TELLING = frozenset(
    {"canary", "validator", "coverage", "baseline", "comparison", "stale", "rule", "floor", "critical"}
    | {"provider", "model", "task"}
)


@dataclass(frozen=True)
class Annotation:
    """`file` is relative to the top of the repository; `line` counts from 1, 0 for the file as a whole."""

    level: Level
    file: str
    line: int
    title: str
    message: str


@dataclass(frozen=True)
class _Mark:
    level: Level
    place: Place
    title: str
    text: str


def annotate(run: Run, config: Config, file: str, locate: Callable[[str], str]) -> list[Annotation]:
    """At most `ROOM` of each level, the most important first; the last one of a level says how many are missing.

    `config`: trap.yaml as the checkout has it, at the path `file` of the repository; `locate`: the path in the
    repository of a file that is named as seen from the folder of trap.yaml, empty where it is none of its files.
    """
    marks = _Marks(run, config, file, locate)
    rules, listed = _grouped(marks.of_reasons()), _grouped(marks.of_cases())
    found = _joined([*rules[:_RULES_FIRST], *listed, *rules[_RULES_FIRST:]])
    levels: tuple[Level, ...] = ("error", "warning", "notice")
    return [each for level in levels for each in _fitted([group for group in found if group[0].level == level], run)]


def announce(environment: Environment, config: Config, run: Run, log: Log, redactor: Redactor) -> None:
    """Prints the annotations of `run` as commands of the runner."""
    path = environment.workspace / environment.inputs.config
    root = base.repository_root(environment.workspace, path)
    file = path.relative_to(root).as_posix()
    locate = cache(lambda shown: _inside(root, path.parent / shown))
    for each in annotate(run, config, file, locate):
        say = {"error": log.error, "warning": log.warning, "notice": log.notice}[each.level]
        say(redactor.clean(each.message), title=redactor.clean(each.title), file=each.file, line=each.line)


def _inside(root: Path, path: Path) -> str:
    """`path` as GitHub knows it; empty where it is no file of the repository, or its name is not fit to print."""
    try:
        real, top = path.resolve(), root.resolve()
        name = real.relative_to(top).as_posix() if real.is_relative_to(top) and real.is_file() else ""
    except (OSError, ValueError, RuntimeError):  # a name that is none, or a link that leads to itself
        return ""
    return name if log_text(name) == name else ""


class _Marks:
    """Everything that there is to say of a run, and where."""

    def __init__(self, run: Run, config: Config, file: str, locate: Callable[[str], str]) -> None:
        self._run, self._config, self._file, self._locate = run, config, file, locate
        self._blocks: Level = "error" if exit_code(run) != 0 else "notice"
        self._blocking = [reason for reason in run.reasons if reason.kind in _TELLING]
        self._doubts = [reason for reason in run.warnings if reason.kind in _TELLING]
        self._task_lines = {task.name: task.line for task in config.tasks}
        self._tasks = {task.name: task for part in all_runs(run) for task in part.tasks}
        # Of several models each reason begins with the name of its own.
        self._rules = {
            text: rule
            for part in all_runs(run)
            for rule in part.rules
            for text in (rule.text, whose(run, part) + rule.text)
        }

    def of_reasons(self) -> Iterator[_Mark]:
        first = causes.first_cause(self._run)
        if first is not None and (failure := unanswered.said(self._run)):
            yield _Mark(self._blocks, self._of_reason(first), words(self._run), sentence(failure))
        for level, reasons in ((self._blocks, self._blocking), ("warning", self._doubts)):
            for reason in reasons:
                yield _Mark(level, self._of_reason(reason), words(self._run), reason.text)

    def _of_reason(self, reason: Reason) -> Place:
        rule = self._rules.get(reason.text)
        if rule is None or self._config.gate.rules is None:
            return self._file, self._task_lines.get(reason.task or "", 0)
        return self._file, self._line_of_rule(rule)

    def _line_of_rule(self, result: RuleResult) -> int:
        """Where the checkout has the rule; 0 where it has not."""
        task = self._tasks.get(result.task or "")
        same = (rule for rule in self._config.gate.rules or () if rule.task in (None, result.task))
        return next((rule.line for rule in same if describe(rule, task) == result.rule), 0)

    def of_cases(self) -> Iterator[_Mark]:
        for part in all_runs(self._run):
            found = {(task.name, case.id): (task, case) for task in part.tasks for case in task.cases}
            for row in (*cases.regressed(part).shown, *cases.failed(part).shown):
                task, case = found.get((row.task, row.id), (None, None))
                if task is not None and case is not None:
                    yield from self._of_case(part, task, case, row)

    def _of_case(self, part: Run, task: TaskResult, case: CaseResult, row: CaseRow) -> Iterator[_Mark]:
        about = [rule for rule in part.rules if rule.task == task.name and _is_about(rule, case)]
        level = self._level(part, about, row)
        if level is not None:
            name = f"{whose(self._run, part)}{task.name}/{case.id}"
            text = f"{name}: {_said(row, about)}"
            yield _Mark(level, self._of_fixture(task, case), f"{words(self._run)}: {name}", text)

    def _level(self, part: Run, about: Sequence[RuleResult], row: CaseRow) -> Level | None:
        """None where neither the verdict nor a warning rests on the case."""
        prefix = whose(self._run, part)
        texts = {text for rule in about for text in (rule.text, prefix + rule.text)}
        for level, reasons in ((self._blocks, self._blocking), ("warning", self._doubts)):
            for reason in reasons:
                grave = reason.kind == "critical" and reason.task == row.task and row.critical
                if reason.text in texts or (grave and reason.text.startswith(prefix)):
                    return level
        return None

    def _of_fixture(self, task: TaskResult, case: CaseResult) -> Place:
        """The line of the first finding; of a case that is written elsewhere that of its task."""
        origin = case.origin
        file = self._locate(origin.file) if origin is not UNSET and task.source.commit is None else ""
        if origin is UNSET or not file:
            return self._file, self._task_lines.get(task.name, 0)
        lost = (attempt for attempt in case.attempts if attempt.passed is False)
        return file, line_of(origin, next((finding for each in lost for finding in each.findings), None))


def _is_about(rule: RuleResult, case: CaseResult) -> bool:
    """Whether a rule that does not hold, or may not, speaks of a case."""
    if rule.outcome not in ("fail", "warn"):
        return False
    return case.id in rule.worse if rule.evidence is not None else cases.speaks_of(rule, case)


def _said(row: CaseRow, about: Sequence[RuleResult]) -> str:
    """ "wrong_arguments (1.00 → 0.40), $.amount (value): wanted 24.5, got 49.0; p = 0.004"."""
    head = row.mode or ("passed" if row.passes else "failed")
    head += f" ({row.rates})" if row.rates and row.rates != head else ""
    finding = f", {finding_text(row.findings.shown[0])}" if row.findings.shown else ""
    chances = (f"; {chance}" for rule in about if rule.evidence is not None and (chance := deciding(rule.evidence)))
    return f"{head}{finding}{next(chances, '')}"


def _grouped(marks: Iterable[_Mark]) -> list[list[_Mark]]:
    """Those of one level and place together: GitHub would show them one over the other."""
    groups: dict[tuple[Level, Place], list[_Mark]] = {}
    for mark in dict.fromkeys(marks):
        groups.setdefault((mark.level, mark.place), []).append(mark)
    return list(groups.values())


def _joined(groups: Iterable[list[_Mark]]) -> list[list[_Mark]]:
    """The same once more: a case without a file of its own stands where its task's reasons do."""
    return _grouped(mark for group in groups for mark in group)


def _fitted(groups: list[list[_Mark]], run: Run) -> Iterator[Annotation]:
    """The annotations of one level."""
    missing = sum(map(len, groups[ROOM:]))
    for number, group in enumerate(groups[:ROOM], 1):
        more = missing if number == ROOM else 0
        yield _annotation(group, run, more)


def _annotation(group: Sequence[_Mark], run: Run, missing: int) -> Annotation:
    first = group[0]
    lines = [log_text(" ".join(mark.text.split()), _LINE_BYTES) for mark in group[:_LINES]]
    if len(group) > _LINES:
        lines.append(f"… and {len(group) - _LINES} more here: see the job summary.")
    end = f"\n… and {missing} more elsewhere: see the job summary." if missing else ""
    file, line = first.place
    title = log_text(f"trapgate: {first.title if len(group) == 1 else words(run)}", _TITLE_BYTES)
    return Annotation(first.level, file, line, title, shorten("\n".join(lines), _MESSAGE_BYTES) + end)
