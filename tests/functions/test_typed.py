"""Legacy typed constructors: sizes or values, types as dtypes, and the default type."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, assert_same_dtype, torch

NAMES = [f"{kind}Tensor" for kind in ("Float", "Double", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool")]
VALUES: list[Any] = [[1, 0], [[1, 0], [1, 1]], (1, 1), range(2), np.array([1, 0]), []]


@cases("name", NAMES)
def test_values_and_sizes(name: str) -> None:
    ours, theirs = getattr(minigrad, name), getattr(torch, name)
    for data in VALUES:
        if not isinstance(data, np.ndarray):
            assert_close(ours(data).float(), theirs(data).float())
        assert_same_dtype(ours(data), theirs(list(data)))
    for sizes in ((), (2,), (2, 3), (0, 2)):
        assert_same_dtype(ours(*sizes), theirs(*sizes))
    assert_same_dtype(ours(minigrad.Size([2, 1])), theirs(torch.Size([2, 1])))
    assert ours([1]).type() == theirs([1]).type() == f"torch.{name}"
    assert isinstance(ours([1]), ours)
    assert isinstance(minigrad.zeros(1), ours) == (name == "FloatTensor")
    assert str(ours) == str(theirs).removeprefix("<class '").removesuffix("'>") == f"torch.{name}"


@cases("name", NAMES)
def test_a_type_is_a_dtype_for_type(name: str) -> None:
    for kind in (getattr(minigrad, name), f"torch.{name}"):
        tensor = minigrad.tensor([0.0, 1.0]).type(kind)
        assert_same_dtype(tensor, torch.tensor([0.0, 1.0]).type(f"torch.{name}"))


def test_devices() -> None:
    assert minigrad.LongTensor([1], device="cpu").tolist() == [1]
    with pytest.raises(RuntimeError, match="expects device type: cpu but device type: cuda"):
        minigrad.FloatTensor([1.0], device="cuda")
    assert not isinstance(minigrad.ones(1), minigrad.cuda.FloatTensor)


def test_typename() -> None:
    for value in (1, "a", [1], int, len):
        assert minigrad.typename(value) == torch.typename(value)
    for dtype in ("float32", "int64", "bool"):
        ours, theirs = (m.ones(1, dtype=getattr(m, dtype)) for m in (minigrad, torch))
        assert minigrad.typename(ours) == torch.typename(theirs)
    assert minigrad.typename(minigrad.nn.Parameter(minigrad.ones(1))) == "torch.FloatTensor"


@pytest.fixture
def default() -> Iterator[None]:
    yield
    minigrad.set_default_dtype(minigrad.float32)


@pytest.mark.usefixtures("default")
def test_the_default_type() -> None:
    minigrad.set_default_tensor_type(minigrad.DoubleTensor)
    assert minigrad.ones(1).dtype is minigrad.tensor(1.0).dtype is minigrad.float64
    minigrad.set_default_tensor_type("torch.FloatTensor")
    assert minigrad.ones(1).dtype is minigrad.float32
    raises(TypeError, "invalid type object", lambda: minigrad.set_default_tensor_type("torch.NoTensor"))
    raises(TypeError, "only floating-point types", lambda: minigrad.set_default_tensor_type(minigrad.LongTensor))
