"""Modules that are loaded when a name of theirs is first asked for: what few programs need makes no import slower.

if TYPE_CHECKING:
    from .ops import scattering
else:
    scattering = Deferred("minigrad.ops.scattering")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """Stands for the module of that full name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
