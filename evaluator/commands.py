"""What each command of the terminal does. Each returns the process's exit code and raises UserError for bad input."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evaluator import config as configuration
from evaluator import log, printed
from evaluator.baselines import BaselineState, Found, Missing, file, stores
from evaluator.config.types import Config
from evaluator.errors import EXIT_CONFIGURATION, EXIT_DRIFT, EXIT_INCONCLUSIVE, EXIT_PASS, user_error
from evaluator.gate import exit_code
from evaluator.results import (
    SCHEMA_VERSION,
    Baseline,
    Run,
    decode_run,
    decode_run_or_baseline,
    encode,
    not_accepted,
)


def run(options: argparse.Namespace) -> int:
    """`trapgate run`: evaluate, compare, judge, report."""
    from evaluator import loading, pipeline
    from evaluator.progress import progress
    from evaluator.runners.stopping import stop_on_signals

    config, folder = _config(options.config)
    loading.selected(config, options.task)  # a mistyped name must not cost the last result, which was paid for
    pipeline.clear(options.output)
    with stop_on_signals() as stop:
        with _said_beside():
            result = pipeline.evaluate(
                config,
                folder=folder,
                output=options.output,
                cache=_cache(os.environ),
                baseline=_baseline(config, options.config),
                progress=progress(sys.stderr),
                environ=os.environ,
                model=options.model,
                tasks=options.task,
                commit=_git("rev-parse", "HEAD"),
                reuse_answers=options.cache,
                skip_unchanged=options.skip_unchanged,
                stop=stop,
                unsafe_judges=options.unsafe_judges,
            )
        return _report(result, options)


def score(options: argparse.Namespace) -> int:
    """`trapgate score`: score what somebody else produced."""
    from evaluator import pipeline

    pipeline.clear(options.output)
    config, folder = _config(options.config) if options.config else (None, Path())
    result = pipeline.score(
        options.source,
        outputs=options.outputs,
        format_name=options.format,
        config=config,
        task_name=options.task,
        folder=folder,
        output=options.output,
        cache=_cache(os.environ),
        baseline=_baseline(config, options.config) if config is not None else None,
        environ=os.environ,
        unsafe_judges=options.unsafe_judges,
    )
    return _report(result, options)


def record(options: argparse.Namespace) -> int:
    """`trapgate record`: a live run, or a log, into fixtures. Exit 3 where some attempt had no answer."""
    return _import(options) if options.log is not None else _record(options)


def _import(options: argparse.Namespace) -> int:
    from evaluator.recording.record import import_logs

    if options.output is None:
        mend = "Say where the drafts go: --output evals/refunds."
        raise user_error("record-output", "no folder for the drafts", where=str(options.log), mend=mend)
    imported = import_logs(options.log, options.output, os.environ)
    for note in imported.notes:
        print(f"note: {note}")
    _say_written(imported.written, imported.masked)
    print("next: edit expected_invocations in each, then trapgate validate")
    return EXIT_PASS


def _record(options: argparse.Namespace) -> int:
    from evaluator.progress import progress
    from evaluator.recording import live
    from evaluator.runners.stopping import stop_on_signals

    config, folder = _config(options.config)
    with stop_on_signals() as stop, _said_beside():
        done = live.record(
            config,
            folder=folder,
            cache=_cache(os.environ),
            task_name=options.task,
            output=options.output,
            progress=progress(sys.stderr),
            environ=os.environ,
            model=options.model,
            stop=stop,
        )
    for note in done.notes:
        print(f"note: {note}")
    _say_written(done.written, done.masked)
    print(f"{done.attempts} attempts recorded")
    for kind, count in done.lost.items():
        print(f"{count} without an answer: {kind}")
    return EXIT_INCONCLUSIVE if done.lost else EXIT_PASS


def _say_written(written: Sequence[Path], masked: int) -> None:
    for path in written:
        print(f"wrote {path}")
    if masked:
        print(f"{masked} secrets were masked")


def canaries(options: argparse.Namespace) -> int:
    """`trapgate canaries`: exit 4 when one is scored otherwise than it must be."""
    from evaluator import loading

    config, folder = _config(options.config) if options.config else (None, Path())
    results = loading.run_canaries(config, folder, _cache(os.environ), os.environ)
    failed = [canary for canary in results.cases if not canary.ok]
    if options.json:
        _print_json(results)
    else:
        for canary in failed:
            print(f"{canary.id}: expected {canary.expected}, got {canary.got}")
        print(f"{len(results.cases) - len(failed)} of {len(results.cases)} canaries ok (set {results.version})")
    return EXIT_DRIFT if failed or not results.cases else EXIT_PASS


def compare(options: argparse.Namespace) -> int:
    """`trapgate compare`: judge a stored result against another by today's validators."""
    from evaluator import stored
    from evaluator.reports import terminal

    config, folder = _config(options.config) if options.config else (None, Path())
    before = decode_run_or_baseline(_bytes(options.baseline), str(options.baseline))
    result = stored.compare(
        Found(str(options.baseline), before if isinstance(before, Baseline) else _as_baseline(before)),
        decode_run(_bytes(options.results), str(options.results)),
        config=config,
        folder=folder,
        cache=_cache(os.environ),
        environ=os.environ,
        unsafe_judges=options.unsafe_judges,
    )
    if options.json:
        _print_json(result)
    else:
        print(terminal.render(result))
    return exit_code(result)


def pin(options: argparse.Namespace) -> int:
    """`trapgate pin`: branches and tags become commits, in place."""
    from evaluator.sources.pin import pin as pin_file

    pinned = pin_file(options.file, os.environ)
    if options.json:
        _print_json([{"line": each.line, "before": each.before, "after": each.after} for each in pinned])
        return EXIT_PASS
    for each in pinned:
        print(f"{options.file}:{each.line}: {each.before} → {each.after}")
    if not pinned:
        print(f"{options.file}: every source is pinned already")
    return EXIT_PASS


def validate(options: argparse.Namespace) -> int:
    """`trapgate validate`: everything that can be known without a model; exit 2 when a case can never pass."""
    from evaluator import pipeline

    config, folder = _config(options.config)
    checked = pipeline.check(
        config, folder=folder, cache=_cache(os.environ), environ=os.environ, unsafe_judges=options.unsafe_judges
    )
    faults = [f"{task.name}/{case_id}: {why}" for task, found in checked for case_id, why in found.items()]
    if options.json:
        _print_json({"tasks": {task.name: len(task.cases) for task, _ in checked}, "faults": faults})
    else:
        for task, _ in checked:
            print(f"{task.name}: {len(task.cases)} cases, {len(task.skipped)} skipped, scorer {task.scorer}")
            for note in task.notes:
                print(f"  note: {note}")
        for note in config.notes:
            print(f"note: {note}")
        for fault in faults:
            print(f"fault: {fault}")
        if not faults:
            print(f"{options.config}: valid")
    return EXIT_CONFIGURATION if faults else EXIT_PASS


def build_closure(options: argparse.Namespace) -> int:
    """`trapgate build closure`: a structure-closure task of one's own values and calls."""
    from evaluator.closure.command import build_suite

    suite, written = build_suite(options.source, options.output, seed=options.seed, tasks=options.tasks)
    _say_written(written, 0)
    groups = suite.inventory["groups"]
    print(f"{sum(map(len, groups.values()))} cases in {len(groups)} groups")
    for group, count in suite.left_out.items():
        print(f"note: {group}: {count} items have nothing to cut there")
    return EXIT_PASS


def init(options: argparse.Namespace) -> int:
    """`trapgate init`: files that run as they are; nothing that exists is touched."""
    from evaluator.config import starter

    if (options.folder / "trap.yaml").exists():
        raise user_error(
            "init-exists",
            "trap.yaml exists already",
            where=str(options.folder),
            mend="Nothing was written. Choose another folder, or edit what is there.",
        )
    wanted = starter.files()
    files = starter.missing(options.folder)
    for name, text in files.items():
        file.write_atomically(options.folder / name, text.encode())
        print(f"wrote {options.folder / name}")
    for name in wanted.keys() - files.keys():
        why = "it exists already" if (options.folder / name).exists() else "workflows lie at the top of a repository"
        print(f"left out {name}: {why}")
    print("next: trapgate run, then trapgate baseline accept")
    return EXIT_PASS


def _report(result: Run, options: argparse.Namespace) -> int:
    """Writes what people read beside results.json, prints the short form, and gives the exit code."""
    from evaluator.reports import files, terminal

    files.write(options.output, result)
    if options.json:
        _print_json(result)
    else:
        print(terminal.render(result))
        print(f"written to {options.output}: {', '.join(['results.json', *files.FILES])}")
    return exit_code(result)


@contextlib.contextmanager
def _said_beside() -> Iterator[None]:
    """What happens in a run, and whatever libraries print, goes to standard error: a line for each event in a log, only
    what is worth a warning in a terminal, where a bar shows the rest."""
    level = log.WARNING if sys.stderr.isatty() else log.INFO
    with log.to(sys.stderr, os.environ, level=level), contextlib.redirect_stdout(sys.stderr):
        yield


def _config(path: Path) -> tuple[Config, Path]:
    """The configuration and the folder where its paths start."""
    return configuration.load(path), path.parent


def _baseline(config: Config, path: Path) -> BaselineState:
    """The baseline of `config`, the trap.yaml at `path`, from whichever store it names."""
    store = stores.open_store(config, path.parent, os.environ)
    return store.read(stores.here(config, path, os.environ))


def _bytes(path: Path) -> bytes:
    state = file.read_bytes(path)
    if isinstance(state, bytes):
        return state
    raise user_error(
        "results-unreadable",
        "there is no such file" if isinstance(state, Missing) else f"cannot be read: {state.why}",
        where=str(path),
        mend="Name a results.json that `trapgate run` or `trapgate score` wrote, or an accepted baseline.",
    )


def _as_baseline(run: Run) -> Baseline:
    return Baseline(schema_version=SCHEMA_VERSION, accepted=not_accepted(run), run=run)


def _git(*arguments: str) -> str | None:
    """What git says in the work folder; None where it says nothing."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _cache(environ: Mapping[str, str]) -> Path:
    """Where fetched sources are kept between runs (XDG base directory specification)."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "trapgate"


def _print_json(document: Any) -> None:
    data = encode(document) if isinstance(document, Run | Baseline) else msgspec.json.encode(document)
    printed.print_json(data.decode(), os.environ)
