"""The CUDA kernels, run by the emulator, against the plain definitions of their ops in float64."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from minigrad.backend import random
from minigrad.backend.kernels import cross_entropy_cuda
from tests.support import kernel_checks, launches
from tests.support.cases import cases
from tests.support.kernel_checks import assert_close, check, forward, gradients, kernel, namespace, on_device

DTYPES = ("float16", "float32", "float64")
RNG = np.random.default_rng(7)


@pytest.fixture(params=kernel_checks.PLACES, autouse=True)
def place(request: pytest.FixtureRequest) -> None:
    """Run each test with the emulator, and on a GPU if there is one."""
    kernel_checks.use(request.param)


def normal(*shape: int, dtype: str = "float64") -> Any:
    return RNG.standard_normal(shape).astype(dtype)


# softmax and its relatives

AXES = [
    *(((3, 5), -1), ((3, 5), 0), ((2, 3, 4), 1), ((7,), 0), ((4, 1), -1), ((33, 31), 1), ((2, 1025), 1)),
    *(((0, 4), 1), ((4, 0), 1), ((0,), 0)),
]


@cases("shape, dim", AXES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_family(name: str, shape: tuple[int, ...], dim: int) -> None:
    if 0 in shape:
        assert forward(name, normal(*shape), dim).shape == shape
    else:
        check(name, 3 * normal(*shape), dim, needs=(0,))


def test_softmax_of_infinities() -> None:
    inf = math.inf
    x = np.array([[-inf, -inf, -inf], [0, -inf, 0], [1e4, 1e4, -1e4], [math.nan, 0, 0]], "float32")
    expected = [[0, 0, 0], [0.5, 0, 0.5], [0.5, 0.5, 0], [math.nan] * 3]
    np.testing.assert_array_equal(forward("softmax", x, 1), np.array(expected, "float32"))


def test_softmax_takes_arrays_that_are_not_contiguous() -> None:
    x = normal(6, 4)
    out = kernel("softmax").forward((True,), on_device(x)[::2].T, -1)[0].get()
    assert_close(out, forward("softmax", x[::2].T.copy(), -1))


def test_softmax_adds_up_long_rows_well() -> None:
    x, g = np.zeros((1, 100_000), "float32"), np.full((1, 100_000), 0.1, "float32")
    assert_close(forward("softmax", x, 1), np.full(x.shape, 1e-5), "float32")
    assert abs(float(gradients("log_softmax", g, x, 1, needs=(0,))[1][0, 0]) - (0.1 - 0.1)) < 1e-5


# gelu, dropout


@cases("shape", [(), (5,), (3, 301), (0, 3)])
def test_gelu(shape: tuple[int, ...]) -> None:
    for approximate in ("none", "tanh"):
        check("gelu", np.asarray(2 * normal(*shape)), approximate, needs=(0,))


def draws(shape: tuple[int, ...], p: float) -> list[Any]:
    """One mask as an array, and as a draw that the kernel makes."""
    state = random.default_generator.get_state()
    draw = random.default_generator.draw(shape, p, namespace())
    random.default_generator.set_state(state)
    return [random.default_generator.keep_mask(shape, p), draw]


@cases("dtype", DTYPES)
@cases("shape", [(5,), (3, 301), (0, 3)])
@cases("p", [0.3, 1.0])
def test_dropout(p: float, shape: tuple[int, ...], dtype: str) -> None:
    x, g = (normal(*shape, dtype=dtype) for _ in range(2))
    scale = 1 / 0.7
    mask, _ = both = draws(shape, p)
    wide = x.astype("float64")
    for keep in both:
        out = forward("dropout", x, keep, scale)
        assert out.dtype == dtype
        assert_close(out, wide * mask * scale, dtype)
        out, dx = gradients("relu_dropout", g, x, keep, scale, needs=(0,))
        assert_close(out, np.maximum(wide, 0) * mask * scale, dtype)
        assert_close(dx, g * ((x > 0) & mask) * scale, dtype)


def test_a_draw_is_its_mask() -> None:
    """The kernel, array functions and the CPU produce the same bits in every word."""
    for p in (0.0, 0.3, 0.5, 0.999, 1.0):
        mask, draw = draws((3, 1003), p)
        np.testing.assert_array_equal(draw.array().get(), mask)
        np.testing.assert_array_equal(forward("dropout", np.ones((3, 1003)), draw, 1.0), mask)


@cases("dtype", DTYPES)
def test_relu(dtype: str) -> None:
    x, g = normal(3, 301, dtype=dtype), normal(3, 301, dtype=dtype)
    x[0, :4] = 0, -0.0, np.inf, np.nan
    out, dx = gradients("relu", g, x, needs=(0,))
    np.testing.assert_array_equal(out, np.maximum(x, 0))
    np.testing.assert_array_equal(dx, np.where(x <= 0, 0, g))
    assert kernel("relu").forward((True,), on_device(np.arange(3))) is NotImplemented


@cases("dtype", DTYPES)
@cases("back", [False, True])
@cases("shape", [(5, 6), (3, 7, 2), (2, 3, 4, 10), (2, 0, 4, 2)])
def test_rotate(shape: tuple[int, ...], back: bool, dtype: str) -> None:
    x, angles = normal(*shape, dtype=dtype), normal(shape[-2], shape[-1] // 2)
    turns = np.stack((np.cos(angles), np.sin(angles)), -1)
    pairs = x.astype("float64").view("complex128") * np.exp((-1j if back else 1j) * angles)
    out = forward("rotate", x, turns.astype("float32" if dtype == "float16" else dtype), back)
    assert out.dtype == dtype
    assert_close(out, pairs.view("float64"), dtype)


def test_rotate_keeps_the_layout() -> None:
    """Heads split from a row are again side by side in memory, so that merging them is a view."""
    x, turns = normal(2, 5, 3, 4), normal(5, 2, 2)
    heads = on_device(x).transpose(0, 2, 1, 3)
    out = kernel("rotate").forward((False,), heads, on_device(turns), False)[0]
    assert out.transpose(0, 2, 1, 3).flags.c_contiguous
    assert_close(out.get(), forward("rotate", x.transpose(0, 2, 1, 3).copy(), turns, False))
    expanded = namespace().broadcast_to(on_device(x[:, :, :1]), x.shape).transpose(0, 2, 1, 3)
    out = kernel("rotate").forward((False,), expanded, on_device(turns), False)[0]
    assert_close(out.get(), forward("rotate", expanded.get(), turns, False))
    assert kernel("rotate").forward((False,), on_device(x), on_device(turns[:1]), False) is NotImplemented


# normalization


@cases("shape", [(3, 5), (2, 3, 33), (70, 1), (1, 1100), (0, 4), (300, 40)])
def test_norms(shape: tuple[int, ...]) -> None:
    x, weight, bias = normal(*shape) + 1, normal(shape[-1]), normal(shape[-1])
    check("layer_norm", x, weight, bias, 1e-5, needs=(0, 1, 2))
    check("layer_norm", x, weight, None, 1e-5, needs=(0, 1))
    check("layer_norm", x, None, None, 1e-5, needs=(0,))
    check("rms_norm", x, weight, 1e-6, needs=(0, 1))
    check("rms_norm", x, None, 1e-6, needs=(0,))


def test_layer_norm_far_from_zero() -> None:
    x = (normal(4, 64) + 1e4).astype("float32")
    wide = x.astype("float64")
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    assert np.abs(forward("layer_norm", x, None, None, 1e-5) - expected).max() < 5e-3


# cross-entropy


@cases("rows, classes", [(5, 7), (9, 1), (3, 1030), (0, 4), (40, 33)])
def test_cross_entropy(rows: int, classes: int) -> None:
    x, target = 2 * normal(rows, classes), RNG.integers(0, classes, rows)
    target[::4] = -100
    for weight, smoothing in ((None, 0.0), (None, 0.1), (RNG.random(classes), 0.0), (RNG.random(classes), 0.1)):
        check("cross_entropy", x, target, weight, -100, smoothing, needs=(0,))
    check("cross_entropy", x, target % classes, None, 2, 0.2, needs=(0,))  # with a different ignored label


def test_cross_entropy_of_infinities_and_wrong_classes() -> None:
    inf = math.inf
    x = np.array([[0, -inf, 0], [0, -inf, 0], [0.0, 0, 0], [0.0, 0, 0]])
    target = np.array([0, 1, 3, -1])
    out, dx = gradients("cross_entropy", np.ones(4), x, target, None, -100, 0.0, needs=(0,))
    np.testing.assert_allclose(out, [math.log(2), inf, math.nan, math.nan])
    np.testing.assert_allclose(dx[0], [-0.5, 0, 0.5])


@cases("classes", [4, 1030])
def test_cross_entropy_of_huge_logits(classes: int) -> None:
    x, target = np.full((2, classes), 1e30), np.array([0, 3])
    out, dx = gradients("cross_entropy", np.ones(2), x, target, None, -100, 0.0, needs=(0,))
    assert_close(out, np.full(2, math.log(classes)))
    assert_close(dx, 1 / classes - np.eye(classes)[target])


LOSSES = [  # reduction, smoothing, with a bias, rows per chunk
    *(("mean", 0.0, True, 1), ("sum", 0.1, True, 4), ("mean", 0.1, False, 4), ("sum", 0.0, False, 1)),
    *(("sum", 0.1, False, 100), ("mean", 0.0, True, 100)),
]


@cases("reduction, smoothing, biased, chunk_rows", LOSSES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linear_cross_entropy(
    reduction: str, smoothing: float, biased: bool, chunk_rows: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy_cuda, "CHUNK_BYTES", chunk_rows * 11 * np.dtype(dtype).itemsize)
    target = RNG.integers(0, 11, 9)
    target[2] = target[8] = -100
    bias, needs = (normal(11), (0, 1, 2)) if biased else (None, (0, 1))
    args = (normal(9, 6), normal(11, 6), bias, target, -100, smoothing, reduction)
    check("linear_cross_entropy", *args, needs=needs, dtypes=(dtype,))


def test_linear_cross_entropy_ignores_rows_of_any_size() -> None:
    x, weight = normal(3, 4), normal(5, 4)
    x[1] *= 1e6
    target = np.array([1, -100, 2])
    args = (x, weight, None, target, -100, 0.1, "sum")
    out, dx = gradients("linear_cross_entropy", np.ones(()), *args, needs=(0,))
    assert np.isfinite(out)
    assert np.isfinite(dx).all()
    assert not dx[1].any()


@cases("classes", [40, 1500])  # one warp per row, one block per row
def test_linear_cross_entropy_reads_the_target_before_it_is_overwritten(classes: int) -> None:
    args = (normal(24, 3), normal(classes, 3), None, RNG.integers(0, classes, 24), -100, 0.0, "sum")
    check("linear_cross_entropy", *args, needs=(0,), dtypes=("float64",))


def test_linear_cross_entropy_of_nothing() -> None:
    x, weight = normal(3, 4), normal(5, 4)
    ignored = np.full(3, -100)
    args = (x, weight, None, ignored, -100, 0.0, "mean")
    out, dx = gradients("linear_cross_entropy", np.ones(()), *args, needs=(0,))
    assert np.isnan(out)
    assert not dx.any()
    empty = forward("linear_cross_entropy", x[:0], weight, None, ignored[:0], -100, 0.0, "sum")
    assert empty == 0


# embedding gradient


def check_rows(g: Any, indices: Any, rows: int) -> None:
    expected = np.zeros((rows, g.shape[1]))
    np.add.at(expected, indices, g.astype("float64"))
    for kind in ("int64", "int32"):
        out = forward("scatter_add_rows", g, indices.astype(kind), rows)
        assert out.dtype == g.dtype
        assert_close(out, expected, g.dtype.name)


@cases("count, rows, n", [(50, 7, 5), (3, 10, 33), (0, 4, 3), (100, 1, 1), (5, 5, 70), (4, 3, 0)])
def test_scatter_add_rows(count: int, rows: int, n: int) -> None:
    for dtype in DTYPES:
        check_rows(normal(count, n, dtype=dtype), RNG.integers(0, rows, count), rows)


@cases("start, frequent", itertools.product([0, 5, 32, 63], [1, 31, 32, 33, 200]))
def test_scatter_add_rows_of_a_frequent_row(start: int, frequent: int) -> None:
    """Many warps share it, wherever it begins and ends."""
    indices = RNG.permutation([0] * start + [2] * frequent + [4] * 3)
    check_rows(normal(len(indices), 40, dtype=DTYPES[start % 3]), indices, 6)


def test_scatter_add_rows_skips_indices_of_no_row() -> None:
    g, indices = normal(80, 3), np.array([-1, 7] * 40)
    assert not forward("scatter_add_rows", g, indices, 4).any()


def test_kernels_refuse_integers() -> None:
    with pytest.raises(TypeError, match="floating point"):
        kernel("softmax").forward((True,), on_device(np.arange(3)), 0)


def ones(*shape: int) -> Any:
    return np.ones(shape, "float32")


@cases(
    "name, args, forward_and_backward",
    [
        ("layer_norm", (ones(9, 5), ones(5), ones(5), 1e-5), (1, 2)),
        ("rms_norm", (ones(9, 5), ones(5), 1e-5), (1, 2)),
        ("relu_dropout", (ones(9, 5), ones(9, 5) > 0, 2.0), (1, 1)),
        ("gelu", (ones(9, 5), "tanh"), (1, 1)),
        ("linear_cross_entropy", (ones(9, 5), ones(3, 5), None, np.arange(9) % 3, -100, 0.1, "mean"), (9, 4)),
    ],
)
def test_launches(name: str, args: Any, forward_and_backward: tuple[int, int]) -> None:
    """Each launch costs a GPU microseconds, regardless of its work."""
    if namespace().__name__ != "strict_cupy":
        pytest.skip("launches are counted on the stand-in")
    module, moved = kernel(name), tuple(map(on_device, args))
    needs = tuple(hasattr(a, "dtype") and a.dtype.kind == "f" for a in args)
    with launches.count() as forwards:
        out, saved = module.forward(needs, *moved)
    g = on_device(np.ones(out.shape, "float32"))
    with launches.count() as backwards:
        module.backward(needs, saved, g, *moved)
    assert (forwards.launches, backwards.launches) == forward_and_backward
