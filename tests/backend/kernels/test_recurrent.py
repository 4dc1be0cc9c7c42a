"""The kernels ``rnn``, of NumPy, and ``gru`` and ``lstm``, compiled, against their plain definitions."""

import itertools
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend import Device, for_device, kernels
from minigrad.compat.ops.registry import REGISTRY
from tests.support import compiled_checks
from tests.support.cases import cases
from tests.support.compiled_checks import needs_numba
from tests.support.plain_checks import close, normal, on_threads, strided, transposed, without_kernel

KINDS = ["rnn", "rnn relu"]
COMPILED = ["gru", "gru no bias", "lstm"]
SIZES: list[tuple[int, ...]] = [(1,), (3, 3), (4, 3, 3, 1), (2, 0), (0, 0)]
BLOCKS: list[tuple[int, ...]] = [(1,), (17, 17, 16, 1), (40, 33, 2, 0), (16, 16)]  # around those of compiled loops
each_kind = pytest.mark.parametrize(
    ("kind", "compiled"), [*((k, False) for k in KINDS), *(pytest.param(k, True, marks=needs_numba) for k in COMPILED)]
)


def arguments(kind: str, sizes: tuple[int, ...], reverse: bool, width: int = 3) -> list[Any]:
    """The op's arguments, in float64."""
    n, batch = sum(sizes), sizes[0]
    name, _, option = kind.partition(" ")
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[name] * width
    state = 2 if option == "projected" else width
    x, weight = normal(n, gates), 0.5 * normal(gates, state, seed=1)
    h, c = 0.5 * normal(batch, state, seed=2), normal(batch, width, seed=3)
    middle = {
        "rnn": [],
        "gru": [None if option else normal(gates, seed=4)],
        "lstm": [normal(state, width, seed=5) if option else None],
    }[name]
    last: list[Any] = [option == "relu"] if name == "rnn" else []
    return [x, weight, *middle, h, *([c] if name == "lstm" else []), sizes, reverse, *last]


def plain(kind: str, args: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The plain definition's results and gradients, in float64, and the gradients that arrive."""
    given = [minigrad.tensor(a, requires_grad=True) if isinstance(a, np.ndarray) else a for a in args]
    with without_kernel(REGISTRY[kind.partition(" ")[0]]) as op:
        out = op(*given)
    g = [normal(*o.shape, seed=10 + i) for i, o in enumerate(out)]
    leaves = [t for t in given if isinstance(t, minigrad.Tensor)]
    slopes = minigrad.autograd.grad(out, leaves, [minigrad.tensor(d) for d in g], materialize_grads=True)
    left = iter(s.numpy() for s in slopes)
    return [o.detach().numpy() for o in out], [next(left) if isinstance(a, np.ndarray) else None for a in args], g


def kernel(kind: str, compiled: bool) -> Any:
    name = kind.partition(" ")[0]
    return compiled_checks.kernel(name) if compiled else for_device(Device("cpu")).kernels(name)[-1]


def run(kind: str, compiled: bool, args: list[Any], needs: tuple[bool, ...], g: Any, dtype: Any) -> list[Any]:
    """Results and gradients. What the kernel is given stays as it is; its results may be changed after."""
    given = [a.astype(dtype, order="K") if isinstance(a, np.ndarray) else a for a in args]
    slopes = tuple(d.astype(dtype, order="K") for d in g)
    arrays = [a for a in (*given, *slopes) if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    out, saved = kernel(kind, compiled).forward(needs, *given)
    kept = [o.copy() for o in out]
    for o in out:
        o[...] = np.nan
    keep = REGISTRY[kind.partition(" ")[0]].plan(sum(1 << i for i, need in enumerate(needs) if need), len(args)).keep
    left = [a if i in keep else None for i, a in enumerate(given)]
    found = kernel(kind, compiled).backward(needs, saved, slopes, *left) if any(needs) else [None] * len(args)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="the kernel changed what it was given")
    return [*kept, *found]


def compare(kind: str, compiled: bool, args: list[Any], needs: tuple[bool, ...], expected: Any, dtype: Any) -> None:
    results, slopes, g = expected
    found = run(kind, compiled, args, needs, g, dtype)
    for number, (a, b, need) in enumerate(
        zip(found, [*results, *slopes], [*(True for _ in results), *needs], strict=True)
    ):
        assert (a is not None) == need
        if need and compiled:
            compiled_checks.close(a, b, f"result or gradient {number}", 5e-5)
        elif need:
            close(a, b, dtype, f"result or gradient {number}")


def some_needs(args: list[Any]) -> list[tuple[bool, ...]]:
    """None, all, each alone, and each left out."""
    every = tuple(isinstance(a, np.ndarray) for a in args)
    alone = [tuple(i == j for j in range(len(args))) for i, is_array in enumerate(every) if is_array]
    others = [tuple(e and not a for e, a in zip(every, one, strict=True)) for one in alone]
    return [(False,) * len(args), every, *alone, *others]


@each_kind
def test_agrees_with_the_plain_definition(kind: str, compiled: bool) -> None:
    for sizes, reverse in itertools.product(BLOCKS if compiled else SIZES, (False, True)):
        for width in (1, 17) if compiled else (3,):
            args = arguments(kind, sizes, reverse, width)
            expected = plain(kind, args)
            for needs in some_needs(args):
                for dtype in (np.float32,) if compiled else (np.float64, np.float32):
                    compare(kind, compiled, args, needs, expected, dtype)


@each_kind
def test_memory_layout_makes_no_difference(kind: str, compiled: bool) -> None:
    args = arguments(kind, (18, 17, 2) if compiled else (3, 2, 2), False, 5)
    results, slopes, g = plain(kind, args)
    needs = tuple(isinstance(a, np.ndarray) for a in args)
    for lay in (transposed, strided):
        laid = [lay(a) if isinstance(a, np.ndarray) else a for a in args]
        expected = results, slopes, [lay(d) for d in g]
        compare(kind, compiled, laid, needs, expected, np.float32 if compiled else np.float64)


@each_kind
def test_extreme_values(kind: str, compiled: bool) -> None:
    """Gates far from 0 are 0 or 1, without an overflow; a NaN stays in its own sequence."""
    args = arguments(kind, (3, 3), False)
    args[0][0], args[0][1], args[0][5] = 1e4, -np.inf if compiled else -1e4, np.nan
    args[1][:] = abs(args[1])  # an infinite gate, and not the difference of two
    expected = [np.asarray(o) for o in REGISTRY[kind.partition(" ")[0]].forward(*args)]
    needs = (False,) * len(args)
    with np.errstate(over="ignore" if compiled else "raise", divide="ignore" if compiled else "raise"):
        out = run(kind, compiled, args, needs, [], np.float32 if compiled else np.float64)
    for o, e in zip(out, expected, strict=False):
        np.testing.assert_allclose(o, e, *((2e-5, 2e-5) if compiled else (1e-11, 1e-14)))
        assert np.isnan(o[-1]).all()


@needs_numba
@cases("kind", COMPILED)
def test_any_number_of_threads_gives_the_same_bits(kind: str) -> None:
    args = arguments(kind, (50, 49, 33, 17, 3), True, 24)
    g, needs = plain(kind, args)[2], tuple(isinstance(a, np.ndarray) for a in args)
    on_threads(lambda: [a for a in run(kind, True, args, needs, g, np.float32) if a is not None])


@needs_numba
def test_what_is_left_to_numpy() -> None:
    """Projections, other dtypes, and no rows."""
    assert {"gru", "lstm"} <= kernels.CPU_FILES.keys()
    args = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in arguments("lstm", (2, 2), False)]
    forward, none = kernel("lstm", True).forward, (False,) * len(args)
    assert forward(none, *args) is not NotImplemented
    projected = [*args[:2], np.ones((3, 3), np.float32), *args[3:]]
    empty = [np.zeros((0, 12), np.float32), args[1], None, *np.zeros((2, 0, 3), np.float32), (0, 0), False]
    for others in (projected, arguments("lstm", (2, 2), False), empty):
        assert forward(none, *others) is NotImplemented
