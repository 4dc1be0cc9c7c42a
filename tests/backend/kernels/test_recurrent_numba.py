"""The compiled LSTM and GRU against their plain definitions: sizes around their blocks of rows, packed and reversed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend import parallel
from minigrad.ops.registry import REGISTRY
from tests.support.compiled_checks import close, kernel, needs_numba, stepped, turned
from tests.support.plain_checks import normal, without_kernel

pytestmark = needs_numba
KINDS = ["lstm", "gru", "gru no bias"]
SIZES: list[tuple[int, ...]] = [(1,), (17, 17, 16, 1), (40, 33, 2, 0), (16, 16)]


def arguments(kind: str, sizes: tuple[int, ...], reverse: bool, width: int = 3) -> list[Any]:
    """The op's arguments, in float64."""
    n, batch = sum(sizes), sizes[0]
    h = 0.5 * normal(batch, width, seed=2)
    if kind == "lstm":
        x, weight = normal(n, 4 * width), 0.5 * normal(4 * width, width, seed=1)
        return [x, weight, None, h, normal(batch, width, seed=3), sizes, reverse]
    x, weight = normal(n, 3 * width), 0.5 * normal(3 * width, width, seed=1)
    return [x, weight, None if kind.endswith("no bias") else normal(3 * width, seed=4), h, sizes, reverse]


def run(kind: str, args: list[Any], needs: tuple[bool, ...], g: Any) -> tuple[list[Any], list[Any]]:
    """Results and gradients in float32. What is given stays as it is; results may be changed after."""
    given = [a.astype(np.float32, order="K") if isinstance(a, np.ndarray) else a for a in args]
    slopes = tuple(d.astype(np.float32, order="K") for d in g)
    arrays = [a for a in (*given, *slopes) if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    out, residual = kernel(kind.partition(" ")[0]).forward(needs, *given)
    kept = [o.copy() for o in out]
    for o in out:
        o[...] = np.nan
    op = REGISTRY[kind.partition(" ")[0]]
    keep = op.plan(sum(1 << i for i, need in enumerate(needs) if need), len(args)).keep
    left = [a if i in keep else None for i, a in enumerate(given)]
    found = kernel(kind.partition(" ")[0]).backward(needs, residual, slopes, *left) if any(needs) else []
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="the kernel changed what it was given")
    return kept, list(found)


def expected(kind: str, args: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The plain definition's results and gradients, and the gradients that arrive."""
    given = [minigrad.tensor(a, requires_grad=True) if isinstance(a, np.ndarray) else a for a in args]
    with without_kernel(REGISTRY[kind.partition(" ")[0]]) as op:
        out = op(*given)
        g = [normal(*o.shape, seed=10 + i) for i, o in enumerate(out)]
        tensors = [t for t in given if isinstance(t, minigrad.Tensor)]
        found = iter(minigrad.autograd.grad(out, tensors, [minigrad.tensor(d) for d in g], materialize_grads=True))
    slopes = [next(found).numpy() if isinstance(a, np.ndarray) else None for a in args]
    return [o.detach().numpy() for o in out], slopes, g


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("width", [1, 17])
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_plain_definition(kind: str, width: int, sizes: tuple[int, ...], reverse: bool) -> None:
    args = arguments(kind, sizes, reverse, width)
    results, slopes, g = expected(kind, args)
    every = tuple(isinstance(a, np.ndarray) for a in args)
    single = [tuple(i == j for j in range(len(args))) for i, is_array in enumerate(every) if is_array]
    for needs in ((False,) * len(args), every, *single):
        out, found = run(kind, args, needs, g)
        for o, e in zip(out, results, strict=True):
            close(o, e, "result")
        for i, need in enumerate(needs):
            if need:
                close(found[i], slopes[i], f"gradient of argument {i}", 5e-5)
            elif any(needs):
                assert found[i] is None


@pytest.mark.parametrize("lay", [turned, stepped])
@pytest.mark.parametrize("kind", KINDS)
def test_memory_layout_makes_no_difference(kind: str, lay: Any) -> None:
    args = arguments(kind, (18, 17, 2), False, 5)
    results, slopes, g = expected(kind, args)
    needs = tuple(isinstance(a, np.ndarray) for a in args)
    out, found = run(kind, [lay(a) if isinstance(a, np.ndarray) else a for a in args], needs, [lay(d) for d in g])
    expected_ones = [s for s in (*results, *slopes) if s is not None]
    for a, b in zip([f for f in (*out, *found) if f is not None], expected_ones, strict=True):
        close(a, b, lay.__name__, 5e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_values(kind: str) -> None:
    """Gates far from 0 are 0 or 1; a NaN stays in its own sequence."""
    args = arguments(kind, (3, 3), False)
    args[0][0], args[0][1], args[0][5] = 1e4, -np.inf, np.nan
    args[1][:] = abs(args[1])  # an infinite gate, and not the difference of two
    out, _ = run(kind, args, (False,) * len(args), [])
    for o, e in zip(out, REGISTRY[kind.partition(" ")[0]].forward(*args), strict=True):
        close(o, np.asarray(e), "result")
        assert np.isnan(o[-1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads_gives_the_same_bits(kind: str) -> None:
    args = arguments(kind, (50, 49, 33, 17, 3), True, 24)
    g = expected(kind, args)[2]
    needs = tuple(isinstance(a, np.ndarray) for a in args)
    before, bits = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            out, found = run(kind, args, needs, g)
            bits.append([a.tobytes() for a in (*out, *found) if a is not None])
    finally:
        parallel.set_num_threads(before)
    assert bits[0] == bits[1] == bits[2]


def test_what_is_left_to_numpy() -> None:
    """Projections, other dtypes, and no rows."""
    args = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in arguments("lstm", (2, 2), False)]
    none = (False,) * len(args)
    assert kernel("lstm").forward(none, *args) is not NotImplemented
    projected = [*args[:2], np.ones((3, 3), np.float32), *args[3:]]
    assert kernel("lstm").forward(none, *projected) is NotImplemented
    assert kernel("lstm").forward(none, *arguments("lstm", (2, 2), False)) is NotImplemented
    empty = [np.zeros((0, 12), np.float32), args[1], None, *np.zeros((2, 0, 3), np.float32), (0, 0), False]
    assert kernel("lstm").forward(none, *empty) is NotImplemented
