"""Texts for the data of the page: each one once, made visible and cut to what a reader will look at."""

from __future__ import annotations

from evaluator.reports.escape import ELLIPSIS, shorten, visible

# Bytes of one value that the page shows; all of it is in results.json.
MOST = 4096


class Texts:
    """Every text under a number, in the order in which they came: tasks ask and expect the same over and over.

    `texts`: as they are shown; `cut`: the numbers of those that were longer than `MOST`; `size`: their bytes, about.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.cut: list[int] = []
        self.size = 0
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of `text`."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            kept = shorten(text, MOST)
            if kept.endswith(ELLIPSIS) and kept != text:
                self.cut.append(number)
            shown = lines(kept)
            self.texts.append(shown)
            self.size += len(shown.encode()) + 4
        return number


def lines(text: str) -> str:
    """`text` with its lines, and everything else in it that cannot be seen spelt out."""
    return text if text.isprintable() and text.isascii() else "\n".join(map(visible, text.split("\n")))
