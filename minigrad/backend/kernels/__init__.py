"""Fused kernels, a file each: ``NAME.py`` for NumPy; ``NAME_cuda.py`` and ``NAME.cu`` for CuPy.

Each takes the arguments of the op of the same name, whose plain definition in ``minigrad/ops`` says what it
computes. ``forward(needs, *args) -> (result, saved)``; ``backward(needs, saved, g, *args) -> gradients``.
"""
