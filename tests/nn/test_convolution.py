"""Convolutions against PyTorch: layers, functions, first numbers, errors."""

from collections.abc import Callable
from typing import Any

import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree
from tests.support.cases import cases, programs, raises, rng
from tests.support.layer_checks import check_row
from tests.support.parity import torch

LAYERS = programs("""
n.Conv1d(3, 4, 3) of (2, 3, 7); n.Conv1d(3, 4, 3) of (3, 7); n.Conv1d(3, 4, 3) of (0, 3, 7);
n.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2) of (2, 4, 9); n.Conv1d(3, 5, 1, bias=False) of (2, 3, 4);
n.Conv1d(2, 3, 3, padding="same", dilation=2) of (2, 2, 6); n.Conv1d(2, 3, 3, padding="valid") of (2, 2, 6);
n.Conv1d(2, 3, 3, padding=2, padding_mode="reflect") of (2, 2, 6);
n.Conv1d(2, 3, 5, padding="same", padding_mode="circular") of (2, 2, 6);
n.Conv1d(4, 4, 3, padding=1, groups=4) of (2, 4, 6);
n.Conv2d(3, 4, (2, 3), stride=(1, 2), padding=(0, 1)) of (2, 3, 5, 6); n.Conv2d(3, 4, 3) of (3, 5, 5);
n.Conv2d(4, 4, 3, padding=1, dilation=(1, 2), groups=2) of (1, 4, 5, 6);
n.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="replicate") of (1, 2, 4, 5);
n.Conv2d(3, 8, 2, stride=2) of (2, 3, 4, 4); n.Conv3d(2, 3, (1, 2, 2), padding=(0, 1, 1), stride=2) of (2, 2, 3, 4, 3);
n.ConvTranspose1d(3, 4, 3) of (2, 3, 5); n.ConvTranspose1d(3, 4, 3, bias=False) of (3, 5);
n.ConvTranspose1d(4, 6, 3, 3, 2, output_padding=2, groups=2, dilation=2) of (2, 4, 4);
n.ConvTranspose2d(2, 4, 2, (1, 2), (0, 1), (1, 2), groups=2, dilation=(2, 4)) of (2, 2, 4, 3);
n.ConvTranspose2d(4, 2, (2, 3), stride=2, padding=(0, 1), output_padding=(1, 0)) of (2, 4, 3, 3);
n.ConvTranspose3d(2, 2, 2, stride=2, padding=1) of (1, 2, 2, 3, 2)
""")


@cases("row", LAYERS)
def test_layers(row: str, device: str) -> None:
    check_row(row, device)


@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_even_kernels_that_keep_the_length(device: str) -> None:
    program = lambda t, x, w: t.nn.functional.conv1d(x, w, padding="same")
    agree(program, rng.standard_normal((2, 2, 5)), rng.standard_normal((3, 2, 4)), device=device)


def test_output_size_chooses_the_output_padding(device: str) -> None:
    mine, other = nn.ConvTranspose1d(2, 2, 3, stride=3), torch.nn.ConvTranspose1d(2, 2, 3, stride=3)
    x, tx = minigrad.ones(1, 2, 4, device=device), torch.ones(1, 2, 4)
    for size in ([12], [1, 2, 13], (14,)):
        assert mine.to(device)(x, output_size=size).shape == tuple(other(tx, output_size=list(size)).shape)
    words = r"requested an output size of \(20,\), but valid sizes range from"
    raises(ValueError, words, lambda: mine(x, output_size=(20,)))


FUNCTIONS: list[tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = [
    (lambda f, x: f.unfold(x, (2, 3), dilation=2, padding=1, stride=(2, 1)), (2, 3, 6, 5)),
    (lambda f, x: f.unfold(x, 2), (3, 4, 5)),
    (lambda f, x: f.fold(x, (4, 5), 2, stride=(2, 1)), (2, 12, 8)),
    (lambda f, x: f.fold(x, 3, kernel_size=(2, 2), padding=1), (4, 16)),
    (lambda f, x: f.conv1d(x.transpose(1, 2), x.transpose(0, 2)[:, :2].mT[:, :2]), (3, 4, 2)),
]


@cases("call, shape", FUNCTIONS)
def test_functions(call: Callable[[Any, Any], Any], shape: tuple[int, ...], device: str) -> None:
    agree(lambda t, x: call(t.nn.functional, x).exp(), rng.standard_normal(shape), device=device)


one = minigrad.ones


def test_errors() -> None:
    words = (
        r"Given groups=1, weight of size \[3, 2, 3\], expected input\[1, 4, 5\] to have 2 channels, but got 4 channels"
    )
    raises(RuntimeError, words, lambda: nn.Conv1d(2, 3, 3)(one(1, 4, 5)))
    words = r"Expected 2D \(unbatched\) or 3D \(batched\) input to conv1d, but got input of size: \[4\]"
    raises(RuntimeError, words, lambda: nn.Conv1d(2, 3, 3)(one(4)))
    words = r"padded input size per channel: \(2 x 5\). Kernel size: \(3 x 3\). Kernel size can"
    raises(RuntimeError, words, lambda: nn.Conv2d(2, 3, 3)(one(1, 2, 2, 5)))
    raises(RuntimeError, "to have the same dtype", lambda: nn.Conv1d(2, 3, 3)(one(1, 2, 5).double()))
    raises(ValueError, "out_channels must be divisible", lambda: nn.Conv1d(2, 3, 3, groups=2))
    raises(ValueError, "in_channels must be divisible", lambda: nn.Conv1d(3, 2, 3, groups=2))
    raises(ValueError, "groups must be a positive integer", lambda: nn.Conv1d(3, 2, 3, groups=0))
    raises(ValueError, "Invalid padding string 'foo'", lambda: nn.Conv1d(3, 2, 3, padding="foo"))
    raises(ValueError, "not supported for strided", lambda: nn.Conv1d(3, 2, 3, 2, "same"))
    raises(ValueError, "padding_mode must be one of", lambda: nn.Conv1d(3, 2, 3, padding_mode="x"))
    words = 'Only "zeros" padding mode is supported for ConvTranspose1d'
    raises(ValueError, words, lambda: nn.ConvTranspose1d(3, 2, 3, padding_mode="reflect"))
    words = "output padding must be smaller than either stride or dilation"
    raises(RuntimeError, words, lambda: nn.ConvTranspose1d(3, 2, 3, output_padding=2)(one(1, 3, 5)))
    words = r"Given transposed=1, weight of size \[3, 2, 3\], expected input\[1, 2, 5\]"
    raises(RuntimeError, words, lambda: nn.ConvTranspose1d(3, 2, 3)(one(1, 2, 5)))
    words = "expected bias to be 1-dimensional with 3 elements"
    raises(RuntimeError, words, lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), one(2)))
    raises(RuntimeError, "non-positive stride", lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), stride=0))
    raises(RuntimeError, "negative padding", lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), padding=-1))
    words = "expected stride to be one integer or 1"
    raises(RuntimeError, words, lambda: F.conv1d(one(1, 2, 5), one(3, 2, 3), stride=(1, 2)))
