from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.container import engine as engines
from tests.container.engine import Engine

ROOT = Path(__file__).parents[2]
IMAGE = "localhost/trapgate:test"


@pytest.fixture(scope="session")
def engine() -> Engine:
    """A container engine. Without one the tests say so, and on a build server that is a failure."""
    try:
        return engines.find()
    except engines.NoEngineError as error:
        reason = f"THE IMAGE IS NOT TESTED: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def image(engine: Engine) -> str:
    """The image, built from the checkout as a runner builds it, or the one that TRAPGATE_IMAGE names."""
    if given := os.environ.get("TRAPGATE_IMAGE"):
        return given
    engine.build(ROOT, IMAGE)
    return IMAGE
