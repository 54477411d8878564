"""Does a document have the shape of trap.yaml? jsonschema decides; `evaluator.config.sentences` says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.config.sentences import Sentences
from evaluator.config.wording import place
from evaluator.errors import Problem
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Document, Path_

SCHEMA_FILE = Path(__file__).with_name("trap.schema.json")

# A key or an endpoint in the file would let a pull request send the repository's key to somebody else.
REDIRECTING = frozenset(
    {
        "api_base",
        "api_key",
        "api_version",
        "azure_ad_token",
        "base_url",
        "custom_llm_provider",
        "default_headers",
        "extra_headers",
        "headers",
        "organization",
    }
)


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of trap.yaml."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # half of a short command's time: only where a file is checked

    return Draft202012Validator(schema())


def problems(document: Document) -> Iterator[Problem]:
    """Each way in which the document differs from the schema, in no order."""
    yield from _SENTENCES.problems(document, _validator().iter_errors(document.value))


def _unknown_keys(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    known = error.schema.get("properties", {})
    for key in (key for key in error.instance if key not in known):
        if path[:1] == ("params",) and key in REDIRECTING:
            yield refused_parameter(document, (*path, key))
        else:
            yield _SENTENCES.unknown_key(document, (*path, key), known)


def refused_parameter(document: Document, path: Path_) -> Problem:
    """The Problem of a parameter that would say where a request goes or with which key."""
    return document.problem(
        path,
        f"{place(path)} is refused: a pull request could send the key to another place with it",
        "Keys and endpoints come from the environment of the workflow, e.g. OPENAI_API_KEY and OPENAI_BASE_URL.",
        key=True,
    )


def _task_name(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    # The only pattern of the schema is that of task names, and its error stands at the mapping, not at the name.
    yield document.problem(
        (*path, error.instance),
        f"{quoted(error.instance)} cannot be the name of a task",
        "A name has no slash or control character, does not begin with a dot or space, and has 1 to 100 characters.",
        key=True,
    )


_SENTENCES = Sentences(
    missing="`trapgate init` writes an example.",
    own={"additionalProperties": _unknown_keys, "pattern": _task_name},
)
