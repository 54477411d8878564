"""One baseline as a file of the branch: the results of its run, compressed. Its anchor is a document of its own."""

from __future__ import annotations

import gzip
import hashlib
import zlib

import msgspec

from evaluator import results
from evaluator.errors import user_error
from evaluator.results import SCHEMA_VERSION, Acceptance, Anchor, Baseline, Run

# GitHub takes requests of some 50 MB, and base64 makes a third more of a file.
LARGEST = 32 << 20
LARGEST_INSIDE = 512 << 20


def encode(run: Run, accepted: Acceptance, commit: str) -> tuple[str, bytes]:
    """Name and bytes of the document; another run, or another acceptance, has another name.

    Raises UserError `baseline-too-large`.
    """
    plain = results.encode(Baseline(schema_version=SCHEMA_VERSION, accepted=accepted, run=run))
    data = gzip.compress(plain, mtime=0)
    if len(data) > LARGEST or len(plain) > LARGEST_INSIDE:
        raise user_error(
            "baseline-too-large",
            f"the run has {len(data):,} bytes, compressed; a baseline on a branch may have {LARGEST:,}",
            where="baseline.store",
            mend="Split the tasks over several trap.yaml, or keep the baseline elsewhere: `store: file`.",
        )
    return f"{commit}-{hashlib.sha256(plain).hexdigest()[:16]}.json.gz", data


def decode(data: bytes, where: str) -> Baseline:
    """The baseline, without an anchor. Raises UserError `results-unreadable` or `results-version`."""
    # A few bytes may stand for many: no more is unpacked than a baseline may have.
    unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        plain = unpacking.decompress(data, LARGEST_INSIDE)
    except zlib.error as error:
        raise user_error("results-unreadable", "not a readable result file: it is not gzip", where=where) from error
    if not unpacking.eof:
        raise user_error("results-unreadable", "not a readable result file: it is cut off or too large", where=where)
    return with_anchor(results.decode_baseline(plain, where), None)


def with_anchor(baseline: Baseline, anchor: Baseline | None) -> Baseline:
    """`baseline` with `anchor` as its anchor."""
    held = Anchor(accepted=anchor.accepted, run=anchor.run) if anchor is not None else None
    return msgspec.structs.replace(baseline, anchor=held)
