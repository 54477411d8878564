"""The action, from the runner's environment to an exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TextIO

from evaluator import config, pipeline
from evaluator.baselines import BaselineState
from evaluator.baselines.file import read as read_baseline
from evaluator.baselines.file import read_bytes, write_atomically
from evaluator.config.types import Config
from evaluator.errors import EXIT_CONFIGURATION, EXIT_INTERNAL, UserError, user_error
from evaluator.github import base, checkout, environment, events, files, publish, settling, tip
from evaluator.github.client import Client, Failure
from evaluator.github.commands import Log
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.github.settling import Plan
from evaluator.progress import progress
from evaluator.redaction import Redactor, secrets
from evaluator.results import Reason, Run, encode
from evaluator.runners.stopping import stop_on_signals

Evaluate = Callable[..., Run]


def run(environ: Mapping[str, str], stream: TextIO, evaluate: Evaluate = pipeline.evaluate) -> int:
    """Evaluates and publishes; returns the exit code. Whatever goes wrong is said on `stream`, never raised."""
    log = Log(stream)
    for secret in sorted(secrets(environ)):
        log.mask(secret)
    try:
        settings = environment.read(environ)
    except UserError as error:
        for problem in error.problems:
            log.problem(problem, title=f"trapgate: {error.code}", inside=False)
        _no_result(environ)
        return EXIT_CONFIGURATION
    redactor = Redactor(environ)
    client = Client(settings.api_url, settings.inputs.token)
    activity = Activity()  # as long as the event is not read, nothing may be posted
    try:
        try:
            activity = events.activity(settings.event_name, events.load(settings.event_path), settings.ref)
            # A cancelled job still publishes what it has.
            with stop_on_signals() as stop:
                return _act(settings, activity, client, environ, log, redactor, partial(evaluate, stop=stop))
        except UserError as error:
            publish.user_error(settings, activity, client, error, log, redactor)
            return EXIT_CONFIGURATION
    except Exception as error:  # a bug must not read as a verdict: Python's own exit code is that of a regression
        publish.crash(settings, activity, client, error, log, redactor)
        return EXIT_INTERNAL


def _act(
    settings: Environment,
    activity: Activity,
    client: Client,
    environ: Mapping[str, str],
    log: Log,
    redactor: Redactor,
    evaluate: Evaluate,
) -> int:
    if activity.refused:
        raise user_error("event-refused", activity.refused, where=f"on: {settings.event_name}")
    inputs = settings.inputs
    path = settings.workspace / inputs.config
    loaded = _config(settings, path)
    seen = checkout.look(settings, activity, path)
    if seen.other:
        activity = replace(activity, label=None, moves=False)
    rules, activity = _rules(settings, activity, client, loaded, path)
    plan = settling.plan(client, settings, activity, rules.config or loaded, path)
    baseline = _baseline(settings, plan, rules, loaded, path)
    output = files.output_folder(settings.workspace, inputs.output)
    pipeline.clear(output)
    cache = settings.runner_temp / "trapgate-cache"
    cache.mkdir(exist_ok=True)
    try:
        # Libraries on the way may print what a server said.
        with log.group("Evaluation"), log.commands_off():
            result = evaluate(
                loaded,
                folder=path.parent,
                output=output,
                cache=cache,
                baseline=baseline,
                rules=rules.config,
                notes=rules.notes + plan.notes + [Reason(kind="note", text=n) for n in (seen.note, activity.note) if n],
                model=inputs.model,
                tasks=list(inputs.tasks) if inputs.tasks else None,
                commit=activity.head_sha or settings.sha,
                progress=progress(log.stream),
                environ=environment.without_runner_secrets(environ),
                unsafe_judges=inputs.unsafe_judges,
                skip_unchanged=inputs.skip_unchanged,
            )
        settled = settling.settle(plan, result, loaded, baseline)
        if settled.run is not result:
            write_atomically(output / pipeline.RESULTS, redactor.clean(encode(settled.run).decode()).encode())
        publish.reports(output, settled.run, redactor)
    finally:
        files.give_to_owner(settings.workspace, output, cache)
    publish.result(settings, activity, client, settled, log, redactor)
    return settled.code


def _no_result(environ: Mapping[str, str]) -> None:
    """The exit code as an output, where the runner gave a file for outputs."""
    file = Path(environ.get("GITHUB_OUTPUT", ""))
    if file.is_file():
        publish.no_result(file, EXIT_CONFIGURATION)


def _config(settings: Environment, path: Path) -> Config:
    shown = settings.inputs.config
    if not path.exists() and not (settings.workspace / ".git").exists():
        raise user_error(
            "config-missing",
            "there is no such file, and no repository in the workspace",
            where=shown,
            mend="Check it out before this step: `- uses: actions/checkout@v4`.",
        )
    return config.load(path, shown=shown)


def _rules(
    settings: Environment, activity: Activity, client: Client, loaded: Config, path: Path
) -> tuple[base.Rules, Activity]:
    """Whose rules apply: the base's on a pull request and in a merge queue, else those of the checkout. And the
    activity with the base's tip as it is, not as the event has it."""
    if not activity.rules_from_base or activity.base_sha is None:
        return base.Rules(None, None), activity
    found = tip.of_base(client, settings.repository, activity, settings.sha)
    if isinstance(found, str):
        activity = replace(activity, base_sha=found)
    override = settings.inputs.baseline
    change = base.Change(
        repository=settings.repository,
        base_sha=activity.base_sha or "",
        base_ref=activity.base_ref,
        default_branch=activity.default_branch,
        config_path=base.repository_path(settings.workspace, path),
        config=loaded,
        baseline_path=base.repository_path(settings.workspace, settings.workspace / override) if override else None,
        baseline=_bytes(settings.workspace / override if override else path.parent / loaded.baseline.path),
    )
    if isinstance(found, Failure):
        return base.unreadable(change, f"the tip of {activity.base_ref}", found.message), activity
    return base.rules(client, change), activity


def _bytes(file: Path) -> bytes | None:
    read = read_bytes(file)
    return read if isinstance(read, bytes) else None


def _baseline(settings: Environment, plan: Plan, rules: base.Rules, loaded: Config, path: Path) -> BaselineState:
    if rules.baseline is not None:
        return rules.baseline
    if plan.store is not None and plan.place is not None:
        return plan.store.read(plan.place)
    override = settings.inputs.baseline
    file = settings.workspace / override if override else path.parent / loaded.baseline.path
    where = override or loaded.baseline.path
    return read_baseline(file, where)
