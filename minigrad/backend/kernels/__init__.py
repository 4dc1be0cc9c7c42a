"""Kernels: ``NAME_numba.py`` consists of loops over NumPy arrays, compiled by Numba (``backend/compiled``, the ``fast``
extra). ``NAME_cuda.py`` and ``NAME.cu`` are for CuPy, and ``NAME.py`` is for NumPy.

A kernel computes the same as the op of that name in ``minigrad/ops`` (the forward function, and the rules for the
backward pass) in fewer passes over memory. It is a file, or an entry of ``KERNELS`` in a file, with two functions:

    forward(needs, *args)             the op's result and values for ``backward``, or NotImplemented if unsupported
    backward(needs, saved, g, *args)  for each argument its gradient, or None where it is not needed

``args`` are the op's arguments in the order of its forward function. ``backward`` gets the arguments that the op's
rules name, and None for all others. Kernels compute and save only the values that ``needs`` requires. A kernel may
have a function ``takes(*arrays)``, which says before a call in bfloat16 whether ``forward`` supports these arrays.
``adam``, ``muon``, ``sgd`` and ``clip_grad_norm`` do not belong to an op. Kernels share the files named "_...".
"""

from importlib import import_module
from itertools import zip_longest
from typing import Any

from ..dtype import Array

Needs = tuple[bool, ...]  # for each argument of the op, whether its gradient is needed
Gradients = tuple[Array | None, ...]  # for each argument, its gradient, or None where it is not needed


def _by_name(kind: str, **files: str) -> dict[str, str]:
    """A dict with the file of each kernel, from a table of the kernels in each file."""
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
NUMPY_FILES = {"cross_entropy": "cross_entropy", "linear": "linear"}  # used if no loop supports the arguments
NAMES = CPU_FILES.keys() | CUDA_FILES.keys()
FOR_LARGE = frozenset(("exp", "relu", "sigmoid", "silu", "tanh"))  # NumPy is as fast for few elements
LEAST = 4096  # the smallest number of elements for which these are tried


def load(name: str, file: str) -> Any:
    """Load a kernel from its file."""
    module = import_module(f"{__name__}.{file}")
    return getattr(module, "KERNELS", {}).get(name, module)


def wanted(needs: Needs, *gradients: Array | None) -> Gradients:
    """The gradients of the first arguments where they are needed, and None for the rest."""
    return tuple(g if need else None for g, need in zip_longest(gradients, needs))
