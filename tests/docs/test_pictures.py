"""The pictures in the docs: scripts draw them from live models, complete and in small files."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

import minigrad as mg
from minigrad_models.text import TokenizerPair, WordTokenizer
from minigrad_models.translation.transformer import Config, Transformer
from minigrad_models.translation.translation_settings import preset
from minigrad_models.translation.translator import Translator
from tests.support.browser import CHROMIUM
from tests.support.translator import Reversing

DOCS = Path(__file__).parents[2] / "docs"
MOST = 60 * 1024  # bytes, small enough for a README


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = script("gallery")
    monkeypatch.setattr(module.Translator.__init__, "__defaults__", (2,))  # training steps
    return module


def test_the_gallery_is_complete_and_shown(gallery: ModuleType) -> None:
    assert gallery.check(DOCS / "gallery") == []
    pictures = re.findall(r"\]\(gallery/(\S+)\)", (DOCS / "viz.md").read_text(encoding="utf-8"))
    assert sorted(pictures) == sorted(gallery.PICTURES)


def test_faults_of_a_gallery_are_reported(gallery: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "attention.svg").write_text("<p/>")
    (tmp_path / "embedding.svg").write_text(f"<!--{'x' * 60_000}--><svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "other.png").write_bytes(b"GIF")
    wrong = gallery.check(tmp_path)
    for line in ("attention.svg is not an SVG", "other.png is not a PNG", "other.png is not made by this program"):
        assert line in wrong
    assert "playback.png is missing" in wrong and any(line.startswith("embedding.svg has 60,0") for line in wrong)
    assert gallery.main(["--check", "--folder", str(tmp_path)]) == 1


def test_pictures_are_drawn_from_the_live_model(gallery: ModuleType, tmp_path: Path) -> None:
    names = ["attention.svg", "embedding.svg", "positional_encoding.svg", "logit_lens.svg"]
    assert gallery.main([*names, "--folder", str(tmp_path / "made"), "--run", str(tmp_path / "run")]) == 0
    for name in names:
        ElementTree.parse(tmp_path / "made" / name)
    attention = (tmp_path / "made" / "attention.svg").read_text(encoding="utf-8")
    assert all(word in attention for word in " ".join(gallery.SHOWN).split())
    fixed = (tmp_path / "made" / "positional_encoding.svg", DOCS / "gallery" / "positional_encoding.svg")
    first, second = (["".join(t.itertext()) for t in ElementTree.parse(p).iter()] for p in fixed)
    assert first == second


@pytest.fixture
def images() -> Any:
    """Pillow; skips the test if no browser can take screenshots."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here (on Debian: apt install chromium)")
    pytest.importorskip("playwright", reason="playwright drives the browser: pip install playwright")
    return pytest.importorskip("PIL.Image", reason="Pillow writes the picture: pip install pillow")


@pytest.mark.nightly
@pytest.mark.usefixtures("images")
def test_screenshots_of_pages(gallery: ModuleType, tmp_path: Path) -> None:
    names = [name for name in gallery.PICTURES if name.endswith(".png")][:2]
    assert gallery.main([*names, "--folder", str(tmp_path / "made"), "--run", str(tmp_path / "run")]) == 0
    wrong = gallery.check(tmp_path / "made")
    assert [line for line in wrong if not line.endswith(" is missing")] == []
    assert all((tmp_path / "made" / name).exists() for name in names)


def test_the_picture_of_a_translation_shows_the_last_layers_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mg.manual_seed(0)
    words = WordTokenizer(["a", "cat", "sat", "on", "it", "."])
    model = Transformer(Config(10, 8, 2, 2, 16, 0.0, 32)).eval()
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    pictures, output = script("pictures"), tmp_path / "a.svg"
    monkeypatch.setattr(pictures.Translator, "load", lambda path: translator)
    pictures.main(["--sentence", "a cat sat", "--output", str(output)])
    assert capsys.readouterr().out == f"wrote {output}\n"
    (translation,) = translator.translate(["a cat sat"])
    attention = translator.attention("a cat sat", translation.text)
    texts = [node.text for node in ElementTree.parse(output).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "Cross-attention · layer 1 · heads 0 to 1 (mean)"
    names = [*attention.target, *attention.source]
    assert texts[1 : 1 + len(names)] == names and attention.source == ["a", "cat", "sat", "⟨end⟩"]
    view, picture = translator.look(translation), output.read_text(encoding="utf-8")
    assert view.svg("matrix", kind="cross", layer=1) == picture != view.svg("matrix", kind="cross", layer=0)


@pytest.mark.nightly
def test_the_picture_of_the_translators_page_is_small(
    images: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = script("serve_picture")
    monkeypatch.setattr(serve.Translator, "load", lambda path: Reversing())
    output = tmp_path / "page.png"
    serve.main(["--output", str(output), "--word", "2"])
    picture = images.open(output)
    assert picture.format == "PNG" and picture.width == 820 and picture.height > 600
    assert output.stat().st_size <= MOST and (DOCS / "serve.png").stat().st_size <= MOST
