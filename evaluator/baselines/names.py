"""Names of folders and files on the branch of baselines: whatever a path or branch is called, it stays in its folder.

A name has letters, digits, `.`, `_` and `-` as they are and every other byte as `=` and two hexadecimal digits, a
leading dot too (no `.`, `..` or `.git`). So different texts have different names. A long one ends in its digest.
"""

from __future__ import annotations

import hashlib

ROOT = "baselines"

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST = 120
_KEPT = 50


def escape(text: str) -> str:
    """`text` as the name of one folder. Injective: the digest of a long text follows `==`, which no other name has."""
    data = text.encode("utf-8", "surrogatepass")
    name = "".join(
        chr(byte) if byte in _PLAIN and (place or byte != 0x2E) else f"={byte:02X}" for place, byte in enumerate(data)
    )
    if len(name) > _LONGEST:
        return f"{name[:_KEPT]}=={hashlib.sha256(data).hexdigest()}"
    return name or "="


def of_config(config: str) -> str:
    """The folder of the trap.yaml at `config`, with a folder for each branch of the code."""
    return f"{ROOT}/{escape(config)}"


def of_branch(config: str, branch: str) -> str:
    """The folder of the trap.yaml at `config` and one branch of the code."""
    return f"{of_config(config)}/{escape(branch)}"
