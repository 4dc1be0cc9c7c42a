"""Storage formats, which have few ops: rounded, refused, saved and printed as in PyTorch."""

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import dtype as dt
from tests.support.cases import cases, raises
from tests.support.parity import torch

pytest.importorskip("ml_dtypes")
EIGHT = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
UNSIGNED = ["uint16", "uint32", "uint64"]
VALUES = [0, 1, 2, 3, 1.3, 17.7, -2.2, 1e3, 1e6, np.inf, -np.inf, np.nan, 1e-9, 0.0019, 448, 464, 465, 57344, 61440]
each_of_8_bits = cases("name", EIGHT)
each_dtype = cases("name", [*EIGHT, *UNSIGNED])


def _bytes(x: Any) -> list[int]:
    return list(x.view((mg if isinstance(x, mg.Tensor) else torch).uint8).tolist())


def _both(name: str) -> tuple[mg.Tensor, Any]:
    """The numbers from 1 to 6 in both libraries."""
    return mg.arange(1, 7).to(getattr(mg, name)), torch.arange(1, 7).to(getattr(torch, name))


@each_of_8_bits
@cases("source", ["float32", "float64", "bfloat16"])
def test_rounded_as_pytorch_rounds(name: str, source: str) -> None:
    ours = mg.tensor(VALUES).to(getattr(mg, source)).to(getattr(mg, name))
    theirs = torch.tensor(VALUES).to(getattr(torch, source)).to(getattr(torch, name))
    np.testing.assert_array_equal(ours.double().numpy(), theirs.double().numpy())
    tensor = mg.tensor(VALUES, dtype=getattr(mg, name))
    np.testing.assert_array_equal(tensor.float().numpy(), torch.tensor(VALUES, dtype=theirs.dtype).float().numpy())


@cases("name", [*EIGHT, *UNSIGNED, "bfloat16", "float16", "float32", "int8", "int64"])
def test_limits_are_shown_as_pytorch_shows_them(name: str) -> None:
    limits = "iinfo" if "int" in name else "finfo"
    ours, theirs = (getattr(library, limits)(getattr(library, name)) for library in (mg, torch))
    assert repr(ours) == repr(theirs)
    a, b = getattr(mg, name), getattr(torch, name)
    assert (a.itemsize, a.is_floating_point, a.is_signed) == (b.itemsize, b.is_floating_point, b.is_signed)


@each_dtype
def test_moved_compared_and_shown(name: str) -> None:
    """Joined, indexed and selected in the same dtype."""
    index = [1, 2]
    for use in (
        lambda t, y: y,
        lambda t, y: y.reshape(2, 3).t().contiguous(),
        lambda t, y: t.cat([y, y]),
        lambda t, y: t.stack([y, y]),
        lambda t, y: y[t.tensor(index)],
        lambda t, y: y[t.tensor([True] + [False] * 5)],
        lambda t, y: t.where(t.tensor([True, False] * 3), y, y[0]),
        lambda t, y: y == y,
        lambda t, y: y.clone().fill_(2),
        lambda t, y: t.zeros(6).copy_(y),
    ):
        ours, theirs = (use(*pair) for pair in zip((mg, torch), _both(name), strict=True))
        assert repr(ours).replace("minigrad.", "torch.").split() == repr(theirs).split()


@each_of_8_bits
def test_not_computed_with(name: str) -> None:
    y, _ = _both(name)
    for compute in (lambda: y + y, lambda: y * 2, lambda: y.sum(), lambda: y < 2, lambda: -y, lambda: y.sqrt()):
        with pytest.raises(NotImplementedError, match=f"not implemented for '{name.capitalize()}'"):
            compute()
    raises(TypeError, "Got unsupported ScalarType Float8", lambda: y.numpy())


@each_dtype
@cases("other", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64", "float8_e5m2"])
def test_promoted_as_in_pytorch(name: str, other: str) -> None:
    """8-bit floats promote with no other dtype, unsigned integers only with floats."""
    try:
        expected = torch.promote_types(getattr(torch, name), getattr(torch, other))
    except RuntimeError as error:
        for pair in ((name, other), (other, name)):
            with pytest.raises(RuntimeError, match=str(error).partition(",")[0]):
                mg.promote_types(*(getattr(mg, n) for n in pair))
    else:
        promoted = mg.promote_types(getattr(mg, name), getattr(mg, other))
        assert promoted.name == str(expected).removeprefix("torch.")


@each_dtype
def test_copied_pickled_and_saved(name: str) -> None:
    """In our files, PyTorch's files, and safetensors.torch's files."""
    y, theirs = _both(name)
    for twin in (
        copy.deepcopy(y),
        pickle.loads(pickle.dumps(y)),
        _saved(y, mg.save),
        mg.load(_file(theirs, torch.save)),
    ):
        assert (twin.dtype, _bytes(twin)) == (y.dtype, _bytes(theirs))


def _file(obj: Any, save: Any) -> io.BytesIO:
    file = io.BytesIO()
    save(obj, file)
    file.seek(0)
    return file


def _saved(obj: Any, save: Any) -> Any:
    return mg.load(_file(obj, save))


def test_pairs_of_4_bits_are_stored() -> None:
    bits = mg.arange(6, dtype=mg.uint8)
    pairs = bits.view(mg.float4_e2m1fn_x2)
    assert (pairs.dtype, pairs.shape, pairs.nbytes) == (mg.float4_e2m1fn_x2, (6,), 6)
    assert mg.cat([pairs, pairs.reshape(2, 3)[1]]).view(mg.uint8).tolist() == [0, 1, 2, 3, 4, 5, 3, 4, 5]
    assert "float4_e2m1fn_x2" in repr(pairs)
    raises(NotImplementedError, "not implemented for 'Float4_e2m1fn_x2'", lambda: mg.ones(2).to(mg.float4_e2m1fn_x2))
    raises(TypeError, "finfo", lambda: mg.finfo(mg.float4_e2m1fn_x2))


def test_unsigned_integers_of_64_bits() -> None:
    assert mg.tensor([2**64 - 1, 3], dtype=mg.uint64).tolist() == [2**64 - 1, 3]
    assert dt.of_numpy(np.dtype("u8")) is mg.uint64
