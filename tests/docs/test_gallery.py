"""The gallery: what it shows is there and small, and is made by its script."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from tests.support.browser import CHROMIUM

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gallery_is_whole_and_shown(gallery: ModuleType) -> None:
    assert gallery.check(DOCS / "gallery") == []
    shown = re.findall(r"\]\(gallery/(\S+)\)", (DOCS / "viz.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(gallery.PICTURES)


def test_what_is_wrong_with_a_gallery(gallery: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "attention.svg").write_text("<p/>")
    (tmp_path / "training.svg").write_text(f"<!--{'x' * 60_000}--><svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "other.png").write_bytes(b"GIF")
    wrong = gallery.check(tmp_path)
    assert "attention.svg is no SVG" in wrong and "other.png is no PNG" in wrong
    assert "other.png is made by nothing here" in wrong and "playback.png is missing" in wrong
    assert any(line.startswith("training.svg has 60,0") for line in wrong)
    assert gallery.main(["--check", "--folder", str(tmp_path)]) == 1


def test_pictures_are_made_of_the_live_model(
    gallery: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery.Translator.__init__, "__defaults__", (2,))  # steps of training
    names = ["attention.svg", "training.svg", "embedding.svg", "positional_encoding.svg", "logit_lens.svg"]
    assert gallery.main([*names, "--folder", str(tmp_path / "made"), "--run", str(tmp_path / "run")]) == 0
    for name in names:
        ElementTree.parse(tmp_path / "made" / name)
    made = (tmp_path / "made" / "attention.svg").read_text(encoding="utf-8")
    assert all(word in made for word in " ".join(gallery.SHOWN).split())
    fixed = (tmp_path / "made" / "positional_encoding.svg", DOCS / "gallery" / "positional_encoding.svg")
    first, second = (["".join(t.itertext()) for t in ElementTree.parse(p).iter()] for p in fixed)
    assert first == second


@pytest.mark.nightly
def test_pages_are_photographed(gallery: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright", reason="playwright drives the browser: pip install playwright")
    pytest.importorskip("PIL", reason="Pillow writes the picture: pip install pillow")
    if CHROMIUM is None:
        pytest.skip("no Chromium here (on Debian: apt install chromium)")
    monkeypatch.setattr(gallery.Translator.__init__, "__defaults__", (2,))  # steps of training
    names = [name for name in gallery.PICTURES if name.endswith(".png")]
    assert gallery.main([*names, "--folder", str(tmp_path / "made"), "--run", str(tmp_path / "run")]) == 0
    wrong = gallery.check(tmp_path / "made")
    assert [line for line in wrong if not line.endswith(".svg is missing")] == []


def test_the_phrases_are_italian(gallery: ModuleType) -> None:
    pairs = dict(gallery.phrases())
    assert len(pairs) == 56 * 55 and pairs[gallery.SHOWN[0]] == gallery.SHOWN[1]
    translator = gallery.Translator(Path("none"))
    assert gallery.SHOWN in translator.unseen and not set(translator.unseen) & set(translator.seen)
