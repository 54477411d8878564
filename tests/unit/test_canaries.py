import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator import canaries
from evaluator.errors import UserError
from evaluator.results import Finding
from evaluator.scoring import (
    answer,
    extract_json,
    json_call,
    json_text,
    matchers,
    schema,
    text_matchers,
    trapstreet,
)
from evaluator.vocabulary import FAILURE_MODES

ROOT = Path(__file__).parents[2]
BUILTIN = canaries.load(canaries.builtin_directory())


def not_ok() -> set[str]:
    return {result.id for result in canaries.run(BUILTIN).cases if not result.ok}


def test_every_builtin_canary_gets_its_verdict() -> None:
    results = canaries.run(BUILTIN)
    assert results.version == "1"
    assert [(result.id, result.got) for result in results.cases if not result.ok] == []
    assert len(results.cases) == len(BUILTIN.ids()) > 100


def test_the_canaries_need_no_model_client() -> None:
    program = (
        "import sys; from evaluator import canaries;"
        "results = canaries.run(canaries.load(canaries.builtin_directory()));"
        "assert all(result.ok for result in results.cases);"
        "print([name for name in ('litellm', 'openai', 'requests', 'rich') if name in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert finished.stdout == "[]\n"


def test_every_matcher_kind_has_a_canary_that_passes_and_one_that_fails() -> None:
    for kind in matchers.kinds():
        verdicts = [
            canary.verdict
            for canary, case in BUILTIN.scores
            if any(matcher["kind"] == kind for matcher in (case.expected or {})["matchers"])
        ]
        assert any(verdict.startswith("passed") for verdict in verdicts), kind
        assert any(verdict.startswith("failed") for verdict in verdicts), kind


def test_both_versions_of_json_call_pass_and_fail_and_differ() -> None:
    upstream = [canary.verdict for canary, case in BUILTIN.scores if case.options.get("json_call") == "upstream"]
    assert any(verdict.startswith("passed") and "upstream_differs" in verdict for verdict in upstream)
    assert any(verdict.startswith("failed") for verdict in upstream)


def test_every_failure_mode_that_the_scorer_gives_has_a_canary() -> None:
    given = {canary.verdict.split()[1] for canary, _ in BUILTIN.scores if canary.verdict.startswith("failed")}
    # json_call tolerates extra arguments: unexpected_argument is a finding there, never a mode.
    of_traces = {
        "missing_call",
        "extra_call",
        "wrong_order",
        "wrong_arguments",
        "ignored_error",
        "max_turns",
        "wrong_answer",
    }
    assert given == set(FAILURE_MODES) - {"unexpected_argument"} - of_traces


def test_every_kind_of_refusal_of_the_parser_has_a_canary() -> None:
    refused = {canary.verdict.split()[1] for canary in BUILTIN.parses if canary.verdict.startswith("refused")}
    assert refused == {
        *("json", "duplicate_key", "depth", "size", "not_finite", "integer_size", "surrogate", "byte_order_mark")
    }


def always(found: Finding | None) -> Callable[[Any], Callable[[str], Finding | None]]:
    return lambda _definition: lambda _text: found


@pytest.mark.parametrize("found", [None, Finding(path="$", keyword="broken")], ids=["accepts all", "refuses all"])
@pytest.mark.parametrize("kind", sorted(matchers.TEXT_MATCHERS))
def test_a_text_matcher_that_accepts_or_refuses_everything_is_seen(
    kind: str, found: Finding | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(matchers.TEXT_MATCHERS, kind, (f"{kind}@1", always(found)))
    assert any(name.startswith(f"{kind}/") for name in not_ok())


@pytest.mark.parametrize(
    ("module", "name", "replacement", "seen"),
    [
        (json_call, "strictly_equal", json_call.equal_as_floats, "json_call/number_as_string"),
        (json_call, "strictly_equal", lambda one, other: one == other, "json_call/number_for_boolean"),
        (json_call, "equal_as_floats", json_call.strictly_equal, "json_call/upstream_number_as_string"),
        (json_call, "parse_json_leniently", json_text.parse_json, "json_call/upstream_duplicate_key"),
        (json_call, "json_type", lambda _: "string", "json_call/wrong_type"),
        (json_call, "_first", lambda _: "wrong_value", "json_call/missing_required"),
        (answer, "_without_fence", lambda text: text, "json_call/fenced_json"),
        (answer, "_unwrap", lambda text, _: ((text or "").strip(), answer.UNSET), "json_call/wrapped_in_answer"),
        (trapstreet, "_schema_findings", lambda *_: [], "json_call/wrong_type"),
        (trapstreet, "answer_text", lambda transcript: transcript.text or "", "text/wrapped_in_answer"),
        (text_matchers, "fold", lambda text: text, "keywords_all/folded"),
        (text_matchers, "HEDGES", text_matchers.HEDGES[:-1], "no_hedge/last_phrase"),
        (text_matchers, "_NOT_IN_NUMBERS", {}, "numeric/currency_and_commas"),
        (text_matchers, "isfinite", lambda _: False, "numeric/any_number"),
        (canaries, "parse_json", json_text.parse_json_leniently, "parse_json/duplicate_key"),
        (extract_json, "_fenced_blocks", lambda _: [], "extract_json/fence_before_earlier_span"),
        (extract_json, "_balanced_spans", lambda _: [], "extract_json/in_prose"),
    ],
)
def test_a_scorer_that_was_changed_is_seen(
    module: Any, name: str, replacement: Any, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert seen in not_ok()


def test_a_parser_that_no_longer_limits_depth_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "MAX_DEPTH", 900)
    assert "parse_json/deep" in not_ok()


def test_a_schema_library_that_accepts_everything_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema.SchemaCheck, "findings", lambda *_: [])
    assert "json_call/missing_required" in not_ok()


def test_a_crash_is_a_canary_that_is_not_ok_never_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> Any:
        raise MemoryError("no more")

    for name in ("prepare", "parse_json", "extract_json"):
        monkeypatch.setattr(canaries, name, crash)
    results = canaries.run(BUILTIN)
    assert {result.got for result in results.cases} == {"crashed with MemoryError: no more"}
    assert not any(result.ok for result in results.cases)


def write(folder: Path, manifest: Any, **files: Any) -> Path:
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


ONE = {
    "score": [{"id": "mine", "matchers": [{"kind": "numeric", "value": 4}], "text": "4", "verdict": "passed score=1"}]
}


def test_a_set_of_ones_own_is_loaded_and_run(tmp_path: Path) -> None:
    results = canaries.run(canaries.load(write(tmp_path, {"version": "mine-7", "files": {"a.json": 1}}, a=ONE)))
    assert results.version == "mine-7"
    assert [(result.id, result.ok) for result in results.cases] == [("mine", True)]


@pytest.mark.parametrize(
    ("manifest", "files", "message"),
    [
        ({"version": "1", "files": {}}, {}, "the set is empty"),
        ({"version": "1", "files": {"a.json": 0}}, {"a": {}}, "holds 0 canaries; the manifest says 0"),
        ({"version": "1", "files": {"a.json": 2}}, {"a": ONE}, "holds 1 canaries; the manifest says 2"),
        ({"version": "1", "files": {"a.json": 1}}, {}, "cannot be read: No such file or directory"),
        ({"version": "1", "files": {"../a.json": 1}}, {}, "'../a.json' is not a file of the set's own folder"),
        ({"files": {"a.json": 1}}, {"a": ONE}, "Object missing required field `version`"),
        ({"version": "1", "files": {"a.json": 1}}, {"a": '{"score": ['}, "not JSON"),
        ({"version": "1", "files": {"a.json": 1}}, {"a": '{"score": [], "score": []}'}, "a key stands twice"),
        ({"version": "1", "files": {"a.json": 1}}, {"a": {"scores": []}}, "unknown field `scores`"),
        (
            {"version": "1", "files": {"a.json": 1}},
            {"a": {"score": [{"id": "x", "verdict": "passed", "setup": "none"}]}},
            "x: neither matchers nor a known setup",
        ),
        ({"version": "1", "files": {"a.json": 1, "b.json": 1}}, {"a": ONE, "b": ONE}, "ids that stand twice: mine"),
    ],
)
def test_a_set_that_is_missing_malformed_or_empty_is_refused(
    tmp_path: Path, manifest: Any, files: dict[str, Any], message: str
) -> None:
    write(tmp_path, manifest, **files)
    with pytest.raises(UserError) as refused:
        canaries.load(tmp_path)
    assert refused.value.code == "canaries-broken"
    assert "the canary set cannot be used: " in str(refused.value)
    assert message in str(refused.value)


def test_no_set_at_all_and_a_link_out_of_the_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"manifest\.json: the canary set cannot be used: cannot be read"):
        canaries.load(tmp_path / "none")
    (tmp_path / "outside.json").write_text(json.dumps(ONE))
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "a.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(UserError, match=r"'a\.json' is not a file of the set's own folder"):
        canaries.load(write(folder, {"version": "1", "files": {"a.json": 1}}))
