"""trap.yaml → `Config`: read, checked in full, every error at once with file, line and column."""

from __future__ import annotations

from pathlib import Path

from evaluator.config import build, checks, shape
from evaluator.config.types import Config
from evaluator.config.wording import bounded
from evaluator.errors import Problem, UserError
from evaluator.yaml_text import load as load_yaml
from evaluator.yaml_text import read

__all__ = ["Config", "load", "parse"]

CODE = "config-invalid"
MAX_VALUES = 5000


def load(path: Path, shown: str | None = None) -> Config:
    """The configuration in the file at `path`; `shown` names it in errors and results, by default as `path` does.

    Raises UserError `config-missing` where there is no such file, `config-unreadable` where it cannot be read, and
    what `parse` raises.
    """
    file = str(path) if shown is None else shown
    try:
        text = read(path, file)
    except FileNotFoundError as error:
        mend = "Name it with --config, or write a new one with `trapgate init`."
        raise UserError("config-missing", Problem(file, 0, 0, "there is no such file", mend)) from error
    except OSError as error:
        raise UserError("config-unreadable", Problem(file, 0, 0, f"cannot be read: {error.strerror}")) from error
    return parse(text, file)


def parse(text: str, shown: str) -> Config:
    """The configuration in `text`; `shown` names its file.

    Raises UserError `yaml-invalid` where it is not YAML, else `config-invalid` with every problem, sorted by line.
    """
    document = load_yaml(text, shown)
    if document.value is None:
        raise UserError(CODE, Problem(shown, 1, 1, "the file is empty", "`trapgate init` writes an example."))
    if document.root.size > MAX_VALUES:
        message = f"holds {document.root.size} values; more than {MAX_VALUES} are not checked"
        raise UserError(CODE, Problem(shown, 0, 0, message))
    problems = [*shape.problems(document), *checks.problems(document)]
    if problems:
        raise UserError(CODE, *bounded(problems, shown))
    return build.build(document, text)
