"""The times of MIDI files: each reader has a row, with files and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import midi
from minigrad.music import write_midi

pytest.importorskip("mido")


def test_table(tmp_path: Path) -> None:
    file = write_midi(tmp_path / "x.mid", midi.invented(20))
    rows = {row[0]: row[1:] for row in midi.table([file], 30, 1).rows}
    assert {"read, minigrad.music", "read, mido", "write, minigrad.music", "events of notes"} <= set(rows)
    assert all(seconds is not None for row in rows.values() for seconds in row)
    assert {row[1] for row in midi.table([], 30, 1).rows} == {None}


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        midi.main([str(tmp_path)])
