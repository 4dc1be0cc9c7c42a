"""Every op of the engine, clicked on in the page: its rules' sources and its numbers (bar 3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad.viz.graph.data import Graph, ModuleInfo, Node, Saved, Value
from minigrad.viz.graph.view import graph as view
from tests.ops.cases import find
from tests.support.recorded import DIFFERENTIABLE, OTHERWISE, recorded

PARTS = 6  # pages: a large one takes longer to draw after each click
# Shows a node's box, clicks on it, reads the panel, and closes what was opened.
CLICK = """(ids) => ids.map((id) => {
  graphView.reveal(`n${id}`);
  graphView.unselect();
  document.getElementById(`box-n${id}`).dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const all = (selector) => [...document.querySelectorAll(`#panel ${selector}`)];
  const section = (title) => all("section").find((each) => each.querySelector("h3")?.textContent === title);
  const numbers = (title) => [...section(title)?.querySelectorAll("td") ?? []].map((cell) => cell.title);
  const read = {
    title: all("h2")[0].textContent, formula: all(".formula")[0]?.textContent,
    places: all(".rule p").map((each) => each.textContent),
    sources: all(".rule pre").map((each) => each.textContent),
    value: numbers("Value"), gradients: numbers("Inputs"),
  };
  document.getElementById("fold").click();
  return read;
})"""


def together(graphs: dict[str, Graph]) -> Graph:
    """Graphs side by side, each in a module that is called as its key."""
    made = Graph("every op", [], [], {"": ModuleInfo("", "")}, {}, 0, "done")
    for name, graph in graphs.items():
        first = len(made.nodes)

        def saved(each: Saved, first: int = first) -> Saved:
            return replace(each, node=None if each.node is None else each.node + first)

        made.nodes += [
            replace(node, id=node.id + first, module=name, saved=[saved(s) for s in node.saved]) for node in graph.nodes
        ]
        made.edges += [replace(edge, source=edge.source + first, target=edge.target + first) for edge in graph.edges]
        made.modules[name] = ModuleInfo(name, "Case")
        made.ops.update(graph.ops)
        made.output = graph.output + first
    return made


def cells(value: Value) -> list[float]:
    """The numbers of a table, row by row."""
    return [x for row in value.table or [] for x in row]


@pytest.mark.parametrize("part", range(PARTS))
def test_clicking_shows_rules_and_numbers(part: int, open_file: Any, tmp_path: Path) -> None:
    ops = [op for op in DIFFERENTIABLE if op != "moved"][part::PARTS]  # a move needs another device
    cases = {op: next(case for case in find(op) if str(case) not in OTHERWISE) for op in ops}
    graph = together({op: recorded(case, "cpu") for op, case in cases.items()})
    shown: dict[str, Node] = {}
    for node in graph.nodes:
        if node.op == node.module:
            shown.setdefault(node.op, node)
    assert list(shown) == ops
    page = open_file(view(graph).save(tmp_path / "ops.html"))
    page.wait_for_selector("[data-state=done]")
    panels = page.evaluate(CLICK, [node.id for node in shown.values()])
    for op, node, panel in zip(ops, shown.values(), panels, strict=True):
        info = graph.ops[op]
        assert panel["title"] == node.name
        assert panel["formula"] == info.formula.replace("``", "")
        for source in info.rules.values():
            assert source.text in panel["sources"], op
            assert any(f"{source.file}:{source.line}" in place for place in panel["places"]), op
        if node.value and node.value.table:
            np.testing.assert_array_equal(list(map(float, panel["value"])), cells(node.value), op)
        passed = [edge.gradient for edge in graph.edges if edge.target == node.id and edge.gradient]
        if all(value.table is not None for value in passed):
            numbers = [x for value in passed for x in cells(value)]
            np.testing.assert_array_equal(list(map(float, panel["gradients"])), numbers, op)
