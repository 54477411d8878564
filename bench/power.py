"""How often the gate cries wolf, and what it finds: `python -m bench.power [--quick]`.

Runs are made up, then paired and judged as real ones are, by `comparison.pair` and `gate.decide` with the default rule
(pass_rate may not drop) at the default alpha. What is counted is the verdict `regression`. docs/noise.md shows the
tables and says what they mean. Exit code 1 where the gate fails more runs without a change than alpha allows: where the
interval of any of them lies wholly above alpha, at a level that all intervals hold together.

The model. A case passes an attempt with a chance of its own, the same in every run; attempts are independent. Two
worlds: *mixed*, the chances are drawn from Beta(rate, 1 − rate), so that most cases nearly always pass or nearly always
fail and half of the variance lies between cases; *alike*, every case has the rate itself, the noisiest suite there can
be. A planted drop of d points breaks each case for good with chance d / rate.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from evaluator.baselines import Found
from evaluator.cases import Request, SourceRef
from evaluator.comparison import pair
from evaluator.config.types import GateConfig, Rule
from evaluator.gate import decide
from evaluator.results import (
    SCHEMA_VERSION,
    Acceptance,
    Attempt,
    Baseline,
    CanaryResult,
    CanaryResults,
    CaseResult,
    Fingerprint,
    Run,
    TaskResult,
    Totals,
)
from evaluator.rules import Facts
from evaluator.statistics import wilson

SIZES, ATTEMPTS, RATES, DROPS = (20, 50, 200), (1, 3, 5), (0.5, 0.7, 0.9, 0.95), (0.05, 0.1, 0.2)
QUICK_ATTEMPTS, QUICK_RATES = (1, 3), (0.7, 0.95)
# Simulated runs of a cell: without a change, and with a planted one.
RUNS, PLANTED = 1_000, 250
QUICK_RUNS, QUICK_PLANTED = 200, 40
CLUSTER = 5
ALPHA = GateConfig().alpha

WORLDS = {"mixed": 1.0, "alike": None}
CANARIES = CanaryResults(version="1", cases=[CanaryResult(id="c", expected="pass", got="pass", ok=True)])


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is simulated. `n` cases with `k` attempts in each of `tasks`; `before`: attempts in the baseline, k where
    None. `together`: cases in groups of five pass and fail as one within a run; `declared`: the gate knows the groups.
    `anchored`: the run is held against an older baseline as well. `critical`: how many cases are. `rule`: in place of
    the default one."""

    n: int
    k: int
    rate: float
    world: str
    drop: float = 0.0
    tasks: int = 1
    before: int | None = None
    together: bool = False
    declared: bool = False
    anchored: bool = False
    critical: int = 0
    rule: Rule | None = None

    @property
    def gate(self) -> GateConfig:
        return GateConfig(rules=None if self.rule is None else [self.rule])


@dataclass(frozen=True)
class Count:
    """Simulated runs, and those of them that the gate failed."""

    failed: int
    runs: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        low_high = wilson(self.failed / self.runs, self.runs, confidence)
        assert low_high is not None  # noqa: S101 - there are runs
        return low_high

    @property
    def percent(self) -> str:
        return f"{100 * self.failed / self.runs:.0f} %"

    @property
    def exact(self) -> str:
        low, high = self.interval()
        return f"{100 * self.failed / self.runs:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def simulate(setting: Setting, runs: int) -> Count:
    """The same answer for the same setting and number of runs."""
    rng = random.Random(repr(setting))
    return Count(sum(is_failed(setting, rng) for _ in range(runs)), runs)


def is_failed(setting: Setting, rng: random.Random) -> bool:
    """Whether the gate fails one made-up run against a made-up baseline."""
    before, now, older = [], [], []
    for number in range(setting.tasks):
        name = f"t{number}"
        chances = [chance(setting, rng) for _ in range(setting.n)]
        broken = [0.0 if setting.drop and rng.random() < setting.drop / setting.rate else each for each in chances]
        before.append(task(name, setting, chances, setting.before or setting.k, rng))
        now.append(task(name, setting, broken, setting.k, rng))
        if setting.anchored:
            older.append(task(name, setting, chances, setting.before or setting.k, rng))
    facts = Facts(
        canaries=CANARIES,
        tasks=now,
        baseline=found(before),
        pairings={new.name: pair(old, new) for old, new in zip(before, now, strict=True)},
        anchored={new.name: pair(old, new) for old, new in zip(older, now, strict=False)},
    )
    decision = decide(setting.gate, facts)
    if decision.verdict not in ("pass", "regression"):
        raise RuntimeError(f"a made-up run ended {decision.verdict}: {decision.reasons}")
    return decision.verdict == "regression"


def chance(setting: Setting, rng: random.Random) -> float:
    """A case's own chance to pass an attempt."""
    concentration = WORLDS[setting.world]
    if concentration is None:
        return setting.rate
    return rng.betavariate(concentration * setting.rate, concentration * (1 - setting.rate))


def task(name: str, setting: Setting, chances: list[float], k: int, rng: random.Random) -> TaskResult:
    """One task of one run."""
    cases = []
    luck = [0.0] * k
    for number, each in enumerate(chances):
        if not setting.together or number % CLUSTER == 0:
            luck = [rng.random() for _ in range(k)]
        cluster = f"g{number // CLUSTER}" if setting.declared else ""
        cases.append(case(number, cluster, number < setting.critical, tuple(draw < each for draw in luck)))
    planned = len(cases) * k
    return TaskResult(
        name=name,
        format="trapstreet",
        source=SourceRef(location="./t", digest="0"),
        scorer="trapstreet",
        repeats=k,
        deterministic=False,
        planned=planned,
        scored=planned,
        metrics={},
        slices={},
        failure_modes={},
        cases=cases,
    )


@cache
def case(number: int, cluster: str, critical: bool, outcomes: tuple[bool, ...]) -> CaseResult:
    attempts = [Attempt(number=at + 1, status="scored", passed=passed) for at, passed in enumerate(outcomes)]
    return CaseResult(
        id=f"c{number:03}",
        digest=str(number),
        request=Request(messages=[]),
        expected=None,
        attempts=attempts,
        critical=critical,
        cluster=cluster,
    )


def found(tasks: list[TaskResult]) -> Found:
    run = Run(
        schema_version=SCHEMA_VERSION,
        evaluator="0",
        started="2026-01-01T00:00:00+00:00",
        verdict="pass",
        reasons=[],
        fingerprint=Fingerprint(packages={}, scorers={}, subject={}, sources={}),
        canaries=CANARIES,
        tasks=tasks,
        totals=Totals(
            attempts=0,
            planned=0,
            scored=0,
            infrastructure={},
            input_tokens=None,
            output_tokens=None,
            cost_usd=None,
            cost_state="unknown",
            seconds=0.0,
        ),
    )
    accepted = Acceptance(by="", at=run.started, why="")
    return Found("made up", Baseline(schema_version=SCHEMA_VERSION, accepted=accepted, run=run))


def others() -> Mapping[str, Setting]:
    """Suites without a change in which more than one thing could go wrong."""
    return {
        "five tasks of 50 cases, 1 attempt": Setting(n=50, k=1, rate=0.7, world="mixed", tasks=5),
        "five tasks of 50 cases, 3 attempts": Setting(n=50, k=3, rate=0.7, world="alike", tasks=5),
        "50 cases, 3 attempts, and an older accepted baseline": Setting(
            n=50, k=3, rate=0.7, world="alike", anchored=True
        ),
        "50 cases, 5 attempts in the baseline, 1 now": Setting(n=50, k=1, rate=0.9, world="alike", before=5),
        "50 cases, 1 attempt in the baseline, 5 now": Setting(n=50, k=5, rate=0.9, world="alike", before=1),
        "100 cases in 20 declared clusters, each passing or failing as one": Setting(
            n=100, k=1, rate=0.7, world="alike", together=True, declared=True
        ),
    }


def contrasts() -> Mapping[str, Setting]:
    """What the statistics are there against. Not held to alpha."""
    gateless = Rule(metric="pass_rate", max_drop=0.0, on_noise="fail")
    lenient = Rule(metric="pass_rate", max_drop=0.05, on_noise="fail")
    return {
        "50 cases, 1 attempt, any drop fails (`max_drop: 0, on_noise: fail`)": Setting(
            n=50, k=1, rate=0.7, world="mixed", rule=gateless
        ),
        "50 cases, 1 attempt, more than 5 points fail (`max_drop: 0.05, on_noise: fail`)": Setting(
            n=50, k=1, rate=0.7, world="mixed", rule=lenient
        ),
        "50 cases, 1 attempt, five of them critical": Setting(n=50, k=1, rate=0.9, world="alike", critical=5),
        "50 cases, 3 attempts, five of them critical": Setting(n=50, k=3, rate=0.9, world="alike", critical=5),
        "100 cases in 20 clusters that nobody declared": Setting(n=100, k=1, rate=0.7, world="alike", together=True),
    }


def grid(attempts: tuple[int, ...], rates: tuple[float, ...]) -> Iterator[Setting]:
    for world in WORLDS:
        for n in SIZES:
            for k in attempts:
                for rate in rates:
                    yield Setting(n=n, k=k, rate=rate, world=world)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What became of a setting: its false failures, and what was found of each planted drop."""

    setting: Setting
    noise: Count
    power: list[Count]

    @classmethod
    def measure(cls, setting: Setting, runs: int, changed: int) -> Cell:
        power = [simulate(replace(setting, drop=drop), changed) for drop in DROPS]
        return cls(setting=setting, noise=simulate(setting, runs), power=power)

    def row(self) -> str:
        setting, power = self.setting, " | ".join(count.percent for count in self.power)
        return f"| {setting.n} | {setting.k} | {setting.rate:g} | {self.noise.exact} | {power} |"


def head(*columns: str) -> str:
    """The first two lines of a table of Markdown."""
    names = [*columns, *(f"{100 * drop:g} points" for drop in DROPS)]
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def summary(cells: list[Cell]) -> Iterator[str]:
    """Over all base rates and worlds: the most false failures, the least and the most power."""
    yield head("cases", "attempts", "false failures, at most")
    groups: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.setting.n, cell.setting.k), []).append(cell)
    for (n, k), group in groups.items():
        worst = max((cell.noise for cell in group), key=lambda count: count.failed)
        found = [sorted((cell.power[at] for cell in group), key=lambda count: count.failed) for at in range(len(DROPS))]
        ranges = " | ".join(f"{least.percent.removesuffix(' %')}–{most.percent}" for least, *_, most in found)
        yield f"| {n} | {k} | {worst.exact} | {ranges} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer cells and runs, under a minute")
    quick = parser.parse_args().quick
    runs, changed = (QUICK_RUNS, QUICK_PLANTED) if quick else (RUNS, PLANTED)
    settings = list(grid(QUICK_ATTEMPTS if quick else ATTEMPTS, QUICK_RATES if quick else RATES))
    start = time.perf_counter()
    cells: list[Cell] = []
    for world in WORLDS:
        print(f"\n{world}: {runs:,} runs without a change and {changed} with each drop in a row\n")
        print(head("cases", "attempts", "base rate", "false failures"))
        for setting in settings:
            if setting.world == world:
                cells.append(Cell.measure(setting, runs, changed))
                print(cells[-1].row(), flush=True)
    print("\nall base rates, both worlds\n")
    print(*summary(cells), sep="\n")
    held = {repr(cell.setting): cell.noise for cell in cells}
    print(f"\nother suites without a change, {runs:,} runs each\n\n| suite | false failures |\n|---|---|")
    for name, setting in others().items():
        held[name] = simulate(setting, runs)
        print(f"| {name} | {held[name].exact} |", flush=True)
    print("\nwithout what it takes\n\n| suite | false failures |\n|---|---|")
    for name, setting in contrasts().items():
        print(f"| {name} | {simulate(setting, runs).exact} |", flush=True)
    return verdict(held, time.perf_counter() - start)


def verdict(held: Mapping[str, Count], seconds: float) -> int:
    together = Count(sum(each.failed for each in held.values()), sum(each.runs for each in held.values()))
    # One in twenty of 95 % intervals misses the truth: a level that they all keep at once.
    confidence = 1 - 0.05 / len(held)
    broken = [name for name, count in held.items() if count.interval(confidence)[0] > ALPHA]
    print(f"\nFalse failures over all {together.runs:,} runs: {together.exact}; alpha {ALPHA:g}; {seconds:.0f} s.")
    for name in broken:
        print(f"Above alpha: {name}: {held[name].exact}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
