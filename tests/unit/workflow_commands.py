"""What the Actions runner takes for a command in a log, written from its documentation and its parser, not from ours.

Two forms: `::name properties::message` where a line begins with it after white space, and `##[name properties]message`
anywhere in a line. Names are compared without case, so any name counts here. The runner compares text by the rules of a
language, in which characters without width count for nothing. Line breaks are here all that any reader of lines knows.
"""

from __future__ import annotations

import re
import unicodedata

from hypothesis import strategies as st

_NO_WIDTH = {"Cf", "Cc", "Cs", "Co", "Cn", "Mn", "Me"}

TOKENS = ("pause", "0123456789abcdef0123456789abcdef")
_FRAGMENTS = [
    *("::", ":", "##[", "##", "[", "]", "#", " ", "\t", "%0A", "%", "::error::x", "::set-env name=PATH::/evil"),
    *("::add-path::/evil", "::set-output name=verdict::pass", "::save-state name=a::b", "::add-mask::a", "##[error]x"),
    *("::stop-commands::pause", "::pause::", f"::{TOKENS[1]}::", "##[add-mask]a", "::ERROR::x", "::endgroup::"),
    *("::group::x", "::debug::x", "##vso[task.setvariable variable=a]b", "::error file=a,line=1::x", "::notice ::"),
    *(
        "\n",
        "\r",
        "\r\n",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x85",
        "\u2028",
        "\u2029",
        "\x00",
        "\x08",
        "\x1b[2K",
        "\x1b]0;x\x07",
    ),
    *(
        "\ufeff",
        "\u200b",
        "\u200d",
        "\u2060",
        "\u00ad",
        "\u202e",
        "\u00a0",
        "\u3000",
        "\u180e",
        "\ud800",
        "\uff1a",
        "a",
    ),
]
texts = st.lists(st.sampled_from(_FRAGMENTS) | st.text(max_size=3), max_size=12).map("".join)


def commands(log: str) -> list[str]:
    """The names of all commands in `log`, in order."""
    found = []
    for line in re.split(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", log):
        seen = "".join(each for each in line if unicodedata.category(each) not in _NO_WIDTH).lstrip()
        if seen.startswith("::") and (end := seen.find("::", 2)) >= 0:
            found.append(seen[2:end].split(" ")[0])
            continue  # the other form is not looked for in the message of a command
        at = seen.find("##[")
        if at >= 0 and (end := seen.find("]", at)) >= 0:
            found.append(seen[at + 3 : end].split(" ")[0])
    return found
