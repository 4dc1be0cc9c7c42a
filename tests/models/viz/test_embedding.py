"""Word embeddings: cosines and components by their definitions; pointing and searching on the page."""

import base64
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad_models.viz.embedding import embedding
from tests.support.browser import texts, wait_for
from tests.support.cases import raises

HTML = '<img src=x onerror="alert(1)">'
WEIGHTS = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
NAMES = [f"word{i}" for i in range(40)]


def test_nearest_words_have_the_largest_cosines(monkeypatch: pytest.MonkeyPatch) -> None:
    view = embedding(WEIGHTS, NAMES, neighbours=5)
    indices, values = view.neighbours
    units = WEIGHTS / np.linalg.norm(WEIGHTS, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    np.testing.assert_array_equal(indices, np.argsort(-cosines, 1)[:, :5])
    np.testing.assert_allclose(values, -np.sort(-cosines, 1)[:, :5], atol=1e-6)
    near = view.nearest("word3", 5)
    assert [name for name, _ in near] == [NAMES[i] for i in indices[3]]
    np.testing.assert_allclose([value for _, value in near], values[3], atol=1e-6)
    assert view.nearest(3, 2) == near[:2]
    monkeypatch.setattr(sys.modules["minigrad_models.viz.embedding"], "CELLS", 7 * 40)  # several blocks of words
    np.testing.assert_allclose(embedding(WEIGHTS, NAMES, neighbours=5).neighbours[1], values, atol=1e-6)
    assert repr(view) == "<embedding of 40 words, 6 wide; .save('x.html'), .svg() or .nearest(word)>"


def test_the_map_shows_the_principal_components() -> None:
    view = embedding(WEIGHTS * [5, 1, 1, 3, 1, 1], NAMES, neighbours=4)
    centred = view.weights.astype(np.float64) - view.weights.mean(0, dtype=np.float64)
    sizes, axes = np.linalg.eigh(np.cov(centred.T, bias=True))
    projected = centred @ axes[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(view.principal[0]), np.abs(projected), atol=1e-6)
    np.testing.assert_allclose(view.principal[1], sizes[::-1][:2] / sizes.sum(), rtol=1e-6)
    again = embedding(view.weights[::-1].copy(), NAMES)
    np.testing.assert_allclose(again.principal[0][::-1], view.principal[0], atol=1e-4)  # the sign is fixed
    data = view.page().data["embedding"]
    arrays = {"indices": "<i4", "points": "<f4", "cosines": "<i2"}
    indices, points, cosines = (np.frombuffer(base64.b64decode(data[key]), kind) for key, kind in arrays.items())
    np.testing.assert_array_equal(indices.reshape(40, 4), view.neighbours[0])
    np.testing.assert_allclose(points.reshape(40, 2), view.principal[0], atol=1e-6)
    np.testing.assert_allclose(cosines.reshape(40, 4) / 32767, view.neighbours[1], atol=2e-5)


def test_types_of_weights() -> None:
    module = nn.Embedding(5, 3)
    matrix = module.weight.detach().numpy()
    for weights in (matrix, mg.tensor(matrix), module, matrix.astype(np.float64)):
        view = embedding(weights)
        assert view.tokens == tuple("01234") and view.weights.dtype == np.float32
        np.testing.assert_array_equal(view.weights, matrix)
    np.testing.assert_array_equal(embedding(np.eye(5, dtype=int)).weights, np.eye(5))
    for what in ("abc", None, {}, nn.Sequential(nn.Linear(2, 2)), [[1, "two"]]):
        raises(TypeError, r"weights must be an nn\.Embedding, a Tensor or an array, not a ", partial(embedding, what))


def test_bad_arguments() -> None:
    for weights, tokens, message in [
        (np.zeros(3), None, r"shape \(3,\)"),
        (np.zeros((0, 3)), [], r"shape \(0, 3\)"),
        (np.full((2, 2), np.nan), None, r"finite, but 2 words have .* word 0 \('0'\)"),
        ([[1.0, 2.0], [0.0, 1e300]], ["a", "b"], r"word 1 \('b'\)"),
        (np.full((2, 2), 1j), None, "real"),
        (np.ones((2, 2)), ["a"], "1 tokens for 2 vectors"),
        (np.ones((2, 2)), "ab", "not one string"),
    ]:
        raises(ValueError, message, partial(embedding, weights, tokens))
    view = embedding(WEIGHTS, NAMES)
    raises(ValueError, "there is no word 'wrd12'; there is 'word12'", lambda: view.nearest("wrd12"))
    raises(ValueError, "there is no word 40", lambda: view.svg(40))
    raises(ValueError, "at least 1", lambda: embedding(WEIGHTS, NAMES, neighbours=0))


def test_few_words_and_dimensions() -> None:
    for shape in ((1, 1), (1, 4), (2, 1), (3, 2)):
        view = embedding(np.ones(shape, np.float32))
        assert view.principal[0].shape == (shape[0], 2) and np.isfinite(view.principal[0]).all()
        assert view.principal[1] == (0, 0)
        assert view.neighbours[0].shape == (shape[0], min(10, shape[0] - 1))
        ElementTree.fromstring(view.svg())
        assert "<main" in view.html()


def test_vectors_of_zeros_and_very_short_and_long_ones() -> None:
    weights = WEIGHTS.copy()
    weights[7] = 0
    view = embedding(weights, NAMES)
    assert all(value == 0 for _, value in view.nearest(7))
    assert view.page().data["embedding"]["zero"] == [7]
    assert "<polyline" in view.svg(6) and "<polyline" not in view.svg(7)
    weights = np.array([[1e-30, 0], [2e-30, 0], [0, 1e30], [0, 3e30]], np.float32)
    view = embedding(weights, ["a", "b", "c", "d"], neighbours=1)
    assert view.neighbours[0].ravel().tolist() == [1, 0, 3, 2]
    np.testing.assert_allclose(view.neighbours[1].ravel(), 1)
    assert view.page().data["embedding"]["zero"] == []


def test_the_picture_labels_as_many_words_as_fit() -> None:
    root = ElementTree.fromstring(embedding(WEIGHTS, [HTML, *NAMES[1:]]).svg())
    names = [node.text for node in root.iter() if node.tag.endswith("}text")]
    assert names[0] == HTML[:23] + "…" and 10 < len(names) <= 40
    one = ElementTree.fromstring(embedding(WEIGHTS, NAMES, neighbours=3).svg("word5"))
    lines = [node for node in one.iter() if node.tag.endswith("}polyline")]
    assert len(lines) == 3 and "word5" in [node.text for node in one.iter()]


READY = "#embedding canvas"


def test_searching_selecting_and_following_words(opened: Callable[..., Any]) -> None:
    names = [HTML, "</script><script>alert(1)</script>", "x" * 10_000, *NAMES[3:]]
    view = embedding(WEIGHTS, names, neighbours=5, title=HTML)
    page = opened(view)
    wait_for(page, "embedding.view")
    assert page.inner_text("h1") == HTML and page.title() == HTML
    page.fill("input[type=search]", "WORD3")
    assert texts(page, "aside li .name") == ["word3", *(f"word3{i}" for i in range(10))]
    page.press("input[type=search]", "Enter")
    near = view.nearest("word3", 5)
    assert page.inner_text(".word") == "word3" and len(texts(page, "aside li .name")) == len(near)
    cosines = [float(text.replace("−", "-")) for text in texts(page, ".cosine")]
    np.testing.assert_allclose(cosines, [value for _, value in near], atol=5.1e-3)
    page.fill("input[type=search]", "nothing like it")
    assert texts(page, "aside li") == [] and "0 words have it" in page.inner_text("aside")
    page.evaluate("embedding.choose(0)")
    assert page.inner_text(".word") == HTML
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0


def test_pointing_and_clicking_on_the_map(opened: Callable[..., Any]) -> None:
    page = opened(embedding(WEIGHTS, NAMES, neighbours=5), color_scheme="dark")
    wait_for(page, "embedding.view")
    box = page.locator("canvas").bounding_box()
    far = int(np.argmax(np.linalg.norm(embedding(WEIGHTS).principal[0], axis=1)))
    x, y = page.evaluate(f"embedding.place({far})")
    page.mouse.move(box["x"] + x + 2, box["y"] + y)
    assert page.evaluate("embedding.hovered") == far
    page.mouse.click(box["x"] + x + 2, box["y"] + y)
    assert page.inner_text(".word") == NAMES[far]
    page.mouse.wheel(0, -400)
    wait_for(page, "embedding.view.moved")
    before = page.evaluate("embedding.view.x")
    page.mouse.down()
    page.mouse.move(box["x"] + x + 60, box["y"] + y, steps=3)
    page.mouse.up()
    assert page.evaluate("embedding.view.x") > before and page.inner_text(".word") == NAMES[far]
    page.click("#all")
    assert page.evaluate("embedding.view.moved") is False
    page.focus("canvas")
    page.keyboard.press("+")
    page.keyboard.press("Escape")
    assert page.evaluate("embedding.selected") is None and not page.is_visible(".word")
