"""Other keys and other speeds."""

from __future__ import annotations

import pytest

from minigrad.music import Note, stretched, transposed

NOTES = [Note(60, 80, 0.5, 1.0, 2), Note(127, 1, 1.0, 4.0)]


def test_transposed() -> None:
    assert transposed(NOTES, -3) == [Note(57, 80, 0.5, 1.0, 2), Note(124, 1, 1.0, 4.0)]
    assert transposed(NOTES, 0) == NOTES
    with pytest.raises(ValueError, match="pitch 127 moved by 1 semitones is 128"):
        transposed(NOTES, 1)
    with pytest.raises(ValueError, match=r"pitch 60 .* -1"):
        transposed(NOTES, -61)


def test_stretched() -> None:
    assert stretched(NOTES, 1.5) == [Note(60, 80, 0.75, 1.5, 2), Note(127, 1, 1.5, 6.0)]
    for factor in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="positive factor"):
            stretched(NOTES, factor)
