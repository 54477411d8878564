"""What the tags of a case mean: the slices it belongs to, whether it is critical, and its cluster. No tag is part of a
case's digest."""

from __future__ import annotations

from collections.abc import Iterable

# A case that fails the gate by itself.
CRITICAL = "critical"
# `cluster:<name>`: cases of one name are not independent of each other, and the statistics take them as one.
CLUSTER = "cluster:"


def slices(tags: Iterable[str]) -> list[str]:
    """Every tag once, but for those that name a cluster."""
    return [tag for tag in dict.fromkeys(tags) if not tag.startswith(CLUSTER)]


def cluster(tags: Iterable[str]) -> str:
    """The name of the first cluster tag, empty where there is none."""
    return next((tag.removeprefix(CLUSTER).strip() for tag in tags if tag.startswith(CLUSTER)), "")
