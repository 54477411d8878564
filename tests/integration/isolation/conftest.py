"""A place to attack from, and things to attack.

Under root the means is an own user, else namespaces. Where neither can be had the attacks are skipped with the reason;
on a build server they fail instead.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.isolation.available import available
from evaluator.isolation.command import Command, Finished, Isolation, Refusal
from evaluator.isolation.folders import scratch

MIB = 1024 * 1024
PYTHON = next(path for path in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable) if Path(path).exists())


class Place:
    """A folder with a program in it, run in one isolation. Every process it starts carries `token` in its arguments."""

    def __init__(self, isolation: Isolation, folder: Path) -> None:
        self.isolation = isolation
        self.code = folder / "code"
        self.output = folder / "output"
        self.code.mkdir(0o755)
        self.output.mkdir(0o755)
        self.token = f"token-{secrets.token_hex(8)}"

    def command(self, program: str, *arguments: object, **bounds: Any) -> Command:
        """The program, written down: its arguments are `sys.argv[2:]`, its folder to write is the current one."""
        path = self.code / f"{secrets.token_hex(4)}.py"
        path.write_text(program, "utf-8")
        path.chmod(0o644)
        settings: dict[str, Any] = {
            "timeout": 20.0,
            "environ": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            **bounds,
        }
        return Command(
            argv=(PYTHON, "-I", "-B", str(path), self.token, *map(str, arguments)),
            cwd=self.output,
            readable=(self.code,),
            writable=(self.output,),
            **settings,
        )

    def run(self, program: str, *arguments: object, **bounds: Any) -> Finished:
        return self.isolation.run(self.command(program, *arguments, **bounds))

    def alive(self) -> list[int]:
        """Processes of this place's programs, as the whole machine sees them."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.token.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def wait_for(self, count: int) -> list[int]:
        """Until that many of its processes are alive."""
        deadline = time.monotonic() + 10
        while len(found := self.alive()) != count:
            assert time.monotonic() < deadline, f"{found} are alive, not {count}"
            time.sleep(0.02)
        return found


@pytest.fixture(scope="session")
def workspace() -> Iterator[Path]:
    """A repository whose git configuration everyone may read, as the runner's checkout leaves it."""
    with scratch() as folder:
        folder.chmod(0o755)
        (folder / ".git").mkdir()
        (folder / ".git" / "config").write_text("[http]\n extraheader = AUTHORIZATION: secret\n", "utf-8")
        yield folder


@pytest.fixture(scope="session")
def isolation(workspace: Path) -> Isolation:
    found = available(os.environ, workspace)
    if isinstance(found, Refusal):
        if os.environ.get("CI") == "true":
            pytest.fail(f"no isolation here: {found}")
        pytest.skip(f"no isolation here: {found}")
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as folder:
        yield folder


@pytest.fixture
def place(isolation: Isolation, folder: Path) -> Place:
    return Place(isolation, folder)


@pytest.fixture
def secretive() -> Iterator[int]:
    """The id of a process of ours with a key in its environment."""
    environ = {"API_KEY": "sk-of-the-evaluation"}
    with subprocess.Popen(["sleep", "60"], env=environ) as process:
        yield process.pid
        process.kill()
