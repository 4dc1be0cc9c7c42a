"""``out=`` writes results to existing tensors."""

from typing import Any

import pytest

import minigrad
from tests.support.cases import cases

X = [1.0, 2.0, 3.0, 4.0]


@cases("call", ["take", "cat", "masked_select", "kthvalue", "view"])
def test_an_argument_keeps_its_shape(call: str, device: str) -> None:
    """Writing a result with a different shape to an argument would also change the argument's shape."""
    x = minigrad.tensor(X, device=device)
    index = minigrad.tensor([2, 0], device=device)
    calls: dict[str, Any] = {
        "take": lambda: minigrad.take(x, index, out=x),  # type: ignore[call-arg]
        "cat": lambda: minigrad.cat([index, x], out=x),  # type: ignore[call-arg]
        "masked_select": lambda: minigrad.masked_select(x, x > 2, out=x),  # type: ignore[call-arg]
        "kthvalue": lambda: minigrad.kthvalue(x, 2, out=(x, index)),  # type: ignore[call-arg]
        "view": lambda: minigrad.take(x, index, out=x[1:]),  # type: ignore[call-arg]
    }
    with pytest.raises(RuntimeError, match=r"out= of shape .* is also an argument, or a view of one"):
        calls[call]()
    assert x.tolist() == X


def test_an_argument_of_the_results_shape_takes_it(device: str) -> None:
    x = minigrad.tensor(X, device=device)
    backwards = minigrad.tensor([3, 2, 1, 0], device=device)
    assert minigrad.take(x, backwards, out=x) is x  # type: ignore[call-arg]
    assert x.tolist() == X[::-1]
    minigrad.take(x, backwards[1:], out=x[:3])  # type: ignore[call-arg]
    assert x.tolist() == [2.0, 3.0, 4.0, 1.0]


def test_another_tensor_takes_the_results_shape(device: str) -> None:
    x, out = minigrad.tensor(X, device=device), minigrad.ones(5, device=device)
    assert minigrad.cat([x, x], out=out) is out  # type: ignore[call-arg]
    assert out.tolist() == X + X
