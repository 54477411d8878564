"""Is the value of one argument right, by the rules of the Berkeley leaderboard's checker (docs/bfcl.md)?

Types are strict. Strings are compared without spaces, case and some punctuation; lists in order; what is nested deeper,
and a value whose type the accepted ones have and the declaration has not, by Python's own equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.outcome import MalformedError

# The words of function specs in these files. "any" stands for text.
TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
# Types that say which type their items have.
WITH_ITEMS = ("array", "tuple")

_FOLDED_AWAY = {ord(character): None for character in " ,./-_*^"}

Right = Callable[[Any], bool]


class Member(NamedTuple):
    """What is accepted for one key of an object: the values as they are `shown`, those that it is `among` as they are
    compared, and whether the key may be left out."""

    shown: Any
    among: list[Any]
    optional: bool


Form = dict[str, Member]
Path = list[str | int]
Parts = Callable[[Any, dict[str, Any]], Iterator[Finding]]


def folded(text: str) -> str:
    """`text` as strings are compared: no spaces, no `, . / - _ * ^`, lower case, `'` as `"`."""
    return text.translate(_FOLDED_AWAY).lower().replace("'", '"')


class Parameter(NamedTuple):
    """A parameter with the values that are right for it.

    `fault`: a value → None where it is right, else `wrong_type` or `wrong_value`. `wanted`: the accepted values, and
    `declared` the type, for findings. `parts`: where there is one accepted object or list, the parts of a value that
    differ from it.
    """

    path: str
    fault: Callable[[Any], str | None]
    wanted: Any
    declared: str
    parts: Parts | None

    def findings(self, value: Any, mode: str, place: dict[str, Any]) -> list[Finding]:
        """What is wrong with a value of which `fault` gave `mode`. `place`: fields that each finding gets."""
        if mode == "wrong_type":
            return [Finding(path=self.path, keyword="type", wanted=self.declared, got=bounded(value), **place)]
        found = list(self.parts(value, place)) if self.parts is not None else []
        return found or [Finding(path=self.path, keyword="value", wanted=self.wanted, got=bounded(value), **place)]


def compile_parameter(name: str, accepted: list[Any], declared: Any, items: Any = None) -> Parameter:
    """A parameter from its `accepted` values, its declared type and, of an array or tuple, the type of the items.

    An empty string among the values says that the parameter may be left out. Raises MalformedError.
    """
    wanted, inner = _type(declared), _type(items) if declared in WITH_ITEMS else None
    given = next((type(value) for value in accepted if value != ""), None)
    right, parts = _plain(accepted), None
    # Else the values have another type than the declaration, as a variable's name in place of a number.
    if given is None or given is wanted:
        right, parts = _by_type(name, accepted, wanted, inner)
    return Parameter(
        json_path([name]),
        _fault(right, _items_fit(accepted, inner), _plain(accepted), wanted, given),
        shown(accepted),
        declared if inner is None else f"{declared} of {items}",
        parts,
    )


def _type(word: Any) -> type:
    found = TYPES.get(word) if isinstance(word, str) else None
    if found is None:
        raise MalformedError(f"{bounded(word)!r} is no type; types are {', '.join(TYPES)}")
    return found


def _fault(
    right: Right, items_fit: Right | None, plainly_right: Right, wanted: type, given: type | None
) -> Callable[[Any], str | None]:
    def fault(value: Any) -> str | None:
        kind = type(value)
        if kind is int and wanted is float:
            try:
                value = float(value)
            except OverflowError:
                return "wrong_value"
            kind = float
        if kind is wanted:
            if items_fit is not None and not items_fit(value):
                return "wrong_type"
            return None if right(value) else "wrong_value"
        if kind is given:
            return None if plainly_right(value) else "wrong_value"
        return "wrong_type"

    return fault


def _items_fit(accepted: list[Any], inner: type | None) -> Right | None:
    """Whether the items of a list have the declared type, or that of the first item of an accepted list. None where any
    will do: a value that is no list vouches for every list, as it does upstream."""
    if inner is None or not all(isinstance(value, list) for value in accepted):
        return None
    allowed = [(inner, next((type(item) for item in value if item != ""), inner)) for value in accepted]

    def fit(value: list[Any]) -> bool:
        return any(all(type(item) in kinds for item in value) for kinds in allowed)

    return fit


def _by_type(name: str, accepted: list[Any], wanted: type, inner: type | None) -> tuple[Right, Parts | None]:
    """Whether a value of the declared type is right, and its parts that are not."""
    if wanted is str:
        texts = frozenset(folded(value) for value in accepted if type(value) is str)
        return lambda value: folded(value) in texts, None
    if wanted is dict:
        forms = [_form(value) for value in accepted if value != ""]
        return lambda value: any(_fits(form, value) for form in forms), _only(_of_object, forms, name)
    if wanted is not list:
        return _plain(accepted), None
    # Upstream reads a text as the list of its characters, so that an empty one makes an empty list right.
    lists = [list(value) for value in accepted if isinstance(value, list | str)]
    given = [value for value in accepted if isinstance(value, list)]
    if inner is dict:
        rows = [[_form(item) for item in value] for value in lists]
        parts = _only(_of_rows, [[_form(item) for item in value] for value in given], name)
        return lambda value: any(_all_fit(known, value) for known in rows), parts
    items = [_compared(value) for value in lists]
    return lambda value: _compared(value) in items, _only(_of_list, [_compared(value) for value in given], name)


def _only(differences: Callable[..., Iterator[Finding]], accepted: list[Any], name: str) -> Parts | None:
    """What tells the parts that differ; None where several are accepted, so that nobody knows from which."""
    return partial(differences, accepted[0], [name]) if len(accepted) == 1 else None


def _plain(accepted: list[Any]) -> Right:
    return lambda value: value in accepted


def _compared(values: list[Any]) -> list[Any]:
    return [folded(value) if type(value) is str else value for value in values]


def _form(value: Any) -> Form:
    if not isinstance(value, dict) or not all(isinstance(values, list) for values in value.values()):
        raise MalformedError(f"an accepted object has a list of values for each key, not {bounded(value)!r}")
    return {key: Member(shown(values), _compared(values), "" in values) for key, values in value.items()}


def _fits(form: Form, value: Any) -> bool:
    if type(value) is not dict:
        return False
    return all(key in form and _among(item, form[key]) for key, item in value.items()) and all(
        member.optional or key in value for key, member in form.items()
    )


def _all_fit(forms: list[Form], value: list[Any]) -> bool:
    return len(forms) == len(value) and all(map(_fits, forms, value))


def _among(item: Any, member: Member) -> bool:
    return (folded(item) if type(item) is str else item) in member.among


def _of_object(form: Form, path: Path, value: Any, place: dict[str, Any]) -> Iterator[Finding]:
    if type(value) is not dict:
        return
    for key, item in value.items():
        here = json_path([*path, key])
        if key not in form:
            yield Finding(path=here, keyword="unexpected_argument", got=bounded(item), **place)
        elif not _among(item, form[key]):
            yield Finding(path=here, keyword="value", wanted=form[key].shown, got=bounded(item), **place)
    for key, member in form.items():
        if key not in value and not member.optional:
            yield Finding(path=json_path([*path, key]), keyword="required", wanted=member.shown, **place)


def _of_rows(forms: list[Form], path: Path, value: list[Any], place: dict[str, Any]) -> Iterator[Finding]:
    if len(forms) != len(value):
        yield Finding(path=json_path(path), keyword="count", wanted=len(forms), got=len(value), **place)
        return
    for index, (form, item) in enumerate(zip(forms, value, strict=True)):
        yield from _of_object(form, [*path, index], item, place)


def _of_list(known: list[Any], path: Path, value: Any, place: dict[str, Any]) -> Iterator[Finding]:
    if len(known) != len(value):
        yield Finding(path=json_path(path), keyword="count", wanted=len(known), got=len(value), **place)
        return
    for index, (wanted, item, got) in enumerate(zip(known, _compared(value), value, strict=True)):
        if item != wanted:
            path_of_item = json_path([*path, index])
            yield Finding(path=path_of_item, keyword="value", wanted=bounded(wanted), got=bounded(got), **place)


def shown(accepted: list[Any]) -> Any:
    """Accepted values as a finding quotes them."""
    values = [value for value in accepted if value != ""]
    return bounded(values[0] if len(values) == 1 else values)
