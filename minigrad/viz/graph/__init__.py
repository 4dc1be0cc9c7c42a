"""Compute graphs: recording, describing, folding and drawing them."""

from .graph_view import GraphView, graph, make_dot

__all__ = ["GraphView", "graph", "make_dot"]
