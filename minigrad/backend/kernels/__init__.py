"""Kernels: ``NAME_numba.py`` in loops that Numba compiles, for NumPy's arrays (``backend/compiled``, the extra
``fast``); ``NAME_cuda.py`` and ``NAME.cu`` for CuPy; ``rnn.py`` for both.

A kernel computes what the op of its name does (``minigrad/ops``: its forward, and its rules for the backward pass) in
fewer passes over memory. It is found by its file's name, and is a ``Kernel``; a file of several has a table of them.
``adam``, ``muon``, ``sgd``, ``clip_grad_norm`` and ``keep_mask`` belong to no op. A file that begins with "_" is what
several kernels share.
"""

import os
from importlib import import_module
from itertools import zip_longest
from typing import Any, Protocol

from ..dtype import Array

Needs = tuple[bool, ...]  # for each argument of the op, whether its gradient is wanted
Gradients = tuple[Array | None, ...]  # for each argument its gradient, None where it is not wanted

_NAMES = [name.removesuffix(".py") for name in os.listdir(os.path.dirname(__file__)) if name[0] != "_"]
_OTHERS = {"convolve_back": "convolve", "log_softmax": "softmax", "relu_dropout": "dropout", "rms_norm": "layer_norm"}


def _files(kind: str, others: dict[str, str]) -> dict[str, str]:
    """The file of each kernel of a kind; ``others`` have none of their own name."""
    files = {name.removesuffix(kind): name for name in _NAMES if name.endswith(kind)}
    return files | {name: files[of] for name, of in others.items() if of in files} | {"rnn": "rnn"}


FOR_LARGE = frozenset(("exp", "relu", "sigmoid", "silu", "tanh"))  # of few elements NumPy has them as soon
LEAST = 4096  # elements from which on these are tried
CPU_FILES = _files("_numba", _OTHERS | dict.fromkeys((*FOR_LARGE, "gelu"), "elementwise"))
del CPU_FILES["elementwise"]
CUDA_FILES = _files("_cuda", _OTHERS | {"relu": "dropout"})
NAMES = CPU_FILES.keys() | CUDA_FILES.keys()


def load(name: str, file: str) -> Any:
    """A kernel from its file."""
    module = import_module(f"{__name__}.{file}")
    return getattr(module, "KERNELS", {}).get(name, module)


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
