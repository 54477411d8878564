"""Reading files of a task: never outside its directory, never without a bound, every fault a Problem with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from evaluator.cases import SourceRef
from evaluator.errors import Problem

MAX_BYTES = 8 * 1024 * 1024


def shown_as(source: SourceRef) -> str:
    """How a source's folder is named in messages."""
    return (source.location if source.commit is None else source.subdirectory or source.location).rstrip("/")


@dataclass
class TaskFolder:
    """A task's directory, the name it has in messages, and the problems found in it so far."""

    directory: Path
    shown_as: str
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._root = self.directory.resolve()

    def show(self, path: Path) -> str:
        """`path` as a reader knows it."""
        return f"{self.shown_as}/{path.relative_to(self.directory).as_posix()}"

    def report(self, path: Path, message: str, mend: str = "", line: int = 0, column: int = 0) -> None:
        """Note a problem of the file at `path`."""
        self.problems.append(Problem(self.show(path), line, column, message, mend))

    def inside(self, path: Path) -> bool:
        """Whether `path`, with every link followed, stays in the directory; reported where it does not."""
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError):  # a link that leads to itself
            self.report(path, "a link that leads nowhere")
            return False
        if resolved.is_relative_to(self._root):
            return True
        self.report(path, "leads out of the task's directory", "Replace the link or `..` by the file itself.")
        return False

    def names(self, path: Path) -> list[Path]:
        """What a folder holds, by name, hidden entries and what leads outside left out (the latter reported)."""
        entries = sorted(path.iterdir(), key=lambda entry: entry.name)
        return [entry for entry in entries if not entry.name.startswith(".") and self.inside(entry)]

    def read(self, path: Path) -> str | None:
        """The text of a UTF-8 file as it is, line ends kept; None, and reported, where there is none to be had."""
        if not self.inside(path):
            return None
        if not path.is_file():
            self.report(path, "not a regular file")
            return None
        try:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            self.report(path, f"cannot be read: {error.strerror}")
            return None
        if len(data) > MAX_BYTES:
            self.report(path, f"larger than {MAX_BYTES // 1024 // 1024} MiB, the most that is read")
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.report(path, "not UTF-8 text", "Only text can be given to a model.", line, 1)
            return None
