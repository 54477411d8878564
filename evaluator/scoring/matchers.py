"""Every matcher kind of a trapstreet task: where it is made and in which version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evaluator.scoring import text_matchers as text
from evaluator.scoring.json_call import VERSIONS as JSON_CALL_VERSIONS
from evaluator.scoring.text_matchers import TextCheck

JSON_CALL = "json_call"

# kind → (version, function that compiles a definition). json_call stands apart: it reads a call, not a text.
TEXT_MATCHERS: dict[str, tuple[str, Callable[[dict[str, Any]], TextCheck]]] = {
    "numeric": ("numeric@1", text.compile_numeric),
    "leading_numeric": ("leading_numeric@1", text.compile_leading_numeric),
    "regex_required": ("regex_required@1", text.compile_regex_required),
    "leading_word": ("leading_word@1", text.compile_leading_word),
    "keywords_all": ("keywords_all@1", text.compile_keywords_all),
    "keywords_any": ("keywords_any@1", text.compile_keywords_any),
    "keywords_any_word": ("keywords_any_word@1", text.compile_keywords_any_word),
    "min_words": ("min_words@1", text.compile_min_words),
    "no_hedge": ("no_hedge@1", text.compile_no_hedge),
}


def kinds() -> list[str]:
    """Every kind that a matcher may have."""
    return [JSON_CALL, *TEXT_MATCHERS]


def versions() -> dict[str, str]:
    """kind → version; json_call has two."""
    named = {kind: version for kind, (version, _) in TEXT_MATCHERS.items()}
    return {JSON_CALL: JSON_CALL_VERSIONS["1"], "json_call_upstream": JSON_CALL_VERSIONS["upstream"], **named}
