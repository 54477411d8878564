"""An edit of a prompt that reads harmless and pays too much: what the gate says. No model, no key, a few seconds.

    python examples/refund-agent/show.py

In a temporary copy of this folder, as a git repository of its own:

1. what was recorded with the good prompt is scored and accepted as the baseline;
2. a "pull request" shortens the prompt (prompts/system-worse.md becomes prompts/system.md);
3. the recordings of the good prompt are stale now: they cannot answer for another one;
4. what was recorded with the worse prompt is scored; the comment is printed, and the exit code 1 blocks the merge.

Exit code 0 when each step ends as it should, else 1.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent
PASS, REGRESSION, INCONCLUSIVE = 0, 1, 3
SCORE = ("score", "./evals/refunds", "--config", "trap.yaml", "--outputs")


class StoryError(Exception):
    """A step ended otherwise than the story says; the text says how."""


def tell(folder: Path) -> None:
    """The whole story in `folder`, which it creates. Raises StoryError."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("trapgate-results", ".trap", "__pycache__"))
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _commit(folder, "A refund agent")

    print("1. The good prompt")
    _trapgate(folder, *SCORE, "recordings/good.jsonl", wanted=PASS)
    _trapgate(folder, "baseline", "accept", "--why", "first baseline", wanted=PASS)
    _commit(folder, "Accept the baseline")

    print("\n2. The pull request")
    _git(folder, "switch", "--quiet", "--create", "shorter-prompt")
    shutil.copy(folder / "prompts" / "system-worse.md", folder / "prompts" / "system.md")
    print(_git(folder, "diff", "--unified=0", "--no-color"), end="")
    _commit(folder, "Shorten the prompt")

    print("\n3. What was recorded before the change cannot answer for it")
    _trapgate(folder, *SCORE, "recordings/good.jsonl", wanted=INCONCLUSIVE)

    print("\n4. What was recorded with it")
    _trapgate(folder, *SCORE, "recordings/worse.jsonl", wanted=REGRESSION)
    print("\nThe comment on the pull request:\n")
    print((folder / "trapgate-results" / "comment.md").read_text(encoding="utf-8"))
    print(f"Exit code {REGRESSION}: the merge is blocked.")


def _trapgate(folder: Path, *arguments: str, wanted: int) -> None:
    """Runs the command with its output shown. Raises StoryError for another exit code than `wanted`."""
    print(f"$ trapgate {shlex.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "evaluator", *arguments]
    code = subprocess.run(command, cwd=folder, env=_environ(folder)).returncode
    if code != wanted:
        raise StoryError(f"`trapgate {shlex.join(arguments)}` ended with exit code {code}, {wanted} was expected")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=show", "-c", "user.email=show@localhost", *arguments]
    done = subprocess.run(command, cwd=folder, env=_environ(folder), capture_output=True, text=True)
    if done.returncode:
        raise StoryError(f"git {shlex.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _commit(folder: Path, message: str) -> None:
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", message)


def _environ(folder: Path) -> dict[str, str]:
    """Without what the user's own git and cache would add."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return inherited | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(EXAMPLE.parents[1]),
        "XDG_CACHE_HOME": str(folder.parent / "cache"),
    }


def main() -> int:
    """Tells the story; the exit code."""
    try:
        with tempfile.TemporaryDirectory(prefix="trapgate-show-") as folder:
            tell(Path(folder) / "refund-agent")
    except StoryError as error:
        print(f"\nshow: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
