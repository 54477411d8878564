"""A checked document as typed values, and the notes on what in it has no effect."""

from __future__ import annotations

import hashlib
from typing import Any

from evaluator.cases import Program
from evaluator.config.checks import BUILTIN_CANARIES, split
from evaluator.config.shape import schema
from evaluator.config.types import (
    BaselineConfig,
    CommandConfig,
    Config,
    DriftConfig,
    GateConfig,
    Include,
    Limits,
    Price,
    Retry,
    Rule,
    TaskConfig,
)
from evaluator.config.wording import place
from evaluator.yaml_text import Document, Path_

Values = dict[str, Any]

# Keys that tp reads and this project does not, or not without a command, each with what holds instead.
_UNREAD: dict[str, str] = {"extra": "nothing reads it"}
_NO_EFFECT: dict[str, str] = {
    "cmd": "a model is named, and it is what is evaluated",
    "setup_cmd": "it belongs to cmd",
    "stdin": "it belongs to cmd",
    "timeout": "the time of one call is limits.case_timeout, of the whole run limits.timeout",
    "manifest_envvar": "it belongs to cmd",
    "env": "it belongs to cmd",
}


def build(document: Document, text: str) -> Config:
    """The Config of a document that has passed `shape` and `checks`; `text` is what it was loaded from."""
    values: Values = document.value
    canaries = values.get("canaries", BUILTIN_CANARIES)
    return Config(
        path=document.file,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        model=_model(values),
        models=values.get("models", []) if len(values.get("models", [])) > 1 else [],
        command=_command(values) if _is_command(values) else None,
        params=_params(values.get("params", {})),
        canaries=None if canaries == BUILTIN_CANARIES else canaries,
        price=Price(**_floats(values["price"])) if "price" in values else None,
        tasks=[_task(document, name) for name in values["tasks"]],
        baseline=_baseline(values.get("baseline", {})),
        gate=_gate(document, values.get("gate", {})),
        drift=_drift(values.get("drift", {})),
        limits=_limits(values.get("limits", {})),
        notes=_notes(document),
        **{key: values[key] for key in ("name", "system", "tools", "structured") if key in values},
    )


def _is_command(values: Values) -> bool:
    """Whether a command is the solution. `profile.model` then only says what that command asks."""
    return "cmd" in values and "model" not in values and "models" not in values


def _command(values: Values) -> CommandConfig:
    setup = split(values["setup_cmd"]) if "setup_cmd" in values else None
    return CommandConfig(
        program=Program(cmd=split(values["cmd"]), timeout=float(values.get("timeout", 600))),
        envvar=values.get("manifest_envvar", "TRAP_MANIFEST"),
        stdin=values.get("stdin"),
        env=values.get("env", []),
        setup=Program(cmd=setup, timeout=600.0) if setup else None,
    )


def _model(values: Values) -> str | None:
    models: list[str] = values.get("models", [])
    model: str | None = values.get("model") or (models[0] if models else None)
    return model or values.get("profile", {}).get("model")


def _params(params: Values) -> Values:
    """The parameters with `5.0` as `5` where a whole number is wanted: JSON Schema takes both, providers do not."""
    known = schema()["properties"]["params"]["properties"]
    return {key: int(value) if known[key].get("type") == "integer" else value for key, value in params.items()}


def _task(document: Document, name: str) -> TaskConfig:
    values: Values = document.value["tasks"][name]
    options = dict(values.get("options", {}))
    if "json_call" in options:
        version = options["json_call"]
        options["json_call"] = version if isinstance(version, str) else str(int(version))
    return TaskConfig(
        name=name,
        repeats=int(values.get("repeats", document.value.get("repeats", 1))),
        include=Include(**values.get("include", {})),
        options=options,
        retry=_retry(values.get("retry", document.value.get("retry", {}))),
        line=document.key_position(("tasks", name))[0],
        **{key: values[key] for key in ("source", "format", "judge", "trust") if key in values},
    )


def _retry(values: Values) -> Retry:
    return Retry(max_attempts=int(values.get("max_attempts", 1)), score=values.get("score", "first"))


def _gate(document: Document, values: Values) -> GateConfig:
    figures = _floats({key: value for key, value in values.items() if key != "rules"})
    if "rules" not in values:
        return GateConfig(**figures)
    lines = [document.position(("gate", "rules", index))[0] for index in range(len(values["rules"]))]
    rules = [Rule(line=line, **_floats(rule)) for line, rule in zip(lines, values["rules"], strict=True)]
    return GateConfig(rules=rules, **figures)


def _baseline(values: Values) -> BaselineConfig:
    return BaselineConfig(**values | ({"keep": int(values["keep"])} if "keep" in values else {}))


def _drift(values: Values) -> DriftConfig:
    return DriftConfig(
        **values | ({"control_cases": int(values["control_cases"])} if "control_cases" in values else {})
    )


def _limits(values: Values) -> Limits:
    limits = _floats(values)
    if "concurrency" in limits:
        limits["concurrency"] = int(limits["concurrency"])
    return Limits(**limits)


def _floats(values: Values) -> Values:
    return {key: float(value) if isinstance(value, int) else value for key, value in values.items()}


def _notes(document: Document) -> list[str]:
    values: Values = document.value
    unread = _UNREAD if _is_command(values) else _UNREAD | _NO_EFFECT
    found: list[tuple[Path_, str]] = [((key,), why) for key, why in unread.items() if key in values]
    if "framework" in values.get("profile", {}):
        found.append((("profile", "framework"), "nothing reads it"))
    if "model" in values.get("profile", {}) and ("model" in values or "models" in values):
        found.append((("profile", "model"), "the top-level model is used"))
    elif "model" in values.get("profile", {}) and _is_command(values):
        found.append((("profile", "model"), "cmd is what is evaluated, whatever it asks"))
    for name, task in values["tasks"].items():
        if "clone_to" in task:
            found.append((("tasks", name, "clone_to"), "sources are kept in a cache of their own"))
        if task.get("trust") and task.get("judge", "builtin") == "builtin":
            found.append((("tasks", name, "trust"), "with the built-in judge nothing of the source is run"))
    placed = sorted((document.key_position(path), place(path), why) for path, why in found)
    return [f"{document.file}:{line}:{column}: {path} has no effect: {why}" for (line, column), path, why in placed]
