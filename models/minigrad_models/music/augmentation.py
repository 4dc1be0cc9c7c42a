"""More music from the same: other keys and other speeds, as Huang et al. 2018 augment performances."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .notes import PITCHES, Note


def transposed(notes: Iterable[Note], semitones: int) -> list[Note]:
    """The notes so many semitones higher, or lower if negative. Raises ValueError: a pitch leaves 0 to 127."""
    moved = [note._replace(pitch=note.pitch + semitones) for note in notes]
    for note in moved:
        if not 0 <= note.pitch < PITCHES:
            before = note.pitch - semitones
            raise ValueError(f"pitch {before} moved by {semitones} semitones is {note.pitch}: pitches are 0 to 127")
    return moved


def stretched(notes: Iterable[Note], factor: float) -> list[Note]:
    """The notes with all times ``factor`` times as long: 1.05 is 5 % slower. Raises ValueError: it is not positive."""
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"times are stretched by a positive factor, not {factor}")
    return [note._replace(start=note.start * factor, end=note.end * factor) for note in notes]
