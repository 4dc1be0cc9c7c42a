"""Number formats and their promotion, as in PyTorch."""

import itertools
import pickle

import numpy as np
import pytest

import minigrad
from minigrad.backend import dtype as dt
from tests.support.parity import torch


def theirs(d: dt.DType) -> object:
    return getattr(torch, d.name)


def test_promotion_table() -> None:
    for a, b in itertools.product((*dt.ALL, dt.bfloat16), repeat=2):
        assert f"torch.{dt.promote_types(a, b).name}" == str(torch.promote_types(theirs(a), theirs(b)))


def test_which_dtype_can_be_stored_in_which() -> None:
    for a, b in itertools.product((*dt.ALL, dt.bfloat16), repeat=2):
        assert dt.can_cast(a, b) == torch.can_cast(theirs(a), theirs(b)), (a, b)


def test_result_type_ranks_axes_scalars_and_python_numbers() -> None:
    full, empty = np.ones(2, np.int32), np.array(1.0)
    assert dt.result_type(full, empty) is dt.float64
    assert dt.result_type(np.ones(2, np.float32), empty) is dt.float32
    assert dt.result_type(full, 2.5) is dt.float32
    assert dt.result_type(np.ones(2, bool), 3) is dt.int64
    assert dt.result_type(np.ones(2, np.int8), 3, True) is dt.int8
    assert dt.result_type(True) is dt.bool_


def test_names_and_aliases() -> None:
    assert minigrad.float is minigrad.float32 is dt.as_dtype("float") is dt.as_dtype(np.float32) is dt.named("float32")
    assert minigrad.long is dt.as_dtype(int) is dt.as_dtype("torch.int64")
    assert dt.as_dtype(float) is dt.float64 and dt.as_dtype(complex) is dt.complex128
    assert dt.as_dtype(bool) is dt.bool_
    names = {"half": dt.float16, "double": dt.float64, "short": dt.int16, "int": dt.int32}
    assert {name: getattr(minigrad, name) for name in names} == names
    assert repr(dt.int64) == "minigrad.int64"
    assert (dt.float32.itemsize, dt.float32.is_floating_point) == (4, True)
    assert dt.int8.is_signed and not dt.uint8.is_signed
    for d in dt.ALL:
        assert pickle.loads(pickle.dumps(d)) is d
        assert dt.of_numpy(d.numpy) is d


def test_unknown_dtypes() -> None:
    with pytest.raises(TypeError, match=r"'real' is not a dtype: expected one of bool, uint8"):
        dt.named("real")
    for unknown in (np.ones(1, np.clongdouble), np.array(["a"]), np.ones(1, ">f4")):
        with pytest.raises(TypeError, match="not supported; convert to one of"):
            dt.of(unknown)
