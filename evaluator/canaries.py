"""Replay canaries: recorded outputs with the verdict that each must get. One that gets another means that a scorer, the
extractor, the parser or a package below them has changed: validator drift.

A set is a folder with manifest.json, `{"version", "files": {file: number of canaries}}`, and those files, each the
JSON of `_File`; docs/scoring.md describes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from evaluator.cases import Case, Request
from evaluator.errors import UserError, user_error
from evaluator.json_text import JsonFault, parse_json
from evaluator.results import CanaryResult, CanaryResults
from evaluator.scoring import prepare
from evaluator.scoring.extract_json import extract_json
from evaluator.transcript import Call, Infrastructure, Transcript, well_formed

MANIFEST = "manifest.json"
MAX_BYTES = 8 * 1024 * 1024


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The case that score canaries answer; as the fields of `Case` and `Request`."""

    matchers: list[dict[str, Any]]
    function: dict[str, Any] | None = None
    options: dict[str, Any] = {}


class ScoreCanary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer (`text` repeated `times`, or `calls`) to the setup that `setup` names or to `matchers` of its own."""

    id: str
    verdict: str
    setup: str | None = None
    matchers: list[dict[str, Any]] | None = None
    options: dict[str, Any] = {}
    text: str | None = None
    times: int = 1
    calls: list[Call] = []
    stop_reason: str | None = "stop"


class TextCanary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text, repeated `times`, for the parser or the extractor."""

    id: str
    verdict: str
    text: str
    times: int = 1
    wants_object: bool = False


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    setups: dict[str, Setup] = {}
    score: list[ScoreCanary] = []
    parse: list[TextCanary] = []
    extract: list[TextCanary] = []


class _Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: str
    files: dict[str, int]


class CanarySet(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded set. Each of `scores` comes with the case that it answers."""

    version: str
    scores: list[tuple[ScoreCanary, Case]]
    parses: list[TextCanary]
    extracts: list[TextCanary]

    def ids(self) -> list[str]:
        """The id of every canary."""
        return [*(canary.id for canary, _ in self.scores), *(canary.id for canary in self.parses + self.extracts)]


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
    manifest = _read(directory / MANIFEST, _Manifest)
    scores: list[tuple[ScoreCanary, Case]] = []
    parses: list[TextCanary] = []
    extracts: list[TextCanary] = []
    for name, count in manifest.files.items():
        path = directory / name
        if Path(name).name != name or path.is_symlink():
            raise _broken(directory / MANIFEST, f"{name!r} is not a file of the set's own folder")
        file = _read(path, _File)
        found = len(file.score) + len(file.parse) + len(file.extract)
        if found != count or not found:
            raise _broken(path, f"holds {found} canaries; the manifest says {count}")
        scores += [(canary, _case(canary, file.setups, path)) for canary in file.score]
        parses += file.parse
        extracts += file.extract
    canaries = CanarySet(version=manifest.version, scores=scores, parses=parses, extracts=extracts)
    ids = canaries.ids()
    if not ids:
        raise _broken(directory / MANIFEST, "the set is empty")
    if len(set(ids)) < len(ids):
        twice = sorted({name for name in ids if ids.count(name) > 1})
        raise _broken(directory, f"ids that stand twice: {', '.join(twice[:5])}")
    return canaries


def run(canaries: CanarySet) -> CanaryResults:
    """Every canary scored again. Never raises: what crashes is a canary that is not ok."""
    results = [_result(canary, _score, canary, case) for canary, case in canaries.scores]
    results += [_result(canary, _parse, canary) for canary in canaries.parses]
    results += [_result(canary, _extract, canary) for canary in canaries.extracts]
    return CanaryResults(version=canaries.version, cases=results)


def _result(canary: ScoreCanary | TextCanary, judge: Any, *arguments: Any) -> CanaryResult:
    try:
        got = judge(*arguments)
    except Exception as error:
        got = well_formed(f"crashed with {type(error).__name__}: {error}"[:300])
    return CanaryResult(id=canary.id, expected=canary.verdict, got=got, ok=got == canary.verdict)


def _score(canary: ScoreCanary, case: Case) -> str:
    text = canary.text * canary.times if canary.text is not None else None
    transcript = Transcript(text=text, calls=canary.calls, stop_reason=canary.stop_reason)
    score = prepare("trapstreet", case)(transcript)
    if isinstance(score, Infrastructure):
        return f"infrastructure {score.kind}"
    words = ["passed" if score.passed else f"failed {score.failure_mode}"]
    words += [f"{name}={value:g}" for name, value in sorted(score.values.items())]
    found = [f"{finding.path}:{finding.keyword}" for finding in score.findings]
    return " ".join([*words, "|", *found] if found else words)


def _parse(canary: TextCanary) -> str:
    return _described(parse_json(canary.text * canary.times))


def _extract(canary: TextCanary) -> str:
    return _described(extract_json(canary.text * canary.times, wants_object=canary.wants_object))


def _described(value: Any) -> str:
    if isinstance(value, JsonFault):
        return f"refused {value.keyword} at {value.line}:{value.column}"
    return f"value {json.dumps(value)}"


def _case(canary: ScoreCanary, setups: dict[str, Setup], path: Path) -> Case:
    if canary.matchers is not None:
        setup = Setup(matchers=canary.matchers, options=canary.options)
    elif canary.setup in setups:
        named = setups[canary.setup]
        setup = msgspec.structs.replace(named, options=named.options | canary.options)
    else:
        raise _broken(path, f"{canary.id}: neither matchers nor a known setup")
    return Case(
        id=canary.id,
        request=Request(messages=[], function=setup.function),
        expected={"matchers": setup.matchers},
        options=setup.options,
    )


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
