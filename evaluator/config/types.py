"""trap.yaml as typed values, complete and checked: what `evaluator.config.load` returns.

Rates are fractions of 1, money is US dollars, times are seconds.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from evaluator.cases import Program


class Include(msgspec.Struct, frozen=True, kw_only=True):
    """A case is in when it has one of `tags` (if any are given) and matches one of the `ids` globs (if any)."""

    tags: list[str] = []
    ids: list[str] = []


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """Retry with feedback. `max_attempts`: tries of one attempt at most, 1 for no retry. `score`: the try that the
    verdict rests on."""

    max_attempts: int = 1
    score: Literal["first", "last"] = "first"


class TaskConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`options`: scorer options of the format, e.g. `{"json_call": "upstream", "no_hedge": True}`. `repeats` is already
    resolved against the file's default, and so is `retry`. `line` is where the task stands in the file."""

    name: str
    source: str
    format: str | None = None
    judge: Literal["builtin", "task", "both"] = "builtin"
    trust: bool = False
    repeats: int = 1
    include: Include = Include()
    options: dict[str, Any] = {}
    retry: Retry = Retry()
    line: int = 0


class BaselineConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`store`: `file`, and then `path` is relative to the folder of trap.yaml; or `branch`, a git branch of the
    repository on GitHub, which keeps the last `keep` baselines of each branch."""

    store: Literal["file", "branch"] = "file"
    path: str = ".trap/baseline.json"
    branch: str = "trapgate-baselines"
    keep: int = 20
    allow_missing: bool = False


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One gate rule. At least one of the four limits is set. `line` is where it stands in the file."""

    metric: str
    task: str | None = None
    slice: str | None = None
    min: float | None = None
    max: float | None = None
    max_drop: float | None = None
    max_rise: float | None = None
    on_noise: Literal["warn", "fail"] = "warn"
    line: int = 0


class GateConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`rules` None: the default rules (pass_rate may not drop, on each task). `on_drift`: what provider or model drift
    does; validator drift always fails. `on_fork`: tasks whose recordings decide a run without a key that a fork or
    Dependabot set off; with none it is inconclusive."""

    alpha: float = 0.02
    coverage: float = 0.95
    on_drift: Literal["fail", "warn"] = "fail"
    on_fork: list[str] = []
    rules: list[Rule] | None = None


class DriftConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`live_canaries`: whether the provider is sent a few requests of trapgate's own. `control_cases`: how many
    suspected cases are asked again with what the baseline was made with, 0 for none."""

    live_canaries: bool = True
    control_cases: int = 20


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`timeout`: seconds for the whole run; `case_timeout`: seconds for one try of one call; `concurrency`: calls in
    flight at most."""

    max_cost_usd: float | None = None
    timeout: float | None = None
    case_timeout: float = 600.0
    concurrency: int = 16


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars per million tokens, for models that the price list does not know."""

    input_per_million: float
    output_per_million: float


class CommandConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A command as the solution. `stdin`: the input file of each case that it reads on its standard input, True for the
    prompt that a model would get, None for nothing. `env`: the variables of our environment that it sees."""

    program: Program
    envvar: str = "TRAP_MANIFEST"
    stdin: str | bool | None = None
    env: list[str] = []
    setup: Program | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """`path`: the file as the user named it; `digest`: SHA-256 of its bytes. `model` None: no task calls a model, or
    the caller must name one. `models`: all of them where there are several, `model` is then the first. `command`: what
    is run in place of a model. `system`, `tools` are paths relative to the folder of the file. `notes`: accepted keys
    that have no effect."""

    path: str
    digest: str
    name: str | None = None
    model: str | None = None
    models: list[str] = []
    command: CommandConfig | None = None
    params: dict[str, Any] = {}
    system: str | None = None
    tools: str | None = None
    structured: Literal["schema", "tool", "prompt"] = "prompt"
    canaries: str | None = None
    price: Price | None = None
    tasks: list[TaskConfig] = []
    baseline: BaselineConfig = BaselineConfig()
    gate: GateConfig = GateConfig()
    drift: DriftConfig = DriftConfig()
    limits: Limits = Limits()
    notes: list[str] = []

    def price_of(self, model: str) -> Price | None:
        """`price`, which is that of the model of the file and of no other."""
        return self.price if self.model in (None, model) else None
