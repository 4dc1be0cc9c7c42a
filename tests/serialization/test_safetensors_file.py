"""Files equal those of the package safetensors, byte for byte."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.serialization import safetensors_file, save_file

INTEGERS = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NUMPY = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64")
EXTRA = ("bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz")
NAMES = ("", "a", "B", "b.weight", "b.weight2", 'quotes" and \\', "line\n\ttab\x01\x7f", "\u00e9\u2028", "\U0001f600")


def numbers(kind: Any, shape: tuple[int, ...] = (2, 3)) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(0, 9, shape).astype(kind)


def assert_written_alike(arrays: dict[str, Any], metadata: dict[str, str] | None = None) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    assert b"".join(safetensors_file.parts(arrays, metadata)) == theirs.save(arrays, metadata)


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
    for metadata in (None, {}, *({name: name} for name in NAMES)):  # the package does not order several entries
        assert_written_alike({"x": numbers("float64")}, metadata)
    for length in range(17):
        assert_written_alike({"x" * length: numbers("uint8", (length,))}, {"by": "y" * length})


def test_the_package_reads_our_files(tmp_path: Path) -> None:
    path, tensors = tmp_path / "x.safetensors", {"w": minigrad.arange(3), "e": minigrad.ones(0, 2)}
    save_file(tensors, path, {"by": "minigrad", "of": "us"})
    for wrong in ({"x": minigrad.ones(2, dtype=minigrad.complex128)}, {"__metadata__": minigrad.ones(2)}):
        with pytest.raises(OSError, match=r"cannot write .*(complex128|__metadata__)"):
            save_file(wrong, path)
    metadata: Any
    for metadata in ({"a": 1}, {1: "a"}):
        with pytest.raises(TypeError, match="metadata must map strings to strings"):
            save_file(tensors, path, metadata)
    assert list(tmp_path.iterdir()) == [path]  # the old file stays until the new one is complete
    state = pytest.importorskip("safetensors.numpy").load_file(path)
    assert state["w"].tolist() == [0, 1, 2] and state["w"].dtype == np.int64 and state["e"].shape == (0, 2)
