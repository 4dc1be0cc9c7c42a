"""The compiled kernels ``gru`` and ``lstm`` against their plain definitions."""

import itertools
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend import kernels
from minigrad.compat.ops.registry import REGISTRY
from tests.support import compiled_checks
from tests.support.cases import cases
from tests.support.compiled_checks import needs_numba
from tests.support.plain_checks import normal, on_threads, strided, transposed, without_kernel

pytestmark = needs_numba
KINDS = ["gru", "gru no bias", "lstm"]
BLOCKS: list[tuple[int, ...]] = [(1,), (17, 17, 16, 1), (40, 33, 2, 0), (16, 16)]  # near the loops' block sizes
each_kind = pytest.mark.parametrize("kind", KINDS)


def arguments(kind: str, sizes: tuple[int, ...], reverse: bool, width: int = 3) -> list[Any]:
    """The op's arguments in float64."""
    n, batch = sum(sizes), sizes[0]
    name, _, option = kind.partition(" ")
    gates = {"gru": 3, "lstm": 4}[name] * width
    state = 2 if option == "projected" else width
    x, weight = normal(n, gates), 0.5 * normal(gates, state, seed=1)
    h, c = 0.5 * normal(batch, state, seed=2), normal(batch, width, seed=3)
    middle = {
        "gru": [None if option else normal(gates, seed=4)],
        "lstm": [normal(state, width, seed=5) if option else None],
    }[name]
    return [x, weight, *middle, h, *([c] if name == "lstm" else []), sizes, reverse]


def plain(kind: str, args: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The plain definition's results and gradients, in float64, and the incoming gradients."""
    tensors = [minigrad.tensor(a, requires_grad=True) if isinstance(a, np.ndarray) else a for a in args]
    with without_kernel(REGISTRY[kind.partition(" ")[0]]) as op:
        out = op(*tensors)
    g = [normal(*o.shape, seed=10 + i) for i, o in enumerate(out)]
    leaves = [t for t in tensors if isinstance(t, minigrad.Tensor)]
    derivatives = minigrad.autograd.grad(out, leaves, [minigrad.tensor(d) for d in g], materialize_grads=True)
    left = iter(s.numpy() for s in derivatives)
    return [o.detach().numpy() for o in out], [next(left) if isinstance(a, np.ndarray) else None for a in args], g


def kernel(kind: str) -> Any:
    return compiled_checks.kernel(kind.partition(" ")[0])


def run(kind: str, args: list[Any], needs: tuple[bool, ...], g: Any) -> list[Any]:
    """Results and gradients. The kernel must not change its inputs; its results may be changed afterwards."""
    inputs = [a.astype(np.float32, order="K") if isinstance(a, np.ndarray) else a for a in args]
    derivatives = tuple(d.astype(np.float32, order="K") for d in g)
    arrays = [a for a in (*inputs, *derivatives) if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    out, saved = kernel(kind).forward(needs, *inputs)
    results = [o.copy() for o in out]
    for o in out:
        o[...] = np.nan
    keep = REGISTRY[kind.partition(" ")[0]].plan(sum(1 << i for i, need in enumerate(needs) if need), len(args)).keep
    left = [a if i in keep else None for i, a in enumerate(inputs)]
    gradients = kernel(kind).backward(needs, saved, derivatives, *left) if any(needs) else [None] * len(args)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="the kernel changed what it was given")
    return [*results, *gradients]


def compare(kind: str, args: list[Any], needs: tuple[bool, ...], expected: Any) -> None:
    results, derivatives, g = expected
    actual = run(kind, args, needs, g)
    for number, (a, b, need) in enumerate(
        zip(actual, [*results, *derivatives], [*(True for _ in results), *needs], strict=True)
    ):
        assert (a is not None) == need
        if need:
            compiled_checks.close(a, b, f"result or gradient {number}", 5e-5)


def some_needs(args: list[Any]) -> list[tuple[bool, ...]]:
    """None, all, each by itself, and all but one."""
    every = tuple(isinstance(a, np.ndarray) for a in args)
    alone = [tuple(i == j for j in range(len(args))) for i, is_array in enumerate(every) if is_array]
    others = [tuple(e and not a for e, a in zip(every, one, strict=True)) for one in alone]
    return [(False,) * len(args), every, *alone, *others]


@each_kind
def test_agrees_with_the_plain_definition(kind: str) -> None:
    for sizes, reverse in itertools.product(BLOCKS, (False, True)):
        for width in (1, 17):
            args = arguments(kind, sizes, reverse, width)
            expected = plain(kind, args)
            for needs in some_needs(args):
                compare(kind, args, needs, expected)


@each_kind
def test_memory_layout_makes_no_difference(kind: str) -> None:
    args = arguments(kind, (18, 17, 2), False, 5)
    results, derivatives, g = plain(kind, args)
    needs = tuple(isinstance(a, np.ndarray) for a in args)
    for lay in (transposed, strided):
        inputs = [lay(a) if isinstance(a, np.ndarray) else a for a in args]
        expected = results, derivatives, [lay(d) for d in g]
        compare(kind, inputs, needs, expected)


@each_kind
def test_extreme_values(kind: str) -> None:
    """Gates far from 0 are 0 or 1 without overflow; a NaN stays in its sequence."""
    args = arguments(kind, (3, 3), False)
    args[0][0], args[0][1], args[0][5] = 1e4, -np.inf, np.nan
    args[1][:] = abs(args[1])  # one infinite gate, not the difference of two
    expected = [np.asarray(o) for o in REGISTRY[kind.partition(" ")[0]].forward(*args)]
    needs = (False,) * len(args)
    with np.errstate(over="ignore", divide="ignore"):
        out = run(kind, args, needs, [])
    for o, e in zip(out, expected, strict=False):
        np.testing.assert_allclose(o, e, 2e-5, 2e-5)
        assert np.isnan(o[-1]).all()


@cases("kind", KINDS)
def test_any_number_of_threads_gives_the_same_bits(kind: str) -> None:
    args = arguments(kind, (50, 49, 33, 17, 3), True, 24)
    g, needs = plain(kind, args)[2], tuple(isinstance(a, np.ndarray) for a in args)
    on_threads(lambda: [a for a in run(kind, args, needs, g) if a is not None])


def test_inputs_for_the_plain_definition() -> None:
    """Projections, other dtypes, and no rows."""
    assert {"gru", "lstm"} <= kernels.CPU_FILES.keys()
    args = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in arguments("lstm", (2, 2), False)]
    forward, none = kernel("lstm").forward, (False,) * len(args)
    assert forward(none, *args) is not NotImplemented
    projected = [*args[:2], np.ones((3, 3), np.float32), *args[3:]]
    empty = [np.zeros((0, 12), np.float32), args[1], None, *np.zeros((2, 0, 3), np.float32), (0, 0), False]
    for others in (projected, arguments("lstm", (2, 2), False), empty):
        assert forward(none, *others) is NotImplemented
