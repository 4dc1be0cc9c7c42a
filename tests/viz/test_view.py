"""What all views share: the page, the picture, the file, and the frame in a notebook."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as torch
from minigrad import viz
from minigrad.viz.page import Page
from minigrad.viz.view import Picture, View

VIEWS = ["attention", "embedding", "graph", "linked", "playback", "positional_encoding", "training"]


def made(name: str) -> View:
    """A small view of each kind."""
    if name == "attention":
        return viz.attention(np.full((1, 2, 2), 0.5), ["I", "sleep"])
    if name == "embedding":
        return viz.embedding(np.eye(3), ["a", "b", "c"])
    if name == "graph":
        return viz.graph((torch.ones(2, requires_grad=True) * 2).sum())
    if name == "linked":
        encoder = torch.nn.TransformerEncoderLayer(4, 2, batch_first=True)
        return viz.linked(encoder, torch.ones(1, 2, 4))
    if name == "playback":
        return viz.playback((torch.ones(2, requires_grad=True) * 2).sum())
    if name == "positional_encoding":
        return viz.positional_encoding(3, 4)
    return viz.training([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}])


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_a_page(name: str, tmp_path: Path) -> None:
    view = made(name)
    assert isinstance(view.page(), Page) and view.html() == view.page().html()
    assert view._repr_html_() == view.page()._repr_html_()
    path = tmp_path / "a.HTML"
    assert view.save(path) == path and path.read_text(encoding="utf-8") == view.html()
    with pytest.raises(ValueError, match=r"a\.txt"):
        view.save(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError, match=r"no such folder.*nowhere"):
        view.save(tmp_path / "nowhere" / "a.html")
    assert [p.name for p in tmp_path.iterdir()] == ["a.HTML"]


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in ("linked", "playback")])
def test_a_picture_is_an_svg_too(name: str, tmp_path: Path) -> None:
    view = made(name)
    assert isinstance(view, Picture)
    path = view.save(str(tmp_path / "a.svg"))
    assert path.read_text(encoding="utf-8") == view.svg()
    assert ElementTree.fromstring(view.svg()).tag.endswith("svg")
    with pytest.raises(ValueError, match="a page takes no arguments"):
        view.save(tmp_path / "a.html", 1)
    assert not (tmp_path / "a.html").exists()


def test_what_a_picture_takes_can_be_given_to_save(tmp_path: Path) -> None:
    view = viz.embedding(np.eye(3), ["a", "b", "c"])
    path = view.save(tmp_path / "b.svg", "b")
    assert path.read_text(encoding="utf-8") == view.svg("b") != view.svg()
