from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.config.edit import Scalar, set_scalar
from evaluator.errors import UserError
from evaluator.yaml_text import load

TEXT = """\
# head
baseline: # the stored results
  path: 'a b.json'   # quoted
  allow_missing: true # until the first accept
other: "x"
flow: {store: file, n: [1, 2]}
"""


@pytest.mark.parametrize(
    ("path", "new", "before", "after"),
    [
        (("baseline", "allow_missing"), False, "allow_missing: true #", "allow_missing: false #"),
        (("baseline", "path"), "it's", "'a b.json'   #", "'it''s'   #"),
        (("baseline", "path"), "two\nlines", "'a b.json'   #", '"two\\nlines"   #'),
        (("other",), 'say "hi"', '"x"', '"say \\"hi\\""'),
        (("other",), 3, '"x"', "3"),
        (("other",), None, '"x"', "null"),
        (("flow", "store"), "git", "store: file", "store: git"),
        (("flow", "store"), "a, b", "store: file", 'store: "a, b"'),
        (("flow", "store"), "on", "store: file", 'store: "on"'),
        (("flow", "store"), "x # y", "store: file", 'store: "x # y"'),
        (("flow", "n", 1), 2.5, "[1, 2]", "[1, 2.5]"),
    ],
)
def test_only_the_value_changes(path: tuple[str | int, ...], new: Scalar, before: str, after: str) -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n"), "# ü\n" + TEXT):
        assert set_scalar(text, path, new) == text.replace(before, after)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("a: {b: 1}\n", ("a",), "trap.yaml:1:4: a: there is no single value to change\n    Edit a by hand."),
        ("a: {b: 1}\n", ("a", "c"), "trap.yaml:1:4: a.c: there is no single value to change\n    Edit a.c by hand."),
        ("a: &x 1\nb: *x\n", ("a",), "trap.yaml:1:4: a: the value cannot be changed in place\n    Edit a by hand."),
        ("a: &x 1\nb: *x\n", ("b",), "trap.yaml:1:4: b: the value cannot be changed in place\n    Edit b by hand."),
        ("a: |\n  x\n", ("a",), "trap.yaml:1:4: a: the value cannot be changed in place\n    Edit a by hand."),
    ],
)
def test_what_cannot_be_changed_alone_is_left_to_the_user(text: str, path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(UserError) as caught:
        set_scalar(text, path, "new")
    assert caught.value.code == "yaml-not-editable"
    assert str(caught.value) == message


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text("ab :#'\"-,{}[]&*!\nü\u2028", max_size=8)
    | st.sampled_from(["yes", "1", "null", "~", "", "2020-01-01", "1:30", "007", "<<", "="])
)


@given(scalars, st.sampled_from([("baseline", "path"), ("other",), ("flow", "store"), ("flow", "n", 0)]))
def test_the_new_value_is_read_back_and_all_else_with_it(new: Scalar, path: tuple[str | int, ...]) -> None:
    before = load(TEXT, "t").value
    after = load(set_scalar(TEXT, path, new), "t")
    node = after.node(path)
    assert node is not None
    assert (node.value, type(node.value)) == (new, type(new))
    back = set_scalar(set_scalar(TEXT, path, new), path, "x")
    assert load(back, "t").value == load(set_scalar(TEXT, path, "x"), "t").value
    assert list(after.value) == list(before)
