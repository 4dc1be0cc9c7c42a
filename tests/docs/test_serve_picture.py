"""The picture of the translator's page: a PNG of few colours that a README can carry."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.translator import Reversing

SCRIPT = Path(__file__).parents[2] / "docs" / "serve_picture.py"
MOST = 60 * 1024  # bytes


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("serve_picture", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_small(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright", reason="playwright drives the browser: pip install playwright")
    pytest.importorskip("PIL", reason="Pillow writes the picture: pip install pillow")
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        pytest.skip("no Chromium here (on Debian: apt install chromium)")
    monkeypatch.setattr(script.Translator, "load", lambda path: Reversing())
    output = tmp_path / "page.png"
    script.main(["--output", str(output), "--word", "2"])
    from PIL import Image

    picture = Image.open(output)
    assert picture.format == "PNG" and picture.width == 820 and picture.height > 600
    assert output.stat().st_size <= MOST


def test_the_picture_in_the_docs_is_small() -> None:
    assert (SCRIPT.parent / "serve.png").stat().st_size <= MOST
