"""Replay canaries: recorded outputs with the verdict that each must get. One that gets another means that a scorer, the
extractor, the parser, a normalizer or a package below them has changed: validator drift.

A set is a folder with manifest.json, `{"version", "files": {file: number of canaries}}`, and those files, each the
JSON of `canary_files.File`; docs/scoring.md describes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from evaluator.canary_files import (
    File,
    Manifest,
    NormalizeCanary,
    ScoreCanary,
    Setup,
    TextCanary,
    ToolCallCanary,
    transcript_of,
)
from evaluator.cases import Case, Request
from evaluator.errors import UserError, user_error
from evaluator.json_text import JsonFault, parse_json
from evaluator.results import CanaryResult, CanaryResults, Finding
from evaluator.scoring import SCORERS, prepare
from evaluator.scoring.extract_json import extract_json
from evaluator.transcript import Call, Infrastructure, well_formed

MANIFEST = "manifest.json"
MAX_BYTES = 8 * 1024 * 1024


class CanarySet(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded set. Each of `scores` comes with the scorer and the case that it answers."""

    version: str
    scores: list[tuple[ScoreCanary, str, Case]]
    parses: list[TextCanary]
    extracts: list[TextCanary]
    tool_calls: list[ToolCallCanary]
    normalizes: list[NormalizeCanary]

    def ids(self) -> list[str]:
        """The id of every canary."""
        texts = (self.parses, self.extracts, self.tool_calls, self.normalizes)
        return [canary.id for canary, *_ in self.scores] + [canary.id for kind in texts for canary in kind]


def builtin_directory() -> Path:
    """Where the set that comes with the package stands: inside it when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "builtin_canaries"
    return installed if installed.is_dir() else package.parent / "canaries"


def load(directory: Path) -> CanarySet:
    """The set in `directory`.

    Raises UserError `canaries-broken` where it is missing, malformed, empty, or not as many as its manifest says: a
    ruler that lost its marks would otherwise measure everything as right.
    """
    manifest = _read(directory / MANIFEST, Manifest)
    canaries = CanarySet(version=manifest.version, scores=[], parses=[], extracts=[], tool_calls=[], normalizes=[])
    for name, count in manifest.files.items():
        path = directory / name
        if Path(name).name != name or path.is_symlink():
            raise _broken(directory / MANIFEST, f"{name!r} is not a file of the set's own folder")
        file = _read(path, File)
        if file.count() != count or not count:
            raise _broken(path, f"holds {file.count()} canaries; the manifest says {count}")
        for canary in file.tool_call:
            if (canary.message is None) == (canary.text is None):
                raise _broken(path, f"{canary.id}: either a message or a text")
        canaries.scores.extend((canary, *_case(canary, file.setups, path)) for canary in file.score)
        canaries.parses.extend(file.parse)
        canaries.extracts.extend(file.extract)
        canaries.tool_calls.extend(file.tool_call)
        canaries.normalizes.extend(file.normalize)
    ids = canaries.ids()
    if not ids:
        raise _broken(directory / MANIFEST, "the set is empty")
    if len(set(ids)) < len(ids):
        twice = sorted({name for name in ids if ids.count(name) > 1})
        raise _broken(directory, f"ids that stand twice: {', '.join(twice[:5])}")
    return canaries


def run(canaries: CanarySet) -> CanaryResults:
    """Every canary scored again. Never raises: what crashes is a canary that is not ok."""
    results = [_result(canary, _score, scorer, case) for canary, scorer, case in canaries.scores]
    results += [_result(canary, _parse) for canary in canaries.parses]
    results += [_result(canary, _extract) for canary in canaries.extracts]
    results += [_result(canary, _read_calls) for canary in canaries.tool_calls]
    results += [_result(canary, _normalize) for canary in canaries.normalizes]
    return CanaryResults(version=canaries.version, cases=results)


def _result(canary: Any, judge: Any, *arguments: Any) -> CanaryResult:
    try:
        got = judge(canary, *arguments)
    except Exception as error:
        got = well_formed(f"crashed with {type(error).__name__}: {error}"[:300])
    return CanaryResult(id=canary.id, expected=canary.verdict, got=got, ok=got == canary.verdict)


def _score(canary: ScoreCanary, scorer: str, case: Case) -> str:
    later = None if canary.later is None else [transcript_of(each) for each in canary.later]
    score = prepare(scorer, case)(msgspec.structs.replace(transcript_of(canary), later=later))
    if isinstance(score, Infrastructure):
        return f"infrastructure {score.kind}"
    words = ["passed" if score.passed else f"failed {score.failure_mode}"]
    words += [f"{name}={value:g}" for name, value in sorted(score.values.items())]
    found = [_place(finding) for finding in score.findings]
    return " ".join([*words, "|", *found] if found else words)


def _place(finding: Finding) -> str:
    step = f"#{finding.step}" if finding.step is not None else ""
    call = f"@{finding.call}" if finding.call is not None else ""
    return f"{step}{call}{finding.path}:{finding.keyword}"


def _parse(canary: TextCanary) -> str:
    return _described(parse_json(canary.text * canary.times))


def _extract(canary: TextCanary) -> str:
    return _described(extract_json(canary.text * canary.times, wants_object=canary.wants_object))


def _described(value: Any) -> str:
    if isinstance(value, JsonFault):
        return f"refused {value.keyword} at {value.line}:{value.column}"
    return f"value {json.dumps(value)}"


def _read_calls(canary: ToolCallCanary) -> str:
    from evaluator import tool_calls

    if canary.message is not None:
        return _calls(tool_calls.native(canary.message))
    reading = tool_calls.in_text((canary.text or "") * canary.times, canary.tools)
    return f"{_calls(reading.calls)} | text {json.dumps(reading.text)}"


def _calls(calls: list[Call]) -> str:
    return " + ".join(map(_call, calls)) if calls else "no call"


def _call(call: Call) -> str:
    """The arguments as JSON in one form, so that the white space in which they came plays no part."""
    wrapper = call.wrapper or "tool_calls"
    if call.fault is not None:
        return f"malformed {wrapper} {call.tool}".rstrip()
    value = parse_json(call.arguments)
    written = f"text {json.dumps(call.arguments)}" if isinstance(value, JsonFault) else json.dumps(value)
    return f"{wrapper} {call.tool} {written}"


def _normalize(canary: NormalizeCanary) -> str:
    from evaluator.scoring import normalizers

    try:
        normalizer = normalizers.normalizer(canary.normalizer)
    except normalizers.UnknownNormalizerError:
        return "unknown"
    return f"text {json.dumps(normalizer(canary.text * canary.times))}"


_OF_CASE = ("scorer", "matchers", "expected", "tools", "function", "prefix")


def _case(canary: ScoreCanary, setups: dict[str, Setup], path: Path) -> tuple[str, Case]:
    if canary.setup is not None and canary.setup not in setups:
        raise _broken(path, f"{canary.id}: there is no setup {canary.setup!r}")
    named = setups[canary.setup] if canary.setup is not None else Setup()
    own = {field: value for field in _OF_CASE if (value := getattr(canary, field)) is not None}
    setup = msgspec.structs.replace(named, **own, options=named.options | canary.options)
    if (setup.matchers is None) == (setup.expected is None):
        raise _broken(path, f"{canary.id}: what is expected stands in `expected` or in `matchers`, in one of the two")
    scorer = setup.scorer or "trapstreet"
    if scorer not in SCORERS:
        raise _broken(path, f"{canary.id}: there is no scorer {scorer!r}; known are {', '.join(SCORERS)}")
    expected = {"matchers": setup.matchers} if setup.expected is None else setup.expected
    request = Request(messages=[], function=setup.function, tools=setup.tools or [], prefix=setup.prefix)
    return scorer, Case(id=canary.id, request=request, expected=expected, options=setup.options)


def _read(path: Path, shape: type[Any]) -> Any:
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1).decode("utf-8")
    except OSError as error:
        raise _broken(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _broken(path, "not UTF-8 text") from error
    value = parse_json(text)
    if isinstance(value, JsonFault):
        raise _broken(path, str(value))
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise _broken(path, str(error)) from error


def _broken(path: Path, message: str) -> UserError:
    return user_error(
        "canaries-broken",
        f"the canary set cannot be used: {message}",
        where=str(path),
        mend="Install trapgate again, or check the path of your own canaries.",
    )
