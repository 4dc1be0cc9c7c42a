"""``torch.fx``: programs are not recorded; ``wrap`` is harmless."""

from __future__ import annotations

from typing import TypeVar

from .refused import Refused, refused_class

__all__ = ["Graph", "GraphModule", "Node", "Proxy", "Tracer", "symbolic_trace", "wrap"]

T = TypeVar("T")
_ADVICE = "nothing records a program; change the module itself"
symbolic_trace = Refused("torch.fx.symbolic_trace", _ADVICE)
Graph, GraphModule, Node, Proxy, Tracer = (
    refused_class(f"torch.fx.{name}", _ADVICE) for name in ("Graph", "GraphModule", "Node", "Proxy", "Tracer")
)


def wrap(fn_or_name: T) -> T:
    """Return the function or its name."""
    return fn_or_name
