"""The action's process: the one place that exits.

Run as `python -I`, so that nothing of the user's repository or environment can stand in for our modules.
"""

import contextlib
import gc
import os
import sys


def main() -> int:
    """The exit code. Even an installation that cannot be imported must not end with 1, which says "regression"."""
    try:
        from evaluator.github.action import run

        code = run(os.environ, sys.stdout)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before the evaluation began to listen to signals, or after it ended
        return 130
    except (Exception, SystemExit) as error:
        # Not the message, which may quote anything; a missing module's name is our own.
        name = f" ({error.name})" if isinstance(error, ImportError) else ""
        with contextlib.suppress(OSError):
            print(f"::error title=trapgate%3A internal error::{type(error).__name__}{name}", flush=True)
        return 70
    return code


if __name__ == "__main__":
    # Modules and cases live until the end; to look through them again and again takes time and finds nothing.
    gc.set_threshold(100_000)
    code = main()
    # Everything is published. To take thousands of modules apart needs seconds, in which a cancelled job is killed.
    os._exit(code)
