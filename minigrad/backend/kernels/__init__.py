"""Kernels, a file each: ``NAME.py`` for NumPy; ``NAME_cuda.py`` and ``NAME.cu`` for CuPy.

A kernel computes what the op of its name does (``minigrad/ops``: its forward, and its rules for the backward pass) in
fewer passes over memory. It is found by its file's name, and is a ``Kernel``. ``adam`` and ``keep_mask`` belong to no
op. A file that begins with "_" is what several kernels share.
"""

import os
from itertools import zip_longest
from typing import Any, Protocol

from ..dtype import Array

Needs = tuple[bool, ...]  # for each argument of the op, whether its gradient is wanted
Gradients = tuple[Array | None, ...]  # for each argument its gradient, None where it is not wanted

_FILES = [name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py") and name[0] != "_"]
CUDA_NAMES = frozenset(name.removesuffix("_cuda.py") for name in _FILES if name.endswith("_cuda.py"))
NAMES = frozenset(name.removesuffix(".py") for name in _FILES if not name.endswith("_cuda.py"))


class Kernel(Protocol):
    """A fused forward and its gradient: a module of this folder satisfies it.

    ``args`` are the op's arguments, arrays and attributes, in the order of its forward; ``backward`` gets those that
    the op's rules name, and None for all others. What ``needs`` does not ask for is neither computed nor kept.
    """

    def forward(self, needs: Needs, *args: Any) -> tuple[Any, Any]:
        """The op's result, and whatever ``backward`` wants kept."""

    def backward(self, needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
        """The gradients from that of the result, ``g``."""


def wanted(needs: Needs, *gradients: Array | None) -> Gradients:
    """The gradients of the first arguments where they are wanted, and None for the rest."""
    return tuple(g if need else None for g, need in zip_longest(gradients, needs))
