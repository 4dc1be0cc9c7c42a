"""The base class with Tensor's methods. ``names.py`` adds them to ``Methods``, so this file imports no functions.

Type checkers read ``methods.pyi``, which ``python tasks.py index`` writes.
"""

from typing import Generic, TypeVar

from .views import Viewing

Tensor = TypeVar("Tensor")


class Methods(Viewing, Generic[Tensor]):
    """The Tensor methods that are ``minigrad`` functions, operators, or in-place versions of functions."""
