"""``viz.linked``: the attention and the compute graph of one call on one page, linked to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn.module import Module
from .attention import AttentionView, attention
from .attention.attention_data import Tokens
from .attention.attention_record import in_evaluation
from .graph.graph_view import GraphView, graph
from .page import Page
from .vector import beside
from .view import Picture


class Linked(Picture):
    """A page with attention (of a single text, or of each hypothesis in a beam) and graphs. Raises ValueError unless
    there is one graph for all texts, or one for each. The path of a module links an attention layer to the op that
    computed its weights, so the attention and the graphs must come from the same model."""

    def __init__(self, attention: AttentionView, graphs: Sequence[GraphView]) -> None:
        texts = max(len(attention.beam), 1)
        if len(graphs) not in (1, texts):
            raise ValueError(
                f"got {len(graphs)} graphs for the attention of {texts} texts: pass one graph, or one for each text"
            )
        self.attention, self.graphs = attention, tuple(graphs)

    def __repr__(self) -> str:
        return f"<{self.attention!r}, linked to {len(self.graphs)} × {self.graphs[0]!r}; .save('x.html')>"

    def page(self) -> Page:
        frames = (self.attention.page(), *(view.page() for view in self.graphs))
        title = self.attention.title
        return Page.of("linked", title, {"title": title}, frames=frames)

    def svg(self, *args: Any, **look: Any) -> str:
        """Draw the attention and graph of the first text. See ``AttentionView.svg`` for arguments and errors."""
        return beside(self.attention.title, self.attention.svg(*args, **look), self.graphs[0].svg())


def linked(model: Module, *inputs: Any, tokens: Tokens = None, title: str = "", **kwargs: Any) -> Linked:
    """Show a model's attention, and the compute graph of the same call, on one page.

        viz.linked(model, source, target, tokens=(source_tokens, target_tokens)).save("translator.html")

    The model is called twice in evaluation mode, and its state is restored. See ``viz.attention`` for ``tokens``. By
    default, the ``title`` contains the model's class name.

    Raises TypeError for a model or tokens of a wrong type, ValueError if there is no attention or tokens do not match.
    """
    if not isinstance(model, Module):
        kind = type(model).__name__
        raise TypeError(f"linked takes a module, not {kind}: its submodules link the attention to the graph")
    title = title or f"Attention and graph of {type(model).__name__}"
    view = attention(model, *inputs, tokens=tokens, title=title, **kwargs)
    with in_evaluation(model):
        return Linked(view, (graph(model, *inputs, **kwargs),))
