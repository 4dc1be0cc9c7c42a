"""Places in messages and pictures: in a notebook, the cell and its line instead of one of the kernel's files."""

import linecache
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import minigrad as mg
from minigrad import viz
from minigrad.autograd.tracebacks import at, cell, spelled
from tests.support.cases import cases, raises

FILE = "ipykernel_123/456.py"
CELL = """x = mg.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
loss = (y * y).sum()
"""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that has run FILE as its fifth cell, as IPython reports it (CachingCompiler.format_code_name)."""
    texts = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[5]") if name == FILE else None)
    shell = SimpleNamespace(compile=texts, kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    lines = CELL.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, FILE, (len(CELL), None, lines, FILE))


def run(text: str = CELL) -> dict[str, Any]:
    names: dict[str, Any] = {"mg": mg, "__name__": "__main__"}
    exec(compile(text, FILE, "exec"), names)
    return names


@pytest.mark.usefixtures("notebook")
def test_a_cell_and_its_line() -> None:
    assert cell(FILE) == "cell 5" and cell("train.py") == ""
    assert spelled(f"{FILE}:2") == at("cell 5", 2) == "cell 5, line 2"
    assert spelled("C:\\train.py:7") == at("C:\\train.py", 7) == "C:\\train.py:7"
    assert spelled("backward()") == "backward()"


@cases("shell", [None, SimpleNamespace(), SimpleNamespace(compile=SimpleNamespace())])
def test_without_a_notebook_a_file_is_a_file(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert cell(FILE) == "" and spelled(f"{FILE}:2") == f"{FILE}:2"


@pytest.mark.usefixtures("notebook")
def test_pictures_and_explanations_show_cells() -> None:
    graph = viz.graph(lambda: run()["loss"]).graph
    places = [node.place for node in graph.nodes if node.kind == "op"]
    assert places == ["cell 5, line 2", "cell 5, line 3", "cell 5, line 3"]
    assert graph.nodes[-1].code == "loss = (y * y).sum()"
    assert "cell 5, line 2: y = x * 2" in viz.explain("x", of=viz.playback(lambda: run()["loss"]))


@pytest.mark.usefixtures("notebook")
def test_messages_show_cells() -> None:
    names = run()
    names["loss"].backward(retain_graph=True)
    exec(compile("\n\nwith mg.no_grad(): y.mul_(2)", FILE, "exec"), names)
    raises(RuntimeError, "mul_ at cell 5, line 3 has", names["loss"].backward)
    bad = "x = mg.tensor([0.0], requires_grad=True)\nwith mg.autograd.detect_anomaly():\n    y = x.log()"
    raises(RuntimeError, "log at cell 5, line 3 produced", lambda: run(bad))
