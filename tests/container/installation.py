"""Run inside the image by test_installation.py: `installation.py REQUIREMENTS`. Prints as JSON what is wrong there."""

import asyncio
import contextlib
import importlib
import importlib.metadata
import io
import json
import logging
import os
import sys
import sysconfig
import warnings
from pathlib import Path

SITE = Path(sysconfig.get_path("purelib"))
# Its server, of which the client imports a few modules, which are seen when it is asked; and what needs `a2a-sdk`,
# which is not locked and for want of which it fails in more ways than one.
NOT_WALKED = ("litellm.proxy.", "litellm.a2a_protocol.", "litellm.llms.langflow.a2a.")


def locked(file):
    """Name → version of every requirement that holds on this machine."""
    from packaging.requirements import Requirement

    lines = [line.rstrip("\\ \n") for line in file.read_text().splitlines()]
    found = [Requirement(line) for line in lines if line and not line.startswith((" ", "#"))]
    return {
        each.name: next(iter(each.specifier)).version for each in found if not each.marker or each.marker.evaluate()
    }


def not_installed(requirements):
    """Distributions of the lock that are missing or of another version."""
    wrong = []
    for name, version in requirements.items():
        try:
            has = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            has = None
        if has != version:
            wrong.append(f"{name} {version}: {has}")
    return wrong


def not_importable(modules):
    """Modules that cannot be imported, and why. What asks for a distribution that nobody locked is left out."""
    wrong = []
    for module in modules:
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                importlib.import_module(module)
        except Exception as error:
            if not _for_want_of_what_nobody_locked(error):
                wrong.append(f"{module}: {type(error).__name__}: {error}")
    return wrong


def _for_want_of_what_nobody_locked(error):
    causes = [error, error.__cause__, error.__context__]
    missing = [each.name or "" for each in causes if isinstance(each, ModuleNotFoundError)]
    return bool(missing) and not any((SITE / name.partition(".")[0]).exists() for name in missing)


def top_level():
    """The importable names of all distributions."""
    names = importlib.metadata.packages_distributions()
    return sorted(name for name in names if name.isidentifier() and not name.endswith("__mypyc"))


def client_modules():
    """All modules of litellm but those of its server."""
    files = [file.relative_to(SITE).with_suffix("") for file in (SITE / "litellm").rglob("*.py")]
    names = [".".join(file.parts).removesuffix(".__init__") for file in files]
    return sorted(name for name in names if not f"{name}.".startswith(NOT_WALKED))


def ask():
    """One completion by litellm, from a server that is not there."""
    import litellm
    import openai

    question = [{"role": "user", "content": "x"}]
    try:
        asyncio.run(
            litellm.acompletion("openai/x", question, api_key="x", base_url="http://127.0.0.1:9", num_retries=0)
        )
    except openai.APIError:
        return
    raise SystemExit("a server that is not there answered")


def compiled_now():
    """Modules that were imported without stored bytecode."""
    found = []
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        file = Path(getattr(spec, "origin", None) or "")
        if spec is not None and SITE in file.parents and spec.cached and not Path(spec.cached).exists():
            found.append(name)
    return found


def main():
    """Everything that is wrong, by kind."""
    logging.disable()
    warnings.simplefilter("ignore")
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    with contextlib.redirect_stdout(io.StringIO()):
        ask()
        compiled = compiled_now()
    requirements, client = locked(Path(sys.argv[1])), client_modules()
    report = {
        "requirements": len(requirements),
        "client modules": len(client),
        "compiled during a run": compiled,
        "not installed": not_installed(requirements),
        "top level not importable": not_importable(top_level()),
        "client not importable": not_importable(client),
        "pip": importlib.util.find_spec("pip") is not None,
        "left": sorted(str(path.relative_to(SITE)) for path in SITE.rglob("tests") if path.is_dir()),
        "unchecked": unchecked(),
    }
    print(json.dumps(report))
    sys.stdout.flush()
    os._exit(0)


def unchecked():
    """Whether our own bytecode is complete and never compared with its source (PEP 552, flags 0b01)."""
    import evaluator

    sources = list(Path(evaluator.__file__).parent.rglob("*.py"))
    headers = {Path(importlib.util.cache_from_source(str(file))).read_bytes()[4:8] for file in sources}
    return headers == {(1).to_bytes(4, "little")}


if __name__ == "__main__":
    main()
