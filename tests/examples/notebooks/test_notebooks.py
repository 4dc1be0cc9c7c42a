"""The notebooks: static pages can show the stored outputs, and every cell runs."""

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
    """The cells of one kind."""
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def outputs(path: Path) -> list[dict[str, Any]]:
    """The outputs of all cells."""
    return [output for cell in cells(path, "code") for output in cell["outputs"]]


def texts(path: Path) -> list[Any]:
    """The text outputs, without drawings and pictures."""
    return [output["data"].get("text/plain") for output in outputs(path) if "data" in output]


def test_stored_outputs_are_from_a_full_run_and_links_work() -> None:
    """Pictures are drawings, since GitHub shows no frames or widgets. No output contains a local path."""
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
        output_text = json.dumps([output for output in outputs(path) if "data" not in output] + texts(path))
        assert not [folder for folder in folders if f"{folder.as_posix()}/" in output_text], path
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
    rerun = [output for cell in stored(notebook).cells if cell.cell_type == "code" for output in cell.outputs]
    before = [set(output["data"]) for output in outputs(path) if "data" in output]
    assert [set(output.data) for output in rerun if "data" in output] == before, "run examples.notebooks.execute again"


def test_a_name_that_does_not_exist_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["7_seventh"]) == 1
    assert "unknown notebook 7_seventh; choose from 1_first_steps," in capsys.readouterr().err
