"""Makes github_schemas.json: the answers that the test server gives, as GitHub's own description has them.

npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
python tests/servers/extract_github_schemas.py package > tests/servers/github_schemas.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WANTED = (
    "issue",
    "issue-comment",
    "commit-comparison",
    "git-commit",
    "git-ref",
    "git-tree",
    "short-blob",
    "public-user",
    "basic-error",
    "repository-collaborator-permission",
    "pull-request-simple",
    "pull-request",
    "artifact",
    "webhook-workflow-run-completed",
)
NO_RULE = {
    "description",
    "example",
    "examples",
    "title",
    "nullable",
    "discriminator",
    "externalDocs",
    "x-multi-segment",
}


def json_schema(node: Any) -> Any:
    """An OpenAPI 3.0 schema as JSON Schema: `nullable` becomes a choice, what only explains is dropped."""
    if isinstance(node, list):
        return [json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: json_schema(value) for key, value in node.items() if key not in NO_RULE or isinstance(value, dict)}
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].replace("#/components/schemas/", "#/$defs/")
    return {"anyOf": [kept, {"type": "null"}]} if node.get("nullable") is True else kept


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"].rsplit("/", 1)[1]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(references(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(references(item) for item in node))
    return set()


def main(package: Path) -> None:
    description = json.loads((package / "generated" / "api.github.com.json").read_text(encoding="utf-8"))
    schemas, wanted = description["components"]["schemas"], set(WANTED)
    while more := set().union(*(references(schemas[name]) for name in wanted)) - wanted:
        wanted |= more
    version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    extract = {
        "$comment": f"Extracted from @octokit/openapi {version} (MIT License, Copyright (c) 2020 Octokit contributors, "
        "in github_schemas.LICENSE), https://github.com/octokit/openapi, by extract_github_schemas.py.",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {name: json_schema(schemas[name]) for name in sorted(wanted)},
    }
    print(json.dumps(extract, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
