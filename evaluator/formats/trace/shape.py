"""Does a fixture have its shape? The types of `fixture` decide; the published JSON Schema says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from evaluator.config.sentences import Sentences
from evaluator.config.tools import json_path
from evaluator.config.wording import described
from evaluator.errors import Problem
from evaluator.formats.trace.fixture import Fixture
from evaluator.yaml_text import Document, Path_

SCHEMA_FILE = Path(__file__).parent.with_name("trace.schema.json")


def fixture_of(value: Any) -> Fixture | str:
    """The fixture, or in short why it is none."""
    try:
        return msgspec.convert(value, Fixture)
    except msgspec.ValidationError as error:
        return str(error)


def problems(document: Document, refusal: str) -> Iterator[Problem]:
    """Each way in which a fixture that was refused differs from the schema, in no order; `refusal`: what
    `fixture_of` said, for the case that the schema finds nothing."""
    found = False
    for problem in _SENTENCES.problems(document, validator().iter_errors(document.value)):
        found = True
        yield problem
    if not found:
        yield document.problem((), f"no fixture: {refusal}")


@cache
def validator() -> Any:
    """The validator of the published schema. Stricter than the standard in one thing: 1.0 is no whole number."""
    from jsonschema import Draft202012Validator  # only where something is wrong: it takes as long as all else here
    from jsonschema.validators import extend

    checker = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    extended: Any = extend  # it has no types of its own
    return extended(Draft202012Validator, type_checker=checker)(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def _rule(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    got = ", ".join(sorted(map(str, error.instance))) or "none"
    message = f"{json_path(path)}: a rule has one of tolerance, normalizer, regex and one_of, got {got}"
    yield document.problem(path, message)


def _pattern(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    # The only pattern of the schema is that of a digest.
    message = f"{json_path(path)}: wanted 64 hexadecimal digits, got {described(error.instance)}"
    yield document.problem(path, message)


_SENTENCES = Sentences(
    name_of=json_path,
    missing="docs/traces.md has an example.",
    own={"minProperties": _rule, "maxProperties": _rule, "pattern": _pattern},
)
