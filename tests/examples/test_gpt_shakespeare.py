"""A real text: the default preset learns Shakespeare as well as nanoGPT's setting for a CPU does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from examples.gpt import cli
from examples.gpt.evaluation import evaluate

DATA = Path(os.environ.get("MINIGRAD_DATA", Path(__file__).parents[3] / "shared" / "data")) / "tinyshakespeare"


@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason="no tinyshakespeare: set MINIGRAD_DATA to its parent")
def test_the_loss_is_that_of_nanogpts_readme(tmp_path: Path) -> None:
    pytest.importorskip("tqdm")
    options = ["--input", str(DATA / "input.txt"), "--run", str(tmp_path / "run"), "--sample", "0"]
    assert cli.main(["train", *options]) == 0
    numbers = evaluate(tmp_path / "run")
    assert numbers["loss"] <= 1.88
    assert numbers["bits_per_character"] == pytest.approx(numbers["loss"] / 0.6931472)
    more = evaluate(tmp_path / "run", stride=16)
    assert more["loss"] < numbers["loss"] - 0.02  # each character is predicted from at least 48
