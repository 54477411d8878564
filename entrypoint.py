"""The action's process: the one place that exits.

Run as `python -I`, so that nothing of the user's repository or environment can stand in for our modules.
"""

import os
import sys


def main() -> int:
    """The exit code. Even an installation that cannot be imported must not end with 1, which says "regression"."""
    try:
        from evaluator.github.action import run

        return run(os.environ, sys.stdout)
    except (Exception, SystemExit) as error:
        # Not the message, which may quote anything; a missing module's name is our own.
        name = f" ({error.name})" if isinstance(error, ImportError) else ""
        print(f"::error title=trapgate%3A internal error::{type(error).__name__}{name}", flush=True)
        return 70


if __name__ == "__main__":
    sys.exit(main())
