"""The built site, once for all tests, and its pages in Chromium, which may only contact their own server."""

import importlib.util
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.web import server
from tests.support.browser import browser as browser

START = 90.0  # seconds for Python to start on a busy machine


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site: MINIGRAD_SITE, or one that the first process builds here."""
    if path := os.environ.get("MINIGRAD_SITE"):
        return Path(path)
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: it brings what the site carries")
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("MkDocs is not installed (docs/web/requirements.txt)")
    from filelock import FileLock

    from docs.web.build import build

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "site"
    with FileLock(shared / "site.lock"):
        if not folder.exists():
            build(folder)
    return folder


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The address of a server with the site."""
    with server.shown(site) as url:
        yield url


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Opens a page of the site by its path; at the end, checks that no page has sent a request to another host and
    that no console has an error."""
    wrong: list[str] = []
    contexts = []

    def visited(path: str, **options: Any) -> Any:
        contexts.append(browser.new_context(accept_downloads=True, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(1000 * START)

        def request(call: Any) -> None:
            if not call.url.startswith((address, "data:", "blob:", "about:")):
                wrong.append(f"request: {call.url}")

        page.on("request", request)
        page.on("console", lambda m: wrong.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.goto(address + path)
        return page

    visited.wrong = wrong  # type: ignore[attr-defined]  # for a test that expects errors
    yield visited
    for context in contexts:
        context.close()
    assert not wrong, wrong


def until(page: Any, condition: str, seconds: float = START) -> Any:
    """Wait until an expression in the page is true; the site's policy forbids Playwright's own waiting."""
    end = time.monotonic() + seconds
    while not (value := page.evaluate(condition)):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.05)
    return value
