"""The safetensors format: a JSON header of names, dtypes, shapes and offsets, then the numbers.

The safetensors library writes, or where it is missing plain_safetensors.py. Reading is here: from a map or from
memory, with bfloat16, which NumPy alone lacks.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ..backend import dtype as dt
from . import plain_safetensors
from .source import Ndarray, Source, aligned, from_halves, replaced

_LARGEST_HEADER = 100_000_000  # the format's own limit
_DTYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "U16": np.uint16,
    "U32": np.uint32,
    "U64": np.uint64,
    "I8": np.int8,
    "I16": np.int16,
    "I32": np.int32,
    "I64": np.int64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
}


_EXTRA = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu"}


def holds(kind: np.dtype[Any]) -> bool:
    """Whether arrays of a NumPy dtype can be written and read."""
    return kind.isnative and (kind.type in _DTYPES.values() or kind.name == "bfloat16")


def write(f: Any, arrays: dict[str, Ndarray], metadata: dict[str, str] | None) -> None:
    """Write arrays by name to a path (replaced in one step) or to a binary file object. Raises OSError."""
    library, refused = _library()
    dense = {key: np.asarray(array, order="C") for key, array in arrays.items()}
    if hasattr(f, "write"):
        f.write(library.save(dense, metadata))
        return
    with replaced(f) as temporary:
        try:
            library.save_file(dense, temporary, metadata)
        except refused as error:
            raise OSError(f"cannot write {f}: {error}") from error


def _library() -> tuple[Any, type[Exception]]:
    """What writes files, and its error: the library, or ours where there is none, as in WebAssembly."""
    try:
        import safetensors.numpy
    except ImportError:
        return plain_safetensors, plain_safetensors.SafetensorError
    return safetensors.numpy, safetensors.SafetensorError


def begins(source: Source) -> bool:
    """Whether a file begins like this format: with the length of a header, and its brace."""
    size = int.from_bytes(source.start(8), "little")
    return source.size >= 10 and size <= _LARGEST_HEADER and source.start(9)[8:] == b"{"


def read(source: Source) -> tuple[dict[str, str], dict[str, Ndarray]]:
    """The metadata and the arrays by name. Raises RuntimeError: no safetensors file, a damaged one, or a dtype that
    minigrad lacks."""
    size, header = _header(source)
    metadata = header.pop("__metadata__", {})
    try:
        if not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("metadata that is no text")
        spans = {name: _span(entry) for name, entry in header.items()}
        end = 0
        for _, _, begin, stop in sorted(spans.values(), key=lambda span: span[2:]):
            if begin != end:
                raise ValueError("numbers that overlap, or with gaps between them")
            end = stop
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise source.damaged(f"is no safetensors file, or damaged ({error})") from error
    if 8 + size + end != source.size:
        sizes = f"it should have {8 + size + end} bytes and has {source.size}"
        raise source.damaged(f"is truncated, or no safetensors file: {sizes}")
    return metadata, {name: _array(source, 8 + size, name, *span) for name, span in spans.items()}


def _header(source: Source) -> tuple[int, dict[str, Any]]:
    """The header, and its length in bytes."""
    size = int.from_bytes(source.start(8), "little")
    if source.size < 10:
        raise source.damaged(f"is too short for a safetensors file ({source.size} bytes)")
    if not begins(source):
        raise source.damaged("is not a file of tensors", "save it with minigrad.save, PyTorch or safetensors")
    if 8 + size > source.size:
        raise source.damaged(f"is truncated: its header has {size} bytes, and the file {source.size}")
    try:
        header = json.loads(source.data[8 : 8 + size].tobytes(), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise source.damaged(f"is no safetensors file, or damaged ({error})") from error
    return size, header


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name stands twice in its header")
    return entries


def _span(entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """An entry of the header: dtype, shape, begin and end of its bytes."""
    stored, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    if not isinstance(stored, str) or not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
        raise ValueError("a shape or an offset that is no natural number")
    known = stored in _DTYPES or stored in _EXTRA
    bits = 8 * (np.dtype(_DTYPES[stored]).itemsize if stored in _DTYPES else 1 + (stored == "BF16")) if known else None
    if begin > end or (bits is not None and math.prod(shape) * bits != (end - begin) * 8):
        raise ValueError("a tensor whose shape does not fit its bytes")
    return stored, shape, begin, end


def _array(source: Source, start: int, name: str, stored: str, shape: tuple[int, ...], begin: int, end: int) -> Ndarray:
    if stored not in _DTYPES and stored not in _EXTRA:
        names = ", ".join(d.name for d in dt.ALL)
        raise source.damaged(f"holds {name!r} of dtype {stored}", f"convert it to one of {names}, or bfloat16")
    raw = source.region(start + begin, end - begin)
    if stored == "BF16":
        return from_halves(aligned(raw, "<u2")).reshape(shape)
    if stored in _EXTRA:
        return raw.view(dt.named(_EXTRA[stored]).numpy).reshape(shape)
    kind = np.dtype(_DTYPES[stored])
    numbers = raw != 0 if kind == np.bool_ else aligned(raw, kind.newbyteorder("<")).astype(kind, copy=False)
    return numbers.reshape(shape)
