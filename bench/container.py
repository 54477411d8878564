"""The image's size, and how long it takes to the first request: `python -m bench.container [runs] [image …]`.

The container is started as a GitHub runner starts it, for a task of one case, with a scripted model server on the host.
Start to first request is from the start of the engine's client to the arrival of the first HTTP request at that server;
the first of the runs, with cold caches, is not counted. Several images take turns, so that what else the machine does
meets all of them. `TRAPGATE_ENGINE_ROOT` names a prepared engine, see tests/container/engine.sh. Without an image one
is built from the checkout.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.container import engine as engines
from tests.container.engine import Engine
from tests.container.step import step
from tests.integration.github import agent
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer

ROOT = Path(__file__).parents[1]
IMAGE = "localhost/trapgate:bench"
PYTHON = "/opt/trapgate/bin/python"
SIZES = """
import collections, json, pathlib, sysconfig
site = pathlib.Path(sysconfig.get_path("purelib"))
sizes = collections.Counter()
for file in site.rglob("*"):
    if file.is_file() and not file.is_symlink():
        sizes[file.relative_to(site).parts[0]] += file.stat().st_size
print(json.dumps(sizes))
"""


def one_case_run(engine: Engine, image: str) -> tuple[float, float]:
    """Seconds from the start of a container to the first request, and to its end."""
    with tempfile.TemporaryDirectory() as name, GitHubServer() as github, ModelServer(agent.good) as model:
        runner = ActionsRunner(Path(name), github)
        runner.write(one_case())
        variables = runner.environ("push", {"ref": "refs/heads/main"}) | agent.provider(model)
        prepared = step(runner, variables)
        began = time.monotonic()
        ended = engine.run(image, environ=prepared.environ, mounts=prepared.mounts, workdir=prepared.workdir)
        if not model.requests:
            raise SystemExit(f"no request arrived:\n{ended.stdout}{ended.stderr}")
        return model.requests[0].at - began, time.monotonic() - began


def one_case() -> dict[str, str]:
    """The files of the agent's repository with its first case only."""
    files = agent.files()
    manifest = json.loads(files["evals/tables/traptask.yaml"])
    manifest["cases"] = manifest["cases"][:1]
    kept = manifest["cases"][0]["id"]
    files = {path: text for path, text in files.items() if "/table_" not in path or f"/{kept}/" in path}
    return files | {"evals/tables/traptask.yaml": json.dumps(manifest)}


def command(engine: Engine, image: str, arguments: Sequence[str]) -> float:
    """Seconds of a container that runs one command of the installation."""
    began = time.monotonic()
    ended = engine.run(image, *arguments, entrypoint=PYTHON)
    if ended.returncode:
        raise SystemExit(f"{arguments}: {ended.stdout}{ended.stderr}")
    return time.monotonic() - began


def print_sizes(engine: Engine, image: str) -> None:
    """The image, its layers, and the largest packages."""
    [about] = json.loads(engine.call("image", "inspect", image).stdout)
    print(f"{image}: {about['Size'] / 1e6:.1f} MB unpacked")
    layers = engine.call("history", "--no-trunc", "--format", "{{.Size}}\t{{.CreatedBy}}", image)
    for line in layers.stdout.splitlines():
        size, _, made = line.partition("\t")
        if size.replace(" ", "") != "0B":
            print(f"  {size:>11}  {' '.join(made.split())[:100]}")
    sizes = json.loads(engine.run(image, "-I", "-B", "-c", SIZES, entrypoint=PYTHON).stdout)
    print(f"  site-packages: {sum(sizes.values()) / 1e6:.1f} MB; the largest:")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:10]:
        print(f"  {size / 1e6:8.1f} MB  {name}")


def print_times(label: str, runs: int, images: Sequence[str], measure: Callable[[str], float]) -> None:
    """Least, median and most of `runs` measurements of each image after one that is not counted."""
    seconds: dict[str, list[float]] = {image: [] for image in images}
    for _ in range(runs + 1):
        for image in images:
            seconds[image].append(measure(image))
    for image in images:
        print_line(label, image, seconds[image])


def print_line(label: str, image: str, seconds: Sequence[float]) -> None:
    """Least, median and most of all but the first."""
    counted = seconds[1:]
    figures = f"{min(counted):8.2f} {statistics.median(counted):8.2f} {max(counted):8.2f}"
    print(f"{label:22} {figures}  {image}", flush=True)


def main() -> None:
    """Print sizes, then times."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    try:
        engine = engines.find()
    except engines.NoEngineError as error:
        print(f"not measured: {error}")
        return
    images = sys.argv[2:] or [IMAGE]
    if images == [IMAGE]:
        engine.build(ROOT, IMAGE)
    for image in images:
        print_sizes(engine, image)
    print(f"{'seconds':22} {'least':>8} {'median':>8} {'most':>8}  {runs} runs, {os.cpu_count()} cores")
    isolated = ("-I", "-B")
    commands = {
        "python -c pass": (*isolated, "-c", "pass"),
        "trapgate --version": (*isolated, "-m", "evaluator", "--version"),
        "trapgate canaries": (*isolated, "-m", "evaluator", "canaries"),
    }
    for label, arguments in commands.items():
        print_times(label, runs, images, partial(command, engine, arguments=arguments))
    ends: dict[str, list[float]] = {image: [] for image in images}

    def started(image: str) -> float:
        first, end = one_case_run(engine, image)
        ends[image].append(end)
        return first

    print_times("start to first request", runs, images, started)
    for image, seconds in ends.items():
        print_line("start to end", image, seconds)


if __name__ == "__main__":
    main()
