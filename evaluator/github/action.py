"""The action, from the runner's environment to an exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from evaluator import config, pipeline, printed
from evaluator import log as run_log
from evaluator.baselines import BaselineState, Found, Missing, Unreadable
from evaluator.baselines.file import read as read_baseline
from evaluator.baselines.file import read_bytes, write_atomically
from evaluator.config.types import Config
from evaluator.errors import EXIT_CONFIGURATION, EXIT_INCONCLUSIVE, EXIT_INTERNAL, UserError, user_error
from evaluator.github import (
    base,
    checkout,
    endings,
    environment,
    events,
    files,
    outside,
    permissions,
    publish,
    second_stage,
    settling,
    tip,
    tracking_issue,
)
from evaluator.github.client import Client, Failure
from evaluator.github.commands import Log
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.github.settling import Plan, Settled
from evaluator.progress import progress
from evaluator.redacted import redacted
from evaluator.redaction import Redactor, secrets
from evaluator.results import Reason, Run
from evaluator.runners.stopping import StopSignal, stop_on_signals

Evaluate = Callable[..., Run]


def run(environ: Mapping[str, str], stream: TextIO, evaluate: Evaluate = pipeline.evaluate) -> int:
    """Evaluates and publishes; returns the exit code. Whatever goes wrong is said on `stream`, never raised."""
    began = datetime.now(UTC)
    redactor = Redactor(environ)
    commands = Log(stream, redactor.clean)
    for secret in sorted(secrets(environ)):
        commands.mask(secret)
    # A cancelled job still publishes what it has, an error or a fault of ours too.
    with printed.cleaned(environ, stream, stream), stop_on_signals() as stop:
        return _run(environ, began, commands, redactor, evaluate, stop)


class _CancelledError(Exception):
    """A stop was asked for before anything was evaluated."""


def _unless_stopped(evaluate: Evaluate, stop: StopSignal) -> Evaluate:
    def run(*given: Any, **named: Any) -> Run:
        if stop.reason is not None:
            raise _CancelledError
        return evaluate(*given, stop=stop, **named)

    return run


def _run(
    environ: Mapping[str, str],
    began: datetime,
    log: Log,
    redactor: Redactor,
    evaluate: Evaluate,
    stop: StopSignal,
) -> int:
    wrong = None
    try:
        settings = environment.read(environ, began)
    except environment.InputsError as error:
        settings, wrong = error.environment, error
    except UserError as error:
        with contextlib.suppress(OSError):
            _no_result(environ)
        endings.problems(error, log)
        return EXIT_CONFIGURATION
    client = Client(settings.api_url, settings.inputs.token, stop=stop)
    activity = Activity()  # as long as the event is not read, nothing may be posted
    try:
        try:
            event = events.load(settings.event_path)
            if settings.inputs.mode == "publish" and wrong is None:
                return second_stage.publish(settings, event, client, log, redactor)
            activity = events.activity(
                settings.event_name,
                event,
                settings.ref,
                allow_pull_request_target=settings.inputs.allow_pull_request_target,
                unsafe_judges=settings.inputs.unsafe_judges,
            )
            if wrong is not None:
                raise wrong
            return _act(settings, activity, client, environ, log, redactor, _unless_stopped(evaluate, stop))
        except _CancelledError:
            endings.cancelled(settings, activity, client, stop.reason or "", log)
            return EXIT_INCONCLUSIVE
        except UserError as error:
            endings.user_error(settings, activity, client, wrong or error, log, redactor)
            return EXIT_CONFIGURATION
    except Exception as error:  # a bug must not read as a verdict: Python's own exit code is that of a regression
        endings.crash(settings, activity, client, error, log)
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
    # Libraries on the way may print what a server said.
    with log.sections("Configuration") as begin, run_log.to(sys.stderr, environ, section=begin):
        settled, loaded, activity = _settled(settings, activity, client, environ, redactor, evaluate)
    publish.result(settings, activity, client, settled, log, redactor, config=loaded)
    return settled.code


def _settled(
    settings: Environment,
    activity: Activity,
    client: Client,
    environ: Mapping[str, str],
    redactor: Redactor,
    evaluate: Evaluate,
) -> tuple[Settled, Config, Activity]:
    """What became of the run, the configuration of the checkout, and the activity with what was found out about it."""
    inputs = settings.inputs
    path = settings.workspace / inputs.config
    loaded = _config(settings, path)
    if activity.target and loaded.command is not None and inputs.model is None:
        raise user_error(
            "event-refused",
            "a command as the solution is code of the change, and could send this repository's secrets anywhere",
            where=f"on: {settings.event_name}",
            mend="Use `pull_request`, or name a model in trap.yaml.",
        )
    seen = checkout.look(settings, activity, path)
    if seen.other:
        activity = replace(activity, label=None, moves=False)
    checks = permissions.Checks()
    with checks:
        publish.beginning(settings, activity, client)
    with checks:
        rules, activity = _rules(settings, activity, client, loaded, path)
    checks.refuse()
    if activity.rules_from_base:
        outside.refuse(settings.workspace, path.parent, loaded, rules.base, with_secrets=activity.target)
    with checks:
        tracking_issue.check(settings, activity, client)
    with checks:
        plan = settling.plan(client, settings, activity, rules.config or loaded, path)
    checks.refuse()
    baseline = _baseline(settings, plan, rules, loaded, path)
    _say(settings, activity, loaded, rules, baseline)
    output = files.output_folder(settings.workspace, inputs.output)
    pipeline.clear(output)
    cache = settings.runner_temp / "trapgate-cache"
    cache.mkdir(exist_ok=True)
    try:
        evaluated = evaluate(
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
            progress=progress(sys.stderr),
            environ=environment.without_runner_secrets(environ),
            unsafe_judges=inputs.unsafe_judges,
            skip_unchanged=inputs.skip_unchanged,
            without_key=activity.fork or activity.dependabot,
        )
        settled = settling.settle(plan, evaluated, loaded, baseline, permissions.needed(settings, activity))
        run, data = redacted(settled.run, redactor)  # what the server said of moving the baseline is new in it
        settled = replace(settled, run=run)
        if run is not evaluated:
            write_atomically(output / pipeline.RESULTS, data)
        publish.reports(output, run)
    finally:
        files.give_to_owner(settings.workspace, output, cache)
    return settled, loaded, activity


def _say(settings: Environment, activity: Activity, loaded: Config, rules: base.Rules, baseline: BaselineState) -> None:
    """What the run goes by."""
    model = settings.inputs.model or loaded.model or ", ".join(loaded.models) or "a command"
    run_log.info("configuration read", file=settings.inputs.config, tasks=len(loaded.tasks), model=model)
    if rules.config is not None:
        run_log.info("rules of the base", commit=(activity.base_sha or "")[:12])
    state = {Found: "read", Missing: "missing", Unreadable: "unreadable"}[type(baseline)]
    say = run_log.info if isinstance(baseline, Found) else run_log.warning
    say(f"baseline {state}", where=baseline.where)


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
