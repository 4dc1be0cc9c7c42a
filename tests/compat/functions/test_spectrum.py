"""Windows, against PyTorch's."""

from typing import Any

import pytest

import minigrad
from tests.support.cases import cases
from tests.support.parity import assert_close, torch

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("hann_window", (), {}),
    ("hamming_window", (), {}),
    ("hamming_window", (), {"alpha": 0.6, "beta": 0.4}),
    ("blackman_window", (), {}),
    ("bartlett_window", (), {}),
    ("kaiser_window", (), {}),
    ("kaiser_window", (), {"beta": 5.0}),
]


@cases("length", [0, 1, 2, 5, 16])
@cases("periodic", [True, False])
@cases("name, args, how", CALLS)
def test_windows(name: str, args: tuple[Any, ...], how: dict[str, Any], periodic: bool, length: int) -> None:
    window = getattr(minigrad, name)(length, periodic, *args, **how, dtype=minigrad.float64)
    expected = getattr(torch, name)(length, periodic, *args, **how, dtype=torch.float64)
    assert_close(window, expected, rtol=1e-8 if name == "kaiser_window" else 1e-10)
    plain = getattr(minigrad, name)(length, periodic, **how)
    assert plain.dtype is minigrad.float32
    assert_close(plain, window.float())


def test_window_options() -> None:
    assert minigrad.hann_window(3, requires_grad=True).requires_grad
    assert minigrad.hann_window(3, dtype=minigrad.float16).dtype is minigrad.float16
    with pytest.raises(RuntimeError, match="negative"):
        minigrad.hann_window(-1)
