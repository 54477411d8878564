"""trapstreet tasks: traptask.yaml, `inputs/<id>/`, `expected/<id>/answer.json` → cases (docs/scoring.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluator.cases import Case, Origin, Request, SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError, user_error
from evaluator.formats import labels, own_judge
from evaluator.formats.confined import TaskFolder, shown_as
from evaluator.formats.function_spec import FunctionSpecError, function_in
from evaluator.formats.included import included, nothing_left, some
from evaluator.formats.traptask import FILE, DeclaredCase, TrapTask, read_traptask
from evaluator.json_text import JsonFault, parse_json
from evaluator.scoring import COMPARED, JUDGED
from evaluator.transcript import Transcript

NAME = "trapstreet"
ANSWER = "answer.json"
MALFORMED = "task-malformed"


def detect(directory: Path) -> bool:
    """Whether `directory` holds a traptask.yaml or a folder inputs/."""
    return (directory / FILE).is_file() or (directory / "inputs").is_dir()


def load(config: TaskConfig, directory: Path, source: SourceRef) -> Task:
    """The task in `directory`, its cases filtered by `config.include`.

    Raises UserError: `task-malformed` with every problem found, `task-option`, `task-empty`.
    """
    options = _options(config)
    folder = TaskFolder(directory, shown_as(source))
    traptask = read_traptask(folder, own_judge=config.judge != "builtin")
    judge = own_judge.read(config, folder, traptask) if config.judge != "builtin" and not folder.problems else None
    inputs = _inputs_folder(folder, traptask)
    notes = list(traptask.notes)
    declared = traptask.cases
    if inputs is not None:
        present = [path.name for path in folder.names(inputs) if path.is_dir()]
        if declared is None:
            declared = [DeclaredCase(id=name) for name in present]
        else:
            ids = {case.id for case in declared}
            notes += [f"{traptask.inputs}/{name} is no declared case" for name in present if name not in ids]
    chosen = [case for case in declared or [] if included(case.id, case.tags, config.include)]
    wanted = [case for case in chosen if not case.skip]
    cases = []
    if inputs is not None:
        reader = _CaseReader(folder, traptask, inputs, options, config.judge)
        cases = [case for item in wanted if (case := reader.case(item)) is not None]
    if folder.problems:
        raise UserError(MALFORMED, *dict.fromkeys(folder.problems))
    if not cases:
        raise nothing_left(
            config,
            len(declared or []),
            len(chosen),
            none="A case is a folder in inputs/, named by its id.",
            listed_in=FILE,
        )
    unscored = [case.id for case in cases if case.expected is None]
    if traptask.scored and unscored:
        notes.append(f"without an expected answer, so never scored: {some(unscored)}")
    return Task(
        name=config.name,
        format=NAME,
        source=source,
        scorer=NAME if judge is None else JUDGED if judge.decides else COMPARED,
        own_judge=judge,
        inputs=str(inputs) if inputs is not None else None,
        cases=cases,
        skipped=[case.id for case in chosen if case.skip],
        notes=notes,
    )


def _options(config: TaskConfig) -> dict[str, Any]:
    """The options as cases carry them: only what differs from the default, so that writing a default down changes no
    case's digest."""
    options: dict[str, Any] = {}
    for key, value in config.options.items():
        if key == "json_call" and str(value) in ("1", "upstream"):
            options |= {key: "upstream"} if value == "upstream" else {}
        elif key == "no_hedge" and isinstance(value, bool):
            options |= {key: True} if value else {}
        else:
            known = {"json_call": 'json_call is "1" or "upstream"', "no_hedge": "no_hedge is true or false"}
            message = known.get(key, f"unknown option {key}; the format {NAME} has {' and '.join(known)}")
            raise user_error("task-option", message, where=f"tasks.{config.name}.options")
    return options


def _inputs_folder(folder: TaskFolder, traptask: TrapTask) -> Path | None:
    inputs = folder.directory / traptask.inputs
    if not folder.inside(inputs):
        return None
    if not inputs.is_dir():
        folder.report(
            inputs, "there is no such folder", "The inputs of each case stand in a folder of their own there."
        )
        return None
    return inputs


class _CaseReader:
    """Reads the files of one case after the other; what is wrong is reported to the folder."""

    def __init__(
        self, folder: TaskFolder, traptask: TrapTask, inputs: Path, options: dict[str, Any], judge: str
    ) -> None:
        self._folder = folder
        self._judge = judge
        self._traptask = traptask
        self._inputs = inputs
        self._options = options

    def case(self, declared: DeclaredCase) -> Case | None:
        """The case, None where its prompt cannot be had."""
        request = self._request(declared)
        expected, gold = self._expected(declared)
        if request is None:
            return None
        return Case(
            id=declared.id,
            request=request,
            expected=expected,
            options=self._options,
            slices=labels.slices(declared.tags),
            critical=labels.CRITICAL in declared.tags,
            cluster=labels.cluster(declared.tags),
            golds=[gold] if gold is not None else [],
            origin=self._origin(declared),
        )

    def _origin(self, declared: DeclaredCase) -> Origin | None:
        """The file with its expected answer, else the line that declares it."""
        answer = self._answer_path(declared)
        if answer.is_file():
            return Origin(file=self._folder.show(answer))
        manifest = self._folder.directory / FILE
        return Origin(file=self._folder.show(manifest), line=declared.line) if declared.line else None

    def _answer_path(self, declared: DeclaredCase) -> Path:
        return self._folder.directory / self._traptask.expected / declared.id / ANSWER

    def _expected(self, declared: DeclaredCase) -> tuple[dict[str, Any] | None, Transcript | None]:
        """What scores the case, and an answer that must pass. A judge of the task's own may go by any file."""
        expected: dict[str, Any] | None = None
        gold = None
        if self._judge != "task":
            answer = self._answer(declared) if self._traptask.scored else None
            text = answer.get("answer") if answer else None
            expected = None if answer is None else {key: answer[key] for key in ("matchers",) if key in answer}
            gold = Transcript(text=text) if isinstance(text, str) else None
        if self._judge != "builtin":
            files = own_judge.expected_files(self._folder, self._traptask, declared.id)
            expected = (expected or {}) | {"files": files}
            gold = gold or own_judge.gold(self._folder, self._traptask, declared.id)
        return expected, gold

    def _request(self, declared: DeclaredCase) -> Request | None:
        path = self._inputs / declared.id
        if not path.is_dir() and not path.is_symlink():
            mend = f"Add the folder, or remove the case from {FILE}."
            self._folder.report(path, f"the case {declared.id!r} has no folder of inputs", mend)
            return None
        if not self._folder.inside(path) or not path.is_dir():
            return None
        known = len(self._folder.problems)
        files = [entry for entry in self._folder.names(path) if not entry.is_dir()]
        texts = [self._folder.read(entry) for entry in files]
        if not files and len(self._folder.problems) == known:
            self._folder.report(path, "holds no file", "One text file is the prompt.")
        if not files or None in texts:
            return None
        named = [(entry.name, text) for entry, text in zip(files, texts, strict=True) if text is not None]
        prompt = named[0][1] if len(named) == 1 else "\n\n".join(f"## {name}\n\n{text}" for name, text in named)
        try:
            function = function_in(prompt)
        except FunctionSpecError as error:
            # With several files the place counts in the whole prompt, so only a single file is given a line.
            single = len(files) == 1
            line = prompt.count("\n", 0, error.offset) + 1 if single else 0
            column = error.offset - prompt.rfind("\n", 0, error.offset) if single else 0
            self._folder.report(files[0] if single else path, str(error), "", line, column)
            return None
        return Request(messages=[{"role": "user", "content": prompt}], function=function)

    def _answer(self, declared: DeclaredCase) -> dict[str, Any] | None:
        path = self._answer_path(declared)
        if not path.exists() and not path.is_symlink():
            return None
        text = self._folder.read(path)
        if text is None:
            return None
        value = parse_json(text)
        if isinstance(value, JsonFault):
            self._folder.report(path, value.message, "", value.line, value.column)
            return None
        if not isinstance(value, dict):
            self._folder.report(path, "$: not an object", "It holds answer and matchers.")
            return None
        if value.get("id", declared.id) != declared.id:
            shown = str(value["id"])[:80]
            self._folder.report(path, f"$.id: the answer of {shown!r} stands in the folder of {declared.id!r}")
            return None
        return value
