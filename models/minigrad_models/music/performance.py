"""A performance as a language: notes as a sequence of events (Oore et al. 2018, "This Time with Feeling").

| ids | event | says |
|---|---|---|
| 0 to 127 | NOTE_ON<pitch> | a note begins, with the velocity that was set last |
| 128 to 255 | NOTE_OFF<pitch> | of the notes of this pitch that sound, the first to have begun ends |
| 256 to 355 | TIME_SHIFT<milliseconds> | 10 to 1000 ms pass, in steps of 10 |
| 356 to 387 | SET_VELOCITY<velocity> | the velocities from 4k to 4k + 3, which are played as 4k (the first as 1) |

``decode(encode(notes))`` has each note's pitch, its velocity as it is played, and its onset and end to the nearest
10 ms; a note that lasts less than a step is given one. Two things have no words in this language. One is tracks. The
other is a note that begins after another of its pitch and ends before it, which takes two instruments: the two
exchange their ends, and what sounds is the same.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from .notes import Note, checked, ordered

Ids = np.ndarray[Any, np.dtype[np.int64]]

NOTE_ON, NOTE_OFF, TIME_SHIFT, SET_VELOCITY, EVENTS = 0, 128, 256, 356, 388
"""The first id of each kind, and their number."""
STEPS = 100  # a second
LONGEST_SHIFT = SET_VELOCITY - TIME_SHIFT  # steps
BIN = 4  # velocities
LONGEST_OPEN = 5.0
"""Seconds after which ``decode`` ends a note that has no NOTE_OFF, if the piece does not end before."""
_FIRST_BIN = 16  # before a velocity is set


def encode(notes: Iterable[Note]) -> Ids:
    """The events of notes, in any order: (T,) int64.

    At one time notes end before others begin, each by pitch; a velocity is set where its bin changes; a longer time is
    several shifts, all but the last of a second. Raises ValueError: a note's number is out of range (``Note``).
    """
    table = np.array([(n.start, n.end, n.pitch, n.velocity) for n in checked(notes)], np.float64).reshape(-1, 4)
    start = np.rint(table[:, 0] * STEPS).astype(np.int64)
    end = np.maximum(np.rint(table[:, 1] * STEPS).astype(np.int64), start + 1)
    pitch, velocity = table[:, 2].astype(np.int64), table[:, 3].astype(np.int64) // BIN
    time, begins = np.concatenate([end, start]), np.repeat([False, True], len(table))
    # Of notes that begin together, the first to end comes first: so it is in ``decode``.
    order = np.lexsort((*(np.tile(key, 2) for key in (velocity, end, pitch)), begins, time))
    time, begins, pitch, velocity = time[order], begins[order], np.tile(pitch, 2)[order], np.tile(velocity, 2)[order]
    onsets = np.flatnonzero(begins)
    changes = np.zeros(len(order), np.int64)
    changes[onsets] = np.diff(velocity[onsets], prepend=-1) != 0
    gap = np.diff(time, prepend=0)
    shifts = -(-gap // LONGEST_SHIFT)
    # Before each event stand its shifts, then its velocity: event i is the last of so many.
    last = np.cumsum(shifts + changes + 1) - 1
    ids = np.full(last[-1] + 1 if len(last) else 0, TIME_SHIFT + LONGEST_SHIFT - 1, np.int64)
    ids[last] = np.where(begins, NOTE_ON, NOTE_OFF) + pitch
    ids[(last - 1)[changes > 0]] = SET_VELOCITY + velocity[changes > 0]
    rest = gap - (shifts - 1) * LONGEST_SHIFT  # the last of an event's shifts
    ids[(last - changes - 1)[shifts > 0]] = TIME_SHIFT + rest[shifts > 0] - 1
    return ids


def decode(ids: Iterable[int] | Ids) -> list[Note]:
    """The notes of events, by onset, then pitch, all of track 0.

    Events may be in any order, as models write them. A NOTE_OFF without a note says nothing; a NOTE_ON while its pitch
    sounds begins another note; a note lasts a step at least. A note without a NOTE_OFF ends with the piece, or
    ``LONGEST_OPEN`` after its onset. Before a velocity is set it is 64. Raises ValueError: an id is no event's.
    """
    return ordered(decode_in_order(_checked(ids))[0])


def decode_in_order(ids: Ids) -> tuple[list[Note], Ids]:
    """The notes of ``decode``, in the order of their NOTE_ONs; and of each event the number of the note that it begins
    or ends, or -1 (T,)."""
    now, velocity = 0, BIN * _FIRST_BIN
    begun: list[tuple[int, int, int]] = []  # pitch, velocity and onset of each note
    ends: dict[int, int] = {}  # by the note's number
    sounding: defaultdict[int, deque[int]] = defaultdict(deque)  # pitch -> notes: the first to begin ends first
    owner = np.full(len(ids), -1, np.int64)
    for place, event in enumerate(ids.tolist()):
        if event >= SET_VELOCITY:
            velocity = max(1, BIN * (event - SET_VELOCITY))
        elif event >= TIME_SHIFT:
            now += event - TIME_SHIFT + 1
        elif event < NOTE_OFF:
            owner[place] = len(begun)
            sounding[event].append(len(begun))
            begun.append((event, velocity, now))
        elif waiting := sounding[event - NOTE_OFF]:
            owner[place] = waiting[0]
            ends[waiting.popleft()] = now
    notes = []
    for number, (pitch, struck, onset) in enumerate(begun):
        end = ends.get(number, min(now, onset + round(LONGEST_OPEN * STEPS)))
        notes.append(Note(pitch, struck, onset / STEPS, max(end, onset + 1) / STEPS))
    return notes, owner


def name(event: int) -> str:
    """An event's name: 60 is "NOTE_ON<60>", 305 "TIME_SHIFT<500>". Raises ValueError: the id is no event's."""
    _checked([event])
    if event >= SET_VELOCITY:
        return f"SET_VELOCITY<{max(1, BIN * (event - SET_VELOCITY))}>"
    if event >= TIME_SHIFT:
        return f"TIME_SHIFT<{(event - TIME_SHIFT + 1) * 1000 // STEPS}>"
    return f"NOTE_OFF<{event - NOTE_OFF}>" if event >= NOTE_OFF else f"NOTE_ON<{event}>"


def _checked(ids: Iterable[int] | Ids) -> Ids:
    """The ids as an array (T,). Raises ValueError: one is no event's."""
    array = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"events are a sequence of whole numbers, not {array.ndim}-dimensional {array.dtype}")
    wrong = array[(array < 0) | (array >= EVENTS)]
    if wrong.size:
        raise ValueError(f"{wrong[0]} is no event: ids are 0 to {EVENTS - 1}")
    return array.astype(np.int64)
