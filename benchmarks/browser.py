"""Chromium, for page benchmarks."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .process import Missing, library_module


@contextmanager
def chromium(**options: Any) -> Iterator[Any]:
    """Playwright's Chromium. Raises Missing if Playwright or Chromium is not installed."""
    library_module("playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise Missing("no Chromium")
    args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with importlib.import_module("playwright.sync_api").sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=args, **options)
        yield browser
        browser.close()
