import asyncio

import pytest

from evaluator.cases import Request, Subject
from evaluator.runners.model import ModelRunner
from evaluator.runners.retry import Policy

KEY = "sk-scripted-0123456789abcdef"

# Waits of tests: short, but as many tries as in earnest.
QUICK = Policy(first=0.01, longest=1.5)

ADD = {
    "name": "math.add",
    "description": "Add two numbers",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
ASK = Request(messages=[{"role": "user", "content": "Add 2 and 3."}], function=ADD)


@pytest.fixture
def connect(monkeypatch):
    """Points litellm at a server and makes a runner for it; keyword arguments go to the subject or the runner."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def runner(
        server,
        *,
        model="openai/x",
        policy=QUICK,
        case_timeout=5.0,
        concurrency=16,
        price=None,
        with_tools=False,
        **subject,
    ):
        monkeypatch.setenv("OPENAI_API_BASE", server.base_url)
        return ModelRunner(
            Subject(model=model, **subject),
            price=price,
            with_tools=with_tools,
            case_timeout=case_timeout,
            concurrency=concurrency,
            policy=policy,
            environ={"OPENAI_API_KEY": KEY},
        )

    return runner


@pytest.fixture
def attempt(connect):
    """The result of one attempt against a server."""

    def make(server, request=ASK, *, tools=(), recorded=(), retry=1, **fields):
        runner = connect(server, with_tools=bool(tools), **fields)

        async def main():
            try:
                return await runner.attempt(request, tools=tools, recorded=recorded, retry=retry)
            finally:
                await runner.close()

        return asyncio.run(main())

    return make
