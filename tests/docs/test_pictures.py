"""The pictures of the docs: made of what the model computes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import minigrad as mg
from minigrad.models.transformer import Config, Transformer
from minigrad.text import TokenizerPair, WordTokenizer
from minigrad.translate.settings import preset
from minigrad.translate.translator import Translator

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
    mg.manual_seed(0)
    words = WordTokenizer(["a", "cat", "sat", "on", "it", "."])
    model = Transformer(Config(10, 8, 2, 2, 16, 0.0, 32)).eval()
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    monkeypatch.setattr(pictures.Translator, "load", lambda path: translator)
    output = tmp_path / "a.svg"
    pictures.main(["--sentence", "a cat sat", "--output", str(output)])
    assert capsys.readouterr().out == f"wrote {output}\n"

    (found,) = translator.translate(["a cat sat"])
    attention = translator.attention("a cat sat", found.text)
    svg = "{http://www.w3.org/2000/svg}"
    texts = [node.text for node in ElementTree.parse(output).iter(f"{svg}text")]
    assert texts[0] == "Cross-attention · layer 1 · heads 0 to 1 (mean)"
    names = [*attention.target, *attention.source]
    assert texts[1 : 1 + len(names)] == names and attention.source == ["a", "cat", "sat", "⟨end⟩"]
    view, made = translator.look(found), output.read_text(encoding="utf-8")
    assert view.svg("matrix", kind="cross", layer=1) == made != view.svg("matrix", kind="cross", layer=0)
