"""The CPU kernel ``scaled_dot_product_attention`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend.kernels import _rows as rows
from tests.support.plain_checks import RTOL, check, close, normal, plain, run

pytestmark = pytest.mark.usefixtures("small_blocks")

NAME = "scaled_dot_product_attention"
SHAPES: list[tuple[tuple[int, ...], int, int]] = [  # (B, H, T, D), S, Dv
    ((1, 1, 1, 1), 1, 1),
    ((2, 3, 4, 5), 4, 5),
    ((1, 2, 5, 8), 7, 3),
    ((2, 2, 33, 16), 65, 16),
    ((2, 1, 0, 4), 3, 4),
    ((0, 2, 3, 4), 3, 4),
    ((1, 2, 0, 4), 3, 2),
    ((2, 1, 3, 4), 2, 0),
    ((2, 1, 3, 0), 2, 3),
]
LONG: list[tuple[tuple[int, ...], int]] = [  # (B, H, T, D), S
    ((1, 2, 65, 4), 65),
    ((2, 1, 130, 3), 130),
    ((1, 1, 150, 3), 70),
    ((1, 1, 150, 3), 5),
    ((1, 1, 70, 3), 150),
    ((2, 3, 128, 3), 64),
    ((1, 1, 64, 3), 65),
]


def qkv(shape: tuple[int, ...], source: int, width: int) -> list[Any]:
    b, h, _, d = shape
    return [normal(*shape), normal(b, h, source, d, seed=2), normal(b, h, source, width, seed=3)]


@pytest.mark.parametrize(("shape", "source", "width"), SHAPES, ids=str)
def test_without_mask(shape: tuple[int, ...], source: int, width: int) -> None:
    check(NAME, [*qkv(shape, source, width), None, None, False, 0.3, 0.0], [0, 1, 2])


@pytest.mark.parametrize(("shape", "source", "width"), SHAPES[:4], ids=str)
def test_causal(shape: tuple[int, ...], source: int, width: int) -> None:
    check(NAME, [*qkv(shape, source, width), None, None, True, 0.3, 0.0], [0, 1, 2])


@pytest.mark.parametrize("axes", [(1, 1, 1, 1), (0, 0, 1, 1), (1, 0, 0, 1), (1, 1, 1, 0), None], ids=str)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_that_broadcast(axes: tuple[int, ...] | None, kind: str) -> None:
    full, source = (2, 3, 6, 4), 5
    shape = (6, source) if axes is None else tuple(n if a else 1 for a, n in zip(axes, (2, 3, 6, source), strict=True))
    mask = normal(*shape, seed=4)
    mask = mask > -0.5 if kind == "bool" else mask
    if kind == "bool" and axes == (1, 1, 1, 1):
        mask[0, 0, 2] = False  # a query that may attend to nothing
    wanted = [0, 1, 2] if kind == "bool" else [0, 1, 2, 3]
    check(NAME, [*qkv(full, source, 4), mask, None, False, 0.5, 0.0], wanted)


def test_mask_and_causal_together() -> None:
    mask = normal(2, 1, 1, 6, seed=4) > -0.8
    check(NAME, [*qkv((2, 2, 6, 4), 6, 4), mask, None, True, 0.5, 0.0], [0, 1, 2])


def test_dropout() -> None:
    keep = normal(2, 2, 6, 5, seed=5) > -0.8
    check(NAME, [*qkv((2, 2, 6, 4), 5, 4), None, keep, False, 0.5, 0.25], [0, 1, 2], layouts=False)


def test_scores_of_minus_infinity() -> None:
    mask = np.zeros((6, 5))
    mask[:, 3:] = -np.inf
    check(NAME, [*qkv((1, 2, 6, 4), 5, 4), mask, None, False, 0.5, 0.0], [0, 1, 2])


@pytest.mark.parametrize(("shape", "source"), LONG, ids=str)
def test_long_and_causal(shape: tuple[int, ...], source: int) -> None:
    check(NAME, [*qkv(shape, source, 5), None, None, True, 0.3, 0.0], [0, 1, 2])


@pytest.mark.parametrize(("shape", "source"), LONG[:5], ids=str)
def test_causal_with_mask_and_dropout(shape: tuple[int, ...], source: int) -> None:
    b, h, t, _ = shape
    mask, keep = normal(b, 1, t, source, seed=4), normal(b, h, t, source, seed=5) > -0.8
    check(NAME, [*qkv(shape, source, 2), mask, keep, True, 0.3, 0.25], [0, 1, 2, 3])
    check(NAME, [*qkv(shape, source, 2), mask > 0.5, keep, True, 0.3, 0.25], [0, 1, 2], layouts=False)


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize(("length", "source"), [(65, 65), (130, 130), (70, 150), (150, 70), (128, 129)])
def test_masks_that_hide_the_future(length: int, source: int, heads: int, kind: str) -> None:
    seen = np.tri(length, source, max(0, source - length), dtype=bool)
    mask = np.where(seen, normal(2, heads, length, source, seed=4), -np.inf)
    keep = normal(2, 2, length, source, seed=5) > -0.8
    args = [mask > -np.inf if kind == "bool" else mask, keep, False, 0.3, 0.25]
    check(NAME, [*qkv((2, 2, length, 3), source, 2), *args], [0, 1, 2, 3] if kind == "float" else [0, 1, 2])
    mask[1, -1, 3, -1] = 0.5  # one key of the future
    check(NAME, [*qkv((2, 2, length, 3), source, 2), mask, *args[1:]], [0, 1, 2, 3], layouts=False)


@pytest.mark.parametrize("is_causal", [False, True])
def test_dropout_of_everything(is_causal: bool) -> None:
    """PyTorch's: zeros, and so are the gradients."""
    args = [*qkv((2, 2, 6, 4), 5, 4), None, np.zeros((2, 2, 6, 5), bool), is_causal, 0.5, 1.0]
    out, found = run(NAME, args, (True,) * 3 + (False,) * 5, normal(2, 2, 6, 4))
    assert not out.any()
    for slope in found[:3]:
        np.testing.assert_array_equal(slope, np.zeros_like(slope))


@pytest.mark.parametrize("size", [30.0, 60.0, 75.0, 81.0, 120.0, 1000.0])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores(size: float, sign: int, dtype: Any) -> None:
    """All of a query's scores are large, or all small: exp of them, or 1 / exp, is near float32's end."""
    q, k, v = qkv((2, 2, 9, 4), 70, 3)
    args = [q, k, 1e3 * v, np.full((1, 1, 9, 70), sign * size), None, False, 0.5, 0.0]
    _compare(args, [0, 1, 2], dtype, 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_every_size(dtype: Any) -> None:
    """In one block: rows that are quick to compute, rows that are too large or too small for it, a row that
    sees nothing, a row that sees one key."""
    mask = np.zeros((1, 1, 9, 6))
    mask[..., 1, :], mask[..., 2, :], mask[..., 3, :] = 100, -100, -300
    mask[..., 4, :], mask[..., 5, 1:] = -np.inf, -np.inf
    mask[..., 6, :3], mask[..., 6, 3:] = 90, -90
    mask[..., 7, 3:] = -1e9
    _compare([*qkv((2, 2, 9, 4), 6, 3), mask, None, False, 0.5, 0.0], [0, 1, 2], dtype, 1.0)
    _compare([*qkv((2, 2, 9, 4), 6, 3), mask, None, True, 0.5, 0.0], [0, 1, 2], dtype, 1.0)


def _compare(args: list[Any], wanted: list[int], dtype: Any, size: float) -> None:
    """With and without gradients against the plain definition, for a gradient of a given size."""
    given = [a.astype(dtype) if isinstance(a, np.ndarray) else a for a in args]
    wide = [a.astype(np.float64) if isinstance(a, np.ndarray) else a for a in given]
    expected, slopes, g = plain(NAME, wide, wanted)
    out, found = run(NAME, given, tuple(i in wanted for i in range(len(args))), (size * g).astype(dtype))
    close(out, expected, dtype, "value")
    for i in wanted:
        scale = np.abs(slopes[i]).max() * size
        atol = 30 * RTOL[dtype] * scale
        np.testing.assert_allclose(found[i], size * slopes[i], rtol=RTOL[dtype], atol=atol)
    out, _ = run(NAME, given, (False,) * len(args), g)
    close(out, expected, dtype, "value where no gradient is wanted")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("needed", [False, True])
def test_what_is_not_finite_stays_in_its_sentence(value: float, place: int, needed: bool) -> None:
    args: list[Any] = [*qkv((3, 2, 5, 4), 6, 4), None, None, False, 0.5, 0.0]
    needs = (needed,) * 3 + (False,) * 5
    g = normal(3, 2, 5, 4, seed=8)
    clean, slopes = run(NAME, args, needs, g)
    args[place] = args[place].copy()
    args[place][1, 0, 2, 1] = value
    out, found = run(NAME, args, needs, g)
    expected = plain(NAME, args, [0, 1, 2])[0]
    np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-11)
    assert not np.isfinite(out[1, 0]).all()
    for now, then in zip([out, *found], [clean, *slopes], strict=True):
        if now is not None:
            for sentence in ((0,), (1, 1), (2,)):
                np.testing.assert_allclose(now[sentence], then[sentence], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("needed", [False, True])
def test_float16(needed: bool) -> None:
    q, k, v = (a.astype(np.float16) for a in qkv((2, 2, 70, 4), 70, 3))
    args: list[Any] = [q, k, v, None, None, True, 0.5, 0.0]
    wide = [a.astype(np.float64) if isinstance(a, np.ndarray) else a for a in args]
    g = normal(2, 2, 70, 3, seed=8).astype(np.float16)
    needs = (needed,) * 3 + (False,) * 5
    out, found = run(NAME, args, needs, g)
    expected, slopes = run(NAME, wide, needs, g.astype(np.float64))
    assert out.dtype == np.float16
    np.testing.assert_allclose(out, expected, rtol=1e-2, atol=1e-2)
    for f, s in zip(found[:3], slopes[:3], strict=True):
        assert (f is None) == (s is None) == (not needed)
        if f is not None:
            np.testing.assert_allclose(f, s, rtol=2e-2, atol=2e-2 * np.abs(s).max())


# Where the gradients lie ------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("together", [(0, 1, 2), (1, 2), (0, 1), ()], ids=str)
def test_slices_of_one_projection(together: tuple[int, ...], batch_first: bool) -> None:
    """Neighbours in memory have gradients that are neighbours, in whatever order, and as right as others."""
    b, h, t, d = 3, 2, 5, 4
    lead = (b, t) if batch_first else (t, b)
    apart = qkv((b, h, t, d), t, d)
    axes = (0, 2, 1, 3) if batch_first else (1, 2, 0, 3)
    memory = np.empty((*lead, max(1, len(together)), h, d))
    given = list(apart)
    for n, i in enumerate(together):
        given[i] = memory[:, :, n].transpose(axes)
        given[i][...] = apart[i]
    needs, g = (True,) * 3 + (False,) * 5, normal(b, h, t, d, seed=8)
    rest: list[Any] = [None, None, False, 0.5, 0.0]
    expected, slopes = run(NAME, [*apart, *rest], needs, g)
    out, found = run(NAME, [*given, *rest], needs, g)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13)
    for f, s in zip(found[:3], slopes[:3], strict=True):
        np.testing.assert_allclose(f, s, rtol=1e-11, atol=1e-12)
    assert not any(np.may_share_memory(found[i], a) for i in range(3) for a in (*given, out))


def test_self_attention_on_one_and_the_same_array() -> None:
    """Query, key and value are one tensor: its gradient is the sum of three."""
    x = minigrad.tensor(normal(2, 2, 5, 4), requires_grad=True)
    apart = [minigrad.tensor(normal(2, 2, 5, 4), requires_grad=True) for _ in range(3)]
    attention = minigrad.nn.functional.scaled_dot_product_attention
    attention(x, x, x, is_causal=True).square().sum().backward()
    attention(*apart, is_causal=True).square().sum().backward()
    total = sum(a.grad.numpy() for a in apart)
    np.testing.assert_allclose(x.grad.numpy(), total, rtol=1e-11, atol=1e-12)


# exp without the largest number taken off -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("number", [-1e4, -200.0, -100.0, -50.0, 0.0, 39.0, 41.0, 79.9, 88.0, 200.0, 1e4])
def test_exp_rows(number: float, dtype: Any) -> None:
    """Sums of many numbers of one size, which alone would still be finite."""
    given = np.full((3, 4, 8000), number, dtype)
    given[0, 0] = -np.inf
    given[1, 0, 1:] = -np.inf
    block = given.copy()
    total, shift = rows.exp_rows(block, lambda: np.copyto(block, given))
    assert np.isfinite(total).all()
    assert (total > 0).all()
    shares = block / total[..., None]
    assert (shares[0, 0] == 0).all()
    assert shares[1, 0, 0] == 1
    np.testing.assert_allclose(shares[2], 1 / 8000, rtol=2e-3 if dtype is np.float16 else 1e-6)
    logs = np.log(total) + shift
    np.testing.assert_allclose(logs[2], number + np.log(8000), rtol=2e-3 if dtype is np.float16 else 1e-6)
