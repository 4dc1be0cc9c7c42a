"""Notes, and functions to read and write MIDI files.

mido parses the files. It is pure Python, so a damaged file cannot crash the process, and it returns every message with
its channel. Reading an hour of piano music takes a second. The tests also use symusic, which drops notes that are never
released. Times in seconds are exact: they are computed from integer ticks and tempos, and rounded once.
"""

from __future__ import annotations

import errno
import io
import math
import os
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minigrad.backend.extras import library
from minigrad.serialization.source import replaced

from ..schema import content

Floats = np.ndarray[Any, np.dtype[np.float64]]

PITCHES = 128
MOST_SECONDS = 24 * 3600.0
"""The latest end of a note. Without this limit, a single wrong time could cause a gigabyte of silence."""
MOST_BYTES = 2 << 20  # of a file, enough for 250,000 notes; as messages they take 200 times as much memory
DRUMS = 9  # the channel of percussion, commonly called channel 10
CHANNELS = [channel for channel in range(16) if channel != DRUMS]
TEMPO = 120.0  # quarter notes per minute in a file without a tempo
TEMPOS = (4.0, 1000.0)  # the slowest and fastest that can be written: a quarter note is at most 2²⁴ µs
_MINUTE = 60_000_000  # microseconds
_MOST_TICKS = 1 << 48
_LONGEST_GAP = (1 << 28) - 1  # ticks between two messages: four bytes of seven bits each
_MOST_HIGH_BYTES = 1024  # in a row; mido reads them as one number, in quadratic time
_MOST_TRACKS = 32_000
_PEDAL, _PEDAL_DOWN = 64, 64  # the controller, and the smallest value that counts as down


class Note(NamedTuple):
    """One note."""

    pitch: int  # the MIDI number, 0 to 127; 60 is middle C
    velocity: int  # how hard it was struck, 1 to 127
    start: float  # seconds
    end: float
    track: int = 0  # the instrument number in a file; the voice in a chorale, 0 (soprano) to 3 (bass)


def ordered(notes: Iterable[Note]) -> list[Note]:
    """The notes, sorted by onset, then pitch, then track."""
    return sorted(notes, key=lambda note: (note.start, note.pitch, note.track))


def stretched(notes: Iterable[Note], factor: float) -> list[Note]:
    """The notes with all times multiplied by ``factor``: 1.05 is 5% slower. Raises ValueError unless factor > 0."""
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"the stretch factor must be positive, not {factor}")
    return [note._replace(start=note.start * factor, end=note.end * factor) for note in notes]


def checked(notes: Iterable[Note]) -> list[Note]:
    """The notes as a list. Raises ValueError if MIDI cannot represent a pitch, velocity, time or track."""
    result = list(notes)
    for number, (pitch, velocity, start, end, track) in enumerate(result):
        fault = ""
        if not (_whole(pitch) and 0 <= pitch < PITCHES):
            fault = f"pitches must be integers from 0 to 127, not {pitch}"
        elif not (_whole(velocity) and 1 <= velocity <= 127):
            fault = f"velocities must be integers from 1 to 127, not {velocity}"
        elif not 0 <= start <= end <= MOST_SECONDS:  # also false if one of them is NaN
            times = "a note must not begin before 0 s, end before it begins, or end after 24 hours"
            fault = f"it lasts from {start} to {end}, but {times}"
        elif not (_whole(track) and track >= 0):
            fault = f"tracks must be integers of at least 0, not {track}"
        if fault:
            raise ValueError(f"note {number} of {len(result):,}: {fault}")
    return result


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer)


@dataclass(frozen=True)
class Song:
    """The music in a file."""

    notes: tuple[Note, ...]  # by onset, then pitch, then track; with the sustain pedal applied
    tempos: tuple[tuple[float, float], ...] = ((0.0, TEMPO),)  # (seconds, quarter notes per minute) at each change
    drums: int = 0  # percussion notes (channel 10) that were left out

    @property
    def seconds(self) -> float:
        """The end of the last note; 0.0 without notes."""
        return max((note.end for note in self.notes), default=0.0)

    def quarters(self, seconds: Any) -> Any:
        """The position of one or more times, in quarter notes from the beginning."""
        return np.interp(seconds, *self._tempo_map)

    def seconds_at(self, quarters: Any) -> Any:
        """The time of one or more positions: the reverse of ``quarters``."""
        return np.interp(quarters, *self._tempo_map[::-1])

    @cached_property
    def _tempo_map(self) -> tuple[Floats, Floats]:
        """The times of the tempo changes, then a time after all notes; and their positions in quarter notes."""
        times, tempos = np.array([*self.tempos, (self.tempos[-1][0] + 2 * MOST_SECONDS, 0.0)]).T
        return times, np.concatenate([[0.0], np.cumsum(np.diff(times) * tempos[:-1] / 60)])


def read_midi(path: str | os.PathLike[str], *, sustain: bool = True) -> Song:
    """Read a MIDI file of type 0 or 1.

    A note's ``track`` is the index of its track in the file, not counting a first track that has tempos but no notes.
    In a file of type 0, it is the index of its channel among the channels with notes.

    Each note-off ends the earliest note of its pitch, channel and track. A note that is never released ends with its
    track. With ``sustain``, a note that is released while its channel's pedal is down sounds until the pedal goes up or
    the pitch is struck again, as in Magenta and Oore et al. 2018. A silent file becomes a song without notes.

    Raises FileNotFoundError if the file does not exist; ValueError if it is not a MIDI file, is damaged, is larger than
    2 MiB, has only drums or a note after 24 hours, or is of an unsupported kind (type 2, or SMPTE frames); OSError if
    it cannot be read; and ImportError if mido is missing.
    """
    file = Path(path)
    if not os.path.exists(file):
        raise FileNotFoundError(errno.ENOENT, "the file does not exist", str(file))
    data = content(file, MOST_BYTES)
    if data[:4] != b"MThd":
        raise ValueError(f"{file} is {'empty' if not data else 'not a MIDI file: it does not begin with MThd'}")
    mido = library("mido", "MIDI files need mido")
    try:
        low = np.flatnonzero(np.frombuffer(data, np.uint8) < 128)
        if np.diff(low, append=len(data)).max() > _MOST_HIGH_BYTES:
            raise ValueError("it is damaged: it contains a number of more than a thousand bytes")
        try:
            parsed = mido.MidiFile(file=io.BytesIO(data))
        except Exception as error:  # mido raises various errors for invalid bytes: EOFError, IndexError, its own, ...
            reason = "it ends too early" if isinstance(error, EOFError) else str(error)
            raise ValueError(f"it is damaged: {reason}") from None
        return _song(parsed, sustain)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


class _Key(NamedTuple):
    """The press and release of a key, with times in ticks."""

    start: int
    end: int
    pitch: int
    velocity: int
    channel: int
    track: int


def _song(file: Any, sustain: bool) -> Song:
    if file.type not in (0, 1):
        raise ValueError(f"it has type {file.type}, but only types 0 and 1 are supported")
    keys: list[_Key] = []
    pedals: list[tuple[int, int, bool]] = []  # tick, channel, whether it goes down
    changes: list[tuple[int, int]] = []  # tick, microseconds per quarter note
    drums = 0
    silent = bool(file.tracks) and not any(message.type == "note_on" for message in file.tracks[0])
    for number, messages in enumerate(file.tracks, -silent):
        now = 0
        down: defaultdict[tuple[int, int], deque[tuple[int, int]]] = defaultdict(deque)  # (channel, pitch): key by key
        for message in messages:
            now += message.time
            if now > _MOST_TICKS:
                raise ValueError(f"it is damaged: it has a message after {_MOST_TICKS:.0e} ticks")
            kind = message.type
            if kind in ("note_on", "note_off"):
                struck = kind == "note_on" and message.velocity > 0
                if message.channel == DRUMS:
                    drums += struck
                elif struck:
                    down[message.channel, message.note].append((now, message.velocity))
                elif waiting := down[message.channel, message.note]:
                    start, velocity = waiting.popleft()
                    keys.append(_Key(start, now, message.note, velocity, message.channel, number))
            elif kind == "control_change" and message.control == _PEDAL:
                pedals.append((now, message.channel, message.value >= _PEDAL_DOWN))
            elif kind == "set_tempo":
                changes.append((now, message.tempo))
        for (channel, pitch), waiting in down.items():
            keys += [_Key(start, now, pitch, velocity, channel, number) for start, velocity in waiting]
    if drums and not keys:
        raise ValueError(f"it has only drums (channel 10, {drums:,} notes), which are ignored")
    clock = _Clock(changes, file.ticks_per_beat)
    keys = _held(sorted(keys), pedals) if sustain and pedals else sorted(keys)
    channels = sorted({key.channel for key in keys})
    notes: list[Note] = []
    for key in keys:
        begin, end = clock.seconds(key.start), clock.seconds(key.end)
        if end > MOST_SECONDS:
            raise ValueError(f"it has a note that ends after {end:.3g} s: the limit is 24 hours")
        track = key.track if file.type else channels.index(key.channel)
        notes.append(Note(key.pitch, key.velocity, begin, end, track))
    return Song(tuple(ordered(notes)), clock.tempos, drums)


class _Clock:
    """Converts ticks to seconds, given changes (tick, microseconds per quarter note) and the ticks per quarter note.
    ``tempos`` has (seconds, quarter notes per minute) for each change, the first at 0."""

    def __init__(self, changes: list[tuple[int, int]], division: int) -> None:
        if any(length == 0 for _, length in changes):
            raise ValueError("it has a tempo of 0 microseconds per quarter note")
        if division <= 0:
            raise ValueError(f"its time division is {division}: SMPTE frames are not supported")
        start = {0: int(_MINUTE / TEMPO)}
        lengths = {**start, **dict(sorted(changes, key=lambda change: change[0]))}  # the last at each tick counts
        self._unit = 1_000_000 * division
        self._ticks, self._lengths = list(lengths), list(lengths.values())
        spans = (length * (b - a) for length, (a, b) in zip(self._lengths, pairwise(self._ticks), strict=False))
        self._sums = [0, *accumulate(spans)]  # up to each change, in microseconds times ticks per quarter note
        pairs = zip(self._sums, self._lengths, strict=True)
        self.tempos = tuple((total / self._unit, _MINUTE / length) for total, length in pairs)

    def seconds(self, tick: int) -> float:
        i = bisect_right(self._ticks, tick) - 1
        return (self._sums[i] + (tick - self._ticks[i]) * self._lengths[i]) / self._unit


def _held(keys: list[_Key], pedals: list[tuple[int, int, bool]]) -> list[_Key]:
    """The keys, each with ``end`` moved to the end of its sound. Within a tick, pedals come first, then keys that go
    down, then keys that go up, as in Magenta. A note whose key is struck again in the same tick is dropped."""
    order: list[tuple[int, int, int]] = [(tick, 0, i) for i, (tick, _, _) in enumerate(pedals)]
    order += [(key.start, 1, i) for i, key in enumerate(keys)] + [(key.end, 2, i) for i, key in enumerate(keys)]
    order.sort()
    ends = [key.end for key in keys]
    down: dict[int, bool] = {}  # by channel
    sounding: defaultdict[tuple[int, int], set[int]] = defaultdict(set)  # by channel and pitch
    held: defaultdict[int, set[int]] = defaultdict(set)  # by channel: sounding although the key is up
    for tick, what, i in order:
        if what == 0:
            _, channel, down[channel] = pedals[i]
            if not down[channel]:
                for j in held.pop(channel, ()):
                    ends[j] = tick
                    sounding[channel, keys[j].pitch].discard(j)
            continue
        channel, pitch = keys[i].channel, keys[i].pitch
        if what == 1:
            if down.get(channel):
                for j in sounding.pop((channel, pitch), ()):
                    ends[j] = tick
                    held[channel].discard(j)
            sounding[channel, pitch].add(i)
        elif i in sounding[channel, pitch]:  # otherwise it was struck again
            if down.get(channel):
                held[channel].add(i)
            else:
                sounding[channel, pitch].discard(i)
    for j in set().union(*held.values()):
        ends[j] = order[-1][0]
    pairs = zip(keys, ends, strict=True)
    return [key._replace(end=end) for key, end in pairs if key.start < end or key.start == key.end]


def write_midi(
    path: str | os.PathLike[str], notes: Iterable[Note], tempo: float = TEMPO, names: Mapping[int, str] | None = None
) -> Path:
    """Write a MIDI file of type 1: a tempo track, then one track for each number up to the notes' highest ``track``.

    The ticks per quarter note are chosen so that a sixteenth note is a whole number of ticks, and so is 10 ms if the
    tempo allows it; otherwise the rounding error is below a millisecond. A note lasts at least one tick. Within a tick,
    note-offs precede note-ons. Overlapping notes of the same pitch are on different channels, so that every reader
    knows which one ends; up to 15 can sound simultaneously. A track's first channel has the track's number.

    Args:
        notes: in any order; an empty sequence produces a silent file.
        tempo: quarter notes per minute, 4 to 1000. Other programs derive bars from it; it does not change notes' times.
        names: the names of tracks, by number.

    Raises ValueError if a pitch, velocity, time, track or tempo is out of range; FileNotFoundError if the folder does
    not exist; OSError if writing fails, in which case an existing file is unchanged; ImportError if mido is missing.
    """
    mido = library("mido", "MIDI files need mido")
    target, in_order = Path(path), ordered(checked(notes))
    check_tempo(tempo)
    tracks = max((note.track for note in in_order), default=-1) + 1
    if tracks > _MOST_TRACKS:
        raise ValueError(f"a file can have at most {_MOST_TRACKS:,} tracks, but a note is on track {tracks - 1}")
    if not (folder := target.absolute().parent).is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(folder))
    length = round(_MINUTE / tempo)  # of a quarter note, in microseconds
    least = math.lcm(length // math.gcd(length, 10_000), 4)  # 10 ms and a sixteenth take a whole number of these ticks
    division = -(-480 // least) * least
    division = division if division < 1 << 15 else 960  # the format's limit
    file = mido.MidiFile(type=1, ticks_per_beat=division, charset="utf-8")
    file.tracks.append(mido.MidiTrack([mido.MetaMessage("set_tempo", tempo=length)]))
    placed = _placed(in_order, division * tempo / 60)
    for number in range(tracks):
        track, now = mido.MidiTrack(), 0
        if names and number in names:
            track.append(mido.MetaMessage("track_name", name=names[number]))
        for tick, begins, pitch, channel, velocity in sorted(placed[number]):
            if tick - now > _LONGEST_GAP:
                raise ValueError(f"no note begins or ends for {tick - now:,} ticks: the limit is {_LONGEST_GAP:,}")
            kind, at = "note_on" if begins else "note_off", {"channel": channel, "note": pitch, "time": tick - now}
            track.append(mido.Message(kind, True, velocity=velocity, **at))  # unchecked, which takes half the time
            now = tick
        file.tracks.append(track)
    buffer = io.BytesIO()
    file.save(file=buffer)
    with replaced(target) as temporary:
        Path(temporary).write_bytes(buffer.getvalue())
    return target


def check_tempo(tempo: float, name: str = "a tempo") -> None:
    """Raise ValueError if a tempo cannot be written."""
    if not TEMPOS[0] <= tempo <= TEMPOS[1]:
        raise ValueError(f"{name} must be {TEMPOS[0]:g} to {TEMPOS[1]:g} quarter notes per minute, not {tempo:g}")


_Sound = tuple[int, bool, int, int, int]  # tick, whether a note begins, pitch, channel, velocity: ends sort first


def _placed(notes: list[Note], rate: float) -> defaultdict[int, list[_Sound]]:
    """The note-ons and note-offs of each track; ``rate`` is in ticks per second."""
    ends: dict[tuple[int, int], int] = {}  # by channel and pitch
    sounds: defaultdict[int, list[_Sound]] = defaultdict(list)
    for note in notes:
        start = round(note.start * rate)
        end = max(start + 1, round(note.end * rate))
        own = note.track % len(CHANNELS)
        choices = CHANNELS[own:] + CHANNELS[:own]
        channel = next((c for c in choices if ends.get((c, note.pitch), 0) <= start), None)
        if channel is None:  # one more simultaneous note would be inaudible
            continue
        ends[channel, note.pitch] = end
        begins = start, True, note.pitch, channel, note.velocity
        sounds[note.track] += [begins, (end, False, note.pitch, channel, 0)]
    return sounds
