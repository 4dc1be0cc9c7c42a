"""The safetensors format, written without the package safetensors. That is Rust, and in a browser there is none; and it
writes several entries of metadata in any order.

The functions have the names and arguments of ``safetensors.numpy``, and write the same bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from .source import Ndarray

# By NumPy's names, the smallest alignment first: files begin with the tensors of the last dtypes
_NAMES = """
    bool:BOOL uint8:U8 int8:I8 float8_e5m2:F8_E5M2 float8_e4m3fn:F8_E4M3 float8_e8m0fnu:F8_E8M0
    float8_e4m3fnuz:F8_E4M3FNUZ float8_e5m2fnuz:F8_E5M2FNUZ int16:I16 uint16:U16 float16:F16 bfloat16:BF16
    int32:I32 uint32:U32 float32:F32 complex64:C64 float64:F64 int64:I64 uint64:U64
"""
NAMES = dict(entry.split(":") for entry in _NAMES.split())
_ORDER = list(NAMES)


def name_of(array: Ndarray) -> str:
    """The format's name for the dtype of an array; "" if it has none."""
    return NAMES.get(array.dtype.name, "")


class SafetensorError(ValueError):
    """What the format cannot hold."""


def save(arrays: dict[str, Ndarray], metadata: dict[str, str] | None = None) -> bytes:
    """A file's content. Raises SafetensorError, TypeError."""
    return b"".join(_parts(arrays, metadata))


def save_file(arrays: dict[str, Ndarray], path: Any, metadata: dict[str, str] | None = None) -> None:
    """Write a file. Raises SafetensorError, TypeError, OSError."""
    with open(path, "wb") as file:
        file.writelines(_parts(arrays, metadata))


def _parts(arrays: dict[str, Ndarray], metadata: dict[str, str] | None) -> Iterator[bytes | memoryview]:
    """The header's length, the header, and the numbers of one array after another: the largest dtypes first, so that
    all are aligned, then by name."""
    for name, array in arrays.items():
        if not isinstance(name, str):
            raise TypeError(f"names of tensors are text, not {type(name).__name__}")
        if name == "__metadata__":
            raise SafetensorError(f"{name!r} is the name of a file's metadata, and cannot be that of a tensor")
        if array.dtype.name not in NAMES:
            raise SafetensorError(f"{name!r} is of dtype {array.dtype}, which files of safetensors cannot hold")
    ordered = sorted(arrays.items(), key=lambda item: (-_ORDER.index(item[1].dtype.name), item[0]))
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": _checked(metadata)}
    end = 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": array.shape, "data_offsets": (begin, end)}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for _, array in ordered:
        is_big = array.dtype.isnative == (sys.byteorder == "big")
        dense = np.ascontiguousarray(array.byteswap() if is_big else array)
        yield dense.reshape(-1).view(np.uint8).data


def _checked(metadata: dict[Any, Any]) -> dict[str, str]:
    """The metadata. Raises TypeError: it is more than text."""
    for name, value in metadata.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"metadata is text by name, and {name!r} is {value!r}")
    return metadata
