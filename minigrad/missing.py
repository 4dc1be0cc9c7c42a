"""What a package answers to a name that it does not hold.

It may be another spelling of something (the table is ``compat/names.py``). If not, the error says PyTorch's
full name and the nearest that is here. Neither table nor text costs anything until somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class MissingName(AttributeError):
    """A name that is not there. Its text is made when it is read: ``hasattr`` never reads it.

    Args:
        place: the module, as "minigrad.nn", or "minigrad.Tensor".
        name: what was asked of it.
    """

    def __init__(self, place: str, name: str) -> None:
        super().__init__(place, name, name=name)

    def __str__(self) -> str:
        text: str = import_module("minigrad.compat.advice").missing(*self.args)
        return text


def names_of(place: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module: other spellings of names, and MissingName for the rest.

    Args:
        place: the module's ``__name__``.
    """

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise MissingName(place, name)
        return import_module("minigrad.compat.names").find(place, name)

    return __getattr__
