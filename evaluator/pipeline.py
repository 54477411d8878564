"""The whole story: trap.yaml → canaries → tasks → attempts → scores → comparison → verdict → results.json.

`evaluate` calls a model; `score` takes what somebody else produced. What they share after the transcripts is in
`judgement`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evaluator import attempts, fingerprint, loading, models, scoring
from evaluator.attempts import Made
from evaluator.baselines import BaselineState
from evaluator.baselines.file import ensure_writable, not_writable, write_atomically
from evaluator.cases import SUBJECT, Case, Recorded, Subject, Task, digest_of, short_digest
from evaluator.config.types import Config, GateConfig, TaskConfig
from evaluator.errors import user_error
from evaluator.judgement import Measured, judge
from evaluator.judging import stage
from evaluator.judging.bench import open_bench
from evaluator.metrics import summarize
from evaluator.progress import Progress
from evaluator.redaction import Redactor
from evaluator.results import CanaryResults, Reason, Run, TaskResult, encode
from evaluator.scoring import Ruler, Scorer
from evaluator.scoring.self_check import self_check

if TYPE_CHECKING:  # asyncio, which most commands do without
    from evaluator.runners.schedule import Outcome
    from evaluator.runners.stopping import StopSignal

RESULTS = "results.json"
REPORTS = ("comment.md", "report.html")


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
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Runs what `config` says and writes `output`/results.json; the run with its verdict.

    `folder`: where trap.yaml's paths start. `rules`: the configuration to judge by where it is not `config` itself (on
    a pull request it is the base's): its gate, its prices, no fewer than its repeats, and all of its tasks. `notes`:
    first lines of the report. `model`, `tasks`: overrides; None takes the configuration's. `commit`: of the repository
    under test. `stop`: asks to end early; what is there is judged and written all the same. `unsafe_judges`: run the
    tasks' own judges even where nothing isolates them. `reuse_answers`: do not ask again what was answered before.

    Raises UserError for bad configuration or input, before anything is paid for.
    """
    from evaluator.config.subject import load_subjects, with_files
    from evaluator.runners import calling, client, plan
    from evaluator.runners.command import open_solution

    started, began = _now(), clock()
    rules = rules or config
    config = _held_to(config, rules)
    ruler = loading.run_canaries(config, folder, cache, environ)
    sound = _is_sound(ruler)
    selected = loading.selected(config, tasks)
    subjects = load_subjects(config, folder, model)
    command = config.command if model is None else None
    if sound and command is None:
        client.warm_up()
    loaded = [
        _held_to_answers(loading.with_tools(loading.load(task, folder, cache, environ), subjects[0].tools))
        for task in selected
    ]
    if command is not None:
        loading.refuse_without_files(loaded)
    asked = [subject.model for subject in subjects]
    warnings = [*notes, *models.notes(baseline, asked)]
    warnings += [Reason(kind="config", text=note) for note in config.notes]
    measured: list[tuple[Subject, dict[str, Ruler], list[TaskResult]]] = []

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
        judged = loaded if sound else []
        bench = stack.enter_context(
            open_bench(judged, environ=environ, workspace=folder, unsafe=unsafe_judges, stop=stopped)
        )
        mark = stage.marked(mark, bench)
        ruler = stage.with_witnesses(ruler, bench)
        warnings += stage.first_lines(bench, baseline)
        sound = _is_sound(ruler)
        if sound:  # a broken ruler measures nothing: no call is paid for
            for subject in subjects:
                calling.refuse_unpriced(config, rules.gate, subject.model, command=command is not None)
            outcomes, said = calling.make(
                plan.jobs(
                    loaded,
                    {task.name: task.repeats for task in selected},
                    retry={task.name: task.retry.max_attempts for task in selected},
                    models=list(_keyed(subjects)),
                ),
                _keyed(subjects),
                config,
                mark,
                journal=_journal(cache, output),
                progress=progress,
                environ=environ,
                stop=stop,
                started=began,
                solution=solution,
                answers=cache / "answers" if reuse_answers else None,
            )
            warnings += [Reason(kind="provider", text=text) for text in said]
            for key, subject in _keyed(subjects).items():
                made = _by_task(loaded, [each for each in outcomes if each.job.model == key])
                rulers = stage.rulers(bench, loaded, made, models.baseline_of(baseline, subject.model))
                results = [
                    stage.with_notes(_run_result(task, wanted, made[task.name], rulers), bench)
                    for task, wanted in zip(loaded, selected, strict=True)
                ]
                measured.append((subject, rulers, results))
    # Without a sound ruler every task was left out, none was removed by the change.
    chosen = {task.name for task in selected} if sound else set()
    spent = [task for _, _, results in measured for task in results] if len(subjects) > 1 else []
    runs: list[Run] = []
    for subject, rulers, results in measured or [(subjects[0], {}, [])]:
        entries = subject.entries() | _tool_entries(loaded)
        one = Measured(
            name=config.name,
            started=started,
            seconds=clock() - began,
            fingerprint=msgspec.structs.replace(mark, subject=entries, answered=fingerprint.answered(results)),
            canaries=ruler,
            tasks=results,
            subject=subject,
            commit=commit,
            selection=[task.name for task in selected] if tasks else None,
            unselected=_left(config, rules, chosen) if tasks or not sound else [],
            expected=[task.name for task in rules.tasks if not tasks or task.name in chosen] if sound else [],
            spent=spent,
        )
        own = models.baseline_of(baseline, subject.model)
        runs.append(judge(one, own, rules.gate, allow_missing=rules.baseline.allow_missing, rulers=rulers))
    lost = models.lost(baseline, asked) if model is None and sound else []
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
    made, strangers = attempts.recorded(task, rows, subject)
    planned = attempts.planned(task, rows, wanted.repeats)
    repeats = wanted.repeats if config is not None else min(attempts.counts(rows, task).values(), default=1)
    mark = fingerprint.build([task], subject.entries() if subject is not None else {}, ruler.version)
    with open_bench([task], environ=environ, workspace=folder, unsafe=unsafe_judges) as bench:
        mark = stage.marked(mark, bench)
        ruler = stage.with_witnesses(ruler, bench)
        warnings = [*others, *stage.first_lines(bench, baseline), *_notes(strangers), *_unmarked(rows, subject)]
        rulers = stage.rulers(bench, [task], {task.name: made}, baseline)
        result = stage.with_notes(_result(task, made, planned, repeats, rulers, deterministic=True), bench)
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
        for name in (RESULTS, *REPORTS):
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
        (task, _silent(task) | self_check(task, rulers.get(task.name)) | broken.get(task.name, {})) for task in tasks
    ]


def _held_to_answers(task: Task) -> Task:
    from evaluator.runners.frozen import held_to_answers

    return msgspec.structs.replace(task, cases=[held_to_answers(case) for case in task.cases])


def _keyed(subjects: Sequence[Subject]) -> dict[str, Subject]:
    """The subjects by the names that jobs have for them: the only one needs none."""
    return {"": subjects[0]} if len(subjects) == 1 else {subject.model: subject for subject in subjects}


def _run_result(task: Task, wanted: TaskConfig, made: Sequence[Made], rulers: Mapping[str, Ruler]) -> TaskResult:
    """The result of a task whose attempts were made now."""
    made = [*made, *attempts.absent(task, wanted.repeats)]
    result = _result(
        task, made, {case.id: wanted.repeats for case in task.cases}, wanted.repeats, rulers, deterministic=False
    )
    return msgspec.structs.replace(result, faults=_silent(task) | result.faults)


def _silent(task: Task) -> dict[str, str]:
    """Case id → why its tools have no answer to what is expected of them: a fault of the case."""
    from evaluator.runners.frozen import unanswerable

    return {case.id: "; ".join(why) for case in task.cases if (why := unanswerable(case))}


def _tool_entries(tasks: Sequence[Task]) -> dict[str, str]:
    """Fingerprint entries for the tools that the tasks' own files hold; those of trap.yaml are the subject's."""
    return {
        f"{file}/{tool['name']} of {task.name}": short_digest(tool)
        for task in tasks
        for file, tools in task.tools.items()
        if file != SUBJECT
        for tool in tools
    }


def _by_task(tasks: Sequence[Task], outcomes: Sequence[Outcome]) -> dict[str, list[Made]]:
    made: dict[str, list[Made]] = {task.name: [] for task in tasks}
    for each in outcomes:
        made[each.job.task].append(Made(each.job.case_id, each.job.number, each.result, each.not_run))
    return made


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
    return msgspec.structs.replace(config, price=rules.price, tasks=tasks)


def _left(config: Config, rules: Config, chosen: Collection[str]) -> list[str]:
    """The tasks of either that were not chosen, each once."""
    return [name for name in dict.fromkeys(t.name for t in (*config.tasks, *rules.tasks)) if name not in chosen]


def _result(
    task: Task,
    made: Sequence[Made],
    planned: Mapping[str, int],
    repeats: int,
    rulers: Mapping[str, Ruler],
    *,
    deterministic: bool,
) -> TaskResult:
    ruler = _preparing_once(rulers.get(task.name) or scoring.ruler(task.scorer))
    return summarize(
        task,
        attempts.scored(task, made, ruler),
        repeats=repeats,
        planned_per_case=planned,
        deterministic=deterministic,
        faults=self_check(task, ruler),
    )


def _preparing_once(ruler: Ruler) -> Ruler:
    """The same for the cases of one task: golds and attempts are measured by one preparation of each."""
    prepared: dict[str, Scorer | None] = {}

    def prepare(case: Case) -> Scorer | None:
        if case.id not in prepared:
            prepared[case.id] = ruler.prepare(case)
        return prepared[case.id]

    return ruler._replace(prepare=prepare)


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


def _written(run: Run, output: Path, environ: Mapping[str, str]) -> Run:
    """The run as it was written. Secrets are masked here, before any report cuts a text in the middle of one."""
    data = encode(run)
    masked = Redactor(environ).clean(data.decode()).encode()
    if masked != data:
        run = msgspec.json.decode(masked, type=Run)
    write_atomically(output / RESULTS, masked)
    return run
