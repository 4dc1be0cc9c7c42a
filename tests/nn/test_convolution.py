"""Convolutions against PyTorch: layers, functions, first numbers, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.cases import cases, raises, rng
from tests.support.layer_checks import Make, check_first_numbers, check_float32, check_layer
from tests.support.parity import assert_close, ours, torch
from tests.support.twins import pair

LAYERS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "Conv1d": (lambda n: n.Conv1d(3, 4, 3), (2, 3, 7)),
    "Conv1d of one sample": (lambda n: n.Conv1d(3, 4, 3), (3, 7)),
    "Conv1d of no sample": (lambda n: n.Conv1d(3, 4, 3), (0, 3, 7)),
    "Conv1d strided": (lambda n: n.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2), (2, 4, 9)),
    "Conv1d of one element": (lambda n: n.Conv1d(3, 5, 1, bias=False), (2, 3, 4)),
    "Conv1d same": (lambda n: n.Conv1d(2, 3, 3, padding="same", dilation=2), (2, 2, 6)),
    "Conv1d valid": (lambda n: n.Conv1d(2, 3, 3, padding="valid"), (2, 2, 6)),
    "Conv1d reflect": (lambda n: n.Conv1d(2, 3, 3, padding=2, padding_mode="reflect"), (2, 2, 6)),
    "Conv1d circular": (lambda n: n.Conv1d(2, 3, 5, padding="same", padding_mode="circular"), (2, 2, 6)),
    "Conv1d depthwise": (lambda n: n.Conv1d(4, 4, 3, padding=1, groups=4), (2, 4, 6)),
    "Conv2d": (lambda n: n.Conv2d(3, 4, (2, 3), stride=(1, 2), padding=(0, 1)), (2, 3, 5, 6)),
    "Conv2d of one sample": (lambda n: n.Conv2d(3, 4, 3), (3, 5, 5)),
    "Conv2d in groups": (lambda n: n.Conv2d(4, 4, 3, padding=1, dilation=(1, 2), groups=2), (1, 4, 5, 6)),
    "Conv2d replicate": (lambda n: n.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="replicate"), (1, 2, 4, 5)),
    "Conv2d of patches": (lambda n: n.Conv2d(3, 8, 2, stride=2), (2, 3, 4, 4)),
    "Conv3d": (lambda n: n.Conv3d(2, 3, (1, 2, 2), padding=(0, 1, 1), stride=2), (2, 2, 3, 4, 3)),
    "ConvTranspose1d": (lambda n: n.ConvTranspose1d(3, 4, 3), (2, 3, 5)),
    "ConvTranspose1d of one sample": (lambda n: n.ConvTranspose1d(3, 4, 3, bias=False), (3, 5)),
    "ConvTranspose1d strided": (
        lambda n: n.ConvTranspose1d(4, 6, 3, 3, 2, output_padding=2, groups=2, dilation=2),
        (2, 4, 4),
    ),
    "ConvTranspose2d with room for another place": (
        lambda n: n.ConvTranspose2d(2, 4, 2, (1, 2), (0, 1), (1, 2), groups=2, dilation=(2, 4)),
        (2, 2, 4, 3),
    ),
    "ConvTranspose2d": (
        lambda n: n.ConvTranspose2d(4, 2, (2, 3), stride=2, padding=(0, 1), output_padding=(1, 0)),
        (2, 4, 3, 3),
    ),
    "ConvTranspose3d": (lambda n: n.ConvTranspose3d(2, 2, 2, stride=2, padding=1), (1, 2, 2, 3, 2)),
}


@cases("name", LAYERS)
def test_layer(name: str, device: str) -> None:
    check_layer(*LAYERS[name], device)


@cases("name", ["Conv1d strided", "Conv2d replicate", "ConvTranspose2d"])
def test_layers_keep_float32(name: str, device: str) -> None:
    check_float32(*LAYERS[name], device)


@cases("name", LAYERS)
def test_first_numbers(name: str) -> None:
    check_first_numbers(LAYERS[name][0])


def test_layers_are_made_on_a_device_in_a_dtype(device: str) -> None:
    for layer in (
        nn.Conv1d(2, 3, 3, device=device, dtype=minigrad.float64),
        nn.ConvTranspose2d(2, 3, 3, device=device, dtype=minigrad.float64),
    ):
        assert all(p.device.type == device and p.dtype is minigrad.float64 for p in layer.parameters())


def test_even_kernels_that_keep_the_length(device: str) -> None:
    """PyTorch warns here of the copy that it makes."""
    x, tx = pair(rng.standard_normal((2, 2, 5)), device)
    w, tw = pair(rng.standard_normal((3, 2, 4)), device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = torch.nn.functional.conv1d(tx, tw, padding="same")
    assert_close(F.conv1d(x, w, padding="same"), expected)


def test_output_size_chooses_the_output_padding(device: str) -> None:
    mine, other = nn.ConvTranspose1d(2, 2, 3, stride=3), torch.nn.ConvTranspose1d(2, 2, 3, stride=3)
    x, tx = minigrad.ones(1, 2, 4, device=device), torch.ones(1, 2, 4)
    for size in ([12], [1, 2, 13], (14,)):
        assert mine.to(device)(x, output_size=size).shape == tuple(other(tx, output_size=list(size)).shape)
    with pytest.raises(ValueError, match=r"requested an output size of \(20,\), but valid sizes range from"):
        mine(x, output_size=(20,))


FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "unfold": (lambda f, x: f.unfold(x, (2, 3), dilation=2, padding=1, stride=(2, 1)), (2, 3, 6, 5)),
    "unfold of one sample": (lambda f, x: f.unfold(x, 2), (3, 4, 5)),
    "fold": (lambda f, x: f.fold(x, (4, 5), 2, stride=(2, 1)), (2, 12, 8)),
    "fold of one sample": (lambda f, x: f.fold(x, 3, kernel_size=(2, 2), padding=1), (4, 16)),
    "not contiguous": (lambda f, x: f.conv1d(x.transpose(1, 2), x.transpose(0, 2)[:, :2].mT[:, :2]), (3, 4, 2)),
}


@cases("name", FUNCTIONS)
def test_functions(name: str, device: str) -> None:
    call, shape = FUNCTIONS[name]
    x, tx = pair(rng.standard_normal(shape), device, requires_grad=True)
    out, expected = call(F, x), call(torch.nn.functional, tx)
    assert_close(out, expected)
    out.exp().sum().backward()
    expected.exp().sum().backward()
    assert_close(x.grad, tx.grad)


def test_nothing_at_all_has_gradients(device: str) -> None:
    x = ours(np.zeros((0, 2, 5)), True, device)
    w = ours(np.ones((3, 2, 3)), True, device)
    F.conv1d(x, w).sum().backward()
    assert x.grad is not None and x.grad.shape == (0, 2, 5)
    assert w.grad is not None and not w.grad.any().item()


one = minigrad.ones
ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "channels": (
        lambda: nn.Conv1d(2, 3, 3)(one(1, 4, 5)),
        RuntimeError,
        r"Given groups=1, weight of size \[3, 2, 3\], expected input\[1, 4, 5\] to have 2 "
        "channels, but got 4 channels instead",
    ),
    "axes": (
        lambda: nn.Conv1d(2, 3, 3)(one(4)),
        RuntimeError,
        r"Expected 2D \(unbatched\) or 3D \(batched\) input to conv1d, but got input of size: \[4\]",
    ),
    "short": (
        lambda: nn.Conv2d(2, 3, 3)(one(1, 2, 2, 5)),
        RuntimeError,
        r"padded input size per channel: \(2 x 5\). Kernel size: \(3 x 3\). Kernel size can",
    ),
    "dtype": (lambda: nn.Conv1d(2, 3, 3)(one(1, 2, 5).double()), RuntimeError, "to have the same dtype"),
    "out_channels": (lambda: nn.Conv1d(2, 3, 3, groups=2), ValueError, "out_channels must be divisible"),
    "in_channels": (lambda: nn.Conv1d(3, 2, 3, groups=2), ValueError, "in_channels must be divisible"),
    "no groups": (lambda: nn.Conv1d(3, 2, 3, groups=0), ValueError, "groups must be a positive integer"),
    "padding": (lambda: nn.Conv1d(3, 2, 3, padding="foo"), ValueError, "Invalid padding string 'foo'"),
    "same and stride": (lambda: nn.Conv1d(3, 2, 3, 2, "same"), ValueError, "not supported for strided"),
    "mode": (lambda: nn.Conv1d(3, 2, 3, padding_mode="x"), ValueError, "padding_mode must be one of"),
    "transposed mode": (
        lambda: nn.ConvTranspose1d(3, 2, 3, padding_mode="reflect"),
        ValueError,
        'Only "zeros" padding mode is supported for ConvTranspose1d',
    ),
    "output padding": (
        lambda: nn.ConvTranspose1d(3, 2, 3, output_padding=2)(one(1, 3, 5)),
        RuntimeError,
        "output padding must be smaller than either stride or dilation",
    ),
    "transposed channels": (
        lambda: nn.ConvTranspose1d(3, 2, 3)(one(1, 2, 5)),
        RuntimeError,
        r"Given transposed=1, weight of size \[3, 2, 3\], expected input\[1, 2, 5\]",
    ),
    "bias": (
        lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), one(2)),
        RuntimeError,
        "expected bias to be 1-dimensional with 3 elements",
    ),
    "stride": (lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), stride=0), RuntimeError, "non-positive stride"),
    "negative": (lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), padding=-1), RuntimeError, "negative padding"),
    "numbers": (
        lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), stride=(1, 2)),
        RuntimeError,
        "expected stride to be one integer or 1",
    ),
    "fold": (lambda: F.fold(one(1, 8, 5), (3, 3), 2), RuntimeError, r"sliding blocks as \(2, 2\).*\(1, 8, 5\)"),
}


@cases("name", ERRORS)
def test_errors(name: str) -> None:
    call, error, text = ERRORS[name]
    raises(error, text, call)
