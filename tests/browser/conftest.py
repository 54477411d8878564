from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.reader import Reader

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Another process may be installing.
_APT = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]


class NoBrowserError(Exception):
    """Why no browser can be started here."""


def find() -> str:
    """Path of a Chromium, which root on a Debian system is given where it has none. Raises NoBrowserError."""
    for installed in (False, True):
        path = next((path for name in _NAMES if (path := shutil.which(name))), None)
        if path is not None:
            return path
        if installed or os.geteuid() != 0 or shutil.which("apt-get") is None:
            break
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            made = subprocess.run([*_APT, *command], env=environ, capture_output=True, text=True, check=False)
            if made.returncode:
                raise NoBrowserError(f"apt-get {command[0]} failed: {made.stderr.strip()[-500:]}")
    raise NoBrowserError(f"none of {', '.join(_NAMES)} is installed, and only root on Debian can install one")


# Not for the session: while it runs, playwright's event loop is that of the thread, and no other test can have one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium. Without one the tests say so, and on a build server that is a failure."""
    try:
        path = find()
    except NoBrowserError as error:
        reason = f"THE PAGE IS NOT TESTED: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    # No sandbox: root has none, and the only page is our own.
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Iterator[Reader]:
    """Somebody who opens the file of a report. What the page must never do is looked at when the test is over."""
    reading = Reader(browser, tmp_path / "report.html")
    yield reading
    reading.close()
