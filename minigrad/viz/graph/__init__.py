"""Compute graphs: recorded, described, folded and drawn."""

from .torchviz import make_dot
from .view import GraphView, graph

__all__ = ["GraphView", "graph", "make_dot"]
