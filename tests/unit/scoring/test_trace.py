"""Transcript → Score by trace@1: figures, failure modes and what the findings say."""

from typing import Any

import msgspec
import pytest

from evaluator.cases import Case, Request
from evaluator.results import Finding, Score
from evaluator.vocabulary import FAILURE_MODES
from tests.unit.scoring.traces import brief, call, case, infrastructure, score, spec, step

LOOKUP = step("lookup", args={"id": "7"})
REFUND = step("refund", args={"id": "7", "amount": 24.5})
PARTIAL = case(LOOKUP, REFUND)
LOOKED_UP = call("lookup", {"id": "7"})
REFUNDED = call("refund", {"id": "7", "amount": 24.5})

# A damaged parcel, half of its price to be paid back: the policy is to be looked up before, and was not.
PARCEL = case(
    step("lookup_order", args={"order_id": "4821"}),
    step("check_refund_policy", args={"order_id": "4821", "reason": "damaged"}),
    step("issue_refund", args={"order_id": "4821", "amount": 24.5}),
    step("send_email", args={"order_id": "4821", "template": "refund_confirmation"}),
    allowed_tools=["lookup_order", "check_refund_policy", "issue_refund", "send_email"],
)


def parcel(**email: str) -> Score:
    return score(
        PARCEL,
        call("lookup_order", {"order_id": "4821"}, result={"status": "delivered", "total": 49.0}),
        call("issue_refund", {"order_id": "4821", "amount": 49.0}),
        call("send_email", {"order_id": "4821", **email}),
        text="The refund is on its way.",
    )


def test_a_skipped_step_is_one_missing_call_and_shifts_nothing_after_it() -> None:
    found = parcel()
    assert found.failure_mode == "missing_call"
    assert found.values == {
        "tool_score": 0.75,
        "order_score": 0.75,
        "argument_score": 3 / 7,
        "argument_score_matched": 3 / 5,
        "missing_calls": 1.0,
        "extra_calls": 0.0,
        "extra_read_only_calls": 0.0,
        "calls": 3.0,
        "unanswered_calls": 0.0,
        "score": 0.0,
    }
    assert found.findings == [
        Finding(
            path="$",
            keyword="missing_call",
            wanted="check_refund_policy",
            step=2,
            tool="check_refund_policy",
            message="check_refund_policy was not called",
        ),
        Finding(path="$.amount", keyword="value", wanted=24.5, got=49.0, step=3, call=2, tool="issue_refund"),
        Finding(path="$.template", keyword="required", wanted="refund_confirmation", step=4, call=3, tool="send_email"),
    ]


def test_the_same_attempt_with_the_template_given_has_one_right_field_more() -> None:
    found = parcel(template="refund_confirmation")
    assert found.failure_mode == "missing_call"
    assert (found.values["argument_score"], found.values["argument_score_matched"]) == (4 / 7, 4 / 5)
    assert brief(found.findings) == [(2, "$", "missing_call"), (3, "$.amount", "value")]


def test_the_expected_calls_pass_with_full_figures_and_nothing_to_say() -> None:
    found = score(PARTIAL, LOOKED_UP, REFUNDED)
    assert found == Score(
        passed=True,
        values={
            "tool_score": 1.0,
            "order_score": 1.0,
            "argument_score": 1.0,
            "argument_score_matched": 1.0,
            "missing_calls": 0.0,
            "extra_calls": 0.0,
            "extra_read_only_calls": 0.0,
            "calls": 2.0,
            "unanswered_calls": 0.0,
            "score": 1.0,
        },
    )


def test_the_modes_of_traces_are_decided_in_their_fixed_order() -> None:
    order = "truncated unparseable wrong_tool missing_call extra_call wrong_order wrong_arguments ignored_error"
    modes = [*order.split(), "max_turns", "wrong_answer"]
    assert [mode for mode in FAILURE_MODES if mode in modes] == modes


TOOLS = [spec("lookup", read_only=True, id="string"), spec("refund", id="string", amount="number")]
OFFERED = case(LOOKUP, REFUND, tools=TOOLS, checks=[{"type": "icontains", "value": "refund"}])
BROKE = call("refund", {"id": "7", "amount": 24.5}, result={"ok": False})
# Each attempt has its mode and, but for those that cannot be with it, every mode that comes after.
WORSENING: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("truncated", [call("rob", "{")], {"stop_reason": "length", "limit": "max_turns"}),
    ("unparseable", [call("rob"), call("refund", "{")], {"limit": "max_turns"}),
    ("wrong_tool", [call("rob"), call("refund", {"id": 7})], {"limit": "max_turns"}),
    ("missing_call", [call("refund", {"id": 7}, result={"error": "no"})], {"limit": "max_turns"}),
    ("extra_call", [call("refund", {"id": 7}), REFUNDED, LOOKED_UP], {"limit": "max_turns"}),
    ("wrong_order", [call("refund", {"id": 7}, result={"error": "no"}), LOOKED_UP], {"limit": "max_turns"}),
    ("wrong_arguments", [LOOKED_UP, call("refund", {"id": 7}, result={"error": "no"})], {"limit": "max_turns"}),
    ("ignored_error", [LOOKED_UP, BROKE], {"limit": "max_turns"}),
    ("max_turns", [LOOKED_UP, REFUNDED], {"limit": "max_turns", "text": None}),
    ("wrong_answer", [LOOKED_UP, REFUNDED], {}),
]


@pytest.mark.parametrize(("mode", "calls", "transcript"), WORSENING, ids=[mode for mode, _, _ in WORSENING])
def test_of_several_modes_the_first_is_the_attempt_s(mode: str, calls: list[Any], transcript: dict[str, Any]) -> None:
    found = score(OFFERED, *calls, **{"text": "Nothing.", **transcript})
    assert (found.passed, found.failure_mode) == (False, mode)
    assert {"tool_score", "order_score", "argument_score", "schema_valid", "score"} <= found.values.keys()


# Truncated, unparseable.


def test_an_answer_that_was_cut_is_truncated_whatever_else_it_is() -> None:
    found = score(PARTIAL, LOOKED_UP, REFUNDED, cut=12)
    assert found.failure_mode == "truncated"
    assert found.findings[0].message == "the output was longer than what is kept, by 12 characters"


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_no_call_and_no_answer_is_unparseable_even_where_no_call_is_right(text: str | None) -> None:
    for the_case in (PARTIAL, case()):
        found = score(the_case, text=text)
        assert found.failure_mode == "unparseable"
        assert brief(found.findings)[0] == (None, "$", "empty")


@pytest.mark.parametrize(
    ("arguments", "keyword"),
    [
        ("{", "json"),
        ("", "json"),
        ("[1]", "type"),
        ("null", "type"),
        ('"{}"', "type"),
        ('{"id": "7", "id": "8"}', "duplicate_key"),
        ('{"id": NaN}', "not_finite"),
        ('{"id": "\\ud800"}', "surrogate"),
        ('{"id": ' + "[" * 501 + "]" * 501 + "}", "depth"),
    ],
)
def test_arguments_that_are_no_object_of_strict_json_are_a_malformed_call(arguments: str, keyword: str) -> None:
    found = score(PARTIAL, call("lookup", arguments), REFUNDED)
    assert found.failure_mode == "unparseable"
    assert brief(found.findings) == [(1, "$", keyword)]
    assert (found.values["tool_score"], found.values["argument_score"]) == (1.0, 2 / 3)


def test_a_call_that_its_parser_could_not_read_is_a_malformed_call() -> None:
    found = score(PARTIAL, LOOKED_UP, REFUNDED, call("", "<tool_call>{", fault="the tag is not closed"))
    assert found.failure_mode == "unparseable"
    assert found.findings[0] == Finding(
        path="$",
        keyword="call",
        got="<tool_call>{",
        call=3,
        tool="",
        message="call 3 is malformed: the tag is not closed",
    )


# Wrong, missing and extra calls.


def test_a_tool_that_is_not_allowed_is_wrong_even_where_it_is_on_offer() -> None:
    found = score(case(LOOKUP, tools=TOOLS, allowed_tools=["lookup"]), LOOKED_UP, REFUNDED)
    assert found.failure_mode == "wrong_tool"
    assert [(finding.call, finding.keyword) for finding in found.findings] == [(2, "allowed_tools"), (2, "extra_call")]


def test_a_tool_that_is_not_on_offer_is_wrong_and_where_none_is_on_offer_all_are_known() -> None:
    calls = [LOOKED_UP, call("find")]
    assert score(case(LOOKUP, tools=TOOLS), *calls).failure_mode == "wrong_tool"
    assert score(case(LOOKUP), *calls).failure_mode == "extra_call"


def test_a_step_and_a_call_both_left_over_are_a_wrong_tool_wherever_they_stand() -> None:
    for calls in ([LOOKED_UP, call("close")], [call("close"), LOOKED_UP]):
        found = score(PARTIAL, *calls)
        assert found.failure_mode == "wrong_tool"
        assert (found.values["missing_calls"], found.values["extra_calls"]) == (1.0, 1.0)
        assert [finding.keyword for finding in found.findings] == ["extra_call", "missing_call"]


def test_calls_in_another_order_are_matched_and_leave_nothing_over() -> None:
    found = score(PARTIAL, REFUNDED, LOOKED_UP)
    assert found.failure_mode == "wrong_order"
    assert (found.values["tool_score"], found.values["order_score"], found.values["argument_score"]) == (1.0, 0.5, 1.0)
    assert found.findings == [
        Finding(
            path="$",
            keyword="order",
            wanted=["lookup", "refund"],
            got=["refund", "lookup"],
            message="1 of 2 steps were called in the expected order",
        )
    ]


def test_steps_of_one_turn_may_be_called_in_any_order() -> None:
    parallel = case({**LOOKUP, "turn": 1}, {**REFUND, "turn": 1}, step("close", turn=2))
    assert score(parallel, REFUNDED, LOOKED_UP, call("close")).passed
    assert score(parallel, REFUNDED, call("close"), LOOKED_UP).failure_mode == "wrong_order"


def test_a_call_that_stands_for_no_step_is_extra_and_its_finding_has_the_call_s_number_and_no_step() -> None:
    found = score(PARTIAL, LOOKED_UP, REFUNDED, REFUNDED)
    assert found.failure_mode == "extra_call"
    assert found.findings == [
        Finding(path="$", keyword="extra_call", got="refund", call=3, tool="refund", message="call 3 was not expected")
    ]


@pytest.mark.parametrize(
    ("the_case", "extra", "message"),
    [
        (case(LOOKUP, REFUND, read_only=["lookup"]), LOOKED_UP, "call 3 was not expected; it changes nothing"),
        (case(LOOKUP, REFUND, tools=TOOLS), LOOKED_UP, "call 3 was not expected; it changes nothing"),
        (
            case(LOOKUP, REFUND, expected_errors=["refund"]),
            call("refund", {}, result='{"is_error": true}'),
            "call 3 was not expected; it failed",
        ),
        (case(LOOKUP, REFUND, max_extra_calls=1), REFUNDED, "call 3 was not expected; 1 may be"),
    ],
    ids=["read-only by fixture", "read-only by its spec", "failed", "within the limit"],
)
def test_an_extra_call_that_does_no_harm_is_told_and_is_no_fault(the_case: Any, extra: Any, message: str) -> None:
    found = score(the_case, LOOKED_UP, REFUNDED, extra)
    assert (found.passed, found.values["extra_calls"]) == (True, 1.0)
    assert [(f.keyword, f.message, f.note) for f in found.findings] == [("excused_call", message, True)]
    assert found.values["extra_read_only_calls"] == (1.0 if extra is LOOKED_UP else 0.0)


def test_beyond_the_limit_all_extra_calls_that_are_not_excused_are_faults() -> None:
    found = score(case(LOOKUP, REFUND, read_only=["lookup"], max_extra_calls=1), LOOKED_UP, *[REFUNDED] * 3, LOOKED_UP)
    assert found.failure_mode == "extra_call"
    assert [finding.keyword for finding in found.findings] == ["extra_call", "extra_call", "excused_call"]


def test_for_want_of_a_recorded_answer_an_extra_call_is_not_excused() -> None:
    error = {"error": "no recorded result for these arguments"}
    extra = call("refund", {"id": "8", "amount": 1}, result=error, unanswered="unmatched")
    found = score(PARTIAL, LOOKED_UP, REFUNDED, extra)
    assert (found.failure_mode, found.values["unanswered_calls"]) == ("extra_call", 1.0)
    assert score(PARTIAL, LOOKED_UP, msgspec.structs.replace(REFUNDED, result=error, unanswered="unmatched")).passed


def test_the_call_that_succeeded_stands_for_the_step_and_the_failed_one_is_excused() -> None:
    failed = msgspec.structs.replace(REFUNDED, result={"error": "busy"})
    for calls in ([LOOKED_UP, failed, REFUNDED], [LOOKED_UP, failed, failed, REFUNDED]):
        assert score(PARTIAL, *calls).passed


def test_of_equal_calls_the_one_that_would_not_be_excused_stands_for_the_step() -> None:
    either = case(step("peek", alternatives=[{"tool": "refund"}]), read_only=["peek"])
    assert score(either, call("peek"), call("refund")).passed
    assert score(either, call("refund"), call("peek")).passed


# Nothing expected, optional steps, alternatives, several paths.


def test_where_nothing_is_expected_an_answer_passes_and_any_call_is_extra() -> None:
    nothing = case(read_only=["lookup"], max_extra_calls=3)
    found = score(nothing)
    assert found.passed
    assert not {"tool_score", "order_score", "argument_score", "argument_score_matched"} & found.values.keys()
    for extra in (LOOKED_UP, call("lookup", result={"error": "x"})):
        found = score(nothing, extra, text="x")
        assert found.failure_mode == "extra_call"
        assert found.findings[0].message == "call 1 was not expected, and no call was"


def test_where_nothing_is_expected_an_unknown_tool_is_still_a_wrong_tool() -> None:
    assert score(case(tools=TOOLS), call("rob")).failure_mode == "wrong_tool"


def test_an_optional_step_counts_only_when_it_is_called() -> None:
    greeted = case(step("greet", args={"name": "Ada"}, optional=True), REFUND)
    without = score(greeted, REFUNDED)
    assert (without.passed, without.values["tool_score"], without.values["missing_calls"]) == (True, 1.0, 0.0)
    wrongly = score(greeted, call("greet", {"name": "Bob"}), REFUNDED)
    assert (wrongly.failure_mode, wrongly.values["argument_score"]) == ("wrong_arguments", 2 / 3)
    late = score(greeted, REFUNDED, call("greet", {"name": "Ada"}))
    assert (late.failure_mode, late.values["order_score"]) == ("wrong_order", 0.5)
    extra = score(greeted, REFUNDED, call("close"))
    assert extra.failure_mode == "extra_call"  # an optional step that was not called is not left over


def test_with_optional_steps_alone_and_no_call_there_is_no_figure() -> None:
    found = score(case(step("greet", optional=True)))
    assert found.passed
    assert "tool_score" not in found.values


def test_a_step_without_args_accepts_any_and_is_no_field() -> None:
    found = score(case(step("greet")), call("greet", {"x": 1}))
    assert found.passed
    assert found.findings == []
    assert "argument_score" not in found.values


def test_an_alternative_counts_with_its_own_fields() -> None:
    either = case(
        step("refund", args={"id": "7", "amount": 24.5}, alternatives=[{"tool": "void", "args": {"id": "7"}}])
    )
    assert score(either, call("void", {"id": "7"})).passed
    assert score(either, call("void", {"id": "8"})).values["argument_score"] == 0.0
    assert score(either).values["argument_score"] == 0.0
    assert brief(score(either, call("void", {"id": "8"})).findings) == [(1, "$.id", "value")]
    missing = score(either).findings[0]
    assert (missing.wanted, missing.message) == ("refund", "refund was not called, nor void")


def test_of_several_forms_of_one_tool_the_one_with_most_right_fields_counts() -> None:
    forms = [{"tool": "refund", "args": {"order": "7", "amount": 24.5, "currency": "EUR"}}]
    either = case(step("refund", args={"id": "7"}, alternatives=forms))
    found = score(either, call("refund", {"order": "7", "amount": 24.5}))
    assert found.values["argument_score"] == 2 / 3
    assert brief(found.findings) == [(1, "$.currency", "required")]
    assert score(either, call("refund", {"id": "7"})).passed


def test_repeated_calls_are_assigned_for_most_right_fields_not_in_turn() -> None:
    both = case(step("get", turn=1, args={"a": 1, "b": 1}), step("get", turn=1, args={"a": 1, "b": 2}))
    assert score(both, call("get", {"a": 1, "b": 2}), call("get", {"a": 1, "b": 1})).passed
    half = score(both, call("get", {"a": 1, "b": 2}), call("get", {"a": 9, "b": 9}))
    assert half.values["argument_score"] == 0.5


def test_the_best_of_several_paths_counts_and_findings_are_of_it() -> None:
    paths = [[LOOKUP, REFUND, step("close")], [LOOKUP, step("escalate", args={"to": "desk"})]]
    either = case(paths=paths)
    assert score(either, LOOKED_UP, call("escalate", {"to": "desk"})).passed
    found = score(either, LOOKED_UP, call("escalate", {"to": "boss"}))
    assert found.failure_mode == "wrong_arguments"
    assert brief(found.findings) == [(2, "$.to", "value"), (None, "$", "expected_path")]
    assert found.findings[-1].message == "steps are those of path 2 of 2, which fits best"


def test_a_path_without_calls_beside_others_lets_an_answer_pass() -> None:
    either = case(paths=[[REFUND], []])
    assert score(either).passed
    assert score(either, REFUNDED).passed
    found = score(either, call("refund", {"id": "7", "amount": 1}))
    assert (found.failure_mode, found.values["tool_score"]) == ("wrong_arguments", 1.0)


# Arguments and schemas.


def test_arguments_that_are_not_named_are_told_and_a_fault_only_where_they_must_match_exactly() -> None:
    sent = call("lookup", {"id": "7", "verbose": True})
    loose = score(case(LOOKUP), sent)
    assert (loose.passed, brief(loose.findings)) == (True, [(1, "$.verbose", "unexpected_argument")])
    assert loose.findings[0].note
    exact = score(case({**LOOKUP, "args_match": "exact"}), sent)
    assert (exact.failure_mode, brief(exact.findings)) == ("wrong_arguments", [(1, "$.verbose", "unexpected_argument")])
    assert exact.values["argument_score"] == 1.0
    assert not exact.findings[0].note


def test_of_calls_with_equally_many_right_fields_an_exact_step_takes_the_one_without_others() -> None:
    exact = case({**LOOKUP, "args_match": "exact"}, read_only=["lookup"])
    first, second = call("lookup", {"id": "7", "verbose": True}), LOOKED_UP
    assert score(exact, first, second).passed
    assert score(exact, second, first).passed


def test_a_call_that_is_invalid_by_its_tool_s_schema_fails_though_its_expected_fields_are_right() -> None:
    loose = case(LOOKUP, step("refund", args={"id": "7"}), tools=TOOLS)
    found = score(loose, LOOKED_UP, call("refund", {"id": "7", "amount": "24.5"}))
    assert found.failure_mode == "wrong_arguments"
    assert (found.values["schema_valid"], found.values["argument_score"]) == (0.5, 1.0)
    assert [(f.step, f.path, f.keyword, f.wanted, f.got) for f in found.findings if f.keyword == "type"] == [
        (2, "$.amount", "type", "number", "24.5")
    ]


def test_what_step_and_schema_both_find_is_told_once() -> None:
    found = score(case(REFUND, tools=TOOLS), call("refund", {"amount": "24.5", "note": "x"}))
    assert brief(found.findings) == [
        (1, "$.id", "required"),
        (1, "$.amount", "type"),
        (1, "$.note", "unexpected_argument"),
    ]


def test_schema_validity_is_the_share_of_calls_that_an_offered_tool_s_schema_accepts() -> None:
    calls = [LOOKED_UP, REFUNDED, call("rob"), call("refund", "{")]
    assert score(case(LOOKUP, tools=TOOLS), *calls).values["schema_valid"] == 0.5
    assert "schema_valid" not in score(case(LOOKUP), *calls).values
    assert "schema_valid" not in score(case(LOOKUP, tools=TOOLS)).values
    assert "schema_valid" not in score(case(LOOKUP, tools=[{"name": "lookup"}]), LOOKED_UP).values


def test_an_extra_call_that_is_invalid_is_told_with_the_call_s_number() -> None:
    found = score(case(REFUND, tools=TOOLS), REFUNDED, call("lookup", {"id": 7}))
    assert found.failure_mode == "wrong_arguments"
    assert found.findings[0].message == "call 2 is not valid by its tool's schema"
    assert (found.findings[0].step, found.findings[0].call) == (None, 2)


# What a reader is told first, and what is no fault.


SKIPPED = case(LOOKUP, step("check", args={"id": "7"}), REFUND, tools=[*TOOLS, spec("check", id="string")])
ORDERED: list[tuple[str, Any, list[Any], dict[str, Any], list[str]]] = [
    ("unparseable", PARTIAL, [call("find", "{"), call("refund", {"id": "7", "amount": 49})],
     {}, ["json", "extra_call", "missing_call", "value"]),
    ("wrong_tool", SKIPPED, [call("lookup", {"id": "8"}), call("rob"), REFUNDED],
     {}, ["extra_call", "tools", "missing_call", "value"]),
    ("missing_call", PARTIAL, [call("refund", {"id": "7", "amount": 49}, result={"ok": False})],
     {}, ["missing_call", "value", "ignored_error"]),
    ("extra_call", PARTIAL, [call("lookup", {"id": "8"}), REFUNDED, REFUNDED],
     {}, ["extra_call", "value"]),
    ("wrong_order", PARTIAL, [REFUNDED, call("lookup", {"id": "8"})],
     {}, ["order", "value"]),
    ("wrong_arguments", OFFERED, [call("lookup", {"id": "8"}), BROKE, call("lookup", {"id": "9"})],
     {"limit": "max_turns"}, ["value", "ignored_error", "max_turns", "icontains", "excused_call"]),
    ("wrong_arguments", case(LOOKUP, REFUND), [call("lookup", {"all": True, "id": "7"}), call("refund", {"id": "8"})],
     {}, ["value", "required", "unexpected_argument"]),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "the_case", "calls", "transcript", "told"), ORDERED)
def test_what_decides_the_mode_is_told_first_then_other_faults_then_what_is_none(
    mode: str, the_case: Any, calls: list[Any], transcript: dict[str, Any], told: list[str]
) -> None:
    found = score(the_case, *calls, **{"text": "Nothing.", **transcript})
    assert found.failure_mode == mode
    assert [finding.keyword for finding in found.findings] == told
    notes = [finding.keyword for finding in found.findings if finding.note]
    assert notes == [keyword for keyword in told if keyword in ("excused_call", "unexpected_argument")]


@pytest.mark.parametrize("result", [{"error": "no such tool"}, {"ok": True}], ids=["failed", "answered"])
def test_a_call_of_a_tool_that_may_not_be_called_is_told_as_that_alone_and_never_excused(result: Any) -> None:
    for tools, allowed in ((TOOLS, None), ((), ["lookup", "refund"])):
        the_case = case(
            LOOKUP, REFUND, tools=tools, max_extra_calls=1, **({"allowed_tools": allowed} if allowed else {})
        )
        found = score(the_case, LOOKED_UP, REFUNDED, call("rob", result=result))
        assert found.failure_mode == "wrong_tool"
        assert [(finding.call, finding.keyword) for finding in found.findings] == [
            (3, "allowed_tools" if allowed else "tools")
        ]


@pytest.mark.parametrize("extra", [LOOKED_UP, call("close", result={"ok": False})], ids=["read-only", "failed"])
def test_a_call_that_was_made_instead_of_a_missing_step_is_no_excused_one(extra: Any) -> None:
    found = score(case(LOOKUP, REFUND, read_only=["lookup"]), LOOKED_UP, extra)
    assert found.failure_mode == "wrong_tool"
    assert [(f.step, f.call, f.keyword, f.note) for f in found.findings if f.keyword != "ignored_error"] == [
        (None, 2, "wrong_tool", False),
        (2, None, "missing_call", False),
    ]
    assert found.findings[0].message == "call 2 was not expected, and a step was not called"


def test_beside_a_call_that_is_to_blame_for_a_missing_step_the_others_stay_excused() -> None:
    found = score(case(LOOKUP, REFUND, read_only=["lookup"]), LOOKED_UP, LOOKED_UP, call("close"))
    assert [(finding.call, finding.keyword) for finding in found.findings] == [
        (3, "extra_call"),
        (None, "missing_call"),
        (2, "excused_call"),
    ]


def test_an_argument_that_the_step_does_not_mind_and_the_schema_forbids_is_a_fault() -> None:
    found = score(case(LOOKUP, tools=TOOLS), call("lookup", {"id": "7", "all": True}))
    assert found.failure_mode == "wrong_arguments"
    assert [(f.path, f.keyword, f.note) for f in found.findings] == [("$.all", "unexpected_argument", False)]


def test_a_finding_on_a_call_that_stands_for_a_step_has_both_numbers() -> None:
    found = score(
        PARTIAL, call("lookup", {"id": "7"}, result={"error": "busy"}), LOOKED_UP, call("refund", {"id": "8"})
    )
    assert [(f.step, f.call, f.path) for f in found.findings if not f.note] == [(2, 3, "$.id"), (2, 3, "$.amount")]


def test_the_path_that_the_steps_are_of_is_told_before_what_is_no_fault() -> None:
    either = case(paths=[[REFUND], [LOOKUP, step("close")]], read_only=["lookup"])
    found = score(either, call("close"), LOOKED_UP, LOOKED_UP)
    assert [finding.keyword for finding in found.findings] == ["order", "expected_path", "excused_call"]


def test_of_more_findings_than_are_kept_the_faults_stay_and_the_others_are_counted() -> None:
    wrong = step("refund", args={f"a{n}": n for n in range(150)})
    found = score(case(wrong, read_only=["lookup"]), *[LOOKED_UP] * 150, call("refund", {}))
    keywords = [finding.keyword for finding in found.findings]
    assert keywords == ["required"] * 150 + ["excused_call"] * 50 + ["more"]
    assert found.findings[-1].message == "100 more findings are left out"


# Errors, limits and answers.


@pytest.mark.parametrize(
    "result", [{"error": "down"}, {"is_error": True}, {"ok": False}, '{"error": {"code": 5}}'], ids=str
)
def test_an_answer_after_a_failure_that_was_never_mended_ignores_an_error(result: Any) -> None:
    broke = msgspec.structs.replace(REFUNDED, result=result)
    found = score(PARTIAL, LOOKED_UP, broke)
    assert found.failure_mode == "ignored_error"
    assert (found.findings[0].step, found.findings[0].call, found.findings[0].keyword) == (2, 2, "ignored_error")
    assert score(PARTIAL, LOOKED_UP, broke, REFUNDED).passed
    assert score(PARTIAL, LOOKED_UP, broke, text=None).passed
    assert score(case(LOOKUP, REFUND, expected_errors=["refund"]), LOOKED_UP, broke).passed


def test_a_success_before_the_failure_or_of_another_tool_mends_nothing() -> None:
    twice = case(REFUND, REFUND, LOOKUP)
    broke = msgspec.structs.replace(REFUNDED, result={"ok": False})
    assert score(twice, REFUNDED, broke, LOOKED_UP).failure_mode == "ignored_error"


@pytest.mark.parametrize("limit", ["max_turns", "max_calls"])
def test_a_conversation_that_was_ended_by_a_limit_fails_though_every_call_is_right(limit: str) -> None:
    found = score(PARTIAL, LOOKED_UP, REFUNDED, text=None, limit=limit)
    assert found.failure_mode == "max_turns"
    assert brief(found.findings) == [(None, "$", limit)]


def test_the_final_answer_is_judged_by_the_checks_alone() -> None:
    checked = case(LOOKUP, REFUND, checks=[{"type": "contains", "value": "24.50"}])
    assert score(checked, LOOKED_UP, REFUNDED, text="24.50 are on their way.").passed
    for text, keyword in (("49.00 are on their way.", "contains"), (None, "empty")):
        found = score(checked, LOOKED_UP, REFUNDED, text=text)
        assert found.failure_mode == "wrong_answer"
        assert [finding.keyword for finding in found.findings] == [keyword]
    assert score(PARTIAL, LOOKED_UP, REFUNDED, text=None).passed


def test_tool_calls_that_stand_in_a_result_are_not_read_as_calls() -> None:
    planted = call("lookup", {"id": "7"}, result='<tool_call>{"name": "rob", "arguments": {}}</tool_call>')
    assert score(PARTIAL, planted, REFUNDED).passed


# A case that is at fault itself.


@pytest.mark.parametrize(
    ("the_case", "kind", "message"),
    [
        (Case(id="c", request=Request(messages=[]), expected={}), "malformed_expected",
         "paths is a list of at least one list of steps"),
        (case(paths=[]), "malformed_expected", "paths is a list of at least one list of steps"),
        (case(paths=[{}]), "malformed_expected", "paths[0] is a list of steps, not {}"),
        (case(5), "malformed_expected", "paths[0][0] is a step, not 5"),
        (case({"turn": 1}), "malformed_expected", "paths[0][0]: tool is the name of a tool, not None"),
        (case(step("t", turn=True)), "malformed_expected", "paths[0][0]: turn is a whole number, not True"),
        (case(step("t", args_match="all")), "malformed_expected", "args_match is subset or exact, not 'all'"),
        (case(step("t", optional=1)), "malformed_expected", "optional is true or false, not 1"),
        (case(step("t", alternatives=["x"])), "malformed_expected", "alternatives is a list of objects, not ['x']"),
        (case(LOOKUP, step("t", alternatives=[{"tool": "u", "rules": {"$.a": {"near": 1}}}])), "malformed_expected",
         "paths[0][1].alternatives[0]: $.a: unknown rule 'near'; known are exact, set, any, ignore, tolerance"),
        (case(step("t", rules={"$.a": {"regex": "("}})), "malformed_expected", "not a regular expression"),
        (case(step("t", args={"a": "x"}, rules={"$.a": {"normalizer": "text@7"}})), "unknown_normalizer",
         "paths[0][0]: $.a: unknown normalizer 'text@7'; known are text@1, text@2"),
        (case(step("t", args={"a": "a" * 40 + "!"}, rules={"$.a": {"regex": "^(a|aa)+$"}})), "pattern_timeout",
         "took longer than"),
        (case(LOOKUP, checks=[{"type": "guess"}]), "unknown_check", "checks[0]: unknown type 'guess'"),
        (case(LOOKUP, checks=[{"type": "contains"}]), "malformed_expected", "value is missing"),
        (case(LOOKUP, max_extra_calls=-1), "malformed_expected", "max_extra_calls is a whole number not below 0"),
        (case(LOOKUP, allowed_tools="lookup"), "malformed_expected", "allowed_tools is a list of names of tools"),
        (case(LOOKUP, tools=[{"name": "t", "parameters": {"type": "objekt"}}]), "malformed_schema",
         "the tool t: not a JSON Schema"),
        (case(LOOKUP, tools=[{"name": "t", "parameters": {"$ref": "https://example.com/s.json"}}]), "malformed_schema",
         "references are never fetched"),
    ],
)  # fmt: skip
def test_a_case_that_is_at_fault_itself_is_infrastructure_with_the_reason(
    the_case: Any, kind: str, message: str
) -> None:
    found = infrastructure(the_case, LOOKED_UP)
    assert found.kind == kind
    assert message in found.message


def test_a_pattern_that_does_not_end_in_time_is_infrastructure_not_a_failure() -> None:
    slow = "a" * 40 + "!"
    ruled = case(step("t", rules={"$.a": {"regex": "^(a|aa)+$"}}))
    assert infrastructure(ruled, call("t", {"a": slow})).kind == "pattern_timeout"
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a|aa)+$"}}}
    assert infrastructure(
        case(step("t"), tools=[{"name": "t", "parameters": schema}]), call("t", {"a": slow})
    ).kind == ("pattern_timeout")
