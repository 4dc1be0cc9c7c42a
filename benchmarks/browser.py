"""Pages in Chromium, offline, for what measures how soon they can be used."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .process import Missing, library_module

WINDOW = 1280, 800  # pixels


@contextmanager
def chromium(**options: Any) -> Iterator[Any]:
    """Playwright's Chromium. Raises Missing: there is no Playwright, or no Chromium."""
    library_module("playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise Missing("no Chromium")
    args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with importlib.import_module("playwright.sync_api").sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=args, **options)
        yield browser
        browser.close()


@contextmanager
def offline_page() -> Iterator[tuple[Any, list[str]]]:
    """Playwright's page in a window of that size, and what its scripts did wrong. Raises Missing: there is no
    Playwright, or no Chromium."""
    with chromium() as browser:
        width, height = WINDOW
        page = browser.new_page(viewport={"width": width, "height": height}, offline=True)
        page.set_default_timeout(120_000)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        yield page, wrong


def evaluate(page: Any, program: str, function: str, argument: Any = None) -> Any:
    """What a function of the script beside a program's file answers in a page: program.js holds an object of them."""
    script = Path(program).with_suffix(".js").read_text(encoding="utf-8")
    return page.evaluate(f"(argument) => (\n{script}).{function}(argument)", argument)
