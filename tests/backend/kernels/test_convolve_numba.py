"""The compiled convolution, and the transposed one, against their plain definitions."""

from typing import Any

import numpy as np
import pytest

from minigrad.backend.kernels import convolve_numba
from minigrad.backend.window import Window
from minigrad.compat.ops.registry import REGISTRY
from tests.support.cases import cases
from tests.support.compiled_checks import check, close, kernel, needs_numba, run
from tests.support.plain_checks import normal, on_threads

pytestmark = needs_numba
ONE, NONE = (1, 1), ((0, 0), (0, 0))
# lengths of x, window, groups
PLANES: list[tuple[tuple[int, ...], Window, int]] = [
    ((5, 6), Window((3, 3), ONE, ((1, 1), (1, 1)), ONE), 1),
    ((5, 6), Window((3, 3), ONE, ((1, 1), (1, 1)), ONE), 2),
    ((4, 9), Window((1, 1), ONE, NONE, ONE), 2),  # nothing to unroll
    ((4, 9), Window((1, 1), ONE, ((0, 1), (0, 0)), ONE), 1),
    ((7, 8), Window((3, 2), (2, 3), ((1, 0), (2, 1)), ONE), 1),
    ((9, 7), Window((3, 3), (1, 2), ((2, 2), (0, 3)), (2, 3)), 2),
    ((1, 3), Window((3, 5), ONE, ((2, 2), (4, 4)), ONE), 4),  # more padding than elements; one channel per group
    ((2, 1), Window((2, 2), (5, 5), ((4, 4), (9, 9)), ONE), 1),  # windows that contain only padding
    ((17,), Window((4,), (3,), ((2, 0),), (2,)), 2),
    ((64,), Window((1,), (1,), ((0, 0),), (1,)), 1),
]


def arguments(lengths: tuple[int, ...], window: Window, groups: int, n: int = 3) -> tuple[Any, Any, Any]:
    return normal(n, 4, *lengths), normal(8, 4 // groups, *window.kernel, seed=1), normal(8, seed=2)


@pytest.fixture(params=[convolve_numba.SPACE, 1])
def space(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one block, and one row of positions at a time."""
    monkeypatch.setattr(convolve_numba, "SPACE", request.param)


@pytest.mark.usefixtures("space")
@cases("bias", [True, False])
@cases("lengths, window, groups", PLANES)
def test_convolve(lengths: tuple[int, ...], window: Window, groups: int, bias: bool) -> None:
    x, weight, shift = arguments(lengths, window, groups)
    check("convolve", x, weight, shift if bias else None, window, groups, differentiable=(0, 1, 2) if bias else (0, 1))
    check("convolve", x, weight, shift if bias else None, window, groups, differentiable=(1,))


@pytest.mark.usefixtures("space")
@cases("lengths, window, groups", PLANES)
def test_convolve_back(lengths: tuple[int, ...], window: Window, groups: int) -> None:
    _, weight, _ = arguments(lengths, window, groups)
    y = normal(3, 8, *window.places(lengths))
    check("convolve_back", y, weight, window, groups, lengths, differentiable=(0, 1))
    check("convolve_back", y, weight, window, groups, lengths, differentiable=(0,))


def test_more_channels_and_images_than_a_block() -> None:
    window = Window((3, 3), ONE, ((1, 1), (1, 1)), ONE)
    x, weight = normal(9, 37, 8, 17), normal(3, 37, 3, 3, seed=1)
    check("convolve", x, weight, None, window, 1, differentiable=(0, 1))
    check("convolve", x[:, :1], weight[:, :1], None, window, 1, differentiable=(0, 1))


def test_infinities_and_nan_stay_where_they_are() -> None:
    window = Window((3, 3), ONE, ((1, 1), (1, 1)), ONE)
    x, weight = normal(2, 2, 6, 7), abs(normal(3, 2, 3, 3, seed=1))
    x[0, 0, 0, 0], x[0, 1, 5, 6], x[1, 1, 2, 2] = np.inf, np.nan, -np.inf
    out, _ = run("convolve", [x, weight, None, window, 1], ())
    close(out, REGISTRY["convolve"].forward(x, weight, None, window, 1), "convolve")


def test_any_number_of_threads_gives_the_same_bits() -> None:
    window = Window((3, 3), (2, 1), ((1, 1), (1, 1)), ONE)
    x, weight, bias, g = normal(5, 3, 30, 20), normal(7, 3, 3, 3, seed=1), normal(7, seed=2), normal(5, 7, 15, 20)

    def compute() -> list[Any]:
        out, derivatives = run("convolve", [x, weight, bias, window, 1], (0, 1, 2), g)
        return [out, *derivatives.values()]

    on_threads(compute)


def test_inputs_for_numpys_kernel() -> None:
    """Other dtypes, three axes, no images."""
    flat = Window((1, 1), ONE, NONE, ONE)
    x, weight = np.ones((2, 4, 3, 3), np.float32), np.ones((8, 4, 1, 1), np.float32)
    deep = Window((1, 1, 1), (1, 1, 1), ((0, 0),) * 3, (1, 1, 1))
    none = (False,) * 5
    forward = kernel("convolve").forward
    assert forward(none, x, weight, None, flat, 1) is not NotImplemented
    assert forward(none, x.astype(np.float64), weight.astype(np.float64), None, flat, 1) is NotImplemented
    assert forward(none, x[:0], weight, None, flat, 1) is NotImplemented
    assert forward(none, x[..., None], weight[..., None], None, deep, 1) is NotImplemented
