"""Where a Tensor's methods come from: ``names.py`` puts them into ``Methods``, which lies below all functions.

Type checkers read ``methods.pyi``, which ``python tasks.py index`` writes.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from .views import Viewing

Tensor = TypeVar("Tensor")


class Methods(Viewing, Generic[Tensor]):
    """The methods of a Tensor that are functions of ``minigrad``, operators, or change it in place."""
