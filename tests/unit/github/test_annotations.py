from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator import config as configuration
from evaluator.cases import Origin, SourceRef
from evaluator.config.types import Config
from evaluator.github import environment
from evaluator.github.annotations import ROOM, Annotation, annotate, announce
from evaluator.github.commands import Log
from evaluator.redaction import Redactor
from evaluator.results import Acceptance, Attempt, Finding, Reason, Run, TaskResult
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.unit.reports import builders

TRAP = """\
model: openai/gpt-4.1-mini
tasks:
  refunds:
    source: ./refunds
  lookups:
    source: ./lookups
gate:
  rules:
    - {metric: argument_score, task: refunds, max_drop: 0.02}
    - {metric: all_k_pass_rate, task: refunds, min: 0.2}
    - metric: pass_rate
      max_drop: 0
"""
WITHOUT_GATE = TRAP.partition("gate:\n")[0]
FIXTURE = "./refunds/partial.yaml"
LOCAL = SourceRef(location="./refunds", digest="0")


def config(text: str = TRAP) -> Config:
    from evaluator import yaml_text

    return configuration.parse(yaml_text.decode(text.encode(), "trap.yaml"), "trap.yaml")


def located(task: TaskResult, origin: Origin | None = None, source: SourceRef = LOCAL) -> TaskResult:
    """`task` as one whose cases are written in files of the repository, one each where `origin` is not given."""
    cases = [
        msgspec.structs.replace(case, origin=origin or Origin(file=f"./refunds/{case.id}.yaml", line=number))
        for number, case in enumerate(task.cases, 1)
    ]
    return msgspec.structs.replace(task, source=source, cases=cases)


def refunds(**attempts: list[Attempt]) -> TaskResult:
    rows = builders.refund_attempts(**attempts)
    return located(builders.task_result("refunds", rows, repeats=5, deterministic=True))


WHOLE = [builders.refunded_whole(n) for n in range(1, 6)]


def refunding(*, task: TaskResult | None = None, rules: Any = None) -> Run:
    before = builders.task_result("refunds", builders.refund_attempts(), repeats=5, deterministic=True)
    return builders.build([task or refunds(refund_partial=WHOLE)], [before], rules=rules or builders.REFUND_RULES)


def everywhere(shown: str) -> str:
    return f"evals/{shown.removeprefix('./')}"


def of(run: Run, text: str = TRAP, locate: Any = everywhere) -> list[Annotation]:
    return annotate(run, config(text), "evals/trap.yaml", locate)


def places(found: list[Annotation]) -> list[tuple[str, str, int]]:
    return [(each.level, each.file, each.line) for each in found]


def test_a_failed_rule_is_an_error_at_its_line_and_a_regressed_case_at_its_fixture() -> None:
    rule, case = of(refunding())
    assert (rule.level, rule.file, rule.line) == ("error", "evals/trap.yaml", 9)
    assert rule.message.startswith("refunds argument_score, max_drop 0.02: ")
    assert (case.level, case.file, case.line) == ("error", "evals/refunds/refund-partial.yaml", 8)
    assert case.title == "trapgate: regression: refunds/refund-partial"
    assert case.message == (
        "refunds/refund-partial: wrong_arguments, step 3 issue_refund $.amount (value): wanted 24.5, got 49.0"
    )


def test_a_case_stands_at_the_line_of_the_value_that_is_wrong() -> None:
    lines = {"$.paths[0][2]": 20, "$.paths[0][2].args.amount": 23}
    task = located(refunds(refund_partial=WHOLE), Origin(file=FIXTURE, lines=lines))
    assert places(of(refunding(task=task)))[1] == ("error", "evals/refunds/partial.yaml", 23)


def test_how_sure_the_drop_is_stands_behind_the_case() -> None:
    now, before = builders.outcomes(4, 8), builders.outcomes(12, 0)
    run = builders.build(
        [located(builders.task_result("lookups", now))],
        [builders.task_result("lookups", before)],
        rules=[builders.Rule(metric="pass_rate", max_drop=0.0)],
    )
    rule, *cases = of(run)
    assert (rule.file, rule.line) == ("evals/trap.yaml", 11)
    assert cases[0].message.endswith("wanted [24.5], got 49.0; p = 0.004")


@pytest.mark.parametrize(
    "source",
    [SourceRef(location="https://git.example/evals", commit="4b" * 20), SourceRef(location="/elsewhere", digest="0")],
)
def test_a_source_from_elsewhere_is_annotated_at_its_task(source: SourceRef) -> None:
    task = located(refunds(refund_partial=WHOLE), source=source)
    found = of(refunding(task=task), locate=lambda shown: "" if source.commit is None else everywhere(shown))
    assert places(found) == [("error", "evals/trap.yaml", 9), ("error", "evals/trap.yaml", 3)]


def test_a_format_that_says_no_origin_is_annotated_at_its_task() -> None:
    rows = builders.refund_attempts(refund_partial=WHOLE)
    task = builders.task_result("refunds", rows, repeats=5, deterministic=True)
    assert places(of(refunding(task=task)))[1] == ("error", "evals/trap.yaml", 3)


def test_a_rule_of_the_base_is_found_in_the_checkout_wherever_it_stands_there() -> None:
    moved = "# one\n# two\n" + TRAP
    assert places(of(refunding(), moved))[0] == ("error", "evals/trap.yaml", 11)


def test_a_rule_of_the_base_that_the_checkout_does_not_have_stands_at_the_file_without_a_line() -> None:
    laxer = TRAP.replace("max_drop: 0.02", "max_drop: 0.5")
    assert places(of(refunding(), laxer))[0] == ("error", "evals/trap.yaml", 0)


def test_without_rules_of_its_own_the_default_ones_stand_at_the_task() -> None:
    run = refunding()
    default = builders.build(
        run.tasks, [builders.task_result("refunds", builders.refund_attempts(), repeats=5, deterministic=True)]
    )
    assert places(of(default, WITHOUT_GATE)) == [
        ("error", "evals/trap.yaml", 3),
        ("error", "evals/refunds/refund-partial.yaml", 8),
    ]


def test_a_task_that_the_checkout_does_not_know_has_no_line() -> None:
    other = WITHOUT_GATE.replace("refunds:", "others:")
    task = builders.task_result("refunds", builders.refund_attempts(refund_partial=WHOLE), repeats=5)
    assert {place[1:] for place in places(of(refunding(task=task), other))} == {("evals/trap.yaml", 0)}


def test_a_possible_drop_is_a_warning_and_its_cases_too() -> None:
    now, before = builders.outcomes(10, 2), builders.outcomes(12, 0)
    run = builders.build(
        [located(builders.task_result("lookups", now))],
        [builders.task_result("lookups", before)],
        rules=[builders.Rule(metric="pass_rate", max_drop=0.0)],
    )
    assert run.verdict == "pass"
    found = of(run)
    assert [each.level for each in found] == ["warning"] * 3
    assert found[0].title == "trapgate: pass, with a possible drop"
    assert "possible drop" in found[0].message
    assert [each.line for each in found[1:]] == [11, 12]


def test_a_plain_pass_says_nothing_though_some_case_flipped() -> None:
    now, before = builders.outcomes(19, 1), builders.outcomes(18, 2)
    now["call-01"] = [builders.failed()]
    run = builders.build([located(builders.task_result("lookups", now))], [builders.task_result("lookups", before)])
    assert (run.verdict, len(run.comparison.tasks[0].regressed) if run.comparison else 0) == ("pass", 1)
    assert of(run) == []


def test_what_somebody_accepted_is_a_notice() -> None:
    accepted = Acceptance(by="octocat", at="2026-05-05T09:00:00Z", why="meant")
    found = of(msgspec.structs.replace(refunding(), accepted=accepted))
    assert [each.level for each in found] == ["notice", "notice"]
    assert found[0].title == "trapgate: regression, accepted by octocat"


def test_a_broken_canary_is_an_error_at_the_file() -> None:
    found = of(builders.drifting())
    assert places(found)[0] == ("error", "evals/trap.yaml", 0)
    assert found[0].message.splitlines()[0].startswith("Canary numeric-invented-unit: expected failed")


def test_what_is_missing_for_a_verdict_stands_at_its_task() -> None:
    rows = builders.outcomes(5, 0) | {f"x{n}": [builders.broken()] for n in range(5)}
    run = builders.build([builders.task_result("lookups", rows)], rules=[])
    [each] = of(run)
    assert (each.level, each.line) == ("error", 5)
    assert each.message == (
        "5 of 10 attempts have no answer: rate_limit: HTTP 429 after 5 tries.\n"
        "lookups: 5 of 10 planned attempts were scored, 95% are needed."
    )


def test_of_a_broken_floor_the_cases_below_it_are_errors() -> None:
    task = located(builders.task_result("refunds", builders.outcomes(1, 6, repeats=5), repeats=5, deterministic=True))
    run = builders.build([task], [task], rules=builders.REFUND_RULES[1:])
    found = of(run)
    assert places(found)[0] == ("error", "evals/trap.yaml", 10)
    assert [each.line for each in found[1:]] == [2, 3, 4, 5, 6, 7]


def test_a_critical_case_comes_before_larger_drops() -> None:
    now = builders.outcomes(0, 12, repeats=2) | {"call-09": [builders.passed(1), builders.failed(2)]}
    before = builders.outcomes(12, 0, repeats=2)
    run = builders.build(
        [located(builders.task_result("lookups", now, repeats=2, critical=["call-09"]))],
        [builders.task_result("lookups", before, repeats=2, critical=["call-09"])],
        rules=[builders.Rule(metric="pass_rate", max_drop=0.0)],
    )
    _, first, second, *_ = of(run)
    assert first.message.startswith("lookups/call-09: wrong_value (1.00 → 0.50), ")
    assert second.message.startswith("lookups/call-01: wrong_value, ")


def test_a_critical_case_that_fails_by_itself_is_an_error_without_a_rule() -> None:
    now, before = builders.outcomes(11, 1), builders.outcomes(12, 0)
    run = builders.build(
        [located(builders.task_result("lookups", now, critical=["call-12"]))],
        [builders.task_result("lookups", before, critical=["call-12"])],
        rules=[],
    )
    assert run.verdict == "regression"
    assert places(of(run)) == [("error", "evals/trap.yaml", 5), ("error", "evals/refunds/call-12.yaml", 12)]


def test_no_more_are_made_than_github_shows_and_the_last_one_counts_the_others() -> None:
    now, before = builders.outcomes(0, 40), builders.outcomes(40, 0)
    run = builders.build(
        [located(builders.task_result("lookups", now))],
        [builders.task_result("lookups", before)],
        rules=[builders.Rule(metric="pass_rate", max_drop=0.0)],
    )
    found = of(run)
    assert len(found) == ROOM < 10
    assert found[-1].message.endswith("\n… and 33 more elsewhere: see the job summary.")
    assert not any("more elsewhere" in each.message for each in found[:-1])


def test_what_stands_in_one_place_is_one_annotation() -> None:
    now, before = builders.outcomes(0, 40), builders.outcomes(40, 0)
    run = builders.build(
        [builders.task_result("lookups", now)],
        [builders.task_result("lookups", before)],
        rules=[builders.Rule(metric="pass_rate", max_drop=0.0)],
    )
    rule, cases = of(run)
    assert rule.line == 11
    assert cases.line == 5
    assert len(cases.message.splitlines()) == 7
    assert cases.message.endswith("\n… and 34 more here: see the job summary.")


def test_many_broken_rules_leave_room_for_cases() -> None:
    rules = "".join(f"    - {{metric: pass_rate, task: refunds, min: 0.{n}}}\n" for n in range(30, 60))
    text = TRAP.partition("    - ")[0] + rules
    task = located(builders.task_result("refunds", builders.outcomes(1, 11)))
    run = builders.build([task], [task], rules=config(text).gate.rules)
    files = Counter(each.file for each in of(run, text) if each.level == "error")
    assert files.pop("evals/trap.yaml") == 3
    assert files.total() == ROOM - 3


def test_of_several_models_each_case_names_its_own() -> None:
    found = of(builders.three_models())
    assert places(found)[:2] == [("error", "evals/trap.yaml", 9), ("error", "evals/trap.yaml", 10)]
    assert "openai/gpt-4.1-mini: refunds argument_score, max_drop 0.02" in found[0].message
    assert "openai/gpt-4.1-mini: refunds/refund-partial" in "".join(each.message for each in found).replace("\n", " ")
    assert "openai/gpt-4.1: refunds/" not in "".join(each.message for each in found)


LINE_BREAKS = r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]"


def commands(text: str) -> list[str]:
    """The lines that the runner takes for commands, over every kind of line break: the newer form at the start of a
    line after white space, the older one anywhere in a line that is none of the newer form."""
    found = []
    for line in re.split(LINE_BREAKS, text):
        if re.match(r"[\s\x00-\x1f]*::", line) or "##[" in line:
            found.append(line)
    return found


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with GitHubServer() as server:
        yield ActionsRunner(tmp_path_factory.mktemp("job"), server)


def announced(job: ActionsRunner, run: Run, secrets: dict[str, str] | None = None, **inputs: str) -> str:
    """What is printed for `run` with the job's workspace."""
    settings = environment.read(job.environ("pull_request", job.pull_request(), **inputs))
    stream = io.StringIO()
    announce(settings, config(), run, Log(stream), Redactor(secrets or {}))
    return stream.getvalue()


def test_paths_are_those_of_the_repository_and_only_of_files_that_are_in_it(job: ActionsRunner) -> None:
    job.write({"evals/trap.yaml": TRAP, "evals/refunds/refund-partial.yaml": "x"})
    lines = announced(job, refunding(), config="evals/trap.yaml").splitlines()
    assert lines[0].startswith("::error file=evals/trap.yaml,line=9,title=trapgate%3A regression::refunds argument")
    assert lines[1].startswith("::error file=evals/refunds/refund-partial.yaml,line=8,title=")


def test_of_a_checkout_in_a_subfolder_paths_begin_at_its_top(job: ActionsRunner) -> None:
    job.write({"code/evals/trap.yaml": TRAP, "code/evals/refunds/refund-partial.yaml": "x", "code/.git/HEAD": "x"})
    top, kept = job.workspace / ".git", job.workspace / "kept"
    settings = environment.read(job.environ("pull_request", job.pull_request(), config="code/evals/trap.yaml"))
    top.rename(kept)
    stream = io.StringIO()
    announce(settings, config(), refunding(), Log(stream), Redactor({}))
    kept.rename(top)
    assert re.findall(r"file=([^,]+),line=(\d+)", stream.getvalue()) == [
        ("evals/trap.yaml", "9"),
        ("evals/refunds/refund-partial.yaml", "8"),
    ]


@pytest.mark.parametrize(
    "name",
    ["../../etc/hostname", "/etc/hostname", "refunds/missing.yaml", "refunds", "a\0b", "x" * 5000, "loop", "out", ""],
)
def test_no_file_outside_of_the_repository_is_named(job: ActionsRunner, name: str) -> None:
    job.write({"trap.yaml": TRAP, "refunds/here.yaml": "x"})
    for link, target in (("loop", "loop"), ("out", "/etc/hostname")):
        if not (job.workspace / link).is_symlink():
            (job.workspace / link).symlink_to(target)
    task = located(refunds(refund_partial=WHOLE), Origin(file=name, line=4))
    assert re.findall(r"file=([^,]+),line=(\d+)", announced(job, refunding(task=task))) == [
        ("trap.yaml", "9"),
        ("trap.yaml", "3"),
    ]


@pytest.mark.parametrize("name", ["a\n::error::x.yaml", "a##[error]x.yaml", "a\u2028b.yaml", "a::b.yaml"])
def test_a_file_whose_name_is_not_fit_to_print_is_not_named(job: ActionsRunner, name: str) -> None:
    job.write({"trap.yaml": TRAP, name: "x"})
    task = located(refunds(refund_partial=WHOLE), Origin(file=name, line=4))
    lines = announced(job, refunding(task=task)).splitlines()
    assert [line.partition("::")[2].partition(",title")[0] for line in lines] == [
        "error file=trap.yaml,line=9",
        "error file=trap.yaml,line=3",
    ]


def test_a_secret_is_in_no_annotation(job: ActionsRunner) -> None:
    secret = "sk-0123456789abcdef"
    leak = Finding(path="$.key", keyword="value", got=secret, message=f"got {secret}", step=1)
    task = refunds(refund_partial=[builders.traced(n, leak, mode="wrong_value", argument=0.1) for n in range(1, 6)])
    text = announced(job, refunding(task=task), {"OPENAI_API_KEY": secret})
    assert "***" in text
    assert secret not in text


HOSTILE = [
    "::add-mask::x",
    "fine\n::set-output name=a::b",
    "fine\r::error::x",
    "fine\u2028::error::x",
    "fine\x85::error::x",
    "::::error::x",
    "text ##[error]x",
    "::stop-commands::x",
    "%0A::error::x",
    "\ud800::error::x",
    ",line=1::x",
]


def assert_only_annotations(text: str, most: int = 2 * ROOM) -> None:
    lines = text.split("\n")
    assert lines.pop() == ""
    assert commands(text) == lines, "a line that is no command, or a command that is no line"
    assert 0 < len(lines) <= most
    for line in lines:
        head, _, message = line.removeprefix("::").partition("::")
        assert re.fullmatch(r"(error|warning|notice) (file=[^,:]+,)?(line=\d+,)?title=[^,:]+", head), head
        assert "::" not in message
        assert "##[" not in line
        assert not re.search(LINE_BREAKS, line)
        assert "%0D" not in message
        assert len(message.replace("%0A", "\n").replace("%25", "%")) <= 4096


def printed(job: ActionsRunner, text: str) -> str:
    run = builders.hostile(text)
    run = msgspec.structs.replace(run, tasks=[located(task) for task in run.tasks])
    return announced(job, run)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_from_outside_becomes_a_command(job: ActionsRunner, text: str) -> None:
    assert_only_annotations(printed(job, text))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(text=st.text(alphabet=st.sampled_from("#[]:%,= \n\r\x0b\x85\u2028\u202e\ud800aerror"), min_size=1, max_size=40))
def test_no_text_at_all_becomes_a_command(job: ActionsRunner, text: str) -> None:
    assert_only_annotations(printed(job, text))


def test_a_long_text_is_cut_and_the_count_of_the_others_stays(job: ActionsRunner) -> None:
    now = {f"c{n:02}": [builders.failed(1, mode="\x01" * 9000)] for n in range(40)}
    before = {name: [builders.passed()] for name in now}
    run = builders.build(
        [located(builders.task_result("lookups", now))],
        [builders.task_result("lookups", before)],
        rules=[builders.Rule(metric="pass_rate", max_drop=0.0)],
    )
    found = of(run)
    assert all(len(each.message) <= 4096 for each in found)
    assert found[-1].message.endswith("33 more elsewhere: see the job summary.")


def test_the_checkouts_file_is_where_the_rules_say_it_is(tmp_path: Path) -> None:
    (tmp_path / "trap.yaml").write_text(TRAP)
    loaded = configuration.load(tmp_path / "trap.yaml", shown="trap.yaml")
    lines = TRAP.splitlines()
    for each in annotate(refunding(), loaded, "trap.yaml", lambda _: ""):
        assert "argument_score" in lines[each.line - 1] or lines[each.line - 1] == "  refunds:"


def test_a_reason_that_is_a_mere_note_is_not_annotated() -> None:
    run = builders.passing()
    noted = msgspec.structs.replace(run, warnings=[*run.warnings, Reason(kind="note", text="a note")])
    assert of(noted) == []
