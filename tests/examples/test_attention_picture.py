"""The picture of attention: what it shows, of any sentence, and in each format."""

from __future__ import annotations

import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from examples.translate.attention_picture import chosen, draw, label, picture

matplotlib = pytest.importorskip("matplotlib")


class Attention(NamedTuple):
    source: list[str]
    target: list[str]
    weights: np.ndarray[Any, Any]


def attention(source: list[str], target: list[str], layers: int = 2, heads: int = 3) -> Attention:
    """Random weights whose rows sum to 1."""
    logits = np.random.default_rng(0).normal(0, 3, (layers, heads, len(target), len(source)))
    powers = np.exp(logits)
    return Attention(source, target, powers / powers.sum(-1, keepdims=True))


def test_a_layer_and_a_head_or_their_mean() -> None:
    w = attention(["a", "b"], ["c", "d", "e"]).weights
    assert np.array_equal(chosen(w, 1, 2), w[1, 2]) and np.array_equal(chosen(w, -1, 0), w[1, 0])
    assert np.allclose(chosen(w, None, None), w.mean((0, 1)))
    assert np.allclose(chosen(w, 0, None), w[0].mean(0)) and np.allclose(chosen(w, None, 1), w[:, 1].mean(0))
    for layer, head, message in ((2, None, "no layer 2: there are 2"), (None, -4, "no head -4: there are 3")):
        with pytest.raises(ValueError, match=message):
            chosen(w, layer, head)


def test_the_picture_shows_tokens_and_weights() -> None:
    found = attention(["my", "friends", "⟨end⟩"], ["amici", "⟨end⟩"])
    weights = chosen(found.weights, 0, 0)
    (axes,) = picture(found.source, found.target, weights).axes
    assert np.array_equal(axes.images[0].get_array(), weights)
    assert [t.get_text() for t in axes.get_xticklabels()] == found.source
    assert [t.get_text() for t in axes.get_yticklabels()] == found.target
    numbers = {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in axes.texts}
    assert numbers == {
        (i, j): f"{w:.2f}".lstrip("0") for (i, j), w in np.ndenumerate(weights) if w >= 0.05
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_forty_tokens_in_each_format(ending: str, tmp_path: Path) -> None:
    """The same file to the byte when it is drawn again, and nothing is left beside it."""
    path = tmp_path / f"a.{ending}"
    found = attention([f"token{i}" for i in range(40)], [f"wort{i}" for i in range(45)])
    draw(found, path)
    content = path.read_bytes()
    assert content.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending])
    draw(found, path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_labels_of_forty_tokens_do_not_cover_each_other() -> None:
    found = attention([f"token{i}" for i in range(40)], [f"wort{i}" for i in range(40)])
    figure = picture(found.source, found.target, chosen(found.weights, None, None))
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    starts = [label.get_position()[0] for label in axes.get_xticklabels()]
    assert starts == list(range(40)) and not axes.texts


STRANGE = ["猫", "שלום", "مرحبا", "नमस्ते", "🙂", "$x$", "$^{$", "a\nb", "\x00", "\ud800", " the",
           "w" * 500, ""]  # fmt: skip


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_other_scripts_and_strange_characters(ending: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draw(attention(STRANGE, STRANGE), tmp_path / f"a.{ending}")
    fonts = [str(w.message) for w in caught if "font" in str(w.message)]
    assert len(fonts) <= 1  # one for all letters that no installed font has
    if ending == "svg":
        ElementTree.parse(tmp_path / "a.svg")


def test_labels_have_no_control_characters() -> None:
    assert label(" the") == "▁the" and label("a\nb\x00\ud800") == "a�b��" and label("می‌خواهم") == "می‌خواهم"
    assert label("w" * 24) == "w" * 24 and label("w" * 25) == "w" * 23 + "…"


def test_a_very_long_sentence_has_a_picture_of_bounded_size() -> None:
    one = attention(["a"] * 600, ["b"], 1, 1)
    width, height = picture(one.source, one.target, one.weights[0, 0]).get_size_inches()
    assert width == pytest.approx(40) and height < 1


def test_what_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = attention(["a"], ["b"])
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf, and not as a\.jpeg"):
        draw(one, tmp_path / "a.jpeg")
    with pytest.raises(ValueError, match="0 written and 1 source"):
        draw(Attention(["a"], [], np.zeros((1, 1, 0, 1))), tmp_path / "a.png")
    with pytest.raises(RuntimeError, match="does not exist"):
        draw(one, tmp_path / "nowhere" / "a.png")
    assert list(tmp_path.iterdir()) == []
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.font_manager"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install"):
        draw(one, tmp_path / "a.png")
