"""The one door to litellm: imported late, quiet, and asked what it knows of a provider.

The import takes seconds and reads a price list; `LITELLM_LOCAL_MODEL_COST_MAP` keeps that list off the network.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import warnings
from collections.abc import Collection, Iterable
from typing import Any

from evaluator.cases import BY_TEXT, BY_TOKEN_IDS, Subject
from evaluator.config.types import Price
from evaluator.errors import Problem, UserError, user_error

_OURS = frozenset({"messages", "model", "tools", "functions", "function_call", "n", "stream", "stream_options"})
# In litellm's list of its own settings, but meant for the provider.
_FOR_THE_PROVIDER = frozenset({"metadata"})
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


def warm_up() -> threading.Thread:
    """Imports litellm in the background, so that it overlaps with fetching sources. `load` waits for it."""
    thread = threading.Thread(target=_try_to_load, name="import litellm", daemon=True)
    thread.start()
    return thread


def _try_to_load() -> None:
    with contextlib.suppress(Exception):  # whoever needs it calls `load` and meets the same error
        load()


def load() -> Any:
    """The litellm module, set up to retry nothing, drop nothing, send nothing home and print nothing."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = False
    litellm.num_retries = 0
    litellm.callbacks = []
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # Pydantic quotes the model's answer where it is odd: no model text goes to the log.
    warnings.filterwarnings("ignore", message="(?s)Pydantic serializer warnings", category=UserWarning)
    # About litellm's own types of Gemini, which are loaded at the first call of one.
    warnings.filterwarnings(
        "ignore", message="(?s)(Items?|Extra items) .*Pydantic will not protect items", category=UserWarning
    )
    _keep_calls_as_sent()
    return litellm


def _keep_calls_as_sent() -> None:
    """Takes out litellm's repair of calls of `multi_tool_use.parallel`.

    It rewrites what the model said, and to find out it parses all arguments: some that are deep or have endless digits
    end there in an exception, which would turn a model's fault into a missing answer.
    """
    from litellm.litellm_core_utils.llm_response_utils import convert_dict_to_response

    convert_dict_to_response.handle_invalid_parallel_tool_calls = lambda tool_calls: tool_calls


def provider(model: str) -> str:
    """litellm's name of the provider of `model`, which it knows."""
    return str(load().get_llm_provider(model)[1])


def missing_keys(model: str) -> str | None:
    """The variables that `model` needs a key in and that are not set, in words, by litellm's own list of them; None
    where it knows of none. A provider may do without, as by a role of the machine."""
    found = load().validate_environment(model)
    names = [name for name in found["missing_keys"] if re.search(r"(?:KEY|KEY_ID|TOKEN)$", name)]
    return None if found["keys_in_environment"] or not names else " and ".join(names)


def price_known(model: str, price: Price | None) -> bool:
    """Whether an attempt of `model` can be given a price: the configuration's, or litellm's list has both rates."""
    return price is not None or listed(model)


def listed(model: str) -> bool:
    """Whether litellm's price list has an entry with both rates for `model`; zero is a rate, a missing one is not."""
    litellm = load()
    try:
        key = litellm.get_model_info(model)["key"]
    except Exception:  # litellm raises a bare Exception for a model that it does not know
        return False
    entry = litellm.model_cost.get(key) or {}
    return all(isinstance(entry.get(rate), (int, float)) for rate in ("input_cost_per_token", "output_cost_per_token"))


def unsupported(model: str, names: Iterable[str]) -> list[str]:
    """Those of `names`, parameters of OpenAI's, that the provider of `model` does not take by chat, sorted."""
    supported = load().get_supported_openai_params(model) or []
    return sorted(name for name in names if name not in supported)


def refuse_conditions(model: str, conditions: Collection[str]) -> None:
    """Raises UserError `completion-unsupported` where begun answers are to be continued in a way that litellm cannot
    ask this provider for: it would turn the completion into a chat, and nobody would know."""
    needed = sorted({BY_TEXT, BY_TOKEN_IDS}.intersection(conditions))
    if not needed:
        return
    by_name = provider(model)
    known = {"openai", "text-completion-openai"}
    if BY_TOKEN_IDS not in conditions:
        known |= set(load().openai_text_completion_compatible_providers)
    if by_name not in known:
        what = "prompts of token ids" if BY_TOKEN_IDS in conditions else "text completions"
        raise user_error(
            "completion-unsupported",
            f"{model}: {what} cannot be sent to {by_name}",
            where="model",
            mend="Name it openai/NAME with OPENAI_BASE_URL where its server has a completion endpoint, or set the "
            "task's options: {prompting: prefill}.",
        )


def share_connections() -> None:
    """One HTTP client for all text completions; litellm would open one for each and close none. `close` ends it."""
    litellm = load()
    if litellm.aclient_session is None:
        from litellm.llms.openai.common_utils import BaseOpenAILLM

        litellm.aclient_session = BaseOpenAILLM.get_async_http_client()


async def close() -> None:
    """Closes every connection that litellm holds."""
    litellm = load()
    shared, litellm.aclient_session = litellm.aclient_session, None
    if shared is not None:
        await shared.aclose()
    await litellm.close_litellm_async_clients()


def unsupported_params(subject: Subject, *, with_tools: bool = False) -> list[str]:
    """The names, sorted, of what this provider does not take and is therefore not sent.

    `with_tools`: whether tasks bring tools of their own.
    Raises UserError `model-unknown`, `params-reserved`, or `structured-unsupported` where the provider lacks what
    `structured` or the tools need.
    """
    litellm = load()
    supported = litellm.get_supported_openai_params(subject.model)
    if supported is None:
        raise user_error(
            "model-unknown",
            f"no provider is known for the model {subject.model!r}",
            where="model",
            mend="Name it as litellm does: provider/model, e.g. openai/gpt-4.1-mini, or openai/NAME for a server that "
            "speaks OpenAI's protocol.",
        )
    _refuse_reserved(subject)
    _refuse_unsupported(subject, supported, with_tools)
    wanted = set(subject.params)
    if subject.structured == "tool":
        wanted.add("tool_choice")
    known = set(litellm.constants.DEFAULT_CHAT_COMPLETION_PARAM_VALUES)
    return sorted(name for name in wanted if name in known and name not in supported)


def _refuse_reserved(subject: Subject) -> None:
    from litellm.types.utils import all_litellm_params

    reserved = (_OURS | set(all_litellm_params)) - _FOR_THE_PROVIDER
    problems = [
        Problem(
            "params",
            0,
            0,
            f"{name!r} is not a parameter of the model",
            "Leave it out. Keys and addresses come from the environment (OPENAI_API_KEY, OPENAI_BASE_URL, …); "
            "messages, tools and limits have places of their own in trap.yaml.",
        )
        for name in subject.params
        if name in reserved
    ]
    if problems:
        raise UserError("params-reserved", *problems)


def _refuse_unsupported(subject: Subject, supported: list[str], with_tools: bool) -> None:
    needed = {"schema": "response_format", "tool": "tools"}.get(subject.structured)
    if needed is not None and needed not in supported:
        raise user_error(
            "structured-unsupported",
            f"{subject.model} does not take {needed!r}, which `structured: {subject.structured}` needs",
            where="structured",
            mend="Use `structured: prompt`, or a model whose provider takes it.",
        )
    if subject.tools and "tools" not in supported:
        raise user_error(
            "structured-unsupported",
            f"{subject.model} does not take tools, and `tools` names {len(subject.tools)}",
            where="tools",
            mend="Use a model whose provider takes tools, or leave `tools` out.",
        )
    if with_tools and "tools" not in supported:
        raise user_error(
            "structured-unsupported",
            f"{subject.model} does not take tools, and the tasks offer some",
            where="model",
            mend="Use a model whose provider takes tools.",
        )
