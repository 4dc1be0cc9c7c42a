"""Valid notes, and notes at other speeds."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from minigrad_models.music import Note, stretched
from minigrad_models.music.midi import checked, ordered
from tests.support.cases import raises


def test_notes_are_ordered_by_onset_pitch_and_track() -> None:
    notes = [Note(60, 1, 1.0, 2.0), Note(61, 1, 0.0, 9.0), Note(60, 1, 0.0, 1.0, 2), Note(60, 9, 0.0, 3.0, 1)]
    assert ordered(notes) == [notes[3], notes[2], notes[1], notes[0]]
    note = Note(*np.array([60, 80]), *np.array([0.5, 1.0]))  # NumPy's numbers are accepted
    assert checked([note]) == [note]


def test_invalid_notes() -> None:
    fine = Note(60, 80, 0.0, 1.0)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"pitch": 128}, "pitches .* not 128"),
        ({"pitch": -1}, "pitches"),
        ({"pitch": 60.5}, "pitches .* 60.5"),
        ({"velocity": 0}, "velocities .* not 0"),
        ({"velocity": 128}, "velocities"),
        ({"start": -0.1}, "from -0.1"),
        ({"start": 2}, "from 2 to 1"),
        ({"start": float("nan")}, "from nan"),
        ({"end": float("inf")}, "to inf"),
        ({"end": 1e9}, "24 hours"),
        ({"track": -1}, "tracks"),
    ]
    for changes, message in wrong:
        with pytest.raises(ValueError, match=f"note 1 of 2: .*{message}"):
            checked([fine, fine._replace(**changes)])


NOTES = [Note(60, 80, 0.5, 1.0, 2), Note(127, 1, 1.0, 4.0)]


def test_stretched() -> None:
    assert stretched(NOTES, 1.5) == [Note(60, 80, 0.75, 1.5, 2), Note(127, 1, 1.5, 6.0)]
    for factor in (0.0, -1.0, float("nan"), float("inf")):
        raises(ValueError, "must be positive", partial(stretched, NOTES, factor))
