"""Measures large pages from minigrad.viz: the time to record, write and draw each page, and its size.

    python -m benchmarks.pages [--only translator,decoder,lens] [--browser]

translator: the forward and backward compute graph of the loss of the translator that `minigrad train` trains. decoder:
the same graph for a decoder of GPT-2's size (12 layers of width 768, 12 heads, a vocabulary of 50,257). lens: the logit
lens of such a GPT-2 for 1,000 random tokens. Weights are random. --browser opens each page in Chromium, offline.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .browser import chromium
from .machine import describe
from .process import Answer, ask, peak_mebibytes, progress
from .program import parser, parts_of, show
from .table import Table
from .workloads import WORK, build, loss_function

SENTENCES = ("My friends like tomatoes because they are tasty", "I miei amici amano i pomodori perché sono buoni")
GPT2 = replace(WORK["gpt-384"], layers=12, width=768, heads=12, hidden=3072, vocabulary=50_257, batch=1, length=32)
GPT2 = replace(GPT2, title="decoder 12 × 768, V 50,257", dropout=0.1, gelu="tanh")
TOKENS = 1000  # in the text of the logit lens


def translator() -> tuple[str, Callable[[], Any]]:
    """The graph of the loss for a sentence pair."""
    from minigrad import viz
    from minigrad_models.text.tokenizer import BOS, EOS
    from minigrad_models.translation import architectures, translation_data as data, translation_settings as settings
    from minigrad_models.translation.encoder_decoder import pad

    toy = settings.preset("toy")
    words = data.tokenizers_for(data.read(toy.data)["train"], toy.data)
    model = architectures.build(toy.model, words)
    sides = zip((words.source, words.target), SENTENCES, strict=True)
    source, target = (side.encode(side.prepare(text)) for side, text in sides)
    pair = pad([[*source, EOS]]), pad([[BOS, *target, EOS]])
    record = partial(viz.graph, model.train().loss, *pair, toy.training.label_smoothing)
    return f"translator of width {toy.model.d_model}", record


def decoder() -> tuple[str, Callable[[], Any]]:
    """The graph of the loss for a short sequence. The embedding and the output layer share weights, as in GPT-2."""
    import minigrad as mg
    from minigrad import viz

    model = build(mg, GPT2, GPT2.dropout)
    model.head.weight = model.tokens.weight
    return GPT2.title, partial(viz.graph, loss_function(mg, GPT2), model)


def lens() -> tuple[str, Callable[[], Any]]:
    """The logit lens of a long text."""
    import minigrad as mg
    from minigrad_models.gpt import gpt2
    from minigrad_models.viz import logit_lens

    mg.manual_seed(0)
    model = gpt2.GPT2(gpt2.Config(GPT2.vocabulary, TOKENS, GPT2.width, GPT2.heads, GPT2.layers))
    tokens = mg.randint(0, GPT2.vocabulary, (1, TOKENS))
    return f"logit lens of {TOKENS:,} tokens", partial(logit_lens, model, tokens, lambda i: f" token {i}")


# For each name, a function that returns a title and the computation, and an element that exists once the page is drawn.
Builder = Callable[[], tuple[str, Callable[[], Any]]]
PAGES: dict[str, tuple[Builder, str]] = {
    "translator": (translator, "[data-state=done]"),
    "decoder": (decoder, "[data-state=done]"),
    "lens": (lens, "#lens .cell"),
}


def measure(library: str, page: str, file: str) -> Answer:
    """Compute a page and write it."""
    title, record = PAGES[page][0]()
    start = time.perf_counter()
    view = record()
    recorded = time.perf_counter()
    size = view.save(file).stat().st_size
    times = {"recorded s": recorded - start, "written s": time.perf_counter() - recorded}
    figures = {"page": title, **times, "MB": size / 1e6, "most MiB": peak_mebibytes()}
    if page == "lens":
        return figures
    from minigrad.viz.graph.fold import clicks

    most = max(clicks(view.tree, node.id) for node in view.graph.nodes)
    boxes = len(view.tree.boxes(view.tree.opened))
    return {**figures, "nodes": len(view.graph.nodes), "boxes at first": boxes, "clicks": most}


def browse(library: str, page: str, file: str) -> Answer:
    """Open a page in Chromium, offline. Raises Missing without Playwright or Chromium, RuntimeError if a script
    fails."""
    wrong: list[str] = []
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": 1280, "height": 800}, offline=True)
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        start = time.perf_counter()
        opened.goto(Path(file).as_uri())
        opened.wait_for_selector(PAGES[page][1], timeout=120_000)
        seconds = time.perf_counter() - start
    if wrong:
        raise RuntimeError("; ".join(wrong))
    return {"in Chromium s": seconds}


def table(pages: Iterable[str] = ("translator", "decoder"), browser: bool = False) -> Table:
    """One row per page."""
    numbers = ("nodes", "boxes at first", "recorded s", "written s", "MB", "in Chromium s", "clicks", "most MiB")
    columns = ("page", *numbers)
    result = Table("Large pages", columns, ("", ",d", "d", ".2f", ".2f", ".2f", ".2f", "d", ",.0f"))
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            file = str(Path(folder).resolve() / f"{page}.html")
            progress(f"page: {page}")
            figures = ask("benchmarks.pages:measure", "minigrad", page=page, file=file)
            if browser:
                figures |= ask("benchmarks.pages:browse", "minigrad", page=page, file=file)
            result.add(*(figures.get(name) for name in columns))
            result.notes = [f"not opened: {figures['missing']}"] if "missing" in figures else []
    result.notes.append("clicks: until any node is shown, at most")
    return result


def main() -> None:
    """Measure and print."""
    p = parser("benchmarks.pages", __doc__)
    p.add_argument("--only", type=parts_of(PAGES), default=list(PAGES), help=f"comma-separated: {','.join(PAGES)}")
    p.add_argument("--browser", action="store_true", help="also open the pages in Chromium")
    options = p.parse_args()
    print(describe("playwright") if options.browser else describe(), flush=True)
    show(table(options.only, options.browser))


if __name__ == "__main__":
    main()
