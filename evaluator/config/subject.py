"""The subject under test: what the repository owns of every request, read from the files that trap.yaml names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from evaluator import yaml_text
from evaluator.cases import Subject
from evaluator.config import json_positions
from evaluator.config.tools import Reading
from evaluator.config.types import CommandConfig, Config
from evaluator.config.wording import bounded
from evaluator.errors import Problem, UserError
from evaluator.yaml_text import Document

CODE = "subject-invalid"
TOOL_SUFFIXES = (".json", ".yaml", ".yml")

_DIGITS = 12


def load_subject(config: Config, folder: Path, model: str | None = None) -> Subject:
    """The subject of `config`, whose paths are relative to `folder`; `model` overrides the model of the file.

    Raises UserError `model-missing` where neither names a model, and `subject-invalid` with every fault of the system
    prompt and the tools: the file with line, column and JSON path.
    """
    if model is None and config.command is not None:
        return _subject_of(config.command)
    name = model or config.model
    if not name:
        mend = "Write `model: provider/name` into the file, or pass --model provider/name."
        raise UserError("model-missing", Problem(config.path, 0, 0, "no model is named", mend))
    problems: list[Problem] = []
    system = _system(config, folder, problems)
    tools = _tools(config, folder, problems)
    if problems:
        raise UserError(CODE, *bounded(problems, config.path))
    return Subject(model=name, params=config.params, system=system, tools=tools, structured=config.structured)


def load_subjects(config: Config, folder: Path, model: str | None = None) -> list[Subject]:
    """The subject with each of the file's models, in its order; with `model` alone where it is given. Errors as
    `load_subject`."""
    first = load_subject(config, folder, model)
    if model is not None or not config.models:
        return [first]
    return [msgspec.structs.replace(first, model=name) for name in config.models]


def _subject_of(command: CommandConfig) -> Subject:
    """A command stands where a model would; what it runs is added once there is a copy of it (`with_files`)."""
    params: dict[str, Any] = {"timeout": command.program.timeout, "env": command.env}
    if command.stdin is not None:
        params["stdin"] = command.stdin
    if command.setup is not None:
        params["setup_cmd"] = str(command.setup)
    return Subject(model=str(command.program), params=params)


def with_files(subject: Subject, digest: str) -> Subject:
    """The subject of a command whose folder has this digest."""
    return msgspec.structs.replace(subject, params={**subject.params, "files": digest[:_DIGITS]})


def _system(config: Config, folder: Path, problems: list[Problem]) -> str | None:
    if config.system is None:
        return None
    text = _read(config, folder, "system", config.system, problems)
    if text is not None and not text.strip():
        mend = "Write the prompt, or leave `system` out of trap.yaml."
        problems.append(Problem(config.system, 0, 0, "the system prompt is empty", mend))
    return text


def _tools(config: Config, folder: Path, problems: list[Problem]) -> list[dict[str, Any]]:
    if config.tools is None:
        return []
    reading = Reading()
    for shown in _tool_files(config, folder, config.tools, problems):
        text = _read(config, folder, "tools", shown, problems)
        if text is None:
            continue
        try:
            reading.add(_document(text, shown))
        except UserError as error:
            problems += error.problems
    problems += reading.problems
    return reading.tools


def _document(text: str, shown: str) -> Document:
    if shown.endswith(".json"):
        return json_positions.load(text, shown)
    return yaml_text.load(text, shown)


def _tool_files(config: Config, folder: Path, tools: str, problems: list[Problem]) -> list[str]:
    """The files of the setting `tools`, in the order of their names, as a user would name them."""
    real = _confined(config, folder, "tools", tools, problems)
    if real is None:
        return []
    if not real.is_dir():
        if tools.endswith(TOOL_SUFFIXES):
            return [tools]
        problems.append(Problem(tools, 0, 0, f"wanted a folder, or a file that ends in {', '.join(TOOL_SUFFIXES)}"))
        return []
    try:
        names = sorted(entry.name for entry in real.iterdir() if entry.name.endswith(TOOL_SUFFIXES))
    except OSError as error:
        problems.append(Problem(tools, 0, 0, f"cannot be read: {error.strerror}"))
        return []
    if not names:
        problems.append(Problem(config.path, 0, 0, f"tools: {tools} has no file *.json, *.yaml or *.yml"))
    return [f"{tools.rstrip('/')}/{name}" for name in names]


def _read(config: Config, folder: Path, setting: str, shown: str, problems: list[Problem]) -> str | None:
    path = _confined(config, folder, setting, shown, problems)
    if path is None:
        return None
    try:
        return yaml_text.read(path, shown)
    except OSError as error:
        problems.append(Problem(shown, 0, 0, f"cannot be read: {error.strerror}"))
    except UserError as error:
        problems += error.problems
    return None


def _confined(config: Config, folder: Path, setting: str, shown: str, problems: list[Problem]) -> Path | None:
    """The real path of what `shown` names, None (and a problem) where it is missing or leaves `folder` by a link."""
    try:
        real = (folder / shown).resolve(strict=True)
    except (OSError, RuntimeError):
        mend = f"The path is relative to the folder of {config.path}."
        problems.append(Problem(config.path, 0, 0, f"{setting}: there is no file {shown}", mend))
        return None
    if not real.is_relative_to(folder.resolve()):
        problems.append(Problem(shown, 0, 0, "a symbolic link that leaves the folder of trap.yaml is not followed"))
        return None
    if not real.is_dir() and not real.is_file():
        problems.append(Problem(shown, 0, 0, "not a regular file"))
        return None
    return real
