"""The published JSON Schemas of what this project writes, from its types: `python -m evaluator.schemas DIR`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from evaluator.results import SCHEMA_VERSION, Baseline, Run

DOCUMENTS: dict[str, tuple[type[Any], str]] = {
    "results.schema.json": (Run, "trapgate results.json"),
    "baseline.schema.json": (Baseline, "trapgate baseline"),
}


def schema(document: type[Any], title: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of a document of this project, held to the schema version that is written today."""
    generated = msgspec.json.schema(document)
    definition = generated["$defs"][document.__name__]
    definition["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **generated}


def texts() -> dict[str, str]:
    """File name → its text."""
    return {
        name: json.dumps(schema(document, title), indent=2, ensure_ascii=False) + "\n"
        for name, (document, title) in DOCUMENTS.items()
    }


if __name__ == "__main__":
    for name, text in texts().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
