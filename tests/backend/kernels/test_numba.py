"""Compiled row and element kernels against their ops in float64. (Larger kernels have separate files.)"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from minigrad.backend import random
from minigrad.backend.kernels import dropout_numba, softmax_numba
from tests.support.cases import cases, each
from tests.support.compiled_checks import check, close, kernel, needs_numba, run, same_bits
from tests.support.plain_checks import normal, on_threads, plain

pytestmark = needs_numba
SHAPES = [(), (1,), (3,), (8,), (17,), (5, 64), (3, 2, 100), (700, 100)]
LONG = [(4096,), (4097,), (64, 65), (3, 17, 101), (5000, 1), (700, 100)]  # from 4096 elements on
ROWS = [(1, 2), (3, 5), (7, 8), (5, 17), (9, 64), (3, 100), (2, 3, 257), (6,), (1000, 33), (300, 384)]
ACROSS = [((5, 3), 0), ((4, 70, 3), 1), ((2, 3, 4, 5), -3), ((3, 5, 256), 1), ((2, 300, 257), 1), ((4, 1, 1000), 1)]
GROUPS = [((2, 4, 3), 2), ((3, 6, 5, 7), 3), ((2, 6, 2, 2, 2), 1), ((40, 4, 17), 4), ((7, 6), 2), ((2, 64, 28, 28), 32)]
CLASSES = [(1, 2), (4, 3), (7, 8), (5, 17), (3, 64), (9, 100), (5, 1), (2000, 33), (7, 1025)]
ELEMENTS = ("exp", "relu", "sigmoid", "silu", "tanh")
Case = tuple[str, list[Any], tuple[int, ...]]  # an op, its arguments, and the arguments with a gradient


def single(x: Any) -> Any:
    """float32 numbers in float64."""
    return x.astype(np.float32).astype(np.float64)


def labels(shape: tuple[int, int]) -> Any:
    target = np.random.default_rng(2).integers(0, shape[1], shape[0])
    target[::3] = -100
    return target


def all_cases() -> Iterator[Case]:
    for shape in SHAPES:
        x, keep = np.asarray(3 * normal(*shape)), np.asarray(normal(*shape, seed=2)) > 0
        yield from (("gelu", [x, kind], (0,)) for kind in ("none", "tanh"))
        yield from ((name, [x, keep, p], (0,)) for name in ("dropout", "relu_dropout") for p in (1.25, 0.0))
    for name, shape in itertools.product(ELEMENTS, LONG):
        yield name, [3 * normal(*shape)], (0,)
    for shape in ROWS:
        x, weight, bias = normal(*shape), normal(shape[-1], seed=2), normal(shape[-1], seed=3)
        yield "layer_norm", [2 + x, weight, bias, 1e-5], (0, 1, 2)
        yield "layer_norm", [2 + x, weight, None, 1e-3], (0, 1)
        yield "layer_norm", [2 + x, None, bias, 1e-3], (0, 2)
        yield "layer_norm", [2 + x, None, None, 1e-3], (0,)
        yield "rms_norm", [x, weight, 1e-6], (0, 1)
        yield "rms_norm", [x, None, 1e-3], (0,)
        yield from ((name, [single(s * x), -1], (0,)) for name in ("softmax", "log_softmax") for s in (1, 50))
    for name, (shape, dim) in itertools.product(("softmax", "log_softmax"), ACROSS):
        yield name, [normal(*shape), dim], (0,)
    for shape, groups in GROUPS:
        x, weight, bias = 2 + normal(*shape), normal(shape[1], seed=2), normal(shape[1], seed=3)
        yield "group_norm", [x, weight, bias, groups, 1e-5], (0, 1, 2)
        yield "group_norm", [x, None, None, groups, 1e-3], (0,)
        yield "group_norm", [x, weight, None, groups, 1e-3], (0, 1)
        yield "group_norm", [x, None, bias, groups, 1e-3], (0, 2)
    for shape in CLASSES:
        weight = np.random.default_rng(3).random(shape[1]) + 0.5
        for smoothing, weights in ((0.0, None), (0.1, weight), (1.0, None), (0.0, weight)):
            yield "cross_entropy", [5 * normal(*shape), labels(shape), weights, -100, smoothing], (0,)
    large, target = single(1000 * normal(6, 9)), np.array([0, 1, 2, 3, 0, 8])
    yield from (("cross_entropy", [large, target.astype(kind), None, 0, 0.0], (0,)) for kind in ("i4", "u1", "i8"))
    for needs in ((0,), (1,), (2,), (0, 2), (1, 2)):
        yield "layer_norm", [normal(70, 9), normal(9, seed=2), normal(9, seed=3), 1e-5], needs
        yield "group_norm", [normal(7, 6, 9), normal(6, seed=2), normal(6, seed=3), 2, 1e-5], needs
    yield from (("rms_norm", [normal(70, 9), normal(9, seed=2), 1e-5], needs) for needs in ((0,), (1,)))
    ends = np.array([0.0, -0.0, 1e-40, -1e-40, 20.0, -20.0, 87.0, -87.0, -104.0, -1e5, -3e38, 0.5, -0.5])
    spoilt = np.tile([np.nan, 1.0, np.inf, -1.0, -np.inf], 1000)
    for name in ELEMENTS:
        yield name, [np.tile(ends if name == "exp" else [*ends, 100.0, 1e5, 3e38], 400)], (0,)
        yield name, [spoilt], (0,)
    far = np.array([8.0, 30.0, 1e4, 1e15, 1e25, 3e38])
    yield from (("gelu", [np.concatenate([far, -far]), kind], (0,)) for kind in ("none", "tanh"))
    x = np.array([np.nan, np.inf, -np.inf, 1e-40, 3e38] * 7)  # products with 0, as in PyTorch
    yield from ((name, [x, np.arange(35) % 2 == 0, 1.0], (0,)) for name in ("dropout", "relu_dropout"))


CASES = list(all_cases())
NAMES = sorted({name for name, *_ in CASES})


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name: str) -> None:
    each([c for c in CASES if c[0] == name], lambda c: check(name, *c[1], differentiable=c[2]))


X, KEEP = normal(3, 70_001), normal(3, 70_001, seed=1) > 0
THREADS: list[Case] = [
    *((name, [X], (0,)) for name in ELEMENTS),
    *(("gelu", [X, kind], (0,)) for kind in ("none", "tanh")),
    *((name, [X, KEEP, 2.0], (0,)) for name in ("dropout", "relu_dropout")),
    *((name, [normal(5000, 33), 1], (0,)) for name in ("softmax", "log_softmax")),
    *((name, [normal(9, 40, 700), 1], (0,)) for name in ("softmax", "log_softmax")),
    ("layer_norm", [normal(1000, 33), normal(33, seed=2), normal(33, seed=3), 1e-5], (0, 1, 2)),
    ("layer_norm", [normal(20000, 3), normal(3, seed=2), normal(3, seed=3), 1e-5], (0, 1, 2)),
    ("rms_norm", [normal(1000, 33), normal(33, seed=2), 1e-5], (0, 1)),
    ("group_norm", [normal(33, 8, 20, 20), normal(8, seed=2), normal(8, seed=3), 4, 1e-5], (0, 1, 2)),
    *(("cross_entropy", [normal(3000, 65), labels((3000, 65)), w, -100, 0.1], (0,)) for w in (None, normal(65) ** 2)),
]


def test_any_number_of_threads_gives_the_same_bits() -> None:
    assert {name for name, *_ in THREADS} == {*NAMES}
    each(THREADS, lambda c: same_bits(c[0], *c[1], differentiable=c[2]))


def refused() -> Iterator[tuple[str, list[Any]]]:
    """Other dtypes, and empty arrays."""
    y, empty = np.zeros((2, 3)), np.zeros((0, 3), np.float32)
    for name in ELEMENTS:
        yield from ((name, [x]) for x in (np.ones((4096, 0), "f"), np.ones(9, "f"), np.ones(5000), np.float32(1), 2.0))
    for x in (y, y.astype(np.float16), empty):
        yield "gelu", [x, "none"]
        yield "cross_entropy", [x, np.zeros(len(x), np.int64), None, -100, 0.0]
        yield "group_norm", [x[..., None], None, None, 1, 1e-5]
        yield "layer_norm", [x, None, None, 1e-5]
        yield "rms_norm", [x, None, 1e-5]
        yield from ((name, [x, -1]) for name in ("softmax", "log_softmax"))
        yield from ((name, [x, x > 0, 2.0]) for name in ("dropout", "relu_dropout"))
    yield "softmax", [np.zeros((), "f"), -1]
    yield "dropout", [np.ones((2, 3), "f"), np.ones(3, bool), 2.0]
    yield "dropout", [np.ones(3, "f"), np.ones(3, np.uint8), 2.0]
    yield "layer_norm", [np.ones((3, 4), "f"), np.ones(4), None, 1e-5]


@cases("name, args", refused())
def test_inputs_for_numpys_kernel(name: str, args: list[Any]) -> None:
    assert kernel(name).forward((True, *(False for _ in args[1:])), *args) is NotImplemented


# elements


@cases("kind", ["none", "tanh"])
def test_numbers_that_are_not_finite_affect_no_others(kind: str) -> None:
    x = np.array([1.0, np.nan, -1.0, np.inf, 2.0, -np.inf, 0.5, 1e-40, -0.0, 3.0, -3.0], np.float32)
    out, derivatives = run("gelu", [x, kind], (0,), np.ones(x.size))
    finite = np.isfinite(x)
    assert np.isfinite(out[finite]).all() and np.isfinite(derivatives[0][finite]).all()
    assert np.isnan(out[1]) and np.isnan(derivatives[0][1]) and out[3] == np.inf


def test_the_normal_distribution() -> None:
    """Φ(x) = gelu(x) / x, against Python's erfc: within 1e-7, and within a relative 1e-5 where it is small."""
    x = np.linspace(-9, 9, 20_000, dtype=np.float32)
    expected = np.array([0.5 * math.erfc(-n / math.sqrt(2)) for n in x.tolist()])
    share = run("gelu", [x, "none"], ())[0].astype(np.float64) / x.astype(np.float64)
    np.testing.assert_allclose(share, expected, rtol=0, atol=1.2e-7)
    np.testing.assert_allclose(share, expected, rtol=1e-5, atol=0)


# rows


def test_a_mean_far_from_zero_and_rows_of_one_number() -> None:
    x = 1000 + normal(5, 64)
    x[2] = 3.0
    weights = normal(64, seed=2), normal(64, seed=3)
    check("layer_norm", single(x), *weights, 1e-5, differentiable=(0, 1, 2), tolerance=1e-4)
    check("layer_norm", normal(4, 1), normal(1, seed=2), None, 1e-5, differentiable=(0, 1), tolerance=1e-4)
    check("rms_norm", normal(4, 1), normal(1, seed=2), 1e-5, differentiable=(0, 1))
    x, weights = single(100 + normal(3, 4, 50)), (normal(4, seed=2), normal(4, seed=3))
    check("group_norm", x, *weights, 2, 1e-5, differentiable=(0, 1, 2), tolerance=1e-4)


@cases("name, bad", itertools.product(["layer_norm", "rms_norm", "group_norm"], [np.nan, np.inf, -np.inf]))
def test_a_nan_spoils_only_its_row_or_group(name: str, bad: float) -> None:
    x = normal(4, 4, 20) if name == "group_norm" else normal(4, 20)
    args = {"layer_norm": [x, None, None, 1e-5], "rms_norm": [x, None, 1e-5], "group_norm": [x, None, None, 2, 1e-5]}
    clean, _ = run(name, args[name], (0,))
    x[(1, 3, 7)[: x.ndim]] = bad
    with np.errstate(invalid="ignore"):
        expected = plain(name, args[name], (0,))[0]
    out, _ = run(name, args[name], (0,))
    close(out, expected, name)
    spoilt = (1, slice(2, None)) if name == "group_norm" else (1,)
    out[spoilt] = clean[spoilt]
    np.testing.assert_array_equal(out, clean)


# shares


@cases("name, dim", itertools.product(["softmax", "log_softmax"], [0, 1]))
def test_shares_of_extreme_scores(name: str, dim: int) -> None:
    turned: Any = np.asarray if dim else np.transpose
    rows = normal(7, 20)
    rows[0, 2:], rows[1, 1], rows[2], rows[3] = -np.inf, 3e38, -3e38, -1e30 * np.arange(20)
    rows = single(rows)
    close(run(name, [turned(rows), dim], ())[0], plain(name, [turned(rows), dim], (0,))[0], name)
    rows[4], rows[5] = -np.inf, 0.0
    out = turned(run(name, [turned(rows), dim], ())[0])
    assert (out[4] == 0).all() if name == "softmax" else np.isnan(out[4]).all()
    np.testing.assert_allclose(out[5], 0.05 if name == "softmax" else -np.log(20), rtol=1e-6)
    for bad in (np.nan, -np.nan, np.inf):
        rows[6, 3] = bad
        spoilt = turned(run(name, [turned(rows), dim], ())[0])
        np.testing.assert_array_equal(spoilt[:6], out[:6])
        if name == "softmax" or np.isnan(bad):
            assert np.isnan(spoilt[6]).all()
        else:
            assert np.isnan(spoilt[6, 3]) and not np.isfinite(spoilt[6]).any()


def test_a_logarithm_near_nothing() -> None:
    """ln of a sum just above 1, as exact as the sum is in float32."""
    x = np.stack([np.zeros(2000), -np.linspace(0, 30, 2000)], 1)
    out, _ = run("log_softmax", [x, 1], ())
    np.testing.assert_allclose(out[:, 0], -np.log1p(np.exp(x[:, 1])), atol=2e-7)


# cross-entropy


def test_infinite_logits() -> None:
    """An impossible class, and a row in which every class is impossible."""
    logits = normal(3, 20)
    logits[0, 4] = logits[2] = -np.inf
    loss, _ = run("cross_entropy", [logits, np.array([5, 6, 7]), None, -100, 0.0], (0,))
    assert np.isfinite(loss[:2]).all() and np.isnan(loss[2])
    check("cross_entropy", logits[:2], np.array([5, 6]), None, -100, 0.0, differentiable=(0,))
    loss, _ = run("cross_entropy", [logits[:1], np.array([4]), None, -100, 0.0], (0,))
    assert loss[0] == np.inf


def test_ignored_rows_contribute_nothing() -> None:
    logits, g = normal(3, 20), np.array([1.0, np.nan, 2.0])
    logits[1] = np.nan
    loss, derivatives = run("cross_entropy", [logits, np.array([5, -100, 7]), None, -100, 0.2], (0,), g)
    assert loss[1] == 0 and (derivatives[0][1] == 0).all() and np.isfinite(derivatives[0]).all()


@cases("target", [20, -1, 1 << 40])
def test_a_class_out_of_range_is_not_read(target: int) -> None:
    """The functional form checks targets; a direct call of the op returns NaN, also in the gradient."""
    args = [normal(3, 20), np.array([0, target, 1]), None, -100, 0.1]
    loss, derivatives = run("cross_entropy", args, (0,), np.ones(3))
    np.testing.assert_array_equal(np.isnan(loss), [False, True, False])
    np.testing.assert_array_equal(np.isnan(derivatives[0]).all(axis=1), [False, True, False])


# dropout's masks


@cases("count", [0, 1, 3, 4, 7, 8, 9, 64, 101, 70_001])
def test_masks_have_the_bits_of_the_plain_form(count: int) -> None:
    for bound, seed in itertools.product((0, 1, 6554, 32768, 65535), (0, 1, 2**63 - 1, 2**63, 2**64 - 1)):
        keep = dropout_numba.draw(count, bound, seed)
        assert (keep.dtype, keep.shape) == (np.bool_, (count,))
        assert set(np.unique(keep.view(np.uint8))) <= {0, 1}
        plain_form = random.drawn(seed, count // 4 + 1).view(np.uint16)[:count] >= bound
        np.testing.assert_array_equal(keep, plain_form)


def test_masks_of_any_number_of_threads_are_the_same() -> None:
    on_threads(lambda: [random.Generator().manual_seed(4).keep_mask((301, 999), 0.3)])


def test_no_bit_depends_on_the_memory_of_arrays() -> None:
    """A loop that adds and writes is compiled twice: for separate arrays, and for arrays that may overlap."""
    memory, rows = np.zeros(2000, np.float32), np.random.default_rng(0).standard_normal((5, 8), np.float32)
    loops = softmax_numba
    for loop, count in ((loops.rows, 1), (loops.grad, 2), (loops.log_rows, 1), (loops.log_grad, 2)):
        bits = set()
        for distance in (40, 48, 63, 64, 100, 400):
            *inputs, out = (memory[i * distance :][:40].reshape(5, 8) for i in range(count + 1))
            for array in inputs:
                array[...] = rows
            loop(5, 5, *inputs, out)
            bits.add(out.tobytes())
        assert len(bits) == 1, loop
