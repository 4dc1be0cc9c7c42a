"""Positions to look at: the layer's own numbers, in the page, in the picture, and under the pointer."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from minigrad import nn
from minigrad.viz.positional_encoding import positional_encoding, ticks
from tests.support.browser import texts

HTML = '<img src=x onerror="alert(1)">'
EVIL = [HTML, "</script><script>alert(2)</script>", "👩‍👩‍👧", "x" * 10_000, '"quoted"', " "]
WORDS = ["My", "friends", "like", "tomatoes"]


def test_the_numbers_are_the_layers() -> None:
    view = positional_encoding(30, 12)
    layer = nn.SinusoidalPositionalEncoding(12, 30)
    np.testing.assert_array_equal(view.values, layer.pe.numpy())
    data = view.data()
    coded = np.frombuffer(base64.b64decode(data["values"]), "<f4").reshape(30, 12)
    np.testing.assert_array_equal(coded, view.values)


def test_a_wave_repeats_after_its_length() -> None:
    view = positional_encoding(1, 8)
    assert view.wavelength(0) == view.wavelength(1) == pytest.approx(2 * np.pi)
    assert view.wavelength(6) == pytest.approx(2 * np.pi * 1000)
    with pytest.raises(IndexError, match="no dimension 8"):
        view.wavelength(8)


@pytest.mark.parametrize(("length", "width", "tokens", "message"), [
    (0, 8, None, "length=0"), (4, 0, None, "d_model=0"), (4, 8, ["a"], "1 tokens for a length of 4"),
    (10_000, 512, None, "too many"), (1, 2, "a", "not one text"),
])  # fmt: skip
def test_bad_arguments(length: int, width: int, tokens: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        positional_encoding(length, width, tokens)


def test_the_picture_has_the_heat_map_and_the_names(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow reads the picture")
    view = positional_encoding(4, 8, WORDS)
    root = ElementTree.fromstring(view.save(tmp_path / "a.svg").read_text(encoding="utf-8"))
    written = [node.text for node in root.iter() if node.tag.endswith("}text")]
    assert [text for text in written if text in {f"{i} {word}" for i, word in enumerate(WORDS)}] == [
        f"{i} {word}" for i, word in enumerate(WORDS)
    ]
    href = next(node for node in root.iter() if node.tag.endswith("}image")).attrib["href"]
    pixels = np.asarray(image.open(io.BytesIO(base64.b64decode(href.split(",")[1]))))
    assert pixels.shape == (4, 8, 3) and pixels[0, 0].tolist() == [255] * 3  # sin 0 = 0
    assert pixels[0, 1].tolist() == [0x24, 0x58, 0xB3]  # cos 0 = 1


@pytest.mark.parametrize(("length", "width"), [(1, 1), (1, 2), (2, 3), (200, 64)])
def test_odd_sizes(length: int, width: int) -> None:
    ElementTree.fromstring(positional_encoding(length, width).svg())


def test_ticks_are_round_and_few() -> None:
    assert ticks(1) == [0] and ticks(10) == list(range(10)) and ticks(11) == [0, 2, 4, 6, 8, 10]
    assert ticks(100)[:3] == [0, 10, 20] and ticks(128)[-1] == 120 and len(ticks(4999)) <= 11


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in \.html"):
        positional_encoding(2, 2).save(tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_text_is_text_in_picture_and_page(tmp_path: Path) -> None:
    view = positional_encoding(len(EVIL), 4, EVIL)
    root = ElementTree.fromstring(view.svg())
    assert not [node for node in root.iter() if node.tag.endswith(("script", "img"))]
    assert HTML not in view.html() and "<script>alert" not in view.html()
    assert "<iframe" in view._repr_html_() and HTML not in view._repr_html_()


# In a browser --------------------------------------------------------------------------------------------


def told(page: Any) -> str:
    return " ".join(page.inner_text(".told").split())


def test_pointing_at_the_heat_map(open_file: Callable[..., Any], tmp_path: Path) -> None:
    view = positional_encoding(4, 8, WORDS)
    page = open_file(view.save(tmp_path / "a.html"))
    page.wait_for_selector(".positional td")
    box = page.locator(".positional canvas").bounding_box()
    for row, column in ((2, 3), (3, 0), (0, 7)):
        x, y = box["width"] * (column + 0.5) / 8, box["height"] * (row + 0.5) / 4
        page.mouse.move(box["x"] + x, box["y"] + y)
        value = f"{view.values[row, column]:.4f}".replace("-", "−")
        assert told(page).startswith(f"position {row} ({WORDS[row]}), dimension {column}: ")
        assert f"= {value};" in told(page)
        assert texts(page, "td.chosen") == [value]
        assert page.locator(".pair").input_value() == str(column // 2)
    page.keyboard.press("Tab")
    page.focus(".positional canvas")
    for key in ("ArrowDown", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    assert told(page).startswith("position 0 (My), dimension 7: cos(0 / 10000")


def test_the_table_has_the_numbers(open_file: Callable[..., Any], tmp_path: Path) -> None:
    view = positional_encoding(20, 24)
    page = open_file(view.save(tmp_path / "a.html"), color_scheme="dark")
    page.wait_for_selector(".positional td")
    shown = np.array([float(t.replace("−", "-")) for t in texts(page, ".positional td")]).reshape(12, 16)
    np.testing.assert_allclose(shown, view.values[:12, :16], atol=5.1e-5)
    page.locator(".pair").fill("11")
    page.locator(".pair").dispatch_event("input")
    assert texts(page, ".key") == ["dimension 22: sin", "dimension 23: cos"]
    page.click("#theme")
    with page.expect_download() as saved:
        page.click("text=Save as SVG")
    ElementTree.parse(saved.value.path())


def test_names_are_text_in_the_page(open_file: Callable[..., Any], tmp_path: Path) -> None:
    page = open_file(positional_encoding(len(EVIL), 4, EVIL).save(tmp_path / "a.html"))
    page.wait_for_selector(".positional td")
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    names = texts(page, ".positional tbody th")
    assert re.sub(r"^\d+\s*", "", names[0]) == HTML[:23] + "…" and names[5].endswith("␣")
