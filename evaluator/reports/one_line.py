"""A finding in one line, for where there is no table."""

from __future__ import annotations

from evaluator.reports.view_model import FindingRow


def finding_text(row: FindingRow) -> str:
    """ "step 3 issue_refund $.amount (value): wanted 24.5, got 49.0"."""
    place = " ".join(part for part in (row.about, row.path, f"({row.keyword})") if part)
    said = [f"wanted {row.wanted}" if row.wanted else "", f"got {row.got}" if row.got else "", row.note]
    return f"{place}: {', '.join(part for part in said if part)}".removesuffix(": ")
