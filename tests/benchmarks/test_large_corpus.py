"""The invented corpus, and each stage of a training on it, at a small size."""

from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks import large_corpus
from benchmarks.large_corpus import measure, write_corpus


def test_measure(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    write_corpus(tmp_path, 400)
    found = measure("minigrad", str(tmp_path), updates=12, vocabulary=300)
    assert found["pairs"] == 400
    assert found["losses"][1] < found["losses"][0] - 0.2
    held, most = zip(*(row[2:] for row in found["stages"]), strict=True)
    # Linux counts pages by the thread and sums them up now and then: a peak may read some of them less later on.
    assert all(later > earlier - 1 for earlier, later in pairwise(most))
    assert all(0 < a <= b + 1 for a, b in zip(held, most, strict=True))
    written = large_corpus.table(found).text()
    assert "400 pairs" in written
    assert "learn subwords" in written


def test_the_command(tmp_path: Path) -> None:
    for module in ("tokenizers", "tqdm", "sacrebleu"):
        pytest.importorskip(module)
    write_corpus(tmp_path, 300)
    found = large_corpus.command("minigrad", str(tmp_path), updates=3, vocabulary=200)
    name, seconds, held, most = found["row"]
    assert seconds > 0 and 0 < held <= most + 1 and "command" in name
    assert (tmp_path / "run" / "model.safetensors").exists()
