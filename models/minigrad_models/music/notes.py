"""A note: what every part of the package reads, makes and draws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

PITCHES = 128
MOST_SECONDS = 24 * 3600.0
"""The latest end of a note, so that no stray number asks for a gigabyte of silence."""


class Note(NamedTuple):
    """One note.

    Attributes:
        pitch: MIDI's number, 0 to 127; 60 is middle C.
        velocity: how hard it was struck, 1 to 127.
        start, end: seconds.
        track: of a file, the number of its instrument; of a chorale, the voice (0 soprano, 1 alto, 2 tenor, 3 bass).
    """

    pitch: int
    velocity: int
    start: float
    end: float
    track: int = 0


def ordered(notes: Iterable[Note]) -> list[Note]:
    """The notes by onset, then pitch, then track."""
    return sorted(notes, key=lambda note: (note.start, note.pitch, note.track))


def stretched(notes: Iterable[Note], factor: float) -> list[Note]:
    """The notes with all times ``factor`` times as long: 1.05 is 5 % slower. Raises ValueError: it is not positive."""
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"times are stretched by a positive factor, not {factor}")
    return [note._replace(start=note.start * factor, end=note.end * factor) for note in notes]


def checked(notes: Iterable[Note]) -> list[Note]:
    """The notes as a list. Raises ValueError: a pitch, velocity, time or track that MIDI has no number for."""
    kept = list(notes)
    whole = lambda value: isinstance(value, int | np.integer)
    for number, (pitch, velocity, start, end, track) in enumerate(kept):
        fault = ""
        if not (whole(pitch) and 0 <= pitch < PITCHES):
            fault = f"pitches are whole numbers from 0 to 127, not {pitch}"
        elif not (whole(velocity) and 1 <= velocity <= 127):
            fault = f"velocities are whole numbers from 1 to 127, not {velocity}"
        elif not 0 <= start <= end <= MOST_SECONDS:  # not so either if one of them is NaN
            times = "a note begins at 0 s or later, and ends after that, within 24 hours"
            fault = f"it lasts from {start} to {end}: {times}"
        elif not (whole(track) and track >= 0):
            fault = f"tracks are whole numbers from 0 on, not {track}"
        if fault:
            raise ValueError(f"note {number} of {len(kept):,}: {fault}")
    return kept
