"""What is asked of the provider: one shape of schema after the other, and once nothing but text.

Each shape exercises what some provider is known to refuse or to bend; docs/live-canaries.md names who and where.
Values are closed lists and numbers wherever the shape allows it, so that an answer is short whatever model gives it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.cases import Request, Subject, digest_of
from evaluator.runners.keys import HEADERS
from evaluator.runners.request import Wire, build
from evaluator.scoring import schema

# Part of the fingerprint: changes with anything that is sent, or with how an answer is judged.
VERSION = "live_canaries@1"

# So many that chance alone moves none, whatever the model: docs/live-canaries.md has the bound.
ATTEMPTS = 3
# An answer takes some 40. The rest is for models that think first.
MAX_TOKENS = 400

# How a schema travels: as the response's format, as the one tool that has to be called, or as a tool on offer.
MECHANISMS = ("schema", "tool", "tools")
PLAIN = "plain"
_ROUTES = {"schema": "response schema", "tool": "forced tool", "tools": "tool on offer"}


@dataclass(frozen=True)
class Shape:
    """`feature`: what it exercises, in words. `parameters`: the JSON Schema. `asked`: what the prompt asks for; valid,
    unless `forbidden`. `strict`: whether the provider is asked to hold the model to the schema."""

    name: str
    feature: str
    parameters: dict[str, Any]
    asked: dict[str, Any]
    strict: bool = True
    forbidden: bool = False

    @property
    def function(self) -> str:
        """The name of the function that stands for it; every provider takes it as it is."""
        return f"canary_{self.name}"

    @property
    def spec(self) -> dict[str, Any]:
        """The function, in OpenAI's shape."""
        spec: dict[str, Any] = {
            "name": self.function,
            "description": "Takes down what it is given.",
            "parameters": self.parameters,
        }
        return {**spec, "strict": True} if self.strict else spec


@dataclass(frozen=True)
class Canary:
    """One request. `mechanism`: one of `MECHANISMS`, or `PLAIN` without a `shape`: what is refused there as well is not
    refused for its schema."""

    mechanism: str
    shape: Shape | None = None

    @property
    def id(self) -> str:
        """Unique in the set."""
        return self.mechanism if self.shape is None else f"{self.mechanism}/{self.shape.name}"

    @property
    def feature(self) -> str:
        """What it exercises, for a person."""
        if self.shape is None:
            return "plain text"
        return f"{'strict ' if self.shape.strict else ''}{_ROUTES[self.mechanism]} with {self.shape.feature}"

    @property
    def tools(self) -> list[dict[str, Any]]:
        """What is on offer."""
        return [self.shape.spec] if self.shape is not None and self.mechanism == "tools" else []

    @property
    def request(self) -> Request:
        """What is asked, as a task would ask it."""
        wanted = self.shape.spec if self.shape is not None and self.mechanism != "tools" else None
        return Request(messages=[{"role": "user", "content": self._prompt()}], function=wanted)

    def _prompt(self) -> str:
        if self.shape is None:
            return "Reply with exactly this word and nothing else: ready"
        if self.mechanism == "schema":
            whole = _text({"name": self.shape.function, "arguments": self.shape.asked})
            return f"Reply with exactly this JSON and nothing else: {whole}"
        return f"Call the tool {self.shape.function} once, with exactly these arguments: {_text(self.shape.asked)}"


def subject_for(mechanism: str, subject: Subject) -> Subject:
    """Who is asked: the model of `subject`, without anything else that the repository says, but the headers by which
    its calls get through."""
    headers = {name: subject.params[name] for name in HEADERS if name in subject.params}
    return Subject(
        model=subject.model,
        params={"max_tokens": MAX_TOKENS, **headers},
        structured=mechanism if mechanism in ("schema", "tool") else "prompt",
    )


def sent(canary: Canary) -> Wire:
    """What is sent for it, built as it is for tasks; without the headers."""
    return build(subject_for(canary.mechanism, Subject(model="")), canary.request, canary.tools)


def digest(canary: Canary) -> str:
    """SHA-256 hex of all that is sent but the model and its headers, and of the version that judges the answer."""
    return digest_of([sent(canary).arguments(), schema.VERSION])


def of(mechanism: str) -> list[Canary]:
    """The canaries that go by one mechanism."""
    return [Canary(mechanism, shape) for shape in SHAPES]


def by_id(canary_id: str) -> Canary | None:
    """The canary of this id, None where the set has none."""
    return _BY_ID.get(canary_id)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """All required and nothing else allowed, as strict modes want it at every level."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def _enum(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _nested(depth: int, innermost: dict[str, Any]) -> dict[str, Any]:
    """Objects in objects, `depth` of them."""
    return _object({"inner": _nested(depth - 1, innermost)} if depth > 1 else {"leaf": innermost})


def _in_nested(depth: int, leaf: Any) -> dict[str, Any]:
    return {"inner": _in_nested(depth - 1, leaf)} if depth > 1 else {"leaf": leaf}


_DEPTH = 5
_LEVEL = _enum("low", "high")
_POINT = _object({"x": _enum("left", "right"), "y": _enum("top", "bottom")})

SHAPES: Sequence[Shape] = (
    # Asks for what the schema forbids: where the provider holds the model to the schema, the answer is valid all the
    # same. A provider that stops doing so without a word shows here.
    Shape(
        name="held",
        feature="additionalProperties false and everything required, against its prompt",
        parameters=_object({"level": _LEVEL, "done": {"type": "boolean"}}),
        asked={"level": "medium", "note": "more"},
        forbidden=True,
    ),
    Shape(
        name="enum",
        feature="an enum of 60 values",
        parameters=_object({"code": _enum(*(f"c{number:02}" for number in range(60)))}),
        asked={"code": "c47"},
    ),
    Shape(
        name="nested",
        feature=f"objects nested {_DEPTH} deep",
        parameters=_nested(_DEPTH, _LEVEL),
        asked=_in_nested(_DEPTH, "low"),
    ),
    Shape(
        name="defs",
        feature="$defs and $ref",
        parameters=_object(
            {"start": {"$ref": "#/$defs/point"}, "end": {"$ref": "#/$defs/point"}}, **{"$defs": {"point": _POINT}}
        ),
        asked={"start": {"x": "left", "y": "top"}, "end": {"x": "right", "y": "bottom"}},
    ),
    Shape(
        name="any_of",
        feature="anyOf, of null and of objects",
        parameters=_object(
            {
                "level": {"anyOf": [_LEVEL, {"type": "null"}]},
                "where": {"anyOf": [_object({"room": _LEVEL}), _object({"floor": {"type": "integer"}})]},
            }
        ),
        asked={"level": None, "where": {"floor": 3}},
    ),
    Shape(
        name="array",
        feature="minItems and maxItems",
        parameters=_object({"marks": {"type": "array", "items": _LEVEL, "minItems": 2, "maxItems": 3}}),
        asked={"marks": ["low", "high"]},
    ),
    # No strict mode knows it, so strictness is not asked for.
    Shape(
        name="map",
        feature="additionalProperties that is a schema",
        parameters=_object({"counts": {"type": "object", "additionalProperties": {"type": "integer"}}}),
        asked={"counts": {"a": 1, "b": 2}},
        strict=False,
    ),
    Shape(
        name="unicode",
        feature="property names and values beyond ASCII",
        parameters=_object({"größe": _enum("mäßig", "groß"), "色": _enum("赤", "青", "🟢")}),
        asked={"größe": "groß", "色": "青"},
    ),
    # Bounds beyond 32 bits are left out: they bring some servers down (vllm-project/vllm issue 17894).
    Shape(
        name="numbers",
        feature="numbers at the edges",
        parameters=_object(
            {
                "least": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647},
                "large": {"type": "integer"},
                "tiny": {"type": "number"},
            }
        ),
        asked={"least": -2147483648, "large": 9007199254740991, "tiny": 1e-9},
    ),
)

REFERENCE = Canary(PLAIN)
_BY_ID = {canary.id: canary for canary in (REFERENCE, *(each for name in MECHANISMS for each in of(name)))}
