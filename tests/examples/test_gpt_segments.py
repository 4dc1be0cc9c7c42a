"""Transformer-XL in examples.gpt: trained on segments, resumed, scored with a memory, compared with GPT-2."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from examples.gpt import cli
from examples.gpt.architectures import build
from examples.gpt.compare import entries, parameters
from examples.gpt.segments import ROWS, score_segments
from examples.gpt.settings import ModelSettings, Settings
from minigrad.nn import functional as F
from minigrad.training import read_checkpoint

SIZES = ("--layers", "1", "--d-model", "16", "--heads", "2", "--context", "8", "--batch", "4", "--warm-up", "3")
SIZES += ("--evaluate-every", "10", "--sample", "8")
LINES = "".join(f"the {a} sees the {b}.\n" for a in ("cat", "dog", "fox") for b in ("moon", "sun", "sea")) * 12


@pytest.fixture(autouse=True)
def _needs_extras() -> None:
    pytest.importorskip("tqdm")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text(LINES, encoding="utf-8")
    return path


def train(text: Path, *more: str) -> int:
    command = ["train", "--model", "transformer-xl", "--input", str(text), "--run", str(text.parent / "run")]
    return cli.main([*command, *SIZES, "--steps", "20", *more])


def refused(command: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(command) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: ") and message in line


def test_it_trains_is_scored_and_writes(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(text, "--memory", "12", "--dropout", "0.1") == 0
    folder = str(text.parent / "run")
    assert read_checkpoint(text.parent / "run/last.safetensors")["carried"]["memory"].shape == (1, 4, 12, 16)
    log = [json.loads(line) for line in (text.parent / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [line["evaluation"]["loss"] for line in log if "evaluation" in line]
    assert losses[-1] < losses[0] < 1.1 * math.log(25)
    capsys.readouterr()
    for options in ((), ("--window", "32", "--stride", "8"), ("--window", "8", "--stride", "8")):
        assert cli.main(["evaluate", "--run", folder, *options]) == 0
    scores = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.startswith("loss")]
    assert len(set(scores)) == 3
    assert cli.main(["generate", "--run", folder, "--prompt", "the cat sees the moon.", "--tokens", "9"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("the cat sees the moon.") and "note" not in said.err
    refused(["generate", "--run", folder, "--stride", "4"], "this model has none", capsys)
    refused(["export", folder, "--run", folder], "transformers has no model of the kind transformer-xl", capsys)


def test_settings_that_do_not_fit(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "--input", str(text), "--run", str(text.parent / "run"), *SIZES, "--steps", "9"]
    refused([*command, "--memory", "8"], "memory is 8: only transformer-xl has one", capsys)
    recurrent = [*command, "--model", "transformer-xl"]
    refused([*recurrent, "--ranks", "2", "--accumulate", "2"], "what one update hands to the next", capsys)
    refused([*recurrent, "--batch", "500"], "is too short for 500 rows of 8 tokens: give a longer text", capsys)
    compare = ["compare", "--input", str(text), *SIZES, "--steps", "9", "--run", str(text.parent / "runs")]
    refused([*compare, "--model", "transformer-xl"], "leave out --model", capsys)
    refused([*compare, "--batch", "6"], "batch is 6, and must be a multiple of 4", capsys)


@pytest.mark.parametrize(("window", "stride", "most"), [(8, 0, 0), (20, 5, 100)])
def test_each_token_counts_once_after_what_the_memory_holds(window: int, stride: int, most: int) -> None:
    """One row at a time, by the logits."""
    mg.manual_seed(0)
    model = build(ModelSettings("transformer-xl", 2, 2, 16, context=8, memory=11), 9).double().eval()
    ids = np.random.default_rng(0).integers(0, 9, 203).astype(np.uint16)
    length, kept = (stride, window - stride) if stride else (window, 11)
    count = most or 202
    rows = min(ROWS, -(-count // length))
    losses: list[mg.Tensor] = []
    with mg.no_grad():
        for first in range(0, count, width := -(-count // rows)):
            row, memory = mg.tensor(ids[first : min(first + width, count) + 1].astype(np.int64))[None], None
            for begin in range(0, row.shape[1] - 1, length):
                tokens = row[:, begin : min(begin + length, row.shape[1] - 1)]
                targets = row[0, begin + 1 : begin + 1 + tokens.shape[1]]
                logits, memory = model.read(tokens, memory, kept)
                losses.append(F.cross_entropy(logits[0], targets, reduction="none"))
    expected = mg.cat(losses)
    read: list[int] = []
    assert len(expected) == count
    score = score_segments(model, ids, window, stride, most=most, progress=read.append)
    assert sum(read) == count and math.isclose(score, float(expected.mean()), rel_tol=1e-10)


def test_the_models_compared_are_of_one_size() -> None:
    settings = Settings.preset("shakespeare-cpu")
    models = entries(settings, 65)
    sizes = {name: parameters(settings.changed(entry.changes).model, 65) for name, entry in models.items()}
    assert abs(sizes["transformer-xl"] - sizes["gpt2"]) < 0.001 * sizes["gpt2"]
    changed = [settings.changed(entry.changes) for entry in models.values()]
    assert {s.window * s.training.batch for s in changed} == {12 * 64}
    assert max(window for entry in models.values() for window, _ in entry.windows) == 4 * 64


@pytest.mark.nightly
def test_a_comparison(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each training once: the command again only scores."""
    command = ["compare", "--input", str(text), *SIZES, "--steps", "12", "--run", str(text.parent / "runs")]
    assert cli.main([*command, "--json", str(text.parent / "numbers.json")]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    rows = json.loads((text.parent / "numbers.json").read_text(encoding="utf-8"))
    assert len(rows) == len(lines) - 2 == 9 and all(f"{row['bits']:.3f}" in "".join(lines) for row in rows)
    assert {row["window"] for row in rows} == {8, 16, 32}
    written = {path: path.stat().st_mtime_ns for path in (text.parent / "runs").glob("*/last.safetensors")}
    assert len(written) == 4
    assert cli.main(command) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")] == lines
    assert all(path.stat().st_mtime_ns == before for path, before in written.items())
