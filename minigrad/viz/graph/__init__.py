"""Compute graphs: recorded, described, folded and drawn."""

from .graph_view import GraphView, graph, make_dot

__all__ = ["GraphView", "graph", "make_dot"]
