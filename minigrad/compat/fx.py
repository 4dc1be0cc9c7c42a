"""``torch.fx``: programs are not recorded; ``wrap`` is harmless."""

from __future__ import annotations

from typing import TypeVar

from ..missing import names_of
from .refused import Refused

__all__ = ["symbolic_trace", "wrap"]

__getattr__ = names_of(__name__)
T = TypeVar("T")
symbolic_trace = Refused("torch.fx.symbolic_trace", "nothing records a program; change the module itself")


def wrap(fn_or_name: T) -> T:
    """Return the function or its name."""
    return fn_or_name
