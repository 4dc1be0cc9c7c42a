"""Generates docs/serve.png: the page of ``minigrad serve`` in a browser.

    python docs/serve_picture.py [--run DIR] [--sentence TEXT] [--word N] [--output FILE]

It needs a trained model (minigrad train), Chromium, playwright and Pillow.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from minigrad_models.translation.serve.server import Server  # noqa: E402
from minigrad_models.translation.translator import Translator  # noqa: E402

SENTENCE = "My friends like tomatoes because they are tasty."
COLOURS = 160  # enough for the shades of attention


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description="Take a picture of the translator's page.")
    p.add_argument("--run", type=Path, default=ROOT / "runs" / "toy", help="a run folder, or a model")
    p.add_argument("--sentence", default=SENTENCE)
    p.add_argument("--word", type=int, default=4, help="number of the target word under the pointer, from 1")
    p.add_argument("--output", type=Path, default=ROOT / "docs" / "serve.png")
    return p


def photograph(translator: Translator, sentence: str, word: int) -> bytes:
    """A PNG of the page with the sentence's translation and with the pointer on a target word."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is not installed (on Debian: apt install chromium)")
    with Server(translator, port=0) as server, sync_playwright() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = driver.chromium.launch(executable_path=chromium)
        page = browser.new_page(viewport={"width": 820, "height": 600}, color_scheme="light")
        page.goto(server.url)
        page.wait_for_selector("#beam option[value='5']", state="attached")
        page.select_option("#beam", "5")
        page.fill("#text", sentence)
        page.press("#text", "Enter")
        page.wait_for_selector("[data-state=done] #map tr")  # rather than the page's initial sentence
        page.hover(f"#target .word >> nth={word - 1}")
        screenshot = bytes(page.screenshot(full_page=True))
        browser.close()
        server.shutdown()
    return screenshot


def save(picture: bytes, path: Path) -> None:
    """Write a PNG with few colours: a third of the bytes, without visible loss."""
    from PIL import Image

    palette = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette.save(path, optimize=True)


def main(argv: list[str] | None = None) -> None:
    """Take the picture, and print its path."""
    options = parser().parse_args(argv)
    save(photograph(Translator.load(options.run), options.sentence, options.word), options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
