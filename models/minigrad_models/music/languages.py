"""The two token languages for music that a model can learn: chorales and performances. Tokens are integers.

A sequence begins with a special ``begin`` token, so that the model predicts even the first note. Performance events
follow Oore et al. 2018, "This Time with Feeling" (arXiv 1808.03715, section 3.1):

| ids | event | meaning |
|---|---|---|
| 0 to 127 | NOTE_ON<pitch> | a note begins, with the last velocity that was set |
| 128 to 255 | NOTE_OFF<pitch> | the earliest sounding note of this pitch ends |
| 256 to 355 | TIME_SHIFT<milliseconds> | 10 to 1000 ms pass, in steps of 10 |
| 356 to 387 | SET_VELOCITY<velocity> | the velocities from 4k to 4k + 3, which are played as 4k (or as 1 if k is 0) |

``decode(encode(notes))`` preserves each note's pitch, its velocity as played, and its onset and end to the nearest 10
ms; a note shorter than a step becomes one step long. The language cannot express tracks. It also cannot express a note
that lies within a longer note of the same pitch, which requires two instruments: the two notes swap their ends, which
sounds the same.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..programs.validation import Ids
from .chorales import ROWS, VOICES, grid_of, spans
from .midi import PITCHES, Note, Song, checked, ordered, stretched

NOTE_ON, NOTE_OFF, TIME_SHIFT, SET_VELOCITY, EVENTS = 0, 128, 256, 356, 388
"""The first id of each kind of event, and the number of ids."""
STEPS = 100  # per second
LONGEST_SHIFT = SET_VELOCITY - TIME_SHIFT  # steps
BIN = 4  # velocities
LONGEST_OPEN = 5.0
"""Seconds after which ``decode`` ends a note without a NOTE_OFF, unless the piece ends earlier."""
_FIRST_BIN = 16  # before a velocity is set
SILENCE, CHORALE_BEGIN = 0, 128
TEMPO, LOUDNESS = 100.0, 80  # default tempo (quarter notes per minute) and velocity of a chorale
OCTAVE = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")


class Written(NamedTuple):
    """Notes, and their positions in a sequence of tokens."""

    notes: list[Note]  # in the order of their first tokens
    first: Ids  # the position of each note's first token (N,)
    owner: Ids  # the index of the note that each token belongs to, or -1 (T,)


class Rules:
    """Rules that restrict the next token of each row of a decoder (N rows). The base class implements the rules for
    chorales: any pitch or silence, but no second ``begin``. A chorale ends only at its maximum number of tokens."""

    mask = np.arange(129)[None] != CHORALE_BEGIN

    def add(self, tokens: Ids) -> None:
        """Add the next token of each row (N,)."""

    def allowed(self) -> Ids:
        """A mask, (N, V) or (1, V), that is True for the tokens allowed next: at least one in each row."""
        return self.mask

    def reorder(self, rows: Ids) -> None:
        """Continue row rows[n] as row n."""

    def over(self) -> bool:
        """Whether all rows have ended, so that only the end token is allowed."""
        return False


def encode(notes: Iterable[Note]) -> Ids:
    """The events (T,), int64, for notes in any order.

    Among simultaneous events, NOTE_OFFs precede NOTE_ONs, and both are in order of pitch. A velocity is set only when
    its bin changes. Time spans of over a second take several shifts, all of a second except the last. Raises ValueError
    if a field of a note is out of range (see ``Note``).
    """
    table = np.array([(n.start, n.end, n.pitch, n.velocity) for n in checked(notes)], np.float64).reshape(-1, 4)
    start = np.rint(table[:, 0] * STEPS).astype(np.int64)
    end = np.maximum(np.rint(table[:, 1] * STEPS).astype(np.int64), start + 1)
    pitch, velocity = table[:, 2].astype(np.int64), table[:, 3].astype(np.int64) // BIN
    time, begins = np.concatenate([end, start]), np.repeat([False, True], len(table))
    # If notes begin together, the first to end is written first, as ``decode`` expects.
    order = np.lexsort((*(np.tile(key, 2) for key in (velocity, end, pitch)), begins, time))
    time, begins, pitch, velocity = time[order], begins[order], np.tile(pitch, 2)[order], np.tile(velocity, 2)[order]
    onsets = np.flatnonzero(begins)
    changes = np.zeros(len(order), np.int64)
    changes[onsets] = np.diff(velocity[onsets], prepend=-1) != 0
    gap = np.diff(time, prepend=0)
    shifts = -(-gap // LONGEST_SHIFT)
    # Shifts come first, then a velocity, then the event itself: last[i] is the position of event i.
    last = np.cumsum(shifts + changes + 1) - 1
    ids = np.full(last[-1] + 1 if len(last) else 0, TIME_SHIFT + LONGEST_SHIFT - 1, np.int64)
    ids[last] = np.where(begins, NOTE_ON, NOTE_OFF) + pitch
    ids[(last - 1)[changes > 0]] = SET_VELOCITY + velocity[changes > 0]
    rest = gap - (shifts - 1) * LONGEST_SHIFT  # the last shift of an event
    ids[(last - changes - 1)[shifts > 0]] = TIME_SHIFT + rest[shifts > 0] - 1
    return ids


def decode(ids: Iterable[int] | Ids) -> list[Note]:
    """The notes that events describe, sorted by onset, then pitch, all in track 0.

    Events may be in any order, as a model may generate any sequence. A NOTE_OFF without a note is ignored, a NOTE_ON
    for a sounding pitch begins another note, and notes last at least a step. A note without a NOTE_OFF ends with the
    piece, or ``LONGEST_OPEN`` after its onset. The initial velocity is 64. Raises ValueError if an id is not an event.
    """
    return ordered(decode_in_order(_events(ids))[0])


def decode_in_order(ids: Ids) -> tuple[list[Note], Ids]:
    """The notes of ``decode``, in the order of their NOTE_ONs; and, for each event (T,), the index of the note that it
    begins or ends, or -1."""
    now, velocity = 0, BIN * _FIRST_BIN
    onsets: list[tuple[int, int, int]] = []  # pitch, velocity and onset of each note
    ends: dict[int, int] = {}  # by the note's number
    sounding: defaultdict[int, deque[int]] = defaultdict(deque)  # pitch -> notes: the first to begin ends first
    owner = np.full(len(ids), -1, np.int64)
    for place, event in enumerate(ids.tolist()):
        if event >= SET_VELOCITY:
            velocity = max(1, BIN * (event - SET_VELOCITY))
        elif event >= TIME_SHIFT:
            now += event - TIME_SHIFT + 1
        elif event < NOTE_OFF:
            owner[place] = len(onsets)
            sounding[event].append(len(onsets))
            onsets.append((event, velocity, now))
        elif waiting := sounding[event - NOTE_OFF]:
            owner[place] = waiting[0]
            ends[waiting.popleft()] = now
    notes = []
    for number, (pitch, struck, onset) in enumerate(onsets):
        end = ends.get(number, min(now, onset + round(LONGEST_OPEN * STEPS)))
        notes.append(Note(pitch, struck, onset / STEPS, max(end, onset + 1) / STEPS))
    return notes, owner


def name(event: int) -> str:
    """An event's name: "NOTE_ON<60>" for 60, "TIME_SHIFT<500>" for 305. Raises ValueError if it is not an event."""
    _events([event])
    if event >= SET_VELOCITY:
        return f"SET_VELOCITY<{max(1, BIN * (event - SET_VELOCITY))}>"
    if event >= TIME_SHIFT:
        return f"TIME_SHIFT<{(event - TIME_SHIFT + 1) * 1000 // STEPS}>"
    return f"NOTE_OFF<{event - NOTE_OFF}>" if event >= NOTE_OFF else f"NOTE_ON<{event}>"


def _events(ids: Iterable[int] | Ids) -> Ids:
    """The ids as an array (T,). Raises ValueError if one is not an event."""
    array = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"events must be a sequence of integers, not {array.ndim}-dimensional {array.dtype}")
    wrong = array[(array < 0) | (array >= EVENTS)]
    if wrong.size:
        raise ValueError(f"{wrong[0]} is not an event: event ids are 0 to {EVENTS - 1}")
    return array.astype(np.int64)


class Chorales:
    """Four voices in sixteenth notes (Huang et al. 2018, section 4.1): soprano, alto, tenor and bass of one step, then
    of the next step. A token is a pitch, or 0 for silence. A piece is an array (steps, 4), with -1 for silence.

    Attributes, as in ``Performances``:
        kind: the setting. plural: for messages. vocabulary: V. begin: the token before a piece. unit: tokens per step.
    """

    kind, plural, vocabulary, begin, unit = "chorales", "chorales", 129, CHORALE_BEGIN, len(VOICES)

    def encode(self, piece: Any, factor: float = 1.0) -> Ids:
        """A piece as tokens (T,), int64, which start with ``begin``. Performances are stretched by ``factor``."""
        cells = np.asarray(piece, np.int64).ravel()
        return np.concatenate([[self.begin], np.maximum(cells, SILENCE)])

    def piece_of(self, song: Song) -> Any:
        """A song as a piece. Raises ValueError if this is not possible."""
        return np.asarray(grid_of(song), np.int64)

    def moved(self, ids: Ids, semitones: Any) -> Ids:
        """Tokens (T,) transposed by ``semitones``, which is a number or an array with one for each token."""
        return np.where((ids > SILENCE) & (ids < PITCHES), ids + semitones, ids)

    def pitches(self, ids: Ids) -> Ids:
        """The pitches in tokens."""
        return ids[(ids > SILENCE) & (ids < PITCHES)]

    def grid(self, ids: Ids) -> Ids:
        """The complete steps of a sequence as a piece."""
        cells = np.asarray(ids, np.int64)[1:]
        cells = cells[: len(cells) // self.unit * self.unit].reshape(-1, self.unit)
        return np.where((cells > SILENCE) & (cells < PITCHES), cells, -1)

    def decode(self, ids: Ids, tempo: float = TEMPO) -> Written:
        """The notes of a sequence that begins with ``begin``. A held note owns the tokens of all its cells."""
        row = 60 / tempo / ROWS
        cells = sorted(spans(self.grid(ids)), key=lambda span: (span.first, span.voice))
        firsts = np.array([1 + self.unit * span.first + span.voice for span in cells], np.int64)
        owner = np.full(len(ids), -1, np.int64)
        for number, span in enumerate(cells):
            owner[firsts[number] : 1 + self.unit * span.end : self.unit] = number
        notes = [Note(s.pitch, LOUDNESS, s.first * row, s.end * row, s.voice) for s in cells]
        return Written(notes, firsts, owner)

    def line(self, ids: Ids, most: int) -> str:
        """The first ``most`` tokens in a sequence as text: chords from the soprano down, each with its length."""
        rows = self.grid(ids[: 1 + most]).tolist()
        chords = (" ".join("-" if p < 0 else f"{OCTAVE[p % 12]}{p // 12 - 1}" for p in row) for row in rows)
        lengths = [(chord, len([*same])) for chord, same in groupby(chords)]
        return ", ".join(f"{chord} ×{n}" if n > 1 else chord for chord, n in lengths)

    def seconds(self, ids: Ids, tempo: float) -> Ids:
        """The duration of each token in seconds (T,)."""
        return np.where(ids == self.begin, 0.0, 60 / tempo / ROWS / self.unit)

    def most_tokens(self, seconds: float, tempo: float) -> int:
        """The maximum number of tokens in ``seconds``, which are rounded to whole steps, but at least one step."""
        return self.unit * max(1, round(seconds * tempo / 60 * ROWS))

    def rules(self, rows: int, seconds: float) -> Rules:
        """The rules for generating sequences that begin with ``begin`` and last ``seconds``."""
        return Rules()


class Performances:
    """A pianist's events. A piece is a list of notes. For the methods see ``Chorales``."""

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
        """The events that begin and end a note belong to it; times and velocities belong to no note."""
        notes, owner = decode_in_order(ids[1:])
        return Written(notes, np.flatnonzero(ids < NOTE_OFF), np.concatenate([[-1], owner]))

    def line(self, ids: Ids, most: int) -> str:
        return ", ".join(name(int(i)) for i in ids[1 : 1 + most])

    def seconds(self, ids: Ids, tempo: float) -> Ids:
        return shifts(ids) / STEPS

    def most_tokens(self, seconds: float, tempo: float) -> int:
        """An upper bound: each key is released and struck once per step, each time after a velocity."""
        return (round(STEPS * seconds) + 1) * (4 * PITCHES + 2)

    def rules(self, rows: int, seconds: float) -> Rules:
        return Playing(rows, max(1, round(STEPS * seconds)))


def shifts(ids: Ids) -> Ids:
    """The duration of each event in a performance, in steps of 10 ms (T,)."""
    return np.where((ids >= TIME_SHIFT) & (ids < SET_VELOCITY), ids - TIME_SHIFT + 1, 0)


class Playing(Rules):
    """Rules that keep the first ``steps`` steps playable: only keys that are down can be released, and only keys that
    are up can be struck. After these steps, only ``Performances.begin`` is allowed. Within a step, each key is released
    and struck at most once, and the velocity does not change twice in a row, so that time advances with any model."""

    def __init__(self, rows: int, steps: int) -> None:
        self.limit = steps
        self.time = np.zeros(rows, np.int64)
        self.down = np.zeros((rows, PITCHES), bool)
        self.struck = np.zeros((rows, PITCHES), bool)  # within this step
        self.loudness = np.zeros(rows, bool)  # whether the last event is a velocity

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
