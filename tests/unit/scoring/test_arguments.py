"""The arguments of one call against one form of a step."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.results import Finding
from evaluator.scoring.arguments import Form, compile_form
from evaluator.scoring.normalizers import UnknownNormalizerError
from evaluator.scoring.outcome import MalformedError
from tests.unit.scoring.test_arguments_multisets import VALUES

ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "odd key", "c.d"]), VALUES, max_size=3)


def form(args: Any = None, **rules: Any) -> Form:
    """Rules by the name of a field at the top."""
    by_path = {f"$.{name}": {rule: True} if isinstance(rule, str) else rule for name, rule in rules.items()}
    return compile_form({"tool": "t", **({} if args is None else {"args": args}), "rules": by_path})


def is_right(the_form: Form, **arguments: Any) -> bool:
    return the_form.right(arguments) == len(the_form.fields)


def wrong(the_form: Form, **arguments: Any) -> list[tuple[str, str]]:
    return [(finding.path, finding.keyword) for finding in the_form.findings(arguments, 1)]


def test_a_field_is_a_leaf_or_an_array_and_an_empty_object_is_a_leaf() -> None:
    args = {"a": 1, "b": {"c": "x", "d": {"e": None}}, "f": [1, {"g": 2}], "h": {}, "i": []}
    assert [field.path for field in form(args).fields] == ["$.a", "$.b.c", "$.b.d.e", "$.f", "$.h", "$.i"]


def test_without_args_or_with_none_expected_there_is_no_field() -> None:
    assert form().fields == form({}).fields == []


@given(ARGUMENTS)
def test_arguments_satisfy_the_form_that_is_made_of_them(arguments: dict[str, Any]) -> None:
    own = form(arguments)
    assert own.right(arguments) == len(own.fields)
    assert list(own.findings(arguments, 1)) == []
    assert not own.is_exceeded(arguments)


@given(ARGUMENTS, ARGUMENTS)
def test_every_field_is_either_right_or_a_finding(wanted: dict[str, Any], sent: dict[str, Any]) -> None:
    own = form(wanted)
    assert own.right(sent) + len(list(own.findings(sent, 1))) == len(own.fields)


@pytest.mark.parametrize(
    ("wanted", "got", "right"),
    [
        (1, 1.0, True),
        (1.0, 1, True),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (1, "1", False),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        (None, "", False),
        ({}, {}, True),
        ({}, [], False),
        ({}, {"x": 1}, False),
        ([], [], True),
        ([], {}, False),
        ([1, 2], [2, 1], True),
        ([1, 2], [1, 2, 2], False),
        ([{"a": 1}, {"b": [1, 2]}], [{"b": [2, 1]}, {"a": 1.0}], True),
        ("a", "A", False),
        ("\u00e9", "e\u0301", False),
    ],
)
def test_scalars_are_equal_by_type_and_arrays_are_multisets(wanted: Any, got: Any, right: bool) -> None:
    assert is_right(form({"x": wanted}), x=got) is right


def test_missing_is_not_null_and_null_is_not_missing() -> None:
    assert wrong(form({"x": None})) == [("$.x", "required")]
    assert wrong(form({"x": 1}), x=None) == [("$.x", "type")]


def test_members_of_an_object_count_each_by_itself() -> None:
    address = form({"address": {"city": "Bern", "zip": "3000"}})
    assert address.right({"address": {"city": "Bern", "zip": "3001"}}) == 1
    assert wrong(address, address={"zip": "3000"}) == [("$.address.city", "required")]
    assert wrong(address, address="Bern") == [("$.address.city", "required"), ("$.address.zip", "required")]


def test_a_finding_says_step_path_keyword_wanted_and_got() -> None:
    found = form({"amount": 24.5, "to": "Ada", "id": "4821"}).findings({"amount": 49.0, "id": 4821}, 3)
    assert list(found) == [
        Finding(path="$.amount", keyword="value", wanted=24.5, got=49.0, step=3),
        Finding(path="$.to", keyword="required", wanted="Ada", step=3),
        Finding(path="$.id", keyword="type", wanted="4821", got=4821, step=3),
    ]


def test_arguments_that_are_not_named_are_found_at_any_depth() -> None:
    own = form({"a": 1, "b": {"c": 2}, "free": {}}, skipped="ignore")
    sent = {"a": 1, "b": {"c": 2, "d": 3}, "free": {"x": 1}, "skipped": {"y": 1}, "odd key": [0]}
    assert own.is_exceeded(sent)
    assert [(finding.path, finding.got) for finding in own.unexpected(sent, 1)] == [('$["odd key"]', [0]), ("$.b.d", 3)]
    assert not own.is_exceeded({"a": 1, "b": 5, "free": {"x": 1}, "skipped": 2})


def test_a_form_without_args_has_nothing_to_exceed_and_one_with_empty_args_has() -> None:
    assert not form().is_exceeded({"x": 1})
    assert form({}).is_exceeded({"x": 1})


def test_of_very_many_arguments_too_many_only_the_first_are_told() -> None:
    assert len(list(form({}).unexpected({f"k{number}": 1 for number in range(5000)}, 1))) == 20


def test_arguments_that_cannot_be_read_have_no_right_field_and_none_too_many() -> None:
    assert form({"x": 1}).right(None) == 0
    assert not form({"x": 1}).is_exceeded(None)


def test_exact_keeps_the_order_of_arrays_and_makes_an_object_one_field() -> None:
    assert not is_right(form({"x": [1, 2]}, x="exact"), x=[2, 1])
    assert is_right(form({"x": [1, 2]}, x="exact"), x=[1.0, 2])
    whole = form({"x": {"a": 1, "b": [1, 2]}}, x="exact")
    assert len(whole.fields) == 1
    assert is_right(whole, x={"b": [1, 2], "a": 1})
    assert not is_right(whole, x={"a": 1, "b": [1, 2], "c": 0})


def test_set_takes_an_array_for_a_set() -> None:
    own = form({"x": [1, 2, {"a": 1}]}, x="set")
    assert is_right(own, x=[{"a": 1.0}, 2, 2, 1])
    assert not is_right(own, x=[1, 2])
    assert not is_right(own, x=[1, 2, {"a": 1}, 3])
    assert not is_right(own, x=1)


def test_any_wants_the_field_whatever_it_holds() -> None:
    own = form({"y": 1}, x="any")
    assert len(own.fields) == 2
    assert is_right(own, x=None, y=1)
    assert wrong(own, y=1) == [("$.x", "required")]


def test_ignore_makes_no_field_and_is_never_too_many() -> None:
    own = form({"x": {"deep": 1}, "y": 1}, x="ignore", z="ignore")
    assert [field.path for field in own.fields] == ["$.y"]
    assert is_right(own, y=1)
    assert not own.is_exceeded({"x": 5, "y": 1, "z": 0})


@pytest.mark.parametrize(
    ("got", "right"),
    [(24.5, True), (24.51, True), (24.49, True), (24.511, False), (25, False), ("24.5", False), (True, False),
     (None, False), (10**400, False), (1e308, False)],
)  # fmt: skip
def test_tolerance_is_measured_on_the_numbers_as_they_are_written(got: Any, right: bool) -> None:
    assert is_right(form({"x": 24.5}, x={"tolerance": 0.01}), x=got) is right


def test_tolerance_of_zero_is_equality_and_huge_integers_keep_their_digits() -> None:
    assert is_right(form({"x": 10**400}, x={"tolerance": 1}), x=10**400 + 1)
    assert not is_right(form({"x": 10**400}, x={"tolerance": 1}), x=10**400 + 2)
    assert is_right(form({"x": 1}, x={"tolerance": 0}), x=1.0)
    assert not is_right(form({"x": 1}, x={"tolerance": 0}), x=1.0000001)


def test_a_normalizer_compares_texts_by_what_it_leaves_of_them() -> None:
    own = form({"x": "Arrived damaged."}, x={"normalizer": "text@1"})
    assert is_right(own, x="  arrived DAMAGED")
    assert not is_right(own, x="arrived late")
    assert not is_right(own, x=["arrived damaged"])


def test_a_regex_is_found_in_a_string_and_in_nothing_else() -> None:
    own = form(x={"regex": "^[A-Z]{2}[0-9]+$"})
    assert is_right(own, x="CH12")
    assert not is_right(own, x="ch12")
    assert not is_right(own, x=12)


def test_one_of_takes_each_of_its_values_by_its_type() -> None:
    own = form(x={"one_of": ["late", 1, None, [1, 2]]})
    assert all(is_right(own, x=value) for value in ("late", 1.0, None, [2, 1]))
    assert not any(is_right(own, x=value) for value in ("Late", True, "1", [1], 2, {"late": 1}))


def test_findings_of_rules_say_what_was_asked_for() -> None:
    own = form(
        {"a": 1, "b": "x", "c": [1]}, a={"tolerance": 0.5}, b={"normalizer": "text@1"}, c="set",
        d={"regex": "^x"}, e={"one_of": [1, 2]}, f="any",
    )  # fmt: skip
    found = list(own.findings({"a": 2, "b": "y", "c": [2], "d": "y", "e": 3}, 1))
    assert found == [
        Finding(path="$.a", keyword="value", wanted=1, got=2, step=1, message="more than 0.5 away"),
        Finding(path="$.b", keyword="value", wanted="x", got="y", step=1, message="differs as text@1"),
        Finding(path="$.c", keyword="value", wanted=[1], got=[2], step=1, message="compared as sets"),
        Finding(path="$.d", keyword="pattern", wanted="^x", got="y", step=1),
        Finding(path="$.e", keyword="enum", wanted=[1, 2], got=3, step=1),
        Finding(path="$.f", keyword="required", step=1),
    ]


def test_a_rule_reaches_inside_objects_and_quoted_keys() -> None:
    own = compile_form(
        {
            "tool": "t",
            "args": {"a": {"b c": "X"}},
            "rules": {'$.a["b c"]': {"normalizer": "text@1"}, "$.a.d": {"any": True}},
        }
    )
    assert own.right({"a": {"b c": "x!", "d": 0}}) == 2


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"args": {}}, "tool is the name of a tool, not None"),
        ({"tool": "t", "args": []}, "args is an object, not []"),
        ({"tool": "t", "rules": []}, "rules is an object of paths and rules, not []"),
        ({"tool": "t", "rules": {"amount": {"any": True}}}, "the path of a rule begins with $, as in $.amount"),
        ({"tool": "t", "rules": {"$": {"any": True}}}, "a rule at $ is of no field"),
        ({"tool": "t", "rules": {"$.a b": {"any": True}}}, "'$.a b' is no path of keys"),
        ({"tool": "t", "rules": {'$["a]': {"any": True}}}, "is no path of keys"),
        ({"tool": "t", "rules": {"$.a[0].b": {"any": True}}}, "leads into an array, one field as a whole: put the"),
        ({"tool": "t", "rules": {"$.a": "any"}}, "$.a: a rule is an object of one member, one of exact, set"),
        ({"tool": "t", "rules": {"$.a": {"any": True, "set": True}}}, "a rule is an object of one member"),
        ({"tool": "t", "rules": {"$.a": {"fuzzy": 1}}}, "$.a: unknown rule 'fuzzy'; known are exact, set, any, ignore"),
        ({"tool": "t", "rules": {"$.a": {"any": False}}}, "the rule any takes no value but true, not False"),
        ({"tool": "t", "rules": {"$.a": {"exact": True}}}, "the rule exact needs a value in args to compare with"),
        ({"tool": "t", "rules": {"$.a": {"set": True}}, "args": {"a": 1}}, "the rule set goes with an array, not with"),
        ({"tool": "t", "rules": {"$.a": {"tolerance": -1}}, "args": {"a": 1}}, "tolerance is a number not below 0"),
        ({"tool": "t", "rules": {"$.a": {"tolerance": True}}, "args": {"a": 1}}, "tolerance is a number not below 0"),
        ({"tool": "t", "rules": {"$.a": {"tolerance": 1}}, "args": {"a": "1"}}, "goes with a number, not with '1'"),
        ({"tool": "t", "rules": {"$.a": {"tolerance": 1}}}, "goes with a number, not with no value in args"),
        ({"tool": "t", "rules": {"$.a": {"regex": "("}}}, "the pattern '(': not a regular expression"),
        ({"tool": "t", "rules": {"$.a": {"one_of": []}}}, "one_of is a list of at least one value, not []"),
        ({"tool": "t", "rules": {"$.a": {"regex": "^b"}}, "args": {"a": "c"}}, "'c' that the step gives is refused by"),
        ({"tool": "t", "rules": {"$.a.b": {"any": True}}, "args": {"a": 1}}, "$.a.b lies inside another field"),
        ({"tool": "t", "rules": {"$.a": {"any": True}, "$.a.b": {"any": True}}}, "$.a.b lies inside another field"),
        ({"tool": "t", "rules": {"$.a.b": {"any": True}, "$.a": {"any": True}}}, "$.a holds another field"),
        ({"tool": "t", "rules": {"$.a": {"any": True}, '$["a"]': {"any": True}}}, "two rules are of one field"),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_used_is_refused_with_what_is_wanted(definition: Any, message: str) -> None:
    with pytest.raises(MalformedError) as refused:
        compile_form(definition)
    assert message in str(refused.value)


def test_an_unknown_normalizer_is_an_error_of_its_own_that_names_the_field() -> None:
    with pytest.raises(UnknownNormalizerError, match=r"^\$\.x: unknown normalizer 'text@9'; known are text@1, text@2$"):
        form({"x": "a"}, x={"normalizer": "text@9"})
