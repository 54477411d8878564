"""The attacks of tests/integration/isolation where the action meets them: as root in its image, under an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.container.engine import Engine

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.container


def test_foreign_code_is_held_in_the_image(engine: Engine, image: str) -> None:
    packages = Path(pytest.__file__).parents[1]
    finished = engine.run(
        image,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/isolation", "tests/integration/isolation"),
        environ={
            "CI": "true",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": "/source:/packages",
        },
        mounts={ROOT: "/source", packages: "/packages"},
        workdir="/source",
        entrypoint="/opt/trapgate/bin/python",
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    # The one test that needs another user than root.
    assert "1 skipped" in finished.stdout
