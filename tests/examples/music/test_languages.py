"""Chorales and performances as tokens, and which of these belong to which note."""

from __future__ import annotations

import numpy as np
import pytest

from examples.music.languages import LANGUAGES, Chorales, Performances, Playing
from minigrad.music.chorales import notes_of
from minigrad.music.notes import Note
from minigrad.music.performance import EVENTS, NOTE_OFF, SET_VELOCITY, TIME_SHIFT, parse

GRID = np.array([[72, 67, -1, 48], [72, 65, -1, 48], [74, 65, 60, -1]])
NOTES = [Note(60, 80, 0.0, 0.5), Note(64, 80, 0.5, 1.0), Note(60, 40, 0.5, 1.25)]


def test_a_chorale_is_a_row_of_voices_after_a_beginning() -> None:
    ids = Chorales().encode(GRID)
    assert ids.tolist() == [128, 72, 67, 0, 48, 72, 65, 0, 48, 74, 65, 60, 0]
    np.testing.assert_array_equal(Chorales().grid(ids), GRID)
    np.testing.assert_array_equal(Chorales().grid(ids[:-1]), GRID[:2])  # whole steps alone
    assert Chorales().line(ids, 12) == "C5 G4 - C3, C5 F4 - C3, D5 F4 C4 -"
    assert Chorales().line(Chorales().encode(GRID[[0, 0, 2]]), 12) == "C5 G4 - C3 ×2, D5 F4 C4 -"


def test_cells_belong_to_the_note_that_is_held() -> None:
    written = Chorales().decode(Chorales().encode(GRID), tempo=120.0)
    assert sorted(written.notes) == sorted(notes_of(GRID, 120.0))
    assert written.first.tolist() == sorted(written.first)
    assert written.owner.tolist() == [-1, 0, 1, -1, 2, 0, 3, -1, 2, 4, 3, 5, -1]


def test_events_belong_to_their_notes() -> None:
    language = Performances()
    ids = language.encode(NOTES)
    written = language.decode(ids)
    assert [(n.pitch, n.start, n.end) for n in written.notes] == [(60, 0.0, 0.5), (60, 0.5, 1.25), (64, 0.5, 1.0)]
    for number, note in enumerate(written.notes):
        assert ids[written.owner == number].tolist() == [note.pitch, NOTE_OFF + note.pitch]
        assert written.first[number] == np.flatnonzero(written.owner == number)[0]
    times = (ids >= TIME_SHIFT) | (ids == language.begin)
    assert (written.owner[times] == -1).all()


def test_a_pitch_that_sounds_twice_ends_as_it_began() -> None:
    ids = np.array([EVENTS, *parse("NOTE_ON<60> TIME_SHIFT<10> NOTE_ON<60> TIME_SHIFT<10> NOTE_OFF<60> NOTE_OFF<60>")])
    written = Performances().decode(ids)
    assert written.owner.tolist() == [-1, 0, -1, 1, -1, 0, 1]
    assert [round(note.start, 2) for note in written.notes] == [0.0, 0.01]


@pytest.mark.parametrize("kind", LANGUAGES)
def test_transposition_moves_pitches_alone(kind: str) -> None:
    language = LANGUAGES[kind]
    piece = GRID if kind == "chorales" else NOTES
    ids = language.encode(piece)
    moved = language.moved(ids, 3)
    assert [n.pitch for n in language.decode(moved).notes] == [n.pitch + 3 for n in language.decode(ids).notes]
    np.testing.assert_array_equal(language.moved(moved, -3), ids)
    np.testing.assert_array_equal(language.pitches(moved), language.pitches(ids) + 3)
    apart = np.arange(len(ids)) % 2
    np.testing.assert_array_equal(language.moved(ids, apart), np.where(moved != ids, ids + apart, ids))


# What a pianist can do ----------------------------------------------------------------------------------------


def playing(events: str, steps: int = 100) -> np.ndarray:
    """What is allowed after some events."""
    rules = Playing(1, steps)
    for event in parse(events).tolist():
        assert rules.allowed()[0, event], event
        rules.add(np.array([event]))
    return rules.allowed()[0]


def test_keys_go_down_and_up() -> None:
    allowed = playing("SET_VELOCITY<80> NOTE_ON<60>")
    assert not allowed[60] and not allowed[NOTE_OFF + 60] and not allowed[NOTE_OFF + 61] and allowed[61]
    allowed = playing("NOTE_ON<60> TIME_SHIFT<10>")
    assert allowed[NOTE_OFF + 60] and not allowed[60] and not allowed[NOTE_OFF + 61] and not allowed[EVENTS]
    allowed = playing("NOTE_ON<60> TIME_SHIFT<10> NOTE_OFF<60>")
    assert allowed[60] and not allowed[NOTE_OFF + 60]
    assert not playing("SET_VELOCITY<80>")[SET_VELOCITY:EVENTS].any()


def test_time_comes_to_its_end() -> None:
    allowed = playing("NOTE_ON<60> TIME_SHIFT<1000>")
    assert np.flatnonzero(allowed).tolist() == [EVENTS]


def test_an_instant_has_room_for_few_events() -> None:
    """Whatever is chosen, as long as it is not a time shift, nothing is left but that."""
    rules, language = Playing(1, 1), Performances()
    random, count = np.random.default_rng(0), 0
    while (choice := np.flatnonzero(rules.allowed()[0, :TIME_SHIFT])).size or not rules.loudness[0]:
        others = np.flatnonzero(rules.allowed()[0, SET_VELOCITY:EVENTS]) + SET_VELOCITY
        rules.add(random.choice(np.concatenate([choice, others]), 1))
        count += 1
    assert count + 1 <= language.room(0.0, 100.0)
