"""roll, events, evaluate and config."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from examples.music import cli
from examples.music.data import read
from examples.music.evaluation import evaluate
from examples.music.run import load
from examples.music.settings import DataSettings, Settings
from minigrad.music.midi import read_midi, write_midi
from minigrad.music.performance import decode, parse

Refused = Callable[[list[str], str], None]
LECTURE = "SET_VELOCITY<80>, NOTE_ON<60>, TIME_SHIFT<500>, NOTE_ON<64>, TIME_SHIFT<500>, NOTE_ON<67>, TIME_SHIFT<1000>"
LECTURE += ", NOTE_OFF<60>, NOTE_OFF<64>, NOTE_OFF<67>"


def test_events_make_the_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is what the lectures write, and the file that is written has the same events."""
    source, output = write_midi(tmp_path / "in.mid", decode(parse(LECTURE)), 90.0), tmp_path / "out.mid"
    for file in (source, output):
        assert cli.main(["events", str(file), "--output", str(output)]) == 0
        assert " ".join(capsys.readouterr().out.split()) == LECTURE
    assert read_midi(output).tempos[0][1] == pytest.approx(90, rel=1e-5)


def test_files_without_events(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "text.mid").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    for command in ("events", "roll"):
        refused([command, str(tmp_path / "text.mid")], "text.mid is no MIDI file")
        refused([command, str(tmp_path / "none.mid")], "none.mid")
    refused(["events", str(tmp_path / "empty.mid")], "empty.mid has no notes")
    refused(["events", str(tmp_path / "empty.mid"), "--output", "a.txt"], "must end in .mid")


def test_a_roll_is_saved(four_voices: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for ending, begin in ((".html", "<!"), (".svg", "<svg")):
        output = tmp_path / f"roll{ending}"
        assert cli.main(["roll", str(four_voices), "--output", str(output)]) == 0
        assert capsys.readouterr().out == f"{output}\n"
        assert output.read_text(encoding="utf-8").startswith(begin)


def test_a_roll_shows_what_a_model_looks_at(run: Path, four_voices: Path, tmp_path: Path) -> None:
    plain, read = tmp_path / "plain.html", tmp_path / "read.html"
    assert cli.main(["roll", str(four_voices), "--output", str(plain)]) == 0
    options = ["--run", str(run), "--output", str(read)]
    assert cli.main(["roll", str(four_voices), *options]) == 0
    pages = [path.read_text(encoding="utf-8") for path in (plain, read)]
    assert '"attention":null' in pages[0].replace(" ", "") and '"attention":null' not in pages[1].replace(" ", "")


def test_the_measure_is_the_mean_over_all_cells(run: Path, chorales: Path, tmp_path: Path) -> None:
    """Of each cell, what the model says when it has read the half of a window before it, at least, on the grid."""
    trained = load(run)
    nats, count = 0.0, 0
    for ids in read(DataSettings("chorales", (str(chorales),))).valid:
        for place in range(1, len(ids)):
            begin = 16 * max(0, -(-(place - 32) // 16))
            log_p = trained.model(mg.from_numpy(ids[begin:place])[None])[0, -1].log_softmax(-1)
            nats, count = nats - float(log_p[int(ids[place])]), count + 1
    file = tmp_path / "numbers.json"
    assert cli.main(["evaluate", "--run", str(run), "--json", str(file)]) == 0
    numbers = json.loads(file.read_text())
    assert numbers["tokens"] == count and numbers["pieces"] == 3
    assert numbers["loss"] == pytest.approx(nats / count, rel=1e-4)
    assert numbers["perplexity"] == pytest.approx(np.exp(numbers["loss"]))


def test_parts_and_files(run: Path, four_voices: Path, refused: Refused) -> None:
    where = ["evaluate", "--run", str(run)]
    parts = {part: evaluate(run, part=part)["pieces"] for part in ("train", "valid", "test")}
    assert parts == {"train": 8, "valid": 3, "test": 2}
    assert evaluate(run, files=[str(four_voices)])["tokens"] == 4 * 24
    assert evaluate(run, stride=16)["loss"] == evaluate(run)["loss"] != evaluate(run, stride=32)["loss"]
    refused([*where, "--window", "64"], "--window 64: the model sees 32")
    refused([*where, "--window", "16", "--stride", "32"], "--stride 32 is more than the window")
    refused([*where, "--stride", "3"], "begin at multiples of 16")
    refused([*where, "--data", "none.mid"], "none.mid")


def test_a_configuration_file_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--preset", "piano", "--layers", "5"]) == 0
    path = tmp_path / "my.toml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert Settings.read(path) == Settings.preset("piano").changed({"layers": 5})
