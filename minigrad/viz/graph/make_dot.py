"""torchviz's function, for those who come from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...autograd.tape import Variable
from .dot import Dot, library
from .fold import SEPARATOR, key_of, tree
from .graph_record import built, with_gradients
from .observe import place_in


def make_dot(
    var: Variable, params: Mapping[str, Variable] | None = None, show_attrs: bool = False, show_saved: bool = False
) -> Any:
    """The whole graph of a tensor as a ``graphviz.Digraph``, by the arguments of torchviz's function.

        viz.make_dot(loss, dict(model.named_parameters())).render("loss", format="pdf")

    Args:
        var: a result of recorded ops. params: names of tensors; other tensors keep the program's names.
        show_attrs: boxes show the arguments of ops that are not tensors. show_saved: boxes show what is kept for
            the backward pass.

    Raises TypeError: not a tensor. RuntimeError: no op was recorded. ImportError: Graphviz is missing.
    """
    graphviz = library()
    if not isinstance(var, Variable):
        raise TypeError(f"make_dot takes a tensor, not {type(var).__name__}: viz.graph(function, inputs) draws a call")
    nodes = built("make_dot", var, (), {}, None)
    graph = with_gradients(nodes, run=False)
    for name, tensor in (params or {}).items():
        if (number := place_in(nodes.number, tensor)) is not None:
            graph.nodes[number].name = name
    dot = Dot(graph, tree(graph, repeats=False, budget=len(graph.nodes), depth=len(graph.nodes)), "forward")
    for node in graph.nodes:
        details = [f"{name} = {value}" for name, value in node.attributes.items()] if show_attrs else []
        if show_saved and node.saved:
            details.append(f"keeps {', '.join(saved.name for saved in node.saved)}")
        label = dot.labels[key := key_of(("node", node.id))]
        always, forward, backward = (SEPARATOR.join(filter(None, [text, *details])) for text in label.below)
        dot.labels[key] = replace(label, below=(always, forward, backward))
    return graphviz.Digraph(graph.title, body=dot.source().splitlines(keepends=True)[1:-1])
