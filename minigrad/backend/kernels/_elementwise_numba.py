"""What the kernels of functions of one array share: a loop for the result, and one for the gradient.

Small arrays are left to NumPy, whose functions are called sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiled.loops import FLOAT32, Loop, grain, in_memory_order, laid
from ..dtype import Array
from . import LEAST, Gradients, Needs

Forward = Callable[[Needs, Array], tuple[Array, Array | None]]
Backward = Callable[[Needs, Array | None, Array, Array | None], Gradients]


def elementwise(function: Loop, gradient: Loop, from_result: bool) -> tuple[Forward, Backward]:
    """A kernel's forward and backward.

    Args:
        function: a loop of x and y.
        gradient: a loop of g, of y or x, and of dx.
        from_result: whether ``gradient`` takes y, which is what the op's rule names then.
    """

    @in_memory_order
    def forward(needs: Needs, x: Array) -> Any:
        if type(x) is not np.ndarray or x.size < LEAST or x.dtype != FLOAT32:
            return NotImplemented
        x, y = laid(x), np.empty(x.shape, FLOAT32)
        function(x.size, grain(x.size, 8), x, y)
        return y, y if from_result else None

    def backward(needs: Needs, y: Array | None, g: Array, x: Array | None) -> Gradients:
        of: Any = y if x is None else x
        g, of, dx = laid(g), laid(of), np.empty(g.shape, FLOAT32)
        gradient(g.size, grain(g.size, 12), g, of, dx)
        return (dx,)

    return forward, backward
