"""Pooling against PyTorch: values, indices, gradients, windows beyond the end, ties, NaN, errors."""

import itertools
from typing import Any

import numpy as np

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree
from tests.support.cases import cases, programs, raises, rng
from tests.support.layer_checks import check_row
from tests.support.parity import assert_close, host, listed, ours, torch
from tests.support.twins import pair

LAYERS = programs("""
n.MaxPool1d(2) of (2, 3, 7); n.MaxPool1d(3, stride=1) of (3, 7); n.MaxPool1d(3) of (0, 3, 7);
n.MaxPool1d(3, 2, 1, return_indices=True) of (2, 3, 7);
n.MaxPool1d(3, 1, padding=1, dilation=3, ceil_mode=True) of (2, 3, 9); n.MaxPool2d(2) of (2, 3, 6, 5);
n.MaxPool2d((2, 3), (1, 2), padding=1, return_indices=True, ceil_mode=True) of (2, 3, 4, 6);
n.MaxPool2d(3, 2, return_indices=True) of (3, 7, 7); n.MaxPool3d((1, 2, 2), return_indices=True) of (1, 2, 2, 4, 5);
n.AvgPool1d(3) of (2, 3, 8); n.AvgPool1d(3, 2, 1) of (3, 8); n.AvgPool1d(3, 2, 1, ceil_mode=True) of (2, 3, 8);
n.AvgPool1d(4, 3, 2, True, count_include_pad=False) of (2, 3, 9); n.AvgPool2d((2, 3), padding=(1, 0)) of (2, 3, 5, 6);
n.AvgPool2d(3, 2, ceil_mode=True) of (2, 3, 6, 6); n.AvgPool2d(60_000, ceil_mode=True) of (2, 3, 6, 6);
n.AvgPool2d((9, 2), (1, 2), (4, 0), ceil_mode=True) of (2, 3, 3, 5);
n.MaxPool2d((9, 2), (1, 2), (4, 0), ceil_mode=True) of (2, 3, 3, 5);
n.AvgPool2d(2, divisor_override=3) of (2, 3, 4, 4);
n.AvgPool3d((1, 2, 2), count_include_pad=False, padding=(0, 1, 1)) of (1, 2, 2, 3, 4);
n.AdaptiveAvgPool1d(3) of (2, 3, 7); n.AdaptiveAvgPool1d(1) of (3, 7); n.AdaptiveAvgPool1d(5) of (2, 3, 3);
n.AdaptiveAvgPool2d((None, 2)) of (2, 3, 4, 6); n.AdaptiveAvgPool2d(1) of (2, 3, 4, 6);
n.AdaptiveAvgPool3d((1, 2, 3)) of (1, 2, 3, 4, 4); n.AdaptiveMaxPool1d(3, return_indices=True) of (2, 3, 7);
n.AdaptiveMaxPool2d((2, None), return_indices=True) of (2, 3, 5, 4); n.AdaptiveMaxPool3d(2) of (1, 2, 3, 4, 5)
""")


@cases("row", LAYERS)
def test_layers(row: str, device: str) -> None:
    check_row(row, device)


@cases("p", [2, 3.0])
def test_lp_pool(p: float, device: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        layers = [t.nn.LPPool1d(p, 3), t.nn.LPPool1d(p, 3, 2, ceil_mode=True)]
        return [*(layer(x) for layer in layers), t.nn.LPPool2d(p, 2)(x.unsqueeze(1)), repr(layers)]

    agree(program, rng.uniform(0.5, 2, (2, 3, 7)), device=device)


def test_unpooling(device: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        values, cells = t.nn.functional.max_pool2d(x, 2, return_indices=True)
        sizes = [t.nn.MaxUnpool2d(2)(values, cells, size) for size in (None, x.shape)]
        small = t.nn.MaxUnpool1d(2)(t.tensor([[1.0, 2.0]]), t.tensor([[1, 2]]))
        return [*sizes, repr(t.nn.MaxUnpool1d(2, 3)), small]

    agree(program, rng.standard_normal((2, 3, 7, 6)), device=device)

    def of_three_axes(t: Any, x: Any) -> Any:
        largest, places = t.nn.MaxPool3d(2, return_indices=True)(x)
        return t.nn.MaxUnpool3d(2)(largest, places, output_size=(4, 5, 6)) + t.nn.LPPool3d(3.0, 2)(x).sum()

    agree(of_three_axes, rng.uniform(0.5, 2, (2, 3, 4, 5, 6)), device=device)


VALUES = {
    "ties": np.array([[[1.0, 1, 1, 0, 0, 0, 2, 2]]]),
    "NaN": np.array([[[1.0, np.nan, 0, 3, -1, np.nan, np.nan, 2]]]),
    "infinities": np.array([[[-np.inf, -np.inf, -np.inf, -np.inf, np.inf, 1, -np.inf, np.inf]]]),
}


@cases("name", VALUES)
def test_unusual_values(name: str, device: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        f, x = t.nn.functional, x.detach()
        largest = [f.max_pool1d(x, 3, 1, padding, return_indices=True) for padding in (0, 1)]
        return [largest, f.adaptive_max_pool1d(x, 3), f.avg_pool1d(x, 3, 2, 1)]

    agree(program, VALUES[name], device=device)


def test_integers(device: str) -> None:
    options: list[dict[str, Any]] = [{}, {"padding": 1, "count_include_pad": False}, {"divisor_override": -3}]

    def program(t: Any, x: Any) -> list[Any]:
        f = t.nn.functional
        return [f.max_pool2d(x, 2, padding=1), *(f.avg_pool2d(x, 2, **how) for how in options)]

    agree(program, rng.randint(-9, 9, (2, 2, 5, 5)), device=device)
    small, words = minigrad.ones(1, 2, 2).to(minigrad.int8), r"avg_pool2d: not implemented for .*int8: .*\.float\(\)"
    raises(NotImplementedError, words, lambda: F.avg_pool2d(small, 2))


def test_no_stride_is_the_kernel_size() -> None:
    x = minigrad.arange(16.0).reshape(1, 4, 4)
    assert all(F.avg_pool2d(x, 2, stride).equal(F.avg_pool2d(x, 2, 2)) for stride in (None, (), []))


def test_every_window_size() -> None:
    """Lengths, kernels, strides, paddings and dilations one by one, with and without ceil_mode."""
    names = vars(F)
    for length in range(1, 8):
        x, tx = pair(rng.standard_normal((1, 2, length)))
        for kernel, stride, padding, dilation in np.ndindex(4, 3, 3, 3):
            k, s, p, d = kernel + 1, stride + 1, padding, dilation + 1
            for ceil in (False, True):
                pools = [f"max_pool1d(x, {k}, {s}, {p}, {d}, {ceil}, True)"]
                pools += [f"avg_pool1d(x, {k}, {s}, {p}, {ceil}, {pad})" for pad in (False, True) if d == 1]
                for pool in pools:
                    try:
                        expected = listed(eval(pool, {"x": tx, **vars(torch.nn.functional)}))
                    except RuntimeError:
                        expected = [tx * np.nan]
                    if np.isfinite(host(expected[0])).all():
                        for f, e in zip(listed(eval(pool, {"x": x, **names})), expected, strict=True):
                            assert_close(f, e, name=f"{length}: {pool}")
                    else:  # refused, or infinite, and an index outside the input
                        raises(RuntimeError, None, lambda pool=pool, x=x: eval(pool, {"x": x, **names}))  # type: ignore[misc]


def test_errors() -> None:
    x, planes = minigrad.ones(1, 2, 5), minigrad.ones(1, 2, 5, 5)
    raises(RuntimeError, "max_pool1d: padding should be at most half of kernel", lambda: F.max_pool1d(x, 3, padding=2))
    raises(RuntimeError, r"max_pool1d: .*Calculated output size: \(0,\)", lambda: F.max_pool1d(x, 6))
    raises(RuntimeError, "stride must be greater than zero", lambda: F.max_pool1d(x, 3, stride=0))
    words = r"Expected 3D \(unbatched\) or 4D .* input to avg_pool2d"
    raises(RuntimeError, words, lambda: F.avg_pool2d(x[0], 2))
    raises(RuntimeError, "divisor must be not zero", lambda: F.avg_pool2d(planes, 2, divisor_override=0))
    raises(RuntimeError, "output_size must be 2", lambda: F.adaptive_avg_pool2d(planes, (2, 2, 2)))
    places = minigrad.zeros(1, 2, 4, dtype=minigrad.int64)
    raises(RuntimeError, "expected indices of the input's shape", lambda: F.max_unpool1d(x, places, 2))


HOWS: list[dict[str, Any]] = [{"output_size": 2}, {"output_ratio": 0.6}, {"output_size": 1}]


@cases("axes, how", itertools.product([2, 3], HOWS))
def test_fractional_max_pool(axes: int, how: dict[str, Any], device: str) -> None:
    name = f"FractionalMaxPool{axes}d"

    def program(t: Any, x: Any) -> list[Any]:
        t.manual_seed(3)
        layer = getattr(t.nn, name)(2, **how, return_indices=True)
        return [layer(x), layer(x[0]), repr(layer)]

    x = rng.standard_normal((2, 3, 5, 6, 7)[: axes + 2])
    agree(program, x, device=device)
    assert getattr(nn, name)(2, **how)(ours(x[:0], device=device)).shape[:2] == (0, 3)
    make = getattr(nn, name)
    raises(RuntimeError, r"pool size and output size are too large", lambda: make(5, output_size=4)(ours(x)))
    raises(ValueError, "requires specifying either", lambda: make(2))
    raises(ValueError, "only one of output_size and output_ratio", lambda: make(2, 2, 0.5))
    raises(ValueError, "must be between 0 and 1", lambda: make(2, output_ratio=1.5))


@cases("pool", ["max_pool", "avg_pool"])
@cases("axes", [1, 2, 3])
def test_only_a_batch_may_be_empty(pool: str, axes: int, device: str) -> None:
    mine, others = (getattr(f, f"{pool}{axes}d") for f in (F, torch.nn.functional))
    lengths = (4,) * axes
    empty = minigrad.ones(0, 3, *lengths, device=device)
    assert mine(empty, 2).shape == others(torch.ones(0, 3, *lengths), 2).shape
    for shape in ((0, *lengths), (2, 0, *lengths)):
        x, tx = minigrad.ones(*shape, device=device), torch.ones(*shape)
        raises(RuntimeError, "only the batch may be empty", lambda x=x: mine(x, 2))
        raises(RuntimeError, None, lambda tx=tx: others(tx, 2))
