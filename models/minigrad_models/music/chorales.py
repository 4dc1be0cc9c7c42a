"""Chorales on a grid, as in Coconet: a row per sixteenth note, and a column per voice (soprano, alto, tenor, bass)."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..schema import content
from .midi import PITCHES, Note, Song, check_tempo, checked

Grid = np.ndarray[Any, np.dtype[np.int64]]

VOICES = ("soprano", "alto", "tenor", "bass")
SILENCE = -1
ROWS = 4  # a quarter note
MOST_ROWS = 100_000
SPLITS = ("train", "valid", "test")
COMPOSED = Path(__file__).with_name("composed.json.gz")  # the bundled pieces, composed by examples/chorales.py
_MOST_BYTES = 16 << 20  # of a file of chorales; all of Bach's need 1.7 MB


class Span(NamedTuple):
    """The cells of one note: rows ``first`` to ``end`` (excluded) of a voice."""

    voice: int
    first: int
    end: int
    pitch: int


def read_chorales(path: str | os.PathLike[str]) -> dict[str, list[Grid]]:
    """Read Coconet's JSON: for each split ("train", "valid", "test"), the pieces as int64 arrays (T, 4) of pitches,
    with -1 for silence. Raises FileNotFoundError if the file does not exist, ValueError if it has the wrong format or
    is larger than 16 MiB, and OSError if it cannot be read."""
    file = Path(path)
    data = gzip.decompress(COMPOSED.read_bytes()) if file == COMPOSED else content(file, _MOST_BYTES)
    try:
        pieces = json.loads(data.decode())
    except (ValueError, RecursionError) as error:  # JSON's and UTF-8's errors are ValueErrors
        raise ValueError(f"{file} is not JSON: {error}") from None
    if not isinstance(pieces, dict) or not all(isinstance(pieces.get(split), list) for split in SPLITS):
        raise ValueError(f"{file} has no lists of chorales named train, valid and test")
    return {
        split: [_grid(piece, f"{file}, {split}, chorale {i}") for i, piece in enumerate(pieces[split])]
        for split in SPLITS
    }


def _grid(piece: object, where: str = "a grid") -> Grid:
    """Rows of four voices as an array (T, 4). Raises ValueError for anything else."""
    try:
        grid = np.array(piece)
    except (ValueError, OverflowError):  # rows of different lengths, or numbers with many digits
        grid = np.array(None)
    if grid.ndim != 2 or grid.shape[1] != len(VOICES) or grid.dtype.kind not in "iu":
        raise ValueError(f"{where}: expected rows of {len(VOICES)} integers")
    if (wrong := grid[(grid < SILENCE) | (grid >= PITCHES)]).size:
        raise ValueError(f"{where}: expected a pitch from 0 to 127, or {SILENCE} for silence, not {wrong[0]}")
    return grid.astype(np.int64)


def spans(grid: Grid) -> list[Span]:
    """The notes of a grid (T, 4), sorted by voice, then first row. A note is a run of equal pitches in a voice. Raises
    ValueError if the array is not a grid."""
    result = []
    for voice, pitches in enumerate(_grid(grid).T):
        borders = [0, *(np.flatnonzero(np.diff(pitches)) + 1).tolist(), len(pitches)]
        result += [Span(voice, first, end, int(pitches[first])) for first, end in pairwise(borders) if end > first]
    return [span for span in result if span.pitch != SILENCE]


def grid_of(music: Song | Sequence[Note], *, tempo: float = 100.0, melody: bool = False) -> Grid:
    """The grid (T, 4) for a song or notes. Onsets and ends are rounded to sixteenths. The tempos are the song's, or
    ``tempo`` quarter notes per minute for notes without a song.

    Tracks 0 to 3 are the voices; up to four tracks with other numbers become the voices in order. A single track is a
    melody, in voice 0. With ``melody``, the highest notes of all tracks form the melody. If several notes in a voice
    sound simultaneously, the highest note is used. A note occupies at least one row.

    Raises ValueError if there are no notes, more than four tracks, or more than 100,000 sixteenths.
    """
    notes = checked(music.notes if isinstance(music, Song) else music)
    if not notes:
        raise ValueError("there are no notes to put on a grid")
    tracks = sorted({note.track for note in notes})
    if len(tracks) == 1 or melody:
        voices = dict.fromkeys(tracks, 0)
    elif len(tracks) <= len(VOICES):
        fits = tracks[-1] < len(VOICES)
        voices = {track: track if fits else i for i, track in enumerate(tracks)}
    else:
        raise ValueError(f"there are {len(tracks)} tracks, but only 4 voices: melody=True takes the highest notes")
    check_tempo(tempo)
    position = (music if isinstance(music, Song) else Song((), ((0.0, tempo),))).quarters
    rows = max(position(note.end) for note in notes) * ROWS
    if rows > MOST_ROWS:
        raise ValueError(f"the music has {rows:.3g} sixteenths, but a grid has at most {MOST_ROWS:,}")
    grid = np.full((math.floor(rows) + 2, len(VOICES)), SILENCE, np.int64)
    last = 0
    for note in sorted(notes, key=lambda note: note.pitch):  # higher notes overwrite lower ones
        first = round(position(note.start) * ROWS)
        end = max(first + 1, round(position(note.end) * ROWS))
        grid[first:end, voices[note.track]] = note.pitch
        last = max(last, end)
    return grid[:last]
