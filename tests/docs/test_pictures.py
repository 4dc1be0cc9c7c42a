"""The pictures of the docs: made of what the model computes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import minigrad as mg
from examples.translate.attention_picture import draw
from examples.translate.settings import preset
from examples.translate.translator import Translator
from minigrad.text import TokenizerPair, WordTokenizer
from models.transformer import Config, Transformer

SCRIPT = Path(__file__).parents[2] / "docs" / "pictures.py"


@pytest.fixture
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_of_the_attention_in_the_last_layer(
    pictures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    mg.manual_seed(0)
    words = WordTokenizer(["a", "cat", "sat", "on", "it", "."])
    model = Transformer(Config(10, 8, 2, 2, 16, 0.0, 32)).eval()
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    monkeypatch.setattr(pictures.Translator, "load", lambda path: translator)
    output = tmp_path / "a.png"
    pictures.main(["--sentence", "a cat sat", "--output", str(output)])
    assert capsys.readouterr().out == f"wrote {output}\n"

    (found,) = translator.translate(["a cat sat"])
    attention = translator.attention("a cat sat", found.text)
    assert attention.source == ["a", "cat", "sat", "⟨end⟩"]
    assert np.allclose(attention.weights.sum(-1), 1, atol=1e-5)
    draw(attention, tmp_path / "b.png", layer=-1)
    assert output.read_bytes() == (tmp_path / "b.png").read_bytes()
    draw(attention, tmp_path / "b.png", layer=0)
    assert output.read_bytes() != (tmp_path / "b.png").read_bytes()
