"""MIDI files: all types, hostile files, and a comparison with another library."""

import os
import random
import sys
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.music import Note, Song, read_midi, write_midi
from tests.support.cases import raises
from tests.support.midi import PERFORMANCES, midi, off, on, pedal, tempo, track

mido = pytest.importorskip("mido")
PROGRAM = b"\xc0\x05"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Reads bytes as the file file.mid."""

    def song(data: bytes, **options: bool) -> Song:
        path = tmp_path / "file.mid"
        path.write_bytes(data)
        return read_midi(path, **options)

    return song


def brief(song: Song) -> list[tuple[int, float, float]]:
    return [(note.pitch, round(note.start, 6), round(note.end, 6)) for note in song.notes]


def test_types_0_and_1(read: Any) -> None:
    """480 ticks are half a second. A track is a track of the file, or a channel if the file has only one track."""
    hands = [track((0, on(60, 70)), (480, off(60))), track((240, on(50, 60, 1)), (480, on(50, 0, 1)))]
    expected = (Note(60, 70, 0.0, 0.5, 0), Note(50, 60, 0.25, 0.75, 1))
    first = track((0, b"\xff\x03\x02Hi"), (0, tempo(500_000)))
    assert read(midi(first, *hands)) == Song(expected)
    assert read(midi(*hands)) == Song(expected)
    whole = track((0, on(60, 70, 3)), (240, on(50, 60, 7)), (240, off(60, 3)), (240, off(50, 7)))
    assert read(midi(whole, kind=0)) == Song(expected)
    empty = track()
    assert [note.track for note in read(midi(first, hands[0], empty, hands[1])).notes] == [0, 2]


def test_running_status(read: Any) -> None:
    events = ((0, on(60)), (480, b"\x3c\0"), (0, b"\x3e\x40"), (480, b"\x3e\0"))
    assert brief(read(midi(track(*events)))) == [(60, 0.0, 0.5), (62, 0.5, 1.0)]


def test_tempos_change_in_any_track(read: Any) -> None:
    notes = track((0, on(60)), (960, off(60)), (0, on(62)), (960, off(62)))
    changes = track((480, tempo(1_000_000)), (720, tempo(250_000)), (0, tempo(750_000)))  # the later of two counts
    song = read(midi(notes, changes))
    assert brief(song) == [(60, 0.0, 1.5), (62, 1.5, 3.125)]
    assert song.tempos == ((0.0, 120.0), (0.5, 60.0), (2.0, 80.0))
    assert [song.quarters(t) for t in (0.0, 0.25, 0.5, 1.5, 2.0, 2.75)] == [0.0, 0.5, 1.0, 2.0, 2.5, 3.5]
    assert song.seconds == 3.125 and Song(()).seconds == 0.0 and Song(()).quarters(1.0) == 2.0


def test_a_note_without_an_end_ends_with_its_track(read: Any) -> None:
    song = read(midi(track((0, on(60)), (480, on(62)), (480, b"\xff\x01\0")), track((1920, on(64)))))
    assert brief(song) == [(60, 0.0, 1.0), (62, 0.5, 1.0), (64, 2.0, 2.0)]


def test_the_first_note_of_a_pitch_ends_first(read: Any) -> None:
    twice = track((0, on(60, 10)), (480, on(60, 20)), (480, off(60)), (480, off(60)), (0, off(60)))
    assert read(midi(twice)).notes == (Note(60, 10, 0.0, 1.0), Note(60, 20, 0.5, 1.5))
    channels = track((0, on(60, 10)), (480, on(60, 20, 1)), (480, off(60, 1)), (480, off(60)))
    assert read(midi(channels)).notes == (Note(60, 10, 0.0, 1.5), Note(60, 20, 0.5, 1.0))


def test_drums_are_skipped(read: Any) -> None:
    drums = track((0, on(38, 64, 9)), (480, off(38, 9)), (0, on(38, 64, 9)), (480, on(38, 0, 9)))
    song = read(midi(drums, track((0, on(60)), (480, off(60)))))
    assert brief(song) == [(60, 0.0, 0.5)] and song.drums == 2
    raises(ValueError, r"file.mid: it has only drums \(channel 10, 2 notes\)", lambda: read(midi(drums)))


def test_a_file_may_be_silent(read: Any) -> None:
    for data in (midi(), midi(track()), midi(track((0, on(60, 0)), (5, off(61))))):
        assert read(data) == Song(())


def test_a_pedal_holds_notes(read: Any) -> None:
    """Notes last until the pedal goes up; keys that are still down then keep sounding. 64 is down, 63 is up."""
    events = [(0, on(60)), (480, pedal(64)), (480, off(60)), (0, on(62)), (480, pedal(100)), (480, pedal(63))]
    data = midi(track(*events, (480, off(62)), (480, pedal(127)), (0, on(64)), (240, off(64)), (240, pedal(127))))
    assert brief(read(data)) == [(60, 0.0, 2.0), (62, 1.0, 2.5), (64, 3.0, 3.5)]  # the last one lasts to the end
    assert brief(read(data, sustain=False)) == [(60, 0.0, 1.0), (62, 1.0, 2.5), (64, 3.0, 3.25)]


def test_a_note_ends_when_it_is_struck_again(read: Any) -> None:
    again = [(0, pedal(127)), (0, on(60)), (480, off(60)), (480, on(60)), (480, off(60)), (480, pedal(0))]
    assert brief(read(midi(track(*again)))) == [(60, 0.0, 1.0), (60, 1.0, 2.0)]
    overlap = [(0, pedal(127)), (0, on(60)), (480, on(60)), (480, off(60)), (480, off(60)), (480, pedal(0))]
    assert brief(read(midi(track(*overlap)))) == [(60, 0.0, 0.5), (60, 0.5, 2.0)]
    double = [(0, pedal(127)), (0, on(60)), (0, on(60, 80)), (480, off(60)), (0, off(60)), (480, pedal(0))]
    assert read(midi(track(*double))).notes == (Note(60, 80, 0.0, 1.0),)


def test_the_pedal_is_first_within_a_tick(read: Any) -> None:
    late = [(0, on(60)), (480, off(60)), (0, pedal(127)), (480, pedal(0)), (0, pedal(127)), (480, pedal(0))]
    assert brief(read(midi(track(*late)))) == [(60, 0.0, 1.0)]  # the pedal goes up and down, which ends the note
    up = [(0, pedal(127)), (0, on(60)), (480, off(60)), (0, pedal(0)), (480, off(1))]
    assert brief(read(midi(track(*up)))) == [(60, 0.0, 0.5)]


def test_a_pedal_belongs_to_its_channel(read: Any) -> None:
    """It sustains the channel's notes in all tracks and programs, and no others."""
    first = track((0, pedal(127)), (0, on(60)), (240, PROGRAM), (240, off(60)), (480, pedal(0)))
    other = track((0, on(70)), (0, on(71, 64, 1)), (480, off(70)), (0, off(71, 1)))
    assert brief(read(midi(first, other))) == [(60, 0.0, 1.0), (70, 0.0, 1.0), (71, 0.0, 0.5)]


@pytest.mark.skipif(not PERFORMANCES, reason="no midi: set MINIGRAD_DATA to its parent")
@pytest.mark.nightly
def test_symusic_reads_the_same_notes() -> None:
    symusic = pytest.importorskip("symusic")
    for path in PERFORMANCES:
        score = symusic.Score(path)
        (instrument,) = score.tracks
        raw = [(n.pitch, n.velocity, n.start, n.end) for n in instrument.notes]
        song = read_midi(path, sustain=False)
        assert Counter(map(ticks_of(song, score), song.notes)) == Counter(raw), path
        tempos = [(song.quarters(s) * score.tpq, t) for s, t in song.tempos]
        assert tempos == [pytest.approx((change.time, change.qpm), rel=1e-6) for change in score.tempos], path


def ticks_of(song: Song, score: Any) -> Any:
    """A function from a note to (pitch, velocity, start, end) in whole ticks."""

    def ticks(note: Note) -> tuple[int, int, int, int]:
        start, end = (song.quarters(seconds) * score.tpq for seconds in (note.start, note.end))
        assert abs(start - round(start)) < 1e-6 > abs(end - round(end))
        return note.pitch, note.velocity, round(start), round(end)

    return ticks


@pytest.mark.parametrize("tempo", [97.3, 4, 1000])
def test_written_files_read_back(tempo: float, tmp_path: Path) -> None:
    notes = [Note(60, 80, 0.0, 0.5, 0), Note(64, 1, 0.37, 3.21, 1), Note(127, 127, 1.0, 1.0, 1)]
    notes.append(Note(0, 5, 2.0, 99.99, 3))
    song = read_midi(write_midi(tmp_path / "x.mid", notes, tempo))
    assert [since for since, _ in song.tempos] == [0.0] and song.tempos[0][1] == pytest.approx(tempo, rel=1e-5)
    for note, again in zip(notes, song.notes, strict=True):
        assert (again.pitch, again.velocity, again.track) == (note.pitch, note.velocity, note.track)
        assert again.start == pytest.approx(note.start, abs=0.001 if tempo > 10 else 0.01)
        assert again.start < again.end == pytest.approx(note.end, abs=0.002 if tempo > 10 else 0.016)


@pytest.mark.parametrize("tempo", [60, 97.3, 132, 240])
def test_sixteenths_are_whole_ticks(tempo: float, tmp_path: Path) -> None:
    """So are 10 ms if a quarter note is a multiple of 10 ms."""
    notes = [Note(60, 80, i * 15 / tempo, (i + 1) * 15 / tempo) for i in range(1000)]
    file = mido.MidiFile(write_midi(tmp_path / "x.mid", notes, tempo))
    assert file.type == 1 and file.ticks_per_beat % 4 == 0 and file.ticks_per_beat >= 480
    times = [message.time for message in file.tracks[1] if message.type.startswith("note")]
    assert set(times) == {0, file.ticks_per_beat // 4}
    if tempo in (60, 240):
        assert (file.ticks_per_beat * tempo / 60 / 100).is_integer()
    song = read_midi(tmp_path / "x.mid")
    assert [song.quarters(note.start) * 4 for note in song.notes] == pytest.approx(range(1000), abs=1e-6)


def test_names_and_channels(tmp_path: Path) -> None:
    notes = [Note(60, 80, 0.0, 1.0, 1), Note(60, 80, 0.5, 1.5, 1), Note(50, 80, 0.0, 1.0, 0)]
    write_midi(tmp_path / "x.mid", notes, names={0: "Baß", 1: "♪"})
    file = mido.MidiFile(tmp_path / "x.mid", charset="utf-8")
    assert [track.name for track in file.tracks] == ["", "Baß", "♪"]
    channels = [{m.channel for m in track if m.type == "note_on"} for track in file.tracks]
    assert channels == [set(), {0}, {1, 2}]  # two simultaneous notes of a pitch are on two channels


@pytest.mark.parametrize("count", [1, 40])
def test_no_note_hangs_or_is_confused(count: int, tmp_path: Path) -> None:
    """Every reader, even one that ignores tracks, pairs any notes in the same way, and no note is a drum."""
    draw = random.Random(count)
    notes = []
    for _ in range(500):
        start, length = draw.randrange(1000), draw.choice((0, 1, 10, 300))
        times = (start / 100, (start + length) / 100)
        notes.append(Note(draw.randrange(50, 80), draw.randrange(1, 128), *times, draw.randrange(count)))
    path = write_midi(tmp_path / "x.mid", notes)
    down: dict[tuple[int, int], int] = {}
    notes_read = []
    now = 0
    for message in mido.merge_tracks(mido.MidiFile(path).tracks):
        now += message.time
        if message.type in ("note_on", "note_off"):
            assert message.channel != 9
            if message.type == "note_on":
                assert (message.channel, message.note) not in down, "two at once on one channel"
                down[message.channel, message.note] = now
            else:
                notes_read.append((message.note, down.pop((message.channel, message.note)), now))
    assert not down
    milliseconds = [(round(n.start * 1000), round(n.end * 1000)) for n in notes]
    expected = [(n.pitch, start, max(start + 1, end)) for n, (start, end) in zip(notes, milliseconds, strict=True)]
    assert Counter(notes_read) == Counter(expected)
    assert Counter(n[:2] + n[4:] for n in read_midi(path).notes) == Counter(n[:2] + n[4:] for n in notes)


def test_at_most_fifteen_notes_of_a_pitch_and_empty_files(tmp_path: Path) -> None:
    notes = [Note(60, i + 1, 0.0, 1.0, i % 3) for i in range(20)] + [Note(60, 100, 1.0, 2.0)]
    song = read_midi(write_midi(tmp_path / "x.mid", notes))
    assert len(song.notes) == 16 and song.notes[-1] == notes[-1]
    assert read_midi(write_midi(tmp_path / "x.mid", [], 60)) == Song((), ((0.0, 60.0),))


def test_invalid_notes_and_tempos(tmp_path: Path) -> None:
    path = tmp_path / "x.mid"
    path.write_text("old")
    fine = Note(60, 80, 0.0, 1.0)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"notes": [fine._replace(pitch=128)]}, "pitches"),
        ({"notes": [fine._replace(velocity=0)]}, "velocities"),
        ({"notes": [fine._replace(track=10**9)]}, "32,000 tracks"),
        ({"notes": [fine], "tempo": 0}, "tempo must be 4 to 1000"),
        ({"notes": [fine], "tempo": float("nan")}, "tempo"),
        ({"notes": [fine, Note(60, 80, 86_000.0, 86_001.0)], "tempo": 400}, "no note begins or ends"),
    ]
    for arguments, message in wrong:
        raises(ValueError, message, partial(write_midi, path, **arguments))
    raises(FileNotFoundError, "folder", lambda: write_midi(tmp_path / "none" / "x.mid", [fine]))
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


TUNE = midi(track((0, tempo(400_000)), (0, on(60)), (480, off(60)), (0, pedal(80)), (0, on(64)), (480, off(64))))


DAMAGED: list[tuple[bytes, str]] = [
    (b"", "is empty"),
    (b"Once upon a time", "not a MIDI file"),
    (TUNE[:10], "damaged: it ends too early"),
    (TUNE[:-3], "damaged: it ends too early"),
    (TUNE[:14] + b"MTrX" + TUNE[18:], "damaged: no MTrk header"),
    (TUNE[:-4], "damaged: it ends too early"),
    (b"RIFF\x0c\0\0\0RMIDLIST\0\0\0\0", "not a MIDI file"),
    (midi(track((0, b"\x90\x80\x40"))), "damaged: data byte"),
    (midi(track((0, b"\x40\x40"))), "damaged: running status"),
    (midi(track((0, on(60)), (9, b"\xff\x51\x02\0\0"))), "damaged: "),
    (midi(track((0, tempo(0)), (0, on(60)))), "tempo of 0"),
    (midi(track((0, on(60))), kind=3), "has type 3, but only types 0 and 1"),
    (midi(track((0, on(60))), division=0), "time division is 0"),
    (midi(track((0, on(60))), kind=2), "has type 2"),
    (midi(track((0, on(60))), division=0xE728), "SMPTE frames are not supported"),
    (midi(track(*[(0x0FFFFFFF, on(60)), (5, off(60))] * 100)), "after 2.8e.05 s: the limit is 24 hours"),
    (midi(track((1 << 60, on(60)))), "damaged: .* ticks"),
    (midi(b"MTrk\x7f\xff\xff\xff" + b"\xff" * 100_000), "number of more than a thousand bytes"),
    (midi(b"MTrk\x7f\xff\xff\xff" + (b"\x81" * 1000 + b"\x01\xff\x01\x00") * 100), "damaged: .* ticks|too early"),
    (midi(b"MTrk\x00\x00\x00\xff\x00\xff\x01\x83\xff\xff\x7f"), "damaged: Message length"),
]


def test_a_damaged_file_is_one_message(read: Any) -> None:
    for data, message in DAMAGED:
        with pytest.raises(ValueError, match=rf"file\.mid.*{message}") as error:
            read(data)
        assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_invalid_files(tmp_path: Path) -> None:
    raises(FileNotFoundError, r"does not exist.*none\.mid", lambda: read_midi(tmp_path / "none.mid"))
    places = [tmp_path, Path("/dev/zero")]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.mid")
        places.append(tmp_path / "pipe.mid")
    for place in places:
        if place.exists():
            raises(ValueError, f"{place} is a folder, a device or a pipe", partial(read_midi, place))


def test_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.mid"
    with path.open("wb") as file:
        file.write(TUNE)
        file.truncate(1 << 30)  # a sparse file of zeros
    tracemalloc.start()
    raises(ValueError, r"huge\.mid is larger than 2 MiB", lambda: read_midi(path))
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_other_bytes_are_a_message_or_a_song(read: Any, tmp_path: Path) -> None:
    for seed in range(100):
        draw = random.Random(seed)
        data = bytearray(TUNE)
        for _ in range(draw.choice((1, 2, 5))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            song = read(bytes(data[: draw.choice((len(data), draw.randrange(len(data) + 1)))]))
        except ValueError as error:
            assert "file.mid" in str(error), seed
        else:
            again = read_midi(write_midi(tmp_path / "again.mid", song.notes))
            assert len(again.notes) == len(song.notes), seed


def test_without_mido_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "mido", None)
    (tmp_path / "x.mid").write_bytes(TUNE)
    for call in (lambda: read_midi(tmp_path / "x.mid"), lambda: write_midi(tmp_path / "y.mid", [])):
        raises(ImportError, r"pip install mido", call)
