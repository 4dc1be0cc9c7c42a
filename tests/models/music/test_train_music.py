"""The music commands: training, resuming, starting over, evaluating, drawing; and wrong input."""

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.music import music_command as cli, music_run as run
from minigrad_models.music.midi import read_midi, write_midi
from minigrad_models.music.music_data import read
from minigrad_models.music.music_run import InKeys, evaluate, load, score
from minigrad_models.music.music_settings import DataSettings, Settings
from minigrad_models.training import read_checkpoint
from tests.support.music import SMALL
from tests.support.runs import evaluated

Refused = Callable[[list[str], str], None]


def arguments(data: Path, folder: Path, *more: str, steps: int = 20) -> list[str]:
    return ["train", "--data", str(data), "--run", str(folder), *SMALL, "--steps", str(steps), "--ranks", "1", *more]


def test_it_trains_and_shows_samples(chorales: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments(chorales, tmp_path / "run", steps=30)) == 0
    output = capsys.readouterr()
    assert "8 chorales" in output.out and "3 (" in output.out and "nats per cell" in output.out
    losses = evaluated(tmp_path / "run")
    assert len(losses) == 3 and losses[-1] < losses[0]
    samples = sorted((tmp_path / "run" / "samples").iterdir())
    assert [path.name for path in samples] == [f"step-{step:06d}.mid" for step in (10, 20, 30)]
    assert read_midi(samples[-1]).seconds <= 2.1
    assert output.out.count("\n\n") >= 3, "a line of music at each evaluation"
    model = run.load(tmp_path / "run")
    assert model.ranges[0] == [71, 74] and model.model.config.cycle == 16 and not model.model.training


def test_a_run_of_other_settings_or_other_music(chorales: Path, tmp_path: Path, refused: Refused) -> None:
    folder, data = tmp_path / "run", tmp_path / "copy.json"
    data.write_text(chorales.read_text())
    assert cli.main(arguments(data, folder, steps=5)) == 0
    refused(arguments(data, folder, "--dropout", "0.2", steps=5), "dropout .0.1 there, 0.2 now.*--fresh")
    content = json.loads(data.read_text())
    content["train"].pop()
    data.write_text(json.dumps(content))
    refused(arguments(data, folder, steps=5), "the music")


def test_a_finished_run_trains_longer_and_answers_at_once(
    chorales: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    assert cli.main(arguments(chorales, folder, steps=12)) == 0
    assert cli.main(["train", "--run", str(folder), "--steps", "14"]) == 0
    assert f"{folder} resumes from step 12 of 14 (previously 12); its learning rate " in capsys.readouterr().err
    monkeypatch.setattr(run, "build", None)
    assert cli.main(["train", "--run", str(folder)]) == 0
    output = capsys.readouterr()
    assert "after 14 updates\nfull validation: loss" in output.out and "holds a finished run" in output.err


def test_invalid_sizes(chorales: Path, tmp_path: Path, refused: Refused) -> None:
    for options, message in (
        (("--heads", "3"), "must be a multiple of heads"),
        (("--window", "64"), "window .64. must not exceed context"),
        (("--context", "40"), "context is 40, but must be a multiple of 32"),
        (("--window", "16"), "window is 16, but must be a multiple of 32"),
        (("--preset", "huge"), "unknown preset 'huge'; choose from chorales"),
        (("--kind", "songs"), "kind is 'songs'"),
    ):
        refused(arguments(chorales, tmp_path / "run", *options), message)
    assert not (tmp_path / "run").exists()


def test_without_performances_the_error_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setenv("MINIGRAD_DATA", str(tmp_path))
    piano = ["train", "--preset", "piano", "--ranks", "1", "--run", str(tmp_path / "run")]
    refused(piano, "there is no midi in .*Download it: .* data maestro.*--data PATH")
    monkeypatch.delenv("MINIGRAD_DATA")
    refused(piano, "there is no midi here, as MINIGRAD_DATA is not set to a folder")


def test_without_data_it_learns_the_shipped_chorales(
    chorales: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, resumes with the same command, and is evaluated on the test split. Bach's take precedence."""
    monkeypatch.delenv("MINIGRAD_DATA", raising=False)
    folder = tmp_path / "run"
    sizes = ["--cycle", "16", "--validated", "2", "--sample", "0"]
    train = ["train", "--preset", "composed", "--run", str(folder), *SMALL, *sizes, "--steps", "10"]
    assert cli.main(train) == 0
    output = capsys.readouterr().out
    assert "pieces that a program composed" in output and " data jsb): 200 chorales" in output
    assert cli.main(train) == 0
    assert evaluate(folder, part="test", window=32, stride=32)["pieces"] == 25
    for names in ((), ("composed",)):
        assert read(DataSettings("chorales", names)).digest == read(Settings.preset("composed").data).digest
    (tmp_path / "jsb").mkdir()
    (tmp_path / "jsb" / "Jsb16thSeparated.json").write_text(chorales.read_text())
    monkeypatch.setenv("MINIGRAD_DATA", str(tmp_path))
    assert read(DataSettings()).name == "Jsb16thSeparated.json"
    assert read(Settings.preset("composed").data).name.startswith("pieces that a program composed")


@pytest.mark.parametrize("has_data", [False, True])
def test_the_default_preset_depends_on_the_data(has_data: bool, tmp_path: Path, chorales: Path) -> None:
    environment = {**os.environ, "MINIGRAD_DATA": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    if has_data:
        (tmp_path / "jsb").mkdir()
        (tmp_path / "jsb" / "Jsb16thSeparated.json").write_text("{}")
        environment["MINIGRAD_DATA"] = str(tmp_path)
    command = [sys.executable, "-m", "minigrad", "music", "config"]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
    assert f"preset {'chorales' if has_data else 'composed'}" in printed.splitlines()[0]


def test_a_preset_has_all_settings() -> None:
    for name in Settings.preset_names():
        settings = Settings.preset(name)
        text = (Settings.PRESETS / f"{name}.toml").read_text(encoding="utf-8")
        assert text == settings.as_toml(text.splitlines()[0].removeprefix("# "))
        assert settings.config().positions == settings.model.context


Change = Callable[[dict[str, Any]], Any]
HOSTILE: dict[str, Change] = {
    "a huge vocabulary": lambda c: c["extra"]["model"].update(vocabulary=10**9),
    "a huge context": lambda c: c["extra"]["model"].update(positions=10**9),
    "a long cycle": lambda c: c["extra"]["model"].update(cycle=10**9),
    "many distances": lambda c: c["extra"]["model"].update(distances=10**9),
    "another attention": lambda c: c["extra"]["model"].update(attention="none"),
    "another kind": lambda c: c["extra"]["settings"]["data"].update(kind="performance"),
    "no ranges": lambda c: c["extra"].pop("ranges"),
    "ranges of nothing": lambda c: c["extra"].update(ranges=[[]]),
}


def test_inconsistent_checkpoints(run: Path, tmp_path: Path, refused: Refused) -> None:
    sound = read_checkpoint(run / "model.safetensors")
    for name, change in HOSTILE.items():
        content, path = copy.deepcopy(sound), tmp_path / f"{name}.safetensors"
        change(content)
        mg.save(content, path)
        refused(["generate", "--run", str(path), "--output", str(tmp_path / "a.mid")], re.escape(str(path)))


def test_files_without_music(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "text.mid").write_text("no music")
    write_midi(tmp_path / "empty.mid", [])
    refused(["roll", str(tmp_path / "text.mid")], "text.mid is not a MIDI file")
    refused(["roll", str(tmp_path / "none.mid")], "none.mid")
    refused(["roll", str(tmp_path / "empty.mid")], "there are no notes to draw in empty.mid")


def test_a_roll_is_saved(four_voices: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "roll.html"
    assert cli.main(["roll", str(four_voices), "--output", str(output)]) == 0
    assert capsys.readouterr().out == f"{output}\n"
    assert output.read_text(encoding="utf-8").startswith("<!")


def test_a_roll_shows_what_a_model_looks_at(run: Path, four_voices: Path, tmp_path: Path) -> None:
    plain, read = tmp_path / "plain.html", tmp_path / "read.html"
    assert cli.main(["roll", str(four_voices), "--output", str(plain)]) == 0
    options = ["--run", str(run), "--output", str(read)]
    assert cli.main(["roll", str(four_voices), *options]) == 0
    pages = [path.read_text(encoding="utf-8") for path in (plain, read)]
    assert '"attention":null' in pages[0].replace(" ", "") and '"attention":null' not in pages[1].replace(" ", "")


def test_the_measure_is_the_mean_over_all_cells(run: Path, chorales: Path, tmp_path: Path) -> None:
    """The model predicts each cell after at least half a window, which begins on the grid."""
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


@mg.no_grad()
def test_probabilities_averaged_over_keys(run: Path, chorales: Path, four_voices: Path, refused: Refused) -> None:
    trained, log_p = load(run), []
    piece = read(DataSettings("chorales", (str(chorales),))).valid[0][: trained.model.context]
    for shift in (-2, -1, 0, 1):
        ids = trained.language.moved(piece, shift)
        logits = trained.model(mg.from_numpy(ids[None, :-1]))[0]
        log_p.append(logits.log_softmax(-1).numpy()[np.arange(len(ids) - 1), ids[1:]])
    reader = InKeys(trained.model, trained.language, 4)
    expected = -np.log(np.exp(log_p).mean(0)).mean()
    assert score(reader, [piece], trained.settings) == pytest.approx(expected, rel=1e-5)
    where = ["evaluate", "--run", str(run), "--data", str(four_voices)]
    assert cli.main([*where, "--keys", "12"]) == 0
    notes, high = read_midi(four_voices).notes, four_voices.with_name("high.mid")
    up = 127 - max(note.pitch for note in notes)
    write_midi(high, [note._replace(pitch=note.pitch + up) for note in notes])
    refused([*where[:-1], str(high), "--keys", "12"], "in 12 keys, this music has pitches outside")


def test_parts_and_files(run: Path, four_voices: Path, refused: Refused) -> None:
    where = ["evaluate", "--run", str(run)]
    parts = {part: evaluate(run, part=part)["pieces"] for part in ("train", "valid", "test")}
    assert parts == {"train": 8, "valid": 3, "test": 2}
    assert evaluate(run, files=[str(four_voices)])["tokens"] == 4 * 24
    assert evaluate(run, files=str(four_voices))["pieces"] == 1
    assert evaluate(run, stride=16)["loss"] == evaluate(run)["loss"] != evaluate(run, stride=32)["loss"]
    refused([*where, "--window", "64"], "--window 64 is more than the 32 tokens that")
    refused([*where, "--window", "16", "--stride", "32"], "--stride 32 is more than the window")
    refused([*where, "--stride", "3"], "is not a multiple of 16")
    refused([*where, "--data", "none.mid"], "none.mid")
