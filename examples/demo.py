"""The main job on a real, small model and without a key: a pull request that makes it worse is caught.

    python examples/demo.py

In a temporary copy of examples/function-calls, as a git repository of its own:

1. the base is evaluated, its answers constrained by each function's JSON Schema, and accepted as the baseline;
2. a "pull request" asks by the prompt alone (`structured: prompt`), with the same prompts, and is evaluated;
3. the comment that the pull request would get is printed, its HTML page is written, and one case is shown.

Exit code 0 when the base passes and the pull request is called a regression, else 1. Every step is the command line
that a user has.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from local_model import MODEL, LocalModel, ModelUnavailableError

EXAMPLES = Path(__file__).resolve().parent
REPOSITORY = EXAMPLES / "function-calls"
BASE, CHANGED = "structured: schema", "structured: prompt"
PASS, REGRESSION = 0, 1


class DemoError(Exception):
    """A step ended otherwise than the story says; the text says how."""


class Repository:
    """A copy of `source` in `folder`, as a git repository, evaluated with the model at `base_url`."""

    def __init__(self, source: Path, folder: Path, base_url: str) -> None:
        self.folder = folder
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environ = inherited | {
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": "not-needed",  # the client wants one, the local model does not
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(EXAMPLES.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("trapgate-results", ".trap"))
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("A shop's back office functions")

    def git(self, *arguments: str) -> None:
        """Runs git in the repository. Raises DemoError."""
        identity = ["-c", "user.name=demo", "-c", "user.email=demo@localhost"]
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.folder, env=self._environ, capture_output=True, text=True
        )
        if done.returncode:
            raise DemoError(f"git {shlex.join(arguments)}: {done.stderr.strip()}")

    def commit(self, message: str) -> None:
        """Commits everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def trapgate(self, *arguments: str, wanted: int) -> None:
        """Runs the command with its output shown. Raises DemoError for another exit code than `wanted`."""
        print(f"\n$ trapgate {shlex.join(arguments)}", flush=True)
        started = time.monotonic()
        code = subprocess.run(
            [sys.executable, "-m", "evaluator", *arguments], cwd=self.folder, env=self._environ
        ).returncode
        print(f"exit code {code} after {time.monotonic() - started:.0f} s", flush=True)
        if code != wanted:
            raise DemoError(f"`trapgate {shlex.join(arguments)}` ended with exit code {code}, {wanted} was expected")

    def edit(self, name: str, old: str, new: str) -> None:
        """Replaces the one occurrence of `old` in a file. Raises DemoError where there is not exactly one."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise DemoError(f"{name} does not say {old!r} exactly once")
        path.write_text(text.replace(old, new), encoding="utf-8")


def tell(repository: Repository, output: Path) -> None:
    """The whole story; results go to `output`/base and `output`/pull-request. Raises DemoError."""
    say(f"1. The base: {MODEL}, answers constrained by each function's schema")
    base = output / "base"
    repository.trapgate("run", "--output", str(base), wanted=PASS)
    why = "first baseline of the demo"
    repository.trapgate("baseline", "accept", "--results", str(base / "results.json"), "--why", why, wanted=PASS)
    repository.commit("Accept the baseline")

    say(f"2. The pull request: `{BASE}` becomes `{CHANGED}`, the prompts stay")
    changed = output / "pull-request"
    repository.git("switch", "--quiet", "--create", "ask-by-prompt")
    repository.edit("trap.yaml", BASE, CHANGED)
    repository.commit("Ask by the prompt alone")
    repository.trapgate("run", "--output", str(changed), wanted=REGRESSION)

    say("3. The comment on the pull request")
    print((changed / "comment.md").read_text(encoding="utf-8"))
    say("4. One of the regressed cases: what the model answered")
    show_answers(base / "results.json", changed / "results.json")
    say("The pull request was called a regression, as it should be.")
    print(f"The same as a page: {(changed / 'report.html').as_uri()}")


def show_answers(base: Path, changed: Path) -> None:
    """Prints the answers of both runs to the first regressed case."""
    before, now = (json.loads(path.read_text(encoding="utf-8")) for path in (base, changed))
    case_id = now["comparison"]["tasks"][0]["regressed"][0]["id"]
    for name, run in (("base", before), ("pull request", now)):
        case = next(case for case in run["tasks"][0]["cases"] if case["id"] == case_id)
        answer = case["attempts"][0]["transcript"]["text"]
        print(f"{case_id}, {name}:\n{textwrap.indent(answer, '    ')}")


def say(text: str) -> None:
    """A heading."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def main() -> int:
    """Runs the demo; the exit code."""
    parser = argparse.ArgumentParser(description="A pull request that makes a real, small model worse is caught.")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("trapgate-results") / "demo",
        help="folder of results (default: %(default)s)",
    )
    output: Path = parser.parse_args().output.resolve()
    for name in ("base", "pull-request"):
        shutil.rmtree(output / name, ignore_errors=True)  # a journal there would spare the model its work
    started = time.monotonic()
    try:
        with LocalModel() as model, tempfile.TemporaryDirectory(prefix="trapgate-demo-") as folder:
            tell(Repository(REPOSITORY, Path(folder) / "function-calls", model.base_url), output)
    except (DemoError, ModelUnavailableError) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    print(f"{time.monotonic() - started:.0f} s in all.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
