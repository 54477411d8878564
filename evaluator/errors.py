"""What a user can mend: every expected failure carries a code, the place, what is wrong and what to do.

Only these are raised on purpose; anything else that escapes is a bug and ends the process with `EXIT_INTERNAL`.
"""

from __future__ import annotations

from dataclasses import dataclass

EXIT_PASS = 0
EXIT_REGRESSION = 1
EXIT_CONFIGURATION = 2
EXIT_INCONCLUSIVE = 3
EXIT_DRIFT = 4
EXIT_INTERNAL = 70  # sysexits EX_SOFTWARE: Python's own default of 1 would read as a regression


@dataclass(frozen=True, order=True)
class Problem:
    """One fault in something the user wrote.

    `file` is shown as the user named it; `line` and `column` count from 1 and are 0 where the fault has no position.
    `mend` is one sentence that says what to do, empty where the message already does.
    """

    file: str
    line: int
    column: int
    message: str
    mend: str = ""

    def __str__(self) -> str:
        place = self.file + (f":{self.line}:{self.column}" if self.line else "")
        head = f"{place}: {self.message}" if place else self.message
        return f"{head}\n    {self.mend}" if self.mend else head


class UserError(Exception):
    """Bad input: a stable `code` (kebab-case, documented in docs/errors.md) and every problem found.

    The process ends with exit code 2 and prints `str(error)`, never a traceback.
    """

    def __init__(self, code: str, *problems: Problem) -> None:
        if not problems:
            raise ValueError("a UserError names at least one problem")
        self.code = code
        self.problems = tuple(sorted(problems))
        super().__init__(str(self))

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def user_error(code: str, message: str, *, where: str = "", mend: str = "") -> UserError:
    """A `UserError` with a single problem that has no line, e.g. for a command-line argument or a source string."""
    return UserError(code, Problem(where, 0, 0, message, mend))
