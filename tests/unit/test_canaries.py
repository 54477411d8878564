import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator import canaries, json_text, tool_calls
from evaluator.cases import Case
from evaluator.errors import UserError
from evaluator.results import Finding
from evaluator.scoring import (
    SCORERS,
    answer,
    arena,
    checks,
    extract_json,
    field_rules,
    json_call,
    matchers,
    normalizers,
    schema,
    text_matchers,
    trace,
    trapstreet,
    tries,
)
from evaluator.vocabulary import FAILURE_MODES

ROOT = Path(__file__).parents[2]
BUILTIN = canaries.load(canaries.builtin_directory())


def not_ok(prefix: str = "") -> set[str]:
    """The canaries with this prefix that are not ok now."""
    some = canaries.CanarySet(
        version=BUILTIN.version,
        scores=[score for score in BUILTIN.scores if score[0].id.startswith(prefix)],
        parses=[canary for canary in BUILTIN.parses if canary.id.startswith(prefix)],
        extracts=[canary for canary in BUILTIN.extracts if canary.id.startswith(prefix)],
        tool_calls=[canary for canary in BUILTIN.tool_calls if canary.id.startswith(prefix)],
        normalizes=[canary for canary in BUILTIN.normalizes if canary.id.startswith(prefix)],
    )
    return {result.id for result in canaries.run(some).cases if not result.ok}


def test_every_builtin_canary_gets_its_verdict() -> None:
    results = canaries.run(BUILTIN)
    assert results.version == "2"
    assert [(result.id, result.got) for result in results.cases if not result.ok] == []
    assert len(results.cases) == len(BUILTIN.ids()) > 300


def test_the_canaries_need_no_model_client() -> None:
    program = (
        "import sys; from evaluator import canaries;"
        "results = canaries.run(canaries.load(canaries.builtin_directory()));"
        "assert all(result.ok for result in results.cases);"
        "print([name for name in ('litellm', 'openai', 'requests', 'rich') if name in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert finished.stdout == "[]\n"


def verdicts(scorer: str | None = None, uses: Callable[[Case], object] = lambda _: True) -> list[str]:
    """What must come out for the cases of a scorer that use something."""
    return [canary.verdict for canary, name, case in BUILTIN.scores if scorer in (None, name) and uses(case)]


def expected(case: Case, key: str) -> list[Any]:
    return list((case.expected or {}).get(key, ()))


def test_every_matcher_kind_has_a_canary_that_passes_and_one_that_fails() -> None:
    for kind in matchers.kinds():

        def uses(case: Case, kind: str = kind) -> bool:
            return any(matcher["kind"] == kind for matcher in expected(case, "matchers"))

        found = verdicts("trapstreet", uses)
        assert any(verdict.startswith("passed") for verdict in found), kind
        assert any(verdict.startswith("failed") for verdict in found), kind


def test_every_check_kind_has_a_canary_that_passes_and_one_that_fails_by_it() -> None:
    for kind in checks.KINDS:

        def uses(case: Case, kind: str = kind) -> bool:
            return [check["type"] for check in expected(case, "checks")] == [kind]

        found = verdicts("trace", uses)
        assert any(verdict.startswith("passed") for verdict in found), kind
        assert any(verdict.startswith("failed wrong_answer") for verdict in found), kind


def test_every_check_kind_has_a_canary_of_the_arena_that_passes_and_one_that_fails_by_it() -> None:
    for kind in checks.KINDS:

        def uses(case: Case, kind: str = kind) -> bool:
            return [check["type"] for check in expected(case, "checks")] == [kind]

        found = verdicts("arena", uses)
        assert any(verdict.startswith("passed") for verdict in found), kind
        assert any(verdict.startswith("failed") for verdict in found), kind


def rules_of(case: Case) -> set[str]:
    steps = [step for path in expected(case, "paths") for step in path]
    return {word for step in steps for rule in step.get("rules", {}).values() for word in rule}


def test_every_argument_rule_has_a_canary_that_passes_and_one_that_fails() -> None:
    for rule in field_rules.RULES:

        def uses(case: Case, rule: str = rule) -> bool:
            return rules_of(case) == {rule}

        found = verdicts("trace", uses)
        assert any(verdict.startswith("passed") for verdict in found), rule
        assert any(verdict.startswith("failed wrong_arguments") for verdict in found), rule


def test_every_normalizer_has_a_canary_that_it_changes_and_one_that_it_leaves() -> None:
    for name in normalizers.NORMALIZERS:
        found = [canary for canary in BUILTIN.normalizes if canary.normalizer == name]
        left = [canary.verdict == f"text {json.dumps(canary.text)}" for canary in found]
        assert set(left) == {True, False}, name


def test_every_wrapper_has_a_canary_of_a_call_and_one_of_a_malformed_call() -> None:
    for wrapper in ("tool_calls", *tool_calls.WRAPPERS):
        assert any(canary.verdict.startswith(f"{wrapper} ") for canary in BUILTIN.tool_calls), wrapper
        assert any(canary.verdict.startswith(f"malformed {wrapper}") for canary in BUILTIN.tool_calls), wrapper


def test_both_versions_of_json_call_pass_and_fail_and_differ() -> None:
    upstream = verdicts("trapstreet", lambda case: case.options.get("json_call") == "upstream")
    assert any(verdict.startswith("passed") and "upstream_differs" in verdict for verdict in upstream)
    assert any(verdict.startswith("failed") for verdict in upstream)


MODES = {
    "trapstreet": {
        *("truncated", "unparseable", "wrong_count", "wrong_tool", "missing_argument", "wrong_type", "wrong_value")
    },
    "trace": {
        *("truncated", "unparseable", "wrong_tool", "missing_call", "extra_call", "wrong_order", "wrong_arguments"),
        *("ignored_error", "max_turns", "wrong_answer"),
    },
    "closure": {"unparseable", "syntax_incomplete", "content_changed"},
    "arena": {"truncated", "unparseable", "schema_invalid", "wrong_value", "tool_not_used", "check_failed"},
    "bfcl": {
        *("truncated", "unparseable", "wrong_count", "wrong_tool", "missing_argument", "unexpected_argument"),
        *("wrong_type", "wrong_value"),
    },
}


@pytest.mark.parametrize("scorer", SCORERS)
def test_every_failure_mode_that_a_scorer_gives_has_a_canary_and_so_has_a_pass(scorer: str) -> None:
    words = [verdict.split() for verdict in verdicts(scorer)]
    assert {word[1] for word in words if word[0] == "failed"} == MODES[scorer]
    assert "passed" in {word[0] for word in words}


def test_every_failure_mode_is_given_by_a_scorer() -> None:
    assert set().union(*MODES.values()) == set(FAILURE_MODES)


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
    assert not_ok(f"{kind}/")


@pytest.mark.parametrize("found", [None, Finding(path="$", keyword="broken")], ids=["accepts all", "refuses all"])
@pytest.mark.parametrize("kind", sorted(checks.KINDS))
def test_a_check_that_accepts_or_refuses_everything_is_seen(
    kind: str, found: Finding | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(checks.KINDS, kind, checks.KINDS[kind]._replace(compile=lambda _: lambda _: found))
    assert not_ok(f"check_{kind}/")


@pytest.mark.parametrize("answer", [True, False], ids=["accepts all", "refuses all"])
@pytest.mark.parametrize("rule", sorted(set(field_rules.RULES) - {"any", "ignore"}))
def test_an_argument_rule_that_accepts_or_refuses_everything_is_seen(
    rule: str, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(field_rules.RULES, rule, lambda *_: field_rules.Comparison(lambda _: answer))
    assert not_ok(f"trace/rule_{rule}")


@pytest.mark.parametrize("mode", sorted(MODES["trace"]))
def test_a_failure_mode_of_traces_that_is_no_longer_given_is_seen(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "FAILURE_MODES", tuple(each for each in FAILURE_MODES if each != mode))
    assert not_ok("trace/")


# With a missing call every call left over makes it wrong_tool, and an error is only ignored by a final answer.
NEVER_BOTH = {("missing_call", "extra_call"), ("ignored_error", "max_turns")}


@pytest.mark.parametrize(
    ("earlier", "later"),
    sorted(set(itertools.pairwise(mode for mode in FAILURE_MODES if mode in MODES["trace"])) - NEVER_BOTH),
)
def test_two_modes_of_traces_that_change_places_are_seen(
    earlier: str, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = {earlier: later, later: earlier}
    monkeypatch.setattr(trace, "FAILURE_MODES", tuple(swapped.get(mode, mode) for mode in FAILURE_MODES))
    assert not_ok("trace/")


@pytest.mark.parametrize(("earlier", "later"), list(itertools.pairwise(arena.MODES)))
def test_two_modes_of_the_arena_that_change_places_are_seen(
    earlier: str, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = {earlier: later, later: earlier}
    monkeypatch.setattr(arena, "MODES", tuple(swapped.get(mode, mode) for mode in arena.MODES))
    assert not_ok("arena/")


@pytest.mark.parametrize("kind", sorted(arena.MODE_OF))
def test_a_check_of_the_arena_that_fails_in_another_mode_is_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(arena.MODE_OF, kind)
    assert not_ok(f"arena/check_{kind}/")


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
        (tool_calls, "native", lambda _: [], "tool_call/anthropic"),
        (tool_calls, "in_text", lambda text, _: tool_calls.Reading([], text), "tool_call/tag_in_prose"),
        (tries, "_tokens", lambda _: None, "trace/retry_recovered"),
        (extract_json, "_fenced_blocks", lambda _: [], "extract_json/fence_before_earlier_span"),
        (extract_json, "_balanced_spans", lambda _: [], "extract_json/in_prose"),
    ],
)
def test_a_scorer_that_was_changed_is_seen(
    module: Any, name: str, replacement: Any, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert seen in not_ok(seen)


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
    for module, name in ((tool_calls, "native"), (tool_calls, "in_text"), (normalizers, "normalizer")):
        monkeypatch.setattr(module, name, crash)
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


OWN = {
    "setups": {
        "lookup": {
            "scorer": "trace",
            "tools": [{"name": "lookup", "parameters": {"type": "object", "required": ["id"]}}],
            "expected": {"paths": [[{"turn": 1, "tool": "lookup", "args": {"id": 1}}]]},
        }
    },
    "score": [
        {
            "id": "right",
            "setup": "lookup",
            "calls": [{"tool": "lookup", "args": {"id": 1}, "result": {"ok": True}}],
            "text": "Done.",
            "verdict": "passed argument_score=1 argument_score_matched=1 calls=1 extra_calls=0 extra_read_only_calls=0 "
            "missing_calls=0 order_score=1 schema_valid=1 score=1 tool_score=1 unanswered_calls=0",
        },
        {
            "id": "its own tools and expectation",
            "setup": "lookup",
            "tools": [{"name": "find"}],
            "expected": {"paths": [[{"turn": 1, "tool": "find"}]]},
            "calls": [{"tool": "find", "arguments": "{"}],
            "text": "Done.",
            "verdict": "failed unparseable calls=1 extra_calls=0 extra_read_only_calls=0 missing_calls=0 order_score=1 "
            "score=0 tool_score=1 unanswered_calls=0 | #1@1$:json",
        },
    ],
    "tool_call": [{"id": "call", "text": "f(a=1)", "tools": ["f"], "verdict": 'python f {"a": 1} | text null'}],
    "normalize": [{"id": "text", "normalizer": "text@1", "text": "A", "times": 2, "verdict": 'text "aa"'}],
}


def test_a_set_of_ones_own_may_have_every_kind(tmp_path: Path) -> None:
    results = canaries.run(canaries.load(write(tmp_path, {"version": "1", "files": {"a.json": 4}}, a=OWN)))
    assert [(result.id, result.got) for result in results.cases if not result.ok] == []
    assert [result.id for result in results.cases] == ["right", "its own tools and expectation", "call", "text"]


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
            "x: there is no setup 'none'",
        ),
        (
            {"version": "1", "files": {"a.json": 1}},
            {"a": {"score": [{"id": "x", "verdict": "passed"}]}},
            "x: what is expected stands in `expected` or in `matchers`, in one of the two",
        ),
        (
            {"version": "1", "files": {"a.json": 1}},
            {"a": {"score": [{"id": "x", "verdict": "passed", "matchers": [], "expected": {}}]}},
            "x: what is expected stands in `expected` or in `matchers`, in one of the two",
        ),
        (
            {"version": "1", "files": {"a.json": 1}},
            {"a": {"score": [{"id": "x", "verdict": "passed", "expected": {}, "scorer": "traces"}]}},
            f"x: there is no scorer 'traces'; known are {', '.join(SCORERS)}",
        ),
        (
            {"version": "1", "files": {"a.json": 1}},
            {"a": {"tool_call": [{"id": "x", "verdict": "no call"}]}},
            "x: either a message or a text",
        ),
        (
            {"version": "1", "files": {"a.json": 1}},
            {"a": {"tool_call": [{"id": "x", "verdict": "no call", "text": "", "message": {}}]}},
            "x: either a message or a text",
        ),
        (
            {"version": "1", "files": {"a.json": 1}},
            {"a": {"score": [{"id": "x", "verdict": "", "expected": {}, "calls": [{"tool": "t", "argument": {}}]}]}},
            "unknown field `argument` - at `$.score[0].calls[0]`",
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
