"""`trapgate baseline …`: accept, move, show and list baselines, in whichever store trap.yaml names."""

from __future__ import annotations

import argparse
import getpass
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evaluator import config as configuration
from evaluator import printed
from evaluator.baselines import Found, Missing, Unreadable, file, moving, stores
from evaluator.baselines.history import Entry
from evaluator.baselines.origin import git, proposed
from evaluator.baselines.store import Place, Store
from evaluator.config.types import Config
from evaluator.errors import EXIT_INCONCLUSIVE, EXIT_PASS, UserError, user_error
from evaluator.results import Acceptance, Baseline, Run, decode_run, encode, models_of
from evaluator.transcript import well_formed


def accept(options: argparse.Namespace) -> int:
    """`trapgate baseline accept`: make a finished run the baseline, and end `allow_missing`."""
    config, store, place = _opened(options)
    if config.baseline.store == "branch" and options.branch is None and (what := proposed(os.environ)):
        raise user_error(
            "baseline-no-branch",
            f"this job is about {what}: its base only says with which baseline to compare, not which to replace",
            where=_clean(str(options.config)),
            mend=f"Name the branch whose baseline this is to be: `--branch {_clean(place.branch)}`.",
        )
    run, path = _run(options)
    fault = moving.unfit(run, config)
    if fault is not None:
        raise user_error(fault.code, _clean(fault.what), where=_clean(str(path)), mend=_clean(fault.mend))
    accepted = Acceptance(by=_who(os.environ), at=_now(), why=well_formed(options.why or "no reason given"))
    where = store.write(run, accepted, place)
    _say(f"accepted the run of {run.started} ({run.verdict}): {_in_short(run)}")
    for each in (run, *run.beside):
        for line in _never_passed(each):
            _say(line)
    _say(f"baseline written to {where}")
    if config.baseline.allow_missing:
        _end_allow_missing(options.config)
    return EXIT_PASS


def move(options: argparse.Namespace) -> int:
    """`trapgate baseline move`: as a run does by itself; exit 3 with the reason where it may not."""
    config, store, place = _opened(options)
    run, path = _run(options)
    what = proposed(os.environ) if config.baseline.store == "branch" else ""
    if what:
        return _not_moved(path, f"this job is about {what}, and what it evaluates is not merged yet")
    why = moving.unfit_to_move(run, config, store.read(place))
    if why:
        return _not_moved(path, why)
    try:
        where = store.write(run, moving.by_itself(_now()), place)
    except UserError as error:
        if error.code != "baseline-not-moved":
            raise
        return _not_moved(path, error.problems[0].message)
    _say(f"baseline moved to {where}")
    return EXIT_PASS


def _not_moved(path: Path, why: str) -> int:
    _say(f"{path} does not move the baseline: {why}")
    return EXIT_INCONCLUSIVE


def show(options: argparse.Namespace) -> int:
    """`trapgate baseline show`: what the baseline of trap.yaml holds."""
    _, store, place = _opened(options)
    state = store.read(place)
    if not isinstance(state, Found):
        raise _none(state)
    if options.json:
        printed.print_json(encode(state.baseline).decode(), os.environ)
        return EXIT_PASS
    _say(f"{state.where}: {_accepted(state.baseline.accepted)}")
    _show_tasks(state.baseline)
    if state.baseline.anchor is not None:
        _say(f"  small drops add up from the one that was {_accepted(state.baseline.anchor.accepted)}")
    return EXIT_PASS


def history(options: argparse.Namespace) -> int:
    """`trapgate baseline history`: what was the baseline, newest first."""
    _, store, place = _opened(options)
    entries = store.history(place)
    if options.json:
        printed.print_json(msgspec.json.encode([_line(entry) for entry in entries]).decode(), os.environ)
        return EXIT_PASS
    if entries:
        _print_table(entries)
    else:
        print("there is no baseline yet")
    if store.older:
        _say(f"older ones: {store.older}")
    return EXIT_PASS


def _opened(options: argparse.Namespace) -> tuple[Config, Store, Place]:
    config = configuration.load(options.config)
    store = stores.open_store(config, options.config.parent, os.environ)
    return config, store, stores.here(config, options.config, os.environ, options.branch)


def _run(options: argparse.Namespace) -> tuple[Run, Path]:
    path = options.results or Path("trapgate-results") / "results.json"
    data = file.read_bytes(path)
    if isinstance(data, bytes):
        return decode_run(data, str(path)), path
    raise user_error(
        "results-unreadable",
        "there is no such file" if isinstance(data, Missing) else f"cannot be read: {data.why}",
        where=str(path),
        mend="Name a results.json that `trapgate run` or `trapgate score` wrote.",
    )


def _none(state: Missing | Unreadable) -> UserError:
    if isinstance(state, Missing):
        mend = "Accept a run: `trapgate baseline accept --why …`."
        return user_error("baseline-missing", "there is no baseline yet", where=_clean(state.where), mend=mend)
    what = f"the baseline cannot be read: {_clean(state.why)}"
    return user_error("baseline-unreadable", what, where=_clean(state.where))


def _end_allow_missing(path: Path) -> None:
    from evaluator.config.edit import set_scalar

    changed = set_scalar(path.read_text(encoding="utf-8"), ("baseline", "allow_missing"), False, str(path))
    file.write_atomically(path, changed.encode())
    _say(f"{path}: baseline.allow_missing is false now that there is one")


def _who(environ: Mapping[str, str]) -> str:
    """Who accepts: the actor of a workflow, git's user name, or the user of this machine."""
    if environ.get("GITHUB_ACTOR"):
        return well_formed(environ["GITHUB_ACTOR"])
    if name := git(Path(), "config", "user.name"):
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _say(text: str) -> None:
    """Prints what others wrote a part of: on one line, and as no command of the Actions runner."""
    print(_clean(text))


def _clean(text: str) -> str:
    from evaluator.reports.escape import log_text

    return log_text(text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _in_short(run: Run) -> str:
    return ", ".join(f"{task.name} {len(task.cases)} cases" for task in run.tasks)


def _never_passed(run: Run) -> Iterator[str]:
    """What a baseline cannot guard: cases that fail in all their attempts."""
    for task in run.tasks:
        failed = [case.id for case in task.cases if not any(attempt.passed for attempt in case.attempts)]
        if failed:
            shown = ", ".join(failed[:5]) + (f" and {len(failed) - 5} more" if len(failed) > 5 else "")
            yield f"{task.name}: {len(failed)} cases pass in no attempt and guard nothing: {shown}"


def _accepted(accepted: Acceptance) -> str:
    how = "accepted" if accepted.explicit else "moved by itself"
    return f"{how} {accepted.at} by {accepted.by}: {accepted.why}"


def _show_tasks(baseline: Baseline) -> None:
    for each in (baseline.run, *baseline.run.beside):
        if baseline.run.beside:
            _say(f"  {models_of(each)[0]}")
        for task in each.tasks:
            rate = task.metrics.get("pass_rate")
            shown = f"pass_rate {rate.value:.2f}" if rate is not None else "no pass_rate"
            _say(f"  {task.name}: {len(task.cases)} cases × {task.repeats}, {task.scored} attempts scored, {shown}")


def _line(entry: Entry) -> dict[str, object]:
    """An entry for a machine: every key is there, and none of the store's own."""
    return {
        "at": entry.at,
        "commit": entry.commit or None,
        "by": entry.by,
        "explicit": entry.explicit,
        "why": entry.why,
        "verdict": entry.verdict,
        "figures": [
            {"task": each.task, "slice": each.slice or None, "model": each.model or None, "cases": each.cases}
            | {"metrics": each.metrics}
            for each in entry.figures
        ],
    }


def _print_table(entries: list[Entry]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="")
    for name in ("when", "commit", "by", "how", "verdict", "figures"):
        table.add_column(name, overflow="fold")
    for entry in entries:
        how = f"accepted: {entry.why}" if entry.explicit else "by itself"
        cells = (entry.at, entry.commit[:12] or "unknown", entry.by, how, entry.verdict, _figures(entry))
        table.add_row(*(Text(_clean(cell)) for cell in cells))
    console = Console(highlight=False, soft_wrap=False)
    # A log has no width of its own, and a folded commit cannot be copied.
    (console if console.is_terminal else Console(width=200, highlight=False)).print(table)


def _figures(entry: Entry) -> str:
    several = len({each.model for each in entry.figures}) > 1
    shown = []
    for each in entry.figures:
        name = "/".join(filter(None, (each.model if several else "", each.task, each.slice)))
        values = ", ".join(f"{metric} {value:.2f}" for metric, value in list(each.metrics.items())[:1])
        shown.append(f"{name} {values or 'no figure'} ({each.cases} cases)")
    return "; ".join(shown)
