"""The notes of a piano roll as arrays, in the order given; and what each note
looked at, without what is small: of all earlier notes the few largest weights, by layer and head."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.backend.host import host
from minigrad.viz.numbers import Array, Floats, checked_number
from minigrad.viz.vector import clean

from ..texts import reader

if TYPE_CHECKING:
    from ...music.midi import Song

BAR = 4.0  # quarter notes
MOST_BARS = 20_000  # of a tempo that makes more there are none: nobody could tell them apart
KEPT = 8  # earlier notes of a layer, head and note
MOST = 4_000_000  # weights in a page: some 20 MB
NONE = -1  # in place of a note, where a note looked at fewer
_CELLS = 1 << 21  # weights that are sorted at once


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


@dataclass(frozen=True)
class Arcs:
    """The largest weights of N notes in L layers of H heads, and behind these of each layer's mean over its heads.

    Attributes:
        notes: (L, H + 1, N, K) int32: the earlier notes that a note looked at, by falling weight; then NONE.
        weights: (L, H + 1, N, K) float32: how much.
    """

    notes: Array
    weights: Array

    @property
    def layers(self) -> int:
        """How many there are."""
        return len(self.notes)

    @property
    def heads(self) -> int:
        """How many a layer has."""
        return self.notes.shape[1] - 1

    def of(self, note: int, layer: int = 0, head: int | None = None) -> list[tuple[int, float]]:
        """The notes that a note looked at, and their weights, the largest first; ``head``: None for the mean of all."""
        layer = checked_number("layer", layer, self.layers)
        head = self.heads if head is None else checked_number("head", head, self.heads)
        place = (layer, head, checked_number("note", note, self.notes.shape[2]))
        pairs = zip(self.notes[place].tolist(), self.weights[place].tolist(), strict=True)
        return [(other, weight) for other, weight in pairs if other != NONE]


def arcs_of(attention: Any, count: int) -> Arcs:
    """The arcs in the attention (L, H, N, N) of ``count`` notes."""
    array = host(attention)
    shape = array.shape
    if array.ndim != 4 or shape[2:] != (count, count) or 0 in shape:
        raise ValueError(f"attention is (layers, heads, {count}, {count}) for {count} notes, not {shape}")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"attention must be real numbers, not {array.dtype}")
    layers, heads, kept = shape[0], shape[1], min(KEPT, count)
    if (size := layers * (heads + 1) * count * kept) > MOST:
        raise ValueError(f"{size:,} weights are too many for a page, which holds {MOST:,}: take fewer layers or heads")
    arcs = Arcs(
        np.full((layers, heads + 1, count, kept), NONE, np.int32),
        np.zeros((layers, heads + 1, count, kept), np.float32),
    )
    many = max(_CELLS // (heads * count), 1)
    for layer in range(layers):
        for start in range(0, count, many):
            part = slice(start, min(start + many, count))
            rows = array[layer, :, part].astype(np.float32)
            _check(rows, layer, start)
            arcs.notes[layer, :, part], arcs.weights[layer, :, part] = _largest(rows[..., : part.stop], start, kept)
    return arcs


def _check(rows: Array, layer: int, start: int) -> None:
    """Raises ValueError: one of the weights (H, R, N) of the rows from ``start`` on is none."""
    wrong = ~np.isfinite(rows) | (rows < 0)
    if wrong.any():
        head, row, column = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"attention must be finite and not negative: in layer {layer}, head {head}, note {start + row} has the "
            f"weight {rows[head, row, column]:g} for note {column}"
        )


def _largest(rows: Array, start: int, kept: int) -> tuple[Array, Array]:
    """Of rows (H, R, N) from the note ``start`` on, and of their mean: notes and weights (H + 1, R, K)."""
    count, width = rows.shape[1:]
    later = np.arange(width) >= np.arange(start, start + count)[:, None]  # (R, N): itself, too
    rows = np.where(later, 0, np.concatenate([rows, rows.mean(0, keepdims=True)]))
    kept_here = min(kept, width)
    places = np.argpartition(-rows, kept_here - 1, axis=-1)[..., :kept_here]
    places.sort(-1)  # of equal weights the earlier note comes first
    weights = np.take_along_axis(rows, places, -1)
    order = np.argsort(-weights, axis=-1, kind="stable")
    places, weights = np.take_along_axis(places, order, -1), np.take_along_axis(weights, order, -1)
    wide = [(0, 0), (0, 0), (0, kept - kept_here)]
    return np.pad(np.where(weights > 0, places, NONE), wide, constant_values=NONE), np.pad(weights, wide)
