from __future__ import annotations

import msgspec

from evaluator.baselines.history import Entry, entry
from evaluator.cases import Subject
from evaluator.results import Acceptance, Run
from tests.unit import builders
from tests.unit.baselines.runs import ALICE, a_run


def test_a_line_has_the_first_figures_of_every_task_and_model() -> None:
    first = msgspec.structs.replace(a_run("1" * 40), subject=Subject(model="m/a"))
    other = msgspec.structs.replace(a_run("1" * 40, passed=1, failed=3), subject=Subject(model="m/b"))
    made = entry(msgspec.structs.replace(first, beside=[other]), ALICE)
    assert [(each.model, each.task, each.cases, each.metrics["pass_rate"]) for each in made.figures] == [
        ("m/a", "refunds", 4, 0.75),
        ("m/b", "refunds", 4, 0.25),
    ]
    assert all(len(each.metrics) <= 3 for each in made.figures)


def test_a_task_without_a_share_over_all_its_cases_has_the_figures_of_its_slices() -> None:
    task = builders.task_result(
        {"a": [builders.scored(True)], "b": [builders.scored(False)]}, slices={"a": ["easy"], "b": ["hard"]}
    )
    run = builders.run([msgspec.structs.replace(task, pooled=False, metrics={})])
    assert [(each.slice, each.cases, each.metrics["pass_rate"]) for each in entry(run, ALICE).figures] == [
        ("easy", 1, 1.0),
        ("hard", 1, 0.0),
    ]


def test_a_line_stays_small_and_can_be_read_again_whatever_the_run_holds() -> None:
    tasks = [builders.task_result(builders.outcomes(1, 0), name=f"{number}" * 500) for number in range(100)]
    run: Run = msgspec.structs.replace(builders.run(tasks), commit="1" * 40)
    made = entry(run, Acceptance(by="x" * 1000, at="now", why="é" * 1000))
    data = msgspec.json.encode(made)
    assert len(data) < 60_000
    assert msgspec.json.decode(data, type=Entry) == made
    assert made.by == "x" * 299 + "…"
