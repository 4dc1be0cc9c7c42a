"""Music from files: its parts, ranges, and what cannot be learned from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from examples.music import data
from examples.music.languages import Chorales, Performances
from examples.music.settings import DataSettings
from minigrad.music.chorales import notes_of
from minigrad.music.midi import write_midi
from minigrad.music.notes import Note


def performance_of(*paths: Path, held_out: float = 0.25, stretch: float = 0.0) -> data.Corpus:
    return data.read(DataSettings("performance", tuple(map(str, paths)), held_out, stretch=stretch))


def chorales_of(*paths: Path, held_out: float = 0.1) -> data.Corpus:
    return data.read(DataSettings("chorales", tuple(map(str, paths)), held_out))


def test_a_file_of_chorales_says_which_validate(chorales: Path) -> None:
    corpus = chorales_of(chorales)
    assert [len(corpus.part(part)) for part in ("train", "valid", "test")] == [8, 3, 2]
    assert len(corpus.train[0].versions[0]) == 1 + 4 * 24 and corpus.is_held_out
    assert corpus.ranges == [[71, 74], [67, 69], [59, 65], [41, 55]]
    assert (corpus.train[0].low, corpus.train[0].high) <= (48, 74)


def test_of_files_the_last_tenth_is_held_out(tmp_path: Path) -> None:
    for i in range(12):
        write_midi(tmp_path / f"{i:02d}.mid", notes_of(np.full((8, 4), [72, 67, 60, 48 + i])), 100.0)
    corpus = chorales_of(tmp_path)
    assert (len(corpus.train), len(corpus.valid)) == (11, 1)
    np.testing.assert_array_equal(Chorales().grid(corpus.valid[0])[0], [72, 67, 60, 59])
    same = chorales_of(tmp_path, held_out=0.0)
    assert len(same.train) == len(same.valid) == 12 and not same.is_held_out
    with pytest.raises(ValueError, match="has no part 'test'"):
        corpus.part("test")


def test_of_performances_the_end_is_held_out(performances: Path) -> None:
    corpus = performance_of(performances)
    language = Performances()
    assert len(corpus.train) == len(corpus.valid) == 3
    begin, end = (language.decode(part).notes for part in (corpus.train[0].versions[0], corpus.valid[0]))
    assert len(begin) + len(end) == 40 and len(end) == 10
    assert end[0].start < 0.25 and max(n.end for n in begin) <= 0.75 * 40 * 0.25
    whole = performance_of(performances, held_out=0.0)
    assert not whole.is_held_out and len(language.decode(whole.train[0].versions[0]).notes) == 40


def test_other_music_has_another_digest(chorales: Path, performances: Path) -> None:
    digests = [performance_of(performances, held_out=part).digest for part in (0.25, 0.25, 0.5)]
    assert digests[0] == digests[1] != digests[2] != chorales_of(chorales).digest


def test_what_a_folder_has_besides_is_left_out(
    performances: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_midi(tmp_path / "good.mid", [Note(60, 80, 0.1 * i, 0.1 * i + 0.05) for i in range(20)])
    (tmp_path / "bad.mid").write_text("no music")
    (tmp_path / "text.txt").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    assert len(performance_of(tmp_path).train) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(line.startswith("note: left out: ") for line in lines)


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("performance", "none.mid", "no such file"),
        ("performance", "text.mid", "text.mid is no MIDI file"),
        ("performance", "empty.mid", "empty.mid has no notes"),
        ("performance", "folder", "no .mid files in"),
        ("performance", "texts", "none of the 1 .mid files in .* can be learned from"),
        ("chorales", "five.mid", "five.mid.* 5 tracks"),
        ("chorales", "text.json", "text.json is no JSON"),
        ("chorales", "none.json", "too few chorales"),
    ],
)
def test_files_that_are_no_music(kind: str, name: str, message: str, tmp_path: Path) -> None:
    for file in (tmp_path / "text.mid", tmp_path / "text.json"):
        file.write_text("no music")
    (tmp_path / "folder").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.mid").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    write_midi(tmp_path / "five.mid", [Note(60 + i, 80, 0, 1, i) for i in range(5)])
    (tmp_path / "none.json").write_text('{"train": [], "valid": [], "test": []}')
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        data.read(DataSettings(kind, (str(tmp_path / name),)))
    assert re.search(message, str(caught.value)), str(caught.value)
