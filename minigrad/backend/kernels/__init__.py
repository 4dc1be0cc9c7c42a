"""Kernels, a file each: ``NAME_numba.py`` in loops that Numba compiles, on NumPy's arrays (``backend/compiled``, the
extra ``fast``); ``NAME_cuda.py`` and ``NAME.cu`` for CuPy; ``NAME.py`` for NumPy, where the op's definition would take
much more time or memory.

A kernel computes what the op of its name does (``minigrad/ops``: its forward, and its rules for the backward pass) in
fewer passes over memory. It is found by its file's name, and is a ``Kernel``. ``adam``, ``muon``, ``sgd``,
``clip_grad_norm`` and ``keep_mask`` belong to no op. A file that begins with "_" is what several kernels
share; functions of one array share ``elementwise_numba.py``.
"""

import os
from itertools import zip_longest
from typing import Any, Protocol

from ..dtype import Array

Needs = tuple[bool, ...]  # for each argument of the op, whether its gradient is wanted
Gradients = tuple[Array | None, ...]  # for each argument its gradient, None where it is not wanted

_STEMS = [
    n.removesuffix(".py") for n in os.listdir(os.path.dirname(__file__)) if n.endswith(".py") and n != "__init__.py"
]
COMPILED_FILES = frozenset(stem for stem in _STEMS if stem.endswith("_numba"))
CUDA_FILES = {stem.removesuffix("_cuda"): stem for stem in _STEMS if stem.endswith("_cuda")}
CUDA_FILES |= {"relu": "relu_dropout_cuda", "rnn": "rnn"}  # CuPy runs the latter as it is
COMPILED_OF_EACH = dict.fromkeys(("exp", "gelu", "relu", "sigmoid", "silu", "tanh"), "elementwise_numba")
COMPILED = {stem.removesuffix("_numba"): stem for stem in COMPILED_FILES if stem[0] != "_"} | COMPILED_OF_EACH
del COMPILED["elementwise"]
NUMPY_NAMES = frozenset(stem for stem in _STEMS if not stem.endswith(("_cuda", "_numba")) and stem[0] != "_")
NAMES = NUMPY_NAMES | COMPILED.keys() | CUDA_FILES.keys()
FOR_LARGE = COMPILED_OF_EACH.keys() - {"gelu"}  # of few elements NumPy has them as soon
LEAST = 4096  # elements from which on these are tried


class Kernel(Protocol):
    """A fused forward and its gradient: a module of this folder satisfies it.

    ``args`` are the op's arguments, arrays and attributes, in the order of its forward; ``backward`` gets those that
    the op's rules name, and None for all others. What ``needs`` does not ask for is neither computed nor kept.
    Before a call in bfloat16, ``takes(*arrays)``, which a kernel may have, says whether ``forward`` will take them.
    """

    def forward(self, needs: Needs, *args: Any) -> tuple[Any, Any]:
        """The op's result, and whatever ``backward`` wants kept; NotImplemented for arguments that it does not take."""

    def backward(self, needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
        """The gradients from that of the result, ``g``."""


def wanted(needs: Needs, *gradients: Array | None) -> Gradients:
    """The gradients of the first arguments where they are wanted, and None for the rest."""
    return tuple(g if need else None for g, need in zip_longest(gradients, needs))
