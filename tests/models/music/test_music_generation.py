"""Generated music is reproducible and valid for another reader; melodies are harmonised."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.music import music_command as cli
from minigrad_models.music.chorales import grid_of
from minigrad_models.music.harmony import effective, into_range, particle_filter, resampled
from minigrad_models.music.midi import Note, read_midi, write_midi
from tests.support.music import chorale, notes_of, scale

Refused = Callable[..., None]


def music_of(folder: Path, output: Path, *options: str) -> list[str]:
    return ["generate", "--run", str(folder), "--output", str(output), *options]


def check_file(path: Path) -> int:
    """The number of notes in a file, from mido's messages only: each note that begins ends later, once."""
    mido = pytest.importorskip("mido")
    file, count = mido.MidiFile(path), 0
    for track in file.tracks:
        sounding: dict[tuple[int, int], int] = {}
        now = 0
        for message in track:
            now += message.time
            if message.type == "note_on" and message.velocity:
                assert (message.channel, message.note) not in sounding
                sounding[message.channel, message.note] = now
                count += 1
            elif message.type in ("note_on", "note_off"):
                assert sounding.pop((message.channel, message.note)) < now
        assert not sounding, "a stuck note"
    return count


def test_a_seed_repeats_a_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files: list[bytes] = []
    for seed in ("1", "1", "2"):
        output = tmp_path / f"{len(files)}.mid"
        assert cli.main(music_of(run, output, "--seconds", "3", "--seed", seed, "--top-k", "9")) == 0
        files.append(output.read_bytes())
    assert files[0] == files[1] != files[2]
    assert "80 tokens" in capsys.readouterr().err  # 20 sixteenths of 0.15 s, four voices


def test_a_chorale_has_the_requested_length(run: Path, tmp_path: Path) -> None:
    output, tempo = tmp_path / "a.mid", 60
    assert cli.main(music_of(run, output, "--seconds", "4", "--tempo", str(tempo))) == 0
    assert check_file(output) > 4
    song = read_midi(output)
    assert song.tempos[0][1] == pytest.approx(tempo, rel=1e-5)
    assert song.seconds <= 4.01
    grid = grid_of(song)
    assert len(grid) <= round(4 * tempo / 15) and ((grid == -1) | (grid > 0)).all()


def test_performances_end_when_the_time_is_over(piano: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.mid"
    assert cli.main(music_of(piano, output, "--seconds", "2", "--seed", "1")) == 0
    assert check_file(output) == len(read_midi(output).notes) > 0
    assert read_midi(output).seconds <= 2.0 + 1e-3


def test_a_motif_is_the_beginning(run: Path, four_voices: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.mid"
    options = ("--seed-file", str(four_voices), "--seed-seconds", "1.2", "--seconds", "3")
    assert cli.main(music_of(run, output, *options)) == 0
    grid = grid_of(read_midi(output))
    np.testing.assert_array_equal(grid[:8], chorale(5)[:8])
    assert 8 < len(grid) <= 28


def test_a_pianists_motif_is_the_beginning(piano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    motif, output = write_midi(tmp_path / "motif.mid", scale(60)), tmp_path / "a.mid"
    assert cli.main(music_of(piano, output, "--seed-file", str(motif), "--seconds", "2")) == 0
    assert "note: of the motif's" in capsys.readouterr().err  # it is longer than the context
    inputs, outputs = read_midi(motif).notes, read_midi(output).notes
    assert [(n.pitch, n.velocity) for n in outputs[:40]] == [(n.pitch, n.velocity) for n in inputs]
    np.testing.assert_allclose([n[2:4] for n in outputs[:40]], [n[2:4] for n in inputs], atol=0.006)
    cut = ("--seed-file", str(motif), "--seed-seconds", "1", "--seconds", "1")
    assert cli.main(music_of(piano, output, *cut)) == 0
    assert [n.pitch for n in read_midi(output).notes[:4]] == [60, 61, 62, 63]
    assert read_midi(output).seconds <= 2.0 + 1e-3 and check_file(output)


def test_several_files_pages_and_beams(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = ("--page", str(tmp_path / "a.html"))
    assert cli.main(music_of(run, tmp_path / "a.mid", "--seconds", "2", "--batch", "2", *page)) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a-1.mid", "a-2.mid", "a-1.html", "a-2.html"}
    assert "soprano" in (tmp_path / "a-1.html").read_text(encoding="utf-8")
    assert (tmp_path / "a-1.mid").read_bytes() != (tmp_path / "a-2.mid").read_bytes()
    assert cli.main(music_of(run, tmp_path / "b.mid", "--seconds", "1", "--num-beams", "3")) == 0


def test_invalid_options_of_generate(run: Path, tmp_path: Path, refused: Refused) -> None:
    for options, message in (
        (("--tempo", "5000"), "--tempo must be 4 to 1000 quarter notes per minute, not 5000"),
        (("--seed-seconds", "3"), "it needs --seed-file"),
        (("--page", "a.txt"), "--page a.txt: the name must end in .html"),
        (("--seed-file", "none.mid"), "none.mid: the file does not exist$"),
        (("--stride", "3"), "stride must be a multiple of the cycle"),
        (("--output", "a.txt"), "--output a.txt: the name must end in .mid or .midi"),
    ):
        refused(music_of(run, tmp_path / "a.mid", *options), message)
    refused(music_of(run, Path("a.mid"), "--seconds", "0"), "number", 2)
    assert not list(tmp_path.iterdir())


def test_motifs_without_music(run: Path, piano: Path, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "text.mid").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    write_midi(tmp_path / "late.mid", [note._replace(start=9.0, end=9.5) for note in notes_of(chorale(0, 4))])
    refused(music_of(run, tmp_path / "a.mid", "--seed-file", str(tmp_path / "text.mid")), "text.mid is not a MIDI file")
    refused(music_of(run, tmp_path / "a.mid", "--seed-file", str(tmp_path / "empty.mid")), "empty.mid has no notes")
    late = ("--seed-file", str(tmp_path / "late.mid"), "--seed-seconds", "2")
    refused(music_of(piano, tmp_path / "a.mid", *late), "late.mid has no notes in its first 2 s")
    refused(music_of(piano, tmp_path / "a.mid", "--tempo", "90"), "--tempo is only for chorales")


TOKENS, VOICES = 3, 2  # a small language: a melody and one voice below it


class Table:
    """A decoder whose table maps the last two tokens to the next; a filter selects the rows that continue.

    ``reorder`` keeps the rows that it has read so far, as a cache does.
    """

    def __init__(self, rows: int) -> None:
        self.start = mg.zeros(rows, 1, dtype=mg.int64)
        self.log_p = 2.0 * np.random.default_rng(0).standard_normal((TOKENS, TOKENS, TOKENS))
        self.log_p -= np.log(np.exp(self.log_p).sum(-1, keepdims=True))
        self.read = self.start.numpy()[:, :0]

    def next_logits(self, tokens: mg.Tensor) -> mg.Tensor:
        read = tokens.numpy()
        np.testing.assert_array_equal(read[:, : self.read.shape[1]], self.read)
        self.read = read
        last = read[:, -1]
        before = read[:, -2] if read.shape[1] > 1 else np.zeros_like(last)
        return mg.from_numpy(self.log_p[before, last])

    def reorder(self, rows: mg.Tensor, num_beams: int) -> None:
        self.read = self.read[rows.numpy()]

    def probability(self, tokens: list[int]) -> float:
        """The probability of a sequence given its first token."""
        padded = [0, *tokens]
        return float(np.exp(sum(self.log_p[triple] for triple in zip(padded, padded[1:], padded[2:], strict=False))))


def exact(melody: list[int]) -> dict[tuple[int, ...], float]:
    """p(voice | melody) of each voice."""
    table = Table(1)
    joint = {}
    for voice in itertools.product(range(TOKENS), repeat=len(melody)):
        tokens = [token for pair in zip(melody, voice, strict=True) for token in pair]
        joint[voice] = table.probability([0, *tokens])
    total = sum(joint.values())
    return {voice: p / total for voice, p in joint.items()}


def test_the_filter_agrees_with_an_enumeration() -> None:
    """Weighted particles have the distribution of the voice given the melody, also after resampling."""
    melody = [1, 2, 0, 1]
    posterior = exact(melody)
    mg.manual_seed(0)
    particles, log_weights = particle_filter(Table(20_000), np.array(melody), VOICES)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    tokens = particles.numpy()[:, 1:]
    assert (tokens[:, ::2] == melody).all()
    estimate = dict.fromkeys(posterior, 0.0)
    for row, weight in zip(tokens[:, 1::2].tolist(), weights.tolist(), strict=True):
        estimate[tuple(row)] += weight
    assert max(abs(estimate[voice] - posterior[voice]) for voice in posterior) < 0.015


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
def test_the_melody_is_unchanged(run: Path, tmp_path: Path, semitones: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Pitch, velocity and time of every note are kept, in any key and off the grid."""
    notes = [note._replace(start=note.start + 0.01) for note in soprano(semitones=semitones)]
    melody = write_midi(tmp_path / "melody.mid", notes, 100.0)
    output = tmp_path / "out.mid"
    options = ("--output", str(output), "--page", str(tmp_path / "page.html"))
    assert cli.main(harmonised(run, melody, *options)) == 0
    assert "tenor" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ("note: the model reads the melody" in capsys.readouterr().err) == bool(semitones)
    song = read_midi(output)
    assert [note for note in song.notes if note.track == 0] == list(read_midi(melody).notes)
    assert {note.track for note in song.notes} == {0, 1, 2, 3}
    end = max(note.end for note in notes)
    assert max(note.end for note in song.notes) <= end + 0.08
    assert song.tempos[0][1] == pytest.approx(100)


def test_the_fewest_semitones_into_a_range() -> None:
    for pitches, shift in (([60, 72], 0), ([72, 80], -5), ([50, 60], 10), ([40, 91], 2), ([1, 10], 59)):
        assert into_range(np.array([0, *pitches]), 60, 75) == shift
