"""Music that a model writes: repeatable, valid for another reader, with every note closed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from examples.music import cli
from minigrad.music.chorales import grid_of, notes_of
from minigrad.music.midi import read_midi, write_midi
from tests.support.music import chorale, scale

Refused = Callable[[list[str], str], None]


def music_of(folder: Path, output: Path, *options: str) -> list[str]:
    return ["generate", "--run", str(folder), "--output", str(output), *options]


def check_file(path: Path) -> int:
    """The number of a file's notes, by mido's messages alone: each note that begins ends later, once."""
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


def test_a_chorale_is_as_long_as_was_asked(run: Path, tmp_path: Path) -> None:
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
    assert "note: the motif has" in capsys.readouterr().err  # it is longer than the context
    given, written = read_midi(motif).notes, read_midi(output).notes
    assert [(n.pitch, n.velocity) for n in written[:40]] == [(n.pitch, n.velocity) for n in given]
    np.testing.assert_allclose([n[2:4] for n in written[:40]], [n[2:4] for n in given], atol=0.006)
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
    assert cli.main(music_of(run, tmp_path / "b.mid", "--seconds", "1", "--beams", "3")) == 0


def test_what_cannot_be_written(
    run: Path, tmp_path: Path, refused: Refused, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, message in (
        (("--beams", "2", "--top-k", "3"), "--top-k is for drawing"),
        (("--temperature", "0", "--top-p", "0.5"), "--top-p is for drawing"),
        (("--tempo", "5000"), "--tempo 5000: it is 4 to 1000"),
        (("--seed-seconds", "3"), "give one, --seed-file"),
        (("--page", "a.txt"), "--page a.txt: the name must end in .html"),
        (("--wav", "a.mp3"), "--wav a.mp3: the name must end in .wav"),
        (("--seed-file", "none.mid"), "none.mid: there is no such file$"),
        (("--stride", "3"), "stride must be a multiple of the cycle"),
        (("--output", "a.txt"), "--output a.txt: the name must end in .mid or .midi"),
    ):
        refused(music_of(run, tmp_path / "a.mid", *options), message)
    for option in (("--seconds", "0"), ("--temperature", "-1"), ("--batch", "0")):
        with pytest.raises(SystemExit) as caught:
            cli.main(music_of(run, Path("a.mid"), *option))
        assert caught.value.code == 2 and "number" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_motifs_without_music(run: Path, piano: Path, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "text.mid").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    write_midi(tmp_path / "late.mid", [note._replace(start=9.0, end=9.5) for note in notes_of(chorale(0, 4))])
    refused(music_of(run, tmp_path / "a.mid", "--seed-file", str(tmp_path / "text.mid")), "text.mid is no MIDI file")
    refused(music_of(run, tmp_path / "a.mid", "--seed-file", str(tmp_path / "empty.mid")), "empty.mid has no notes")
    late = ("--seed-file", str(tmp_path / "late.mid"), "--seed-seconds", "2")
    refused(music_of(piano, tmp_path / "a.mid", *late), "late.mid has no note in its first 2 s")
    refused(music_of(piano, tmp_path / "a.mid", "--tempo", "90"), "--tempo is for chorales")
