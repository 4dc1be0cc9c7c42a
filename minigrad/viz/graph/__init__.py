"""Compute graphs: recorded, described, folded and drawn."""

from .graph_view import GraphView, graph

__all__ = ["GraphView", "graph"]
