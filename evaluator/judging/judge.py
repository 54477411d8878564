"""One answer before a task's own judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from evaluator import foreign
from evaluator.cases import OwnJudge, digest_of
from evaluator.isolation.command import Isolation
from evaluator.isolation.folders import scratch
from evaluator.json_text import JsonFault, parse_json
from evaluator.judging import contract
from evaluator.judging.verdicts import Judgement, judgement
from evaluator.transcript import Call, Infrastructure, Process, Transcript


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
    process = msgspec.to_builtins(transcript.process)
    return digest_of([case_id, answer(transcript), transcript.seconds or 0.0, process])


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
            process = transcript.process or Process(exit_code=0)
            meta = {"exit_code": process.exit_code, "duration": transcript.seconds or 0.0}
            places.stdout.write_bytes(text.encode(errors="replace"))
            places.stderr.write_bytes(process.stderr.encode(errors="replace"))
            places.meta.write_text(json.dumps(meta))
            if refused := _write_files(places.outputs, process.files):
                return Judgement(Infrastructure(kind="outputs_refused", message=refused))
            variables = contract.for_judge(places, self._own.judge.envvar)
            finished = foreign.run(self._own.judge, self._folder, work, self._isolation, self._stop, variables)
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


def _write_files(folder: Path, files: Mapping[str, bytes]) -> str:
    """Writes what a solution left into `folder`, which is empty; why that cannot be done, empty where it could.

    A stored result may be anybody's, and so may the names in it.
    """
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            return f"a stored output has the name {name[:80]!r}, which leads out of its folder"
        try:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        except (OSError, ValueError) as error:
            return f"a stored output cannot be written: {name[:80]!r} ({type(error).__name__})"
    return ""
