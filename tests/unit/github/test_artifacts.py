from __future__ import annotations

import contextlib
import io
import stat
import struct
import warnings
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.github import artifacts
from evaluator.github.artifacts import Artifact, UnusableError, chosen, results
from tests.servers.github_actions import zipped

RESULTS = b'{"schema_version": 1}'


def entries(*named: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    archive = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(archive, "w", method) as opened:
        warnings.simplefilter("ignore")  # zipfile warns of a name that stands twice
        for name, data in named:
            opened.writestr(name, data)
    return archive.getvalue()


def listed(**changed: Any) -> dict[str, Any]:
    return {"id": 1, "name": "trapgate-results", "size_in_bytes": 10, "expired": False} | changed


@pytest.mark.parametrize("name", ["results.json", "trapgate-results/results.json"])
def test_results_at_the_top_or_in_a_single_folder_are_found(name: str) -> None:
    assert results(zipped({"comment.md": b"hello", name: RESULTS, "report.html": b"<p>"})) == RESULTS


def test_results_at_the_top_are_taken_before_those_in_a_folder() -> None:
    assert results(zipped({"old/results.json": b"old", "results.json": RESULTS})) == RESULTS


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (b"", r"cannot be read \(BadZipFile\)"),
        (b"PK\x05\x06" + b"\0" * 18, "there is no results.json in the archive"),
        (zipped({"comment.md": b"hello"}), "there is no results.json in the archive"),
        (zipped({"a/b/results.json": RESULTS}), "there is no results.json in the archive"),
        (zipped({"a/results.json": RESULTS, "b/results.json": RESULTS}), "the archive has 2 entries results.json"),
        (entries(("results.json", RESULTS), ("results.json", b"{}")), "the archive has 2 entries results.json"),
        (zipped({"../results.json": RESULTS}), "an entry of the archive leaves its folder"),
        (zipped({"results.json": RESULTS, "../../etc/passwd": b""}), "an entry of the archive leaves its folder"),
        (zipped({"/results.json": RESULTS}), "an entry of the archive leaves its folder"),
        (zipped({"a\\..\\results.json": RESULTS}), "an entry of the archive leaves its folder"),
        (entries(("results.json", RESULTS), method=zipfile.ZIP_BZIP2), "compressed in an unusual way"),
        (entries(("results.json", RESULTS), method=zipfile.ZIP_LZMA), "compressed in an unusual way"),
        (zipped({f"{number}": b"" for number in range(1001)}), "the archive has more than 1,000 entries"),
        (zipped({"results.json": RESULTS})[:-30], "cannot be read"),
    ],
)
def test_an_archive_that_no_upload_makes_is_refused(archive: bytes, why: str) -> None:
    with pytest.raises(UnusableError, match=why):
        results(archive)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR])
def test_results_that_are_a_link_or_no_plain_file_are_refused(kind: int) -> None:
    entry = zipfile.ZipInfo("results.json")
    entry.external_attr = (kind | 0o777) << 16
    with pytest.raises(UnusableError, match="no plain file"):
        results(entries((entry, b"/etc/passwd")))


def test_an_encrypted_entry_is_refused() -> None:
    archive = bytearray(entries(("results.json", RESULTS)))
    directory = archive.rindex(b"PK\x01\x02")
    archive[directory + 8] |= 1
    with pytest.raises(UnusableError, match="encrypted"):
        results(bytes(archive))


def test_a_bomb_is_not_inflated_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "MOST_FILE_BYTES", 1000)
    bomb = zipped({"results.json": b" " * 10_000_000})
    assert len(bomb) < 20_000
    with pytest.raises(UnusableError, match="larger than 1,000 bytes"):
        results(bomb)


def test_a_size_that_lies_is_not_believed() -> None:
    archive = bytearray(entries(("results.json", b" " * 100_000)))
    directory = archive.rindex(b"PK\x01\x02")
    struct.pack_into("<L", archive, directory + 24, 10)  # the uncompressed size
    with pytest.raises(UnusableError, match=r"cannot be read \(BadZipFile\)"):
        results(bytes(archive))


def test_a_hundred_megabytes_are_read_up_to_the_limit_and_refused() -> None:
    with pytest.raises(UnusableError, match="larger than 25,165,824 bytes"):
        results(zipped({"results.json": b"0" * (100 << 20)}))


@given(st.binary(max_size=500), st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_whatever_the_bytes_are_there_is_either_a_file_or_a_reason(noise: bytes, place: int, change: bytes) -> None:
    good = bytearray(zipped({"results.json": RESULTS, "comment.md": b"hello"}))
    good[place : place + len(change)] = change
    for archive in (noise, bytes(good), bytes(good) + noise):
        with contextlib.suppress(UnusableError):
            assert isinstance(results(archive), bytes)


def test_only_the_artifact_of_the_name_is_chosen_unless_a_star_stands_at_its_end() -> None:
    named = [listed(id=n, name=name) for n, name in enumerate(["trapgate-results", "trapgate-results-b", "logs", "*"])]
    assert [one.name for one in chosen(named, "trapgate-results", 42)] == ["trapgate-results"]
    assert [one.name for one in chosen(named, "trapgate-results*", 42)] == ["trapgate-results", "trapgate-results-b"]
    assert [one.name for one in chosen(named, "*", 42)] == ["*", "logs", "trapgate-results", "trapgate-results-b"]


def test_of_several_attempts_of_the_run_the_newest_artifact_counts() -> None:
    several = [listed(id=7), listed(id=9, size_in_bytes=99), listed(id=8)]
    assert chosen(several, "trapgate-results", 42) == [Artifact(9, "trapgate-results", 99, expired=False)]


@pytest.mark.parametrize(
    "item",
    [
        listed(workflow_run={"id": 43}),
        listed(id="1"),
        listed(name=None),
        listed(name="n" * 300),
        listed(size_in_bytes=None),
        {},
    ],
)
def test_an_artifact_of_another_run_or_without_what_each_has_is_left_out(item: dict[str, Any]) -> None:
    assert chosen([item], "*", 42) == []


@pytest.mark.parametrize("run", [None, {}, {"id": 42}])
def test_an_artifact_that_names_its_run_or_none_is_taken(run: Any) -> None:
    assert len(chosen([listed(workflow_run=run)], "trapgate-results", 42)) == 1
