import json
import keyword
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.json_text import parse_json
from evaluator.tool_calls import MOST_CALLS, WRAPPERS, Reading, in_text
from evaluator.transcript import Call, well_formed

TOOLS = ("lookup_order", "issue_refund", "shop.search")
QUADRATIC = 10  # seconds of CPU; what is linear takes less than one, what is not would take minutes

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name) and name not in ("true", "false", "null")
)
CALLS = st.lists(st.tuples(st.sampled_from(TOOLS), st.dictionaries(NAMES, JSON, max_size=3)), min_size=1, max_size=4)
SYNTAX = st.lists(
    st.sampled_from(
        [
            *"{}[]()\"'`,:=\\.- \n",
            "<tool_call>",
            "</tool_call>",
            "<function=f>",
            "</function>",
            "<tool_response>",
            "<think>",
            "</think>",
            "<|python_tag|>",
            "[TOOL_CALLS]",
            "```",
            "json",
            "lookup_order",
            "lookup_order(",
            '{"name": "lookup_order", "arguments": {"a": 1}}',
            '"""',
            "a=1",
            "\ud800",
            "\u2028",
            "\x00",
            "lambda: ",
            "f'{",
        ]
    ),
    max_size=30,
).map("".join)


def read(text: str) -> list[tuple[str, object]]:
    """The calls of `text`, none of which may have a fault, with their arguments as values."""
    calls = in_text(text, TOOLS).calls
    assert [call.fault for call in calls] == [None] * len(calls)
    return [(call.tool, parse_json(call.arguments)) for call in calls]


def only(text: str) -> Call:
    (call,) = in_text(text, TOOLS).calls
    return call


def objects(calls, key="arguments"):
    return [{"name": name, key: arguments} for name, arguments in calls]


def python(calls):
    return [f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})" for name, arguments in calls]


@given(CALLS, st.sampled_from([False, True]))
def test_tagged_calls_are_read_back(calls, ascii_only):
    text = "".join(
        f"<tool_call>\n{json.dumps(item, ensure_ascii=ascii_only)}\n</tool_call>\n" for item in objects(calls)
    )
    assert read(text) == calls
    assert read("I look it up.\n" + text) == calls
    assert read(text.rstrip().removesuffix("</tool_call>")) == calls
    assert read(text.replace("\n</tool_call>\n", "")) == calls


@given(CALLS)
def test_function_tags_are_read_back(calls):
    assert read("".join(f"<function={name}>{json.dumps(given)}</function>" for name, given in calls)) == calls


@given(CALLS, st.sampled_from(["arguments", "args", "parameters"]))
def test_json_is_read_back_bare_fenced_listed_and_in_a_row(calls, key):
    items = objects(calls, key)
    for text in (
        json.dumps(items),
        json.dumps(items, ensure_ascii=False, indent=2),
        json.dumps({"tool_calls": [{"type": "function", "function": item} for item in items]}),
        "\n".join(map(json.dumps, items)),
        "```json\n" + json.dumps(items, ensure_ascii=False) + "\n```",
        "[TOOL_CALLS]" + json.dumps(items),
        "<|python_tag|>" + "; ".join(map(json.dumps, items)),
        "First:\n```json\n" + json.dumps(items) + "\n```\nThat is all.",
    ):
        assert read(text) == calls


@given(CALLS)
def test_python_style_calls_are_read_back_bracketed_in_lines_and_fenced(calls):
    written = python(calls)
    for text in ("[" + ", ".join(written) + "]", "\n".join(written), "```python\n" + "\n".join(written) + "\n```"):
        assert read(text) == calls


@given(SYNTAX | st.text(st.characters()))
def test_it_never_raises_and_a_text_without_calls_is_given_back(text):
    reading = in_text(text, TOOLS)
    for call in reading.calls:
        assert call.wrapper in WRAPPERS
        assert call.fault or call.tool
        (call.tool + call.arguments + (call.fault or "")).encode()
    if not reading.calls:
        assert (reading.text or "") == well_formed(text)


def test_the_wrapper_is_recorded():
    for text, wrapper in (
        ('<tool_call>{"name": "lookup_order", "arguments": {}}</tool_call>', "tool_call_tag"),
        ("<function=lookup_order>{}</function>", "tool_call_tag"),
        ('<|python_tag|>{"name": "lookup_order", "parameters": {}}', "tool_call_tag"),
        ('{"name": "lookup_order", "arguments": {}}', "json"),
        ("lookup_order()", "python"),
    ):
        assert only(text) == Call(tool="lookup_order", wrapper=wrapper)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('Looking.\n<tool_call>{"name": "f"}</tool_call>\nOne moment.', "Looking.\n\nOne moment."),
        ('Next:\n```json\n{"name": "lookup_order", "args": {}}\n```\nDone.', "Next:\nDone."),
        ('<think>It is 4821.</think>\n{"name": "f", "args": {}}', "<think>It is 4821.</think>"),
        ("lookup_order()", None),
        ("", None),
    ],
)
def test_what_stands_beside_the_calls_is_left(text, left):
    assert in_text(text, TOOLS).text == left


@pytest.mark.parametrize(
    "text",
    [
        "I would call lookup_order(order_id=4821) now.",
        "lookup_order(order_id) gives the status (if there is one)",
        "lookup_order(4) isn't needed, is it?",
        'The format is {"name": "lookup_order", "arguments": {}}.',
        '{"name": "Ann", "parameters": {"age": 3}, "city": "Rome"}',
        '{"name": "lookup_order"}',
        '{"answer": "<tool_call>{\\"name\\": \\"lookup_order\\"}</tool_call>"}',
        '"<tool_call>{}</tool_call>"',
        '[{"name": "lookup_order", "arguments": {}}, {"total": 3}]',
        "[]",
        "Use the <tool_call> tag, then wait.",
        'The result was "<tool_call>{"name": "lookup_order", "arguments": {}}</tool_call>".',
        "Write `<tool_call>{}</tool_call>` to call.",
        '<tool_response>{"note": "x"} <tool_call>{"name": "f"}</tool_call></tool_response>',
        '<tool_response><tool_call>{"name": "f"}</tool_call>',
        '<think>I could <tool_call>{"name": "f"}</tool_call></think>No.',
        '<think>lookup_order() or <tool_call>{"name": "f"}</tool_call>',
        "```\nprint()\n```\n```\nlookup_order()\n```",
        '```json\n{"name": "other", "arguments": {}}\n```\nis how others do it',
        "print(1)",
        "[note(x)]",
        "[f(a=1)](https://example.org)",
        "lookup_order(order_id='1') + 2",
        "lookup_order(order_id='1')\nprint()",
        "[1, 2]",
        "x = lookup_order()",
    ],
)
def test_prose_quotations_and_answers_are_no_calls(text):
    assert in_text(text, TOOLS) == Reading([], text)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('[other(a=1), lookup_order(order_id="4821")]', [("other", {"a": 1}), ("lookup_order", {"order_id": "4821"})]),
        ("shop.search(query='a', limit=-3)", [("shop.search", {"query": "a", "limit": -3})]),
        (
            "lookup_order(a=(1, [None]), b={'c': true}, d=+1.5,)",
            [("lookup_order", {"a": [1, [None]], "b": {"c": True}, "d": 1.5})],
        ),
        ("lookup_order(\n    order_id='a' 'b',\n)", [("lookup_order", {"order_id": "ab"})]),
        (r"lookup_order(pattern='\d+')", [("lookup_order", {"pattern": r"\d+"})]),
        ("lookup_order(text='<tool_call>{}</tool_call>')", [("lookup_order", {"text": "<tool_call>{}</tool_call>"})]),
        ('{"name": "new_tool", "arguments": {"a": 1}}', [("new_tool", {"a": 1})]),
        ('{"name": "lookup_order", "args": {}, "why": "to see"}', [("lookup_order", {})]),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', [("f", {"a": 1})]),
        ('<tool_call>\n```json\n{"name": "f", "arguments": {}}\n```\n</tool_call>', [("f", {})]),
        ('<tool_call>{"name": "f"}</tool_call>', [("f", {})]),
        ('<tool_call>[{"name": "f"}, {"name": "g"}]</tool_call>', [("f", {}), ("g", {})]),
        ('<tool_call><function=f>{"a": 1}</function></tool_call>', [("f", {"a": 1})]),
        ("<function=f></function>", [("f", {})]),
        ('<tool_call>{"name": "f", "arguments": {"t": "</tool_call>"}}</tool_call>', [("f", {"t": "</tool_call>"})]),
        ('<|python_tag|>shop.search(query="x")', None),
    ],
)
def test_what_is_read(text, calls):
    assert read(text) == ([("shop.search", {"query": "x"})] if calls is None else calls)


@pytest.mark.parametrize(
    ("text", "tool", "fault"),
    [
        (
            '<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>',
            "f",
            "not JSON: Expecting ',' delimiter (line 1, column 36)",
        ),
        (
            '<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>',
            "f",
            "not a JSON number: NaN (line 1, column 34)",
        ),
        (
            '<tool_call>\n{"name": "f",\n "name": "g"}\n</tool_call>',
            "f",
            'a key stands twice in one object: "name" (line 2, column 2)',
        ),
        (
            '<tool_call>{"arguments": {}}</tool_call>',
            "",
            "the JSON in the tag is no call: it has no name (line 1, column 1)",
        ),
        ("<tool_call></tool_call>", "", "not JSON: Expecting value (line 1, column 1)"),
        (
            '<tool_call>{"name": "f"',
            "f",
            "not JSON: Expecting ',' delimiter (line 1, column 13), and the tag is not closed",
        ),
        (
            "<function=f>{a: 1}</function>",
            "f",
            "not JSON: Expecting property name enclosed in double quotes (line 1, column 2)",
        ),
        (
            "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
            "f",
            "arguments in tags of their own have no types and are not read (line 1, column 1)",
        ),
        (
            '{"name": "lookup_order", "arguments": {"order_id": "4821"}',
            "lookup_order",
            "not JSON: Expecting ',' delimiter (line 1, column 59)",
        ),
        (
            '{"name": "lookup_order", "arguments": {}} I will wait.',
            "lookup_order",
            "not JSON: Extra data (line 1, column 43)",
        ),
        ("[TOOL_CALLS]lookup it up", "", "not JSON: Expecting value (line 1, column 1)"),
        ('<|python_tag|>{"a": 1}', "", "the JSON after the marker is no call"),
        ("lookup_order('4821')", "lookup_order", "an argument without a name (line 1, column 14)"),
        ("lookup_order(\n  a=1,\n  b=é, c=os)", "lookup_order", "not a literal (line 3, column 5)"),
        ("[lookup_order(a=1), issue_refund(amount=total)]", "issue_refund", "not a literal (line 1, column 21)"),
        ("lookup_order(a=b'x')", "lookup_order", "not a literal that JSON has (line 1, column 16)"),
        ("lookup_order(a=1e999)", "lookup_order", "not a literal that JSON has (line 1, column 16)"),
        ("lookup_order(a={1: 2})", "lookup_order", "a key that is no string (line 1, column 17)"),
        (
            "lookup_order(a={'k': 1, 'k': 2})",
            "lookup_order",
            "a key stands twice in one dictionary (line 1, column 25)",
        ),
        ("lookup_order(**order)", "lookup_order", "arguments behind ** are no literals (line 1, column 16)"),
        ("lookup_order(a=__import__('os'))", "lookup_order", "not a literal (line 1, column 16)"),
        ("lookup_order(a=[1, 2", "lookup_order", "not Python: '[' was never closed (line 1, column 16)"),
    ],
)
def test_a_malformed_call_says_why_and_where_it_broke(text, tool, fault):
    faults = [call for call in in_text(text, TOOLS).calls if call.fault]
    assert [(call.tool, call.fault) for call in faults] == [(tool, fault)]


def test_a_malformed_call_keeps_the_text_as_it_came():
    assert only('<tool_call>\n{"name": oops}\n</tool_call>').arguments == '{"name": oops}'
    assert in_text("[lookup_order(), issue_refund(amount=é)]", TOOLS).calls[1].arguments == "issue_refund(amount=é)"


def test_a_malformed_call_beside_a_good_one_takes_nothing_from_it():
    calls = in_text('<tool_call>{"name: 1}</tool_call><tool_call>{"name": "f"}</tool_call>', TOOLS).calls
    assert [(call.tool, call.fault is None) for call in calls] == [("", False), ("f", True)]


@pytest.mark.parametrize(
    "unit",
    [
        '<tool_call>{"name": "f"}</tool_call>',
        "lookup_order()\n",
        '{"name": "f", "args": {}}\n',
        "```\nlookup_order()\n```\n",
    ],
)
def test_calls_beyond_the_bound_are_one_call_that_says_so(unit):
    calls = in_text(unit * (MOST_CALLS + 50), TOOLS).calls
    assert len(calls) == MOST_CALLS + 1
    assert [call.fault for call in calls[:-1]] == [None] * MOST_CALLS
    assert calls[-1].fault is not None
    assert "1000" in calls[-1].fault


@pytest.mark.parametrize(
    "text",
    [
        "lookup_order(a=" + "[" * 5000 + "]" * 5000 + ")",
        "lookup_order(a=" + "-" * 100_000 + "1)",
        "lookup_order(a=1" + "+1" * 90_000 + ")",
        "lookup_order(a=x" + ".x" * 90_000 + ")",
        "lookup_order(a=" + "9" * 5000 + ")",
        "lookup_order(a='" + "x" * 300_000 + "')",
        '{"name": "lookup_order", "arguments": ' + "[" * 5000 + "]" * 5000 + "}",
        '<tool_call>{"name": "lookup_order", "arguments": {"a": ' + "[" * 5000 + "]" * 5000 + "}}</tool_call>",
    ],
)
def test_what_would_exhaust_a_parser_is_a_call_with_a_fault(text):
    call = only(text)
    assert call.tool == "lookup_order"
    assert call.fault is not None


def test_a_number_that_python_would_not_print_is_a_fault():
    call = only("lookup_order(a=0x" + "f" * 10_000 + ")")
    assert call.fault is not None


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"' * 15_000,
        '"<tool_call></tool_call>"' * 8000 + '"',
        '<tool_call>"\\' + '"\\' * 100_000,
        "x <tool_call>" + '"<tool_call>\\"c"\n' * 12_000,
        "<function=f>" * 15_000,
        "<tool_response>" * 15_000,
        "lookup_order(" * 15_000,
        "lookup_order(a='" + "\\'" * 90_000,
        "[lookup_order(), " * 12_000,
        "```\n" * 50_000,
        '{"name": "lookup_order", "arguments": ' * 5000,
        "<think>" * 30_000,
    ],
)
def test_the_time_is_linear(text):
    start = time.process_time()
    in_text(text, TOOLS)
    assert time.process_time() - start < QUADRATIC


def test_half_a_character_is_replaced_where_it_enters():
    assert only(r"lookup_order(a='\ud800')").arguments == '{"a": "\ufffd"}'
    assert only('<tool_call>{"name": "f", "arguments": {"a": "\ud800"}}</tool_call>').arguments == '{"a": "\ufffd"}'
