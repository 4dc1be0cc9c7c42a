"""The grid of chorales: Bach's survive a round trip, a played melody is quantised, and other files are rejected."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad_models.music import Note, Song, grid_of, read_chorales, read_midi, write_midi
from minigrad_models.music.chorales import SILENCE, Span, spans
from tests.support.cases import raises
from tests.support.midi import CHORALES, midi, off, on, tempo, track
from tests.support.music import notes_of

needs_data = pytest.mark.skipif(not CHORALES.exists(), reason="no jsb: set MINIGRAD_DATA to its parent")
SMALL = np.array([[72, 60, -1, 48], [72, 62, -1, 48], [72, 62, 55, -1], [74, 62, 55, 48]])


@needs_data
@pytest.mark.nightly
def test_every_chorale_makes_the_round_trip() -> None:
    splits = read_chorales(CHORALES)
    assert {split: len(pieces) for split, pieces in splits.items()} == {"train": 229, "valid": 76, "test": 77}
    for grid in (piece for pieces in splits.values() for piece in pieces):
        assert grid.dtype == np.int64 and grid.shape[1] == 4
        np.testing.assert_array_equal(grid_of(notes_of(grid)), grid)
        np.testing.assert_array_equal(grid_of(notes_of(grid, 97.3), tempo=97.3), grid)


@pytest.mark.parametrize("speed", [60.0, 97.3])
def test_a_file_keeps_the_sixteenths_of_the_grid(speed: float, tmp_path: Path) -> None:
    mido = pytest.importorskip("mido")
    silent = SMALL.copy()
    silent[:, 1] = SILENCE  # keeps its row
    for grid in (silent, SMALL):
        path = write_midi(tmp_path / "x.mid", notes_of(grid, speed), speed)
        np.testing.assert_array_equal(grid_of(read_midi(path)), grid)
        file = mido.MidiFile(path)
        assert {message.time % (file.ticks_per_beat // 4) for part in file.tracks for message in part} == {0}


def test_repeated_pitches_are_one_note() -> None:
    assert spans(SMALL) == [
        *(Span(0, 0, 3, 72), Span(0, 3, 4, 74), Span(1, 0, 1, 60), Span(1, 1, 4, 62)),
        *(Span(2, 2, 4, 55), Span(3, 0, 2, 48), Span(3, 3, 4, 48)),
    ]
    first = [Note(48, 90, 0.0, 0.5, 3), Note(60, 90, 0.0, 0.25, 1), Note(72, 90, 0.0, 0.75, 0)]
    assert notes_of(SMALL, 60, 90)[:3] == first
    assert spans(np.empty((0, 4), np.int64)) == [] and notes_of(np.full((5, 4), SILENCE)) == []


def test_a_melody_played_by_a_person() -> None:
    """Onsets and ends move to the nearest sixteenth; a short note lasts one."""
    times = {67: (0.01, 0.26), 69: (0.24, 0.52), 71: (0.49, 0.50), 72: (0.9, 1.1)}
    played = [Note(pitch, 80, *when, 7) for pitch, when in times.items()]
    grid = grid_of(played, tempo=60)
    assert grid[:, 0].tolist() == [67, 69, 71, SILENCE, 72]
    assert (grid[:, 1:] == SILENCE).all()
    assert grid_of([*played, Note(50, 80, 0.0, 1.0, 7)], tempo=60)[:, 0].tolist() == [67, 69, 71, 50, 72]


def test_voices_are_tracks() -> None:
    notes = [Note(60, 80, 0.0, 0.25, 9), Note(50, 80, 0.0, 0.5, 12)]
    assert grid_of(notes, tempo=60).tolist() == [[60, 50, -1, -1], [-1, 50, -1, -1]]
    placed = [Note(60, 80, 0.0, 0.25, 0), Note(50, 80, 0.0, 0.25, 3)]
    assert grid_of(placed, tempo=60).tolist() == [[60, -1, -1, 50]]
    many = [Note(60 + i, 80, 0.0, 0.25, i) for i in range(5)]
    raises(ValueError, "5 tracks, but only 4 voices", lambda: grid_of(many))
    assert grid_of(many, tempo=60, melody=True).tolist() == [[64, -1, -1, -1]]


def test_a_songs_tempos_are_used(tmp_path: Path) -> None:
    pytest.importorskip("mido")
    tune = track((0, on(60)), (480, off(60)), (0, on(62)), (240, off(62)), (0, on(64)), (240, off(64)))
    path = tmp_path / "x.mid"
    path.write_bytes(midi(track((0, tempo(300_000)), (480, tempo(1_200_000)), (120, tempo(77_777))), tune))
    assert grid_of(read_midi(path))[:, 0].tolist() == [60] * 4 + [62] * 2 + [64] * 2


def test_music_that_does_not_fit_the_grid() -> None:
    raises(ValueError, "no notes", lambda: grid_of(Song(())))
    raises(ValueError, "sixteenths", lambda: grid_of(Song((Note(60, 80, 0.0, 9e3),), ((0.0, 6e7),))))
    raises(ValueError, "tempo must be 4 to 1000", lambda: grid_of([Note(60, 80, 0.0, 1.0)], tempo=0))
    wrong: list[Any] = [SMALL[:, :3], SMALL[0], SMALL + 0.5, SMALL + 60, SMALL - 9]
    for grid in wrong:
        raises(ValueError, "a grid: ", partial(spans, grid))


FINE: dict[str, Any] = {"train": [SMALL.tolist()], "valid": [], "test": []}


def test_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    wrong: list[tuple[Any, str]] = [
        ([], "no lists of chorales"),
        ({"train": [], "valid": []}, "no lists of chorales"),
        ({**FINE, "test": {"a": 1}}, "no lists of chorales"),
        ({**FINE, "test": [[[60, 60, 60]]]}, "test, chorale 0: .* rows of 4 integers"),
        ({**FINE, "test": [SMALL.tolist(), [[60, 60, 60, 60], [60]]]}, "test, chorale 1"),
        ({**FINE, "test": [[[60, 60, 60, 128]]]}, "for silence, not 128"),
        ({**FINE, "test": [[[60, 60, 60, -2]]]}, "for silence, not -2"),
        *(({**FINE, "test": [[[60, 60, 60, cell]]]}, "test, chorale 0") for cell in (10**400, float("nan"), "x")),
        ({**FINE, "test": [[]]}, "test, chorale 0"),
        ({**FINE, "test": [None]}, "test, chorale 0"),
    ]
    for content, message in wrong:
        path.write_text(json.dumps(content))
        raises(ValueError, rf"x\.json.*{message}", lambda: read_chorales(path))
    for data in (b"", b"\xff\xfe{", b'{"train": ', b"[" * 100_000, b'{"train": ' + b"9" * 10_000 + b"}"):
        path.write_bytes(data)
        raises(ValueError, r"x\.json is not JSON", lambda: read_chorales(path))


def test_invalid_files(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 30)
    raises(FileNotFoundError, "No such file", lambda: read_chorales(tmp_path / "none.json"))
    raises(ValueError, "folder", lambda: read_chorales(tmp_path))
    raises(ValueError, "larger than 16 MiB", lambda: read_chorales(tmp_path / "huge.json"))
    (tmp_path / "fine.json").write_text(json.dumps(FINE))
    np.testing.assert_array_equal(read_chorales(tmp_path / "fine.json")["train"][0], SMALL)
