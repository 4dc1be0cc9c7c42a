"""The base class of Tensor's methods: ``names.py`` puts them into ``Methods``, which imports none of the functions.

Type checkers read ``methods.pyi``, which ``python tasks.py index`` writes.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from .views import Viewing

Tensor = TypeVar("Tensor")


class Methods(Viewing, Generic[Tensor]):
    """The methods of a Tensor that are functions of ``minigrad``, operators, or in-place versions."""
