"""The notes of a piano roll as arrays, in the order given, and how pitches and times are written."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.viz.numbers import Array, Floats
from minigrad.viz.vector import clean

from ..texts import reader

if TYPE_CHECKING:
    from ...music.midi import Song

OCTAVE = ("C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B")
BLACK = frozenset((1, 3, 6, 8, 10))  # keys of an octave
BAR = 4.0  # quarter notes
MOST_BARS = 20_000  # of a tempo that makes more there are none: nobody could tell them apart
_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


@dataclass(frozen=True)
class Score:
    """N notes.

    Attributes:
        pitches, velocities: (N,) int64, MIDI's numbers.
        starts, ends: (N,) float64, in seconds.
        tracks: (N,) int64, places in ``names``.
        names: of the tracks, by their numbers.
        bars: the seconds at which bars of four quarter notes begin; empty where no tempo is known.
    """

    pitches: Array
    velocities: Array
    starts: Floats
    ends: Floats
    tracks: Array
    names: tuple[str, ...]
    bars: Floats

    def __len__(self) -> int:
        return len(self.pitches)

    @property
    def seconds(self) -> float:
        """When the last note ends."""
        return float(self.ends.max())

    @property
    def order(self) -> Array:
        """The notes by time, those that begin together from below."""
        return np.lexsort((self.pitches, self.starts))

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and the highest row: a key around all pitches, and an octave at least."""
        low, high = int(self.pitches.min()) - 1, int(self.pitches.max()) + 1
        missing = max(11 - (high - low), 0)
        low, high = low - missing // 2, high + missing - missing // 2
        shift = max(-low, 0) or min(127 - high, 0)  # into MIDI's range
        return max(low + shift, 0), min(high + shift, 127)


def score_of(music: Any, tempo: float | None, tracks: Any) -> Score:
    """The notes of a file, a Song or a list; see ``piano_roll`` for what it raises."""
    from ...music.midi import Song, read_midi
    from ...music.notes import Note, checked

    song = None
    whose = f" in {Path(music).name}" if isinstance(music, str | os.PathLike) else ""
    if whose:
        music = read_midi(music)
    if isinstance(music, Song):
        music, song = music.notes, music
    try:
        notes = checked(Note(*note) for note in music)
    except TypeError as error:
        what = f"music is the path of a MIDI file, a Song or a list of Notes, not {type(music).__name__}"
        raise TypeError(what) from error
    if not notes:
        raise ValueError(f"there is no note to draw{whose}")
    if tempo is not None:
        if not 0 < tempo < math.inf:
            raise ValueError(f"tempo is a positive number of quarter notes a minute, not {tempo!r}")
        song = Song((), ((0.0, float(tempo)),))
    table = np.array(notes, np.float64)
    pitches, velocities, _, _, numbers = table.T.astype(np.int64)
    starts, ends = table.T[2:4]
    known, places = np.unique(numbers, return_inverse=True)
    read = (lambda i: f"track {i + 1}") if tracks is None else reader(tracks)
    names = tuple(clean(read(i)) for i in known.tolist())
    bars = np.zeros(0) if song is None else bar_lines(song, float(ends.max()))
    return Score(pitches, velocities, starts, ends, places.reshape(-1), names, bars)


def bar_lines(song: Song, seconds: float) -> Floats:
    """The times (s) at which bars of four quarter notes begin, up to ``seconds``."""
    last = float(song.quarters(seconds))
    if not last / BAR < MOST_BARS:
        return np.zeros(0)
    lines: Floats = song.seconds_at(BAR * np.arange(int(last / BAR) + 1))
    return lines[lines <= seconds]


def pitch_name(pitch: int) -> str:
    """A pitch as musicians write it: 60, middle C, is "C4"."""
    return f"{OCTAVE[pitch % 12]}{pitch // 12 - 1}".replace("-", "−")


def clock(seconds: float, digits: int = 0) -> str:
    """Minutes and seconds: "1:05", with one digit "1:05.3"."""
    whole = round(seconds * 10**digits)
    minutes, rest = divmod(whole, 60 * 10**digits)
    return f"{minutes}:{rest / 10**digits:0{3 + digits if digits else 2}.{digits}f}"


def time_ticks(low: float, high: float, about: int) -> list[float]:
    """Round times within a range, at most ``about`` of them or nearly: tenths, seconds, parts of minutes, minutes."""
    step = next((s for s in _STEPS if (high - low) / s <= about), _STEPS[-1])
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
