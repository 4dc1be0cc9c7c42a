"""The Python side of a page's cells, here in CPython: programs, their output, errors, completion."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import minigrad as mg
from docs import web
from minigrad.utils import showing

PYTHON = Path(web.__file__).parent / "python"  # next to minigrad in the browser
A_GRAPH = """
import minigrad as mg
from minigrad import viz
a = mg.tensor(2.0, requires_grad=True)
b = mg.tensor(-3.0, requires_grad=True)
f = a * b
"""
LOSSES = """
import minigrad as mg
x = mg.ones(1, requires_grad=True)
for i in range(6):
    wait(0.02)
    (i * x).sum().backward()
"""


class Page:
    """The page's side: it sends requests, and receives messages as worker.js forwards them."""

    def __init__(self, cells: Any) -> None:
        self.cells = cells
        self.heard: list[dict[str, Any]] = []

    def say(self, text: str) -> None:
        """The function of the module ``_page``."""
        self.heard.append(parsed(text))

    def ask(self, type: str, **message: Any) -> dict[str, Any]:
        """The answer to a request."""
        answer: dict[str, Any] = parsed(self.cells.act(json.dumps({"type": type, "id": 0, **message})))
        return answer

    def run(self, code: str, name: str = "program") -> Any:
        """Run a program, and return its error or None. Earlier messages are dropped."""
        self.heard.clear()
        streams = sys.stdout, sys.stderr
        error = self.ask("run", code=code, name=name)["error"]
        assert (sys.stdout, sys.stderr) == streams
        return error

    def out(self) -> list[tuple[str, str]]:
        """The outputs received: stream and text."""
        return [(message["stream"], message["text"]) for message in self.heard if message["type"] == "out"]

    def printed(self, stream: str = "stdout") -> str:
        """The text of a stream."""
        return "".join(text for name, text in self.out() if name == stream)

    def losses(self) -> list[tuple[int, Any]]:
        """The points of the loss curve."""
        return [(message["step"], message["loss"]) for message in self.heard if message["type"] == "loss"]

    def change(self, graph: int, node: Any = 0, at: Any = 0, text: str = "1", undo: bool = False) -> dict[str, Any]:
        """Request a graph with another number."""
        return self.ask("change", graph=graph, node=node, at=at, text=text, undo=undo)

    def complete(self, text: str) -> dict[str, bool]:
        """The completions of a text, and whether each is a keyword."""
        return {entry["name"]: entry["keyword"] for entry in self.ask("complete", text=text)["names"]}


def parsed(text: str) -> Any:
    """JSON as JavaScript reads it: without NaN and the infinities."""

    def refuse(name: str) -> None:
        raise AssertionError(f"JSON has no {name}")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page with a fresh interpreter."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(PYTHON)])
    monkeypatch.setattr(showing, "_showers", [])
    stub = Page(importlib.import_module("minigrad_page.cells"))
    module = ModuleType("_page")
    vars(module)["say"] = stub.say
    monkeypatch.setitem(sys.modules, "_page", module)
    yield stub
    stub.ask("reset")


def test_output_goes_out_in_order_and_the_last_expression_is_shown(page: Page) -> None:
    assert page.run("import sys\nprint('one')\nprint('two', file=sys.stderr)\n[1, 'a']") is None
    assert page.out() == [("stdout", "one\n"), ("stderr", "two\n"), ("result", "[1, 'a']\n")]
    for code in ("x = 1", "None", "", "# nothing", "if True:\n    1", "raise SystemExit", "exit(0)"):
        assert page.run(code) is None and page.heard == [], code


def test_programs_share_their_names(page: Page) -> None:
    page.run("x = 20\n__name__")
    assert page.out() == [("result", "'__main__'\n")]
    page.run("x + 1")
    page.run("x = None\nx")
    page.run("_ * 2")  # the last result shown
    assert page.out() == [("result", "42\n")]


def test_only_text_is_written_and_it_is_unchanged(page: Page) -> None:
    for wrong in ("3", "b'x'", "['\\n']"):
        error = page.run(f"import sys\nprint('a')\nsys.stdout.write({wrong})")
        assert (error["kind"], error["line"], page.printed()) == ("TypeError", 3, "a\n"), wrong
    for text in ("<script>alert(1)</script>", "&amp;", "\ud800", "\x00", "\u2028"):
        assert page.run(f"x = {text!a}\nprint(x)\nx") is None
        assert page.out() == [("stdout", f"{text}\n"), ("result", f"{text!r}\n")]


def test_a_value_is_shown_by_its_richest_form(page: Page) -> None:
    page.run("class A:\n    def _repr_html_(self): return '<b>'\n    def __repr__(self): return 'plain'")
    page.run("class B(A):\n    def _repr_svg_(self): return '<svg/>'")
    page.run("class C(A):\n    def _repr_html_(self): return None")
    page.run("display(A(), B(), C())\nA")
    assert page.out() == [
        ("html", "<b>"),
        ("svg", "<svg/>"),
        ("result", "plain\n"),
        ("result", "<class '__main__.A'>\n"),
    ]
    assert [message.get("title") for message in page.heard] == ["A", "B", None, None]


def test_displayed_values_can_be_updated(page: Page) -> None:
    page.run("a = display(1, display_id=True)\nb = display(2, 3, display_id='mine')\nc = display(4, display_id=True)")
    first, second, third, fourth = (message["id"] for message in page.heard)
    assert second == third == "mine" and len({first, second, fourth}) == 3
    page.run("a.update(5)\nb.update(6)\ndisplay(7)")
    assert [(message["text"], message.get("id")) for message in page.heard] == [
        ("5\n", first),
        ("6\n", "mine"),
        ("7\n", None),
    ]


def test_a_view_is_shown_as_its_page(page: Page) -> None:
    for code in ("viz.graph(f)", "viz.graph(f).show()", "display(viz.graph(f))"):
        assert page.run(A_GRAPH + code) is None
        (message,) = page.heard
        assert message["stream"] == "html" and message["text"].startswith("<!doctype html>")
        assert (message["height"], message["title"]) == (720, "Graph of f")
        assert message["graph"] in page.cells.graphs


def test_an_error_starts_at_the_programs_own_line(page: Page) -> None:
    error = page.run("def f():\n    1 / 0\n\nf()\nprint('not reached')", "block 2")
    assert (error["kind"], error["line"]) == ("ZeroDivisionError", 2)
    lines = error["text"].splitlines()
    assert lines[:2] == ["Traceback (most recent call last):", '  File "<block 2>", line 4, in <module>']
    assert lines[2].strip() == "f()" and lines[-1] == "ZeroDivisionError: division by zero"
    assert "cells.py" not in error["text"] and page.heard == []
    code = "def f():\n    import json\n    json.loads('[')\ntry:\n    f()\n"
    error = page.run(f"{code}except ValueError as e:\n    raise KeyError('x') from e")
    assert error["line"] == 7 and "cells.py" not in error["text"]
    assert "JSONDecodeError" in error["text"] and "direct cause" in error["text"]
    assert "JSONDecodeError" not in page.run(f"{code}except ValueError:\n    raise KeyError('x') from None")["text"]


def test_a_program_that_imports_torch_runs_as_minigrad(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    page.run("from minigrad import nn\nnn.Linear(2, 1)")  # modules imported later would keep torch's name
    assert page.run("import torch\nfrom torch import nn\nnn.Linear(2, 1)(torch.ones(1, 2)).shape") is None
    assert page.printed("result") == "torch.Size([1, 1])\n"
    assert page.printed("stderr") == "note: torch is minigrad here, as after minigrad.compat.as_torch()\n"
    page.run("torch.ones(1).dtype, torch is __import__('minigrad')")
    assert page.printed("result") == "(torch.float32, True)\n" and not page.printed("stderr")
    page.ask("reset")
    assert sys.modules.get("torch") is not mg and repr(mg.float32) == "minigrad.float32"


def test_every_error_is_an_answer(page: Page) -> None:
    rows = [
        ("x = 1\nx +", "SyntaxError", 2),
        ("def f():\nreturn", "IndentationError", 2),
        ("import sys\nsys.exit(3)", "SystemExit", 2),
        ("x = 1\nclass A:\n    def __repr__(self): return 1 / 0\nA()", "ZeroDivisionError", 3),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E", 3),
        ("def f(): f()\nf()", "RecursionError", 1),
        ("raise ExceptionGroup('several', [ValueError()])", "ExceptionGroup", 1),
        ("'\ud800'", "UnicodeEncodeError", None),
        ("display(1, display_id=object())", "TypeError", 1),
    ]
    for code, kind, line in rows:
        error = page.run(code)
        assert (error["kind"], error["line"]) == (kind, line), code
        assert kind in error["text"] and len(error["text"]) < 5000
        assert page.run("1 + 1") is None


def test_stop_interrupts_a_program_and_nothing_else(page: Page) -> None:
    page.cells._interrupt(2, None)  # no effect if no program runs
    page.run("kept = 7")
    page.cells.namespace["stop"] = lambda: page.cells._interrupt(2, None)
    assert page.run("x = 1\nstop()") == {"kind": "KeyboardInterrupt", "text": "stopped\n", "line": 2}
    page.cells._interrupt(2, None)
    assert page.run("assert kept == 7") is None


@pytest.fixture
def clock(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances only if a program calls ``wait(seconds)``."""
    now = [100.0]

    def wait(seconds: float) -> None:
        now[0] += seconds

    losses = sys.modules["minigrad_page.losses"]
    monkeypatch.setattr(losses, "time", SimpleNamespace(monotonic=lambda: now[0]))
    page.cells.namespace["wait"] = wait


@pytest.mark.usefixtures("clock")
def test_losses_are_sent_at_the_screens_rate_and_the_last_one_always(page: Page) -> None:
    assert page.run(LOSSES) is None
    assert page.losses() == [(0, 0.0), (2, 2.0), (4, 4.0), (5, 5.0)]
    page.run(LOSSES.replace("range(6)", "range(5)"))
    assert page.losses() == [(0, 0.0), (2, 2.0), (4, 4.0)]  # no duplicates
    page.run(LOSSES.replace("range(6)", "range(2)") + "1 / 0")  # from 0 again, and the last before an error
    assert page.losses() == [(0, 0.0), (1, 1.0)]


@pytest.mark.usefixtures("clock")
def test_a_loss_is_one_real_number(page: Page) -> None:
    page.run("import minigrad as mg\nx = mg.ones(2, requires_grad=True)")
    assert page.run("(2 * x).backward(mg.ones(2))\nmg.autograd.grad(x.sum(), x)\nx.sum()") is None
    assert page.losses() == []
    assert page.run("z = mg.tensor([1 + 2j], requires_grad=True)\n(2 * z).backward(mg.tensor([1 + 0j]))") is None
    assert page.losses() == []
    page.run("x.sum().reshape(1, 1).backward()")
    assert page.losses() == [(0, 2.0)]
    for value, loss in (("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")):
        assert page.run(f"mg.tensor(float('{value}'), requires_grad=True).mul(1).backward()") is None
        assert page.losses() == [(0, loss)]


def test_names_are_completed(page: Page) -> None:
    page.run("import math\nbeta = _beta = 1\nclass A:\n    one = 1\n    _two = 2")
    assert page.complete("bet") == {"beta": False}
    assert page.complete("_bet") == {}
    assert page.complete("math.sq") == {"math.sqrt": False}
    assert page.complete("A.") == {"A.one": False, **dict.fromkeys(page.complete("A.m"), False)}
    assert page.complete("Tru") == {"True": True}
    assert page.complete("tr") == {"try": True}
    assert page.complete("nowhere.x") == {}


def number(changed: dict[str, Any], name: str, of: str = "value") -> Any:
    """The number of a node, or of its gradient, in an answer."""
    graph = changed["changed"]
    (node,) = (node for node in graph["nodes"] if node["name"] == name)
    return graph["values"][node[of]]["table"][0][0]


def shown_graph(page: Page, code: str = A_GRAPH + "viz.graph(f)") -> int:
    """Run a program that shows a graph, and return the graph's number on the page."""
    assert page.run(code) is None
    return int(page.heard[-1]["graph"])


def test_a_changed_number_updates_the_rest(page: Page) -> None:
    graph = shown_graph(page)
    changed = page.change(graph, 0, text="5")
    assert (number(changed, "f"), number(changed, "b", "gradient")) == (-15.0, 5.0)
    changed = page.change(graph, 1, text="4")  # the other change stays
    assert (number(changed, "f"), number(changed, "a", "gradient")) == (20.0, 4.0)
    assert number(page.change(graph, undo=True), "f") == -6.0
    assert number(page.change(graph, 1, text="4"), "f") == 8.0
    page.run("a.item(), b.item(), f.item()")
    assert page.printed("result") == "(2.0, -3.0, -6.0)\n"


def test_invalid_changes_are_reported(page: Page) -> None:
    graph = shown_graph(page)
    rows: list[tuple[dict[str, Any], str]] = [
        ({"text": "many"}, "could not convert"),
        ({"at": 1}, "out of range"),
        ({"at": 0.5}, "indices"),
        ({"node": 99}, "out of range"),
        ({"node": None}, "no nodes"),  # JSON's null, for NaN
        ({"node": 0.5}, "no nodes"),
        ({"graph": 10**6}, "run the program again"),
    ]
    for options, message in rows:
        assert message in page.change(**{"graph": graph, **options})["failed"]
        assert number(page.change(graph, undo=True), "f") == -6.0


def test_reset_forgets_names_graphs_and_settings(page: Page) -> None:
    graph = shown_graph(page)
    page.run("mg.set_grad_enabled(False)\nmg.set_default_dtype(mg.float64)\nmg.manual_seed(1)")
    assert page.ask("reset") == {}
    assert page.run("a")["kind"] == "NameError"
    assert "run the program again" in page.change(graph)["failed"]
    assert mg.is_grad_enabled() and mg.get_default_dtype() == mg.float32
    sample = mg.rand(1).item()
    mg.manual_seed(0)
    assert mg.rand(1).item() == sample
    assert page.run("display(1)") is None


def test_an_exercise_is_checked(page: Page) -> None:
    check = "same(f(2), 4, 'f(2)')"
    assert page.ask("run", code="f = lambda x: x * x", name="exercise 1.1", check=check) == {"error": None, "wrong": ""}
    answer = page.ask("run", code="f = lambda x: 3 * x", name="exercise 1.1", check=check)
    assert answer == {"error": None, "wrong": "f(2) is 1.5 times what is expected"}
    error = page.ask("run", code="f = lambda x: [][1]", name="exercise 1.1", check=check)["error"]
    assert error["kind"] == "IndexError" and error["line"] == 1
