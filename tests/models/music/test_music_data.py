"""Music from files and as tokens: splits, windows, and files that cannot be used."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import viz
from minigrad_models.music import music_data as data
from minigrad_models.music.files import attention_of_notes
from minigrad_models.music.languages import (
    EVENTS,
    LANGUAGES,
    NOTE_OFF,
    SET_VELOCITY,
    TIME_SHIFT,
    Chorales,
    Performances,
    Playing,
)
from minigrad_models.music.midi import Note, write_midi
from minigrad_models.music.music_data import Windows, piece_of
from minigrad_models.music.music_settings import DataSettings, Settings
from minigrad_models.music.music_transformer import Config, MusicTransformer
from minigrad_models.programs.validation import NONE
from tests.support.music import chorale, notes_of, parse, scale


def performance_of(*paths: Path, held_out: float = 0.25, stretch: float = 0.0) -> data.Corpus:
    return data.read(DataSettings("performance", tuple(map(str, paths)), held_out, stretch=stretch))


def chorales_of(*paths: Path, held_out: float = 0.1) -> data.Corpus:
    return data.read(DataSettings("chorales", tuple(map(str, paths)), held_out))


def test_a_file_of_chorales_has_its_own_splits(chorales: Path) -> None:
    corpus = chorales_of(chorales)
    assert [len(corpus.part(part)) for part in ("train", "valid", "test")] == [8, 3, 2]
    assert len(corpus.train[0].versions[0]) == 1 + 4 * 24 and corpus.is_held_out
    assert corpus.ranges == [[71, 74], [67, 69], [59, 65], [41, 55]]
    assert (corpus.train[0].low, corpus.train[0].high) <= (48, 74)


def test_the_last_tenth_of_the_files_is_held_out(tmp_path: Path) -> None:
    for i in range(12):
        write_midi(tmp_path / f"{i:02d}.mid", notes_of(np.full((8, 4), [72, 67, 60, 48 + i])), 100.0)
    corpus = chorales_of(tmp_path)
    assert (len(corpus.train), len(corpus.valid)) == (11, 1)
    np.testing.assert_array_equal(Chorales().grid(corpus.valid[0])[0], [72, 67, 60, 59])
    same = chorales_of(tmp_path, held_out=0.0)
    assert len(same.train) == len(same.valid) == 12 and not same.is_held_out
    with pytest.raises(ValueError, match="has no part 'test'"):
        corpus.part("test")


def test_the_end_of_each_performance_is_held_out(performances: Path) -> None:
    corpus = performance_of(performances)
    language = Performances()
    assert len(corpus.train) == len(corpus.valid) == 3
    begin, end = (language.decode(part).notes for part in (corpus.train[0].versions[0], corpus.valid[0]))
    assert len(begin) + len(end) == 40 and len(end) == 10
    assert end[0].start < 0.25 and max(n.end for n in begin) <= 0.75 * 40 * 0.25
    whole = performance_of(performances, held_out=0.0)
    assert not whole.is_held_out and len(language.decode(whole.train[0].versions[0]).notes) == 40


def test_other_files_are_skipped(performances: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_midi(tmp_path / "good.mid", [Note(60, 80, 0.1 * i, 0.1 * i + 0.05) for i in range(20)])
    (tmp_path / "bad.mid").write_text("no music")
    (tmp_path / "text.txt").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    assert len(performance_of(tmp_path).train) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(line.startswith("note: skipped: ") for line in lines)


def test_files_that_are_not_music(tmp_path: Path) -> None:
    for file in (tmp_path / "text.mid", tmp_path / "text.json"):
        file.write_text("no music")
    (tmp_path / "folder").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.mid").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    write_midi(tmp_path / "five.mid", [Note(60 + i, 80, 0, 1, i) for i in range(5)])
    (tmp_path / "none.json").write_text('{"train": [], "valid": [], "test": []}')
    for kind, name, message in (
        ("performance", "none.mid", "the file does not exist"),
        ("performance", "text.mid", "text.mid is not a MIDI file"),
        ("performance", "empty.mid", "empty.mid has no notes"),
        ("performance", "folder", "no .mid files in"),
        ("performance", "texts", "none of the 1 .mid files in .* can be used for training"),
        ("chorales", "five.mid", "five.mid.* 5 tracks"),
        ("chorales", "text.json", "text.json is not JSON"),
        ("chorales", "none.json", "too few chorales"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=f"(?s){message}"):
            data.read(DataSettings(kind, (str(tmp_path / name),)))


GRID = np.array([[72, 67, -1, 48], [72, 65, -1, 48], [74, 65, 60, -1]])
NOTES = [Note(60, 80, 0.0, 0.5), Note(64, 80, 0.5, 1.0), Note(60, 40, 0.5, 1.25)]


def test_a_chorale_is_a_row_of_voices_after_a_start_token() -> None:
    ids = Chorales().encode(GRID)
    assert ids.tolist() == [128, 72, 67, 0, 48, 72, 65, 0, 48, 74, 65, 60, 0]
    np.testing.assert_array_equal(Chorales().grid(ids), GRID)
    np.testing.assert_array_equal(Chorales().grid(ids[:-1]), GRID[:2])  # only whole steps
    assert Chorales().line(ids, 12) == "C5 G4 - C3, C5 F4 - C3, D5 F4 C4 -"
    assert Chorales().line(Chorales().encode(GRID[[0, 0, 2]]), 12) == "C5 G4 - C3 ×2, D5 F4 C4 -"


def test_cells_belong_to_the_sounding_note() -> None:
    music = Chorales().decode(Chorales().encode(GRID), tempo=120.0)
    assert sorted(music.notes) == sorted(notes_of(GRID, 120.0))
    assert music.first.tolist() == sorted(music.first)
    assert music.owner.tolist() == [-1, 0, 1, -1, 2, 0, 3, -1, 2, 4, 3, 5, -1]


def test_events_belong_to_their_notes() -> None:
    language = Performances()
    ids = language.encode(NOTES)
    music = language.decode(ids)
    assert [(n.pitch, n.start, n.end) for n in music.notes] == [(60, 0.0, 0.5), (60, 0.5, 1.25), (64, 0.5, 1.0)]
    for number, note in enumerate(music.notes):
        assert ids[music.owner == number].tolist() == [note.pitch, NOTE_OFF + note.pitch]
        assert music.first[number] == np.flatnonzero(music.owner == number)[0]
    times = (ids >= TIME_SHIFT) | (ids == language.begin)
    assert (music.owner[times] == -1).all()


def test_a_pitch_that_sounds_twice_ends_in_order() -> None:
    ids = np.array([EVENTS, *parse("NOTE_ON<60> TIME_SHIFT<10> NOTE_ON<60> TIME_SHIFT<10> NOTE_OFF<60> NOTE_OFF<60>")])
    music = Performances().decode(ids)
    assert music.owner.tolist() == [-1, 0, -1, 1, -1, 0, 1]
    assert [round(note.start, 2) for note in music.notes] == [0.0, 0.01]


@pytest.mark.parametrize("kind", LANGUAGES)
def test_transposition_moves_only_pitches(kind: str) -> None:
    language = LANGUAGES[kind]
    piece = GRID if kind == "chorales" else NOTES
    ids = language.encode(piece)
    moved = language.moved(ids, 3)
    assert [n.pitch for n in language.decode(moved).notes] == [n.pitch + 3 for n in language.decode(ids).notes]
    np.testing.assert_array_equal(language.moved(moved, -3), ids)
    np.testing.assert_array_equal(language.pitches(moved), language.pitches(ids) + 3)
    apart = np.arange(len(ids)) % 2
    np.testing.assert_array_equal(language.moved(ids, apart), np.where(moved != ids, ids + apart, ids))


def playing(events: str, steps: int = 100) -> np.ndarray:
    """The events that are allowed after the given events."""
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
    assert np.flatnonzero(playing("NOTE_ON<60> TIME_SHIFT<1000>")).tolist() == [EVENTS], "the end of the time"


def test_the_number_of_events_at_an_instant_is_limited() -> None:
    """After any sequence of other events, only a time shift is allowed."""
    rules, language = Playing(1, 1), Performances()
    random, count = np.random.default_rng(0), 0
    while (choice := np.flatnonzero(rules.allowed()[0, :TIME_SHIFT])).size or not rules.loudness[0]:
        others = np.flatnonzero(rules.allowed()[0, SET_VELOCITY:EVENTS]) + SET_VELOCITY
        rules.add(random.choice(np.concatenate([choice, others]), 1))
        count += 1
    assert count + 1 <= language.most_tokens(0.0, 100.0)


LANGUAGE = Chorales()
LENGTHS = (9, 16, 25, 40)  # steps


def windows(**options: Any) -> Windows:
    pieces = []
    for number, steps in enumerate(LENGTHS):
        grid = np.random.default_rng(number).integers(40, 80, size=(steps, 4))
        pieces.append(piece_of(LANGUAGE, (LANGUAGE.encode(grid),)))
    return Windows(LANGUAGE, pieces, **{"window": 32, "batch": 2, "grid": 16, **options})


def lists(batches: Windows, number: int, start: int = 0) -> list[Any]:
    return [(batch.tokens.tolist(), batch.targets.tolist()) for batch in batches.epoch(number, start)]


def test_batches_depend_only_on_their_position() -> None:
    whole = lists(windows(transpose=3), 3)
    assert lists(windows(transpose=3), 3, 2) == whole[2:]
    assert lists(windows(transpose=3), 4) != whole
    assert lists(windows(transpose=3, seed=1), 3) != whole


def test_targets_are_the_next_tokens() -> None:
    for batch in windows().epoch(0):
        assert batch.tokens.shape == batch.targets.shape == (2, 32)
        tokens, targets = batch.tokens.numpy(), batch.targets.numpy()
        counts = targets[:, :-1] != NONE
        np.testing.assert_array_equal(tokens[:, 1:][counts], targets[:, :-1][counts])


def test_an_epoch_has_every_token_of_every_piece() -> None:
    """The piece counts up, so all its tokens are different."""
    batches = windows(batch=1)
    flat, lengths = batches.music(np.random.default_rng(0))
    for seed in range(20):
        begins, ends = batches.cuts(lengths, np.random.default_rng(seed))
        covered = np.zeros(len(flat), bool)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            covered[begin + 1 : min(begin + 33, end)] = True
        firsts = np.cumsum(lengths) - lengths
        assert np.flatnonzero(~covered).tolist() == firsts.tolist(), "the beginning alone is no target"
        pieces = np.searchsorted(firsts, begins, side="right") - 1
        assert ((begins - firsts[pieces]) % 16 == 0).all(), "windows begin on the grid"
        assert (ends == (firsts + lengths)[pieces]).all()


def test_pieces_are_transposed_as_a_whole() -> None:
    plain, moved = windows(batch=1), windows(batch=1, transpose=6)
    lengths = plain.music(np.random.default_rng(0))[1]
    one = plain.music(np.random.default_rng(0))[0]
    visible = set()
    for seed in range(40):
        other = moved.music(np.random.default_rng(seed))[0]
        for difference in np.split(other - one, np.cumsum(lengths)[:-1]):
            assert difference[0] == 0 and len(set(difference[1:].tolist())) == 1
            visible.add(int(difference[1]))
    assert visible == set(range(-6, 6)), "twelve keys"


DATA = Path(os.environ["MINIGRAD_DATA"])


@pytest.mark.skipif(not (DATA / "jsb").is_dir(), reason="no jsb: set MINIGRAD_DATA to its parent")
def test_bachs_chorales() -> None:
    corpus = data.read(Settings.preset("chorales").data)
    assert [len(corpus.part(part)) for part in ("train", "valid", "test")] == [229, 76, 77]
    assert sum(len(ids) - 1 for ids in corpus.valid) == 4 * 18_408, "cells of the note-wise loss"
    assert [low for low, _ in corpus.ranges] == sorted((low for low, _ in corpus.ranges), reverse=True)


PIECES = {"chorales": chorale(2, 12), "performance": scale(60, 12)}


def model_of(kind: str, positions: int) -> MusicTransformer:
    mg.manual_seed(0)
    sizes = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 16, "dropout": 0.0, "distances": 8}
    return MusicTransformer(Config(LANGUAGES[kind].vocabulary, positions, **sizes)).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", LANGUAGES)
def test_a_note_has_the_sums_of_the_position_that_predicted_it(kind: str) -> None:
    ids = LANGUAGES[kind].encode(PIECES[kind])
    music, model = LANGUAGES[kind].decode(ids), model_of(kind, 256)
    weights = np.stack(viz.attention(model, mg.from_numpy(ids)[None]).weights())  # (L, H, T, T)
    notes = attention_of_notes(model, ids, music)
    assert notes is not None and notes.shape == (2, 2, len(music.notes), len(music.notes))
    for n, first in enumerate(music.first.tolist()):
        for m in range(len(music.notes)):
            expected = weights[:, :, first - 1, music.owner == m].sum(-1)
            np.testing.assert_allclose(notes[:, :, n, m], expected, atol=2e-3)
    assert (np.triu(notes) == 0).all(), "nothing is seen of itself, and of what comes later"
    assert notes.sum(-1).max() <= 1.001
