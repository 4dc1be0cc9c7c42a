"""The compiled resampling of an axis against its plain definition."""

import numpy as np

from minigrad.backend.window import Taps
from minigrad.compat.ops.registry import REGISTRY
from tests.support.cases import cases
from tests.support.compiled_checks import check, close, kernel, needs_numba, run, same_bits
from tests.support.plain_checks import normal

pytestmark = needs_numba
SHAPES = [(1, 1, 1), (2, 3, 1), (1, 8, 17), (3, 17, 8), (64, 1, 100), (5, 100, 3)]


def drawn(old: int, new: int, taps: int) -> Taps:
    """Some of them none, and some of weight 0."""
    rng = np.random.default_rng(old + new)
    weights = rng.standard_normal((taps, new))
    weights[rng.random(weights.shape) < 0.2] = 0
    return Taps(rng.integers(-1, old, (taps, new)), weights, old)


@cases("taps", [1, 2, 4])
@cases("new", [1, 3, 64])
@cases("axis", [0, 1, 2])
@cases("shape", SHAPES)
def test_resample(shape: tuple[int, ...], axis: int, new: int, taps: int) -> None:
    check("resample", normal(*shape), axis, drawn(shape[axis], new, taps), differentiable=(0,))


@cases("axis", [1, 2])
def test_elements_as_they_are(axis: int) -> None:
    """Without weights; infinities and NaN stay with those that have them among their taps."""
    x = normal(2, 5, 7)
    x[0, 1, 2], x[1, 4, 4], x[0, 0, 0] = np.inf, np.nan, -np.inf
    taps = Taps([[4, 1, 1, 0, -1, 3]], None, x.shape[axis])
    out, _ = run("resample", [x, axis, taps], ())
    close(out, REGISTRY["resample"].forward(x, axis, taps), "resample")
    assert np.isnan(out).sum() == 1


def test_turned_twice_is_the_same_sum() -> None:
    x, taps = normal(3, 9), drawn(9, 14, 3)
    forward = REGISTRY["resample"].forward
    np.testing.assert_allclose(forward(x, 1, taps.turned.turned), forward(x, 1, taps), rtol=1e-12)


@cases("axis", [1, 2])
def test_any_number_of_threads_gives_the_same_bits(axis: int) -> None:
    x, taps = normal(40, 60, 70), drawn(60 if axis == 1 else 70, 90, 2)
    same_bits("resample", x, axis, taps, differentiable=(0,))


def test_what_is_left_to_numpy() -> None:
    taps, x = drawn(3, 5, 2), np.ones((2, 3), np.float32)
    forward, none = kernel("resample").forward, (False,) * 3
    assert forward(none, x, 1, taps) is not NotImplemented
    assert forward(none, x.astype(np.int64), 1, taps) is NotImplemented
    assert forward(none, x[:0], 1, taps) is NotImplemented
    assert forward(none, x, 1, Taps(np.empty((2, 0)), np.empty((2, 0)), 3)) is NotImplemented
