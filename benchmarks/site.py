"""Measures how soon the playground is usable, how soon it stops a program, and how fast the translator page is.

    python -m benchmarks.site [FOLDER] [--rounds 5] [--sentences 200]

FOLDER is the built site (``python tasks.py site``). Chromium opens it from a local server and cannot reach any other.
The program is the README's first: ten lines that train a network. The time runs from requesting the page until the
result appears. The first visit uses a new browser profile. The translator page translates test sentences one by one.
The table counts the translations that differ from those of the command line, whose weights are not rounded.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.web.build import ROOT
from docs.web.server import shown
from docs.web.translator import trained
from minigrad_models.translation import Translator
from minigrad_models.translation.translation_data import read_shipped

from .browser import chromium
from .machine import describe
from .process import Missing
from .program import parser, show
from .table import Table

LOOP = "while True:\n    loss = 1.0\n"
BEAMS = (1, 5)  # the defaults of the command line and of the page


def ten_lines() -> str:
    """The first program in the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "backward()" in block)


def evaluate(page: Any, function: str, argument: Any = None) -> Any:
    """The result of a function in site.js, called on a page."""
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    return page.evaluate(f"(argument) => (\n{script}).{function}(argument)", argument)


def first_result(context: Any, address: str) -> tuple[Any, float]:
    """The playground page after it has run the program, and the seconds from opening it to the result."""
    page = context.new_page()
    page.goto(f"{address}playground.html", wait_until="commit")
    answer = evaluate(page, "run", ten_lines() + "print('loss', loss.item())\n")
    if "loss 0.000" not in answer["text"]:
        raise RuntimeError(f"the program did not print its loss: {answer['text'][:500]}")
    return page, answer["seconds"]


def download(folder: Path) -> float:
    """MB downloaded by the first visit for the playground's Python."""
    manifest = json.loads((folder / "python" / "manifest.json").read_text(encoding="utf-8"))
    return sum(file["bytes"] for file in manifest["files"]) / 1e6


def translated(folder: Path, sentences: int) -> Iterator[tuple[int, list[float], int]]:
    """For each beam size, the seconds for each sentence, and how many translations differ from the command line's."""
    texts = list(read_shipped(1)["test"].source)[:sentences]
    exact = Translator.load(trained())
    with shown(folder) as address, chromium() as browser:
        page = browser.new_page()
        page.goto(f"{address}translator_page/index.html")
        evaluate(page, "translate", [texts[:2], 1])  # Python starts
        for beam in BEAMS:
            answers = evaluate(page, "translate", [texts, beam])
            expected = exact.translate(texts, beam=beam)
            otherwise = sum(text != other.text for (text, _), other in zip(answers, expected, strict=True))
            yield beam, [seconds for _, seconds in answers], otherwise


def table(folder: Path, rounds: int, sentences: int) -> Table:
    """The table of medians and maxima."""
    cold, warm, stops = [], [], []
    with shown(folder) as address, chromium() as browser:
        for _ in range(rounds):
            context = browser.new_context()
            page, seconds = first_result(context, address)
            cold.append(seconds)
            page.close()
            page, seconds = first_result(context, address)
            warm.append(seconds)
            stops += [evaluate(page, "stop", LOOP) / 1000 for _ in range(10)]
            context.close()
    result = Table("The site's playground", ("what", "median", "worst"), ("", ".3f", ".3f"))
    for name, times in (("first visit", cold), ("second visit", warm), ("an endless loop stops", stops)):
        result.add(f"{name}, seconds", statistics.median(times), max(times))
    for beam, times, otherwise in translated(folder, sentences):
        result.add(f"a sentence, beam {beam}, seconds", statistics.median(times), max(times))
        result.notes.append(f"beam {beam}: {otherwise} of {len(times)} sentences differ from the command line's")
    result.notes.append(f"Python is a download of {download(folder):.1f} MB. {describe('playwright')}")
    return result


def main() -> int:
    """Measure, and print the table. Returns 2 if the browser or the site is missing."""
    p = parser("benchmarks.site", __doc__, rounds=5, sentences=200)
    p.add_argument("folder", nargs="?", type=Path, default=ROOT / "site")
    options = p.parse_args()
    try:
        if not (options.folder / "playground.html").exists():
            raise Missing(f"{options.folder} has no built site: run python tasks.py site")
        result = table(options.folder, options.rounds, options.sentences)
    except Missing as error:
        print(error, file=sys.stderr)
        return 2
    show(result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
