"""Events: the lectures' sequence, round trips up to the grid, and any output of a model."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad_models.music import EVENTS, Note, decode, encode, name, read_midi, write_midi
from minigrad_models.music.languages import LONGEST_OPEN
from tests.support.cases import raises
from tests.support.midi import PERFORMANCES
from tests.support.music import parse

LECTURES = (
    "SET_VELOCITY<80>, NOTE_ON<60>, TIME_SHIFT<500>, NOTE_ON<64>, TIME_SHIFT<500>, NOTE_ON<67>, TIME_SHIFT<1000>, "
    "NOTE_OFF<60>, NOTE_OFF<64>, NOTE_OFF<67>, TIME_SHIFT<500>, SET_VELOCITY<100>, NOTE_ON<65>, TIME_SHIFT<500>, "
    "NOTE_OFF<65>"
)


def text(ids: np.ndarray) -> str:
    return ", ".join(map(name, ids.tolist()))


def step(seconds: float) -> int:
    return round(seconds * 100)


def test_the_lectures_sequence_makes_the_round_trip_through_a_file(tmp_path: Path) -> None:
    pytest.importorskip("mido")
    ids = parse(LECTURES)
    notes = decode(ids)
    assert notes == [Note(60, 80, 0, 2), Note(64, 80, 0.5, 2), Note(67, 80, 1, 2), Note(65, 100, 2.5, 3)]
    again = encode(read_midi(write_midi(tmp_path / "lecture.mid", notes)).notes)
    assert again.dtype == np.int64 and len(again) == 15
    assert text(again) == LECTURES


@pytest.mark.nightly
@pytest.mark.skipif(not PERFORMANCES, reason="no midi: set MINIGRAD_DATA to its parent")
def test_every_performance_makes_the_round_trip(tmp_path: Path) -> None:
    """Through events, a file, and events: onsets and lengths within 10 ms, exact pitches and velocity bins."""
    pytest.importorskip("mido")
    for path in PERFORMANCES:
        song = read_midi(path)
        ids = encode(song.notes)
        again = read_midi(write_midi(tmp_path / "again.mid", decode(ids)))
        np.testing.assert_array_equal(encode(again.notes), ids)
        left, right = (sorted(s.notes, key=lambda n: (n.pitch, step(n.start), n.end)) for s in (song, again))
        for a, b in zip(left, right, strict=True):
            assert (a.pitch, a.velocity // 4) == (b.pitch, b.velocity // 4)
            assert abs(a.start - b.start) <= 0.005 + 1e-9
            assert abs((a.end - a.start) - (b.end - b.start)) <= 0.01 + 1e-9


def test_every_event_has_a_name_that_can_be_parsed() -> None:
    ids = np.arange(EVENTS)
    names = [name(i) for i in range(EVENTS)]
    np.testing.assert_array_equal(parse(" ".join(names)), ids)
    text = " ".join(names[i] for i in (0, 127, 128, 255, 256, 355, 356, 357, 387))
    assert text.startswith("NOTE_ON<0> NOTE_ON<127> NOTE_OFF<0> NOTE_OFF<127> TIME_SHIFT<10> TIME_SHIFT<1000>")
    assert text.endswith("SET_VELOCITY<1> SET_VELOCITY<4> SET_VELOCITY<124>")


def test_invalid_events_are_refused() -> None:
    wrong: list[Any] = [[388], [-1], [1.5], [[1]], ["x"]]
    for ids in wrong:
        raises(ValueError, "event", partial(decode, ids))
    raises(ValueError, "24 hours", lambda: encode([Note(60, 80, 1e9, 1e9 + 1)]))


def test_velocities_are_set_where_their_bin_changes() -> None:
    notes = [Note(60 + i, velocity, i / 10, 1.0) for i, velocity in enumerate((80, 83, 84, 3, 1))]
    events = text(encode(notes)).split(", ")
    assert [event for event in events if not event.startswith(("TIME_SHIFT", "NOTE_OFF"))] == [
        *("SET_VELOCITY<80>", "NOTE_ON<60>", "NOTE_ON<61>", "SET_VELOCITY<84>", "NOTE_ON<62>"),
        *("SET_VELOCITY<1>", "NOTE_ON<63>", "NOTE_ON<64>"),
    ]
    assert [note.velocity for note in decode(encode(notes))] == [80, 80, 84, 1, 1]


def test_long_times_are_several_shifts() -> None:
    notes = [Note(60, 80, 0.5, 3.5), Note(60, 80, 5.75, 5.76)]
    assert text(encode(notes)) == (
        "TIME_SHIFT<500>, SET_VELOCITY<80>, NOTE_ON<60>, TIME_SHIFT<1000>, TIME_SHIFT<1000>, TIME_SHIFT<1000>, "
        "NOTE_OFF<60>, TIME_SHIFT<1000>, TIME_SHIFT<1000>, TIME_SHIFT<250>, NOTE_ON<60>, TIME_SHIFT<10>, NOTE_OFF<60>"
    )
    assert decode(encode(notes)) == notes


def test_rounding_errors_do_not_accumulate() -> None:
    """Notes of 3.3 ms: each onset is within half a step, even after a thousand notes."""
    notes = [Note(60 + i % 2, 80, i / 300, (i + 1) / 300) for i in range(1, 3000, 3)]
    again = decode(encode(notes))
    assert max(abs(a.start - b.start) for a, b in zip(notes, again, strict=True)) <= 0.005 + 1e-9
    assert {step(note.end) - step(note.start) for note in again} == {1}  # each lasts at least a step


def test_a_note_ends_before_the_next_begins() -> None:
    notes = [Note(60, 80, 0.0, 0.5), Note(60, 80, 0.5, 1.0), Note(50, 80, 0.5, 1.0)]
    assert text(encode(notes)) == (
        "SET_VELOCITY<80>, NOTE_ON<60>, TIME_SHIFT<500>, NOTE_OFF<60>, NOTE_ON<50>, NOTE_ON<60>, TIME_SHIFT<500>, "
        "NOTE_OFF<50>, NOTE_OFF<60>"
    )


def test_the_first_note_of_a_pitch_ends_first() -> None:
    one, other = Note(60, 80, 0.0, 1.0), Note(60, 100, 0.5, 1.5)
    assert decode(encode([other, one])) == [one, other]
    together = [Note(60, 80, 0.0, 1.0), Note(60, 100, 0.0, 0.5)]
    assert decode(encode(together)) == together[::-1]
    inside = [Note(60, 80, 0.0, 2.0), Note(60, 100, 0.5, 1.0)]  # not representable: they exchange their ends
    assert decode(encode(inside)) == [Note(60, 80, 0.0, 1.0), Note(60, 100, 0.5, 2.0)]


def test_any_output_of_a_model_can_be_decoded() -> None:
    events = "NOTE_OFF<1>, NOTE_ON<60>, NOTE_OFF<60>, NOTE_OFF<60>, TIME_SHIFT<500>, SET_VELOCITY<1>, "
    events += (
        "SET_VELOCITY<40>, NOTE_ON<61>, NOTE_ON<61>, TIME_SHIFT<10>, NOTE_OFF<61>, TIME_SHIFT<90>, SET_VELOCITY<8>"
    )
    assert decode(parse(events)) == [Note(60, 64, 0.0, 0.01), Note(61, 40, 0.5, 0.51), Note(61, 40, 0.5, 0.6)]
    late = decode(parse("NOTE_ON<60>" + ", TIME_SHIFT<1000>" * 20 + ", NOTE_ON<61>"))
    assert late == [Note(60, 64, 0.0, LONGEST_OPEN), Note(61, 64, 20.0, 20.01)]
    assert decode([]) == [] and encode([]).tolist() == []


@pytest.mark.parametrize("seed", range(2))
def test_random_events_can_be_written_and_read(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("mido")
    draw = np.random.default_rng(seed)
    few = draw.integers(0, 12, 3000) + draw.choice([60, 188, 256, 376], 3000)  # of few pitches
    for ids in (draw.integers(0, EVENTS, 3000), few):
        notes = decode(ids)
        again = decode(encode(notes))
        assert Counter(n[:3] for n in again) == Counter(n[:3] for n in notes)
        song = read_midi(write_midi(tmp_path / "any.mid", again))
        if len(song.notes) == len(again):  # otherwise more than 15 notes of a pitch overlap
            np.testing.assert_array_equal(encode(song.notes), encode(again))
    assert 0 < len(song.notes) < len(again)
