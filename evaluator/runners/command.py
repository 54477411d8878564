"""A command as the solution under test: one isolated run of it for each attempt; what it printed is the transcript.

Source of the contract: trapstreet's documents on `trap.yaml`. A command that crashes or runs out of time has failed by
itself: that is a transcript with its exit code. One that could not be started at all is an infrastructure failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evaluator import foreign, leaks
from evaluator.cases import Task, digest_of
from evaluator.config.types import CommandConfig
from evaluator.errors import user_error
from evaluator.isolation.command import Finished, Isolation
from evaluator.isolation.folders import OutputError, collect, copy, remove, scratch
from evaluator.isolation.walk import walk
from evaluator.redaction import Redactor
from evaluator.runners.schedule import Job
from evaluator.transcript import Infrastructure, Process, Transcript, well_formed

# What of an attempt is kept: it is stored with the results and judged again on every run.
MAX_FILES = 64
MAX_BYTES = 256 * 1024
MAX_TEXT = 256 * 1024
MAX_STDERR = 8 * 1024


class Solution:
    """The command, on a copy of the folder of trap.yaml. `digest` stands for all that the copy holds, `note` for the
    first lines of the report."""

    def __init__(
        self,
        command: CommandConfig,
        folder: Path,
        inputs: Mapping[str, str],
        means: Isolation,
        environ: Mapping[str, str],
    ) -> None:
        self.command = command
        self.means = means
        self.folder = folder
        self.inputs = inputs
        self.variables = {name: environ[name] for name in command.env if name in environ}
        self.missing = [name for name in command.env if name not in environ]
        self.digest = _digest(folder)
        self.note = ""


@contextlib.contextmanager
def open_solution(
    command: CommandConfig,
    tasks: Iterable[Task],
    *,
    folder: Path,
    leave_out: Iterable[Path],
    environ: Mapping[str, str],
    unsafe: bool,
    stop: foreign.Stop,
) -> Iterator[Solution]:
    """The solution that `command` runs in `folder`, set up by its own `setup_cmd`.

    Tasks that lie in `folder` are left out of its copy, since it would find there what it is asked for, and so is what
    `leave_out` names. Raises UserError `judge-refused` where nothing isolates it, `judge-setup` where it cannot be set
    up.
    """
    tasks = list(tasks)
    means, note = foreign.isolation(
        environ, folder, unsafe=unsafe, what=f"the solution `{command.program}`", where="cmd"
    )
    with scratch() as room:
        place = room / "solution"
        try:
            copy(folder, place)
            ours = [folder / task.source.location for task in tasks if task.source.commit is None]
            for path in (*ours, *leave_out):
                _leave_out(path.resolve(), folder.resolve(), place)
            solution = Solution(command, place, {t.name: t.inputs for t in tasks if t.inputs}, means, environ)
            if command.setup is not None:
                foreign.set_up(place, command.setup, means, stop, "cmd")
        except OSError as error:
            raise user_error(
                "judge-setup", f"the folder of trap.yaml cannot be copied: {error}", where="cmd"
            ) from error
        solution.note = note
        yield solution


class CommandRunner:
    """Runs the solution, at most `concurrency` at a time. An answer that holds a secret is thrown away."""

    def __init__(self, solution: Solution, concurrency: int) -> None:
        self._solution = solution
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(concurrency)
        self._redactor = Redactor({**os.environ, **solution.variables})

    def given_up(self, _model: str) -> Infrastructure | None:
        """None: a command that failed may succeed on another case."""
        return None

    def warnings(self) -> list[str]:
        """What a reader should know of how it is run."""
        return [f"the variable {name}, which `env` lists, is not set" for name in self._solution.missing]

    async def attempt(self, job: Job) -> Transcript | Infrastructure:
        """One attempt."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run, job)

    async def close(self) -> None:
        """Ends what still runs."""
        self._over.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job) -> Transcript | Infrastructure:
        solution = self._solution
        with scratch() as work:
            inputs, outputs = work / "inputs", work / "outputs"
            shutil.copytree(Path(solution.inputs[job.task]) / job.case_id, inputs)
            outputs.mkdir()
            stdin = self._stdin(job, inputs, work)
            if isinstance(stdin, Infrastructure):
                return stdin
            manifest = json.dumps({"inputs_dir": str(inputs), "outputs_dir": str(outputs)})
            finished = foreign.run(
                solution.command.program,
                solution.folder,
                work,
                solution.means,
                self._over.is_set,
                {**solution.variables, solution.command.envvar: manifest},
                stdin=stdin,
                network=True,
            )
            try:
                files = collect(outputs, MAX_FILES, MAX_BYTES)
            except OutputError as error:
                return Infrastructure(
                    kind="outputs_refused", message=f"what it left in its outputs is not taken: {error}"
                )
        return self._transcript(finished, files)

    def _stdin(self, job: Job, inputs: Path, work: Path) -> Path | Infrastructure | None:
        """The file for its standard input: one of the case's, or the prompt that a model would get."""
        wanted = self._solution.command.stdin
        if isinstance(wanted, str):
            path = inputs / wanted
            missing = Infrastructure(kind="command_failed", message=f"the case has no input {wanted} for stdin")
            return path if path.is_file() else missing
        if not wanted:
            return None
        prompt = work / "prompt"
        prompt.write_text("".join(message["content"] for message in job.request.messages), encoding="utf-8")
        return prompt

    def _transcript(self, finished: Finished, files: dict[str, bytes]) -> Transcript | Infrastructure:
        if finished.limit == "stopped":
            return Infrastructure(kind="cancelled", message="the run was stopped")
        if finished.error:
            return Infrastructure(kind="command_failed", message=f"it could not be run: {self._said(finished.error)}")
        text = _text(finished.stdout, len(finished.stdout))
        whole = Transcript(
            text=f"{text}\n{_text(finished.stderr, len(finished.stderr))}", process=Process(exit_code=0, files=files)
        )
        held = leaks.without(whole, self._redactor)
        if isinstance(held, Infrastructure):  # before anything is cut
            return held
        return Transcript(
            text=text[:MAX_TEXT],
            cut=max(0, len(text) - MAX_TEXT) + finished.stdout_cut,
            seconds=finished.seconds,
            process=Process(
                exit_code=finished.exit_code,
                stderr=_text(finished.stderr, MAX_STDERR),
                files=files,
                limit=finished.limit,
            ),
        )

    def _said(self, text: str) -> str:
        return self._redactor.clean(_text(text, 500))


def _text(printed: bytes | str, most: int) -> str:
    text = printed if isinstance(printed, str) else printed.decode("utf-8", "replace")
    return well_formed(text)[-most:] if most else ""


def _leave_out(path: Path, folder: Path, place: Path) -> None:
    """Removes from `place`, a copy of `folder`, what stands at `path` there; all of `folder` is never removed."""
    if path != folder and path.is_relative_to(folder):
        remove(place / path.relative_to(folder))


def _digest(folder: Path) -> str:
    """Over names, kinds and contents of all that a folder holds."""
    found = {}
    for entry in walk(str(folder)):
        path = folder / entry.path
        if stat.S_ISLNK(entry.status.st_mode):
            found[entry.path] = f"link {path.readlink()}"
        elif stat.S_ISREG(entry.status.st_mode):
            with path.open("rb") as file:
                found[entry.path] = hashlib.file_digest(file, "sha256").hexdigest()
    return digest_of(found)
