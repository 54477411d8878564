"""A model, through litellm: Request → Transcript, or the reason why there is none."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from evaluator import leaks, log
from evaluator.cases import BY_TEXT, BY_TOKEN_IDS, Frozen, Request, Subject
from evaluator.config.types import Price
from evaluator.redaction import Redactor
from evaluator.runners import answer, client, completion, tries
from evaluator.runners.answer import Answered
from evaluator.runners.conversation import converse
from evaluator.runners.frozen import is_conversation
from evaluator.runners.keys import missing_key
from evaluator.runners.limiter import Limiter
from evaluator.runners.reach import Reach
from evaluator.runners.request import Wire, build
from evaluator.runners.retry import Failure, Policy, classify, shortened
from evaluator.transcript import Infrastructure, Transcript, Usage


class ModelRunner:
    """Attempts by `subject.model`.

    `price`: the configuration's, which wins over litellm's list; `case_timeout`: seconds for one try, from sending to
    the last byte; `concurrency`: calls in flight at most; `limiters`: by provider, shared with other models;
    `with_tools`: whether tasks bring tools; `conditions`: those of begun answers that are to be continued; `environ`:
    where the secrets are that no message may hold; `masks`: as in `calling.make`.
    litellm itself reads keys and addresses from the process environment.

    Creating one imports litellm and raises UserError as `client.unsupported_params` does.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        price: Price | None = None,
        case_timeout: float = 600.0,
        concurrency: int = 16,
        limiters: dict[str, Limiter] | None = None,
        with_tools: bool = False,
        conditions: Collection[str] = (),
        environ: Mapping[str, str] = os.environ,
        masks: bool = False,
        policy: Policy | None = None,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._subject = subject
        self._price = price
        self._case_timeout = case_timeout
        # The action's `environ` is without GitHub's tokens, which may stand in a text all the same.
        self._redactor = Redactor({**os.environ, **environ})
        self._masks = masks
        self._policy = policy or Policy()
        self._uniform = uniform
        self._dropped = client.unsupported_params(subject, with_tools=with_tools)
        self._litellm = client.load()
        client.refuse_conditions(subject.model, conditions)
        if {BY_TEXT, BY_TOKEN_IDS}.intersection(conditions):
            client.share_connections()
        self._conditions = conditions
        self._unknown_defaults = client.unsupported(subject.model, completion.DEFAULTS.keys() - subject.params.keys())
        # Shared, since a provider limits calls mostly for all of its models together.
        self._provider = client.provider(subject.model)
        self._limiter = (limiters if limiters is not None else {}).setdefault(self._provider, Limiter(concurrency))
        self._listed = price is None and client.listed(subject.model)
        self._reach = Reach(os.environ)
        self._given_up = _without_key(self._provider, subject)
        self._waited_for: set[str] = set()

    @property
    def given_up(self) -> Infrastructure | None:
        """Why no call is worth making any more, None as long as one is: there is no key, or nothing answers."""
        return self._given_up

    def warnings(self) -> list[str]:
        """What a reader should know of how the model is called: one sentence for each parameter that is not sent."""
        model = self._subject.model
        dropped = [*self._dropped, *(self._unknown_defaults if self._conditions else ())]
        said = [f"{model} does not take the parameter {name!r}: it is not sent" for name in dropped]
        if BY_TOKEN_IDS in self._conditions and self._subject.system:
            said.append("the system prompt is not sent where a prompt is given as token ids")
        return said

    async def attempt(
        self,
        request: Request,
        *,
        tools: Sequence[dict[str, Any]] = (),
        recorded: Sequence[Frozen] = (),
        retry: int = 1,
    ) -> Transcript | Infrastructure:
        """One attempt: an answer, or a conversation where calls are answered; else why there is none.

        `tools`: what the case offers, `recorded`: what its tools answered when it was recorded; `retry`: tries in all
        where an answer's shape is wrong.
        """
        try:
            wire = build(self._subject, request, tools)
            sent = {name: value for name, value in wire.arguments().items() if name not in self._dropped}
        except RecursionError:
            return Infrastructure(kind="refused_request", message="the function's schema nests too deeply to be sent")

        if request.condition is not None:
            return await self._continued(wire, sent, request.condition)

        async def ask(messages: list[dict[str, Any]]) -> Answered | Infrastructure:
            return await self._answered(wire, {**sent, "messages": messages})

        if is_conversation(request.max_turns, [*recorded, *request.mocks]):
            return await converse(ask, wire, request, recorded, retry)
        return await tries.answer(ask, wire, request, retry)

    async def _continued(self, wire: Wire, sent: dict[str, Any], condition: str) -> Transcript | Infrastructure:
        """A begun answer as the model goes on with it."""
        sent = {name: value for name, value in sent.items() if name not in self._unknown_defaults}
        answered = await self._answered(wire, completion.flagged(sent, self._provider, condition, os.environ))
        return answered if isinstance(answered, Infrastructure) else answered.transcript

    async def _answered(self, wire: Wire, sent: dict[str, Any]) -> Answered | Infrastructure:
        """One answer: calls until one is answered, the failure is final, or the policy's patience is over."""
        tried, waited = 0, 0.0
        while True:
            result = await self._try(wire, sent)
            tried += 1
            if isinstance(result, Answered):
                return result
            wait = self._policy.wait(result, tried, waited, self._uniform, answered=self._reach.answered)
            if wait is None or self._given_up is not None:
                return self._ended(result, tried)
            if result.retry_after is not None:
                self._limiter.pause(wait)
            self._say(result, wait)
            waited += wait
            await asyncio.sleep(wait)

    def _ended(self, failure: Failure, tried: int) -> Infrastructure:
        message = failure.message
        if failure.unreached is not None:
            message = shortened(f"{self._reach.told(failure.unreached)}: {message}")
            self._given_up = self._given_up or self._reach.in_vain(failure.unreached)
        return Infrastructure(
            kind=failure.kind, message=message, http_status=failure.http_status, tries=tried, usage=failure.usage
        )

    async def close(self) -> None:
        """Closes the connections. The runner can't be used afterwards."""
        await client.close()

    def _without_secrets(self, transcript: Transcript) -> Transcript | Failure:
        if self._masks:
            return leaks.masked(transcript, self._redactor)
        held = leaks.without(transcript, self._redactor)
        if isinstance(held, Transcript):
            return held
        return Failure(kind=held.kind, message=held.message, retryable=False, usage=held.usage)

    def _say(self, failure: Failure, wait: float) -> None:
        """The first wait of each kind, and all of them for who looks for a fault; never the provider's words."""
        say = log.debug if failure.kind in self._waited_for else log.info
        self._waited_for.add(failure.kind)
        model, status = self._subject.model, failure.http_status
        say("waiting to ask again", model=model, kind=failure.kind, status=status, seconds=wait)

    async def _try(self, wire: Wire, sent: dict[str, Any]) -> Answered | Failure:
        if wire.prompt is None:
            # For some providers litellm takes the system prompt out of the list that it is given.
            sent = {**sent, "messages": list(sent["messages"])}
        async with self._limiter.slot() as token:
            began = time.monotonic()
            try:
                # The client's own limit is for each read; one byte a second would never meet it.
                async with asyncio.timeout(self._case_timeout):
                    response = await self._send(wire, sent)
                seconds = time.monotonic() - began
                read = answer.read(response, names=wire.names, structured=wire.structured, seconds=seconds)
                transcript = self._without_secrets(self._priced(read, response))  # before anything cuts or scores it
                if isinstance(transcript, Failure):
                    self._reach.answered = True
                    return transcript
                turn = len(sent.get("messages", ()))
                answered = Answered(transcript, answer.sent_back(response, transcript, turn))
            except Exception as error:  # litellm lets out whatever its providers' code meets
                failure = self._failed(error, wire)
            else:
                self._limiter.succeeded()
                self._reach.answered = True
                return answered
            if failure.congested:
                self._limiter.congested(token)
            if failure.kind not in ("timeout", "connection"):
                self._reach.answered = True
            return failure

    async def _send(self, wire: Wire, sent: dict[str, Any]) -> Any:
        """One request; the answer in the shape of a chat completion."""
        once = {"timeout": self._case_timeout, "num_retries": 0, "max_retries": 0}
        if wire.prompt is None:
            return await self._litellm.acompletion(model=self._subject.model, **once, **sent)
        model = completion.model_name(self._subject.model, self._provider)
        return completion.as_chat(await self._litellm.atext_completion(model=model, **once, **sent))

    def _failed(self, error: Exception, wire: Wire) -> Failure:
        if isinstance(error, answer.UnusableAnswerError):
            retryable = error.kind == "server_error"
            message = shortened(self._redactor.clean(str(error)))
            return Failure(kind=error.kind, message=message, retryable=retryable, broke_off=True)
        asks = wire.tools is not None or wire.response_format is not None
        failure = classify(error, asks_for_structure=asks, now=datetime.now(UTC))
        message = failure.message
        if isinstance(error, TimeoutError):
            message = f"no complete answer within {self._case_timeout:g} s"
        # Masked before it is cut: half a secret would no longer be known by its value.
        return replace(failure, message=shortened(self._redactor.clean(message)))

    def _priced(self, transcript: Transcript, response: Any) -> Transcript:
        usage = transcript.usage
        if usage is None:
            return transcript
        cost = self._cost(usage, response)
        return msgspec.structs.replace(transcript, usage=msgspec.structs.replace(usage, cost_usd=cost))

    def _cost(self, usage: Usage, response: Any) -> float | None:
        """Dollars, None where the price is unknown. The model asked is what is priced: a server may call its model by
        any name."""
        read, written = usage.input_tokens, usage.output_tokens
        if read is None or written is None:
            return None
        if self._price is not None:
            return (read * self._price.input_per_million + written * self._price.output_per_million) / 1_000_000
        if not self._listed:
            return None
        try:
            parts = self._litellm.cost_per_token(model=self._subject.model, usage_object=response.usage)
        except Exception:  # odd counts of an answer that is paid for already make its price unknown, not the answer bad
            return None
        return float(sum(parts))


def _without_key(provider: str, subject: Subject) -> Infrastructure | None:
    missing = missing_key(provider, os.environ, subject.params)
    return None if missing is None else Infrastructure(kind="authentication", message=f"no key: set {missing}")
