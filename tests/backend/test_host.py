"""NumPy arrays on the CPU, from lists, arrays and tensors."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend.host import host
from tests.support.cases import cases


@cases("make", [lambda x: x, minigrad.tensor, np.asarray, lambda x: minigrad.tensor(x).array])
def test_lists_arrays_and_tensors(make: Any, device: str) -> None:
    numbers = host(make([[1.5, 2.0]]))
    assert isinstance(numbers, np.ndarray) and numbers.tolist() == [[1.5, 2.0]]
    x = minigrad.ones(3, requires_grad=True)
    assert np.shares_memory(host(x), x.array)
    assert host(minigrad.tensor([3.0], device=device)).tolist() == [3.0]


def test_bfloat16_as_float32() -> None:
    pytest.importorskip("ml_dtypes")
    numbers = host(minigrad.tensor([1.5, -2.0]).bfloat16())
    assert (numbers.dtype, numbers.tolist()) == (np.float32, [1.5, -2.0])


def test_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    assert host(torch.tensor([1.5], requires_grad=True)).tolist() == [1.5]
