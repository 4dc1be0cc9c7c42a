"""What the package offers, what it says of itself, and what works without its extra."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, viz
from minigrad.models.gpt2 import GPT2, Config
from minigrad.music.notes import Note


def product() -> Any:
    return (minigrad.ones(2).requires_grad_() * 2).sum()


MADE: dict[str, Callable[[], Any]] = {
    "attention": lambda: viz.attention(np.full((1, 2, 2), 0.5), ["I", "sleep"]),
    "embedding": lambda: viz.embedding(np.eye(3), ["a", "b", "c"]),
    "explain": lambda: viz.explain(product(), run=True),
    "graph": lambda: viz.graph(product()),
    "linked": lambda: viz.linked(nn.TransformerEncoderLayer(4, 2, batch_first=True), minigrad.ones(1, 2, 4)),
    "logit_lens": lambda: viz.logit_lens(GPT2(Config(5, positions=4, d_model=4, heads=2, layers=1)), [0, 1, 2]),
    "piano_roll": lambda: viz.piano_roll([Note(60, 80, 0.0, 1.0)]),
    "playback": lambda: viz.playback(product()),
    "positional_encoding": lambda: viz.positional_encoding(3, 4),
    "training": lambda: viz.training([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}]),
}
PICTURES = sorted(set(MADE) - {"explain", "linked", "playback"})


def test_its_docstring_names_every_function_and_every_file() -> None:
    told = viz.__doc__ or ""
    assert all(f"viz.{name}(" in told for name in viz.__all__)
    files = {module.name for module in pkgutil.iter_modules(viz.__path__)}
    assert {name for name in files if f"``{name}``" not in told} == set()


def test_dir_lists_the_functions_first() -> None:
    assert [name for name in dir(viz) if not name.startswith("__")] == sorted(viz.__all__) == sorted(MADE)
    assert all(callable(getattr(viz, name)) and getattr(viz, name).__doc__ for name in viz.__all__)
    assert {"__doc__", "__file__", "__path__"} <= set(dir(viz))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the extra's packages nor any program."""
    for name in ("graphviz", "matplotlib", "pygraphviz"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("PATH", "")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", MADE)
def test_pages_and_vector_pictures_need_no_extra(name: str, tmp_path: Path) -> None:
    made = MADE[name]()
    assert made._repr_html_()
    if name != "explain":
        assert "<!doctype html>" in made.save(tmp_path / "a.html").read_text(encoding="utf-8")
    if name in PICTURES:
        assert "<svg" in made.save(tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("ending", ["pdf", "png"])
@pytest.mark.parametrize("name", ["attention", "graph"])
def test_what_needs_the_extra_says_how_to_install_it(name: str, ending: str, tmp_path: Path) -> None:
    with pytest.raises((ImportError, RuntimeError), match=r"pip install 'minigrad\[viz\]'"):
        MADE[name]().save(tmp_path / f"a.{ending}")
    assert not list(tmp_path.iterdir())


def test_the_names_of_the_files_can_be_imported_from_all_the_same() -> None:
    from minigrad.viz.graph.values import value_of

    assert callable(value_of) and callable(viz.graph)
