"""The notebooks: what is stored is what pages that run nothing can show, and every cell runs."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from examples.notebooks.execute import FOLDER, main, notebooks, stored

NOTEBOOKS = notebooks([])
MOST_BYTES = 250_000


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    """The cells of a kind."""
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def outputs(path: Path) -> list[dict[str, Any]]:
    """What the cells show."""
    return [output for cell in cells(path, "code") for output in cell["outputs"]]


def texts(path: Path) -> list[Any]:
    """What is shown as text; drawings and pictures are left out."""
    return [output["data"].get("text/plain") for output in outputs(path) if "data" in output]


def test_what_is_stored_was_run_from_the_top_and_its_links_lead_somewhere() -> None:
    """Pictures are drawings: GitHub shows no page in a frame, and no widget. Nothing tells where it ran."""
    assert [path.stem[0] for path in NOTEBOOKS] == ["1", "2", "3", "4", "5", "6"]
    folders = {FOLDER.parents[1], Path.home(), Path(tempfile.gettempdir())} - {Path("/")}
    for path in NOTEBOOKS:
        counts = [cell["execution_count"] for cell in cells(path, "code")]
        assert counts == list(range(1, len(counts) + 1)), path
        assert not [output for output in outputs(path) if output["output_type"] == "error"], path
        kinds = [set(output["data"]) for output in outputs(path) if "data" in output]
        assert any("image/svg+xml" in kind for kind in kinds), path
        assert all("image/png" in kind for kind in kinds if "image/svg+xml" in kind), path
        assert not [kind for kind in kinds if "text/html" in kind and "image/svg+xml" in kind], path
        text = path.read_text(encoding="utf-8")
        assert "<iframe" not in text and "widget" not in text and "ipykernel_" not in text, path
        assert len(text.encode()) < MOST_BYTES, path
        shown = json.dumps([output for output in outputs(path) if "data" not in output] + texts(path))
        assert not [folder for folder in folders if f"{folder.as_posix()}/" in shown], path
        prose = "\n".join("".join(cell["source"]) for cell in cells(path, "markdown"))
        links = [link for link in re.findall(r"\]\(([^)#\s]+)", prose) if "://" not in link]
        assert links and all((path.parent / link).exists() for link in links), path


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_every_cell_runs(path: Path) -> None:
    pytest.importorskip("ipykernel", reason="a kernel runs the cells: the extra notebook is not installed")
    pytest.importorskip("vl_convert", reason="the extra viz is not installed")
    pytest.importorskip("PIL", reason="the extra dev is not installed")
    client = pytest.importorskip("nbclient", reason="the extra notebook is not installed")
    from examples.notebooks.execute import executed

    try:
        notebook = executed(path)
    except client.exceptions.CellExecutionError as error:
        pytest.fail(str(error))
    shown = [output for cell in stored(notebook).cells if cell.cell_type == "code" for output in cell.outputs]
    before = [set(output["data"]) for output in outputs(path) if "data" in output]
    assert [set(output.data) for output in shown if "data" in output] == before, "run examples.notebooks.execute again"


def test_a_name_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["7_seventh"]) == 1
    assert "unknown notebook 7_seventh; choose from 1_first_steps," in capsys.readouterr().err
