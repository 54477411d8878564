"""What is wrong with the shape of an answer or a call, in a sentence that goes back to the model. Pure.

Only faults of shape: no JSON where a call or JSON is wanted, or arguments or an answer that their own JSON Schema
refuses. The sentence quotes that schema, and nothing else of what the case expects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from evaluator.json_text import JsonFault, parse_json
from evaluator.results import Finding
from evaluator.scoring.answer import Unreadable, read_call
from evaluator.scoring.answer_checks import asks_for_object
from evaluator.scoring.extract_json import extract_json
from evaluator.scoring.schema import SchemaError, compile_schema
from evaluator.transcript import Call, Infrastructure, Transcript

_WITHOUT_VALUES = {"required": "it is missing", "additionalProperties": "the schema does not name it"}
_PATH = re.compile(r'\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


def answer_fault(transcript: Transcript, function: dict[str, Any]) -> str | None:
    """What is wrong with the call of `function` that the transcript should answer, native or in the text; None where
    nothing is. More than one call, or one of another function, is no fault of shape."""
    call = read_call(transcript)
    if isinstance(call, Unreadable):
        return f"the output is no call: {call.finding.message}" if call.failure_mode == "unparseable" else None
    return arguments_fault(call.arguments, function) if call.name == function["name"] else None


def call_fault(call: Call, offered: Mapping[str, dict[str, Any]]) -> str | None:
    """What is wrong with a call of one of the tools on offer; None where nothing is, or its tool is unknown."""
    if call.fault is not None:
        return f"the call cannot be read: {call.fault}"
    arguments = parse_json(call.arguments)
    if isinstance(arguments, JsonFault):
        return f"the arguments are not JSON: {arguments}"
    if not isinstance(arguments, dict):
        return f"field $ failed type: expected object, got {_type(arguments)}"
    spec = offered.get(call.tool)
    return arguments_fault(arguments, spec) if spec is not None else None


def arguments_fault(arguments: dict[str, Any], spec: dict[str, Any]) -> str | None:
    """The first thing that the schema of `spec` refuses in `arguments`. A schema that cannot be used refuses nothing
    here: that it is broken is for the scorer to say."""
    return _schema_fault(arguments, spec.get("parameters") or {})


def json_fault(text: str | None, schema: dict[str, Any]) -> str | None:
    """What is wrong with an answer that is to hold JSON of this schema, which is looked for as by the check
    `json_schema`; None where nothing is."""
    value = extract_json(text or "", wants_object=asks_for_object(schema))
    if isinstance(value, JsonFault):
        return f"the answer holds no JSON of the wanted kind: {value}"
    return _schema_fault(value, schema)


def _schema_fault(value: Any, schema: dict[str, Any]) -> str | None:
    try:
        findings = compile_schema(schema).findings(value)
    except SchemaError:
        return None
    if isinstance(findings, Infrastructure) or not findings:
        return None
    return _sentence(findings[0], value)


def _sentence(finding: Finding, whole: Any) -> str:
    if finding.keyword in _WITHOUT_VALUES:
        return f"field {finding.path} failed {finding.keyword}: {_WITHOUT_VALUES[finding.keyword]}"
    if finding.keyword == "type":
        wanted = finding.wanted if isinstance(finding.wanted, list) else [finding.wanted]
        value = _at(whole, finding.path)
        got = f", got {_type(value)}" if value is not UNSET else ""
        return f"field {finding.path} failed type: expected {' or '.join(map(str, wanted))}{got}"
    said = finding.message or "it is not what the schema asks for"
    if finding.wanted is not UNSET:
        said = f"expected {_shown(finding.wanted)}"
    if finding.got is not UNSET:
        said += f", got {_shown(finding.got)}"
    return f"field {finding.path} failed {finding.keyword}: {said}"


def _at(value: Any, path: str) -> Any:
    """The value at a finding's path; UNSET where the path was cut or leads nowhere."""
    end = 1
    for part in _PATH.finditer(path, 1):
        name, index, quoted = part.groups()
        end = part.end()
        try:
            value = value[int(index)] if index is not None else value[name if quoted is None else json.loads(quoted)]
        except (KeyError, IndexError, TypeError):
            return UNSET
    return value if end == len(path) else UNSET


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _type(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"
