import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.runners.journal import Journal
from evaluator.transcript import Infrastructure, Transcript, Usage

DONE = Transcript(text="é ✓", usage=Usage(input_tokens=1, output_tokens=2, cost_usd=0.5))
FAILED = Infrastructure(kind="rate_limit", message="slow down", http_status=429, tries=8)


NOW = 1_800_000_000.0


def start(path, plan="p", fingerprint="f", endpoint="e", now=NOW):
    return Journal.open(path, plan=plan, fingerprint=fingerprint, endpoint=endpoint, now=now)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "journal.jsonl"


def written(path, *results, **header):
    journal = start(path, **header)
    for number, result in enumerate(results, 1):
        journal.append(("", "task", "case", number), result)
    journal.close(complete=False)


def test_an_attempt_is_on_disk_as_soon_as_it_is_appended(path):
    journal = start(path)
    journal.append(("", "task", "case", 1), DONE)
    header, row = (json.loads(line) for line in path.read_bytes().splitlines())
    assert header == {"journal": 1, "plan": "p", "fingerprint": "f", "endpoint": "e", "started": NOW}
    assert (row["task"], row["case"], row["number"], row["transcript"]["text"]) == ("task", "case", 1, "é ✓")
    journal.close(complete=False)


def test_transcripts_are_taken_up_again_and_failures_are_not(path):
    written(path, DONE, FAILED)
    journal = start(path)
    assert journal.finished == {("", "task", "case", 1): DONE}
    assert journal.notes == [f"1 attempts were taken from {path}, which an interrupted run left"]
    journal.close(complete=False)


def test_a_torn_last_line_is_dropped_and_does_not_swallow_the_next_row(path):
    written(path, DONE, DONE)
    path.write_bytes(path.read_bytes()[:-20])
    journal = start(path)
    assert list(journal.finished) == [("", "task", "case", 1)]
    journal.append(("", "task", "case", 3), DONE)
    journal.close(complete=False)
    again = start(path)
    assert list(again.finished) == [("", "task", "case", 1), ("", "task", "case", 3)]
    again.close(complete=False)


@pytest.mark.parametrize("damage", [b"\xff\xfe\x00\n", b"[" * 100_000 + b"\n", b"{}\n", b"\n", b'{"task": 1}\n'])
def test_an_unreadable_row_costs_only_itself(path, damage):
    written(path, DONE)
    with path.open("ab") as file:
        file.write(damage)
    written(path, DONE, DONE)
    journal = start(path)
    assert list(journal.finished) == [("", "task", "case", 1), ("", "task", "case", 2)]
    journal.close(complete=False)


@pytest.mark.parametrize("other", [{"plan": "q"}, {"fingerprint": "g"}, {"endpoint": "h"}])
def test_a_journal_of_another_plan_fingerprint_or_endpoint_is_set_aside_and_kept(path, other):
    written(path, DONE)
    before = path.read_bytes()
    journal = start(path, **other)
    assert journal.finished == {}
    aside = path.with_name("journal.jsonl.1")
    assert aside.read_bytes() == before
    assert journal.notes == [
        f"{path} belongs to another plan, fingerprint or endpoint and was set aside as journal.jsonl.1"
    ]
    journal.close(complete=False)
    third = start(path)
    assert path.with_name("journal.jsonl.2").exists()
    third.close(complete=False)


DAY = 24 * 3600.0


def test_a_journal_is_believed_for_a_day(path):
    written(path, DONE)
    journal = start(path, now=NOW + DAY)
    assert list(journal.finished) == [("", "task", "case", 1)]
    journal.close(complete=False)


@pytest.mark.parametrize("later", [DAY + 1, -DAY - 1], ids=["older", "from the future"])
def test_a_journal_of_another_day_is_set_aside_and_kept(path, later):
    written(path, DONE)
    before = path.read_bytes()
    journal = start(path, now=NOW + later)
    assert journal.finished == {}
    assert path.with_name("journal.jsonl.1").read_bytes() == before
    assert journal.notes == [f"{path} is more than 24 hours old and was set aside as journal.jsonl.1"]
    journal.close(complete=False)


def test_a_journal_that_is_taken_up_again_does_not_grow_younger(path):
    written(path, DONE)
    written(path, DONE, now=NOW + DAY / 2)
    journal = start(path, now=NOW + DAY + 1)
    assert journal.finished == {}
    journal.close(complete=False)


@pytest.mark.parametrize("content", [b"my notes\n", b"no newline", b"\x00\xff", b'{"journal": 99}\n'])
def test_a_file_that_is_no_journal_is_set_aside_and_kept(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    journal = start(path)
    assert path.with_name("journal.jsonl.1").read_bytes() == content
    journal.append(("", "task", "case", 1), DONE)
    journal.close(complete=False)
    again = start(path)
    assert len(again.finished) == 1
    again.close(complete=False)


def test_a_complete_run_leaves_no_journal(path):
    journal = start(path)
    journal.append(("", "task", "case", 1), DONE)
    journal.close(complete=True)
    assert list(path.parent.iterdir()) == []


def test_two_runs_cannot_write_one_journal(path):
    journal = start(path)
    with pytest.raises(UserError, match="another run is writing this journal") as error:
        start(path)
    assert error.value.code == "journal-in-use"
    journal.close(complete=False)
    start(path).close(complete=True)


def test_a_link_in_the_place_of_the_journal_is_not_followed(tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    (tmp_path / "journal.jsonl").symlink_to(target)
    with pytest.raises(UserError) as error:
        start(tmp_path / "journal.jsonl")
    assert error.value.code == "journal-unwritable"
    assert target.read_text() == "mine"


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero"])
def test_a_device_is_no_journal(device):
    with pytest.raises(UserError, match="not a regular file"):
        start(Path(device))


def test_a_folder_that_cannot_be_made_is_told_before_the_first_call(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"Not a directory|File exists"):
        start(tmp_path / "file" / "journal.jsonl")


FILL = """
import sys
from pathlib import Path
from evaluator.runners.journal import Journal
from evaluator.transcript import Transcript
journal = Journal.open(Path(sys.argv[1]), plan="p", fingerprint="f", endpoint="e", now=1_800_000_000.0)
for number in range(1, 101):
    journal.append(("", "task", "case", number), Transcript(text="x" * 1000))
journal.close(complete=False)
print(journal.notes)
"""


def filled(path, room):
    """A process that writes a journal where no file may grow beyond `room` bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    return subprocess.run(
        [sys.executable, "-c", FILL, str(path)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )


def test_a_disk_without_room_for_the_header_is_told_before_the_first_call(path):
    done = filled(path, 10)
    assert "UserError" in done.stderr
    assert "the journal of paid attempts can't be written: File too large" in done.stderr


def test_a_disk_that_fills_up_later_is_a_note_and_the_run_goes_on(path):
    done = filled(path, 20_000)
    assert "could not be written any more (File too large): a restart pays again" in done.stdout
    journal = start(path)
    assert 10 <= len(journal.finished) < 25
    journal.close(complete=False)
