"""``viz.make_dot``, for programs that call torchviz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...autograd.tape import Variable
from .dot import Dot, library
from .fold import tree
from .graph_record import recorded
from .labels import shortened


def make_dot(
    var: Variable, params: Mapping[str, Variable] | None = None, show_attrs: bool = False, show_saved: bool = False
) -> Any:
    """The whole graph of a tensor as a ``graphviz.Digraph``, by the arguments of torchviz's function.

        viz.make_dot(loss, dict(model.named_parameters())).render("loss", format="pdf")

    Args:
        var: a result of recorded ops. params: names of tensors; others are called as the program calls them.
        show_attrs: whether boxes tell the arguments of ops that are no tensors. show_saved: whether they tell what is
            kept for backward.

    Raises:
        TypeError: no tensor. RuntimeError: no op was recorded. ImportError: Graphviz is missing.
    """
    graphviz = library()
    if not isinstance(var, Variable):
        raise TypeError(f"make_dot takes a tensor, not {type(var).__name__}: viz.graph(function, inputs) draws a call")
    graph, nodes = recorded(var, (), {}, False, None)
    for name, tensor in (params or {}).items():
        if (number := nodes.place(tensor)) is not None:
            graph.nodes[number].name = name
    whole = tree(graph, repeats=False, budget=len(graph.nodes), depth=len(graph.nodes))
    dot = _Details(graph, whole, "forward")
    dot.attributes, dot.saved = show_attrs, show_saved
    lines = dot.source().splitlines(keepends=True)
    return graphviz.Digraph(graph.title, body=lines[1:-1])


class _Details(Dot):
    """Boxes that tell more of their node."""

    attributes = saved = False

    def below(self, key: str) -> list[str]:
        """The lines below the first one."""
        node = self.graph.nodes[int(key[1:])]
        more = (
            [shortened(f"{name} = {value}", 50) for name, value in node.attributes.items()] if self.attributes else []
        )
        kept = ", ".join(saved.name for saved in node.saved) if self.saved else ""
        return [*super().below(key), *more, *([f"keeps {kept}"] if kept else [])]
