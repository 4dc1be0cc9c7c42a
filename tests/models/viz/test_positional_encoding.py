"""Positional encodings: the layer's numbers in the page, in the picture, and under the pointer."""

import base64
import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from minigrad import nn
from minigrad_models.viz.positional_encoding import diverging, positional_encoding
from tests.support.browser import texts
from tests.support.cases import raises

HTML = '<img src=x onerror="alert(1)">'
EVIL = [HTML, "</script><script>alert(2)</script>", "👩‍👩‍👧", "x" * 10_000, '"quoted"', " "]
WORDS, READY = ["My", "friends", "like", "tomatoes"], ".positional td"


def test_the_numbers_match_the_layer() -> None:
    view = positional_encoding(30, 12)
    np.testing.assert_array_equal(view.values, nn.SinusoidalPositionalEncoding(12, 30).pe.numpy())
    coded = np.frombuffer(base64.b64decode(view.data()["values"]), "<f4").reshape(30, 12)
    np.testing.assert_array_equal(coded, view.values)
    assert view.wavelength(0) == view.wavelength(1) == pytest.approx(2 * np.pi)
    assert positional_encoding(1, 8).wavelength(6) == pytest.approx(2 * np.pi * 1000)
    raises(IndexError, "no dimension 12", lambda: view.wavelength(12))
    assert repr(view) == "<positional encoding of 30 positions, 12 wide; .save('x.html') or .svg()>"


def test_white_is_between_the_negative_and_positive_colours() -> None:
    colours = diverging(np.array([-1.0, 0.0, 1.0, 7.0]))
    assert colours.tolist() == [[0xB3, 0x40, 0x2A], [255] * 3, [0x24, 0x58, 0xB3], [0x24, 0x58, 0xB3]]


def test_bad_arguments() -> None:
    for length, width, tokens, message in [
        (0, 8, None, "length=0"),
        (4, 0, None, "d_model=0"),
        (4, 8, ["a"], "1 tokens for a length of 4"),
        (10_000, 512, None, "too many"),
        (1, 2, "a", "not one string"),
    ]:
        raises(ValueError, message, partial(positional_encoding, length, width, tokens))


def test_the_picture_has_the_heat_map_and_the_names() -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow reads the picture")
    pytest.importorskip("vl_convert", reason="the extra viz brings it")
    svg = positional_encoding(4, 8, WORDS).svg()
    names = [f"{i} {word}" for i, word in enumerate(WORDS)]
    assert [node.text for node in ElementTree.fromstring(svg).iter() if node.text in names] == names

    def pixels(svg: str) -> Any:
        (data,) = re.findall(r'href="data:image/png;base64,([^"]*)"', svg)
        return np.asarray(image.open(io.BytesIO(base64.b64decode(data))))

    assert pixels(svg).shape == (4, 8, 3) and pixels(svg)[0, 0].tolist() == [255] * 3  # sin 0 = 0
    assert pixels(svg)[0, 1].tolist() == [0x24, 0x58, 0xB3] and "pixelated" in svg  # cos 0 = 1
    many = positional_encoding(4800, 8)  # more positions than pixels: drawn as means
    np.testing.assert_array_equal(pixels(many.svg()), diverging(many.values.reshape(1200, 4, 8).mean(1)))
    assert all(text in positional_encoding(6, 8, EVIL).svg() for text in ("5·", "&lt;img src=x"))


def test_odd_sizes() -> None:
    pytest.importorskip("vl_convert", reason="the extra viz brings it")
    for length, width in ((1, 1), (2, 3), (200, 64), (3000, 2)):
        root = ElementTree.fromstring(positional_encoding(length, width).svg())
        assert float(root.attrib["height"]) < 1500  # not too high
    text = positional_encoding(3000, 32).svg()
    narrowest = min(float(wave.replace(",", "")) for wave in re.findall(r"wavelength ([\d.,]+)<", text))
    assert narrowest * 320 / 2999 >= 4  # narrower ones are not visible


def test_the_curves_of_the_picture_are_sines() -> None:
    view = positional_encoding(32, 64)
    sines, dots = (view._curves(320.0)[i::2] for i in (0, 1))
    assert len(sines) == len(dots) == 4
    for sine, dot in zip(sines, dots, strict=True):
        dimension, wave = re.findall(r"(\d+): wavelength ([\d.]+)", sine.name)[0]
        assert float(wave) == pytest.approx(view.wavelength(int(dimension)), abs=0.06)
        np.testing.assert_allclose(sine.y, np.sin(2 * np.pi * sine.x / view.wavelength(int(dimension))))
        np.testing.assert_allclose(dot.y, np.interp(dot.x, sine.x, sine.y), atol=0.02)


def told(page: Any) -> str:
    return " ".join(page.inner_text(".explanation").split())


def test_pointing_at_the_heat_map(opened: Callable[..., Any]) -> None:
    view = positional_encoding(6, 8, EVIL)
    page = opened(view)
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    box = page.locator(".positional canvas").bounding_box()
    for row, column in ((2, 3), (3, 0), (0, 7)):
        x, y = box["width"] * (column + 0.5) / 8, box["height"] * (row + 0.5) / 6
        page.mouse.move(box["x"] + x, box["y"] + y)
        value = f"{view.values[row, column]:.4f}".replace("-", "−")
        assert told(page).startswith(f"position {row} (") and f"dimension {column}: " in told(page)
        assert f"= {value};" in told(page)
        assert texts(page, "td.selected") == [value]
        assert page.locator(".pair").input_value() == str(column // 2)
    page.focus(".positional canvas")
    for key in ("ArrowDown", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    assert told(page).startswith("position 0 (") and "dimension 7: cos(0 / 10000" in told(page)


def test_the_table_has_the_numbers(opened: Callable[..., Any]) -> None:
    view = positional_encoding(20, 24)
    page = opened(view, color_scheme="dark")
    numbers = np.array([float(t.replace("−", "-")) for t in texts(page, ".positional td")]).reshape(12, 16)
    np.testing.assert_allclose(numbers, view.values[:12, :16], atol=5.1e-5)
    page.locator(".pair").fill("11")
    page.locator(".pair").dispatch_event("input")
    assert texts(page, ".key") == ["dimension 22: sin", "dimension 23: cos"]
    page.click("#theme")
    with page.expect_download() as saved:
        page.click("text=Save as SVG")
    ElementTree.parse(saved.value.path())
