"""What the control arm says, by what is true: `python -m bench.control [--quick]`.

Runs are made up with the makers of `bench.power`, suspected by the real gate, their cases drawn by `control.chosen`
and asked again in made-up arms; what is counted is the arm's word among the runs in which something was suspected.
Exit code 1 where the model is blamed for a change's drop, or the change for the model's, more often than a row allows.
docs/drift.md shows the table.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import msgspec

from bench.power import CANARIES, Setting, chance, found, task
from evaluator import control
from evaluator.comparison import pair
from evaluator.config.types import DriftConfig, GateConfig
from evaluator.decision import ControlWord
from evaluator.gate import decide
from evaluator.results import CaseResult, Control, TaskResult
from evaluator.rules import Facts

Chances = list[float]
# The baseline's chances → those of the base now and of the change now.
Truth = Callable[[Chances, random.Random], tuple[Chances, Chances]]


@dataclass(frozen=True)
class World:
    """`wrong`: the word that would blame the innocent, with the share of runs that may say it."""

    name: str
    setting: Setting
    truth: Truth
    wrong: ControlWord
    allowed: float = 0.1


def nothing(chances: Chances, _: random.Random) -> tuple[Chances, Chances]:
    return chances, chances


def change_worse(share: float) -> Truth:
    def truth(chances: Chances, rng: random.Random) -> tuple[Chances, Chances]:
        return chances, [0.0 if rng.random() < share else each for each in chances]

    return truth


def model_moved(share: float) -> Truth:
    def truth(chances: Chances, rng: random.Random) -> tuple[Chances, Chances]:
        moved = [0.0 if rng.random() < share else each for each in chances]
        return moved, moved

    return truth


def both(model: float, change: float) -> Truth:
    def truth(chances: Chances, rng: random.Random) -> tuple[Chances, Chances]:
        moved = [0.0 if rng.random() < model else each for each in chances]
        return moved, [0.0 if rng.random() < change else each for each in moved]

    return truth


def worlds() -> list[World]:
    """Suites of 100 cases: steady ones, mixed ones and hard ones that flip."""
    found = []
    for k in (1, 3):
        for name, rate, world in (
            ("steady", 0.999, "alike"),
            ("mixed, 0.8", 0.8, "mixed"),
            ("flipping, 0.5", 0.5, "alike"),
        ):
            setting = Setting(n=100, k=k, rate=rate, world=world)
            found += [
                World(f"{name}, k = {k}: the change broke a third", setting, change_worse(0.33), "fell", 0.02),
                World(f"{name}, k = {k}: the model broke a third", setting, model_moved(0.33), "holds", 0.05),
                World(
                    f"{name}, k = {k}: the model broke a fifth, the change another fifth",
                    setting,
                    both(0.2, 0.2),
                    "fell",
                ),
            ]
        hard = Setting(n=200, k=k, rate=0.2, world="alike")
        found.append(
            World(f"hard, 0.2, k = {k}: the change broke three quarters", hard, change_worse(0.75), "fell", 0.2)
        )
    chance_alone = Setting(n=100, k=1, rate=0.5, world="alike")
    found.append(World("flipping, 0.5, k = 1: nothing, suspected by chance", chance_alone, nothing, "fell"))
    return found


def words(world: World, runs: int) -> Counter[str]:
    """How often each word is said, over so many runs in which something is suspected."""
    rng = random.Random(world.name)
    said: Counter[str] = Counter()
    for _ in range(40 * runs):
        word = one(world, rng)
        said.update([word] if word else [])
        if said.total() == runs:
            break
    return said


def one(world: World, rng: random.Random) -> ControlWord | None:
    """What the arm says in one made-up run, None where the gate suspects nothing."""
    setting = world.setting
    chances = [chance(setting, rng) for _ in range(setting.n)]
    base, change = world.truth(chances, rng)
    before, now = (task("t", setting, each, setting.k, rng) for each in (chances, change))
    facts = Facts(canaries=CANARIES, tasks=[now], baseline=found([before]), pairings={"t": pair(before, now)})
    gate = GateConfig()
    first = decide(gate, facts)
    if not first.suspicions:
        return None
    chosen = control.chosen(first.suspicions, DriftConfig().control_cases, gate.alpha, seed=str(rng.random()))
    if chosen is None:
        return None
    arms = Control(
        base=[arm(before, base, chosen.attempts, setting, rng)],
        change=[arm(before, change, chosen.attempts, setting, rng)],
        left=chosen.left,
    )
    word = decide(gate, msgspec.structs.replace(facts, control=arms)).control
    return word.word if word is not None else None


def arm(
    like: TaskResult, chances: Chances, attempts: dict[tuple[str, str], int], setting: Setting, rng: random.Random
) -> TaskResult:
    """Fresh attempts of the chosen cases."""
    most = max(attempts.values())
    whole = task("t", setting, chances, most, rng)
    cases: list[CaseResult] = [
        msgspec.structs.replace(case, attempts=case.attempts[: attempts["t", case.id]])
        for case in whole.cases
        if ("t", case.id) in attempts
    ]
    return msgspec.structs.replace(like, cases=cases)


def main(arguments: Sequence[str]) -> int:
    """Prints the table; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.control")
    parser.add_argument("--quick", action="store_true")
    runs = 60 if parser.parse_args(arguments).quick else 300
    wrong = []
    print(f"| what is true ({runs} suspected runs each) | {' | '.join(get_args(ControlWord)[:3])} |\n|---|---|---|---|")
    for world in worlds():
        said = words(world, runs)
        total = max(1, said.total())
        shares = [f"{100 * said[word] / total:.0f} %" for word in get_args(ControlWord)[:3]]
        print(f"| {world.name} | {' | '.join(shares)} |", flush=True)
        if said[world.wrong] / total > world.allowed + 0.03:  # give or take what so few runs can tell
            wrong.append(world.name)
    for name in wrong:
        print(f"the innocent is blamed too often: {name}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
