"""What ``piano_roll`` returns: a page that plays and scrolls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.viz.numbers import coded
from minigrad.viz.page import Page
from minigrad.viz.vector import clean
from minigrad.viz.view import View

from .score import Arcs, Score, arcs_of, score_of

if TYPE_CHECKING:
    from ...music.midi import Song
    from ...music.notes import Note

SCRIPTS = tuple(f"roll{part}.js" for part in ("", "_drawing", "_arcs", "_sound", "_transport", "_start"))
WEIGHT = 65_535  # the largest weight, in the page


@dataclass(frozen=True)
class PianoRoll(View):
    """Notes over time. In a notebook it shows itself.

    Attributes:
        score: the notes, in the order given. title: of the page.
        arcs: what they looked at, or None.
        bars: time is shown in bars at first.
    """

    score: Score
    title: str = "Piano roll"
    arcs: Arcs | None = None
    bars: bool = False

    def __repr__(self) -> str:
        count, tracks = len(self.score), len(self.score.names)
        text = f"{count:,} note{'s' * (count != 1)} in {self.score.seconds:,.1f} s, {tracks} track{'s' * (tracks != 1)}"
        if self.arcs:
            text += f", attention of {self.arcs.layers} layers and {self.arcs.heads} heads"
        return f"<piano roll of {text}; .save('x.html')>"

    def looked_at(self, note: int, layer: int = 0, head: int | None = None) -> list[tuple[int, float]]:
        """The earlier notes that a note looked at, and the weights, the largest first; at most eight.

        Args:
            note: its place in the music given. layer, head: which; None takes the mean of all heads.

        Raises ValueError: there is no such note, layer or head, or no attention at all.
        """
        if self.arcs is None:
            raise ValueError("there is no attention here: give it as piano_roll(music, attention=weights)")
        return self.arcs.of(note, layer, head)

    def page(self) -> Page:
        """A roll to scroll, to hear and to point at; one file that works offline."""
        score = self.score
        data = {
            "title": self.title,
            "names": list(score.names),
            "span": list(score.span),
            "barred": self.bars,
            "pitches": coded(score.pitches, "u1"),
            "velocities": coded(score.velocities, "u1"),
            "starts": coded(score.starts, "<f4"),
            "ends": coded(score.ends, "<f4"),
            "tracks": coded(score.tracks, "<i4"),
            "order": coded(score.order, "<i4"),
            "bars": coded(score.bars, "<f4"),
            "attention": None if self.arcs is None else _attention(self.arcs),
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
    """Notes over time, to see and to hear, and what each note looked at when a model chose it.

        piano_roll("song.mid").save("song.html")

    Args:
        music: the path of a MIDI file, a ``minigrad_models.music`` Song, or a list of Notes.
        attention: (L, H, N, N), an array or Tensor: row n has how much note n of those given looked at each note
            before it. What stands at itself and at later notes is left out; of each layer, head and note the eight
            largest are kept, so that a page stays small, and as many of the mean over the heads of a layer.
        tempo: quarter notes a minute, of notes that have none with them, or in place of a file's. Bars, of four
            quarter notes, are then shown in place of seconds; with a file's own tempo the page has them to choose.
        tracks: names of the tracks by their numbers: a list, a dictionary or a function.
        title: of the page; by default a file's name.

    Raises TypeError: music is neither. ValueError: there is no note, or one with numbers that no note has; attention of
    another shape, or with negative or infinite weights; a tempo that is none. FileNotFoundError, ValueError: the file
    cannot be read.
    """
    score = score_of(music, tempo, tracks)
    arcs = None if attention is None else arcs_of(attention, len(score))
    if title is None:
        title = Path(music).stem if isinstance(music, str | os.PathLike) else "Piano roll"
    return PianoRoll(score, clean(title), arcs, tempo is not None)


def _attention(arcs: Arcs) -> dict[str, Any]:
    """As the page reads it: weights as parts of the largest, in 16 bits."""
    most = float(arcs.weights.max()) or 1.0
    return {
        "layers": arcs.layers,
        "heads": arcs.heads,
        "kept": arcs.notes.shape[-1],
        "most": most,
        "notes": coded(arcs.notes, "<i4"),
        "weights": coded(np.rint(arcs.weights / most * WEIGHT), "<u2"),
    }
