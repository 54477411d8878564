"""The gate cries wolf no more often than alpha says: made-up runs without a change, through comparison and gate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import power
from bench.power import ALPHA, Count, Setting, simulate

ROOT = Path(__file__).parents[2]
NOISY = {"rate": 0.7, "world": "alike"}


@pytest.mark.parametrize(
    "setting",
    [
        Setting(n=50, k=1, **NOISY),
        Setting(n=20, k=3, **NOISY),
        Setting(n=20, k=3, rate=0.7, world="mixed"),
        Setting(n=20, k=1, before=5, rate=0.9, world="alike"),
        Setting(n=20, k=5, before=1, rate=0.9, world="alike"),
        Setting(n=20, k=1, tasks=5, **NOISY),
        Setting(n=20, k=3, anchored=True, **NOISY),
        Setting(n=60, k=1, together=True, declared=True, **NOISY),
    ],
    ids=[
        "one attempt",
        "three attempts",
        "cases of their own",
        "fewer attempts than the baseline",
        "more attempts than the baseline",
        "five tasks",
        "an anchor",
        "declared clusters",
    ],
)
def test_the_gate_fails_no_more_runs_without_a_change_than_alpha_allows(setting):
    noise = simulate(setting, 300)
    assert noise.interval()[0] <= ALPHA, noise.exact


def test_the_simulation_sees_a_gate_that_cries_wolf():
    careless = power.contrasts()["100 cases in 20 clusters that nobody declared"]
    assert simulate(careless, 200).interval()[0] > ALPHA


def test_a_large_drop_in_a_large_suite_is_found():
    assert simulate(Setting(n=200, k=1, drop=0.2, **NOISY), 30).failed >= 27


def test_the_same_setting_gives_the_same_count():
    setting = Setting(n=20, k=1, drop=0.2, **NOISY)
    assert simulate(setting, 30) == simulate(setting, 30)


def test_the_documented_tables_are_what_the_benchmark_counts():
    cell = power.Cell.measure(Setting(n=20, k=1, rate=0.7, world="mixed"), power.RUNS, power.PLANTED)
    assert cell.row() in (ROOT / "docs" / "noise.md").read_text(encoding="utf-8").splitlines()


def test_too_many_false_failures_end_the_benchmark_with_one(capsys):
    assert power.verdict({"good": Count(9, 500), "bad": Count(60, 500)}, 1.0) == 1
    assert "Above alpha: bad: 12.0 % [9.4, 15.1]" in capsys.readouterr().err
    assert power.verdict({"good": Count(9, 500), "unlucky": Count(15, 500)}, 1.0) == 0


def test_the_benchmark_says_what_it_does_when_asked():
    asked = subprocess.run([sys.executable, "-m", "bench.power", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert asked.returncode == 0
    assert "--quick" in asked.stdout
