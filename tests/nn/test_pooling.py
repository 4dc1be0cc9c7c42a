"""Pooling against PyTorch: values, indices, gradients, windows that hang over, ties, NaN, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree
from tests.support.cases import cases, programs, raises, rng
from tests.support.layer_checks import check_row
from tests.support.parity import assert_close, host, listed, torch
from tests.support.twins import pair

LAYERS = programs("""
n.MaxPool1d(2) of (2, 3, 7); n.MaxPool1d(3, stride=1) of (3, 7); n.MaxPool1d(3) of (0, 3, 7);
n.MaxPool1d(3, 2, 1, return_indices=True) of (2, 3, 7);
n.MaxPool1d(3, 1, padding=1, dilation=3, ceil_mode=True) of (2, 3, 9); n.MaxPool2d(2) of (2, 3, 6, 5);
n.MaxPool2d((2, 3), (1, 2), padding=1, return_indices=True, ceil_mode=True) of (2, 3, 4, 6);
n.MaxPool2d(3, 2, return_indices=True) of (3, 7, 7); n.MaxPool3d((1, 2, 2), return_indices=True) of (1, 2, 2, 4, 5);
n.AvgPool1d(3) of (2, 3, 8); n.AvgPool1d(3, 2, 1) of (3, 8); n.AvgPool1d(3, 2, 1, ceil_mode=True) of (2, 3, 8);
n.AvgPool1d(4, 3, 2, True, count_include_pad=False) of (2, 3, 9);
n.AvgPool2d((2, 3), padding=(1, 0)) of (2, 3, 5, 6); n.AvgPool2d(3, 2, ceil_mode=True) of (2, 3, 6, 6);
n.AvgPool2d(60_000, ceil_mode=True) of (2, 3, 6, 6);
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


def test_the_way_back(device: str) -> None:
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
def test_values_that_are_not_usual(name: str, device: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        f, x = t.nn.functional, x.detach()
        largest = [f.max_pool1d(x, 3, 1, padding, return_indices=True) for padding in (0, 1)]
        return [largest, f.adaptive_max_pool1d(x, 3), f.avg_pool1d(x, 3, 2, 1)]

    agree(program, VALUES[name], device=device)


def test_integers(device: str) -> None:
    x, tx = pair(rng.randint(-9, 9, (2, 2, 5, 5)), device)
    assert_close(F.max_pool2d(x, 2, padding=1), torch.nn.functional.max_pool2d(tx, 2, padding=1))
    for options in ({}, {"padding": 1, "count_include_pad": False}, {"divisor_override": -3}):
        mean, expected = F.avg_pool2d(x, 2, **options), torch.nn.functional.avg_pool2d(tx, 2, **options)
        assert mean.dtype is minigrad.int64
        assert_close(mean, expected)
    with pytest.raises(NotImplementedError, match=r"avg_pool2d: not provided for .*int8: .*\.float\(\)"):
        F.avg_pool2d(x.to(minigrad.int8), 2)


@cases("stride", [None, (), []])
def test_no_stride_is_the_kernel_size(stride: Any) -> None:
    x = minigrad.arange(16.0).reshape(1, 4, 4)
    assert F.avg_pool2d(x, 2, stride).tolist() == F.avg_pool2d(x, 2, 2).tolist()


def test_every_window_size() -> None:
    """Lengths, kernels, strides, paddings and dilations one by one, with and without hanging over."""
    for length in range(1, 8):
        x, tx = pair(rng.standard_normal((1, 2, length)))
        for kernel, stride, padding, dilation in np.ndindex(4, 3, 3, 3):
            k, s, p, d = kernel + 1, stride + 1, padding, dilation + 1
            for ceil in (False, True):
                calls: list[Callable[[Any, Any], Any]] = [
                    lambda f, x: f.max_pool1d(x, k, s, p, d, ceil, True)  # noqa: B023
                ]
                if d == 1:
                    calls += [
                        lambda f, x, i=include: f.avg_pool1d(x, k, s, p, ceil, i)  # noqa: B023
                        for include in (False, True)
                    ]
                for call in calls:
                    try:
                        expected = call(torch.nn.functional, tx)
                    except RuntimeError:
                        with pytest.raises(RuntimeError):
                            call(F, x)
                        continue
                    if np.isinf(host(listed(expected)[0])).any():  # and an index outside the input
                        with pytest.raises(RuntimeError, match="meets nothing but padding"):
                            call(F, x)
                        continue
                    for f, e in zip(listed(call(F, x)), listed(expected), strict=True):
                        assert_close(f, e, what=f"{length} {k} {s} {p} {d} {ceil}")


def test_errors() -> None:
    x = minigrad.ones(1, 2, 5)
    with pytest.raises(RuntimeError, match="max_pool1d: padding should be at most half of kernel size"):
        F.max_pool1d(x, 3, padding=2)
    raises(RuntimeError, r"max_pool1d: .*Calculated output size: \(0,\)", lambda: F.max_pool1d(x, 6))
    raises(RuntimeError, "stride must be greater than zero", lambda: F.max_pool1d(x, 3, stride=0))
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D .* input to avg_pool2d"):
        F.avg_pool2d(minigrad.ones(2, 5), 2)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        F.avg_pool2d(minigrad.ones(1, 2, 5, 5), 2, divisor_override=0)
    raises(RuntimeError, "output_size must be 2", lambda: F.adaptive_avg_pool2d(minigrad.ones(1, 2, 5, 5), (2, 2, 2)))
    with pytest.raises(RuntimeError, match="expected indices of the input's shape"):
        F.max_unpool1d(x, minigrad.zeros(1, 2, 4, dtype=minigrad.int64), 2)


def test_indices_name_places_of_the_input(device: str) -> None:
    x, _ = pair(rng.standard_normal((2, 3, 5, 6)), device)
    values, cells = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    assert cells.dtype is minigrad.int64
    flat = host(x).reshape(2, 3, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, host(cells).reshape(2, 3, -1), 2), host(values).reshape(2, 3, -1)
    )


@cases("axes", [2, 3])
@cases("how", [{"output_size": 2}, {"output_ratio": 0.6}, {"output_size": 1}])
def test_fractional_max_pool(axes: int, how: dict[str, Any], device: str) -> None:
    name = f"FractionalMaxPool{axes}d"
    mine, other = (getattr(n, name)(2, **how, return_indices=True) for n in (nn, torch.nn))
    assert repr(mine) == repr(other)
    for shape in ((2, 3, 5, 6, 7), (3, 5, 6, 7)) if axes == 3 else ((2, 3, 5, 7), (3, 5, 7)):
        x, tx = pair(rng.standard_normal(shape), device, requires_grad=True)
        minigrad.manual_seed(3)
        torch.manual_seed(3)
        (out, places), (expected, expected_places) = mine(x), other(tx)
        assert_close(out, expected)
        assert_close(places, expected_places)
        out.exp().sum().backward()
        expected.exp().sum().backward()
        assert_close(x.grad, tx.grad)
    raises(RuntimeError, r"pool size and output size are too large", lambda: getattr(nn, name)(5, output_size=4)(x))
    raises(ValueError, "requires specifying either", lambda: getattr(nn, name)(2))
    raises(ValueError, "only one of output_size and output_ratio", lambda: getattr(nn, name)(2, 2, 0.5))
    raises(ValueError, "must be between 0 and 1", lambda: getattr(nn, name)(2, output_ratio=1.5))


@cases("pool", ["max_pool", "avg_pool"])
@cases("axes", [1, 2, 3])
def test_only_a_batch_may_be_empty(pool: str, axes: int, device: str) -> None:
    mine, others = (getattr(f, f"{pool}{axes}d") for f in (F, torch.nn.functional))
    lengths = (4,) * axes
    empty = minigrad.ones(0, 3, *lengths, device=device)
    assert mine(empty, 2).shape == others(torch.ones(0, 3, *lengths), 2).shape
    for shape in ((0, *lengths), (2, 0, *lengths)):
        with pytest.raises(RuntimeError, match="only the batch may be empty"):
            mine(minigrad.ones(*shape, device=device), 2)
        with pytest.raises(RuntimeError):
            others(torch.ones(*shape), 2)


def test_fractional_max_pool_of_an_empty_batch(device: str) -> None:
    x = minigrad.ones(0, 2, 6, 5, device=device)
    values, indices = F.fractional_max_pool2d(x, 2, output_size=3, return_indices=True)
    assert values.shape == indices.shape == (0, 2, 3, 3)
