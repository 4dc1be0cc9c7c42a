"""Kernels, a file each: ``NAME.py`` for NumPy; ``NAME_cuda.py`` and ``NAME.cu`` for CuPy.

A kernel computes what the op of its name does (``minigrad/ops``: its forward, and its rules for the backward pass) in
fewer passes over memory. It is found by its file's name. ``forward(needs, *args) -> (result, residual)`` takes the
op's arguments; ``backward(needs, residual, g, *args) -> gradients`` gets those that the op's rules name, and None for
all others. ``adam`` and ``keep_mask`` belong to no op. A file that begins with "_" is what several kernels share.
"""

import os

_FILES = [name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py") and name[0] != "_"]
CUDA_NAMES = frozenset(name.removesuffix("_cuda.py") for name in _FILES if name.endswith("_cuda.py"))
NAMES = frozenset(name.removesuffix(".py") for name in _FILES if not name.endswith("_cuda.py"))
