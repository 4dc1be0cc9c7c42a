"""Kernels: ``NAME_numba.py`` in loops that Numba compiles, for NumPy's arrays (``backend/compiled``, the extra
``fast``); ``NAME_cuda.py`` and ``NAME.cu`` for CuPy; ``NAME.py`` for NumPy.

A kernel computes what the op of its name does (``minigrad/ops``: its forward, and its rules for the backward pass) in
fewer passes over memory. It is a file, or what a file of several has for its name in ``KERNELS``, with two functions:

    forward(needs, *args)             the op's result, and whatever ``backward`` wants kept; NotImplemented for
                                      arguments that it does not take
    backward(needs, saved, g, *args)  for each argument its gradient, from that of the result; None where it is
                                      not wanted

``args`` are the op's arguments in the order of its forward; ``backward`` gets those that the op's rules name, and None
for all others. What ``needs`` does not ask for is neither computed nor kept. Before a call in bfloat16,
``takes(*arrays)``, which a kernel may have, says whether ``forward`` will take them.

``adam``, ``muon``, ``sgd`` and ``clip_grad_norm`` belong to no op. A file that begins with "_" is what several kernels
share.
"""

from importlib import import_module
from itertools import zip_longest
from typing import Any

from ..dtype import Array

Needs = tuple[bool, ...]  # for each argument of the op, whether its gradient is wanted
Gradients = tuple[Array | None, ...]  # for each argument its gradient, None where it is not wanted


def _by_name(kind: str, **files: str) -> dict[str, str]:
    """The file of each kernel, of a table of the kernels in each file."""
    return {name: file + kind for file, names in files.items() for name in names.split()}


CPU_FILES = _by_name(
    "_numba",
    convolve="convolve convolve_back",
    cross_entropy="cross_entropy linear_cross_entropy",
    dropout="dropout relu_dropout",
    elementwise="exp gelu relu sigmoid silu tanh",
    layer_norm="group_norm layer_norm rms_norm",
    many="adam clip_grad_norm muon sgd",
    recurrent="gru lstm",
    scaled_dot_product_attention="scaled_dot_product_attention",
    scatter_add_rows="scatter_add_rows",
    softmax="log_softmax softmax",
)
CUDA_FILES = _by_name(
    "_cuda",
    cross_entropy="cross_entropy linear_cross_entropy",
    elementwise="dropout gelu relu relu_dropout rotate",
    layer_norm="layer_norm rms_norm",
    many="adam clip_grad_norm muon sgd",
    scaled_dot_product_attention="scaled_dot_product_attention",
    scatter_add_rows="scatter_add_rows",
    softmax="log_softmax softmax",
)
CUDA_FILES["linear"] = "linear"
NUMPY_FILES = {"cross_entropy": "cross_entropy", "linear": "linear"}  # where no loop takes the arguments
NAMES = CPU_FILES.keys() | CUDA_FILES.keys()
FOR_LARGE = frozenset(("exp", "relu", "sigmoid", "silu", "tanh"))  # of few elements NumPy has them as soon
LEAST = 4096  # elements from which on these are tried


def load(name: str, file: str) -> Any:
    """A kernel from its file."""
    module = import_module(f"{__name__}.{file}")
    return getattr(module, "KERNELS", {}).get(name, module)


def wanted(needs: Needs, *gradients: Array | None) -> Gradients:
    """The gradients of the first arguments where they are wanted, and None for the rest."""
    return tuple(g if need else None for g, need in zip_longest(gradients, needs))
