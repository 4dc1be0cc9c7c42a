"""The two languages of music that a model may learn: chorales and performances. Both are made of whole numbers.

A sequence begins with a token of its own, ``begin``, so that the first note is predicted, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..programs.validation import Ids
from .chorales import ROWS, VOICES, grid_of, spans
from .midi import Song
from .notes import PITCHES, Note, stretched
from .performance import EVENTS, NOTE_OFF, SET_VELOCITY, STEPS, TIME_SHIFT, decode_in_order, encode, name

SILENCE, CHORALE_BEGIN = 0, 128
TEMPO, LOUDNESS = 100.0, 80  # quarter notes a minute, and the velocity, of a chorale that has none
OCTAVE = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")


class Written(NamedTuple):
    """Notes, and where they are in the tokens that they are written in.

    Attributes:
        notes: in the order of their first tokens.
        first: of each note, the place of its first token (N,).
        owner: of each token, the number of the note that it belongs to, or -1 (T,).
    """

    notes: list[Note]
    first: Ids
    owner: Ids


class Rules:
    """Which tokens may follow those of a decoder's rows (N); it begins before their first. These are a chorale's: any
    pitch or silence, but no beginning inside of it; it ends when it has its tokens."""

    mask = np.arange(129)[None] != CHORALE_BEGIN

    def add(self, tokens: Ids) -> None:
        """The next token of each row (N,)."""

    def allowed(self) -> Ids:
        """True at the tokens that may come next, (N, V) or (1, V); each row has one."""
        return self.mask

    def reorder(self, rows: Ids) -> None:
        """Continue row rows[n] as row n."""

    def over(self) -> bool:
        """Whether all rows have come to their end, and only a token that says so may follow."""
        return False


class Chorales:
    """Four voices in sixteenth notes (Huang et al. 2018, section 4.1): soprano, alto, tenor and bass of the first step,
    then of the next. A token is a pitch, 0 for silence; a piece is an array (steps, 4) with -1 for silence.

    Attributes, as of ``Performances``:
        kind: the setting. plural: for a person. vocabulary: V. begin: the token before a piece. unit: tokens of a step.
    """

    kind, plural, vocabulary, begin, unit = "chorales", "chorales", 129, CHORALE_BEGIN, len(VOICES)

    def encode(self, piece: Any, factor: float = 1.0) -> Ids:
        """A piece as tokens, ``begin`` among them: int64 (T,). A performance is ``factor`` times as long."""
        cells = np.asarray(piece, np.int64).ravel()
        return np.concatenate([[self.begin], np.maximum(cells, SILENCE)])

    def piece_of(self, song: Song) -> Any:
        """A song as a piece. Raises ValueError: it cannot be one."""
        return np.asarray(grid_of(song), np.int64)

    def moved(self, ids: Ids, semitones: Any) -> Ids:
        """Tokens whose pitches are higher by a number, or each by its own (T,)."""
        return np.where((ids > SILENCE) & (ids < PITCHES), ids + semitones, ids)

    def pitches(self, ids: Ids) -> Ids:
        """The pitches in tokens, in no order."""
        return ids[(ids > SILENCE) & (ids < PITCHES)]

    def grid(self, ids: Ids) -> Ids:
        """The whole steps of a sequence as a piece."""
        cells = np.asarray(ids, np.int64)[1:]
        cells = cells[: len(cells) // self.unit * self.unit].reshape(-1, self.unit)
        return np.where((cells > SILENCE) & (cells < PITCHES), cells, -1)

    def decode(self, ids: Ids, tempo: float = TEMPO) -> Written:
        """The notes of a sequence that begins with ``begin``. All cells of a held note are its."""
        row = 60 / tempo / ROWS
        cells = sorted(spans(self.grid(ids)), key=lambda span: (span.first, span.voice))
        firsts = np.array([1 + self.unit * span.first + span.voice for span in cells], np.int64)
        owner = np.full(len(ids), -1, np.int64)
        for number, span in enumerate(cells):
            owner[firsts[number] : 1 + self.unit * span.end : self.unit] = number
        notes = [Note(s.pitch, LOUDNESS, s.first * row, s.end * row, s.voice) for s in cells]
        return Written(notes, firsts, owner)

    def line(self, ids: Ids, most: int) -> str:
        """The beginning of a sequence, ``most`` tokens, for a person: chords from the soprano down, each as long as it
        sounds."""
        rows = self.grid(ids[: 1 + most]).tolist()
        chords = (" ".join("-" if p < 0 else f"{OCTAVE[p % 12]}{p // 12 - 1}" for p in row) for row in rows)
        lengths = [(chord, len([*same])) for chord, same in groupby(chords)]
        return ", ".join(f"{chord} ×{n}" if n > 1 else chord for chord, n in lengths)

    def seconds(self, ids: Ids, tempo: float) -> Ids:
        """The time that each token takes (T,)."""
        return np.where(ids == self.begin, 0.0, 60 / tempo / ROWS / self.unit)

    def most_tokens(self, seconds: float, tempo: float) -> int:
        """The most tokens that so many seconds have: whole steps, one at least."""
        return self.unit * max(1, round(seconds * tempo / 60 * ROWS))

    def rules(self, rows: int, seconds: float) -> Rules:
        """The rules by which sequences of so many seconds are written, from ``begin`` on."""
        return Rules()


class Performances:
    """A pianist's events (Oore et al. 2018, arXiv 1808.03715, section 3.1), see ``music.performance``. A piece
    is a list of notes. The methods are those of ``Chorales``."""

    kind, plural, vocabulary, begin, unit = "performance", "performances", EVENTS + 1, EVENTS, 1

    def encode(self, piece: Any, factor: float = 1.0) -> Ids:
        notes: Sequence[Note] = piece if factor == 1 else stretched(piece, factor)
        return np.concatenate([[self.begin], np.asarray(encode(notes), np.int64)])

    def piece_of(self, song: Song) -> Any:
        return list(song.notes)

    def moved(self, ids: Ids, semitones: Any) -> Ids:
        return np.where(ids < TIME_SHIFT, ids + semitones, ids)

    def pitches(self, ids: Ids) -> Ids:
        return ids[ids < NOTE_OFF]

    def decode(self, ids: Ids, tempo: float = TEMPO) -> Written:
        """The events that begin and end a note belong to it; times and velocities to none."""
        notes, owner = decode_in_order(ids[1:])
        return Written(notes, np.flatnonzero(ids < NOTE_OFF), np.concatenate([[-1], owner]))

    def line(self, ids: Ids, most: int) -> str:
        return ", ".join(name(int(i)) for i in ids[1 : 1 + most])

    def seconds(self, ids: Ids, tempo: float) -> Ids:
        return shifts(ids) / STEPS

    def most_tokens(self, seconds: float, tempo: float) -> int:
        """At each instant every key may be released and struck, each after a velocity."""
        return (round(STEPS * seconds) + 1) * (4 * PITCHES + 2)

    def rules(self, rows: int, seconds: float) -> Rules:
        return Playing(rows, max(1, round(STEPS * seconds)))


def shifts(ids: Ids) -> Ids:
    """The time that each event of a performance takes, in its steps of 10 ms (T,)."""
    return np.where((ids >= TIME_SHIFT) & (ids < SET_VELOCITY), ids - TIME_SHIFT + 1, 0)


class Playing(Rules):
    """What a pianist can do: release keys that are down, strike those that are up, until so many steps are over; then
    ``Performances.begin``, and nothing else, is allowed. At one instant each key is released and struck once at most,
    and the velocity does not change twice in a row: so time passes, whatever a model prefers."""

    def __init__(self, rows: int, steps: int) -> None:
        self.limit = steps
        self.time = np.zeros(rows, np.int64)
        self.down = np.zeros((rows, PITCHES), bool)
        self.struck = np.zeros((rows, PITCHES), bool)  # at this instant
        self.loudness = np.zeros(rows, bool)  # the last event is a velocity

    def add(self, tokens: Ids) -> None:
        rows, took = np.arange(len(tokens)), shifts(tokens)
        self.time += took
        self.struck[took > 0] = False
        on, off = tokens < NOTE_OFF, (tokens >= NOTE_OFF) & (tokens < TIME_SHIFT)
        self.down[rows[on], tokens[on]] = self.struck[rows[on], tokens[on]] = True
        self.down[rows[off], tokens[off] - NOTE_OFF] = False
        self.loudness = (tokens >= SET_VELOCITY) & (tokens < EVENTS)

    def allowed(self) -> Ids:
        rows = len(self.time)
        mask = np.zeros((rows, EVENTS + 1), bool)
        mask[:, :NOTE_OFF] = ~self.down & ~self.struck
        mask[:, NOTE_OFF:TIME_SHIFT] = self.down & ~self.struck
        mask[:, TIME_SHIFT:SET_VELOCITY] = True
        mask[:, SET_VELOCITY:EVENTS] = ~self.loudness[:, None]
        mask[self.time >= self.limit] = False
        mask[:, EVENTS] = self.time >= self.limit
        return mask

    def reorder(self, rows: Ids) -> None:
        self.time, self.down = self.time[rows], self.down[rows]
        self.struck, self.loudness = self.struck[rows], self.loudness[rows]

    def over(self) -> bool:
        return bool((self.time >= self.limit).all())


Language = Chorales | Performances
LANGUAGES: dict[str, Language] = {"chorales": Chorales(), "performance": Performances()}
KINDS = tuple(LANGUAGES)
