"""What is wrong with an attempt whatever sequence of calls was expected: how it ended, tools, schemas, errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import UNSET

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.schema import SchemaCheck, SchemaError, compile_schema
from evaluator.scoring.trace_calls import Calls
from evaluator.scoring.trace_fit import Fit
from evaluator.transcript import Infrastructure, Transcript

# A finding with the failure mode that it speaks for, None where nothing is wrong.
Told = tuple[str | None, Finding]


class Attempt:
    """`modes`: the failure modes that apply; `told` why, for single calls apart in `of_call` (index → what is wrong
    with the call). `read_only`: mask of calls that change nothing."""

    __slots__ = ("calls", "failed", "modes", "of_call", "read_only", "schema_valid", "told", "unanswered")

    def __init__(self, transcript: Transcript, calls: Calls, read_only: Collection[str]) -> None:
        self.modes: set[str] = set()
        self.told: list[Told] = []
        self.of_call: dict[int, list[Told]] = {}
        self.schema_valid: float | None = None
        self.calls = len(transcript.calls)
        self.unanswered = sum([call.unanswered is not None for call in transcript.calls])
        self.failed = calls.failed
        self.read_only = 0
        for tool, mask in calls.mask_of.items():
            if tool in read_only:
                self.read_only |= mask

    def add(self, mode: str, finding: Finding) -> None:
        """Enter a fault of the attempt as a whole."""
        self.modes.add(mode)
        self.told.append((mode, finding))

    def add_of_call(self, mode: str, call: int, finding: Finding) -> None:
        """Enter a fault of one call."""
        self.modes.add(mode)
        self.of_call.setdefault(call, []).append((mode, finding))

    def is_wrong_tool(self, call: int) -> bool:
        """Whether its tool may not be called at all."""
        return any(mode == "wrong_tool" for mode, _ in self.of_call.get(call, ()))


class Setting:
    """What a case says of calls in general, compiled."""

    __slots__ = ("allowed", "expected_errors", "max_extra_calls", "offered", "read_only", "schemas")

    def __init__(self, expected: dict[str, Any], offered: list[dict[str, Any]]) -> None:
        self.allowed = _names(expected, "allowed_tools", None)
        self.read_only = (_names(expected, "read_only", ()) or set()) | {
            spec["name"] for spec in offered if spec.get("read_only") is True
        }
        self.expected_errors = _names(expected, "expected_errors", ()) or set()
        most = expected.get("max_extra_calls", 0)
        if not isinstance(most, int) or isinstance(most, bool) or most < 0:
            raise MalformedError(f"max_extra_calls is a whole number not below 0, not {bounded(most)!r}")
        self.max_extra_calls = most
        self.offered = {spec["name"] for spec in offered}
        self.schemas = {spec["name"]: _schema(spec) for spec in offered if "parameters" in spec}

    def look_at(self, transcript: Transcript, calls: Calls) -> Attempt | Infrastructure:
        """What is wrong. Infrastructure where a schema could not be applied."""
        attempt = Attempt(transcript, calls, self.read_only)
        answered = bool(transcript.text and transcript.text.strip())
        for mode, finding in _ending(transcript, answered):
            attempt.add(mode, finding)
        for index, finding in calls.malformed.items():
            attempt.add_of_call("unparseable", index, finding)
        for index, finding in self._wrong_tools(calls):
            attempt.add_of_call("wrong_tool", index, finding)
        if self.schemas and calls.calls:
            unusable = self._check_schemas(attempt, calls)
            if unusable is not None:
                return unusable
        if calls.failed and answered:
            for index, finding in self._ignored_errors(calls):
                attempt.add_of_call("ignored_error", index, finding)
        return attempt

    def blamed(self, found: Fit, attempt: Attempt) -> list[int]:
        """The calls left over that only `max_extra_calls` can excuse: where nothing is expected, every one."""
        excused = attempt.read_only | attempt.failed if found.path.steps else 0
        return [call for call in found.left if not excused >> call & 1]

    def _may_be_called(self, tool: str) -> bool:
        return (self.allowed is None or tool in self.allowed) and (not self.offered or tool in self.offered)

    def _wrong_tools(self, calls: Calls) -> Iterator[tuple[int, Finding]]:
        for tool, indices in calls.of_tool.items():
            if self._may_be_called(tool):
                continue
            allowed = self.allowed is None or tool in self.allowed
            known, keyword = (self.offered, "tools") if allowed else (self.allowed or set(), "allowed_tools")
            for index in indices:
                if calls.calls[index].fault is not None:
                    continue  # what stands for its tool's name may be anything
                message = f"call {index + 1} is of a tool that is not {'on offer' if allowed else 'allowed'}"
                yield (
                    index,
                    Finding(
                        path="$",
                        keyword=keyword,
                        wanted=bounded(sorted(known)),
                        got=bounded(tool),
                        call=index + 1,
                        message=message,
                    ),
                )

    def _check_schemas(self, attempt: Attempt, calls: Calls) -> Infrastructure | None:
        checked = valid = 0
        for index, call in enumerate(calls.calls):
            schema = self.schemas.get(call.tool)
            if schema is None and call.tool in self.offered:
                continue  # a tool that says nothing of its arguments
            checked += 1
            arguments = calls.arguments[index]
            if schema is None or arguments is None:
                continue
            found = schema.findings(arguments)
            if isinstance(found, Infrastructure):
                return found
            if not found:
                valid += 1
            for finding in found:
                attempt.add_of_call("wrong_arguments", index, _of_schema(finding, index))
        if checked:
            attempt.schema_valid = valid / checked
        return None

    def _ignored_errors(self, calls: Calls) -> Iterator[tuple[int, Finding]]:
        """The last failure of each tool that no success followed. Of a tool that may not be called at all, that it was
        called is the fault."""
        failures: dict[str, int] = {}
        for index, call in enumerate(calls.calls):
            if calls.failed >> index & 1:
                failures[call.tool] = index
            elif call.result is not UNSET and call.unanswered is None:
                failures.pop(call.tool, None)
        for tool, index in failures.items():
            if tool not in self.expected_errors and self._may_be_called(tool):
                message = f"call {index + 1} failed and none of this tool succeeded later, and yet there is an answer"
                result = bounded(calls.calls[index].result)
                yield index, Finding(path="$", keyword="ignored_error", got=result, call=index + 1, message=message)


def compile_setting(expected: dict[str, Any], offered: list[dict[str, Any]]) -> Setting:
    """From `Case.expected` and `Case.offered()`. Raises MalformedError, and SchemaError for a tool's schema."""
    return Setting(expected, offered)


def _ending(transcript: Transcript, answered: bool) -> Iterator[tuple[str, Finding]]:
    if transcript.stop_reason == "length":
        yield "truncated", Finding(path="$", keyword="truncated", message="the output ended at the token limit")
    elif transcript.cut:
        message = f"the output was longer than what is kept, by {transcript.cut} characters"
        yield "truncated", Finding(path="$", keyword="truncated", message=message)
    if transcript.process is not None and transcript.process.exit_code:
        code = transcript.process.exit_code
        message = f"the solution ended with exit code {code}"
        yield "unparseable", Finding(path="$", keyword="exit_code", got=code, message=message)
    if not answered and not transcript.calls:
        yield "unparseable", Finding(path="$", keyword="empty", message="neither a call nor an answer")
    if transcript.limit is not None:
        message = "the conversation was ended before there was a final answer"
        yield "max_turns", Finding(path="$", keyword=bounded(transcript.limit), message=message)


def _of_schema(finding: Finding, index: int) -> Finding:
    unexpected = finding.keyword == "additionalProperties"
    return Finding(
        path=finding.path,
        keyword="unexpected_argument" if unexpected else finding.keyword,
        wanted=UNSET if unexpected else finding.wanted,
        got=finding.got,
        call=index + 1,
        message=finding.message or f"call {index + 1} is not valid by its tool's schema",
    )


def _schema(spec: dict[str, Any]) -> SchemaCheck:
    try:
        return compile_schema(spec["parameters"])
    except SchemaError as error:
        raise SchemaError(f"the tool {bounded(spec['name'])}: {error}") from error


def _names(expected: dict[str, Any], key: str, default: Any) -> set[str] | None:
    names = expected.get(key, default)
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise MalformedError(f"{key} is a list of names of tools, not {bounded(names)!r}")
    return set(names)
