"""Compute graphs: recorded, described, folded and drawn."""

from .view import GraphView, graph

__all__ = ["GraphView", "graph"]
