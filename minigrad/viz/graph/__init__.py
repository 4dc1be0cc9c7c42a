"""Compute graphs: recorded, told, folded and drawn."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .view import GraphView as GraphView
    from .view import graph as graph


def __getattr__(name: str) -> Any:
    """``graph`` and ``GraphView``, when they are asked for: others of viz need the data alone."""
    if name not in ("graph", "GraphView"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import view

    return getattr(view, name)
