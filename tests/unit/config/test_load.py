from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator import config
from evaluator.config.shape import schema
from evaluator.config.types import (
    BaselineConfig,
    Config,
    GateConfig,
    Include,
    Limits,
    Price,
    Rule,
    TaskConfig,
)
from evaluator.errors import UserError
from evaluator.vocabulary import known_metrics

COMMIT = "11bd71901bbe5b1630ceea73d27597364c9af683"
FULL = f"""\
name: refund-agent                        # optional
model: openai/gpt-4.1-mini
params: {{temperature: 0, max_tokens: 1024, seed: 42}}
system: prompts/system.md
tools: tools/
structured: schema
repeats: 5
canaries: builtin
tasks:
  json-call:
    source: git+https://host/owner/repo@{COMMIT}#subdirectory=tasks/core_json_schema_output
    judge: builtin
    trust: false
  refunds:
    source: ./evals/refunds
    format: trace
    repeats: 3
    include: {{tags: [smoke], ids: ["refund-*"]}}
baseline: {{store: file, path: .trap/baseline.json, allow_missing: false}}
gate:
  alpha: 0.02
  coverage: 0.95
  rules:
    - {{task: refunds, metric: argument_score, max_drop: 0.02}}
    - {{task: refunds, metric: all_k_pass_rate, min: 0.7, on_noise: fail}}
    - {{task: refunds, metric: failure_modes.wrong_tool, max_rise: 0.0}}
    - {{task: json-call, metric: pass_rate, slice: easy, min: 0.8, max_drop: 0.05}}
    - {{metric: cost_usd, max: 2.50}}
limits: {{max_cost_usd: 5.00, timeout: 1200, concurrency: 16}}
"""
TASKS = "tasks: {a: {source: ./a}}\n"


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        config.parse(text, "trap.yaml")
    assert caught.value.code == "config-invalid"
    return str(caught.value)


def test_the_full_example_becomes_typed_values() -> None:
    assert config.parse(FULL, "trap.yaml") == Config(
        path="trap.yaml",
        digest=hashlib.sha256(FULL.encode()).hexdigest(),
        name="refund-agent",
        model="openai/gpt-4.1-mini",
        params={"temperature": 0, "max_tokens": 1024, "seed": 42},
        system="prompts/system.md",
        tools="tools/",
        structured="schema",
        canaries=None,
        tasks=[
            TaskConfig(
                name="json-call",
                source=f"git+https://host/owner/repo@{COMMIT}#subdirectory=tasks/core_json_schema_output",
                repeats=5,
                line=10,
            ),
            TaskConfig(
                name="refunds",
                source="./evals/refunds",
                format="trace",
                repeats=3,
                include=Include(tags=["smoke"], ids=["refund-*"]),
                line=14,
            ),
        ],
        baseline=BaselineConfig(),
        gate=GateConfig(
            alpha=0.02,
            coverage=0.95,
            rules=[
                Rule(task="refunds", metric="argument_score", max_drop=0.02, line=24),
                Rule(task="refunds", metric="all_k_pass_rate", min=0.7, on_noise="fail", line=25),
                Rule(task="refunds", metric="failure_modes.wrong_tool", max_rise=0.0, line=26),
                Rule(task="json-call", metric="pass_rate", slice="easy", min=0.8, max_drop=0.05, line=27),
                Rule(metric="cost_usd", max=2.5, line=28),
            ],
        ),
        limits=Limits(max_cost_usd=5.0, timeout=1200.0, concurrency=16),
    )


def test_a_file_with_nothing_but_tasks_takes_every_default() -> None:
    loaded = config.parse(TASKS, "trap.yaml")
    defaults = Config(path="trap.yaml", digest=loaded.digest, tasks=[TaskConfig(name="a", source="./a", line=1)])
    assert loaded == defaults


def test_options_price_and_limits_are_typed() -> None:
    loaded = config.parse(
        "tasks:\n  a: {source: ./a, options: {json_call: 1, no_hedge: true}}\n"
        "  b: {source: ./b, options: {json_call: upstream}}\n  c: {source: ./c, options: {json_call: '1'}}\n"
        "price: {input_per_million: 1, output_per_million: 0.5}\nlimits: {case_timeout: 5, concurrency: 2.0}\n",
        "trap.yaml",
    )
    assert [task.options for task in loaded.tasks] == [
        {"json_call": "1", "no_hedge": True},
        {"json_call": "upstream"},
        {"json_call": "1"},
    ]
    assert loaded.price == Price(input_per_million=1.0, output_per_million=0.5)
    assert loaded.limits == Limits(case_timeout=5.0, concurrency=2)
    assert isinstance(loaded.limits.concurrency, int)
    assert isinstance(loaded.limits.case_timeout, float)


def test_a_whole_number_written_as_a_fraction_reaches_the_provider_as_a_whole_number() -> None:
    params = config.parse(TASKS + "params: {max_tokens: 10.0, temperature: 0.0}\n", "trap.yaml").params
    assert params == {"max_tokens": 10, "temperature": 0.0}
    assert isinstance(params["max_tokens"], int)


@pytest.mark.parametrize(
    "key",
    [
        *("model", "models", "messages", "prompt", "input", "system", "contents", "system_instruction"),
        *("systemInstruction", "tools", "functions", "function_call", "toolConfig", "tool_config", "response_format"),
        *("generationConfig", "generation_config", "n", "stream", "stream_options", "max_output_tokens", "extra_body"),
    ],
)
def test_extra_body_cannot_replace_what_is_sent_and_recorded(key: str) -> None:
    assert refusal(TASKS + f"params:\n  extra_body:\n    {key}: 1\n") == (
        f"trap.yaml:4:5: params.extra_body.{key} is refused: it would replace what trapgate sends and records\n"
        "    Leave it out: model, prompts, tools and the shape of the answer have places of their own in trap.yaml."
    )


def test_extra_body_cannot_hold_a_parameter_that_has_a_key_of_its_own() -> None:
    own = schema()["properties"]["params"]["properties"].keys() - {"extra_body"}
    assert {"max_tokens", "tool_choice", "seed"} < own
    for key in own:
        assert f"Write it as params.{key}." in refusal(TASKS + f"params: {{extra_body: {{{key}: 1}}}}\n")


def test_a_name_of_ours_deeper_in_extra_body_is_the_providers_own() -> None:
    text = TASKS + "params: {extra_body: {provider: {model: a, n: 2}}}\n"
    assert config.parse(text, "trap.yaml").params == {"extra_body": {"provider": {"model": "a", "n": 2}}}


def test_extra_body_is_passed_on_as_it_is() -> None:
    text = TASKS + "params: {extra_body: {min_p: 0.05, nested: {a: [1]}}}\n"
    assert config.parse(text, "trap.yaml").params == {"extra_body": {"min_p": 0.05, "nested": {"a": [1]}}}


def test_canaries_of_ones_own_are_a_path_or_a_source() -> None:
    assert config.parse(TASKS + "canaries: ./canaries\n", "trap.yaml").canaries == "./canaries"
    source = f"git+https://host/owner/repo@{COMMIT}"
    assert config.parse(TASKS + f"canaries: {source}\n", "trap.yaml").canaries == source


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("model: a/b\n", "a/b"),
        ("models: [a/b]\n", "a/b"),
        ("profile: {model: a/b}\n", "a/b"),
        ("model: a/b\nprofile: {model: c/d}\n", "a/b"),
        ("", None),
    ],
)
def test_the_model_is_found_wherever_the_file_may_name_it(text: str, model: str | None) -> None:
    assert config.parse(TASKS + text, "trap.yaml").model == model


def test_what_a_tp_file_says_without_effect_is_said_in_notes() -> None:
    text = f"""\
profile: {{model: openai/gpt-4.1-mini, framework: none}}
setup_cmd: pip install x
stdin: question.txt
timeout: 600
manifest_envvar: TRAP_MANIFEST
env: [OPENAI_API_KEY]
extra: {{anything: [1, 2]}}
tasks:
  core:
    source: git+https://host/owner/repo@{COMMIT}#subdirectory=tasks/core
    clone_to: /tmp/core
    trust: true
"""
    assert config.parse(text, "trap.yaml").notes == [
        "trap.yaml:1:39: profile.framework has no effect: nothing reads it",
        "trap.yaml:2:1: setup_cmd has no effect: it belongs to cmd",
        "trap.yaml:3:1: stdin has no effect: it belongs to cmd",
        "trap.yaml:4:1: timeout has no effect: the time of one call is limits.case_timeout, "
        "of the whole run limits.timeout",
        "trap.yaml:5:1: manifest_envvar has no effect: it belongs to cmd",
        "trap.yaml:6:1: env has no effect: it belongs to cmd",
        "trap.yaml:7:1: extra has no effect: nothing reads it",
        "trap.yaml:11:5: tasks.core.clone_to has no effect: sources are kept in a cache of their own",
        "trap.yaml:12:5: tasks.core.trust has no effect: with the built-in judge nothing of the source is run",
    ]


def test_a_profile_model_beside_a_model_is_noted() -> None:
    notes = config.parse(TASKS + "model: a/b\nprofile: {model: c/d}\n", "trap.yaml").notes
    assert notes == ["trap.yaml:3:11: profile.model has no effect: the top-level model is used"]


KEYS_MEND = "    Keys and endpoints come from the environment of the workflow, e.g. OPENAI_API_KEY and OPENAI_BASE_URL."
PATH_MEND = "    Write a path relative to that folder, without `..`."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "trap.yaml:1:1: the file is empty\n    `trapgate init` writes an example."),
        ("[]\n", "trap.yaml:1:1: the file: wanted a mapping, got an empty list"),
        ("name: x\n", "trap.yaml:1:1: the file has no tasks\n    `trapgate init` writes an example."),
        ("tasks: {}\n", "trap.yaml:1:8: tasks is empty\n    Write at least one entry."),
        ("tasks:\n", "trap.yaml:1:7: tasks: wanted a mapping, got nothing"),
        (
            "tasks: {a: {format: trace}}\n",
            "trap.yaml:1:9: tasks.a has no source\n    Add it, e.g. `source: ./evals/refunds`.",
        ),
        (
            "tasks:\n  refunds:\n    source: ./a\n    repeat: 3\n",
            'trap.yaml:4:5: unknown key "repeat" in tasks.refunds; did you mean "repeats"?',
        ),
        (TASKS + "modle: x\n", 'trap.yaml:2:1: unknown key "modle"; did you mean "model"?'),
        (
            TASKS + "baseline: {qqq: 1}\n",
            'trap.yaml:2:12: unknown key "qqq" in baseline\n    Known keys: allow_missing, branch, keep, path, store.',
        ),
        (
            "tasks: {../a: {source: ./a}}\n",
            'trap.yaml:1:9: "../a" cannot be the name of a task\n'
            "    A name has no slash or control character, does not begin with a dot or space, "
            "and has 1 to 100 characters.",
        ),
        (
            TASKS + "model: on\n",
            'trap.yaml:2:8: model: wanted text, got true\n    YAML reads on as true; write it in quotes: "on".',
        ),
        (
            TASKS + "name: 1.10\n",
            "trap.yaml:2:7: name: wanted text, got the number 1.1\n"
            '    YAML reads 1.10 as 1.1; write it in quotes: "1.10".',
        ),
        (
            TASKS + "name: 7\n",
            'trap.yaml:2:7: name: wanted text, got the number 7\n    Write it in quotes: "7".',
        ),
        (TASKS + "model: ''\n", "trap.yaml:2:8: model is empty\n    Write a value, or leave the key out."),
        (TASKS + f"name: {'x' * 101}\n", "trap.yaml:2:7: name: wanted at most 100 characters, got 101"),
        (
            TASKS + 'repeats: "3"\n',
            'trap.yaml:2:10: repeats: wanted a whole number, got the text "3"\n    Write it without quotes.',
        ),
        (
            TASKS + "repeats: 010\n",
            'trap.yaml:2:10: repeats: wanted a whole number, got the text "010"\n'
            "    YAML 1.1 reads a number with a leading zero or a bare exponent as text: write 7, 0.001 or 1.0e-3.",
        ),
        (
            TASKS + "gate: {rules: [{metric: pass_rate, max_drop: 5%}]}\n",
            'trap.yaml:2:46: gate.rules[0].max_drop: wanted a number, got the text "5%"\n'
            "    Rates are fractions of 1: write 0.05.",
        ),
        (
            TASKS + "gate: {coverage: '97.5 %'}\n",
            'trap.yaml:2:18: gate.coverage: wanted a number, got the text "97.5 %"\n'
            "    Rates are fractions of 1: write 0.975.",
        ),
        (
            TASKS + "limits: {timeout: 15m}\n",
            'trap.yaml:2:19: limits.timeout: wanted a number, got the text "15m"\n    Times are in seconds: write 900.',
        ),
        (
            TASKS + "limits: {case_timeout: 1.5 hours}\n",
            'trap.yaml:2:24: limits.case_timeout: wanted a number, got the text "1.5 hours"\n'
            "    Times are in seconds: write 5400.",
        ),
        (
            TASKS + "limits: {timeout: 1h30m}\n",
            'trap.yaml:2:19: limits.timeout: wanted a number, got the text "1h30m"\n'
            "    Write a plain number of seconds.",
        ),
        (
            TASKS + "limits: {max_cost_usd: $5}\n",
            'trap.yaml:2:24: limits.max_cost_usd: wanted a number, got the text "$5"\n'
            "    Money is in US dollars, without a sign: write 5.",
        ),
        (
            TASKS + "repeats: three\n",
            'trap.yaml:2:10: repeats: wanted a whole number, got the text "three"\n'
            "    Write a plain number in digits, with a decimal point where it needs one.",
        ),
        (
            TASKS + "gate: {alpha: 2e-2}\n",
            'trap.yaml:2:15: gate.alpha: wanted a number, got the text "2e-2"\n'
            "    YAML 1.1 reads a number with a leading zero or a bare exponent as text: write 7, 0.001 or 1.0e-3.",
        ),
        (TASKS + "repeats: 0\n", "trap.yaml:2:10: repeats: wanted a whole number at least 1 and at most 1000, got 0"),
        (TASKS + "repeats: true\n", "trap.yaml:2:10: repeats: wanted a whole number, got true"),
        (
            TASKS + "structured: shema\n",
            "trap.yaml:2:13: structured: wanted one of schema, tool, prompt, "
            'got the text "shema"; did you mean "schema"?',
        ),
        (
            "tasks: {a: {source: ./a, options: {json_call: 2}}}\n",
            "trap.yaml:1:47: tasks.a.options.json_call: wanted one of 1, upstream, got the number 2",
        ),
        (
            TASKS + "limits: {concurrency: 0.5}\n",
            "trap.yaml:2:23: limits.concurrency: wanted a whole number, got the number 0.5",
        ),
        (TASKS + "limits: {timeout: 0}\n", "trap.yaml:2:19: limits.timeout: wanted a number above 0, got 0"),
        (
            TASKS + "gate: {alpha: 0.9}\n",
            "trap.yaml:2:15: gate.alpha: wanted a number at least 0.001 and at most 0.5, got 0.9",
        ),
        (
            TASKS + "gate: {alpha: 0.0005}\n",
            "trap.yaml:2:15: gate.alpha: wanted a number at least 0.001 and at most 0.5, got 0.0005\n"
            "    The sampled sign-flip test gives no p below 1/10,000: with a smaller alpha nothing would ever block.",
        ),
        (
            TASKS + "gate: {coverage: 0}\n",
            "trap.yaml:2:18: gate.coverage: wanted a number above 0 and at most 1, got 0",
        ),
        (
            TASKS + "gate: {on_fork: pass}\n",
            'trap.yaml:2:17: gate.on_fork: wanted a list, got the text "pass"',
        ),
        (
            TASKS + "gate: {on_fork: [tt]}\n",
            'trap.yaml:2:18: gate.on_fork: there is no task "tt"\n    Tasks of this file: a.',
        ),
        (TASKS + "gate: {rules: []}\n", "trap.yaml:2:15: gate.rules is empty\n    Write at least one entry."),
        (
            TASKS + "models: [a/b, c/d]\nprice: {input_per_million: 1, output_per_million: 2}\n",
            "trap.yaml:3:1: price is that of one model, and models names several\n"
            "    Leave price out, and each model has the price of the list; or run once per model with --model.",
        ),
        (
            TASKS + "model: a/b\nmodels: [a/b]\n",
            "trap.yaml:3:1: model and models are both given\n    Keep one of them.",
        ),
        (
            TASKS + "model: huggingface/https://elsewhere\n",
            "trap.yaml:2:8: model is an address, not the name of a model\n"
            "    Write provider/model; the endpoint comes from the environment of the workflow.",
        ),
        (
            TASKS + "model: ${MODEL}\n",
            'trap.yaml:2:8: model: environment variables are not expanded, and "${MODEL}" has one\n'
            "    Write the value itself.",
        ),
        (
            "tasks: {a: {source: '${HERE}/a'}}\n",
            'trap.yaml:1:21: tasks.a.source: environment variables are not expanded, and "${HERE}/a" has one\n'
            "    Write the value itself.",
        ),
        (
            TASKS + "params: {api_key: x}\n",
            "trap.yaml:2:10: params.api_key is refused: a pull request could send the key to another place with it\n"
            + KEYS_MEND,
        ),
        (
            TASKS + "params: {extra_body: {a: [{api_base: x}]}}\n",
            "trap.yaml:2:28: params.extra_body.a[0].api_base is refused: "
            "a pull request could send the key to another place with it\n" + KEYS_MEND,
        ),
        (
            TASKS + "params: {extra_body: {min_p: 0.1, temperature: 1}}\n",
            "trap.yaml:2:35: params.extra_body.temperature is refused: "
            "it would replace what trapgate sends and records\n    Write it as params.temperature.",
        ),
        (
            TASKS + "params: {temprature: 0}\n",
            'trap.yaml:2:10: unknown key "temprature" in params; did you mean "temperature"?',
        ),
        (TASKS + "system: ../x.md\n", f'trap.yaml:2:9: system: "../x.md" leaves the folder of trap.yaml\n{PATH_MEND}'),
        (TASKS + "tools: /etc\n", f'trap.yaml:2:8: tools: "/etc" leaves the folder of trap.yaml\n{PATH_MEND}'),
        (
            TASKS + "canaries: a/../../b\n",
            f'trap.yaml:2:11: canaries: "a/../../b" leaves the folder of trap.yaml\n{PATH_MEND}',
        ),
        (
            TASKS + "baseline: {path: .git/config}\n",
            f'trap.yaml:2:18: baseline.path: ".git/config" lies inside .git\n{PATH_MEND}',
        ),
        (
            TASKS + "baseline: {branch: a/../b}\n",
            'trap.yaml:2:20: baseline.branch: "a/../b" is no name of a branch\n'
            "    Letters, digits, `-`, `_` and `.`, with `/` between parts that begin with a letter or digit.",
        ),
        (
            TASKS + "baseline: {store: s3}\n",
            'trap.yaml:2:19: baseline.store: wanted one of file, branch, got the text "s3"',
        ),
        (
            f"tasks: {{a: {{judge: both, source: git+https://host/owner/repo@{COMMIT}}}}}\n",
            "trap.yaml:1:20: tasks.a.judge: both would run what another's source brings, and trust is not set\n"
            "    Read its judge, grader and setup_cmd there, then set `trust: true`; or write `judge: builtin`.",
        ),
        (
            TASKS + "cmd: ./solve 'a\nenv: [OPENAI-KEY]\nstdin: ../x\n",
            "trap.yaml:2:6: cmd cannot be split into arguments: No closing quotation\n"
            'trap.yaml:3:7: env[0]: "OPENAI-KEY" is no name of an environment variable\n'
            'trap.yaml:4:8: stdin: "../x" leaves the folder of trap.yaml\n'
            "    Name one of the files of each case's inputs.",
        ),
        (
            "tasks:\n  a:\n    source: git+https://host/owner/repo@main\n",
            "trap.yaml:3:13: tasks.a.source: `main` is a branch or tag, which can move: "
            "the same evaluation could not be run again\n"
            "    Write the full id; `trapgate pin trap.yaml` puts it into the file for branches and tags.",
        ),
    ],
)
def test_a_fault_is_named_with_its_place_and_its_mend(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_model_that_is_listed_twice_is_named() -> None:
    assert refusal(TASKS + "models: [a/b, c/d, c/d]\n").splitlines()[:1] == [
        'trap.yaml:2:9: models has the text "c/d" twice'
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "{metric: pass_rate}",
            "13: gate.rules[0] has no limit\n    Give at least one of min, max, max_drop, max_rise.",
        ),
        ("{max: 1}", "13: gate.rules[0] has no metric\n    Add it, e.g. `metric: pass_rate`."),
        ("3", "13: gate.rules[0]: wanted a mapping, got the number 3"),
        (
            "{metric: pass_rat, min: 1}",
            '22: gate.rules[0]: unknown metric "pass_rat"; did you mean "pass_rate"?',
        ),
        (
            "{metric: zzz, min: 1}",
            f'22: gate.rules[0]: unknown metric "zzz"\n    Known metrics: {", ".join(known_metrics())}.',
        ),
        (
            "{task: refund, metric: pass_rate, min: 1}",
            '20: gate.rules[0]: there is no task "refund"; did you mean "refunds"?',
        ),
        (
            "{task: zzz, metric: pass_rate, min: 1}",
            '20: gate.rules[0]: there is no task "zzz"\n    Tasks of this file: refunds.',
        ),
        (
            "{metric: pass_rate, max_rise: 0.1}",
            "33: gate.rules[0]: max_rise on pass_rate, where higher is better, would block an improvement\n"
            "    Write max_drop.",
        ),
        (
            "{metric: cost_usd, max_drop: 0.1}",
            "32: gate.rules[0]: max_drop on cost_usd, where lower is better, would block an improvement\n"
            "    Write max_rise.",
        ),
        (
            "{metric: failure_modes.wrong_tool, max_drop: 0.1}",
            "48: gate.rules[0]: max_drop on failure_modes.wrong_tool, where lower is better, "
            "would block an improvement\n    Write max_rise.",
        ),
        ("{metric: pass_rate, min: 0.8, max: 0.2}", "38: gate.rules[0]: min 0.8 is above max 0.2"),
        (
            "{metric: pass_rate, max_drop: 5}",
            "43: gate.rules[0].max_drop: pass_rate is a fraction of 1, wanted at most 1, got 5\n"
            "    5 % is written 0.05.",
        ),
        (
            "{metric: failure_modes.wrong_tool, max: 1000}",
            "53: gate.rules[0].max: failure_modes.wrong_tool is a fraction of 1, wanted at most 1, got 1000",
        ),
        ("{metric: cost_usd, max: -1}", "37: gate.rules[0].max: wanted a number at least 0, got -1"),
        (
            "{metric: pass_rate, min: 1, on_noise: ignore}",
            '51: gate.rules[0].on_noise: wanted one of warn, fail, got the text "ignore"',
        ),
    ],
)
def test_a_rule_that_cannot_be_applied_is_refused(rule: str, message: str) -> None:
    text = f"tasks: {{refunds: {{source: ./a}}}}\ngate:\n    rules: [{rule}]\n"
    assert refusal(text) == f"trap.yaml:3:{message}"


def test_money_and_tokens_are_no_shares() -> None:
    text = TASKS + "gate: {rules: [{metric: cost_usd, max: 2.5}, {metric: output_tokens, max_rise: 1000}]}\n"
    assert config.parse(text, "trap.yaml").gate.rules == [
        Rule(metric="cost_usd", max=2.5, line=2),
        Rule(metric="output_tokens", max_rise=1000.0, line=2),
    ]


def test_every_fault_is_reported_at_once_in_the_order_of_the_file() -> None:
    text = """\
nmae: x
model: on
params: {api_base: x}
tasks:
  refunds: {source: git+https://host/o/r, repeat: 3}
gate:
  rules:
    - {task: refund, metric: pass_rat, max: 3}
limits: {concurrency: 0}
"""
    lines = [line for line in refusal(text).splitlines() if not line.startswith("    ")]
    assert [line.split(": ")[0] for line in lines] == [
        "trap.yaml:1:1",
        "trap.yaml:2:8",
        "trap.yaml:3:10",
        "trap.yaml:5:21",
        "trap.yaml:5:43",
        "trap.yaml:8:14",
        "trap.yaml:8:30",
        "trap.yaml:9:23",
    ]


def test_of_very_many_faults_the_first_fifty_are_shown_and_all_are_counted() -> None:
    text = TASKS + "gate:\n  rules:\n" + "    - {metric: pass_rate}\n" * 80
    lines = refusal(text).splitlines()
    assert lines[0] == "trap.yaml: 80 problems, of which these are the first 50"
    assert lines[1] == "trap.yaml:4:7: gate.rules[0] has no limit"
    assert len(lines) == 1 + 2 * 50


def test_a_file_with_more_values_than_any_configuration_has_is_refused() -> None:
    text = "tasks:\n" + "".join(f"  t{number}: {{source: ./t}}\n" for number in range(5000))
    assert refusal(text) == "trap.yaml: holds 10002 values; more than 5000 are not checked"


def test_a_file_full_of_near_misses_is_refused_in_good_time() -> None:
    tasks = "".join(f"  task-{number:04}: {{source: ./t}}\n" for number in range(1500))
    rules = "".join(f"    - {{task: tusk-{number:04}}}\n" for number in range(900))
    started = time.process_time()
    assert refusal(f"tasks:\n{tasks}gate:\n  rules:\n{rules}").startswith("trap.yaml: 2700 problems")
    assert time.process_time() - started < 10


def test_yaml_that_does_not_parse_is_named_with_its_place() -> None:
    with pytest.raises(UserError) as caught:
        config.parse("tasks: [\n", "trap.yaml")
    assert caught.value.code == "yaml-invalid"
    assert str(caught.value).startswith("trap.yaml:2:1: not valid YAML: ")


def test_a_file_is_loaded_under_the_name_that_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "trap.yaml"
    path.write_bytes(FULL.replace("\n", "\r\n").encode())
    loaded = config.load(path, "trap.yaml at base")
    assert loaded.path == "trap.yaml at base"
    assert loaded.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert config.load(path).path == str(path)


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        config.load(tmp_path / "trap.yaml", "trap.yaml")
    assert caught.value.code == "config-missing"
    assert str(caught.value) == (
        "trap.yaml: there is no such file\n    Name it with --config, or write a new one with `trapgate init`."
    )


def test_a_folder_in_place_of_the_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        config.load(tmp_path, "trap.yaml")
    assert caught.value.code == "config-unreadable"
    assert str(caught.value) == "trap.yaml: cannot be read: Is a directory"


def test_a_name_too_long_for_a_file_cannot_be_read() -> None:
    with pytest.raises(UserError, match="x: cannot be read: File name too long"):
        config.load(Path("x" * 5000), "x")


def test_a_usual_file_parses_within_fifty_milliseconds() -> None:
    config.parse(FULL, "trap.yaml")
    best = min(_seconds_to_parse() for _ in range(5))
    assert best < 0.05


def _seconds_to_parse() -> float:
    started = time.process_time()
    config.parse(FULL, "trap.yaml")
    return time.process_time() - started


def test_importing_the_package_does_not_import_jsonschema() -> None:
    code = "import sys, evaluator.config; sys.exit('jsonschema' in sys.modules or 'requests' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["pass_rate", "cost_usd", "a", "../x", "${X}", "git+https://h/o/r@main", "task", "upstream", ""])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """The full example with one to three of its values replaced, removed or renamed."""
    document = yaml.safe_load(FULL)
    for _ in range(draw(st.integers(1, 3))):
        here = document
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(here[key], dict | list) and draw(st.booleans()):
                here = here[key]
                continue
            if draw(st.booleans()):
                here[key] = draw(values)
            else:
                moved = here.pop(key)
                if isinstance(here, dict):
                    here[draw(st.text(max_size=5))] = moved
            break
    return yaml.safe_dump(document, allow_unicode=True)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(mutations())
def test_a_mutated_file_loads_or_is_refused_as_a_user_error(text: str) -> None:
    with contextlib.suppress(UserError):
        assert config.parse(text, "trap.yaml").tasks


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda data: data.decode("latin-1")))
def test_garbage_is_refused_as_a_user_error(text: str) -> None:
    with pytest.raises(UserError):
        config.parse(text, "trap.yaml")
