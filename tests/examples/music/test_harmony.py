"""Harmonising: the particle filter against an enumeration of everything, and melodies of all sorts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from examples.music import cli
from examples.music.harmony import Melody, effective, into_range, notes_below, particle_filter, resampled
from examples.music.run import load
from minigrad.music.chorales import grid_of, notes_of
from minigrad.music.midi import Song, read_midi, write_midi
from minigrad.music.notes import Note
from tests.support.music import chorale

Refused = Callable[[list[str], str], None]
TOKENS, VOICES = 3, 2  # of a small language: a melody and one voice below it


class Table:
    """A decoder whose next token depends on the last two, by a table; rows are continued as a filter says.

    ``reorder`` keeps what a cache would keep: the rows that it has read so far.
    """

    def __init__(self, rows: int) -> None:
        self.start = mg.zeros(rows, 1, dtype=mg.int64)
        self.log_p = 2.0 * np.random.default_rng(0).standard_normal((TOKENS, TOKENS, TOKENS))
        self.log_p -= np.log(np.exp(self.log_p).sum(-1, keepdims=True))
        self.read = self.start.numpy()[:, :0]

    def next_logits(self, tokens: mg.Tensor) -> mg.Tensor:
        seen = tokens.numpy()
        np.testing.assert_array_equal(seen[:, : self.read.shape[1]], self.read)
        self.read = seen
        last = seen[:, -1]
        before = seen[:, -2] if seen.shape[1] > 1 else np.zeros_like(last)
        return mg.from_numpy(self.log_p[before, last])

    def reorder(self, rows: mg.Tensor, beam_size: int) -> None:
        self.read = self.read[rows.numpy()]

    def probability(self, tokens: list[int]) -> float:
        """p of a sequence after its first token."""
        padded = [0, *tokens]
        return float(np.exp(sum(self.log_p[triple] for triple in zip(padded, padded[1:], padded[2:], strict=False))))


def exact(melody: list[int]) -> tuple[dict[tuple[int, ...], float], float]:
    """p(voice | melody) of each voice, and p(melody)."""
    table = Table(1)
    joint = {}
    for voice in itertools.product(range(TOKENS), repeat=len(melody)):
        tokens = [token for pair in zip(melody, voice, strict=True) for token in pair]
        joint[voice] = table.probability([0, *tokens])
    total = sum(joint.values())
    return {voice: p / total for voice, p in joint.items()}, total


def test_the_filter_finds_what_an_enumeration_finds() -> None:
    """Weighted particles have the distribution of the voice given the whole melody, and their mean weight is the
    melody's probability; resampling has happened on the way."""
    melody = [1, 2, 0, 1]
    posterior, evidence = exact(melody)
    mg.manual_seed(0)
    particles = particle_filter(Table(20_000), np.array(melody), VOICES)
    weights = np.exp(particles.log_weights - particles.log_weights.max())
    weights /= weights.sum()
    tokens = particles.tokens.numpy()[:, 1:]
    assert (tokens[:, ::2] == melody).all()
    estimate = dict.fromkeys(posterior, 0.0)
    for row, weight in zip(tokens[:, 1::2].tolist(), weights.tolist(), strict=True):
        estimate[tuple(row)] += weight
    assert max(abs(estimate[voice] - posterior[voice]) for voice in posterior) < 0.015
    assert np.exp(particles.log_evidence) == pytest.approx(evidence, rel=0.03)
    blind = np.mean([posterior[tuple(row)] for row in drawn_without_the_melody_to_come(melody)])
    seeing = np.mean([posterior[tuple(row)] for row in tokens[:, 1::2].tolist()])
    assert seeing > 1.1 * blind, "the voice suits what the melody does later"


def drawn_without_the_melody_to_come(melody: list[int]) -> list[list[int]]:
    """Voices that are drawn one by one, with one particle each."""
    return [particle_filter(Table(1), np.array(melody), VOICES).draw()[2::2].tolist() for _ in range(300)]


def test_a_draw_follows_the_weights() -> None:
    mg.manual_seed(0)
    log_weights = np.log([0.5, 0.25, 0.25, 1e-300])
    assert sorted(resampled(log_weights, 4).tolist()) == [0, 0, 1, 2]
    assert effective(log_weights) == pytest.approx(1 / 0.375)
    assert effective(np.zeros(7) - 1000) == pytest.approx(7)
    counts = np.bincount([int(resampled(log_weights, 1)[0]) for _ in range(2000)], minlength=4)
    np.testing.assert_allclose(counts / 2000, [0.5, 0.25, 0.25, 0], atol=0.04)


def harmonised(run: Path, melody: Path, *options: str) -> list[str]:
    return ["harmonise", str(melody), "--run", str(run), "--particles", "4", *options]


def soprano(steps: int = 24, semitones: int = 0) -> list[Note]:
    """The highest voice of a chorale, with a note that is struck twice and a rest."""
    notes = [note for note in notes_of(chorale(3, steps)) if note.track == 0]
    first = notes[0]
    half = (first.start + first.end) / 2
    split = [first._replace(end=half), first._replace(start=half, velocity=99)]
    return [note._replace(pitch=note.pitch + semitones) for note in [*split, *notes[2:]]]


@pytest.mark.parametrize("semitones", [0, -20])
def test_the_melody_stays_as_it_is(
    run: Path, tmp_path: Path, semitones: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """In any key, and off the grid: pitch, velocity and time of every note."""
    notes = [note._replace(start=note.start + 0.01) for note in soprano(semitones=semitones)]
    melody = write_midi(tmp_path / "melody.mid", notes, 100.0)
    output = tmp_path / "out.mid"
    assert cli.main(harmonised(run, melody, "--output", str(output))) == 0
    assert ("note: the model reads the melody" in capsys.readouterr().err) == bool(semitones)
    written = read_midi(output)
    assert [note for note in written.notes if note.track == 0] == list(read_midi(melody).notes)
    assert {note.track for note in written.notes} == {0, 1, 2, 3}
    end = max(note.end for note in notes)
    assert max(note.end for note in written.notes) <= end + 0.08
    assert written.tempos[0][1] == pytest.approx(100)


def test_a_seed_repeats_it_and_a_page_shows_it(run: Path, tmp_path: Path) -> None:
    melody = write_midi(tmp_path / "melody.mid", soprano(), 100.0)
    files: list[bytes] = []
    for seed in ("1", "1", "2"):
        output, page = tmp_path / f"{len(files)}.mid", tmp_path / "page.html"
        options = ("--output", str(output), "--seed", seed, "--page", str(page))
        assert cli.main(harmonised(run, melody, *options)) == 0
        files.append(output.read_bytes())
    assert files[0] == files[1] != files[2]
    assert "tenor" in page.read_text(encoding="utf-8")


def test_voices_follow_a_change_of_tempo() -> None:
    """A quarter note of 0.5 s, then some of 1 s."""
    song = Song((Note(72, 80, 0.0, 2.5),), ((0.0, 120.0), (0.5, 60.0)))
    melody = Melody(song, list(song.notes), np.full(12, 72), 0)
    grid = np.array([[72, 67, 64, 48]] * 8 + [[72, 67, 62, -1]] * 4)
    notes = notes_below(grid, melody)
    ends = {(note.pitch, note.track): (note.start, note.end) for note in notes}
    assert ends == {(67, 1): (0.0, 2.5), (64, 2): (0.0, 1.5), (62, 2): (1.5, 2.5), (48, 3): (0.0, 1.5)}
    np.testing.assert_array_equal(grid_of(Song((*song.notes, *notes), song.tempos)), grid)


def test_the_fewest_semitones_into_a_range() -> None:
    for pitches, shift in (([60, 72], 0), ([72, 80], -5), ([50, 60], 10), ([40, 91], 2), ([1, 10], 59)):
        assert into_range(np.array([0, *pitches]), 60, 75) == shift


def test_files_without_a_melody(run: Path, piano: Path, four_voices: Path, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "text.mid").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    refused(harmonised(run, tmp_path / "text.mid"), "text.mid is no MIDI file")
    refused(harmonised(run, tmp_path / "empty.mid"), "empty.mid has no notes")
    refused(harmonised(run, tmp_path / "none.mid"), "none.mid")
    refused(harmonised(piano, four_voices), "harmonise is for chorales, and .* is a model of performances")
    assert load(piano).ranges == []
