"""An expected answer made wrong: what every judge must refuse. Pure.

Of a function call (an object with a name) the name is changed and nothing else. Of other JSON every leaf is changed, so
that it is wrong for any judge, whatever it looks at. Of a text the first word is kept, with every letter and digit
replaced: neither a keyword, nor a number, nor a length survives that.
"""

from __future__ import annotations

import json
import re
from typing import Any

from evaluator.json_text import JsonFault, parse_json

_NAMES = ("name", "function", "function_name")
_WORD = re.compile(r"\S+")


def mutant(gold: str) -> str:
    """A wrong answer of the same form as `gold`; never equal to it."""
    value = parse_json(gold.strip())
    if not isinstance(value, JsonFault) and not isinstance(value, str):
        return json.dumps(_changed_call(value) or _changed(value), ensure_ascii=False)
    word = _WORD.search(gold)
    changed = "".join(map(_other, word.group())) if word else ""
    return changed if changed not in ("", gold.strip()) else "mutant"


def _changed_call(value: Any) -> Any:
    for key in _NAMES:
        if isinstance(value, dict) and isinstance(value.get(key), str) and value[key]:
            return value | {key: f"{value[key]}_mutant"}
    return None


def _changed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _changed(item) for key, item in value.items()} or {"mutant": True}
    if isinstance(value, list):
        return [_changed(item) for item in value] or ["mutant"]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value * 3 + 17
    if isinstance(value, float):
        return value * 3 + 17.25 if value != -8.625 else 0.0
    return mutant(value) if isinstance(value, str) and value else "mutant"


def _other(character: str) -> str:
    if character.isdigit():
        return str((int(character, 10) + 5) % 10) if character.isascii() else "0"
    if not character.isalpha():
        return character
    if not character.isascii():
        return "x"
    first = ord("a") if character.islower() else ord("A")
    return chr(first + (ord(character) - first + 13) % 26)
