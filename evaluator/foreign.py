"""Commands of others: the isolation they run in, the copy of a folder they run on, and what they find around them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.cases import Program
from evaluator.errors import user_error
from evaluator.isolation.available import available
from evaluator.isolation.command import Command, Finished, Isolation, Refusal
from evaluator.isolation.folders import copy, remove, scratch
from evaluator.isolation.unsafe import Unsafe

Stop = Callable[[], bool]


def isolation(
    environ: Mapping[str, str], workspace: Path, *, unsafe: bool, what: str, where: str
) -> tuple[Isolation, str]:
    """The isolation in which `what` may run, and a first line for the report where there is none but it was asked for.

    `environ` names the runner's files, `workspace` lies in the repository under test: no command may see either.
    Raises UserError `judge-refused` where nothing isolates it, unless `unsafe`.
    """
    found = available(environ, _repository(workspace))
    if not isinstance(found, Refusal):
        return found, ""
    if unsafe:
        note = f"--unsafe-judges: {what} ran without isolation ({found}). "
        note += "They could read every key and file of this run, and change its verdict."
        return Unsafe(), note
    raise user_error(
        "judge-refused",
        f"{what} cannot run, because nothing here keeps them from your keys and files: {found}",
        where=where,
        mend="docs/security.md says what is needed. --unsafe-judges runs them anyway, with access to all of that.",
    )


def _repository(folder: Path) -> Path:
    """The repository that `folder` lies in."""
    folder = folder.resolve()
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def set_up(place: Path, setup: Program, means: Isolation, stop: Stop, where: str) -> None:
    """Runs a set-up command in `place`, which it may change. Raises UserError `judge-setup` where it fails, OSError
    where what it wrote cannot be read."""
    with scratch() as work:
        finished = run(setup, place, work, means, stop, {}, writes_folder=True, network=True)
    if finished.exit_code or finished.error or finished.limit:
        said = finished.error or finished.stderr.decode("utf-8", "replace").strip()[-500:]
        raise user_error(
            "judge-setup",
            f"setup_cmd `{setup}` failed with exit code {finished.exit_code}: {said}",
            where=where,
            mend="It runs without a shell in a copy of the folder, with none of your environment.",
        )
    written = place.with_name(f"{place.name}.written")
    place.rename(written)  # what it wrote may be closed to the next command, which is another user
    copy(written, place)
    remove(written)


def run(
    program: Program,
    folder: Path,
    work: Path,
    means: Isolation,
    stop: Stop,
    variables: Mapping[str, str],
    *,
    stdin: Path | None = None,
    writes_folder: bool = False,
    network: bool = False,
) -> Finished:
    """Runs a command in `folder`, with `work` as its own folder for what it writes.

    `writes_folder`: it may change `folder` too. Its environment is `variables` and where to find programs and room.
    """
    room = work / "tmp"
    room.mkdir()
    for path in (work, *work.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return means.run(
        Command(
            argv=tuple(program.cmd),
            cwd=folder,
            environ={**_environ(room), **variables},
            stdin=stdin,
            readable=() if writes_folder else (folder,),
            writable=(work, folder) if writes_folder else (work,),
            timeout=program.timeout,
            network=network,
        ),
        stop,
    )


def _environ(room: Path) -> dict[str, str]:
    return {
        # A command that says `python` gets the one that runs this, as it would under tp.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": str(room),
        "TMPDIR": str(room),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
