from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evaluator import yaml_text
from evaluator.errors import UserError
from evaluator.yaml_scalars import quoted


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        yaml_text.load(text, "f.yaml")
    assert caught.value.code == "yaml-invalid"
    return str(caught.value)


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(yaml_text, "_LOADER", getattr(yaml, request.param))
    return str(request.param)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("a: 1\nb: [x, {c: yes}, ~]\n", {"a": 1, "b": ["x", {"c": True}, None]}),
        ("a: 0x1F\nb: 0b11\nc: 1_000\nd: -5\ne: +1\n", {"a": 31, "b": 3, "c": 1000, "d": -5, "e": 1}),
        ("a: .5\nb: 1.0e+3\nc: -2.50\n", {"a": 0.5, "b": 1000.0, "c": -2.5}),
        ("a: 'on'\nb: \"1\"\nc: !!str 1\n", {"a": "on", "b": "1", "c": "1"}),
        ("a: |\n  one\n  two\nb: >-\n  one\n  two\n", {"a": "one\ntwo\n", "b": "one two"}),
        ("a: =\n", {"a": "="}),
    ],
)
def test_a_document_has_the_values_that_yaml_gives_it(loader: str, text: str, value: Any) -> None:
    assert yaml_text.load(text, "f.yaml").value == value


@pytest.mark.parametrize("scalar", ["2020-01-01", "2020-01-01T00:00:00Z", "12:30", "1:30.5", "007", "-012", "1e5"])
def test_what_only_yaml_1_1_takes_for_a_date_or_number_stays_text(loader: str, scalar: str) -> None:
    assert yaml_text.load(f"a: {scalar}", "f.yaml").value == {"a": scalar}


def test_a_position_is_the_line_and_column_of_the_value_and_of_its_key(loader: str) -> None:
    document = yaml_text.load("a: 1\nlist:\n  - x\n  - {inner: [7, 8]}\n", "f.yaml")
    assert document.position(("a",)) == (1, 4)
    assert document.key_position(("list",)) == (2, 1)
    assert document.position(("list", 0)) == (3, 5)
    assert document.key_position(("list", 1, "inner")) == (4, 6)
    assert document.position(("list", 1, "inner", 1)) == (4, 17)


def test_the_position_of_what_is_missing_is_that_of_the_nearest_value_above_it() -> None:
    document = yaml_text.load("a:\n  b: {c: 1}\n", "f.yaml")
    assert document.position(("a", "b", "x", "y")) == (2, 6)
    assert document.key_position(("a", "b", "x")) == (2, 6)


def test_columns_count_characters_not_bytes(loader: str) -> None:
    assert yaml_text.load("é: {ü: x}\n", "f.yaml").position(("é", "ü")) == (1, 8)


def test_offsets_of_a_scalar_cut_its_source_out_of_the_text(loader: str) -> None:
    text = "é: plain # c\r\nb: 'quoted'\r\n"
    document = yaml_text.load(text, "f.yaml")
    sources = [text[node.start : node.end] for node in document.root.children.values()]
    assert sources == ["plain", "'quoted'"]


def test_merge_keys_fill_in_what_a_mapping_does_not_have_itself(loader: str) -> None:
    text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {<<: [*b, {z: 4, x: 5}]}\n"
    document = yaml_text.load(text, "f.yaml")
    assert document.value["one"] == {"x": 1, "y": 3}
    assert document.value["two"] == {"x": 1, "y": 2, "z": 4}
    assert document.position(("one", "x")) == (1, 14)


def test_a_quoted_merge_key_is_a_key() -> None:
    assert yaml_text.load("{'<<': 1}", "f.yaml").value == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 'f.yaml:3:1: key "a" appears twice, first in line 1'),
        ("on: 1\n", 'f.yaml:1:1: key on is read as true, not as text\n    Put it in quotes: "on".'),
        ("12: 1\n", 'f.yaml:1:1: key 12 is read as 12, not as text\n    Put it in quotes: "12".'),
        ("~: 1\n", "f.yaml:1:1: a key must be text, and this one is empty\n    Write the key before the colon."),
        ("? [a]\n: 1\n", "f.yaml:1:3: a key must be text, and this one is a list or mapping"),
        ("a: .inf\n", 'f.yaml:1:4: ".inf" is not a finite number'),
        ("a: .NaN\n", 'f.yaml:1:4: ".NaN" is not a finite number'),
        ("a: 1.0e+999\n", 'f.yaml:1:4: "1.0e+999" is not a finite number'),
        ("a: 9223372036854775808\n", 'f.yaml:1:4: "9223372036854775808" does not fit in 64 bits'),
        ("a: &x [*x]\n", "f.yaml:1:8: alias *x contains itself"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document begins here; one is read\n    Remove the line `---`."),
        ("\ufeffa: 1\n", "f.yaml:1:1: the file begins with a byte-order mark\n    Save the file as UTF-8 without it."),
        (
            "a: 1\nb: x\x07\n",
            "f.yaml:2:5: control character U+0007\n    Remove it, or write it as an escape in quotes.",
        ),
        ("a: \ud800\n", "f.yaml:1:4: control character U+D800\n    Remove it, or write it as an escape in quotes."),
        ('a: "\\0"\n', "f.yaml:1:4: text with a NUL character or half a surrogate pair cannot be kept"),
        (
            "a: !!python/object:os.system x\n",
            'f.yaml:1:4: tag "tag:yaml.org,2002:python/object:os.system" is not supported; write the plain value',
        ),
        ("a: !!int x\n", 'f.yaml:1:4: "x" is not a whole number that can be read'),
        ("a: !!bool x\n", 'f.yaml:1:4: "x" is not a boolean'),
        ("a: !!set {b}\n", 'f.yaml:1:4: tag "tag:yaml.org,2002:set" is not supported\n    Write the plain value.'),
        ("a: {<<: 1}\n", "f.yaml:1:9: << merges mappings, and this is none"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(loader: str, text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_tab_in_the_indentation_is_explained() -> None:
    assert refusal("a:\n\tb: 1\n") == (
        "f.yaml:2:1: not valid YAML: while scanning for the next token found character that cannot start any token\n"
        "    YAML is indented with spaces, never with tabs; text that begins with @, ` or % needs quotes."
    )


def test_an_unquoted_colon_in_text_is_explained() -> None:
    assert refusal("a: b: c\n") == (
        "f.yaml:1:5: not valid YAML: mapping values are not allowed in this context\n"
        '    Text that contains ": " needs quotes; else the indentation of this line or the one above is off.'
    )


def test_an_alias_without_an_anchor_names_both() -> None:
    assert refusal("a: *gone\n") == "f.yaml:1:4: alias *gone has no anchor &gone before it"


def test_all_faults_that_leave_the_structure_readable_are_reported_together() -> None:
    assert refusal("a: 1\na: 2\nb: .nan\nyes: 3\n").splitlines() == [
        'f.yaml:2:1: key "a" appears twice, first in line 1',
        'f.yaml:3:4: ".nan" is not a finite number',
        "f.yaml:4:1: key yes is read as true, not as text",
        '    Put it in quotes: "yes".',
    ]


def test_many_faults_are_cut_off() -> None:
    assert len(refusal("".join("a: 1\n" for _ in range(1000))).splitlines()) == yaml_text.MAX_PROBLEMS


@pytest.mark.parametrize("opener", ["[", "{a: ", "- ", "? "])
def test_depth_is_bounded(loader: str, opener: str) -> None:
    assert "nested more than 100 levels deep" in refusal(opener * 300)


@pytest.mark.parametrize("opener", ["[", "[\n", "{a: ", "{a:\n"])
def test_a_hundred_thousand_brackets_end_no_process(opener: str) -> None:
    assert "nest" in refusal(opener * 100_000)


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    levels = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 40)]
    assert "more than 200000 values once aliases are expanded" in refusal("\n".join(levels))


def test_size_is_bounded() -> None:
    message = "f.yaml: larger than 1024 KiB, the most that is read of such a file"
    assert refusal("a: " + "x" * yaml_text.MAX_BYTES) == message
    assert refusal("a: " + "é" * (yaml_text.MAX_BYTES // 2)) == message


def test_a_file_is_read_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("a: é\r\n".encode())
    assert yaml_text.read(path, "f.yaml") == "a: é\r\n"
    path.write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(UserError) as caught:
        yaml_text.read(path, "f.yaml")
    assert str(caught.value) == "f.yaml:2:4: not UTF-8 text\n    Save the file in the encoding UTF-8."


def test_a_file_is_not_read_beyond_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b" " * (yaml_text.MAX_BYTES + 1))
    with pytest.raises(UserError, match="larger than 1024 KiB"):
        yaml_text.read(path, "f.yaml")


def test_quoted_text_is_short_on_one_line_and_printable() -> None:
    assert quoted('say "hi"\n') == '"say \\"hi\\"\\n"'
    assert quoted("\x1b[31m\x9b\u2028\ud800\u202e") == '"\\u001b[31m\\x9b\\u2028\\ud800\\u202e"'
    assert quoted("x" * 100) == '"' + "x" * 59 + '…"'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcé :#'\"-\n", max_size=6), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(json_values)
def test_both_loaders_give_back_what_was_dumped(value: Any) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    loaded = []
    for name in ("CSafeLoader", "SafeLoader"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(yaml_text, "_LOADER", getattr(yaml, name))
            loaded.append(yaml_text.load(text, "f.yaml").value)
    assert json.dumps(loaded[0]) == json.dumps(loaded[1])
    assert loaded[0] == value


@given(
    st.text(alphabet=st.characters(codec=None), max_size=60) | st.text(" \n\t-:[]{},&*a!|>'\"#%@?<~01.", max_size=60)
)
def test_any_text_loads_or_is_refused_as_a_user_error(text: str) -> None:
    with contextlib.suppress(UserError):
        json.dumps(yaml_text.load(text, "f.yaml").value, allow_nan=False).encode()
