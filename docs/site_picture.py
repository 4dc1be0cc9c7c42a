"""Generates docs/site.png: the site's playground after a run, with one number in the graph changed by hand.

    python docs/site_picture.py [--site DIR] [--output FILE]

It needs the built site (python tasks.py site), Chromium, playwright and Pillow.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.browser import chromium  # noqa: E402
from docs.serve_picture import save  # noqa: E402
from docs.web.server import shown  # noqa: E402

WINDOW = {"width": 1180, "height": 820}  # pixels
RUN = """async () => {
    while (!window.playground?.editor) await new Promise((done) => setTimeout(done, 10));
    await window.playground.run();
}"""
DRAWN = """async () => {
    while (!window.graphView?.change.possible) await new Promise((done) => setTimeout(done, 10));
}"""
CHANGED = """async () => {
    while (!window.graphView.change.changedNodes.size) await new Promise((done) => setTimeout(done, 10));
    window.graphView.camera.fit();
}"""


def photograph(site: Path) -> bytes:
    """A PNG of the playground with its first example and the graph, in which one number has been replaced."""
    with shown(site) as address, chromium() as browser:
        page = browser.new_page(viewport=WINDOW, color_scheme="light")
        page.goto(f"{address}playground.html")
        page.evaluate(RUN)
        page.click("#tab-graph")
        frame: Any = page.wait_for_selector("#panel-graph iframe").content_frame()
        frame.evaluate(DRAWN)
        frame.click("[data-key=n0]")
        frame.fill("#panel td input", "0.5")
        frame.press("#panel td input", "Enter")
        frame.evaluate(CHANGED)
        page.evaluate("scrollTo(0, 0)")
        return bytes(page.screenshot())


def main(argv: list[str] | None = None) -> None:
    """Take the picture, and print its path."""
    p = argparse.ArgumentParser(description="Take a picture of the site's playground.")
    p.add_argument("--site", type=Path, default=ROOT / "site", help="the built site")
    p.add_argument("--output", type=Path, default=ROOT / "docs" / "site.png")
    options = p.parse_args(argv)
    if not (options.site / "playground.html").exists():
        p.error(f"{options.site} has no built site: run python tasks.py site")
    save(photograph(options.site), options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
