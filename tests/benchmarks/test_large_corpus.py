"""The command on a small synthetic corpus."""

from pathlib import Path

import pytest

from benchmarks import large_corpus


def test_the_command(tmp_path: Path) -> None:
    for module in ("tokenizers", "tqdm", "sacrebleu"):
        pytest.importorskip(module)
    large_corpus.write_corpus(tmp_path, 300)
    answer = large_corpus.command("minigrad", str(tmp_path), updates=3, vocabulary=200)
    assert answer["seconds"] > 0 and answer["memory"] > 1
    lines = [(tmp_path / name).read_text(encoding="utf-8").splitlines() for name in ("train.x", "train.y")]
    assert [len(side) for side in lines] == [300, 300]
    assert (tmp_path / "run" / "model.safetensors").exists()
