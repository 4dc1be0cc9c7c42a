"""Controls of all pages, in Chromium: the wheel scrolls the surrounding page, and "?" lists the shortcuts."""

import html
from pathlib import Path
from typing import Any

import pytest

from minigrad.viz.graph import GraphView as view
from tests.support import graphs
from tests.support.browser import texts, wait_for

WINDOW, READY = {"width": 900, "height": 700}, "[data-state=done]"


@pytest.fixture
def notebook(open_file: Any, tmp_path: Path) -> Any:
    """A long page with a graph in the middle, in a frame as in a notebook; and the frame's content."""
    page_html = html.escape(view(graphs.small()).html())
    frame = f'<iframe srcdoc="{page_html}" sandbox="allow-scripts" style="width:100%;height:500px;border:0"></iframe>'
    space = '<p style="height:2000px;margin:0">text</p>'
    file = tmp_path / "long.html"
    file.write_text(f"<!doctype html><body style='margin:0'>{space}{frame}{space}", encoding="utf-8")
    page = open_file(file, viewport=WINDOW)
    page.evaluate("scrollTo(0, 1900)")
    inner = page.query_selector("iframe").content_frame()
    inner.wait_for_selector(READY)
    page.mouse.move(450, 400)
    return page, inner


def scale(inner: Any) -> float:
    factor: float = inner.evaluate("graphView.camera.at.scale")
    return factor


def test_the_wheel_over_a_graph_scrolls_the_notebook_and_with_control_it_zooms(notebook: Any) -> None:
    page, inner = notebook
    before, y = scale(inner), page.evaluate("scrollY")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    wait_for(inner, f"graphView.camera.at.scale > {before}")
    assert page.evaluate("scrollY") == y and inner.locator("#hint").count() == 0
    before = scale(inner)
    page.mouse.wheel(0, 200)
    wait_for(page, "scrollY > 2000")
    assert scale(inner) == before
    assert inner.inner_text("#hint") == "Ctrl + wheel zooms"
    wait_for(inner, "!document.getElementById('hint').classList.contains('visible')")


def test_after_a_click_into_the_picture_it_zooms_until_a_click_outside(notebook: Any) -> None:
    page, inner = notebook
    way = "getComputedStyle(document.getElementById('drawing')).touchAction"
    assert inner.evaluate(way) == "pan-x pan-y"
    page.mouse.click(100, 400)  # next to the boxes
    assert inner.evaluate(way) == "none"
    before, y = scale(inner), page.evaluate("scrollY")
    page.mouse.wheel(0, -200)
    wait_for(inner, f"graphView.camera.at.scale > {before}")
    assert page.evaluate("scrollY") == y
    page.mouse.click(450, 50)
    page.mouse.move(450, 400)
    before = scale(inner)
    page.mouse.wheel(0, 200)
    wait_for(page, f"scrollY > {y}")
    assert scale(inner) == before


def test_shortcuts_are_listed_on_the_page(opened: Any) -> None:
    page = opened(view(graphs.small()), viewport=WINDOW)
    assert page.is_hidden("#shortcuts")
    page.keyboard.press("?")
    assert "search" in texts(page, "#shortcuts td") and texts(page, "#shortcuts tr:first-child kbd") == ["/"]
    page.keyboard.press("/")  # the page behind the dialog gets no keys
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    page.keyboard.press("Escape")
    assert page.is_hidden("#shortcuts")
    page.click("#help")
    page.mouse.click(5, 5)  # outside the dialog
    assert page.is_hidden("#shortcuts")
    page.focus("#search")
    page.keyboard.press("?")
    assert page.input_value("#search") == "?" and page.is_hidden("#shortcuts")
