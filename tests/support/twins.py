"""A module of ours and PyTorch's, with the same values: their results and gradients side by side."""

from __future__ import annotations

from typing import Any

import minigrad
from minigrad import nn

from .parity import assert_close, host, ours, theirs


def twinned(mine: nn.Module, other: Any, device: str = "cpu") -> tuple[nn.Module, Any]:
    """Both in float64, ours on a device and with PyTorch's values, loaded by PyTorch's names."""
    other = other.double()
    mine.double().load_state_dict({name: ours(host(value)) for name, value in other.state_dict().items()})
    return mine.to(device), other


def pair(array: Any, device: str = "cpu", requires_grad: bool = False) -> tuple[minigrad.Tensor, Any]:
    """One array as a leaf in each library."""
    return ours(array, requires_grad, device), theirs(array, requires_grad)


def compare_gradients(mine: nn.Module, other: Any, rtol: float = 1e-10) -> None:
    """Every parameter's gradient, by name."""
    expected = dict(other.named_parameters())
    found = dict(mine.named_parameters())
    assert list(found) == list(expected)
    for name, parameter in found.items():
        if expected[name].grad is None:
            assert parameter.grad is None, name
            continue
        assert parameter.grad is not None, name
        assert parameter.grad.dtype == parameter.dtype, name
        assert_close(parameter.grad, expected[name].grad, rtol, name)
