"""NumPy's kernels of rows and elements against their plain definitions. (Larger ones have a file of their own.)"""

import itertools
from typing import Any

import numpy as np
import pytest

from minigrad.backend.kernels import gelu
from tests.support.cases import cases
from tests.support.plain_checks import check, normal, plain, run

pytestmark = pytest.mark.usefixtures("small_blocks")
KINDS = ("none", "tanh")
ROWS = [(1, 2), (3, 5), (7, 64), (200, 33), (2, 3, 257), (4, 1), (0, 4), (2, 0, 5), (6,)]
GROUPS = [
    *(((2, 4, 3), 2), ((3, 6, 5, 7), 3), ((5, 6, 2, 2, 2), 1), ((40, 4, 9), 4), ((7, 6), 2), ((0, 4, 3), 2)),
    ((2, 4, 0), 2),
]


@cases("shape", ROWS)
def test_norms_of_rows(shape: tuple[int, ...]) -> None:
    x, weight, bias = 2 + normal(*shape), normal(shape[-1], seed=2), normal(shape[-1], seed=3)
    check("layer_norm", [x, weight, bias, 1e-5], [0, 1, 2])
    check("layer_norm", [x, None, None, 1e-5], [0], layouts=False)
    check("layer_norm", [x, weight, None, 1e-3], [0, 1], layouts=False)
    check("rms_norm", [x - 2, weight, 1e-6], [0, 1])
    check("rms_norm", [x - 2, None, 1e-3], [0], layouts=False)


@cases("shape, groups", GROUPS)
def test_norms_of_groups(shape: tuple[int, ...], groups: int) -> None:
    x, weight, bias = 2 + normal(*shape), normal(shape[1], seed=2), normal(shape[1], seed=3)
    check("group_norm", [x, weight, bias, groups, 1e-5], [0, 1, 2])
    check("group_norm", [x, None, None, groups, 1e-3], [0], layouts=False)
    check("group_norm", [x, weight, None, groups, 1e-3], [0, 1], layouts=False)


@cases("shape", [(1, 2), (4, 5), (300, 33), (7, 257), (5, 1), (0, 4)])
def test_cross_entropy(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    target = rng.integers(0, shape[1], shape[0])
    target[::3] = -100
    for weight, smoothing in itertools.product((None, rng.random(shape[1]) + 0.5), (0.0, 0.1)):
        check("cross_entropy", [5 * normal(*shape), target, weight, -100, smoothing], [0])


def test_cross_entropy_of_large_logits_and_another_ignored_index() -> None:
    check("cross_entropy", [1000 * normal(6, 9), np.array([0, 1, 2, 3, 0, 8]), None, 0, 0.0], [0])


# softmax and its logarithm: their gradients are those of the op's rules

SHARES: list[tuple[tuple[int, ...], int]] = [
    *(((1, 1), 1), ((3, 5), 1), ((7, 63), 1), ((5, 64), 1), ((4, 65), 1), ((3, 257), 1), ((300, 33), 1)),
    *(((2, 3, 130), 2), ((0, 4), 1), ((2, 0, 5), 2), ((5, 3), 0), ((4, 70, 3), 1), ((2, 3, 4, 5), 2), ((6,), 0)),
    ((3, 0, 2), 0),
]
NAMES = pytest.mark.parametrize("name", ["softmax", "log_softmax"])


def check_shares(name: str, x: Any, dim: int) -> None:
    expected = plain(name, [x, dim], [0])[0]
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for lay in (lambda a: a, lambda a: np.array(a.T, order="C").T):
            out, _ = run(name, [lay(x.astype(dtype)), dim], (False, False), np.zeros(0))
            assert out.dtype == dtype
            size = np.abs(x[np.isfinite(x)]).max(initial=1)
            np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol * size)


@cases("shape, dim", SHARES)
@NAMES
def test_shares(name: str, shape: tuple[int, ...], dim: int) -> None:
    for scale in (1, 50):
        check_shares(name, scale * normal(*shape), dim)


@NAMES
def test_shares_of_infinite_scores(name: str) -> None:
    x = normal(3, 6)
    x[0, 2:], x[1, 1] = -np.inf, 300
    check_shares(name, x, 1)
    for dtype in (np.float32, np.float64):
        row = np.full((2, 4), -np.inf, dtype)
        row[1] = 0
        out, _ = run(name, [row, 1], (False, False), np.zeros(0))
        assert np.isfinite(out[1]).all() and (name != "softmax" or (out[0] == 0).all())


# gelu


@cases("shape", [(), (1,), (7,), (3, 5), (100, 33), (2, 3, 4), (0,), (2, 0)])
def test_gelu(shape: tuple[int, ...]) -> None:
    for kind in KINDS:
        check("gelu", [np.asarray(3 * normal(*shape)), kind], [0])


@cases("kind, dtype", itertools.product(KINDS, (np.float16, np.float32, np.float64)))
def test_gelu_far_from_zero_is_a_ramp_and_what_is_not_finite_stays_in_its_place(kind: str, dtype: Any) -> None:
    """0 or x, with slope 0 or 1, however large x is: also where its square is too large for the dtype."""
    largest = float(np.finfo(dtype).max) ** 0.3 if dtype is not np.float16 else 60000.0
    x = np.array([10.0, 100.0, 255.0, 300.0, 20000.0, largest]).astype(dtype)
    x = np.concatenate([x, -x])
    out, (slope, _) = run("gelu", [x, kind], (True, False), np.ones_like(x))
    assert out.dtype == slope.dtype == dtype
    np.testing.assert_allclose(out, np.maximum(x, 0), atol=1e-6)
    np.testing.assert_allclose(slope, x > 0, atol=1e-6)
    np.testing.assert_array_equal(out, run("gelu", [x, kind], (False, False), x)[0])
    x = np.array([1.0, np.nan, -1.0, np.inf, 2.0, -np.inf, 0.5], dtype)
    finite = np.isfinite(x)
    out, (slope, _) = run("gelu", [x, kind], (True, False), np.ones_like(x))
    expected, (slopes, _) = run("gelu", [x[finite], kind], (True, False), np.ones_like(x[finite]))
    np.testing.assert_allclose(out[finite], expected, rtol=1e-6)
    np.testing.assert_allclose(slope[finite], slopes, rtol=1e-6)
    assert np.isnan(out[1]) and np.isnan(slope[1]) and out[3] == np.inf


@cases("kind", KINDS)
def test_the_gradient_of_gelu_may_be_asked_for_twice(kind: str) -> None:
    """What is kept is not used up, and not handed out."""
    x, g = normal(30), normal(30, seed=1)
    _, saved = gelu.forward((True, False), x, kind)
    first = gelu.backward((True, False), saved, g, x, kind)[0]
    kept = first.copy()
    first[...] = np.nan
    np.testing.assert_array_equal(gelu.backward((True, False), saved, g, x, kind)[0], kept)
