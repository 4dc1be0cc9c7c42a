"""The compiled kernel ``scaled_dot_product_attention`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minigrad.backend import parallel
from minigrad.backend.kernels import scaled_dot_product_attention_numba as attention
from tests.support.compiled_checks import check, close, kernel, needs_numba, run
from tests.support.plain_checks import normal, plain

pytestmark = needs_numba

NAME = "scaled_dot_product_attention"
SHAPES: list[
    tuple[tuple[int, ...], int, int]
] = [  # (B, H, T, D), S, Dv: around tiles of 4 × 16, and parts of 32 queries
    ((1, 1, 1, 1), 1, 1),
    ((2, 3, 3, 8), 17, 5),
    ((2, 2, 4, 5), 4, 16),
    ((1, 2, 8, 16), 15, 17),
    ((1, 2, 16, 32), 16, 32),
    ((2, 1, 31, 24), 33, 40),
    ((1, 2, 33, 7), 64, 9),
    ((1, 1, 100, 16), 65, 16),
    ((1, 2, 64, 12), 100, 20),
]
MASKS = ["none", "bool", "bool of keys", "bool of two axes", "float", "float of one row", "float that hides"]


def qkv(shape: tuple[int, ...], source: int, width: int) -> list[Any]:
    b, h, _, d = shape
    return [normal(*shape), normal(b, h, source, d, seed=2), normal(b, h, source, width, seed=3)]


def mask_of(kind: str, shape: tuple[int, ...], source: int) -> Any:
    b, h, t, _ = shape
    axes = (
        (t, source)
        if "two" in kind
        else (b, 1, 1, source)
        if "keys" in kind
        else (b, h, t, 1 if "row" in kind else source)
    )
    numbers = normal(*axes, seed=4)
    if "hides" in kind:
        numbers[numbers < -0.7] = -np.inf
        numbers[0, 0, 0] = -np.inf  # a query that sees nothing
    return None if kind == "none" else numbers > -0.6 if "bool" in kind else numbers


@pytest.mark.parametrize("dropout_p", [0.0, 0.3])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("shape", "source", "width"), SHAPES, ids=str)
def test_sizes(shape: tuple[int, ...], source: int, width: int, is_causal: bool, dropout_p: float) -> None:
    keep = normal(*shape[:3], source, seed=5) > -0.5 if dropout_p else None
    how = [None, keep, is_causal, 0.3, dropout_p]
    check(NAME, *qkv(shape, source, width), *how, differentiable=(0, 1, 2))
    args = [*qkv(shape, source, width), *how]
    close(run(NAME, args, ())[0], plain(NAME, args, [0])[0], "result where no gradient is wanted")


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize(("shape", "source", "width"), SHAPES[1::3], ids=str)
def test_masks(shape: tuple[int, ...], source: int, width: int, kind: str, is_causal: bool) -> None:
    how = [mask_of(kind, shape, source), None, is_causal, 0.3, 0.0]
    check(NAME, *qkv(shape, source, width), *how, differentiable=(0, 1, 2))


@pytest.mark.parametrize("differentiable", [(0,), (1,), (2,), (0, 2)], ids=str)
def test_some_gradients(differentiable: tuple[int, ...]) -> None:
    check(NAME, *qkv((2, 2, 40, 8), 40, 8), None, None, True, 0.3, 0.0, differentiable=differentiable)


def test_dropout_of_everything() -> None:
    args = [*qkv((2, 2, 6, 4), 5, 4), None, np.zeros((2, 2, 6, 5), bool), False, 0.5, 1.0]
    out, found = run(NAME, args, (0, 1, 2), normal(2, 2, 6, 4))
    assert not out.any()
    assert not any(found[i].any() for i in range(3))


@pytest.mark.parametrize("size", [30.0, 100.0, 1000.0, 1e30])
@pytest.mark.parametrize("sign", [1, -1])
def test_large_scores(size: float, sign: int) -> None:
    """All of a row's scores are large, or all small: only their differences count."""
    shape, source = (2, 2, 9, 4), 70
    mask = np.full((1, 1, 9, source), sign * size)
    expected = plain(NAME, [*qkv(shape, source, 3), mask, None, False, 0.5, 0.0], [0])[0]
    out, _ = run(NAME, [*qkv(shape, source, 3), mask, None, False, 0.5, 0.0], ())
    if size < 1e9:  # of 1e30 nothing is left of the scores: all weigh the same
        close(out, expected, "result", 3e-7 * size + 2e-5)
    else:
        close(out, np.broadcast_to(qkv(shape, source, 3)[2].mean(2, keepdims=True), out.shape), "result")


def test_rows_that_see_nothing() -> None:
    """Zeros, and they have no part in any gradient."""
    mask = np.ones((1, 1, 40, 20), bool)
    mask[:, :, 5:9] = False
    args = [*qkv((2, 2, 40, 8), 20, 8), mask, None, False, 0.5, 0.0]
    out, found = run(NAME, args, (0, 1, 2), np.ones((2, 2, 40, 8)))
    assert not out[:, :, 5:9].any()
    assert not found[0][:, :, 5:9].any()
    assert all(np.isfinite(found[i]).all() for i in range(3))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("queries", [3, 5, 40])
def test_what_is_not_finite_stays_in_its_head(value: float, place: int, queries: int) -> None:
    args: list[Any] = [*qkv((3, 2, queries, 4), 6, 4), None, None, False, 0.5, 0.0]
    g = normal(3, 2, queries, 4, seed=8)
    clean, slopes = run(NAME, args, (0, 1, 2), g)
    args[place] = args[place].copy()
    args[place][1, 0, 2, 1] = value
    out, found = run(NAME, args, (0, 1, 2), g)
    if np.isnan(value):
        assert np.isnan(out[1, 0]).any()
    for now, then in zip([out, *found.values()], [clean, *slopes.values()], strict=True):
        for head in ((0,), (1, 1), (2,)):
            np.testing.assert_array_equal(now[head], then[head])


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("together", [(0, 1, 2), (1, 2), ()], ids=str)
def test_slices_of_one_projection(together: tuple[int, ...], batch_first: bool) -> None:
    """They are read where they lie; neighbours have gradients that are neighbours."""
    b, h, t, d = 3, 2, 20, 16
    apart = [x.astype(np.float32) for x in qkv((b, h, t, d), t, d)]
    lead, axes = ((b, t), (0, 2, 1, 3)) if batch_first else ((t, b), (1, 2, 0, 3))
    memory = np.empty((*lead, max(1, len(together)), h, d), np.float32)
    given = list(apart)
    for n, i in enumerate(together):
        given[i] = memory[:, :, n].transpose(axes)
        given[i][...] = apart[i]
    rest: list[Any] = [None, None, True, 0.5, 0.0]
    needs, g = (True,) * 3 + (False,) * 5, normal(b, h, t, d, seed=8).astype(np.float32)
    results = []
    for args in ([*apart, *rest], [*given, *rest]):
        out, saved = kernel(NAME).forward(needs, *args)
        results.append([out, *kernel(NAME).backward(needs, saved, g, *args)[:3]])
    for found, expected in zip(*reversed(results), strict=True):
        np.testing.assert_array_equal(found, expected)
    slopes = results[1][1:]
    for i in together[1:]:
        assert slopes[i].base is slopes[together[0]].base
    assert results[1][0].transpose(0, 2, 1, 3).flags.c_contiguous


def test_same_bits_with_any_number_of_threads() -> None:
    args: list[Any] = [*qkv((5, 3, 40, 24), 50, 20), None, normal(5, 3, 40, 50, seed=5) > 0, True, 0.5, 0.5]
    before, results = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            out, found = run(NAME, args, (0, 1, 2), normal(5, 3, 40, 20, seed=8))
            results.append([out, *found.values()])
    finally:
        parallel.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_no_scores_are_kept() -> None:
    b, h, t, d = 2, 2, 256, 8
    args = [x.astype(np.float32) for x in qkv((b, h, t, d), t, d)]
    _, saved = kernel(NAME).forward((True,) * 3 + (False,) * 5, *args, None, None, False, 0.5, 0.0)
    own = [x for x in saved if isinstance(x, np.ndarray) and not any(x is a for a in args)]
    assert sum(x.size for x in own) == 2 * b * h * t


@pytest.mark.parametrize("empty", [((0, 2, 3, 4), 3), ((2, 1, 0, 4), 3), ((2, 1, 3, 4), 0), ((2, 1, 3, 0), 2)], ids=str)
def test_what_it_does_not_take(empty: tuple[tuple[int, ...], int]) -> None:
    rest: list[Any] = [None, None, False, 0.5, 0.0]
    args = [x.astype(np.float32) for x in qkv(*empty, 4)]
    assert attention.forward((True,) * 3 + (False,) * 5, *args, *rest) is NotImplemented
    args = qkv((2, 2, 3, 4), 5, 4)
    assert attention.forward((True,) * 3 + (False,) * 5, *args, *rest) is NotImplemented  # float64
    mask = np.zeros((3, 5), np.float32)
    args = [x.astype(np.float32) for x in args]
    assert (
        attention.forward((True,) * 4 + (False,) * 4, *args, mask, *rest[1:]) is NotImplemented
    )  # the mask's gradient
