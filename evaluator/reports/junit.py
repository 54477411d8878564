"""The result as JUnit XML: a suite for the gate, and one for each task (and model).

The document is valid by both schemas in use, that of Jenkins' xUnit plugin and the stricter one of Apache Ant, so it
has no attribute that only one of them knows (`file` and `line` are in neither). `evaluator.reports.junit_tests` decides
what counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from evaluator.reports.escape import shorten, visible
from evaluator.reports.junit_tests import GATE, VERDICT, Outcome, Suite, Test, suites
from evaluator.results import Run

_NAME_BYTES = 400
_MESSAGE_BYTES = 600
_LINE_BYTES = 1000
_TEXT_BYTES = 4000
_NO_TIME = "1970-01-01T00:00:00"
# What may not stand in XML 1.0, not even as a reference (section 2.2, Char).
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run: Run) -> str:
    """The document. Names and messages are what they were, but for what XML cannot hold, which is spelt as an escape
    (`\\u0007`), and for what is too long."""
    return _document(suites(run), _timestamp(run.started))


def no_verdict(word: str, text: str, started: str = "") -> str:
    """The document of a run without a verdict: one error. `word`: its type; `text`: why, the message in its first
    line; `started`: ISO 8601."""
    why = Outcome("error", word, text.partition("\n")[0], text)
    return _document([Suite(GATE, [Test(VERDICT, why)], {})], _timestamp(started))


def _document(found: Iterable[Suite], started: str) -> str:
    root = ET.Element("testsuites")
    for number, suite in enumerate(found):
        _add_suite(root, suite, number, started)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add_suite(root: ET.Element, suite: Suite, number: int, started: str) -> None:
    kinds = Counter(test.outcome.kind for test in suite.tests)
    name = _attribute(suite.name, _NAME_BYTES)
    name = name if name.strip() else "(unnamed)"
    element = ET.SubElement(
        root,
        "testsuite",
        name=name,
        package=GATE,
        id=str(number),
        timestamp=started,
        hostname="localhost",
        tests=str(len(suite.tests)),
        failures=str(kinds["failure"]),
        errors=str(kinds["error"]),
        skipped=str(kinds["skipped"]),
        time=f"{sum(test.seconds for test in suite.tests):.3f}",
    )
    properties = ET.SubElement(element, "properties")
    for key, value in suite.about.items():
        ET.SubElement(properties, "property", name=key, value=_attribute(value, _NAME_BYTES))
    for test in suite.tests:
        _add_test(element, name, test)
    ET.SubElement(element, "system-out")
    ET.SubElement(element, "system-err")


def _add_test(suite: ET.Element, classname: str, test: Test) -> None:
    named = {"classname": classname, "name": _attribute(test.name, _NAME_BYTES), "time": f"{test.seconds:.3f}"}
    element = ET.SubElement(suite, "testcase", named)
    kind, word, message, text = test.outcome
    if not kind:
        return
    said = {"type": _attribute(word, _NAME_BYTES), "message": _attribute(message, _MESSAGE_BYTES)}
    ET.SubElement(element, kind, said).text = _text(text)


def _attribute(text: str, most: int) -> str:
    return shorten(_ILLEGAL.sub(_spelt, text), most)


def _spelt(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _text(text: str) -> str:
    """Lines to read; a parser would change line ends of other kinds."""
    return shorten("\n".join(visible(shorten(line, _LINE_BYTES)) for line in text.split("\n")), _TEXT_BYTES)


def _timestamp(text: str) -> str:
    """A moment in UTC without its zone, as Ant's schema wants it; the epoch for what is none."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment
    except (ValueError, OverflowError):
        return _NO_TIME
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")
