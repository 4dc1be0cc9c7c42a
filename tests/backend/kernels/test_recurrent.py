"""The kernels ``rnn``, ``gru`` and ``lstm`` against their plain definitions, with their several results."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend import Device, for_device
from minigrad.ops.registry import REGISTRY
from tests.support.plain_checks import _strided, _transposed, close, normal, without_kernel

SIZES: list[tuple[int, ...]] = [(1,), (3, 3), (4, 3, 3, 1), (2, 0), (0, 0)]
KINDS = ["rnn", "rnn relu", "gru", "gru no bias", "lstm", "lstm projected"]


def arguments(kind: str, sizes: tuple[int, ...], reverse: bool, width: int = 3) -> list[Any]:
    n, batch = sum(sizes), sizes[0]
    name, _, option = kind.partition(" ")
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[name] * width
    state = 2 if option == "projected" else width
    x, weight = normal(n, gates), normal(gates, state, seed=1)
    h, c = normal(batch, state, seed=2), normal(batch, width, seed=3)
    middle = {
        "rnn": [],
        "gru": [None if option else normal(gates, seed=4)],
        "lstm": [normal(state, width, seed=5) if option else None],
    }[name]
    last: list[Any] = [option == "relu"] if name == "rnn" else []
    return [x, weight, *middle, h, *([c] if name == "lstm" else []), sizes, reverse, *last]


def plain(name: str, args: list[Any], g: list[Any]) -> tuple[list[Any], list[Any]]:
    """The plain definition's results and gradients, in float64."""
    given = [minigrad.tensor(a, requires_grad=True) if isinstance(a, np.ndarray) else a for a in args]
    with without_kernel(REGISTRY[name]) as op:
        out = op(*given)
    wanted = [t for t in given if isinstance(t, minigrad.Tensor)]
    found = minigrad.autograd.grad(out, wanted, [minigrad.tensor(d) for d in g], materialize_grads=True)
    slopes = iter(f.numpy() for f in found)
    return [o.detach().numpy() for o in out], [next(slopes) if isinstance(a, np.ndarray) else None for a in args]


def arriving(name: str, args: list[Any]) -> list[Any]:
    out = REGISTRY[name].forward(*args)
    return [normal(*o.shape, seed=10 + i) for i, o in enumerate(out)]


def run(name: str, args: list[Any], needs: tuple[bool, ...], g: list[Any]) -> tuple[list[Any], list[Any]]:
    """The kernel's results and gradients; what it was given must be as it was, and may be changed after."""
    kernel = for_device(Device("cpu")).kernels(name)[-1]
    arrays = [a for a in (*args, *g) if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    out, saved = kernel.forward(needs, *args)
    kept = [o.copy() for o in out]
    for o in out:
        o[...] = np.nan  # a program may change results in place: the kernel must not rely on them
    found = kernel.backward(needs, saved, tuple(g), *args) if any(needs) else [None] * len(args)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="the kernel changed what it was given")
    return kept, list(found)


def compare(name: str, args: list[Any], needs: tuple[bool, ...], g: list[Any], expected: Any, dtype: Any) -> None:
    out, found = run(name, args, needs, g)
    for o, e in zip(out, expected[0], strict=True):
        close(o, e, dtype, "value")
    assert [f is not None for f in found] == list(needs)
    for i, f in enumerate(found):
        if f is not None:
            close(f, expected[1][i], dtype, f"gradient of argument {i}")


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_plain_definition(kind: str, sizes: tuple[int, ...], reverse: bool) -> None:
    name, args = kind.partition(" ")[0], arguments(kind, sizes, reverse)
    g = arriving(name, args)
    expected = plain(name, args, g)
    places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    for dtype in (np.float64, np.float32):
        given = [a.astype(dtype) if isinstance(a, np.ndarray) else a for a in args]
        for wanted in itertools.product([False, True], repeat=len(places)):
            needs = [False] * len(args)
            for i, want in zip(places, wanted, strict=True):
                needs[i] = want
            compare(name, given, tuple(needs), [d.astype(dtype) for d in g], expected, dtype)


@pytest.mark.parametrize("lay", [_transposed, _strided])
@pytest.mark.parametrize("kind", KINDS)
def test_memory_layout_makes_no_difference(kind: str, lay: Any) -> None:
    name, args = kind.partition(" ")[0], arguments(kind, (3, 2, 2), False)
    g = arriving(name, args)
    needs = tuple(isinstance(a, np.ndarray) for a in args)
    expected = plain(name, args, g)
    given = [lay(a) if isinstance(a, np.ndarray) else a for a in args]
    compare(name, given, needs, [lay(d) for d in g], expected, np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_values(kind: str) -> None:
    """Gates far from 0 are 0 or 1, without an overflow; a NaN stays in its own sequence."""
    name, args = kind.partition(" ")[0], arguments(kind, (3, 3), False)
    args[0][0], args[0][1], args[0][5] = 1e4, -1e4, np.nan
    expected = [np.asarray(o) for o in REGISTRY[name].forward(*args)]
    with np.errstate(over="raise", divide="raise"):
        found = for_device(Device("cpu")).kernels(name)[-1].forward((False,) * len(args), *args)[0]
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_float16_stays(kind: str) -> None:
    name, args = kind.partition(" ")[0], arguments(kind, (3, 2), True)
    given = [a.astype(np.float16) if isinstance(a, np.ndarray) else a for a in args]
    needs = tuple(isinstance(a, np.ndarray) for a in args)
    out, found = run(name, given, needs, [d.astype(np.float16) for d in arriving(name, args)])
    assert {a.dtype for a in (*out, *(f for f in found if f is not None))} == {np.dtype(np.float16)}
