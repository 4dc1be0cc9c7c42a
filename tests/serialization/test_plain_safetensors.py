"""What is written without the package safetensors is what the package writes, to the byte."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.serialization import load, load_file, plain_safetensors, save, save_file

INTEGERS = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NUMPY = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64")
EXTRA = ("bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz")
NAMES = ("", "a", "B", "b.weight", "b.weight2", 'quotes" and \\', "line\n\ttab\x01\x7f", "\u00e9\u2028", "\U0001f600")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """minigrad where the package safetensors is missing."""
    forget_package(monkeypatch)


def forget_package(patch: pytest.MonkeyPatch) -> None:
    for name in ("safetensors", "safetensors.numpy"):
        patch.setitem(sys.modules, name, None)


def numbers(kind: Any, shape: tuple[int, ...] = (2, 3)) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(0, 9, shape).astype(kind)


def assert_written_alike(arrays: dict[str, Any], metadata: dict[str, str] | None = None) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    assert plain_safetensors.save(arrays, metadata) == theirs.save(arrays, metadata)


def test_every_dtype_and_shape_and_their_order() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    arrays = {f"{i}{kind}": numbers(kind) for kind in NUMPY for i in "ba"}
    arrays |= {kind: numbers(getattr(ml_dtypes, kind)) for kind in EXTRA}
    arrays["other order"] = arrays["aint32"].astype(arrays["aint32"].dtype.newbyteorder())
    for name, array in arrays.items():
        assert_written_alike({name: array})
    assert_written_alike(arrays)
    for shape in ((), (0,), (1,), (0, 3), (3, 0, 2), (5, 1, 2)):
        assert_written_alike({"x": numbers("float32", shape), "y": numbers("int8", shape), "z": numbers("bool", shape)})


def test_names_and_metadata() -> None:
    assert_written_alike({name: numbers("int16") for name in NAMES})
    assert_written_alike({}, None)
    for metadata in (None, {}, *({name: name} for name in NAMES)):  # of several entries the package has no order
        assert_written_alike({"x": numbers("float64")}, metadata)
    for length in range(17):
        assert_written_alike({"x" * length: numbers("uint8", (length,))}, {"by": "y" * length})


def test_what_lies_apart_in_memory(tmp_path: Path, alone: None) -> None:
    column = numbers("float32", (4, 6))[:, 1]
    assert plain_safetensors.save({"x": column}) == plain_safetensors.save({"x": column.copy()})
    x = minigrad.arange(24.0).reshape(4, 6)
    save_file({"t": x.T, "s": x[::2, 1::3], "e": x[:1].expand(3, 6)}, tmp_path / "x")
    found = load_file(tmp_path / "x")
    assert found["t"].equal(x.T) and found["s"].equal(x[::2, 1::3]) and found["e"].equal(x[:1].expand(3, 6))


def test_save_and_load_without_the_package(tmp_path: Path, alone: None) -> None:
    state = {"weight": minigrad.randn(3, 2), "step": 7, "mask": minigrad.ones(2, dtype=minigrad.bool), "none": None}
    save(state, tmp_path / "state")
    buffer = io.BytesIO()
    save(state, buffer)
    assert buffer.getvalue() == (tmp_path / "state").read_bytes()
    found = load(tmp_path / "state")
    assert found["weight"].equal(state["weight"]) and found["mask"].tolist() == [True, True]
    assert found["step"] == 7 and found["none"] is None


def test_the_package_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    with monkeypatch.context() as patch:
        forget_package(patch)
        save_file({"w": minigrad.arange(3), "e": minigrad.ones(0, 2)}, tmp_path / "x", {"by": "minigrad", "of": "us"})
    found = theirs.load_file(tmp_path / "x")
    assert found["w"].tolist() == [0, 1, 2] and found["w"].dtype == np.int64 and found["e"].shape == (0, 2)


def test_a_file_stays_until_the_next_is_whole(tmp_path: Path, alone: None) -> None:
    save_file({"x": minigrad.ones(2)}, tmp_path / "x")
    with pytest.raises(OSError, match=r"cannot write .*complex128"):
        save_file({"x": minigrad.ones(2, dtype=minigrad.complex128)}, tmp_path / "x")
    assert load_file(tmp_path / "x")["x"].tolist() == [1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("arrays", "metadata", "error", "message"),
    [
        ({"x": np.zeros(2, complex)}, None, plain_safetensors.SafetensorError, "'x' is of dtype complex128"),
        ({"x": np.array(["a"])}, None, plain_safetensors.SafetensorError, "'x' is of dtype <U1"),
        ({1: np.zeros(2)}, None, TypeError, "names of tensors are text, not int"),
        ({"x": np.zeros(2)}, {"a": 1}, TypeError, "metadata is text by name, and 'a' is 1"),
        ({"x": np.zeros(2)}, {1: "a"}, TypeError, "metadata is text by name, and 1 is 'a'"),
        ({"\ud800": np.zeros(2)}, None, UnicodeEncodeError, "surrogates"),
        ({"x": np.zeros(2)}, {"a": "\ud800"}, UnicodeEncodeError, "surrogates"),
    ],
)
def test_what_the_package_refuses(arrays: Any, metadata: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        plain_safetensors.save(arrays, metadata)
    theirs = pytest.importorskip("safetensors.numpy")
    with pytest.raises(Exception, match=r"dtype|str|surrogates"):
        theirs.save(arrays, metadata)
    # The package writes such a file, which nobody reads.
    with pytest.raises(plain_safetensors.SafetensorError, match="'__metadata__' is the name of a file's metadata"):
        plain_safetensors.save({"__metadata__": np.zeros(2)})
