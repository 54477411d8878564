from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.baselines import Found, Missing, Unreadable
from evaluator.baselines.file import FileStore
from evaluator.baselines.store import Place
from evaluator.errors import UserError
from tests.unit.baselines.runs import ALICE, a_run, baseline, by_itself

HERE = Place(None, "", "")
ONE, TWO, THREE = ("1" * 40, "2" * 40, "3" * 40)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / ".trap" / "baseline.json", ".trap/baseline.json")


def test_what_was_written_is_read(store: FileStore, tmp_path: Path) -> None:
    assert store.read(HERE) == Missing(".trap/baseline.json")
    assert store.write(a_run(ONE), ALICE, HERE) == str(tmp_path / ".trap" / "baseline.json")
    found = store.read(HERE)
    assert isinstance(found, Found)
    assert (found.where, found.baseline.run, found.baseline.anchor) == (".trap/baseline.json", a_run(ONE), None)


def test_a_move_by_itself_keeps_the_accepted_baseline_in_the_file(store: FileStore) -> None:
    store.write(a_run(ONE), ALICE, HERE)
    store.write(a_run(TWO), by_itself(), HERE)
    store.write(a_run(THREE), by_itself(), HERE)
    held = baseline(store.read(HERE))
    assert (held.run.commit, held.anchor and held.anchor.run.commit) == (THREE, ONE)
    assert [(entry.commit, entry.explicit) for entry in store.history(HERE)] == [(THREE, False), (ONE, True)]


def test_more_history_is_that_of_the_repository(store: FileStore, tmp_path: Path) -> None:
    assert store.history(HERE) == []
    assert store.older == f"git log -p -- {tmp_path / '.trap' / 'baseline.json'}"


def test_a_broken_file_is_unreadable_replaced_by_an_acceptance_and_by_nothing_else(
    store: FileStore, tmp_path: Path
) -> None:
    (tmp_path / ".trap").mkdir()
    (tmp_path / ".trap" / "baseline.json").write_text("{")
    assert isinstance(store.read(HERE), Unreadable)
    for asked in (lambda: store.history(HERE), lambda: store.write(a_run(ONE), by_itself(), HERE)):
        with pytest.raises(UserError) as caught:
            asked()
        assert caught.value.code == "baseline-unreadable"
    store.write(a_run(ONE), ALICE, HERE)
    assert isinstance(store.read(HERE), Found)


def test_a_folder_that_cannot_be_written_is_found_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as caught:
        FileStore(tmp_path / "file" / "baseline.json", "b").check_writable()
    assert caught.value.code == "not-writable"
