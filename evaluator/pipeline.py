"""The whole story: trap.yaml → canaries → tasks → attempts → scores → comparison → verdict → results.json.

`evaluate` calls a model; `score` takes what somebody else produced. What they share after the transcripts is in
`judgement`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evaluator import asking, attempts, fingerprint, keyless, leaks, loading, log, models, task_results
from evaluator.asking import Answers
from evaluator.baselines import BaselineState
from evaluator.baselines.file import ensure_writable, not_writable, write_atomically
from evaluator.cases import Recorded, Subject, Task, digest_of
from evaluator.config.types import Config, GateConfig
from evaluator.errors import user_error
from evaluator.judgement import Measured, judge, judged
from evaluator.judging import stage
from evaluator.judging.bench import open_bench
from evaluator.keyless import Unasked
from evaluator.progress import Progress
from evaluator.redacted import redacted
from evaluator.redaction import Redactor
from evaluator.reports.files import FILES
from evaluator.results import CanaryResults, Control, Reason, Run
from evaluator.scoring.self_check import self_check

if TYPE_CHECKING:  # asyncio, which most commands do without
    from evaluator.runners.stopping import StopSignal

RESULTS = "results.json"


def evaluate(
    config: Config,
    *,
    folder: Path,
    output: Path,
    cache: Path,
    baseline: BaselineState | None,
    progress: Progress,
    environ: Mapping[str, str],
    rules: Config | None = None,
    notes: Sequence[Reason] = (),
    model: str | None = None,
    tasks: Sequence[str] | None = None,
    commit: str | None = None,
    stop: StopSignal | None = None,
    unsafe_judges: bool = False,
    reuse_answers: bool = False,
    skip_unchanged: bool = False,
    without_key: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Runs what `config` says and writes `output`/results.json; the run with its verdict.

    `folder`: where trap.yaml's paths start. `rules`: the configuration to judge by where it is not `config` itself (on
    a pull request it is the base's): its gate, its prices, no fewer than its repeats, and all of its tasks. `notes`:
    first lines of the report. `model`, `tasks`: overrides; None takes the configuration's. `commit`: of the repository
    under test. `stop`: asks to end early; what is there is judged and written all the same. `unsafe_judges`: run the
    tasks' own judges even where nothing isolates them. `reuse_answers`: do not ask again what was answered before.
    `skip_unchanged`: ask nothing where nothing that matters differs from the baseline. `without_key`: whoever set the
    run off gets no secrets, so where the provider's key is missing it goes by recordings; they decide where `rules`,
    and not `config` itself, say so.

    Raises UserError for bad configuration or input, before anything is paid for.
    """
    from evaluator.config.subject import load_subjects, with_files
    from evaluator.runners import client
    from evaluator.runners.command import open_solution

    started, began = _now(), clock()
    is_held = rules is not None
    rules = rules or config
    decisive = rules.gate.on_fork if is_held else []
    replaced = without_key and is_held and rules.command is None and config.command is not None
    config = _held_to(config, rules)
    log.section("Canaries")
    ruler = loading.run_canaries(config, folder, cache, environ)
    sound = _is_sound(ruler)
    held = sum(canary.ok for canary in ruler.cases)
    (log.info if sound else log.warning)("canaries", ok=held, of=len(ruler.cases), set=ruler.version)
    log.section("Sources")
    selected = loading.selected(config, tasks)
    subjects = load_subjects(config, folder, model)
    command = config.command if model is None else None
    config = msgspec.structs.replace(config, price=rules.price_of(subjects[0].model))
    if sound and command is None:
        client.warm_up()
    loaded = [
        _held_to_answers(loading.with_tools(loading.load(task, folder, cache, environ), subjects[0].tools))
        for task in selected
    ]
    if command is not None:
        loading.refuse_without_files(loaded)
    leaks.refuse(loaded, subjects, _redactor(environ))
    log.section("Evaluation")
    asked = [subject.model for subject in subjects]
    warnings = [*notes, *models.notes(baseline, asked)]
    warnings += [Reason(kind="config", text=note) for note in config.notes]

    def stopped() -> bool:
        return stop is not None and stop.reason is not None

    with contextlib.ExitStack() as stack:
        solution = None
        if sound and command is not None:
            opened = open_solution(
                command,
                loaded,
                folder=folder,
                leave_out=[folder / Path(config.path).name, folder / config.baseline.path, output],
                environ=environ,
                unsafe=unsafe_judges,
                stop=stopped,
            )
            solution = stack.enter_context(opened)
            subjects = [with_files(subjects[0], solution.digest)]
            warnings += [Reason(kind="note", text=solution.note)] if solution.note else []
        mark = fingerprint.build(loaded, {}, ruler.version)
        if solution is not None:
            isolation = ", ".join(solution.means.means)
            mark = msgspec.structs.replace(mark, packages={**mark.packages, "isolation of cmd": isolation})
        bench = stack.enter_context(
            open_bench(loaded if sound else [], environ=environ, workspace=folder, unsafe=unsafe_judges, stop=stopped)
        )
        ruler = stage.with_witnesses(ruler, bench)
        warnings += stage.first_lines(bench, baseline)
        line = asking.Line(
            config=config,
            rules=rules,
            tasks=loaded,
            wanted=selected,
            mark=stage.marked(mark, bench),
            bench=bench,
            baseline=baseline,
            journal=_journal(cache, output),
            answers=cache / "answers" if reuse_answers else None,
            progress=progress,
            environ=environ,
            stop=stop,
            started=began,
            solution=solution,
        )
        keyed = _keyed(subjects)
        marks = {key: fingerprint.of_subject(line.mark, subject, loaded) for key, subject in keyed.items()}
        answers: dict[str, Answers] = {}
        unasked: dict[str, Unasked] = {}
        sound = _is_sound(ruler)
        kept = asking.kept(line, keyed, marks) if sound and skip_unchanged else "it was not asked for"
        if isinstance(kept, dict):
            answers = kept
        elif sound:  # a broken ruler measures nothing: no call is paid for
            if skip_unchanged:
                warnings.append(Reason(kind="note", text=f"Not skipped: {kept}."))
            missing = keyless.missing(keyed) if without_key and command is None else {}
            unasked = {
                key: keyless.judged(line, keyed[key], variables, decisive=decisive)
                for key, variables in missing.items()
            }
            warnings = [*(each.note for each in unasked.values()), *warnings]
            if with_key := {key: subject for key, subject in keyed.items() if key not in unasked}:
                answers, said = asking.first(line, with_key)
                warnings += [Reason(kind="provider", text=text) for text in said]
            answers |= {key: each.answers for key, each in unasked.items()}
        # Without a sound ruler every task was left out, none was removed by the change.
        chosen = {task.name for task in selected} if sound else set()
        spent = [task for each in answers.values() for task in each.tasks]
        runs: list[Run] = []
        for key, subject in keyed.items():
            found = answers.get(key, Answers([], {}, None))
            silent = unasked.get(key)
            left = silent.left if silent is not None else []
            one = Measured(
                name=config.name,
                started=started,
                seconds=clock() - began,
                fingerprint=msgspec.structs.replace(marks[key], answered=fingerprint.answered(found.tasks)),
                canaries=ruler,
                tasks=found.tasks,
                subject=subject,
                commit=commit,
                selection=[task.name for task in selected if task.name not in left] if tasks or left else None,
                unselected=[*(_left(config, rules, chosen) if tasks or not sound else []), *left],
                expected=[name for name in _expected(rules, tasks, chosen) if name not in left] if sound else [],
                spent=spent if len(subjects) > 1 else [],
                live=found.live,
                unchanged=isinstance(kept, dict),
                control=Control(silent=keyless.SILENT) if silent is not None else None,
                other_judges=stage.other_judges(bench, baseline) if is_held else {},
                unasked=silent.why if silent is not None else keyless.REPLACED if replaced and command else "",
            )
            judge_it = partial(
                judged,
                baseline=models.baseline_of(baseline, subject.model),
                gate=rules.gate,
                allow_missing=rules.baseline.allow_missing,
                rulers=found.rulers,
            )
            judgement = judge_it(one)
            if judgement.suspicions and silent is None:
                control = asking.again(line, judgement, subject)
                judgement = judge_it(msgspec.structs.replace(one, control=control, seconds=clock() - began))
            runs.append(judgement.run)
    lost = models.lost(baseline, asked, rules.models) if model is None and sound else []
    return _written(models.together(runs, lost, warnings), output, environ)


def score(
    source: str,
    *,
    outputs: Path | None,
    format_name: str | None,
    config: Config | None,
    task_name: str | None,
    folder: Path,
    output: Path,
    cache: Path,
    baseline: BaselineState | None,
    environ: Mapping[str, str],
    unsafe_judges: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Scores what somebody else produced for the task at `source`: the rows of `outputs`, else what the source itself
    has recorded. Without `config` only coverage and canaries are judged; `task_name` says which of its tasks is meant
    where several have this source.

    Raises UserError for bad input.
    """
    from evaluator.runners.recorded import read_outputs

    started, began = _now(), clock()
    ruler = loading.run_canaries(config, folder, cache, environ)
    wanted = loading.task_of(source, format_name, config, folder, task_name)
    # A source given on the command line starts where the user stands, one of trap.yaml where that file is.
    task = loading.load(wanted, folder if config is not None and wanted in config.tasks else Path(), cache, environ)
    rows = read_outputs(outputs) if outputs is not None else task.recorded
    if not rows:
        raise user_error(
            "outputs-missing",
            "there is nothing to score: the task has no recordings",
            where=source if outputs is None else str(outputs),
            mend="Give a file with --outputs, one JSON object a line.",
        )
    others: list[Reason] = []
    subject = _subject_of_recordings(config, folder, rows)
    task = loading.with_tools(task, subject.tools if subject is not None else [])
    if subject is not None:
        others = models.not_these(baseline, subject.model)
        baseline = models.baseline_of(baseline, subject.model)
    leaks.refuse([task], [subject] if subject is not None else [], _redactor(environ))
    made, strangers = attempts.recorded(task, rows, subject)
    made = leaks.recorded_without(made, _redactor(environ))
    planned = attempts.planned(task, rows, wanted.repeats)
    repeats = wanted.repeats if config is not None else min(attempts.counts(rows, task).values(), default=1)
    mark = fingerprint.build([task], subject.entries() if subject is not None else {}, ruler.version)
    with open_bench([task], environ=environ, workspace=folder, unsafe=unsafe_judges) as bench:
        mark = stage.marked(mark, bench)
        ruler = stage.with_witnesses(ruler, bench)
        warnings = [*others, *stage.first_lines(bench, baseline), *_notes(strangers), *_unmarked(rows, subject)]
        rulers = stage.rulers(bench, [task], {task.name: made}, baseline)
        result = stage.with_notes(task_results.of(task, made, planned, repeats, rulers, deterministic=True), bench)
    unselected = [each.name for each in config.tasks if each.name != task.name] if config is not None else []
    measured = Measured(
        name=config.name if config is not None else None,
        started=started,
        seconds=clock() - began,
        fingerprint=msgspec.structs.replace(mark, answered=fingerprint.answered([result])),
        canaries=ruler,
        tasks=[result],
        selection=[task.name] if unselected else None,
        unselected=unselected,
        warnings=warnings,
        control=Control(silent=keyless.SILENT),
    )
    if config is None:
        return _written(judge(measured, None, GateConfig(rules=[]), rulers=rulers), output, environ)
    run = judge(measured, baseline, config.gate, allow_missing=config.baseline.allow_missing, rulers=rulers)
    return _written(run, output, environ)


def clear(output: Path) -> None:
    """Removes what an earlier run left in `output`, so that a run without a result leaves none behind.

    Raises UserError `not-writable` where `output` cannot be a folder with results: before anything is paid for.
    """
    ensure_writable(output)
    try:
        for name in (RESULTS, *FILES):
            (output / name).unlink(missing_ok=True)
    except OSError as error:
        raise not_writable(output, error) from error


def check(
    config: Config, *, folder: Path, cache: Path, environ: Mapping[str, str], unsafe_judges: bool = False
) -> list[tuple[Task, dict[str, str]]]:
    """Every task of `config`, loaded, with what is wrong with its cases (case id → why) and with its own judge (what it
    was asked → what it said). No model is needed."""
    from evaluator.config.subject import load_subject

    loading.run_canaries(config, folder, cache, environ)
    subject = load_subject(config, folder, None)
    tasks = [loading.with_tools(loading.load(task, folder, cache, environ), subject.tools) for task in config.tasks]
    if config.command is not None:
        loading.refuse_without_files(tasks)
    with open_bench(tasks, environ=environ, workspace=folder, unsafe=unsafe_judges) as bench:
        broken = stage.faults(bench)
        rulers = bench.rulers({})
    return [
        (task, task_results.silent(task) | self_check(task, rulers.get(task.name)) | broken.get(task.name, {}))
        for task in tasks
    ]


def _held_to_answers(task: Task) -> Task:
    from evaluator.runners.frozen import held_to_answers

    return msgspec.structs.replace(task, cases=[held_to_answers(case) for case in task.cases])


def _keyed(subjects: Sequence[Subject]) -> dict[str, Subject]:
    """The subjects by the names that jobs have for them: the only one needs none."""
    return {"": subjects[0]} if len(subjects) == 1 else {subject.model: subject for subject in subjects}


def _is_sound(ruler: CanaryResults) -> bool:
    return bool(ruler.cases) and all(canary.ok for canary in ruler.cases)


def _journal(cache: Path, output: Path) -> Path:
    """The journal of runs into `output`. It is trusted, so it lies where no pull request can commit one."""
    return cache / "journals" / f"{digest_of(str(output.resolve()))[:16]}.jsonl"


def _held_to(config: Config, rules: Config) -> Config:
    """`config` with what it may not set for itself: the price that a cost rule goes by, and fewer attempts than the
    rules' own, which would make pass^k easier and every drop harder to see."""
    if rules is config:
        return config
    least = {task.name: task.repeats for task in rules.tasks}
    tasks = [msgspec.structs.replace(task, repeats=max(task.repeats, least.get(task.name, 1))) for task in config.tasks]
    return msgspec.structs.replace(config, tasks=tasks)


def _left(config: Config, rules: Config, chosen: Collection[str]) -> list[str]:
    """The tasks of either that were not chosen, each once."""
    return [name for name in dict.fromkeys(t.name for t in (*config.tasks, *rules.tasks)) if name not in chosen]


def _expected(rules: Config, tasks: Sequence[str] | None, chosen: Collection[str]) -> list[str]:
    """The tasks of `rules` that the run is to have."""
    return [task.name for task in rules.tasks if not tasks or task.name in chosen]


def _subject_of_recordings(config: Config | None, folder: Path, rows: Sequence[Recorded]) -> Subject | None:
    """What the tree under test asks with, by which it is told whether a recording is stale; None where there is no
    configuration, or it names no model. Of several models it is that which the recordings name."""
    from evaluator.config.subject import load_subject

    if config is None or config.model is None:
        return None
    named = [model for row in rows if row.subject and (model := row.subject.get("model")) in config.models]
    return load_subject(config, folder, named[0] if named else None)


def _unmarked(rows: Sequence[Recorded], subject: Subject | None) -> list[Reason]:
    """A note where recordings do not say what they were made with, so that nobody can tell whether they are stale."""
    unmarked = sum(row.subject_digest is None for row in rows)
    if subject is None or not unmarked:
        return []
    text = (
        f"{unmarked} of {len(rows)} recordings do not say what they were made with: whether they are stale is unknown."
    )
    return [Reason(kind="note", text=text)]


def _notes(strangers: Sequence[str]) -> list[Reason]:
    if not strangers:
        return []
    what = "output belongs" if len(strangers) == 1 else "outputs belong"
    return [Reason(kind="note", text=f"{len(strangers)} {what} to no case: {', '.join(strangers[:5])}")]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _redactor(environ: Mapping[str, str]) -> Redactor:
    """Of all that this process knows, also of what `environ` leaves out: GitHub's own tokens."""
    return Redactor({**os.environ, **environ})


def _written(run: Run, output: Path, environ: Mapping[str, str]) -> Run:
    """The run as it was written: no report that is made of it holds a secret."""
    run, data = redacted(run, _redactor(environ))
    write_atomically(output / RESULTS, data)
    return run
