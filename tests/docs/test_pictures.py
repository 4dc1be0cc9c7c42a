"""The pictures of the docs: made of what the model computes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import minigrad as mg
from minigrad.text import WordTokenizer
from models.transformer import Config, Transformer

SCRIPT = Path(__file__).parents[2] / "docs" / "pictures.py"


@pytest.fixture
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_attention_weights_are_those_the_model_uses(pictures: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    mg.manual_seed(0)
    model = Transformer(Config(10, 8, 2, 2, 16, 0.0, 32)).eval()
    tokenizer = WordTokenizer(["a", "cat", "sat", "on", "it", "."])
    source, target, weights = pictures.cross_attention(model, tokenizer, "a cat sat")
    assert source == ["a", "cat", "sat", "⟨end⟩"]
    assert len(weights) == len(target) and all(len(row) == 4 for row in weights)
    assert all(abs(sum(row) - 1) < 1e-5 for row in weights)
    pictures.draw(source, target, weights, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
