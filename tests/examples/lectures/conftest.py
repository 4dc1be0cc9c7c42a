"""What the tests of worked examples share: a browser, and a run of a small translator, untrained."""

from __future__ import annotations

from pathlib import Path

import pytest

import minigrad as mg
from minigrad.models.transformer import Config, Transformer
from minigrad.text import TokenizerPair, WordTokenizer
from minigrad.translate import run
from minigrad.translate.settings import preset
from tests.support.browser import browser, open_file  # noqa: F401  # fixtures

WORDS = "My friends like tomatoes because they are tasty sleep tired"


@pytest.fixture
def small_run(tmp_path: Path) -> Path:
    """A run's folder; the model knows all words of the lesson but apples."""
    mg.manual_seed(0)
    words = WordTokenizer.train([WORDS])
    model = Transformer(Config(len(words), d_model=16, heads=2, layers=2, d_ff=16, positions=32))
    described = run.extra(model, TokenizerPair(words, words), preset("toy"), {})
    folder = tmp_path / "runs" / "small"
    folder.mkdir(parents=True)
    run.write_model(folder, model.state_dict(), 1, described)
    return folder
