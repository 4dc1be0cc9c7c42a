"""Compute graphs: recorded, described, folded and drawn."""

from .dot import make_dot
from .graph_view import GraphView, graph

__all__ = ["GraphView", "graph", "make_dot"]
