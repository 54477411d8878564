"""A provider's key that is missing, found out before the first call.

Only where no call could succeed: for the providers below litellm itself refuses to call without a credential, whatever
the address. Others may be reached without one (a server of one's own, a role of the machine), so they are asked, and
the first refusal ends the calling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# litellm's name of the provider → the variables that it reads the key from.
_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
# Whatever else may stand for a key: an administrator's, a bearer token, an identity of the workload.
_CREDENTIAL = re.compile(r"KEY|TOKEN(?!S)|IDENTITY|FEDERATION|ACCOUNT|CREDENTIAL")
# Parameters that can carry a credential.
HEADERS = ("extra_headers", "headers")


def missing_key(provider: str, environ: Mapping[str, str], params: Mapping[str, Any]) -> str | None:
    """The variables that could hold the key, in words, where none holds one; None where a call may succeed.

    An empty variable is none: that is what a workflow gets for a secret that it has not or may not read.
    """
    names = _KEYS.get(provider)
    if names is None or any(params.get(name) for name in HEADERS):
        return None
    prefixes = tuple(name.partition("_")[0] + "_" for name in names)
    given = any(
        value.strip() and name.upper().startswith(prefixes) and _CREDENTIAL.search(name.upper())
        for name, value in environ.items()
    )
    return None if given else " or ".join(names)
