"""The compiled kernel ``scaled_dot_product_attention`` against the plain definition."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.support import compiled_checks
from tests.support.cases import cases
from tests.support.compiled_checks import kernel, needs_numba, same_bits
from tests.support.plain_checks import normal, plain

pytestmark = needs_numba
NAME = "scaled_dot_product_attention"
Shape = tuple[tuple[int, ...], int, int]  # (B, H, T, D), S, Dv: around compiled tiles of 6 × 16, parts of 32
SHAPES: list[Shape] = [
    *(((1, 1, 1, 1), 1, 1), ((2, 3, 3, 8), 17, 5), ((2, 2, 4, 5), 4, 16), ((1, 2, 8, 16), 15, 17)),
    *(((1, 2, 16, 32), 16, 32), ((2, 1, 31, 24), 33, 40), ((1, 2, 33, 7), 64, 9), ((1, 1, 100, 16), 65, 16)),
    *(((1, 2, 64, 12), 100, 20), ((1, 2, 5, 8), 7, 3), ((2, 3, 4, 5), 4, 5), ((1, 1, 150, 3), 5, 2)),
    *(((1, 1, 70, 3), 150, 2), ((2, 1, 130, 3), 130, 5), ((1, 1, 64, 3), 65, 5), ((2, 2, 12, 32), 12, 16)),
    *(((1, 2, 33, 16), 47, 48), ((1, 1, 40, 16), 256, 32), ((1, 1, 260, 16), 257, 16)),  # with and without tiles
]
EMPTY: list[Shape] = [
    *(((2, 1, 0, 4), 3, 4), ((0, 2, 3, 4), 3, 4), ((1, 2, 0, 4), 3, 2), ((2, 1, 3, 4), 2, 0), ((2, 1, 3, 0), 2, 3))
]
MASKS = ["none", "bool", "bool of keys", "bool of two axes", "bool of heads", "bool past", "float"]
MASKS += ["float of one row", "float that hides", "float of keys", "float past"]


def qkv(shape: tuple[int, ...], source: int, width: int) -> list[Any]:
    b, h, _, d = shape
    return [normal(*shape), normal(b, h, source, d, seed=2), normal(b, h, source, width, seed=3)]


def mask_of(kind: str, shape: tuple[int, ...], source: int) -> Any:
    b, h, t, _ = shape
    axes = {"axes": (t, source), "keys": (b, 1, 1, source), "heads": (1, h, 1, source), "row": (b, h, t, 1)}
    numbers = normal(*axes.get(kind.rsplit(maxsplit=1)[-1], (b, h, t, source)), seed=4)
    if "past" in kind:  # for keys in the future, which no query sees
        numbers[..., ~np.tri(t, source, max(0, source - t), dtype=bool)] = -np.inf
        return numbers > -np.inf if "bool" in kind else numbers
    if "hides" in kind:
        numbers[numbers < -0.7] = -np.inf
    if kind in ("bool", "float that hides"):
        numbers[0, 0, 0] = -np.inf  # a query that sees nothing
    return None if kind == "none" else numbers > -0.6 if "bool" in kind else numbers


def uses() -> Iterator[tuple[tuple[int, ...], int, int, str, bool, float]]:
    """Each shape with each pair of ``is_causal`` and dropout; each mask with several shapes and pairs."""
    for i, shape in enumerate(SHAPES):
        for j, (is_causal, p) in enumerate(itertools.product((False, True), (0.0, 0.25))):
            yield *shape, MASKS[(4 * i + 5 * j + i // 3) % len(MASKS)], is_causal, p


@cases("shape, source, width, kind, is_causal, p", uses())
def test_values_and_gradients(
    shape: tuple[int, ...], source: int, width: int, kind: str, is_causal: bool, p: float
) -> None:
    keep = normal(*shape[:3], source, seed=5) > -0.8 if p else None
    args = [*qkv(shape, source, width), mask_of(kind, shape, source), keep, is_causal, 0.3, p]
    compiled_checks.check(NAME, *args, differentiable=(0, 1, 2))
    out, _ = compiled_checks.run(NAME, args, ())
    compiled_checks.close(out, plain(NAME, args, [0])[0], "result where no gradient is wanted")


@cases("needs", [(0,), (1,), (2,), (0, 2)])
def test_some_gradients(needs: tuple[int, ...]) -> None:
    compiled_checks.check(NAME, *qkv((2, 2, 40, 8), 40, 8), None, None, True, 0.3, 0.0, differentiable=needs)


@cases("is_causal", [False, True])
def test_dropout_of_everything(is_causal: bool) -> None:
    """As in PyTorch, the result and the gradients are zeros."""
    args = [*qkv((2, 2, 6, 4), 5, 4), None, np.zeros((2, 2, 6, 5), bool), is_causal, 0.5, 1.0]
    out, derivatives = compiled_checks.run(NAME, args, (0, 1, 2), normal(2, 2, 6, 4))
    assert not out.any() and not any(derivatives[i].any() for i in range(3))


@cases("size, sign", itertools.product([30.0, 100.0, 1000.0, 1e30], [1, -1]))
def test_large_scores_of_compiled_loops(size: float, sign: int) -> None:
    """A row's scores are all large or all small: only their differences count."""
    shape, source = (2, 2, 9, 4), 70
    mask = np.full((1, 1, 9, source), sign * size)
    expected = plain(NAME, [*qkv(shape, source, 3), mask, None, False, 0.5, 0.0], [0])[0]
    out, _ = compiled_checks.run(NAME, [*qkv(shape, source, 3), mask, None, False, 0.5, 0.0], ())
    if size < 1e9:  # at 1e30 the scores lose their differences: all weights are the same
        compiled_checks.close(out, expected, "result", 3e-7 * size + 2e-5)
    else:
        compiled_checks.close(
            out, np.broadcast_to(qkv(shape, source, 3)[2].mean(2, keepdims=True), out.shape), "result"
        )


@cases("value, place, queries, d", itertools.product([np.nan, np.inf, -np.inf], [0, 1, 2], [3, 5, 40], [4, 16]))
def test_numbers_that_are_not_finite_stay_in_their_head(value: float, place: int, queries: int, d: int) -> None:
    def outcome(args: list[Any]) -> list[Any]:
        out, derivatives = compiled_checks.run(NAME, args, (0, 1, 2), g)
        return [out, *derivatives.values()]

    args: list[Any] = [*qkv((3, 2, queries, d), 6, d), None, None, False, 0.5, 0.0]
    g = normal(3, 2, queries, d, seed=8)
    clean = outcome(args)
    args[place] = args[place].copy()
    args[place][1, 0, 2, 1] = value
    spoilt = outcome(args)
    assert np.isnan(spoilt[0][1, 0]).any() or not np.isnan(value)
    for now, then in zip(spoilt, clean, strict=True):
        for head in ((0,), (1, 1), (2,)):
            np.testing.assert_array_equal(now[head], then[head])


# The memory of the gradients --------------------------------------------------------------------------------


@cases("together, batch_first", itertools.product([(0, 1, 2), (1, 2), (0, 1), ()], [False, True]))
def test_slices_of_one_projection(together: tuple[int, ...], batch_first: bool) -> None:
    """The kernel reads them without a copy, and their gradients are also slices of one array."""
    b, h, t, d = 3, 2, 20, 16
    apart = [x.astype(np.float32) for x in qkv((b, h, t, d), t, d)]
    lead, axes = ((b, t), (0, 2, 1, 3)) if batch_first else ((t, b), (1, 2, 0, 3))
    memory = np.empty((*lead, max(1, len(together)), h, d), np.float32)
    arrays = list(apart)
    for n, i in enumerate(together):
        arrays[i] = memory[:, :, n].transpose(axes)
        arrays[i][...] = apart[i]
    rest: list[Any] = [None, None, True, 0.5, 0.0]
    needs, g, results = (True,) * 3 + (False,) * 5, normal(b, h, t, d, seed=8).astype(np.float32), []
    for args in ([*apart, *rest], [*arrays, *rest]):
        out, saved = kernel(NAME).forward(needs, *args)
        results.append([out, *kernel(NAME).backward(needs, saved, g, *args)[:3]])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(other, one)
    out, *derivatives = results[1]
    assert not any(np.may_share_memory(derivative, a) for derivative in derivatives for a in (*arrays, out))
    assert out.transpose(0, 2, 1, 3).flags.c_contiguous
    if together != (0, 1):
        assert all(derivatives[i].strides == arrays[i].strides for i in together)
        assert all(derivatives[i].base is derivatives[together[0]].base for i in together[1:])


def test_any_number_of_threads_gives_the_same_bits() -> None:
    keep = normal(5, 3, 40, 50, seed=5) > 0
    same_bits(NAME, *qkv((5, 3, 40, 24), 50, 20), None, keep, True, 0.5, 0.5, differentiable=(0, 1, 2))


def test_scores_are_not_saved() -> None:
    b, h, t, d = 2, 2, 256, 16
    args = [x.astype(np.float32) for x in qkv((b, h, t, d), t, d)]
    _, saved = kernel(NAME).forward((True,) * 3 + (False,) * 5, *args, None, None, False, 0.5, 0.0)
    own = [x for x in saved if isinstance(x, np.ndarray) and not any(x is a for a in args)]
    assert sum(x.size for x in own) == 2 * b * h * t


def test_inputs_for_the_plain_definition() -> None:
    """Empty inputs, float64, and the gradient of a mask."""
    rest: list[Any] = [None, None, False, 0.5, 0.0]
    forward, needs = kernel(NAME).forward, (True,) * 3 + (False,) * 5
    for shape, source, width in [*EMPTY, ((2, 1, 3, 4), 0, 4)]:
        assert forward(needs, *(x.astype(np.float32) for x in qkv(shape, source, width)), *rest) is NotImplemented
    args = qkv((2, 2, 3, 4), 5, 4)
    assert forward(needs, *args, *rest) is NotImplemented
    args = [*(x.astype(np.float32) for x in args), np.zeros((3, 5), np.float32), *rest[1:]]
    assert forward((True,) * 4 + (False,) * 4, *args) is NotImplemented
