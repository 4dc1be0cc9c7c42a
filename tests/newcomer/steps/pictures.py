"""Pictures: of a scalar formula, of models, in every format, in a notebook."""

import json
import os
import re
from pathlib import Path

from book import command, python, step

import minigrad as mg
from minigrad import viz

NOTEBOOK = """
import nbclient, nbformat, sys

cells = [
    "import minigrad as mg; from minigrad import nn, viz",
    "model = nn.Linear(2, 1); viz.graph(model(mg.ones(1, 2)).sum())",
    "mg.summary(model, mg.ones(1, 2))",
    "viz.graph(mg.ones(2, requires_grad=True).sum()).show()",
]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
nbformat.validate(notebook)
nbformat.write(notebook, "executed.ipynb")
"""


@step("saving as HTML, SVG, PNG and PDF; scale= makes a PNG larger")
def _() -> None:
    view = viz.graph(mg.ones(2, requires_grad=True).exp().sum())
    begins = {"html": b"<!", "svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for ending, begin in begins.items():
        view.save(f"g.{ending}")
        assert Path(f"g.{ending}").read_bytes().lstrip()[: len(begin)].lower() == begin.lower(), ending
    sizes = []
    for scale in (1, 3):
        view.save("scaled.png", scale=scale)
        sizes.append(int.from_bytes(Path("scaled.png").read_bytes()[16:20], "big"))  # the width in a PNG's header
    assert abs(sizes[1] - 3 * sizes[0]) <= 3, sizes


@step(".show(): opens a browser, or says which file to open")
def _() -> None:
    output = python("import minigrad as mg\nmg.viz.graph(mg.ones(2, requires_grad=True).sum()).show()")
    if not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))) and os.name == "posix":
        file = re.search(r"(/\S+\.html)", output)
        assert file and Path(file[1]).exists(), output


@step("a notebook, executed: its outputs have drawings that need no scripts")
def _() -> None:
    python(NOTEBOOK)
    cells = json.loads(Path("executed.ipynb").read_text(encoding="utf-8"))["cells"]
    bundles = [[output.get("data", {}) for output in cell["outputs"]] for cell in cells]
    for number in (1, 3):
        assert any("image/svg+xml" in data and "text/plain" in data for data in bundles[number]), number
    assert any("Linear" in "".join(data.get("text/plain", "")) for data in bundles[2]), "no table of the summary"


@step("the command draws a piano roll of a MIDI file")
def _() -> None:
    from minigrad_models.music.midi import Note, write_midi

    write_midi("song.mid", [Note(pitch, 80, i * 0.5, i * 0.5 + 0.4) for i, pitch in enumerate((60, 64, 67, 72))])
    assert "wrote roll.html" in command("minigrad", "viz", "song.mid", "--output", "roll.html")
    command("minigrad", "music", "roll", "song.mid", "--output", "own.html")
