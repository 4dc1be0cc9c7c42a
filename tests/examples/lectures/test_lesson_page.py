"""Lessons in a real browser: what a number tells when it is pointed at, and what is marked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from examples.lectures.cli import make
from examples.lesson.blocks import (
    Chart,
    Choice,
    Equation,
    Lesson,
    Line,
    Mark,
    Matrix,
    Picture,
    Pictures,
    Section,
    Series,
    Steps,
    Text,
)
from tests.support.browser import contrast, texts

pytestmark = pytest.mark.nightly  # a browser
NEW = ("dictionary", "translation", "masking")
EVIL = ['<img src=x onerror="alert(1)">', "</script><script>alert(2)</script>", "👩‍👩‍👧", "x" * 10_000]


@pytest.fixture
def opened(open_file: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def open_lesson(lesson: Lesson, **options: Any) -> Any:
        page = open_file(lesson.page().save(tmp_path / f"{lesson.name}.html"), **options)
        page.wait_for_selector("#lecture section")
        return page

    return open_lesson


def marked(page: Any, key: str) -> list[str]:
    """The cells of a matrix that are marked, as row and column."""
    read = """(nodes, key) => nodes.filter(node => node.dataset.key === key)
        .flatMap(node => [...node.querySelectorAll("td.marked")].map(cell => cell.dataset.cell))"""
    return page.eval_on_selector_all(".matrix", read, key)


def numbers(page: Any, key: str) -> np.ndarray:
    read = """(nodes, key) => [...nodes.find(node => node.dataset.key === key).querySelectorAll("tbody tr")]
        .map(row => [...row.querySelectorAll("td[data-cell]")].map(cell => cell.textContent))"""
    rows = page.eval_on_selector_all(".matrix", read, key)
    return np.array([[float(cell.replace("−", "-").replace("∞", "inf")) for cell in row] for row in rows])


def test_pointing_at_a_score(opened: Callable[..., Any]) -> None:
    page = opened(make("self-attention"), color_scheme="dark")
    figures = [[2.7, 2.4, 3.49], [8.82, 6.51, 2.8], [1.38, 1.69, 4.78]]
    np.testing.assert_allclose(numbers(page, "Q Kᵀ"), figures)
    page.hover('[data-key="Q Kᵀ"] [data-cell="1 0"]')
    assert "0.7 × 0.6 + 3.5 × 2.4 = 8.82" in texts(page, ".told")
    assert marked(page, "Q of scores") == ["1 0", "1 1"] and marked(page, "Kᵀ") == ["0 0", "1 0"]
    assert texts(page, '[data-key="Q Kᵀ"] th.lit') == ["I", "like"]
    page.hover('[data-key="softmax(Q Kᵀ / √2)"] [data-cell="2 1"]')
    assert marked(page, "Q Kᵀ / √2") == ["2 0", "2 1", "2 2"] and marked(page, "Q of scores") == []
    assert "e1.20 / (e0.98 + e1.20 + e3.38) = 0.094" in texts(page, ".told")
    page.hover("h1")
    assert page.locator(".marked").count() == 0
    how = texts(page, ".told")
    assert "Q Kᵀ [like, I]: 0.7 × 0.6 + 3.5 × 2.4 = 8.82" in how and all(how)  # each equation's example
    assert contrast(page, ".told") >= 4.5 and contrast(page, ".matrix th") >= 4.5


@pytest.mark.parametrize("name", NEW)
def test_a_lesson_by_keyboard(opened: Callable[..., Any], name: str) -> None:
    """On a page as wide as a telephone: each number that can be reached shows how it came about, and all fits."""
    page = opened(make(name), viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".checked").count() >= 3 and page.locator(".checked.wrong").count() == 0
    starts = page.locator('.telling td[tabindex="0"]')
    for cell in map(starts.nth, range(starts.count())):
        cell.focus()
        assert cell.evaluate("node => node.classList.contains('now')")
        assert cell.evaluate("node => node.closest('.telling').querySelector('.told').textContent")
    papers = set()
    for _ in range(2):
        page.click("#lecture .last button")  # light, dark
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert contrast(page, ".prose") >= 4.5 and contrast(page, ".about") >= 4.5
    assert len(papers) == 2
    choices = page.locator(".choice")
    for choice in map(choices.nth, range(choices.count())):
        before, at_end = choice.inner_html(), choice.locator("input[max]").count()
        for key in ("ArrowLeft", "ArrowRight") if at_end else ("ArrowDown", "ArrowUp"):
            choice.locator("input, select").press(key)
            before = before if choice.inner_html() == before else ""
        assert not before  # one of the two moved it


def test_a_chart_is_saved(opened: Callable[..., Any]) -> None:
    chart = Chart(
        "Growth",
        "width",
        "variance",
        (Series("measured", (1, 10, 100), (1, 9, 101)), Series(EVIL[0], (1, 100), (1, 100), dashed=True)),
        log_x=True,
        log_y=True,
    )
    page = opened(Lesson("chart", "Chart", "", (Section("One", (chart,)),)))
    assert page.locator(".chart .title").all_text_contents() == ["Growth"]
    assert page.locator(".chart circle").count() == 3
    read = "nodes => nodes.map(node => Number(node.getAttribute('cx')))"
    places = page.eval_on_selector_all(".chart circle", read)
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
    page.click(".chart summary")
    rows = page.locator(".chart details tr")
    assert [texts(rows.nth(i), "td") for i in (1, 2)] == [["1", "1.000", "1.000"], ["10", "9.000", ""]]
    with page.expect_download() as saved:
        page.click(".chart button")
    names = [node.text for node in ElementTree.parse(saved.value.path()).iter() if node.tag.endswith("}text")]
    assert EVIL[0] in names and "1,000" not in names and "100" in names


PIXELS = """nodes => nodes.map(node => [...node.getContext("2d").getImageData(0, 0, node.width, node.height).data])"""


def pixels(page: Any, nth: int) -> list[list[int]]:
    """Red, green, blue and opacity of each number of a picture."""
    flat = page.eval_on_selector_all(".pictures canvas", PIXELS)[nth]
    return [flat[i : i + 4] for i in range(0, len(flat), 4)]


def test_small_pictures(opened: Callable[..., Any]) -> None:
    signs = Pictures(
        "W", (Picture(np.array([[-2.0, 1.0], [0.0, np.nan]]), "unit_1"), Picture(np.ones((3, 1)), side=20)), "signs"
    )
    ink = Pictures("Digits", [Picture(np.array([[0.5, 1.0]] * 2), f"a {i}") for i in range(5)], across=2, side=10)
    page = opened(Lesson("pictures", "Pictures", "", (Section("One", (signs, ink)),)), color_scheme="light")
    minus, plus, nothing, unknown = pixels(page, 0)
    assert minus == [179, 64, 42, 255] and plus[3] == 128 and plus[2] > plus[0] and nothing[3] == 0
    assert unknown == [95, 99, 104, 255]
    assert texts(page, ".pictures figcaption") == ["unit1", *(f"a {i}" for i in range(5))]
    page.hover(".pictures canvas >> nth=0", position={"x": 12, "y": 4})
    assert texts(page, ".pictures .told")[0] == "unit_1, row 1, column 2: 1"
    page.hover("h1")
    assert texts(page, ".pictures .told")[0] == ""
    places = [page.locator(".pictures canvas").nth(i).bounding_box() for i in (2, 3, 4)]
    assert places[0]["y"] == places[1]["y"] < places[2]["y"] and places[0]["x"] == places[2]["x"]
    assert 20 <= places[0]["width"] <= 22
    assert 60 <= page.locator(".pictures canvas").nth(1).bounding_box()["height"] <= 62
    half, whole = pixels(page, 2)[:2]
    assert half == pytest.approx([27, 28, 30, 128], abs=1) and whole == [27, 28, 30, 255]
    assert page.locator(".pictures canvas >> nth=2").get_attribute("aria-label") == "Digits: a 0"


def test_text_is_text(opened: Callable[..., Any]) -> None:
    square = np.eye(4)
    told = Matrix("B", square, EVIL, EVIL, how=lambda i, j: EVIL[j], marks=(Mark(EVIL[0], "row"),))
    blocks = (
        Equation((Matrix(EVIL[0], square, EVIL, EVIL), EVIL[1], told)),
        Line(EVIL, (0.1, 0.2, 0.9, 0.4), 1),
        Steps(EVIL, (EVIL,), code=(1,)),
        Pictures(EVIL[0], [Picture(square, text) for text in EVIL]),
        Text(" ".join(EVIL)),
        Choice(EVIL[0], EVIL, [Text(t) for t in EVIL]),
    )
    page = opened(Lesson("evil", EVIL[0], EVIL[1], (Section(EVIL[0], blocks),)))
    assert page.inner_text("h1") == page.title() == EVIL[0]
    page.hover('[data-key="B"] [data-cell="0 1"]')
    assert texts(page, ".telling .told") == [EVIL[1]] and marked(page, EVIL[0]) == ["0 0", "0 1", "0 2", "0 3"]
    assert texts(page, ".spelling") == EVIL and texts(page, ".asks .spelling") == [EVIL[1]]
    assert texts(page, ".pictures figcaption") == EVIL
    page.select_option("select", index=2)
    assert texts(page, ".choice .prose") == [EVIL[2]]
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
