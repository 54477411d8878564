"""The leaderboard's own checker and data, from the package `bfcl-eval`, which is installed without its dependencies.

The checker looks up one flag of a model in a table that imports every vendor's client; a table of one model stands in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

MODEL = "reference"
TABLE = "bfcl_eval.constants.model_config"


def data() -> Path:
    """The folder with the files of the leaderboard."""
    found = find_spec("bfcl_eval")
    assert found is not None, "bfcl-eval is not installed: see requirements-nodeps.lock"
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0]) / "data"


def checker() -> Callable[[list[Any], list[Any], list[Any], str], dict[str, Any]]:
    """`check(functions, calls, ground_truth, category)` → the reference's `{"valid", "error", "error_type"}`; a call is
    `{name: arguments}`."""
    table = ModuleType(TABLE)
    table.MODEL_CONFIG_MAPPING = {MODEL: SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]
    before = sys.modules.get(TABLE)
    sys.modules[TABLE] = table
    try:
        from bfcl_eval.constants.enums import Language
        from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
    finally:
        if before is None:
            del sys.modules[TABLE]
        else:
            sys.modules[TABLE] = before

    def check(functions: list[Any], calls: list[Any], truth: list[Any], category: str) -> dict[str, Any]:
        result: dict[str, Any] = ast_checker(functions, calls, truth, Language.PYTHON, category, MODEL)
        return result

    return check
