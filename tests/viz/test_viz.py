"""The package's functions, its documentation, and its features without the extra."""

import math
import pkgutil
import re
import shutil
import struct
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

import minigrad
from minigrad import nn, viz
from minigrad.utils import showing
from minigrad.utils.bar import in_notebook
from minigrad.viz import view as view_module
from minigrad.viz.page import Page
from minigrad.viz.vector import size
from minigrad.viz.view import View
from minigrad_models.gpt.gpt2 import GPT2, Config
from minigrad_models.music.midi import Note
from minigrad_models.viz import embedding, logit_lens, piano_roll, positional_encoding, training
from tests.support.browser import wait_for
from tests.support.cases import raises
from tests.support.graphviz import HAS_DOT


def product() -> Any:
    return (minigrad.ones(2).requires_grad_() * 2).sum()


MADE: dict[str, Callable[[], Any]] = {
    "attention": lambda: viz.attention(np.full((1, 2, 2), 0.5), ["I", "sleep"]),
    "embedding": lambda: embedding(np.eye(3), ["a", "b", "c"]),
    "explain": lambda: viz.explain(product(), run=True),
    "graph": lambda: viz.graph(product()),
    "linked": lambda: viz.linked(nn.TransformerEncoderLayer(4, 2, batch_first=True), minigrad.ones(1, 2, 4)),
    "logit_lens": lambda: logit_lens(GPT2(Config(5, positions=4, d_model=4, heads=2, layers=1)), [0, 1, 2]),
    "make_dot": lambda: viz.make_dot(product()),
    "piano_roll": lambda: piano_roll([Note(60, 80, 0.0, 1.0)]),
    "playback": lambda: viz.playback(product()),
    "positional_encoding": lambda: positional_encoding(3, 4),
    "trace": lambda: viz.trace(nn.Linear(2, 2), minigrad.ones(1, 2)),
    "training": lambda: training([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}]),
}
PAGES = sorted(set(MADE) - {"explain", "make_dot", "trace"})
PICTURES = sorted(set(PAGES) - {"piano_roll"})  # also available as vector pictures
OF_GRAPHS, CHARTS = {"graph", "linked", "playback"}, {"positional_encoding", "training"}


TITLES = {  # window titles: the kind of picture, and its subject
    "attention": "Attention: I sleep",
    "embedding": "Embedding: 3 words",
    "graph": "Graph of tensor",
    "linked": "Attention and graph of TransformerEncoderLayer",
    "logit_lens": "Logit lens: 0 1 2",
    "piano_roll": "Piano roll: 1 note",
    "playback": "Backward of tensor",
    "positional_encoding": "Positional encoding: 3 positions, 4 wide",
    "training": "Training: run 1",
}


def test_a_pages_title_describes_its_content() -> None:
    assert {name: MADE[name]().page().title for name in PAGES} == TITLES
    loss = product()
    assert viz.graph(loss).page().title == "Graph of loss"
    assert piano_roll([Note(60, 80, 0.0, 1.0)], title="A round").page().title == "A round"


def test_its_docstring_names_every_function_and_every_file() -> None:
    documentation = viz.__doc__ or ""
    assert all(f"viz.{name}(" in documentation for name in viz.__all__)
    files = {module.name for module in pkgutil.iter_modules(viz.__path__)}
    assert {name for name in files if f"``{name}``" not in documentation} == set()


def test_dir_lists_the_functions_first() -> None:
    assert [name for name in dir(viz) if not name.startswith("__")] == sorted(viz.__all__)
    assert all(callable(getattr(viz, name)) and getattr(viz, name).__doc__ for name in viz.__all__)
    assert {"__doc__", "__file__", "__path__"} <= set(dir(viz))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without the extra's packages and without programs."""
    for name in ("graphviz", "pygraphviz", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("PATH", "")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", PICTURES)
def test_pages_and_vector_pictures_need_no_extra(name: str, tmp_path: Path) -> None:
    view = MADE[name]()
    assert isinstance(view.page(), Page) and view.html() == view.page().html()
    path = tmp_path / "a.HTML"
    assert view.save(path) == path and path.read_text(encoding="utf-8") == view.html()
    if name in OF_GRAPHS:
        raises(ImportError, "images of graphs need Graphviz", lambda: view.save(tmp_path / "a.svg"))
    elif name in CHARTS:
        raises(ImportError, "charts need vl-convert-python", lambda: view.save(tmp_path / "a.svg"))
        assert "image/svg+xml" not in view._repr_mimebundle_()
    else:
        assert view.save(tmp_path / "a.svg").read_text(encoding="utf-8") == view.svg()
    raises(ValueError, "pages take no arguments", lambda: view.save(tmp_path / "b.html", 1))
    with pytest.raises(ValueError, match=r"a\.txt: the extension must be one of \.html, .*\.svg, \.png, \.pdf"):
        view.save(tmp_path / "a.txt")
    raises(FileNotFoundError, r"the folder does not exist.*nowhere", lambda: view.save(tmp_path / "nowhere" / "a.html"))
    raises(
        ImportError, r"pages \(.html\) do not: .*pip install vl-convert-python", lambda: view.save(tmp_path / "a.png")
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.HTML", "a.svg"][: 2 - (name in OF_GRAPHS | CHARTS)]


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_svg_png_and_pdf(name: str, tmp_path: Path) -> None:
    """They have the size given by ``scale``; in a notebook they also have a line of text."""
    pytest.importorskip("vl_convert", reason="the extra viz brings it")
    if name in OF_GRAPHS and not HAS_DOT:
        pytest.skip("Graphviz is not installed")
    view = MADE[name]()
    wide, high = size(view.svg())
    larger = view.save(tmp_path / "a.svg", scale=3).read_text(encoding="utf-8")
    assert size(larger) == pytest.approx((3 * wide, 3 * high), rel=1e-4)
    pixels = struct.unpack(">II", view.save(tmp_path / "a.png", scale=1.5).read_bytes()[16:24])
    assert pixels == pytest.approx((1.5 * wide, 1.5 * high), abs=2)
    paper = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", view.save(tmp_path / "a.pdf").read_bytes())
    assert [float(side) for side in paper[0]] == pytest.approx((0.75 * wide, 0.75 * high), rel=1e-3)
    assert struct.unpack(">II", view.png()[16:24]) == pytest.approx((2 * wide, 2 * high), abs=2)
    bundle = view._repr_mimebundle_()
    assert bundle["image/svg+xml"] == view.svg() and bundle["text/plain"] == repr(view) and "\n" not in repr(view)
    assert "<iframe" in bundle["text/html"] and "data:image/svg+xml" in bundle["text/html"]


def test_save_takes_the_arguments_of_a_picture(tmp_path: Path) -> None:
    view = MADE["embedding"]()
    path = view.save(tmp_path / "b.svg", "b")
    assert path.read_text(encoding="utf-8") == view.svg("b") != view.svg()


def test_a_script_shows_it_in_the_browser(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: not opened.append(uri))
    monkeypatch.setenv("DISPLAY", ":0")
    view = MADE["embedding"]()
    view.show()
    file = Path(url2pathname(urlsplit(opened[0]).path))
    assert file.read_text(encoding="utf-8") == view.html() and capsys.readouterr().out == ""
    shutil.rmtree(file.parent)


@pytest.mark.parametrize("display", [True, False])
def test_without_a_browser_it_says_where_the_page_is(
    display: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: bool(addresses.append(uri)))
    monkeypatch.setattr(sys, "platform", "linux")
    for name in view_module.DISPLAYS:
        monkeypatch.delenv(name, raising=False)
    if display:
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    MADE["embedding"]().show()
    assert len(addresses) == display  # a browser of the terminal is not opened
    output = capsys.readouterr().out
    file = Path(output.removeprefix("No browser is available. The page is in ").partition(";")[0])
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>") and "save('x.html')" in output
    shutil.rmtree(file.parent)


def test_a_notebook_shows_it_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    views: list[View] = []
    shell = SimpleNamespace(kernel=object())
    display = SimpleNamespace(display=views.append)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    view = MADE["embedding"]()
    view.show()
    assert views == [view]
    shell.kernel = None  # a terminal
    assert not in_notebook()


def test_a_large_drawing_is_not_stored_next_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "MOST_DRAWN", 100)
    assert "image/svg+xml" not in MADE["embedding"]()._repr_mimebundle_()


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_page_follows_the_theme_of_the_notebook(system: str, open_file: Callable[..., Any], tmp_path: Path) -> None:
    """In JupyterLab and VS Code, also when the theme changes; elsewhere it follows the system's."""
    outer = tmp_path / "notebook.html"
    content = positional_encoding(3, 4)._repr_mimebundle_()["text/html"]
    outer.write_text(f'<!doctype html><body data-jp-theme-light="false">{content}', encoding="utf-8")
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
    assert not page.locator("iframe + img").is_visible()  # replaces the page if a sanitizer removes it
    wait_for(page, "document.querySelector('iframe').style.height != '900px'")
    inner = page.frame_locator("iframe").locator("body").evaluate("node => node.getBoundingClientRect().height")
    assert page.evaluate("document.querySelector('iframe').clientHeight") == min(math.ceil(inner), 1000)
    page.evaluate("document.querySelector('iframe').remove()")
    page.locator("img").wait_for()


def test_another_program_shows_views() -> None:
    views: list[Any] = []
    view = positional_encoding(4, 8)
    showing.shown_by(views.append)
    try:
        view.show()
    finally:
        showing.shown_by(None)
    assert views == [view]
