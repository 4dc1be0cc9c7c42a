"""What a note may be."""

from __future__ import annotations

import numpy as np
import pytest

from minigrad.music import Note
from minigrad.music.notes import checked, ordered


def test_notes_are_ordered_by_onset_pitch_and_track() -> None:
    notes = [Note(60, 1, 1.0, 2.0), Note(61, 1, 0.0, 9.0), Note(60, 1, 0.0, 1.0, 2), Note(60, 9, 0.0, 3.0, 1)]
    assert ordered(notes) == [notes[3], notes[2], notes[1], notes[0]]


def test_numbers_of_numpy_are_numbers() -> None:
    note = Note(*np.array([60, 80]), *np.array([0.5, 1.0]))
    assert checked([note]) == [note]


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (Note(128, 80, 0, 1), "pitches .* not 128"),
        (Note(-1, 80, 0, 1), "pitches"),
        (Note(60.5, 80, 0, 1), "pitches .* 60.5"),  # type: ignore[arg-type]
        (Note(60, 0, 0, 1), "velocities .* not 0"),
        (Note(60, 128, 0, 1), "velocities"),
        (Note(60, 80, -0.1, 1), "from -0.1"),
        (Note(60, 80, 2, 1), "from 2 to 1"),
        (Note(60, 80, float("nan"), 1), "from nan"),
        (Note(60, 80, 0, float("inf")), "to inf"),
        (Note(60, 80, 0, 1e9), "24 hours"),
        (Note(60, 80, 0, 1, -1), "tracks"),
    ],
)
def test_what_is_no_note(note: Note, message: str) -> None:
    with pytest.raises(ValueError, match=f"note 1 of 2: .*{message}"):
        checked([Note(60, 80, 0.0, 1.0), note])
