"""Checks for the tests of compiled kernels: a kernel in float32 against the op's forward and rules in float64.

The reference is the op itself, as for NumPy's kernels (``plain_checks.py``): no tolerance hides a wrong formula, as
float32's own rounding is four orders of magnitude smaller.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from minigrad.backend import Device, for_device, kernels
from minigrad.backend.compiled import store

from . import plain_checks
from .plain_checks import on_threads, plain, strided, transposed

needs_numba = pytest.mark.skipif(store.library() is None, reason="Numba (the extra fast) is not installed")
TOLERANCE = 2e-5  # relative to the largest number


def kernel(name: str) -> Any:
    """The compiled kernel with this name."""
    candidates = for_device(Device("cpu")).kernels(name)
    assert len(candidates) == (name in kernels.CPU_FILES) + (name in kernels.NUMPY_FILES)
    return candidates[0]


def single(value: Any) -> Any:
    """float64 as float32; anything else unchanged."""
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype == np.float64 else value


def run(name: str, args: Sequence[Any], differentiable: Sequence[int], g: Any = None) -> tuple[Any, dict[int, Any]]:
    """The kernel's result and gradients in float32. It must not change its inputs."""
    needs = tuple(i in differentiable for i in range(len(args)))
    out, derivatives = plain_checks.run(name, [single(a) for a in args], needs, single(g), kernel(name))
    assert all(derivative is None for i, derivative in enumerate(derivatives) if not needs[i]), "too much"
    return out, {} if g is None else {i: derivatives[i] for i in differentiable}


def close(actual: Any, expected: Any, what: str, tolerance: float = TOLERANCE) -> None:
    """Assert equality up to float32's rounding, including NaN and infinities."""
    plain_checks.close(actual, expected, np.float32, what, tolerance)


def check(name: str, *args: Any, differentiable: Sequence[int] = (), tolerance: float = TOLERANCE) -> None:
    """Check result and gradients, with contiguous, transposed and strided inputs.

    Args:
        args: the op's arguments, in float64.
    """
    expected, derivatives, g = plain(name, list(args), differentiable)
    for lay in (np.ascontiguousarray, transposed, strided):
        inputs = [lay(a) if isinstance(a, np.ndarray) and a.ndim else a for a in args]
        out, gradients = run(name, inputs, differentiable, lay(g) if np.ndim(g) else g)
        close(np.asarray(out), np.asarray(expected), f"{name}, {lay.__name__}", tolerance)
        for i in differentiable:
            close(gradients[i], derivatives[i], f"{name}, {lay.__name__}, gradient of argument {i}", tolerance)


def same_bits(name: str, *args: Any, differentiable: Sequence[int] = ()) -> None:
    """Assert that result and gradients do not depend on the number of threads."""
    g = plain(name, list(args), differentiable)[2]

    def compute() -> list[Any]:
        out, derivatives = run(name, args, differentiable, g)
        return [out, *derivatives.values()]

    on_threads(compute)
