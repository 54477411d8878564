"""How a begun answer is continued: by a completion endpoint (text or token ids) or by an assistant prefill. Pure.

The condition under which a model continued is part of what was measured, so it is written down with each answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from evaluator.cases import BY_PREFILL, BY_TOKEN_IDS, Request, Subject
from evaluator.formats.closure_rows import prompt_text

# One greedy continuation without stop strings. Where trap.yaml's `params` say otherwise, they count and are told.
DEFAULTS: Mapping[str, Any] = {"max_tokens": 1024, "temperature": 0, "top_p": 1, "seed": 42}

_LONGEST_DESCRIPTION = 200
_OPENAI = "api.openai.com"
# Providers whose servers need to be told that the last message is to be continued, and how (litellm's names).
_IN_THE_MESSAGE = frozenset({"deepseek", "mistral"})
_IN_THE_BODY = frozenset({"hosted_vllm"})
_CONTINUE = {"continue_final_message": True, "add_generation_prompt": False}


def params(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a continuation: the defaults, with what the repository sets in their place."""
    defaults = dict(DEFAULTS)
    if "max_completion_tokens" in given:
        del defaults["max_tokens"]
    return {**defaults, **given}


def described(condition: str, given: Mapping[str, Any]) -> str:
    """The condition with the parameters that are not the defaults: "completion:text, max_tokens 24"."""
    other = [
        f"{name} {json.dumps(value, sort_keys=True)}"
        for name, value in sorted(given.items())
        if name not in DEFAULTS or DEFAULTS[name] != value
    ]
    text = ", ".join([condition, *other])
    return text if len(text) <= _LONGEST_DESCRIPTION else text[:_LONGEST_DESCRIPTION] + "…"


def prompt(subject: Subject, request: Request) -> str | list[int]:
    """What a completion endpoint gets: the token ids as they are, or the system prompt, a blank line, the instruction
    and the prefix."""
    if request.condition == BY_TOKEN_IDS:
        return list(request.prompt_token_ids or [])
    instruction = "".join(message["content"] for message in request.messages)
    text = prompt_text(instruction, request.prefix or "")
    return f"{subject.system.rstrip()}\n\n{text}" if subject.system else text


def prefilled(subject: Subject, request: Request) -> list[dict[str, Any]]:
    """The messages of a prefill: the last one is the assistant's, and holds the prefix."""
    system = [{"role": "system", "content": subject.system}] if subject.system else []
    return [*system, *request.messages, {"role": "assistant", "content": request.prefix or ""}]


def flagged(sent: dict[str, Any], provider: str, condition: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """`sent` with what this provider's servers must be told beside: to keep special tokens in the text of a completion
    (vLLM's word; llama.cpp keeps them anyway), or to continue the last message. A repository's own `extra_body` wins.

    OpenAI's own endpoint refuses words that it does not know and gets none.
    """
    body: dict[str, Any] = {}
    if condition == BY_PREFILL:
        if provider in _IN_THE_MESSAGE:
            *before, last = sent["messages"]
            sent = {**sent, "messages": [*before, {**last, "prefix": True}]}
        body = dict(_CONTINUE) if provider in _IN_THE_BODY else {}
    elif provider in _IN_THE_BODY or _is_own_server(environ):
        body = {"skip_special_tokens": False}
    return {**sent, "extra_body": {**body, **sent.get("extra_body", {})}} if body else sent


def _is_own_server(environ: Mapping[str, str]) -> bool:
    address = environ.get("OPENAI_BASE_URL") or environ.get("OPENAI_API_BASE") or ""
    return bool(address) and urlsplit(address).hostname != _OPENAI


def model_name(model: str, provider: str) -> str:
    """litellm's name by which `model` is asked at a completion endpoint: of `openai/…` it would ask some by chat."""
    return f"text-completion-openai/{model.removeprefix('openai/')}" if provider == "openai" else model


def as_chat(response: Any) -> Any:
    """A text completion in the shape of a chat completion, so that both are read by the same rules."""
    choices = getattr(response, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    said = SimpleNamespace(
        message=SimpleNamespace(content=getattr(choice, "text", None)),
        finish_reason=getattr(choice, "finish_reason", None),
    )
    return SimpleNamespace(
        choices=[said] if choice is not None else [],
        usage=getattr(response, "usage", None),
        model=getattr(response, "model", None),
        system_fingerprint=getattr(response, "system_fingerprint", None),
    )
