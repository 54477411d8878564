"""The decision table: what was seen → verdict, and the layer that moved. Pure data, first row that applies.

docs/drift.md shows the same table; a test holds the two together.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from evaluator.results import LayerWord, VerdictWord

# What the control arm says of the base on the cases that got worse, asked again now: it does as well as in the
# baseline, it does as badly as the change, the answers cannot tell, or it was not asked.
ControlWord = Literal["holds", "fell", "unclear", "silent"]


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """All that a verdict goes by.

    `canaries`: every replay canary came out as it must. `rescored`: today's validators give the stored verdicts again
    (true as well where there are none). `open`: something is missing that the verdict cannot do without. `floor`: a
    limit on a figure itself is broken. `drop`: a rule against the baseline or its anchor fails, or a critical case.
    `provider`: a live canary moved, or a schema is refused that was taken. `model`: another model answers under the
    same name.
    """

    canaries: bool = True
    rescored: bool = True
    open: bool = False
    floor: bool = False
    drop: bool = False
    control: ControlWord = "silent"
    provider: bool = False
    model: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """`when`: the signs that this row asks for, by name; the others may be anything. `soft`: drift that
    `gate.on_drift: warn` turns into a warning. `says`: in words, for the docs."""

    when: dict[str, object]
    verdict: VerdictWord
    layer: LayerWord | None
    says: str
    soft: bool = False


TABLE: tuple[Row, ...] = (
    Row(when={"canaries": False}, verdict="drift", layer="validator", says="a replay canary fails"),
    Row(
        when={"rescored": False},
        verdict="drift",
        layer="validator",
        says="today's validators judge stored transcripts differently",
    ),
    Row(
        when={"open": True, "provider": True},
        verdict="inconclusive",
        layer="provider",
        says="something is missing, and the provider moved: a schema is refused, or a live canary came out otherwise",
    ),
    Row(when={"open": True}, verdict="inconclusive", layer=None, says="something is missing"),
    Row(
        when={"floor": True, "drop": True, "control": "holds"},
        verdict="regression",
        layer="change",
        says="a floor or ceiling is broken and the cases got worse, and the base, asked again now, still does well",
    ),
    Row(when={"floor": True}, verdict="regression", layer=None, says="a floor or ceiling is broken"),
    Row(
        when={"drop": True, "control": "holds"},
        verdict="regression",
        layer="change",
        says="cases got worse, and the base, asked again now, still does well",
    ),
    Row(
        when={"drop": True, "control": "fell", "provider": True},
        verdict="drift",
        layer="provider",
        says="cases got worse, the base does as badly now, and the provider moved",
        soft=True,
    ),
    Row(
        when={"drop": True, "control": "fell"},
        verdict="drift",
        layer="model",
        says="cases got worse, and the base does as badly now",
        soft=True,
    ),
    Row(
        when={"drop": True},
        verdict="regression",
        layer=None,
        says="cases got worse, and the control arm was not asked or cannot tell",
    ),
    Row(
        when={"provider": True},
        verdict="drift",
        layer="provider",
        says="nothing got worse; the provider moved",
        soft=True,
    ),
    Row(
        when={"model": True},
        verdict="drift",
        layer="model",
        says="nothing got worse; another model answers under the same name",
        soft=True,
    ),
    Row(when={}, verdict="pass", layer=None, says="none of these"),
)


def row(signs: Signs) -> Row:
    """The row of the table that applies."""
    return next(each for each in TABLE if all(getattr(signs, name) == value for name, value in each.when.items()))
