"""Answers of earlier runs, on request: the same request to the same model at the same place is not paid for twice.

For work on scorers and reports at one's desk; a cached answer says nothing of the provider or model of today, so the
action never asks for it, and each hit is marked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import msgspec

from evaluator.baselines.file import write_atomically
from evaluator.cases import Subject, digest_of
from evaluator.errors import UserError
from evaluator.runners.request import build
from evaluator.runners.schedule import Job
from evaluator.transcript import Infrastructure, Transcript, Usage


class Answering(Protocol):
    """The runner behind the cache."""

    warnings: Any
    close: Any

    def given_up(self, model: str) -> Infrastructure | None:
        """As of a runner."""
        ...

    async def attempt(self, job: Job) -> Transcript | Infrastructure:
        """One attempt."""
        ...


class Cached:
    """`runner`, asked only for what `folder` does not have, and for every fresh job.

    The key is everything that is sent (model, parameters, messages, tools, tool choice, response format), what frozen
    tools answer and when a conversation ends, `endpoint`, and the attempt's number, so that repeats stay repeats.
    Failures and answers that were cut short are never kept.
    """

    def __init__(self, runner: Answering, subject: Subject, endpoint: str, folder: Path) -> None:
        self._runner = runner
        self._subject = subject
        self._endpoint = endpoint
        self._folder = folder
        self._hits = 0
        self._unwritable = ""
        self.close = runner.close

    def given_up(self, model: str) -> Infrastructure | None:
        """As of the runner."""
        return self._runner.given_up(model)

    def warnings(self) -> list[str]:
        """The runner's, and how many answers are old."""
        said = list(self._runner.warnings())
        if self._hits:
            model = self._subject.model
            said.append(f"{self._hits} answers came from the cache: they say nothing of today's {model}")
        if self._unwritable:
            said.append(self._unwritable)
        return said

    async def attempt(self, job: Job) -> Transcript | Infrastructure:
        """The kept answer, marked, without latency and at no cost; else the runner's."""
        path = self._path(job)
        if path is None:
            return await self._runner.attempt(job)
        kept = _read(path)
        if kept is not None:
            self._hits += 1
            return _old(kept)
        result = await self._runner.attempt(job)
        if isinstance(result, Transcript) and not _is_cut_short(result):
            self._keep(path, result)
        return result

    def _path(self, job: Job) -> Path | None:
        """Where the answer is kept; None for a fresh job, and for a request that nests too deeply, which the runner
        refuses as data."""
        if job.fresh:
            return None
        try:
            wire = build(self._subject, job.request, job.tools)
            loop = [msgspec.to_builtins(each) for each in (job.request, job.frozen)]
            sent = digest_of([self._subject.model, self._endpoint, wire.arguments(), loop, job.retry, job.number])
        except RecursionError:
            return None
        return self._folder / sent[:2] / f"{sent}.json"

    def _keep(self, path: Path, transcript: Transcript) -> None:
        try:
            write_atomically(path, msgspec.json.encode(transcript))
        except UserError as error:  # an answer that is paid for is worth more than its copy
            self._unwritable = f"answers could not be kept: {error.problems[0].message}"


def _is_cut_short(transcript: Transcript) -> bool:
    return any(each.stop_reason == "length" or each.cut for each in (transcript, *(transcript.later or ())))


def _old(kept: Transcript) -> Transcript:
    usage = msgspec.structs.replace(kept.usage or Usage(), cost_usd=0.0)
    later = None if kept.later is None else [_old(each) for each in kept.later]
    return msgspec.structs.replace(kept, cached=True, seconds=None, usage=usage, later=later)


def _read(path: Path) -> Transcript | None:
    """None where there is none that can be read: it is then asked for again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Transcript)
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
