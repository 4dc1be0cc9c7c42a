"""Saved pages in a real browser, without a network: a fixture for tests.

A conftest.py imports ``browser``, ``open_file`` and ``opened`` once, for all tests in its folder (as
tests/viz/conftest.py does). If Playwright or Chromium is missing, the tests that use them are skipped with the reason.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad.viz.page import Page, written

__all__ = ["browser", "contrast", "open_file", "opened", "texts", "wait_for"]

NEEDED = "playwright drives the browser: pip install playwright"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NOBODY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # no host name resolves
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", NOBODY]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all tests of a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason=NEEDED)
    if CHROMIUM is None:
        pytest.skip("no Chromium here (on Debian: apt install chromium)")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield launched
        launched.close()


@pytest.fixture
def open_file(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file offline: ``open_file(path, color_scheme="dark", viewport={…})`` returns Playwright's page.
    ``first`` is a script that runs before the page's scripts.

    Afterwards it asserts that the page requested only the opened files, logged no error to the console, and opened no
    dialog, and that no script failed.
    """
    wrong: list[str] = []
    contexts = []

    def opened(path: str | Path, timeout: float = 60.0, first: str = "", **options: Any) -> Any:
        url = Path(path).resolve().as_uri()
        contexts.append(browser.new_context(offline=True, accept_downloads=True, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(timeout * 1000)
        page.add_init_script(first)

        def request(event: Any) -> None:
            if event.url.split("#")[0] != url and not event.url.startswith(("data:", "blob:", "about:")):
                wrong.append(f"request: {event.url}")

        def console(message: Any) -> None:
            if message.type == "error":
                wrong.append(f"console: {message.text}")

        def dialog(box: Any) -> None:
            wrong.append(f"dialog: {box.message}")
            box.dismiss()

        page.on("request", request)
        page.on("console", console)
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.on("dialog", dialog)
        page.goto(url)
        return page

    opened.wrong = wrong  # type: ignore[attr-defined]  # for a test that expects something to go wrong
    yield opened
    for context in contexts:
        context.close()
    assert not wrong, wrong


@pytest.fixture
def opened(request: pytest.FixtureRequest, open_file: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Opens a file, a page or a picture, and waits for the module's ``READY``, a selector."""

    def open_page(source: Any, **options: Any) -> Any:
        if isinstance(source, Page):
            source = written(tmp_path / "opened.html", source.html())
        page = open_file(source if isinstance(source, Path) else source.save(tmp_path / "opened.html"), **options)
        page.wait_for_selector(request.module.READY)
        return page

    return open_page


def texts(page: Any, selector: str) -> list[str]:
    """The text of each element, without surrounding space."""
    # SVG has no innerText
    script = "nodes => nodes.map((node) => (node.innerText ?? node.textContent).trim())"
    result: list[str] = page.locator(selector).evaluate_all(script)
    return result


def wait_for(page: Any, script: str, argument: Any = None, seconds: float = 60.0) -> None:
    """Wait until a script is true. (Playwright's wait_for_function uses eval when it polls, which the policy of a page
    forbids.)"""
    for _ in range(int(seconds / 0.02)):
        if page.evaluate(script, argument):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"not true in {seconds:g} seconds: {script}")


def contrast(page: Any, selector: str, style: str = "color") -> float:
    """The contrast of an element's colour, or of another style, with the page's background: from 1 to 21, and at least
    4.5 for text (WCAG 2.2)."""
    paper = _luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    ink = _luminance(page.eval_on_selector(selector, f"node => getComputedStyle(node).{style}"))
    return (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05)


def _luminance(colour: str) -> float:
    """Relative luminance of "rgb(r, g, b)"."""
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
