"""Positional encodings: the paper's formula, layouts, offsets, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn


def host(tensor: Any) -> Any:
    """A tensor or an array as a NumPy array."""
    return tensor.detach().cpu().numpy() if isinstance(tensor, minigrad.Tensor) else tensor


def formula(t: int, j: int, width: int) -> float:
    angle = t / 10000 ** ((j - j % 2) / width)
    return math.cos(angle) if j % 2 else math.sin(angle)


@pytest.mark.parametrize("width", [6, 7])
def test_sinusoids_follow_the_formula(width: int, device: str) -> None:
    layer = nn.SinusoidalPositionalEncoding(width, max_len=50).to(device)
    found = host(layer(minigrad.zeros(1, 50, width, device=device)))[0]
    expected = [[formula(t, j, width) for j in range(width)] for t in range(50)]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert not layer.state_dict() and not list(layer.parameters())


@pytest.mark.parametrize("kind", [nn.SinusoidalPositionalEncoding, nn.LearnedPositionalEncoding])
def test_layouts_and_offsets(kind: type[nn.Module], device: str) -> None:
    first, second = kind(4, max_len=10), kind(4, max_len=10, batch_first=False)
    if isinstance(first, nn.LearnedPositionalEncoding):
        second.load_state_dict(first.state_dict())
    first, second = first.to(device), second.to(device)
    x = minigrad.randn(2, 3, 4, device=device)
    np.testing.assert_array_equal(host(first(x)), host(second(x.transpose(0, 1)).transpose(0, 1)))
    np.testing.assert_array_equal(host(first(x[0])), host(first(x)[0]))
    np.testing.assert_array_equal(host(first(x[:, 2:], offset=2)), host(first(x)[:, 2:]))


def test_learned_positions_learn(device: str) -> None:
    layer = nn.LearnedPositionalEncoding(4, max_len=6).to(device)
    assert 0.01 < layer.weight.std().item() < 0.03
    layer(minigrad.zeros(2, 3, 4, device=device)).sum().backward()
    np.testing.assert_array_equal(host(layer.weight.grad)[:, 0], [2, 2, 2, 0, 0, 0])


def test_errors() -> None:
    layer = nn.SinusoidalPositionalEncoding(4, max_len=5)
    with pytest.raises(RuntimeError, match=r"positions 3 \.\. 5 are outside 0 \.\. max_len - 1 = 4"):
        layer(minigrad.ones(1, 3, 4), offset=3)
    with pytest.raises(RuntimeError, match="with D = d_model = 4"):
        layer(minigrad.ones(1, 3, 5))


def test_dropout_and_dtype() -> None:
    layer = nn.SinusoidalPositionalEncoding(4, dropout=0.5)
    x = minigrad.ones(1, 30, 4)
    assert (layer(x) == 0).any().item() and not (layer.eval()(x) == 0).any().item()
    assert layer(x).dtype is minigrad.float32
    assert layer.double()(x.double()).dtype is minigrad.float64
