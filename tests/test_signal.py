"""Windows of ``torch.signal``, against PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import minigrad
from minigrad.signal import windows
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, torch

CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in windows.__all__ if name != "general_cosine"),
    ("exponential", {"tau": 3.5}),
    ("gaussian", {"std": 0.4}),
    ("general_cosine", {"a": [0.46, 0.23, 0.31]}),
    ("general_cosine", {"a": (0.5,)}),
    ("general_hamming", {"alpha": 0.23}),
    ("kaiser", {"beta": 0.0}),
    ("kaiser", {"beta": 900}),
]


@cases("call, sym, length", itertools.product(CALLS, [True, False], [0, 1, 2, 5, 16]))
def test_windows(call: tuple[str, dict[str, Any]], sym: bool, length: int) -> None:
    name, how = call
    actual = getattr(windows, name)(length, sym=sym, dtype=minigrad.float64, **how)
    if how.get("beta") == 900:  # PyTorch's I₀ is infinite there
        assert ((actual >= 0) & (actual <= 1)).all()
        return
    assert_close(actual, getattr(torch.signal.windows, name)(length, sym=sym, dtype=torch.float64, **how), rtol=1e-9)
    plain = getattr(windows, name)(length, sym=sym, **how)
    assert plain.dtype is minigrad.float32
    assert_close(plain, actual.float())


def test_a_center() -> None:
    expected = torch.signal.windows.exponential(7, center=2.5, sym=False, dtype=torch.float64)
    assert_close(windows.exponential(7, center=2.5, sym=False, dtype=minigrad.float64), expected)
    assert windows.hann(3, requires_grad=True).requires_grad


@cases(
    "call, text",
    [
        (lambda: windows.hann(-1), "hann requires non-negative window length, got M=-1"),
        (lambda: windows.hann(3, dtype=minigrad.int64), "hann expects float32 or float64 dtypes, got: minigrad.int64"),
        (lambda: windows.exponential(3, tau=-1), "Tau must be positive"),
        (lambda: windows.exponential(3, center=1), "Center must be None"),
        (lambda: windows.gaussian(3, std=0), "Standard deviation must be positive"),
        (lambda: windows.kaiser(3, beta=-1), "beta must be non-negative"),
        (lambda: windows.general_cosine(3, a=()), "Coefficients cannot be empty"),
    ],
)
def test_bad_arguments_are_told(call: Any, text: str) -> None:
    raises(ValueError, text, call)
    with pytest.raises(TypeError, match="Coefficients must be a list/tuple"):
        windows.general_cosine(3, a=0.5)  # type: ignore[arg-type]
