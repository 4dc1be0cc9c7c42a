"""The CUDA kernels, run by the emulator: against NumPy in float64, difference quotients, and PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minigrad.backend import random
from minigrad.backend.kernels import linear_cross_entropy_cuda
from tests.support import kernel_checks, launches
from tests.support.kernel_checks import assert_close, check_slopes, forward, gradients, kernel, namespace, on_device

DTYPES = ("float16", "float32", "float64")
RNG = np.random.default_rng(7)


@pytest.fixture(params=kernel_checks.PLACES, autouse=True)
def place(request: pytest.FixtureRequest) -> None:
    """Run each test with the emulator, and on a GPU where there is one."""
    kernel_checks.use(request.param)


def normal(*shape: int, dtype: str = "float64") -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def torch_gradients(function: Any, g: Any, *arrays: Any) -> tuple[Any, ...]:
    """A PyTorch function's result and the gradients of its arguments, in float64."""
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(a.astype("float64"), requires_grad=True) for a in arrays]
    out = function(torch.nn.functional, *tensors)
    out.backward(torch.tensor(g.astype("float64")))
    return (out.detach().numpy(), *(t.grad.numpy() for t in tensors))


# softmax and its relatives


def np_softmax(x: Any, axis: int) -> Any:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((3, 5), -1),
        ((3, 5), 0),
        ((2, 3, 4), 1),
        ((7,), 0),
        ((4, 1), -1),
        ((33, 31), 1),
        ((2, 1025), 1),
        ((0, 4), 1),
        ((4, 0), 1),
        ((0,), 0),
    ],
)
def test_softmax_family(shape: tuple[int, ...], dim: int, dtype: str) -> None:
    x, g = 3 * normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
    if 0 in shape:
        for name in ("softmax", "log_softmax"):
            assert forward(name, x, dim).shape == shape
        return
    wide = x.astype("float64")
    p = np_softmax(wide, dim)
    assert_close(forward("softmax", x, dim), p, dtype)
    assert_close(forward("log_softmax", x, dim), np.log(p), dtype)
    gradient = backward("softmax", p.astype(dtype), g, dim)
    assert_close(gradient, p * (g - (g.astype("float64") * p).sum(dim, keepdims=True)), dtype)
    gradient = backward("log_softmax", np.log(p).astype(dtype), g, dim)
    assert_close(gradient, g - p * g.astype("float64").sum(dim, keepdims=True), dtype)
    assert forward("softmax", x, dim).dtype == dtype


def backward(name: str, out: Any, g: Any, dim: int) -> Any:
    """The gradient of softmax or its logarithm, from the result."""
    return kernel(name).backward((True, False), on_device(out), on_device(g), None, dim)[0].get()


def test_softmax_of_infinities() -> None:
    inf = math.inf
    x = np.array([[-inf, -inf, -inf], [0, -inf, 0], [1e4, 1e4, -1e4], [math.nan, 0, 0]], "float32")
    expected = [[0, 0, 0], [0.5, 0, 0.5], [0.5, 0.5, 0], [math.nan] * 3]
    np.testing.assert_array_equal(forward("softmax", x, 1), np.array(expected, "float32"))


def test_softmax_takes_what_is_not_contiguous() -> None:
    x = normal(6, 4)
    moved = on_device(x)[::2].T
    found = kernel("softmax").forward((True,), moved, -1)[0].get()
    assert_close(found, np_softmax(x[::2].T, -1))


def test_softmax_adds_up_long_rows_well() -> None:
    x = np.zeros((1, 100_000), "float32")
    assert_close(forward("softmax", x, 1), np.full(x.shape, 1e-5), "float32")
    g = np.full(x.shape, 0.1, "float32")
    assert abs(float(backward("log_softmax", x, g, 1)[0, 0]) - (0.1 - 1e4)) < 1e-2


# gelu, dropout


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (3, 301), (0, 3)])
def test_gelu(shape: tuple[int, ...], dtype: str) -> None:
    x, g = np.asarray(2 * normal(*shape), dtype), np.asarray(normal(*shape), dtype)
    for approximate in ("none", "tanh"):
        out, dx = gradients("gelu", g, x, approximate, needs=(0,))
        wide = x.astype("float64")
        if approximate == "none":
            expected = wide * 0.5 * (1 + np.vectorize(math.erf, otypes="d")(wide / math.sqrt(2)))
        else:
            expected = 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
        assert_close(out, expected, dtype)
        if dtype == "float64":
            check_slopes("gelu", x, approximate, needs=(0,))
        _, slope = torch_gradients(lambda f, a, how=approximate: f.gelu(a, approximate=how), g, x)
        assert_close(dx, slope, dtype)


def draws(shape: tuple[int, ...], p: float) -> list[Any]:
    """One mask as an array, and as a draw that is made in the kernel."""
    state = random.default_generator.get_state()
    drawn = random.default_generator.draw(shape, p, namespace())
    random.default_generator.set_state(state)
    return [random.cpu_keep_mask(shape, p), drawn]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5,), (3, 301), (0, 3)])
@pytest.mark.parametrize("p", [0.3, 1.0])
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
    """In the kernel, by array functions, and on the CPU: the same bits of every word."""
    for p in (0.0, 0.3, 0.5, 0.999, 1.0):
        mask, drawn = draws((3, 1003), p)
        np.testing.assert_array_equal(drawn.array().get(), mask)
        np.testing.assert_array_equal(forward("dropout", np.ones((3, 1003)), drawn, 1.0), mask)


@pytest.mark.parametrize("dtype", DTYPES)
def test_relu(dtype: str) -> None:
    x, g = normal(3, 301, dtype=dtype), normal(3, 301, dtype=dtype)
    x[0, :4] = 0, -0.0, np.inf, np.nan
    out, dx = gradients("relu", g, x, needs=(0,))
    np.testing.assert_array_equal(out, np.maximum(x, 0))
    np.testing.assert_array_equal(dx, np.where(x <= 0, 0, g))
    assert kernel("relu").forward((True,), on_device(np.arange(3))) is NotImplemented


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("shape", [(5, 6), (3, 7, 2), (2, 3, 4, 10), (2, 0, 4, 2)])
def test_rotate(shape: tuple[int, ...], back: bool, dtype: str) -> None:
    x, angles = normal(*shape, dtype=dtype), normal(shape[-2], shape[-1] // 2)
    turns = np.stack((np.cos(angles), np.sin(angles)), -1)
    pairs = x.astype("float64").view("complex128") * np.exp((-1j if back else 1j) * angles)
    out = forward("rotate", x, turns.astype("float32" if dtype == "float16" else dtype), back)
    assert out.dtype == dtype
    assert_close(out, pairs.view("float64"), dtype)


def test_rotate_keeps_the_layout() -> None:
    """Heads that were split off a row lie there again: the way back is then a view."""
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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 33), (70, 1), (1, 1100), (0, 4), (300, 40)])
@pytest.mark.parametrize("affine", ["both", "weight", "none"])
def test_layer_norm(shape: tuple[int, ...], affine: str, dtype: str) -> None:
    n = shape[-1]
    x, g = normal(*shape, dtype=dtype) + dtype_one(dtype), normal(*shape, dtype=dtype)
    weight = normal(n, dtype=dtype) if affine != "none" else None
    bias = normal(n, dtype=dtype) if affine == "both" else None
    needs = (0, *((1,) if weight is not None else ()), *((2,) if bias is not None else ()))
    out, *found = gradients("layer_norm", g, x, weight, bias, 1e-5, needs=needs)
    wide = x.astype("float64")
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    expected = expected * (1 if weight is None else weight) + (0 if bias is None else bias)
    assert_close(out, expected, dtype)
    if dtype == "float64" and shape == (2, 3, 33):
        check_slopes("layer_norm", x, weight, bias, 1e-5, needs=needs)
    given = [a for a in (x, weight, bias) if a is not None]
    _, *slopes = torch_gradients(lambda f, a, *wb: f.layer_norm(a, (n,), *wb, eps=1e-5), g, *given)
    for one, other in zip(found, slopes, strict=True):
        assert_close(one, other, dtype)


def dtype_one(dtype: str) -> Any:
    return np.dtype(dtype).type(1)


def test_layer_norm_far_from_zero() -> None:
    x = (normal(4, 64) + 1e4).astype("float32")
    wide = x.astype("float64")
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    assert np.abs(forward("layer_norm", x, None, None, 1e-5) - expected).max() < 5e-3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 33), (70, 1), (1, 1100), (0, 4)])
@pytest.mark.parametrize("weighted", [True, False])
def test_rms_norm(shape: tuple[int, ...], weighted: bool, dtype: str) -> None:
    n = shape[-1]
    x, g = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
    weight = normal(n, dtype=dtype) if weighted else None
    needs = (0, 1) if weighted else (0,)
    out, *found = gradients("rms_norm", g, x, weight, 1e-6, needs=needs)
    wide = x.astype("float64")
    expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * (1 if weight is None else weight)
    assert_close(out, expected, dtype)
    if dtype == "float64" and shape == (2, 3, 33):
        check_slopes("rms_norm", x, weight, 1e-6, needs=needs)
    given = [a for a in (x, weight) if a is not None]
    _, *slopes = torch_gradients(lambda f, a, *w: f.rms_norm(a, (n,), *w, eps=1e-6), g, *given)
    for one, other in zip(found, slopes, strict=True):
        assert_close(one, other, dtype)


# cross-entropy


def np_cross_entropy(x: Any, target: Any, weight: Any, ignore: int, smoothing: float) -> Any:
    """Row by row, as PyTorch defines it."""
    losses = np.zeros(len(x))
    for i, (row, label) in enumerate(zip(x.astype("float64"), target, strict=True)):
        if label == ignore:
            continue
        log_p = row - row.max() - np.log(np.exp(row - row.max()).sum())
        w = np.ones(len(row)) if weight is None else weight.astype("float64")
        losses[i] = -(1 - smoothing) * w[label] * log_p[label]
        if smoothing:
            losses[i] -= smoothing / len(row) * (w * log_p).sum()
    return losses


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "classes"), [(5, 7), (9, 1), (3, 1030), (0, 4), (40, 33)])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(rows: int, classes: int, weighted: bool, smoothing: float, dtype: str) -> None:
    x, g = 2 * normal(rows, classes, dtype=dtype), normal(rows, dtype=dtype)
    target = RNG.integers(0, classes, rows)
    target[::4] = -100
    weight = RNG.random(classes).astype(dtype) if weighted else None
    args = (x, target, weight, -100, smoothing)
    out, dx = gradients("cross_entropy", g, *args, needs=(0,))
    assert_close(out, np_cross_entropy(*args), dtype)
    assert not dx[::4].any()
    if dtype == "float64" and classes == 7:
        check_slopes("cross_entropy", *args, needs=(0,))
    torch = pytest.importorskip("torch")
    w = None if weight is None else torch.tensor(weight.astype("float64"))
    _, slope = torch_gradients(
        lambda f, a: f.cross_entropy(a, torch.tensor(target), w, label_smoothing=smoothing, reduction="none"), g, x
    )
    assert_close(dx, slope, dtype)


def test_cross_entropy_of_infinities_and_wrong_classes() -> None:
    inf = math.inf
    x = np.array([[0, -inf, 0], [0, -inf, 0], [0.0, 0, 0], [0.0, 0, 0]])
    target = np.array([0, 1, 3, -1])
    out, dx = gradients("cross_entropy", np.ones(4), x, target, None, -100, 0.0, needs=(0,))
    np.testing.assert_allclose(out, [math.log(2), inf, math.nan, math.nan])
    np.testing.assert_allclose(dx[0], [-0.5, 0, 0.5])


@pytest.mark.parametrize("classes", [4, 1030])
def test_cross_entropy_of_huge_logits(classes: int) -> None:
    x, target = np.full((2, classes), 1e30), np.array([0, 3])
    out, dx = gradients("cross_entropy", np.ones(2), x, target, None, -100, 0.0, needs=(0,))
    assert_close(out, np.full(2, math.log(classes)))
    assert_close(dx, 1 / classes - np.eye(classes)[target])


def test_cross_entropy_ignores_another_index() -> None:
    x, target = normal(4, 3), np.array([0, 2, 2, 1])
    out, dx = gradients("cross_entropy", np.ones(4), x, target, None, 2, 0.2, needs=(0,))
    assert_close(out, np_cross_entropy(x, target, None, 2, 0.2))
    assert not dx[1:3].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("chunk_rows", [1, 4, 100])
def test_linear_cross_entropy(
    chunk_rows: int, reduction: str, smoothing: float, biased: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_cross_entropy_cuda, "CHUNK_BYTES", chunk_rows * 11 * np.dtype(dtype).itemsize)
    x, weight = normal(9, 6, dtype=dtype), normal(11, 6, dtype=dtype)
    bias = normal(11, dtype=dtype) if biased else None
    target = RNG.integers(0, 11, 9)
    target[2] = target[8] = -100
    args = (x, weight, bias, target, -100, smoothing, reduction)
    needs = (0, 1, 2) if biased else (0, 1)
    g = np.asarray(1.7, dtype)
    out, *found = gradients("linear_cross_entropy", g, *args, needs=needs)
    logits = x.astype("float64") @ weight.T.astype("float64") + (0 if bias is None else bias)
    losses = np_cross_entropy(logits, target, None, -100, smoothing)
    assert_close(out, losses.sum() / (7 if reduction == "mean" else 1), dtype)
    if dtype == "float64":
        check_slopes("linear_cross_entropy", *args, needs=needs)
    torch = pytest.importorskip("torch")
    given = [a for a in (x, weight, bias) if a is not None]
    _, *slopes = torch_gradients(
        lambda f, a, *wb: f.cross_entropy(
            f.linear(a, *wb), torch.tensor(target), label_smoothing=smoothing, reduction=reduction
        ),
        g,
        *given,
    )
    for one, other in zip(found, slopes, strict=True):
        assert_close(one, other, dtype)


def test_linear_cross_entropy_ignores_rows_of_any_size() -> None:
    x, weight = normal(3, 4), normal(5, 4)
    x[1] *= 1e6
    target = np.array([1, -100, 2])
    args = (x, weight, None, target, -100, 0.1, "sum")
    out, dx = gradients("linear_cross_entropy", np.ones(()), *args, needs=(0,))
    assert np.isfinite(out)
    assert np.isfinite(dx).all()
    assert not dx[1].any()


@pytest.mark.parametrize("classes", [40, 1500])  # a warp a row, a block a row
def test_linear_cross_entropy_reads_the_target_before_it_is_overwritten(classes: int) -> None:
    x, weight = normal(24, 3), normal(classes, 3)
    target = RNG.integers(0, classes, 24)
    found = forward("linear_cross_entropy", x, weight, None, target, -100, 0.0, "sum")
    assert_close(found, np_cross_entropy(x @ weight.T, target, None, -100, 0.0).sum())


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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("count", "rows", "n"), [(50, 7, 5), (3, 10, 33), (0, 4, 3), (100, 1, 1), (5, 5, 70), (4, 3, 0)]
)
def test_scatter_add_rows(count: int, rows: int, n: int, dtype: str) -> None:
    g, indices = normal(count, n, dtype=dtype), RNG.integers(0, rows, count)
    expected = np.zeros((rows, n))
    np.add.at(expected, indices, g.astype("float64"))
    found = forward("scatter_add_rows", g, indices, rows)
    assert found.dtype == dtype
    assert_close(found, expected, dtype)
    assert_close(forward("scatter_add_rows", g, indices.astype("int32"), rows), expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", [0, 5, 32, 63])
@pytest.mark.parametrize("frequent", [1, 31, 32, 33, 200])
def test_scatter_add_rows_of_a_frequent_row(frequent: int, start: int, dtype: str) -> None:
    """It is shared by many warps, wherever it begins and ends."""
    indices = np.array([0] * start + [2] * frequent + [4] * 3)
    g = normal(len(indices), 40, dtype=dtype)
    expected = np.zeros((6, 40))
    order = RNG.permutation(len(indices))
    np.add.at(expected, indices[order], g.astype("float64"))
    assert_close(forward("scatter_add_rows", g, indices[order], 6), expected, dtype)


def test_scatter_add_rows_leaves_out_what_is_no_row() -> None:
    g, indices = normal(80, 3), np.array([-1, 7] * 40)
    assert not forward("scatter_add_rows", g, indices, 4).any()


def test_kernels_refuse_integers() -> None:
    with pytest.raises(TypeError, match="floating point"):
        kernel("softmax").forward((True,), on_device(np.arange(3)), 0)


def ones(*shape: int) -> Any:
    return np.ones(shape, "float32")


@pytest.mark.parametrize(
    ("name", "args", "forward_and_backward"),
    [
        ("layer_norm", (ones(9, 5), ones(5), ones(5), 1e-5), (1, 2)),
        ("rms_norm", (ones(9, 5), ones(5), 1e-5), (1, 2)),
        ("linear", (ones(9, 5), ones(3, 5), ones(3)), (2, 3)),
        ("relu_dropout", (ones(9, 5), ones(9, 5) > 0, 2.0), (1, 1)),
        ("gelu", (ones(9, 5), "tanh"), (1, 1)),
        ("linear_cross_entropy", (ones(9, 5), ones(3, 5), None, np.arange(9) % 3, -100, 0.1, "mean"), (9, 4)),
    ],
)
def test_launches(name: str, args: Any, forward_and_backward: tuple[int, int]) -> None:
    """Each launch costs a GPU microseconds, whatever it computes."""
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
