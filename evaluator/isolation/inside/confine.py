"""From the supervisor's child to the command: bounds, user, files, calls, then the program itself."""

from __future__ import annotations

import os
import resource

from evaluator.isolation.inside import kernel
from evaluator.isolation.inside.spec import Spec

TYPE_CHECKING = False  # `typing` takes as long to import as all this
if TYPE_CHECKING:
    from collections.abc import Callable

NOT_FOUND, NOT_STARTED = 127, 126
_OPEN_FILES = 1024


def become(spec: Spec, failures: int) -> None:
    """Turns this process into the command; never returns. What goes wrong is written to the descriptor `failures`."""
    code = NOT_STARTED
    try:
        program = _program(spec)
        _confine(spec)
        # Ours are closed by the exec anyway; bubblewrap passes on whatever it was given.
        os.dup2(failures, 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        failures = 3
        kernel.default_signals()
        if spec.filters:
            kernel.filter_calls(spec.filters)
        program(spec)
    except FileNotFoundError as error:
        code = NOT_FOUND
        _tell(failures, error)
    except (OSError, ValueError) as error:
        _tell(failures, error)
    finally:
        os._exit(code)


def _program(spec: Spec) -> Callable[[Spec], None]:
    """What to run once confined, when no module can be read any more."""
    if spec.probe is None:
        return _execute
    from evaluator.isolation.inside import probe

    return probe.run


def _confine(spec: Spec) -> None:
    os.setsid()
    os.umask(0o022)
    kernel.hide_from_equals(False)  # the supervisor is; the next line needs it undone
    with open("/proc/self/oom_score_adj", "wb") as file:  # noqa: PTH123
        file.write(b"1000")
    _bound(spec)
    if spec.user:
        os.setgroups([])
        os.setresgid(spec.user, spec.user, spec.user)
        os.setresuid(spec.user, spec.user, spec.user)
    kernel.die_with_parent()
    kernel.give_up_privileges()
    _check_access(spec)
    if spec.rules is not None:
        kernel.confine_files(spec.rules)
    os.chdir(spec.cwd)


def _bound(spec: Spec) -> None:
    # RLIMIT_DATA and not RLIMIT_AS: it counts private memory that can be written, so engines that only reserve
    # addresses (V8, Go, Java) still start. Shared memory is left to the supervisor's watch.
    bounds = {
        resource.RLIMIT_DATA: spec.memory_bytes,
        resource.RLIMIT_FSIZE: spec.disk_bytes,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_CPU: int(spec.timeout * (os.cpu_count() or 1)) + 1,
    }
    if spec.limit_processes:
        bounds[resource.RLIMIT_NPROC] = spec.processes
    for kind, bound in bounds.items():
        hard = resource.getrlimit(kind)[1]
        value = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (value, value))


def _check_access(spec: Spec) -> None:
    for path in [spec.cwd, *spec.readable, *spec.writable]:
        if not os.access(path, os.F_OK):
            raise OSError(f"{path}: does not exist for the user that the command runs as, or lies in a closed folder")
        if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):  # noqa: PTH112
            raise OSError(f"{path}: may not be read by the user that the command runs as")


def _execute(spec: Spec) -> None:
    name = spec.argv[0]
    if "/" in name:
        os.execve(name, spec.argv, spec.environ)  # noqa: S606
    refused: OSError | None = None
    for folder in spec.environ.get("PATH", os.defpath).split(":"):
        try:
            os.execve(f"{folder or '.'}/{name}", spec.argv, spec.environ)  # noqa: S606
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refused = refused or error
    raise refused or FileNotFoundError(2, "not found in the PATH of the command", name)


def _tell(failures: int, error: Exception) -> None:
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    os.write(failures, text.encode("utf-8", "replace")[:4000])
