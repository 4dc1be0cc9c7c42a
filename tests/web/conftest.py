"""The built site, once for all tests, and a page of it in Chromium that may ask its own server alone."""

import importlib.util
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import browser as browser
from web import server

START = 90.0  # seconds in which Python has started, on a busy machine


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site: that of MINIGRAD_SITE, or one made here, by the first process that asks."""
    if given := os.environ.get("MINIGRAD_SITE"):
        return Path(given)
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: it brings what the site carries")
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("MkDocs is not installed (web/requirements.txt)")
    from filelock import FileLock

    from web.build import build

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    made = shared / "site"
    with FileLock(shared / "site.lock"):
        if not made.exists():
            build(made)
    return made


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where a server shows the site."""
    with server.shown(site) as shown:
        yield shown


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Opens a page of the site by its path. At the end no page may have asked another host for anything, and no error
    may stand in a console."""
    wrong: list[str] = []
    contexts = []

    def visited(path: str, **options: Any) -> Any:
        contexts.append(browser.new_context(accept_downloads=True, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(1000 * START)

        def request(made: Any) -> None:
            if not made.url.startswith((address, "data:", "blob:", "about:")):
                wrong.append(f"request: {made.url}")

        page.on("request", request)
        page.on("console", lambda m: wrong.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.goto(address + path)
        return page

    visited.wrong = wrong  # type: ignore[attr-defined]  # for a test that means something to go wrong
    yield visited
    for context in contexts:
        context.close()
    assert not wrong, wrong


def until(page: Any, condition: str, seconds: float = START) -> Any:
    """Wait until an expression of the page is true; Playwright's own waiting needs what the site's policy forbids."""
    end = time.monotonic() + seconds
    while not (value := page.evaluate(condition)):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.05)
    return value
