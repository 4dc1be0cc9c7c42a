"""The page of a logit lens over a long text: the time to compute and write it, its size, and when it can be used.

    python -m benchmarks.logit_lens [--tokens 1000] [--layers 12] [--width 768] [--vocabulary 50257] [--browser]

The model is a GPT-2 with random weights, by default of the smallest published size, and so are the tokens.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import minigrad as mg
from minigrad_models.gpt.gpt2 import GPT2, Config
from minigrad_models.viz import logit_lens

from .browser import offline_page
from .machine import describe
from .process import Missing
from .program import parser, show
from .table import Table


class Sizes(NamedTuple):
    """Of the text and the model."""

    tokens: int = 1000
    layers: int = 12
    width: int = 768
    vocabulary: int = 50_257


def measured(sizes: Sizes, browser: bool) -> Table:
    """A row with all figures. Raises Missing: a browser is wanted, and there is none."""
    columns = ("tokens", "layers", "width", "vocabulary", "computed s", "written s", "the file MB", "in Chromium s")
    result = Table("Logit lens", columns, (",", "", "", ",", ".1f", ".2f", ".2f", ".2f"))
    mg.manual_seed(0)
    heads = max(h for h in range(1, sizes.width // 32 + 2) if sizes.width % h == 0)
    model = GPT2(Config(sizes.vocabulary, sizes.tokens, sizes.width, heads, sizes.layers))
    tokens = mg.randint(0, sizes.vocabulary, (1, sizes.tokens))
    start = time.perf_counter()
    view = logit_lens(model, tokens, lambda i: f" token {i}")
    computed = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        file = view.save(Path(folder) / "lens.html")
        written = time.perf_counter() - start
        used = shown(file) if browser else None
        result.add(*sizes, computed, written, file.stat().st_size / 1e6, used)
    return result


def shown(file: Path) -> float:
    """Seconds until the grid is on the screen. Raises RuntimeError: a script failed."""
    with offline_page() as (page, wrong):
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("#lens .cell")
        seconds = time.perf_counter() - start
        if wrong:
            raise RuntimeError("; ".join(wrong))
    return seconds


def main(arguments: list[str]) -> int:
    """Measure and print."""
    p = parser("benchmarks.logit_lens", __doc__, **Sizes()._asdict())
    p.add_argument("--browser", action="store_true", help="open the page in Chromium, too")
    options = vars(p.parse_args(arguments))
    browser = options.pop("browser")
    if small := [name for name, value in options.items() if value < 2]:
        p.error(f"--{small[0]} must be at least 2")
    print(describe("playwright") if browser else describe(), flush=True)
    try:
        show(measured(Sizes(**options), browser))
    except Missing as error:
        print(f"cannot open the page: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
