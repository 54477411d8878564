"""Where what a finding is about was written. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from evaluator.cases import Origin
from evaluator.results import Attempt, Finding

_STEP = re.compile(r"""\.[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]|\["(?:[^"\\]|\\.)*"\]""")
# `Case.expected` of a trace may know several ways to the goal. A finding does not say of which it speaks.
_FIRST, _SECOND = "$.paths[0]", "$.paths[1]"


def kept(origin: Origin, attempts: Sequence[Attempt]) -> Origin:
    """What a result keeps of `origin`: of its lines those that `line_of` needs for the findings of failed attempts."""
    if not origin.lines:
        return origin
    findings = (finding for attempt in attempts if attempt.passed is False for finding in attempt.findings)
    paths = {path for finding in findings if (path := _written(origin.lines, finding)) is not None}
    return Origin(file=origin.file, line=origin.line, lines={path: origin.lines[path] for path in sorted(paths)})


def line_of(origin: Origin, finding: Finding | None) -> int:
    """The line of what `finding` is about, or of what holds it, else of the case; 0 where no line is known."""
    path = _written(origin.lines, finding) if finding is not None else None
    return origin.lines[path] if path is not None else origin.line


def _written(lines: Mapping[str, int], finding: Finding) -> str | None:
    """The path of what was written down, as `lines` has it."""
    if finding.step is None or any(path.startswith(_SECOND) for path in lines):
        return None
    return next((path for path in _candidates(finding, finding.step) if path in lines), None)


def _candidates(finding: Finding, step: int) -> Iterator[str]:
    """From the value itself to the step that it belongs to."""
    parts = _STEP.findall(finding.path)
    here = f"{_FIRST}[{step - 1}]"
    for length in range(len(parts), 0, -1):
        inside = "".join(parts[:length])
        yield f"{here}.args{inside}"
        yield f"{here}.rules[{json.dumps(f'${inside}', ensure_ascii=False)}]"
    yield here
