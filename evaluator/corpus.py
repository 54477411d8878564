"""The tool `search` over a task's own passages: the same query finds the same texts, everywhere and always. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from evaluator.cases import Passage

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Search a small library of texts. The best passages come back, each with its title in brackets.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words to look for."}},
        "required": ["query"],
    },
    "read_only": True,
}
MOST_PASSAGES = 3
NOTHING = "No results."

_TOKEN = re.compile(r"[^\W_]+")


def search(corpus: Sequence[Passage], query: str) -> str:
    """The passages that share the most tokens with `query`, at most `MOST_PASSAGES`, ties in the corpus' order, each as
    "[Title] text", with a blank line between; `NOTHING` where none shares any.

    Tokens are runs of letters and digits of any script, case-folded; each counts once, in the title or in the text.
    """
    wanted = _tokens(query)
    shared = [(len(wanted & _tokens_of(passage)), passage) for passage in corpus]
    best = sorted((each for each in shared if each[0]), key=lambda each: -each[0])[:MOST_PASSAGES]
    return "\n\n".join(f"[{passage.title}] {passage.text}" for _, passage in best) or NOTHING


def _tokens(text: str) -> frozenset[str]:
    # Composed first: a separate accent is no letter and would split the word that it stands in.
    return frozenset(_TOKEN.findall(unicodedata.normalize("NFC", text).casefold()))


@lru_cache(maxsize=8192)
def _tokens_of(passage: Passage) -> frozenset[str]:
    return _tokens(f"{passage.title} {passage.text}")
