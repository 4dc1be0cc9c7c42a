"""Attention pictures for papers: their content, unusual tokens, and all formats."""

import re
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from minigrad.viz.attention import AttentionView, Candidate, attention
from minigrad.viz.attention.attention_view import chosen, pooled
from minigrad.viz.vector import shortened, width, wrapped
from tests.support.cases import raises

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</text><script>alert(1)</script>&amp;\"'"
READ = "the token that the decoder has just read, to write the next one"
STRANGE = ["猫", "שלום", "مرحبا", "नमस्ते", "🙂", "$x$", "a\nb", "\x00", "\ud800", " the", "w" * 10_000, "", EVIL]


def view(target: list[str], source: list[str], layers: int = 2, heads: int = 3, causal: bool = False) -> AttentionView:
    """A view of random weights; with one list of tokens, of self-attention."""
    scores = np.random.default_rng(0).normal(0, 2, (layers, heads, len(target), len(source)))
    if causal:
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    powers = np.exp(scores)
    w = powers / powers.sum(-1, keepdims=True)
    return attention({"decoder" if causal else "cross": w}, source, target)


def shown(svg: str) -> list[str]:
    """The texts in a picture."""
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_matrix_shows_tokens_and_numbers() -> None:
    picture = view(["amici", "⟨end⟩"], ["my", "friends", "⟨end⟩"])
    texts = shown(picture.svg("matrix", layer=0, head=1))
    assert texts[0] == "Cross-attention · layer 0 · head 1"
    assert texts[1:6] == ["amici", "⟨end⟩", "my", "friends", "⟨end⟩"]
    note = f"row: {READ}; column: a token of the source that it looks at; numbers: per cent"
    assert numbers_and_note(texts[6:]) == (per_cent(picture.weights()[0][1]), note)
    mean = shown(picture.svg("matrix", layer=None))
    assert mean[0] == "Cross-attention · mean of 2 layers · heads 0 to 2 (mean)"
    assert numbers_and_note(mean[6:]) == (per_cent(np.mean(picture.weights(), (0, 1))), note)
    assert "<title>Cross-attention · layer 0 · head 1</title>" in picture.svg("matrix", layer=0, head=1)


def per_cent(w: np.ndarray[Any, Any]) -> list[str]:
    """The numbers of a matrix as shown."""
    return [f"{100 * x:.0f}" for x in w.ravel() if x >= 0.005]


def numbers_and_note(texts: list[str]) -> tuple[list[str], str]:
    """The numbers, and the lines after them."""
    count = sum(text.isdigit() for text in texts)
    return texts[:count], " ".join(texts[count:])


def test_cells_are_at_the_positions_of_the_weights() -> None:
    w = np.array([[[[0.0, 1.0], [0.5, 0.5]]]])
    svg = attention({"encoder": w}, ["a", "b"]).svg("matrix")
    paths = re.findall(r'<path fill="#2458b3"([^>]*) d="([^"]*)"', svg)
    cells = {attributes: len(re.findall("M", d)) for attributes, d in paths}
    assert cells == {' fill-opacity="0.62"': 2, "": 1}  # 0.5 ** 0.7, and 1
    (whole,) = [d for attributes, d in paths if not attributes]
    (below,) = [d for attributes, d in paths if attributes]
    (x, y), *_ = re.findall(r"M([\d.]+) ([\d.]+)", whole)
    (a, b), (c, d) = re.findall(r"M([\d.]+) ([\d.]+)", below)
    assert (c, d) == (x, b) and float(b) - float(y) == pytest.approx(18) and float(c) - float(a) == 18


def test_masked_cells_have_a_stroke() -> None:
    picture = view(list("abcd"), list("abcd"), causal=True)
    lines = r'<path fill="none" stroke="(?:#dedfe0|#5f6368)"[^>]* d="([^"]*)"'
    strokes = re.findall(lines, picture.svg("matrix", head=0))
    assert sorted(d.count("M") for d in strokes) == [4, 6]  # the frame, and the cells above the diagonal


def test_lines_of_heads_and_small_pictures_of_all_heads() -> None:
    picture = view(list("abc"), list("wxyz"))
    one = picture.svg("head", layer=1, head=2)
    title, *texts = shown(one)
    assert title == "Cross-attention · layer 1 · head 2"
    assert texts[:9] == ["target", "source", *"abc", *"wxyz"]
    assert " ".join(texts[9:]) == f"left: {READ}; right: a token of the source that it looks at"
    lines = re.findall(r'<path fill="none" stroke="(#\w+)"[^>]* d="([^"]*)"', one)
    assert {colour for colour, _ in lines} == {"#2458b3"}
    assert sum(d.count("C") for _, d in lines) == int((picture.weights()[1][2] >= 0.01).sum())
    several = picture.svg("head", layer=1, head=[0, 2])
    assert "head 0 2" in " ".join(shown(several))  # the legend
    assert set(re.findall(r'stroke="(#\w+)"', several)) == {"#2458b3", "#2b7a4b"}
    assert shown(picture.svg("model"))[1:6] == ["head 0", "head 1", "head 2", "layer 0", "layer 1"]
    note = " ".join(shown(picture.svg("model"))[6:])
    assert note.startswith(f"layers downwards, heads across; row: {READ}; column: ")


def test_a_layer_and_heads_or_their_mean() -> None:
    (a,) = view(list("ab"), list("cd")).attentions
    w = np.stack([layer.weights for layer in a.layers])
    assert np.array_equal(chosen(a, -1, -1).weights, w[1, [2]]) and chosen(a, 0, None).heads == (0, 1, 2)
    assert np.allclose(chosen(a, None, [1, 0]).weights, w.mean(0)[[1, 0]])
    assert chosen(a, 0, np.int64(2)).heads == (2,) and chosen(a, 0, range(2)).heads == (0, 1)
    for layer, head, message in (
        (2, None, "no layer 2: there are 2, from 0 to 1"),
        (0, -4, "no head -4"),
        (0, [0, 3], "no head 3"),
        (0, [], "the list of heads to draw is empty"),
    ):
        raises(ValueError, message, partial(chosen, a, layer, head))
    picture = view(list("ab"), list("cd"))
    assert 'fill="#151719"' in picture.svg(dark=True) and picture.svg() == picture.svg("head", kind="cross", layer=1)
    raises(ValueError, "'head', 'matrix' or 'model'", lambda: picture.svg("lines"))
    raises(ValueError, "no 'decoder' attention here, only 'cross'", lambda: picture.svg(kind="decoder"))
    unlike = attention([np.full((1, 2, 2), 0.5), np.full((3, 2, 2), 0.5)], ["a", "b"])
    assert shown(unlike.svg("model"))[1:6] == ["head 0", "head 1", "head 2", "layer 0", "layer 1"]
    raises(ValueError, "layers with different numbers of heads cannot be", lambda: unlike.svg("head", layer=None))


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_unusual_tokens_in_each_format(ending: str, tmp_path: Path) -> None:
    """Only the file is written, there is one warning about fonts, and drawing again yields the same bytes (except
    for the order of fonts in a PDF)."""
    if ending != "svg":
        pytest.importorskip("vl_convert")
    picture: Any = {"svg": "head", "pdf": "matrix", "png": "model"}[ending]
    path, attention = tmp_path / f"a.{ending}", view(STRANGE, STRANGE)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        assert attention.save(path, picture, head=0) == path
        content = path.read_bytes()
        assert content.startswith({"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}[ending])
        attention.save(path, picture, head=0, dark=False)
    assert ending == "pdf" or path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert len([w for w in messages if "font" in str(w.message)]) <= 2  # one per drawing
    if ending == "svg":
        ElementTree.parse(path)
        assert b"<script" not in content and b"&lt;script&gt;" in content
        ElementTree.fromstring(attention.svg("matrix"))


def test_texts_are_shortened_to_fit() -> None:
    assert shortened("cats", 9, 90) == "cats" and shortened("", 9, 90) == ""
    for text in ("w" * 10_000, "猫" * 50, "i" * 100, "é" * 100):
        cut = shortened(text, 9, 90)
        assert cut.endswith("…") and cut[:-1] in text and 70 < width(cut, 9) <= 90
    assert width("MMM", 10) > width("iii", 10) > 0 and width("e\u0301", 9) == width("e", 9)
    lines = wrapped("one two three four", 9, width("one two", 9))
    assert lines == ["one two", "three", "four"] and wrapped("", 9, 90) == []


def test_few_tokens_and_many() -> None:
    for picture, tokens, layers, heads in (
        *(("head", 100, 2, 3), ("head", 1, 1, 1), ("head", 60, 1, 12)),
        *(("matrix", 100, 2, 3), ("model", 2, 1, 12), ("model", 60, 12, 12)),
    ):
        names = [f"token{i}" for i in range(tokens)]
        attention = view(names, names, layers, heads, causal=1 < tokens < 60)
        svg = attention.svg(picture)  # type: ignore[arg-type]
        root = ElementTree.fromstring(svg)
        _, _, wide, high = map(float, root.get("viewBox", "").split())
        for t in (t for t in root.iter(f"{SVG}text") if not t.get("transform")):  # all texts are within the picture
            x, y, room = float(t.get("x", 0)), float(t.get("y", 0)), width(t.text or "", float(t.get("font-size", 0)))
            left = x - room * {"start": 0, "middle": 0.5, "end": 1}[t.get("text-anchor", "start")]
            assert left >= -0.01 and left + room <= wide + 0.01 and 0 < y < high
        ends = [t for t in root.iter(f"{SVG}text") if t.get("text-anchor") == "end" and t.text in names]
        assert picture == "model" or [t.text for t in ends] == names
        places = [(float(t.get("y", 0)), float(t.get("font-size", 0))) for t in ends]
        assert all(below - above >= size - 0.01 for (above, size), (below, _) in pairwise(places))  # up to 0.01
        assert len(svg) < 6_000_000
        assert ("the heaviest 2,000 lines are drawn" in " ".join(shown(svg))) == (picture == "head" and tokens > 1)
    w = np.random.default_rng(0).random((100, 40))
    small = pooled(w)  # for a model with many heads
    assert small.shape == (32, 32) and small.max() == w.max() and pooled(w[:5, :5]).shape == (5, 5)
    assert np.array_equal(np.sort(np.diag(pooled(np.eye(64)))), np.ones(32))  # thin lines are kept


def test_a_beam(tmp_path: Path) -> None:
    first, second = (view(list(names), list("cd")).attentions for names in ("ab", "xyz"))
    beam = [Candidate("a b", -0.5, first), Candidate(" x\ny z", -1.0, second)]
    attention = AttentionView(first, "c d", beam)
    assert attention.attentions == first and attention.beam[1].text == "·x↵y z" and attention.title == "c d"
    assert shown(attention.svg("matrix"))[1:3] == ["a", "b"]
    raises(ValueError, "the beam is empty", lambda: AttentionView((), "c d"))


def test_attention_that_candidates_share_is_stored_once() -> None:
    one, other = (view(list("ab"), list("cd")).attentions[0] for _ in range(2))
    beam = [Candidate("a", 0.0, (one, other)), Candidate("b", 0.0, (one,))]
    data = AttentionView(beam[0].attentions, beam=beam).page().data
    assert len(data["kinds"]) == 2 and [text["kinds"] for text in data["texts"]] == [[0, 1], [0]]
