"""The same pipeline from a terminal: arguments in, exit code out.

Answers go to standard output, progress and errors to standard error. Exit codes: 0 pass, 1 regression, 2 bad
configuration or input, 3 inconclusive, 4 drift, 70 a bug of trapgate.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from evaluator import __version__, printed
from evaluator.errors import EXIT_CONFIGURATION, EXIT_INTERNAL, UserError
from evaluator.transcript import well_formed

_EXAMPLES = {
    "trapgate": """\
examples:
  trapgate init                          write a trap.yaml, a first task and a workflow
  trapgate run                           evaluate what ./trap.yaml says and compare with the baseline
  trapgate baseline accept --why "first" make the last run the baseline
  trapgate canaries                      check the validators; needs no model and no key

exit codes: 0 pass, 1 regression, 2 bad configuration or input, 3 inconclusive, 4 drift
""",
    "run": """\
examples:
  trapgate run
  trapgate run --task refunds --model openai/gpt-4.1-mini
  trapgate run --config evals/trap.yaml --output /tmp/results

writes results.json, comment.md, report.html and junit.xml into the output folder
""",
    "score": """\
examples:
  trapgate score ./evals/refunds --outputs answers.jsonl
  trapgate score git+https://github.com/owner/repo@<commit>#subdirectory=tasks/t --outputs answers.jsonl

a line of answers.jsonl: {"case_id": "a", "attempt": 1, "text": "…", "tool_calls": […], "stop_reason": "stop"}
without --config only coverage and canaries are judged; with it, the gate and baseline of that file
""",
    "record": """\
examples:
  trapgate record --task refunds                       run it live, write the recordings into its fixtures
  trapgate record --task refunds --output recorded/    the same into another folder
  trapgate record --import chat-log.jsonl --output evals/refunds    drafts of fixtures from a log; edit what is expected
""",
    "closure": """\
examples:
  trapgate build closure --from calls.jsonl --output evals/closure
  trapgate build closure --from values.json --output evals/closure --tasks 50 --seed 7

an item of the file is any JSON value, or a call {"name": "f", "arguments": {…}}
""",
    "compare": """\
examples:
  trapgate compare .trap/baseline.json trapgate-results/results.json
  trapgate compare old/results.json new/results.json --config trap.yaml
""",
    "accept": """\
examples:
  trapgate baseline accept --why "gpt-4.1-mini, prompt 3"
  trapgate baseline accept --results nightly/results.json --why "nightly of 3 May"
""",
    "move": """\
example:
  trapgate baseline move    # on the default branch, after trapgate run: nobody accepts, the run must have passed

exit codes: 0 moved, 3 not moved, and why
""",
    "history": """\
examples:
  trapgate baseline history
  trapgate baseline history --branch release/2 --json
""",
    "publish": """\
example:
  trapgate publish --artifact "trapgate-results*"    # in a step on workflow_run; GITHUB_TOKEN is the job's token

exit codes: 0 published or nothing to publish, 2 wrong event or missing permission, 3 GitHub is down or takes no comment
""",
    "pin": """\
example:
  trapgate pin trap.yaml    # …@main becomes …@<the commit that main is now>; comments and order stay
""",
}


def console() -> None:
    """The `trapgate` command."""
    # Tens of thousands of cases live until the end; to look through them again and again takes a quarter of the time.
    gc.set_threshold(100_000)
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Runs one command; returns the exit code. Bad input is a message on standard error, a bug a short one too.

    What is printed holds no secret of the environment and no command of a workflow's runner, whoever wrote it.
    """
    _never_fail_on_text(sys.stdout, sys.stderr)
    with printed.cleaned(os.environ):
        return _main(arguments)


def _main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args([well_formed(argument) for argument in arguments])
    try:
        command: Callable[[argparse.Namespace], int] = options.command
        code = command(options)
        sys.stdout.flush()  # a report that did not get out was no verdict
    except UserError as error:
        print(f"{error}\n({error.code})", file=sys.stderr)
        return EXIT_CONFIGURATION
    except OSError as error:
        # `trapgate … | head`, a full disk: nothing more can be written, not even when Python ends.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _report_bug(error)
        return EXIT_INTERNAL
    except Exception as error:  # Python's own exit code would say "regression"
        _report_bug(error)
        return EXIT_INTERNAL
    return code


def _never_fail_on_text(*streams: TextIO) -> None:
    """A verdict must not be lost because a terminal cannot show a letter."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report_bug(error: Exception) -> None:
    """Says what broke and where, without the message, which may quote a key or a model."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    with contextlib.suppress(OSError):
        print(f"internal error: {type(error).__name__}{place}; there is no verdict", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = _described(argparse.ArgumentParser(prog="trapgate"), "trapgate")
    parser.description = "Tells whether a change made your LLM agent worse, and which layer moved."
    parser.add_argument("--version", action="version", version=f"trapgate {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    run = _command(commands, "run", "evaluate, compare with the baseline, judge", commands_module("run"))
    _config_option(run)
    run.add_argument("--task", action="append", metavar="T", help="only this task; may be given several times")
    run.add_argument("--cache", action="store_true", help="do not pay again for requests that were answered before")
    run.add_argument(
        "--skip-unchanged",
        action="store_true",
        help="ask nothing where nothing that matters differs from the baseline; its answers are judged again",
    )
    run.add_argument("--model", metavar="M", help="another model than trap.yaml's, e.g. openai/gpt-4.1-mini")
    _unsafe_option(run)
    _output_option(run)
    _json_option(run)

    score = _command(commands, "score", "score outputs that somebody else produced", commands_module("score"))
    score.add_argument("source", metavar="SOURCE", help="folder or pinned git source of the task")
    score.add_argument("--outputs", metavar="FILE", type=Path, help="JSON Lines, one output a line")
    score.add_argument("--format", metavar="F", help="format of the task; detected when left out")
    score.add_argument("--task", metavar="T", help="which task of trap.yaml, where several have this source")
    score.add_argument("--config", metavar="FILE", type=Path, help="take gate and baseline from this trap.yaml")
    _unsafe_option(score)
    _output_option(score)
    _json_option(score)

    record = _command(
        commands, "record", "write what a model does, or did by a log, into fixtures", commands_module("record")
    )
    _config_option(record)
    record.add_argument("--task", metavar="T", help="which task of trap.yaml, where it has several")
    record.add_argument("--model", metavar="M", help="another model than trap.yaml's")
    record.add_argument(
        "--import", metavar="LOG", type=Path, dest="log", help="make drafts of a log of OpenAI or Anthropic messages"
    )
    record.add_argument("--output", metavar="DIR", type=Path, help="folder of the fixtures; in place when left out")

    canaries = _command(commands, "canaries", "re-score the canaries; no model is called", commands_module("canaries"))
    canaries.add_argument("--config", metavar="FILE", type=Path, help="also the canaries that this trap.yaml adds")
    _json_option(canaries)

    compare = _command(commands, "compare", "compare two results and judge the second", commands_module("compare"))
    compare.add_argument("baseline", metavar="BASELINE", type=Path, help="a baseline or a results.json")
    compare.add_argument("results", metavar="RESULTS", type=Path, help="a results.json")
    compare.add_argument("--config", metavar="FILE", type=Path, help="judge by the gate of this trap.yaml")
    _unsafe_option(compare)
    _json_option(compare)

    baseline = commands.add_parser("baseline", help="accept, move, show or list the stored baselines")
    _baseline_actions(baseline.add_subparsers(title="actions", metavar="ACTION", required=True))

    pin = _command(commands, "pin", "turn branches and tags of sources into commits, in place", commands_module("pin"))
    pin.add_argument("file", metavar="FILE", type=Path, nargs="?", default=Path("trap.yaml"))
    _json_option(pin)

    validate = _command(
        commands, "validate", "check trap.yaml, its files, sources and tasks", commands_module("validate")
    )
    _config_option(validate)
    _unsafe_option(validate)
    _json_option(validate)

    publish = _command(
        commands,
        "publish",
        "comment what the run of a fork reported, in a workflow on workflow_run",
        commands_module("publish", "evaluator.github.publish_command"),
    )
    publish.add_argument(
        "--artifact", metavar="NAME", help="default: trapgate-results; a trailing * matches any suffix"
    )

    build = commands.add_parser("build", help="make a task of data of one's own")
    kinds = build.add_subparsers(title="kinds", metavar="KIND", required=True)
    closure = _command(
        kinds, "closure", "cut JSON values and calls into structures to continue", commands_module("build_closure")
    )
    closure.add_argument("--from", metavar="FILE", type=Path, dest="source", required=True, help="JSON or JSON Lines")
    closure.add_argument("--output", metavar="DIR", type=Path, required=True, help="folder of the task, new or empty")
    closure.add_argument("--seed", metavar="N", type=int, default=42, help="decides where texts are cut (42)")
    closure.add_argument("--tasks", metavar="N", type=int, help="how many items to take; all when left out")

    init = _command(commands, "init", "write a trap.yaml, a first task and a workflow", commands_module("init"))
    init.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=Path())
    return parser


def _baseline_actions(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    def action(name: str, summary: str) -> argparse.ArgumentParser:
        parser = _command(actions, name, summary, commands_module(name, "evaluator.baseline_commands"))
        _config_option(parser)
        parser.add_argument("--branch", metavar="B", help="of the code, with `store: branch`; the one checked out")
        return parser

    accept = action("accept", "make a run the baseline")
    accept.add_argument("--why", metavar="TEXT", help="why this run is the baseline now")
    move = action("move", "make a run the baseline that passed with full coverage; nobody accepts it")
    for parser in (accept, move):
        parser.add_argument("--results", metavar="FILE", type=Path, help="the run (trapgate-results/results.json)")
    for parser in (action("show", "say what the baseline holds"), action("history", "list what was the baseline")):
        _json_option(parser)


def commands_module(name: str, module: str = "evaluator.commands") -> Callable[[argparse.Namespace], int]:
    """The function `name` of `module`, imported when it is called, so that --help needs no other module."""

    def command(options: argparse.Namespace) -> int:
        function: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), name)
        return function(options)

    return command


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    function: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    parser = _described(commands.add_parser(name, help=summary), name)
    parser.description = summary[0].upper() + summary[1:] + "."
    parser.set_defaults(command=function)
    return parser


def _described(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EXAMPLES.get(name)
    return parser


def _config_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", type=Path, default=Path("trap.yaml"), help="default: trap.yaml")


def _unsafe_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--unsafe-judges",
        action="store_true",
        help="run tasks' own judges where nothing isolates them from keys and files",
    )


def _output_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", metavar="DIR", type=Path, default=Path("trapgate-results"), help="default: trapgate-results"
    )


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for a machine to read")
