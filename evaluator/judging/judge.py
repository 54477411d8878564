"""One answer before a task's own judge."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.cases import OwnJudge, Program, digest_of
from evaluator.isolation.command import Command, Finished, Isolation
from evaluator.isolation.folders import scratch
from evaluator.json_text import JsonFault, parse_json
from evaluator.judging import contract
from evaluator.judging.verdicts import Judgement, judgement
from evaluator.transcript import Call, Transcript


def answer(transcript: Transcript) -> str:
    """What a solution that gave this answer would have printed: its text, else its tool calls as JSON."""
    if transcript.text and not transcript.text.isspace():
        return transcript.text
    calls = [_printed(call) for call in transcript.calls]
    if not calls:
        return transcript.text or ""
    return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False)


def _printed(call: Call) -> dict[str, Any]:
    arguments = parse_json(call.arguments)
    return {"name": call.tool, "arguments": call.arguments if isinstance(arguments, JsonFault) else arguments}


def key(case_id: str, transcript: Transcript) -> str:
    """A digest of all that a judge sees of a transcript: those with the same key are judged once."""
    return digest_of([case_id, answer(transcript), transcript.seconds or 0.0])


class Judge:
    """The judge of the task in `folder`, a copy that it may read. Safe to use from several threads."""

    def __init__(self, own: OwnJudge, folder: Path, isolation: Isolation, stop: Callable[[], bool]) -> None:
        self._own = own
        self._folder = folder
        self._isolation = isolation
        self._stop = stop

    def __call__(self, case_id: str, transcript: Transcript) -> Judgement:
        """Runs the judge once."""
        text = answer(transcript)
        with scratch() as work:
            places = self._places(case_id, work)
            for path, content in (
                (places.stdout, text),
                (places.stderr, ""),
                (places.meta, json.dumps({"exit_code": 0, "duration": transcript.seconds or 0.0})),
            ):
                path.write_text(content, encoding="utf-8", newline="")
            variables = contract.for_judge(places, self._own.judge.envvar)
            finished = run(self._own.judge, self._folder, work, self._isolation, self._stop, variables)
        return judgement(finished, empty=not text.strip())

    def _places(self, case_id: str, work: Path) -> contract.Places:
        given = work / "run"
        given.mkdir()
        outputs = work / "outputs"
        outputs.mkdir()
        expected = self._folder / self._own.expected / case_id
        return contract.Places(
            inputs=self._folder / self._own.inputs / case_id,
            expected=expected if expected.is_dir() else None,
            outputs=outputs,
            stdout=given / "stdout",
            stderr=given / "stderr",
            meta=given / "meta.json",
        )


def run(
    program: Program,
    folder: Path,
    work: Path,
    isolation: Isolation,
    stop: Callable[[], bool],
    variables: dict[str, str],
    *,
    writes_task: bool = False,
    network: bool = False,
) -> Finished:
    """Runs a command of a task in `folder`, with `work` as its own folder for what it writes.

    `writes_task`: it may change `folder` too. Its environment is `variables` and where to find programs and room.
    """
    room = work / "tmp"
    room.mkdir()
    for path in (work, *work.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return isolation.run(
        Command(
            argv=tuple(program.cmd),
            cwd=folder,
            environ=_environ(room) | variables,
            readable=() if writes_task else (folder,),
            writable=(work, folder) if writes_task else (work,),
            timeout=program.timeout,
            network=network,
        ),
        stop,
    )


def _environ(room: Path) -> dict[str, str]:
    return {
        # A judge that says `python` gets the one that runs this, as it would under tp.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": str(room),
        "TMPDIR": str(room),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
