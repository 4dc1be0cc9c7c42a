"""``piano_roll`` shows and plays notes over time, with a model's attention. For each note, layer and head, a page
contains only the largest weights to earlier notes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minigrad.backend.host import host
from minigrad.viz.numbers import Array, Floats, coded
from minigrad.viz.page import Page
from minigrad.viz.vector import clean
from minigrad.viz.view import View

from .texts import reader

if TYPE_CHECKING:
    from ..music.midi import Note, Song

SCRIPTS = tuple(f"roll{part}.js" for part in ("", "_drawing", "_arcs", "_sound", "_transport", "_start"))
DTYPES = {"pitches": "u1", "velocities": "u1", "starts": "<f4", "ends": "<f4", "tracks": "<i4", "bars": "<f4"}
WEIGHT = 65_535  # the largest weight on the page
BAR = 4.0  # quarter notes
MOST_BARS = 20_000  # with more, the page has no bars, as they would be too narrow to see
KEPT = 8  # earlier notes per layer, head and note
MOST = 4_000_000  # weights on a page: about 20 MB
NONE = -1  # padding if a note attends to fewer notes
_CELLS = 1 << 21  # weights to sort together


@dataclass(frozen=True)
class Score:
    """N notes."""

    pitches: Array  # (N,) int64, MIDI note numbers
    velocities: Array  # (N,) int64
    starts: Floats  # (N,) float64, seconds
    ends: Floats
    tracks: Array  # (N,) int64, indices into ``names``
    names: tuple[str, ...]  # of the tracks, by number
    bars: Floats  # the start of each bar of four quarter notes in seconds; empty if the tempo is unknown

    def __len__(self) -> int:
        return len(self.pitches)

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and highest rows. They include all pitches, one key on each side, and at least an octave."""
        low, high = int(self.pitches.min()) - 1, int(self.pitches.max()) + 1
        missing = max(11 - (high - low), 0)
        low, high = low - missing // 2, high + missing - missing // 2
        shift = max(-low, 0) or min(127 - high, 0)  # into MIDI's range
        return max(low + shift, 0), min(high + shift, 127)


class Arcs(NamedTuple):
    """The largest weights of N notes in L layers. Each layer has H heads, followed by the mean over these heads."""

    notes: Array  # (L, H + 1, N, K) int32: the earlier notes that a note attends to, by descending weight; then NONE
    weights: Array  # (L, H + 1, N, K) float32: their weights


@dataclass(frozen=True)
class PianoRoll(View):
    """Notes over time. In a notebook it displays itself."""

    score: Score  # the notes, in the given order
    title: str = "Piano roll"
    arcs: Arcs | None = None  # the attention between notes, if known
    bars: bool = False  # whether the page initially shows time in bars

    def __repr__(self) -> str:
        count, tracks = len(self.score), len(self.score.names)
        seconds = float(self.score.ends.max())
        text = f"{count:,} note{'s' * (count != 1)} in {seconds:,.1f} s, {tracks} track{'s' * (tracks != 1)}"
        if self.arcs:
            layers, rows = self.arcs.notes.shape[:2]
            text += f", attention of {layers} layers and {rows - 1} heads"
        return f"<piano roll of {text}; .save('x.html')>"

    def page(self) -> Page:
        """An interactive roll that plays, as a single file that works offline."""
        score, attention = self.score, None
        if self.arcs is not None:  # weights as 16-bit fractions of the largest
            most = float(self.arcs.weights.max()) or 1.0
            layers, rows, _, width = self.arcs.notes.shape
            weights = coded(np.rint(self.arcs.weights / most * WEIGHT), "<u2")
            attention = {"layers": layers, "heads": rows - 1, "kept": width, "most": most}
            attention |= {"notes": coded(self.arcs.notes, "<i4"), "weights": weights}
        data = {
            "title": self.title,
            "names": list(score.names),
            "span": list(score.span),
            "barred": self.bars,
            **{name: coded(getattr(score, name), dtype) for name, dtype in DTYPES.items()},
            "order": coded(np.lexsort((score.pitches, score.starts)), "<i4"),  # by time, then upwards
            "attention": attention,
        }
        return Page.of("roll", self.title, {"roll": data}, SCRIPTS)


def piano_roll(
    music: str | os.PathLike[str] | Song | Sequence[Note],
    *,
    attention: Any = None,
    tempo: float | None = None,
    tracks: Any = None,
    title: str | None = None,
) -> PianoRoll:
    """Show and play notes over time, with the attention of each note to earlier notes.

        piano_roll("song.mid").save("song.html")

    Args:
        music: the path to a MIDI file, a ``minigrad_models.music`` Song, or a list of Notes.
        attention: an array or Tensor (L, H, N, N). Row n has the weights of note n for each note before it. To keep the
            page small, it shows only the eight largest weights of each note in each head, and in the mean over a
            layer's heads.
        tempo: quarter notes per minute, for notes without a tempo or to replace that of a file. The page then shows
            bars of four quarter notes instead of seconds; with a file's own tempo, bars are an option.
        tracks: the names of the tracks by number: a list, a dictionary or a function.
        title: the page title; by default the file name.

    Raises TypeError if music has the wrong type; ValueError if there are no notes, a note or the tempo is out of range,
    or attention has the wrong shape or negative or infinite weights; and FileNotFoundError or ValueError if the file
    cannot be read.
    """
    score = score_of(music, tempo, tracks)
    arcs = None if attention is None else arcs_of(attention, len(score))
    what = Path(music).stem if isinstance(music, str | os.PathLike) else f"{len(score):,} note{'s' * (len(score) != 1)}"
    return PianoRoll(score, clean(f"Piano roll: {what}" if title is None else title), arcs, tempo is not None)


def score_of(music: Any, tempo: float | None, tracks: Any) -> Score:
    """The notes in a file, a Song or a list. Raises the errors of ``piano_roll``."""
    from ..music.midi import Note, Song, checked, read_midi

    song = None
    whose = f" in {Path(music).name}" if isinstance(music, str | os.PathLike) else ""
    if whose:
        music = read_midi(music)
    if isinstance(music, Song):
        music, song = music.notes, music
    try:
        notes = checked(Note(*note) for note in music)
    except TypeError as error:
        what = f"music must be the path to a MIDI file, a Song or a list of Notes, not {type(music).__name__}"
        raise TypeError(what) from error
    if not notes:
        raise ValueError(f"there are no notes to draw{whose}")
    if tempo is not None:
        if not 0 < tempo < math.inf:
            raise ValueError(f"tempo must be a positive number of quarter notes per minute, not {tempo!r}")
        song = Song((), ((0.0, float(tempo)),))
    table = np.array(notes, np.float64)
    pitches, velocities, _, _, numbers = table.T.astype(np.int64)
    starts, ends = table.T[2:4]
    distinct, places = np.unique(numbers, return_inverse=True)
    read = (lambda i: f"track {i + 1}") if tracks is None else reader(tracks)
    names = tuple(clean(read(i)) for i in distinct.tolist())
    bars = np.zeros(0) if song is None else bar_lines(song, float(ends.max()))
    return Score(pitches, velocities, starts, ends, places.reshape(-1), names, bars)


def bar_lines(song: Song, seconds: float) -> Floats:
    """The times (s) at which bars of four quarter notes begin, up to ``seconds``."""
    last = float(song.quarters(seconds))
    if not last / BAR < MOST_BARS:
        return np.zeros(0)
    lines: Floats = song.seconds_at(BAR * np.arange(int(last / BAR) + 1))
    return lines[lines <= seconds]


def arcs_of(attention: Any, count: int) -> Arcs:
    """The arcs for the attention (L, H, N, N) between ``count`` notes."""
    array = host(attention)
    shape = array.shape
    if array.ndim != 4 or shape[2:] != (count, count) or 0 in shape:
        raise ValueError(f"attention must be (layers, heads, {count}, {count}) for {count} notes, not {shape}")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"attention must be real numbers, not {array.dtype}")
    layers, heads, width = shape[0], shape[1], min(KEPT, count)
    if (total := layers * (heads + 1) * count * width) > MOST:
        raise ValueError(f"{total:,} weights are too many for a page, at most {MOST:,}: use fewer layers or heads")
    size = layers, heads + 1, count, width
    arcs = Arcs(np.full(size, NONE, np.int32), np.zeros(size, np.float32))
    many = max(_CELLS // (heads * count), 1)
    for layer in range(layers):
        for start in range(0, count, many):
            part = slice(start, min(start + many, count))
            rows = array[layer, :, part].astype(np.float32)
            if (wrong := ~np.isfinite(rows) | (rows < 0)).any():
                head, row, column = np.argwhere(wrong)[0].tolist()
                raise ValueError(
                    f"attention must be finite and not negative: in layer {layer}, head {head}, note {start + row} has "
                    f"the weight {rows[head, row, column]:g} for note {column}"
                )
            arcs.notes[layer, :, part], arcs.weights[layer, :, part] = _largest(rows[..., : part.stop], start, width)
    return arcs


def _largest(rows: Array, start: int, most: int) -> tuple[Array, Array]:
    """The notes and weights, (H + 1, R, K) each, from rows (H, R, N) from note ``start`` on, and from their mean."""
    count, width = rows.shape[1:]
    later = np.arange(width) >= np.arange(start, start + count)[:, None]  # (R, N): including the note itself
    rows = np.where(later, 0, np.concatenate([rows, rows.mean(0, keepdims=True)]))
    size = min(most, width)
    places = np.argpartition(-rows, size - 1, axis=-1)[..., :size]
    places.sort(-1)  # earlier notes come first in a tie
    weights = np.take_along_axis(rows, places, -1)
    order = np.argsort(-weights, axis=-1, kind="stable")
    places, weights = np.take_along_axis(places, order, -1), np.take_along_axis(weights, order, -1)
    wide = [(0, 0), (0, 0), (0, most - size)]
    return np.pad(np.where(weights > 0, places, NONE), wide, constant_values=NONE), np.pad(weights, wide)
