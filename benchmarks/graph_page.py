"""The page of a whole compute graph, forward and backward: its size, its time, and how far its nodes are.

    python -m benchmarks.graph_page [--run DIR] [--browser] [--folder DIR]

Two graphs: the loss of the translator that `minigrad train` trains (of a trained run, if its
folder is given; otherwise nothing is trained), and that of a decoder of GPT-2's size: 12 layers of width 768,
12 heads, a vocabulary of 50,257. Each is recorded while it runs, and written as one HTML file.

The page closes groups until all fits its window with letters of 8 pixels at least. With --browser that is measured
in Chromium, offline, where the node that is farthest away is then reached by clicking.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from .browser import WINDOW, evaluate, offline_page
from .machine import describe
from .process import Answer, Failed, ask, peak_mebibytes, progress
from .program import parser, show
from .table import Table
from .workloads import WORK, build, loss_function

SECONDS, MEGABYTES, LETTERS, CLICKS = 10.0, 5.0, 8.0, 3  # the bars: LETTERS (pixels) at least, others at most
SENTENCES = ("My friends like tomatoes because they are tasty", "I miei amici amano i pomodori perché sono buoni")
GPT2 = replace(
    WORK["gpt-384"],
    title="decoder 12 × 768, V 50,257",
    layers=12,
    width=768,
    heads=12,
    hidden=3072,
    vocabulary=50_257,
    batch=1,
    length=32,
    dropout=0.1,
    gelu="tanh",
)


class Call(NamedTuple):
    """What is recorded: a function and its arguments."""

    title: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def translator(run: str | None) -> Call:
    """The loss of a sentence pair."""
    from minigrad_models.text.tokenizer import BOS, EOS
    from minigrad_models.translation import architectures
    from minigrad_models.translation import translation_data as data
    from minigrad_models.translation import translation_settings as settings
    from minigrad_models.translation.encoder_decoder import pad
    from minigrad_models.translation.translator import Translator

    if run is not None:
        trained = Translator.load(run)
        model, words, chosen = trained.model, trained.tokenizers, trained.settings
    else:
        chosen = settings.preset("toy")
        words = data.tokenizers_for(data.read(chosen.data)["train"], chosen.data)
        model = architectures.build(chosen.model, words)
    sides = zip((words.source, words.target), SENTENCES, strict=True)
    source, target = (side.encode(side.prepare(text)) for side, text in sides)
    sizes = f"{chosen.model.layers}+{chosen.model.layers} × {chosen.model.d_model}"
    title = f"translator {sizes}, {'trained' if run else 'not trained'}"
    pairs = pad([[*source, EOS]]), pad([[BOS, *target, EOS]])
    return Call(title, model.train().loss, (*pairs, chosen.training.label_smoothing))


def decoder(run: str | None) -> Call:
    """The loss of a short sequence; the embedding serves as the last layer, as in GPT-2."""
    import minigrad as mg

    model = build(mg, GPT2, GPT2.dropout)
    model.head.weight = model.tokens.weight
    return Call(GPT2.title, loss_function(mg, GPT2), (model,))


GRAPHS = {"translator": translator, "decoder": decoder}


# The children --------------------------------------------------------------------------------------------


def measure(library: str, graph: str, file: str, run: str | None = None) -> Answer:
    """Record a graph and write its page."""
    from minigrad import viz
    from minigrad.viz.graph.fold import clicks

    call = GRAPHS[graph](run)
    times = [time.perf_counter()]
    view = viz.graph(call.function, *call.arguments)
    times.append(time.perf_counter())
    size = view.save(file).stat().st_size
    times.append(time.perf_counter())
    record, write = (after - before for before, after in pairwise(times))
    return {
        "title": call.title,
        "nodes": len(view.graph.nodes),
        "boxes": len(view.tree.boxes(view.tree.opened)),
        "record": record,
        "write": write,
        "megabytes": size / 1e6,
        "clicks": max(clicks(view.tree, node.id) for node in view.graph.nodes),
        "memory": peak_mebibytes(),
    }


def browse(library: str, file: str) -> Answer:
    """Open a page in Chromium, offline, and click through to the node that is farthest away. Raises Missing: there is
    no Playwright, or no Chromium. RuntimeError: a script failed, or something else was reached."""
    with offline_page() as (page, wrong):
        start = time.perf_counter()
        page.goto(Path(file).resolve().as_uri())
        page.wait_for_selector("[data-state=done]")
        drawn = time.perf_counter() - start
        letters = 13 * page.evaluate("graphView.camera.at.scale")  # assets/graph.css
        counts = evaluate(page, __file__, "countClicks")
        farthest = counts.index(max(counts))
        clicked = click_through(page, farthest)
        name = page.evaluate("id => graphView.graph.nodes[id].name", farthest)
        if wrong or page.inner_text("#panel h2").split() != name.split() or clicked != max(counts):
            raise RuntimeError(f"{name!r} was not reached by {max(counts)} clicks: {'; '.join(wrong)}")
    return {"drawn": drawn, "letters": letters, "clicks": clicked}


def click_through(page: Any, node: int) -> int:
    """Click on the box that holds a node until it is shown, and on the node: how many clicks that took."""
    for clicks in range(1, 100):
        box = page.evaluate("id => graphView.boxOf(id)", node)
        key = box if box[0] == "g" else f"n{node}"
        if not evaluate(page, __file__, "isInWindow", key):
            page.keyboard.press("0")  # all of it in the window
        page.click(f"#box-{key}")
        if box[0] == "n":
            return clicks
    raise RuntimeError("the boxes do not open")


# The command ---------------------------------------------------------------------------------------------


def measured(run: str | None = None, browser: bool = False, folder: Path | None = None) -> list[Answer]:
    """The figures of each graph, whose pages go to a folder if there is one. Raises Failed: a measurement ended in an
    error."""
    with tempfile.TemporaryDirectory() as temporary:
        answers = []
        for graph in GRAPHS:
            file = str((folder or Path(temporary)).resolve() / f"{graph}.html")
            progress(f"graph: {graph}")
            figures = ask("benchmarks.graph_page:measure", "minigrad", graph=graph, file=file, run=run)
            if browser:
                figures |= ask("benchmarks.graph_page:browse", "minigrad", file=file)
            answers.append(figures)
    return answers


def missed(answer: Answer) -> list[str]:
    """The bars that a graph does not reach."""
    most = {"drawn": SECONDS, "megabytes": MEGABYTES, "clicks": CLICKS}
    misses = [
        f"{name} {answer[name]:.1f}, at most {bar:g}"
        for name, bar in most.items()
        if name in answer and answer[name] > bar
    ]
    small = answer.get("letters", LETTERS) < LETTERS
    return [*misses, *([f"letters {answer['letters']:.1f} px, at least {LETTERS:g}"] if small else [])]


def table(answers: list[Answer]) -> Table:
    """A row for each graph."""
    names = ["title", "nodes", "boxes", "record", "write", "megabytes", "drawn", "letters", "clicks", "memory"]
    columns = ["graph", "nodes", "boxes at first", "recorded s", "written s", "MB", "in Chromium s", "letters px"]
    columns += ["clicks", "most MiB"]
    digits = ("", ",d", "d", ".2f", ".2f", ".2f", ".2f", ".1f", "d", ",.0f")
    result = Table("The page of a whole graph", columns, digits)
    for answer in answers:
        result.add(*(answer.get(name) for name in names))
        result.notes += [f"{answer['title']}: {miss}" for miss in missed(answer)]
        if "missing" in answer:
            result.notes.append(f"no browser: {answer['missing']}")
    bars: Answer = {"title": "bar", "megabytes": MEGABYTES, "drawn": SECONDS, "letters": LETTERS, "clicks": CLICKS}
    result.add(*(bars.get(name) for name in names))
    window = " × ".join(map(str, WINDOW))
    result.notes.append(f"letters: their height where all that is open at first fills a window of {window}")
    return result


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    p = parser("benchmarks.graph_page", __doc__)
    p.add_argument("--run", type=Path, help="of the translator: a run's folder, or a model's file")
    p.add_argument("--browser", action="store_true", help="open the pages in Chromium, too")
    p.add_argument("--folder", type=Path, help="keep the pages there")
    options = p.parse_args()
    if options.folder is not None and not options.folder.is_dir():
        p.error(f"--folder: there is no folder {options.folder}")
    print(describe("playwright") if options.browser else describe(), flush=True)
    run = str(options.run.resolve()) if options.run else None
    try:
        answers = measured(run, options.browser, options.folder)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    show(table(answers))
    return int(any(map(missed, answers)))


if __name__ == "__main__":
    sys.exit(main())
