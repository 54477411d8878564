"""What the schema of trap.yaml cannot say: references between keys, meanings of numbers, paths, pins, later features.

Runs beside the check of the shape, so that every fault is reported at once; a value of the wrong type is skipped here
because the shape already names it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from evaluator.config.shape import REDIRECTING, refused_parameter, schema
from evaluator.config.wording import did_you_mean, listed, place
from evaluator.errors import Problem, UserError
from evaluator.vocabulary import AMOUNT_METRICS, COUNT_METRICS, FAILURE_MODE_PREFIX, known_metrics
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Document, Path_

BUILTIN_CANARIES = "builtin"
GIT_PREFIX = "git+"
# What providers' protocols call the model, the prompt, the tools and the shape of the answer: a member of `extra_body`
# replaces the request's own.
_REPLACING = frozenset(
    {
        *("model", "models", "messages", "prompt", "input", "instructions", "system", "contents"),
        *(
            "system_instruction",
            "systemInstruction",
            "tools",
            "functions",
            "function_call",
            "tool_config",
            "toolConfig",
        ),
        *("response_format", "generation_config", "generationConfig", "max_output_tokens"),
        *("n", "stream", "stream_options", "extra_body"),
    }
)
_PLACES = "Leave it out: model, prompts, tools and the shape of the answer have places of their own in trap.yaml."
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRANCH = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|/|$|lock(?:/|$))|/(?=[A-Za-z0-9]))*")
LIMITS = ("min", "max", "max_drop", "max_rise")


def problems(document: Document) -> Iterator[Problem]:
    """Each fault of the document beyond its shape, in no order."""
    yield from _model(document)
    yield from _branch(document)
    yield from _command(document)
    yield from _trust(document)
    yield from _parameters(document)
    yield from _paths(document)
    yield from _sources(document)
    yield from _rules(document)
    yield from _on_fork(document)


def lower_is_better(metric: str) -> bool:
    """Whether a rise of the metric is the bad direction."""
    return metric in AMOUNT_METRICS or metric in COUNT_METRICS or metric.startswith(FAILURE_MODE_PREFIX)


def _at(document: Document, path: Path_, kind: type) -> Any:
    """The value at `path` if it is there and of `kind`, else an empty one."""
    node = document.node(path)
    return node.value if node is not None and isinstance(node.value, kind) else kind()


def _model(document: Document) -> Iterator[Problem]:
    models = _at(document, ("models",), list)
    if models and _at(document, ("model",), str):
        mend = "Keep one of them."
        yield document.problem(("models",), "model and models are both given", mend, key=True)
    elif len(models) > 1 and _at(document, ("price",), dict):
        mend = "Leave price out, and each model has the price of the list; or run once per model with --model."
        yield document.problem(("price",), "price is that of one model, and models names several", mend, key=True)
    paths: list[Path_] = [("model",), ("profile", "model"), *(("models", i) for i in range(len(models)))]
    for path in paths:
        name = _at(document, path, str)
        yield from _unexpanded(document, path, name)
        # litellm takes an address inside a model's name as the endpoint, e.g. huggingface/https://…
        if "://" in name:
            mend = "Write provider/model; the endpoint comes from the environment of the workflow."
            yield document.problem(path, f"{place(path)} is an address, not the name of a model", mend)


def _unexpanded(document: Document, path: Path_, text: str) -> Iterator[Problem]:
    if "${" in text:
        message = f"{place(path)}: environment variables are not expanded, and {quoted(text)} has one"
        yield document.problem(path, message, "Write the value itself.")


def _branch(document: Document) -> Iterator[Problem]:
    """A name that git takes for a branch (git-check-ref-format), and no more: it becomes part of an address."""
    path = ("baseline", "branch")
    branch = _at(document, path, str)
    if branch and not _BRANCH.fullmatch(branch):
        mend = "Letters, digits, `-`, `_` and `.`, with `/` between parts that begin with a letter or digit."
        yield document.problem(path, f"{place(path)}: {quoted(branch)} is no name of a branch", mend)


def _command(document: Document) -> Iterator[Problem]:
    for key in ("cmd", "setup_cmd"):
        node = document.node((key,))
        if node is not None:
            try:
                words = split(node.value)
            except ValueError as error:
                yield document.problem((key,), f"{key} cannot be split into arguments: {error}")
                continue
            if not words or not words[0] or any("\0" in word for word in words):
                yield document.problem((key,), f"{key} is a command line", "It is run without a shell.")
    stdin = _at(document, ("stdin",), str)
    if reason := _escape(stdin):
        yield document.problem(
            ("stdin",), f"stdin: {quoted(stdin)} {reason}", "Name one of the files of each case's inputs."
        )
    names = _at(document, ("env",), list)
    named = [(("env", index), name) for index, name in enumerate(names)]
    for path, name in [*named, (("manifest_envvar",), _at(document, ("manifest_envvar",), str))]:
        if isinstance(name, str) and name and not _VARIABLE.fullmatch(name):
            yield document.problem(path, f"{place(path)}: {quoted(name)} is no name of an environment variable")


def split(command: Any) -> list[str]:
    """The arguments of a command line. Raises ValueError where a quotation does not end."""
    if isinstance(command, str):
        return shlex.split(command)
    return [word for word in command if isinstance(word, str)] if isinstance(command, list) else []


def _trust(document: Document) -> Iterator[Problem]:
    """A judge that a pinned source brings is another's code: it runs where the file says so, and not else."""
    for name in _at(document, ("tasks",), dict):
        path = ("tasks", name, "judge")
        judge, source = _at(document, path, str), _at(document, ("tasks", name, "source"), str)
        if (
            judge in ("task", "both")
            and source.startswith(GIT_PREFIX)
            and not _at(document, (*path[:2], "trust"), bool)
        ):
            message = f"{place(path)}: {judge} would run what another's source brings, and trust is not set"
            mend = "Read its judge, grader and setup_cmd there, then set `trust: true`; or write `judge: builtin`."
            yield document.problem(path, message, mend)


def _parameters(document: Document) -> Iterator[Problem]:
    body: Path_ = ("params", "extra_body")
    own = schema()["properties"]["params"]["properties"].keys() - {"extra_body"}
    for key in _at(document, body, dict):
        if key in own or key in _REPLACING:
            path = (*body, key)
            message = f"{place(path)} is refused: it would replace what trapgate sends and records"
            yield document.problem(path, message, f"Write it as params.{key}." if key in own else _PLACES, key=True)
    pending = [body]
    while pending:
        path = pending.pop()
        node = document.node(path)
        for step in node.children if node else ():
            if step in REDIRECTING:
                yield refused_parameter(document, (*path, step))
            pending.append((*path, step))


def _paths(document: Document) -> Iterator[Problem]:
    for path in (("system",), ("tools",), ("baseline", "path"), ("canaries",)):
        text = _at(document, path, str)
        if path == ("canaries",) and text.startswith(GIT_PREFIX):
            yield from _source(document, path, text)
        elif reason := _escape(text):
            mend = "Write a path relative to that folder, without `..`."
            yield document.problem(path, f"{place(path)}: {quoted(text)} {reason}", mend)


def _escape(text: str) -> str:
    parts = PurePosixPath(text)
    if parts.is_absolute() or ".." in parts.parts:
        return "leaves the folder of trap.yaml"
    return "lies inside .git" if ".git" in parts.parts else ""


def _sources(document: Document) -> Iterator[Problem]:
    for name in _at(document, ("tasks",), dict):
        path = ("tasks", name, "source")
        yield from _source(document, path, _at(document, path, str))


def _source(document: Document, path: Path_, text: str) -> Iterator[Problem]:
    from evaluator.sources import location

    if "${" in text:
        yield from _unexpanded(document, path, text)
    elif text:
        try:
            location.parse(text, where=place(path))
        except UserError as error:
            for problem in error.problems:
                yield document.problem(path, f"{place(path)}: {problem.message}", problem.mend)


def _rules(document: Document) -> Iterator[Problem]:
    for index in range(len(_at(document, ("gate", "rules"), list))):
        path: Path_ = ("gate", "rules", index)
        rule = _at(document, path, dict)
        if not rule:
            continue
        if not any(limit in rule for limit in LIMITS):
            mend = f"Give at least one of {', '.join(LIMITS)}."
            yield document.problem(path, f"{place(path)} has no limit", mend)
        yield from _rule_task(document, path, rule)
        yield from _rule_metric(document, path, rule)
        low, high = _number(rule.get("min")), _number(rule.get("max"))
        if low is not None and high is not None and low > high:
            yield document.problem((*path, "min"), f"{place(path)}: min {low} is above max {high}")


def _rule_task(document: Document, path: Path_, rule: dict[str, Any]) -> Iterator[Problem]:
    yield from _known_task(document, (*path, "task"), path, rule.get("task"))


def _on_fork(document: Document) -> Iterator[Problem]:
    path: Path_ = ("gate", "on_fork")
    for index, task in enumerate(_at(document, path, list)):
        yield from _known_task(document, (*path, index), path, task)


def _known_task(document: Document, path: Path_, about: Path_, task: Any) -> Iterator[Problem]:
    tasks = _at(document, ("tasks",), dict)
    if isinstance(task, str) and tasks and task not in tasks:
        hint = did_you_mean(task, tasks)
        mend = "" if hint else f"Tasks of this file: {listed(tasks)}."
        yield document.problem(path, f"{place(about)}: there is no task {quoted(task)}{hint}", mend)


def _rule_metric(document: Document, path: Path_, rule: dict[str, Any]) -> Iterator[Problem]:
    metric = rule.get("metric")
    if not isinstance(metric, str):
        return
    if metric not in known_metrics():
        hint = did_you_mean(metric, known_metrics())
        mend = "" if hint else f"Known metrics: {', '.join(known_metrics())}."
        yield document.problem((*path, "metric"), f"{place(path)}: unknown metric {quoted(metric)}{hint}", mend)
        return
    better, wrong, right = (
        ("lower", "max_drop", "max_rise") if lower_is_better(metric) else ("higher", "max_rise", "max_drop")
    )
    if wrong in rule:
        message = f"{place(path)}: {wrong} on {metric}, where {better} is better, would block an improvement"
        yield document.problem((*path, wrong), message, f"Write {right}.", key=True)
    if metric not in AMOUNT_METRICS and metric not in COUNT_METRICS:
        yield from _shares(document, path, rule, metric)


def _shares(document: Document, path: Path_, rule: dict[str, Any], metric: str) -> Iterator[Problem]:
    for limit in LIMITS:
        value = _number(rule.get(limit))
        if value is not None and value > 1:
            message = f"{place((*path, limit))}: {metric} is a fraction of 1, wanted at most 1, got {value}"
            mend = f"{value} % is written {value / 100:g}." if value <= 100 else ""
            yield document.problem((*path, limit), message, mend)


def _number(value: Any) -> float | int | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
