"""Modules that are loaded on first use, so that rarely needed code does not slow down imports.

if TYPE_CHECKING:
    from .ops import scattering
else:
    scattering = Deferred("minigrad.ops.scattering")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """A placeholder for the module with the full name ``name``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
