"""Probes of streams that are captured, and of cuBLAS by ctypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .capture import captured
from .cublas import TYPES, products
from .place import NeedsGpu, Place


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The probes by name."""
    kinds = {f"cuBLAS by ctypes in {name}": partial(multiplied, place, name) for name in (*TYPES, "TF32")}
    return {
        **kinds,
        "a captured sum": partial(a_sum, place),
        "a captured kernel": partial(a_kernel, place),
        "a captured product by ctypes": partial(a_product, place),
        "a captured product by CuPy": partial(refused, place),
    }


def _matrix(place: Place, *shape: int, dtype: str = "float32") -> Any:
    return place.array(np.random.default_rng(0).standard_normal(shape).astype(dtype))


def _close(actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(actual.get(), expected.get(), rtol=tolerance, atol=tolerance)


def multiplied(place: Place, precision: str) -> None:
    """Products of arrays in both orders agree with those of NumPy. Raises AssertionError: they do not."""
    dtype = {"bfloat16": "uint16", "TF32": "float32"}.get(precision, precision)
    if dtype == "uint16" and place.rehearsal:
        raise NeedsGpu("a product in bfloat16")
    multiply = products(place).matmul
    host = [
        np.random.default_rng(i).integers(-4, 5, shape).astype("float32") for i, shape in enumerate(((6, 8), (8, 4)))
    ]
    expected = host[0] @ host[1]  # of small whole numbers, which all precisions hold
    for order in ("plain", "transposed"):
        a, b = (place.array(np.ascontiguousarray(x if order == "plain" else x.T)) for x in host)
        a, b = (_as(x, dtype) for x in (a, b))
        out = place.xp().empty((6, 4), dtype)
        multiply(a if order == "plain" else a.T, b if order == "plain" else b.T, out, precision)
        wide = (out.astype("uint32") << 16).view("float32") if dtype == "uint16" else out
        np.testing.assert_array_equal(wide.get(), expected)


def _as(x: Any, dtype: str) -> Any:
    return (x.view("uint32") >> 16).astype("uint16") if dtype == "uint16" else x.astype(dtype)


def a_sum(place: Place) -> None:
    """A graph of array functions does the work when it is launched, each time."""
    x, total = _matrix(place, 4, 5), place.xp().zeros((4, 5), "float32")
    _launched(place, lambda: total.__iadd__(x * 2 + 1), total, times=2)
    _close(total, 2 * (x * 2 + 1))


def a_kernel(place: Place) -> None:
    """A kernel of the library in a graph."""
    softmax, x = place.kernel("softmax"), _matrix(place, 5, 70)
    out = place.xp().zeros((5, 70), "float32")

    def step() -> None:
        out[...] = softmax.forward((False, False), x, -1)[0]

    _launched(place, step, out)
    _close(out, softmax.forward((False, False), x, -1)[0])


def a_product(place: Place) -> None:
    """cuBLAS by ctypes in a graph."""
    multiply, a, b = products(place).matmul, _matrix(place, 6, 8), _matrix(place, 8, 4)
    out = place.xp().zeros((6, 4), "float32")
    _launched(place, lambda: multiply(a, b, out), out)
    _close(out, a @ b)


def _launched(place: Place, step: Callable[[], Any], out: Any, times: int = 1) -> None:
    """Capture a step, which fills ``out``, set that to 0, and launch the graph."""
    graph = captured(place, step)
    out.fill(0)
    place.synchronize()
    for _ in range(times):
        graph.launch()
    place.synchronize()


def refused(place: Place) -> dict[str, str]:
    """Whether CuPy's own product may be captured: CuPy 14 refuses."""
    if place.rehearsal:
        raise NeedsGpu("CuPy's answer to a product in a captured stream")
    a, b = _matrix(place, 6, 8), _matrix(place, 8, 4)
    out = place.xp().zeros((6, 4), "float32")

    def step() -> None:
        out[...] = a @ b

    try:
        captured(place, step)
    except NotImplementedError as error:
        return {"CuPy's product in a captured stream": f"refused: {error}"}
    return {"CuPy's product in a captured stream": "captured"}
