"""Positional encodings: the papers' formulas, layouts, offsets, distances, errors."""

import math
from typing import Any

import numpy as np

import minigrad
from minigrad import nn
from tests.support.cases import cases, raises
from tests.support.parity import host


def formula(t: int, j: int, width: int) -> float:
    angle = t / 10000 ** ((j - j % 2) / width)
    return math.cos(angle) if j % 2 else math.sin(angle)


@cases("width", [6, 7])
def test_sinusoids_follow_the_formula(width: int, device: str) -> None:
    layer = nn.SinusoidalPositionalEncoding(width, max_len=50).to(device)
    actual = host(layer(minigrad.zeros(1, 50, width, device=device)))[0]
    expected = [[formula(t, j, width) for j in range(width)] for t in range(50)]
    np.testing.assert_allclose(actual, expected, atol=1e-7)
    assert not layer.state_dict() and not list(layer.parameters())


@cases("kind", [nn.SinusoidalPositionalEncoding, nn.LearnedPositionalEncoding])
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


def test_dropout_and_dtype() -> None:
    layer = nn.SinusoidalPositionalEncoding(4, dropout=0.5)
    x = minigrad.ones(1, 30, 4)
    assert (layer(x) == 0).any().item() and not (layer.eval()(x) == 0).any().item()
    assert layer(x).dtype is minigrad.float32 and layer.double()(x.double()).dtype is minigrad.float64


def test_rotary_positions_follow_the_equation(device: str) -> None:
    """Equation 15, pair by pair."""
    layer = nn.RotaryPositionalEncoding(6, max_len=50).to(device)
    x = minigrad.randn(2, 50, 6, device=device)
    actual, passed = host(layer(x)), host(x)
    for t, i in ((0, 0), (1, 0), (7, 1), (49, 2)):
        angle = t / 10000 ** (2 * i / 6)
        turn = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        pair = slice(2 * i, 2 * i + 2)
        np.testing.assert_allclose(actual[:, t, pair], passed[:, t, pair] @ np.transpose(turn), atol=1e-5)
    assert not layer.state_dict() and not list(layer.parameters())


def test_rotary_positions_in_any_layout_and_at_any_offset(device: str) -> None:
    """Heads are a view of (B, T, H, Dh), as in attention; a single token is rotated as in a sequence."""
    layer = nn.RotaryPositionalEncoding(4, max_len=10).to(device)
    x = minigrad.randn(2, 5, 3, 4, device=device)
    heads = x.transpose(1, 2)
    actual = host(layer(heads))
    np.testing.assert_array_equal(actual, host(layer(heads.contiguous())))
    np.testing.assert_array_equal(host(layer(heads[:, :, 3:4], offset=3)), actual[:, :, 3:4])
    np.testing.assert_array_equal(host(layer(heads.mT.contiguous().mT)), actual)  # last axis with strides
    assert layer(heads[:, :, :0]).shape == (2, 3, 0, 4)


def test_dtypes_of_rotary_positions(device: str) -> None:
    layer, x = nn.RotaryPositionalEncoding(4, max_len=6).to(device), minigrad.randn(3, 4, device=device)
    assert layer(x).dtype is minigrad.float32
    exact = nn.RotaryPositionalEncoding(4, max_len=6, dtype=minigrad.float64).to(device)
    assert exact(x.double()).dtype is minigrad.float64
    np.testing.assert_allclose(host(exact(x.double())), host(layer(x)), atol=1e-6)
    half = layer(x.half())
    assert half.dtype is minigrad.float16
    np.testing.assert_allclose(host(half), host(layer(x)), atol=1e-2)


def test_errors() -> None:
    for kind in (nn.SinusoidalPositionalEncoding, nn.RotaryPositionalEncoding):
        layer: Any = kind(4, max_len=5)
        words = "positions 3 to 5 are out of range for max_len = 5"
        raises(RuntimeError, words, lambda layer=layer: layer(minigrad.ones(1, 3, 4), offset=3))
    other = nn.SinusoidalPositionalEncoding(4, max_len=5)
    raises(RuntimeError, "with D = d_model = 4", lambda: other(minigrad.ones(1, 3, 5)))
    raises(ValueError, "head_dim must be even, not 5", lambda: nn.RotaryPositionalEncoding(5))
    raises(RuntimeError, "positions -1 to 1 are out of range", lambda: layer(minigrad.ones(1, 3, 4), offset=-1))
    raises(RuntimeError, r"expected \(\.\.\., T, 4\), but got \(1, 3, 6\)", lambda: layer(minigrad.ones(1, 3, 6)))
    raises(RuntimeError, r"expected \(\.\.\., T, 4\), but got \(4,\)", lambda: layer(minigrad.ones(4)))
    assert repr(layer) == "RotaryPositionalEncoding(4, max_len=5, base=10000)"
