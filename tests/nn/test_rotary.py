"""Rotary positions: the paper's equation, distances, offsets, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn


def host(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def test_it_follows_the_equation(device: str) -> None:
    """Equation 15, pair by pair."""
    layer = nn.RotaryPositionalEncoding(6, max_len=50).to(device)
    x = minigrad.randn(2, 50, 6, device=device)
    found, given = host(layer(x)), host(x)
    for t, i in ((0, 0), (1, 0), (7, 1), (49, 2)):
        angle = t / 10000 ** (2 * i / 6)
        turn = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        pair = slice(2 * i, 2 * i + 2)
        np.testing.assert_allclose(found[:, t, pair], given[:, t, pair] @ np.transpose(turn), atol=1e-5)
    assert not layer.state_dict() and not list(layer.parameters())


def test_products_depend_on_distances_alone(device: str) -> None:
    layer = nn.RotaryPositionalEncoding(8, max_len=40).to(device)
    q, k = minigrad.randn(8, device=device), minigrad.randn(8, device=device)
    scores = host(layer(q.expand(20, 8)) @ layer(k.expand(20, 8)).T)
    for distance in (-7, 0, 3):
        np.testing.assert_allclose(np.diagonal(scores, distance), scores.diagonal(distance)[0], atol=1e-5)
    assert abs(scores[5, 2] - scores[2, 5]) > 1e-3
    later = host(layer(q.expand(20, 8), offset=20) @ layer(k.expand(20, 8), offset=20).T)
    np.testing.assert_allclose(later, scores, atol=1e-5)


def test_any_layout_and_offset(device: str) -> None:
    """Heads are a view of (B, T, H, Dh), as attention has them; a token alone is what it is among others."""
    layer = nn.RotaryPositionalEncoding(4, max_len=10).to(device)
    x = minigrad.randn(2, 5, 3, 4, device=device)
    heads = x.transpose(1, 2)
    found = host(layer(heads))
    np.testing.assert_array_equal(found, host(layer(heads.contiguous())))
    np.testing.assert_array_equal(host(layer(heads[:, :, 3:4], offset=3)), found[:, :, 3:4])
    np.testing.assert_array_equal(host(layer(heads.mT.contiguous().mT)), found)  # last axis in strides
    assert layer(heads[:, :, :0]).shape == (2, 3, 0, 4)


def test_dtypes(device: str) -> None:
    layer, x = nn.RotaryPositionalEncoding(4, max_len=6).to(device), minigrad.randn(3, 4, device=device)
    assert layer(x).dtype is minigrad.float32
    exact = nn.RotaryPositionalEncoding(4, max_len=6, dtype=minigrad.float64).to(device)
    assert exact(x.double()).dtype is minigrad.float64
    np.testing.assert_allclose(host(exact(x.double())), host(layer(x)), atol=1e-6)
    half = layer(x.half())
    assert half.dtype is minigrad.float16
    np.testing.assert_allclose(host(half), host(layer(x)), atol=1e-2)


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"head_dim \(5\) must be even"):
        nn.RotaryPositionalEncoding(5)
    layer = nn.RotaryPositionalEncoding(4, max_len=5)
    with pytest.raises(RuntimeError, match=r"positions 3 \.\. 5 are outside 0 \.\. max_len - 1 = 4"):
        layer(minigrad.ones(1, 3, 4), offset=3)
    with pytest.raises(RuntimeError, match=r"positions -1 \.\. 1 are outside"):
        layer(minigrad.ones(1, 3, 4), offset=-1)
    with pytest.raises(RuntimeError, match=r"expected \(\.\.\., T, 4\), but got \(1, 3, 6\)"):
        layer(minigrad.ones(1, 3, 6))
    with pytest.raises(RuntimeError, match=r"expected \(\.\.\., T, 4\), but got \(4,\)"):
        layer(minigrad.ones(4))
    assert repr(layer) == "RotaryPositionalEncoding(4, max_len=5, base=10000)"
