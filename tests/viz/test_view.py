"""What all views share: the page, the picture, the file, and the frame in a notebook."""

from __future__ import annotations

import math
import shutil
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pytest

from minigrad import showing, viz
from minigrad.utils.bar import in_notebook
from minigrad.viz import show
from minigrad.viz import view as view_module
from minigrad.viz.view import View
from tests.support.browser import wait_for


def test_what_a_picture_takes_can_be_given_to_save(tmp_path: Path) -> None:
    view = viz.embedding(np.eye(3), ["a", "b", "c"])
    path = view.save(tmp_path / "b.svg", "b")
    assert path.read_text(encoding="utf-8") == view.svg("b") != view.svg()


# Where it is shown ------------------------------------------------------------------------------------------


def table() -> View:
    return viz.embedding(np.eye(3), ["a", "b", "c"])


def test_a_script_shows_it_in_the_browser(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: not opened.append(uri))
    monkeypatch.setenv("DISPLAY", ":0")
    view = table()
    view.show()
    file = Path(url2pathname(urlsplit(opened[0]).path))
    assert file.read_text(encoding="utf-8") == view.html() and capsys.readouterr().out == ""
    shutil.rmtree(file.parent)


@pytest.mark.parametrize("display", [True, False])
def test_without_a_browser_it_says_where_the_page_is(
    display: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: bool(asked.append(uri)))
    monkeypatch.setattr(sys, "platform", "linux")
    for name in show.DISPLAYS:
        monkeypatch.delenv(name, raising=False)
    if display:
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    table().show()
    assert len(asked) == display  # a browser of the terminal is not opened
    told = capsys.readouterr().out
    file = Path(told.removeprefix("There is no browser here to show it in. The page is ").partition(";")[0])
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>") and "save('x.html')" in told
    shutil.rmtree(file.parent)


def test_a_notebook_shows_it_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[View] = []
    shell = SimpleNamespace(kernel=object())
    display = SimpleNamespace(display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    view = table()
    view.show()
    assert shown == [view]
    shell.kernel = None  # a terminal
    assert not in_notebook()


def test_a_large_drawing_is_not_kept_beside_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "MOST_DRAWN", 100)
    assert "image/svg+xml" not in table()._repr_mimebundle_()


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_page_is_as_dark_as_the_notebook(system: str, open_file: Callable[..., Any], tmp_path: Path) -> None:
    """In JupyterLab and in VS Code, when they change, and as the system is where nothing is known."""
    outer = tmp_path / "notebook.html"
    shown = viz.positional_encoding(3, 4)._repr_mimebundle_()["text/html"]
    outer.write_text(f'<!doctype html><body data-jp-theme-light="false">{shown}', encoding="utf-8")
    page = open_file(outer, color_scheme=system)
    root = page.frame_locator("iframe").locator("html")
    changes = [
        ("", "dark"),
        ("document.body.dataset.jpThemeLight = 'true'", "light"),
        ("document.body.className = 'vscode-dark'; delete document.body.dataset.jpThemeLight", "dark"),
        ("document.body.className = 'vscode-high-contrast vscode-high-contrast-light'", "light"),
        ("document.body.className = ''", system),
    ]
    for change, theme in changes:
        page.evaluate(change or "0")
        root.and_(page.frame_locator("iframe").locator(f"[data-theme={theme}]")).wait_for()
    assert not page.locator("iframe + img").is_visible()  # it stands for the page where that is taken out
    wait_for(page, "document.querySelector('iframe').style.height != '900px'")
    inner = page.frame_locator("iframe").locator("body").evaluate("node => node.getBoundingClientRect().height")
    assert page.evaluate("document.querySelector('iframe').clientHeight") == min(math.ceil(inner), 1000)
    page.evaluate("document.querySelector('iframe').remove()")
    page.locator("img").wait_for()


def test_another_program_shows_views() -> None:
    seen: list[Any] = []
    view = viz.positional_encoding(4, 8)
    showing.shown_by(seen.append)
    try:
        view.show()
    finally:
        showing.shown_by(None)
    assert seen == [view]
