"""Runs the notebooks in this folder, and stores their outputs as static images for viewers that cannot run code.

    python -m examples.notebooks.execute [NAME ...]

In JupyterLab, figures are interactive pages. Stored pages would take megabytes, and GitHub does not show them, so only
static images are stored: as SVG, and as PNG for JupyterLab, which does not show SVGs in untrusted notebooks. Pages and
widgets are removed.
"""

from __future__ import annotations

import base64
import io
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from minigrad.backend.extras import library
from minigrad.viz.view import png
from minigrad_models.programs.command_line import Parser

FOLDER = Path(__file__).parent
SECONDS = 300  # time limit per cell
COLOURS = 48
PICTURES = ("image/svg+xml", "image/png")
STORED = (*PICTURES, "text/html", "text/latex", "text/markdown", "text/plain")  # HTML, as tables have no picture


def notebooks(names: list[str]) -> list[Path]:
    """The notebooks with these names, or all notebooks. Raises FileNotFoundError for an unknown name."""
    every = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
    stems = {Path(name).stem: name for name in names} or every
    if unknown := [str(name) for stem, name in stems.items() if stem not in every]:
        raise FileNotFoundError(f"unknown notebook {unknown[0]}; choose from {', '.join(every)}")
    return [path for stem, path in every.items() if stem in stems]


def executed(path: Path) -> Any:
    """A notebook with the outputs of a fresh run in its folder. Raises ImportError if nbclient or ipykernel is missing,
    and nbclient.exceptions.CellExecutionError if a cell fails."""
    client = library("nbclient", "notebooks are run by nbclient", "nbclient", "ipykernel").NotebookClient
    notebook = import_module("nbformat").read(path, as_version=4)
    client(notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": FOLDER}}).execute()
    return notebook


def stored(notebook: Any) -> Any:
    """A notebook with the outputs that every viewer shows, without the time and place of its run."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(_stored, cell.outputs) if output is not None]
    return notebook


def _stored(output: Any) -> Any:
    """An output in its stored form; None for text on stderr and progress bars, which are dropped."""
    if output.output_type == "stream":
        return None if output.name == "stderr" else output
    if output.output_type not in ("display_data", "execute_result"):
        return output
    if any("widget" in kind for kind in output.data):
        return None
    stored = (kind for kind in STORED if kind != "text/html") if set(PICTURES) & output.data.keys() else STORED
    output.data = {kind: output.data[kind] for kind in stored if kind in output.data}
    if "image/svg+xml" in output.data:
        output.data["image/png"] = base64.b64encode(small(output.data["image/svg+xml"])).decode()
    output.metadata = {}
    return output


def small(svg: str) -> bytes:
    """An SVG as a PNG with few colours, and therefore few bytes. Raises ImportError if Pillow is missing."""
    image, file = library("PIL.Image", "Pillow makes the stored pictures small", "pillow"), io.BytesIO()
    image.open(io.BytesIO(png(svg, scale=1.0))).convert("RGB").quantize(COLOURS).save(file, "PNG", optimize=True)
    return file.getvalue()


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    p = Parser(prog="python -m examples.notebooks.execute", description=__doc__.partition("\n")[0])
    p.add_argument("names", nargs="*", metavar="NAME", help="notebooks, such as 1_first_steps (default: all)")
    try:
        paths = notebooks(p.parse_args(argv).names)
        for path in paths:
            print(path.name, flush=True)
            import_module("nbformat").write(stored(executed(path)), path)
    except (FileNotFoundError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
