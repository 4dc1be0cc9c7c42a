"""The safetensors format: a JSON header with names, dtypes, shapes and offsets, then the data. Files are byte-for-byte
identical to those of the safetensors package. A checksum in the metadata is verified when the whole file is read."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import numpy as np

from ..backend import dtype as dt
from .source import Ndarray, Source, aligned, check_shape, from_halves, replaced, short

KEY = "minigrad"  # the metadata key of an object's description
SUM = "minigrad.sum"  # the key of the file checksum, in the description or as a separate entry
_LONGEST_SUM = 60  # characters
_BLOCK = 1 << 16  # bytes
_LARGEST_HEADER = 100_000_000  # the format's limit
# By NumPy's names, smallest alignment first. Files begin with tensors of the last dtypes in this list.
_NAMES = """
    bool:BOOL uint8:U8 int8:I8 float8_e5m2:F8_E5M2 float8_e4m3fn:F8_E4M3 float8_e8m0fnu:F8_E8M0
    float8_e4m3fnuz:F8_E4M3FNUZ float8_e5m2fnuz:F8_E5M2FNUZ int16:I16 uint16:U16 float16:F16 bfloat16:BF16
    int32:I32 uint32:U32 float32:F32 complex64:C64 float64:F64 int64:I64 uint64:U64
"""
NAMES = dict(entry.split(":") for entry in _NAMES.split())
_ORDER = list(NAMES)
_KINDS = {stored: name for name, stored in NAMES.items()}
_DTYPES = {stored: np.dtype(name) for stored, name in _KINDS.items() if stored != "BF16" and stored[:2] != "F8"}


def holds(kind: np.dtype[Any]) -> bool:
    """Whether arrays with a NumPy dtype can be written and read."""
    return kind.isnative and kind.name in NAMES


def write(f: Any, arrays: dict[str, Ndarray], metadata: dict[str, str] | None) -> None:
    """Write named arrays and their checksum to a path (replacing a file atomically) or a binary file object. Raises
    OSError, ValueError for a lone surrogate in a name or the metadata, and TypeError for metadata that is not text."""
    if not all(isinstance(text, str) for item in (metadata or {}).items() for text in item):
        raise TypeError(f"cannot write {f}: metadata must map strings to strings, not {metadata!r}")
    try:
        json.dumps([[*arrays], metadata], ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise ValueError(
            f"cannot write {f}: {half!r} in a name or in metadata is a lone surrogate, which safetensors "
            "files cannot store. What to do: use text that can be encoded as UTF-8"
        ) from None
    for name, array in arrays.items():
        if name == "__metadata__":
            raise OSError(f"cannot write {f}: no tensor can be named {name!r}, which is reserved for metadata")
        if array.dtype.name not in NAMES:
            raise OSError(f"cannot write {f}: {name!r} has dtype {array.dtype}, which safetensors files cannot store")
    dense = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    if metadata is not None and sys.byteorder == "little":
        entries = [(n, NAMES[a.dtype.name], a.shape, a.reshape(-1).view(np.uint8)) for n, a in dense.items()]
        metadata = _with_sum(metadata, f"{SUM} {_sum(entries, metadata)}")
    if hasattr(f, "write"):
        f.write(b"".join(parts(dense, metadata)))
        return
    with replaced(f) as temporary, open(temporary, "wb") as file:
        file.writelines(parts(dense, metadata))


def parts(arrays: dict[str, Ndarray], metadata: dict[str, str] | None = None) -> Iterator[bytes | memoryview]:
    """Yield the header length, the header, and the data of contiguous arrays, sorted by dtype (largest first, so that
    all arrays are aligned) and then by name."""
    ordered = sorted(arrays.items(), key=lambda item: (-_ORDER.index(item[1].dtype.name), item[0]))
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
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
        little = array.byteswap() if is_big else array
        yield little.reshape(-1).view(np.uint8).data


def _sum(entries: Iterable[tuple[str, str, tuple[int, ...], Ndarray]], metadata: dict[str, str]) -> str:
    """A checksum of the metadata and of tensor names, dtypes, shapes and bytes. It does not depend on their order."""
    crcs = [crc32(_folded(raw), crc32(json.dumps([name, *about]).encode())) for name, *about, raw in entries]
    return f"{sum(crcs) + sum(crc32(json.dumps(item).encode()) for item in metadata.items()):x}"


def _folded(raw: Ndarray) -> bytes:
    """Replace each whole block with the sum of its words. Unlike a CRC, this runs at the speed of memory."""
    end = raw.size // _BLOCK * _BLOCK
    sums = raw[:end].view("<u8").reshape(-1, _BLOCK // 8).sum(axis=1, dtype=np.uint64)
    return sums.tobytes() + raw[end:].tobytes()


def _with_sum(metadata: dict[str, str], text: str) -> dict[str, str]:
    """Add the checksum to the metadata: to minigrad's description if that is the only entry, or else as a new entry."""
    if metadata.keys() == {KEY}:
        return {KEY: f'{metadata[KEY][:-1]},"sum":"{text}"}}'}
    return {**metadata, SUM: text}


def _without_sum(metadata: dict[str, str]) -> dict[str, str] | None:
    """The metadata without its checksum, even if bits of its key were flipped; None if it has no checksum."""
    for name, text in metadata.items():
        tail = text[-_LONGEST_SUM:]
        if not text.startswith(SUM) and (SUM in tail or (name == KEY and ',"sum":"' in tail)):
            return {name: text[: text.rfind(",")] + "}"}
    rest = {name: text for name, text in metadata.items() if name != SUM and not text.startswith(SUM)}
    return None if len(rest) == len(metadata) else rest


def begins(source: Source) -> bool:
    """Whether a file starts with a header length and an opening brace, as in this format."""
    size = int.from_bytes(source.start(8), "little")
    return source.size >= 10 and size <= _LARGEST_HEADER and source.start(9)[8:] == b"{"


def read(source: Source) -> tuple[dict[str, str], dict[str, Ndarray]]:
    """Read the metadata and the arrays. Raises RuntimeError for a different format, damage or an unknown dtype."""
    size, header = _header(source)
    metadata = header.pop("__metadata__", {})
    try:
        if not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("its metadata is not text")
        spans = {name: _span(name, entry) for name, entry in header.items()}
        end = 0
        for _, _, begin, stop in sorted(spans.values(), key=lambda span: span[2:]):
            if begin != end:
                raise ValueError("its data overlaps or has gaps")
            end = stop
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise source.senseless("is not a safetensors file, or is damaged", error) from None
    if 8 + size + end != source.size:
        sizes = f"it should have {8 + size + end} bytes, but has {source.size}"
        raise source.damaged(f"is truncated, or not a safetensors file: {sizes}")
    summed = None if source.mmap or sys.byteorder != "little" else _without_sum(metadata)
    raws: dict[str, Ndarray] = {}

    def entries() -> Iterator[tuple[str, str, tuple[int, ...], Ndarray]]:
        for name, (stored, shape, begin, stop) in spans.items():
            raws[name] = source.region(8 + size + begin, stop - begin)
            yield name, stored, shape, raws[name]  # summed while it is in the CPU's cache

    if summed is None:
        raws = {name: raw for name, *_, raw in entries()}
    elif metadata != _with_sum(summed, f"{SUM} {_sum(entries(), summed)}"):
        repair = f"restore it from a copy; a program that changes it must remove {SUM!r} from the metadata"
        raise source.damaged("is damaged: its checksum is wrong", repair)
    return metadata, {name: _array(source, name, *span[:2], raws[name]) for name, span in spans.items()}


def _header(source: Source) -> tuple[int, dict[str, Any]]:
    size = int.from_bytes(source.start(8), "little")
    if source.size < 10:
        raise source.damaged(f"is too short for a safetensors file ({source.size} bytes)")
    if not begins(source):
        raise source.damaged("is not a tensor file", "save it with minigrad.save, PyTorch or safetensors")
    if 8 + size > source.size:
        raise source.damaged(f"is truncated: its header has {size} bytes, but the file has {source.size}")
    try:
        header = json.loads(source.data[8 : 8 + size].tobytes(), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise source.senseless("is not a safetensors file, or is damaged", error) from None
    return size, header


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("its header has a duplicate name")
    return entries


def _span(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """A header entry: the dtype, the shape, and the start and end of its bytes."""
    stored, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(stored, str) or not all(type(n) is int and n >= 0 for n in (begin, end)):
        raise ValueError(f"{short(name)} has a dtype that is not text, or invalid offsets")
    try:
        check_shape(shape, 8)
    except ValueError as error:
        raise ValueError(f"{short(name)} has {error}") from None
    size = _DTYPES[stored].itemsize if stored in _DTYPES else 1 + (stored == "BF16")
    if begin > end or (stored in _KINDS and math.prod(shape) * size != end - begin):
        raise ValueError("the shape of a tensor does not match its number of bytes")
    return stored, tuple(shape), begin, end


def _array(source: Source, name: str, stored: str, shape: tuple[int, ...], raw: Ndarray) -> Ndarray:
    if stored not in _KINDS:
        names = ", ".join(d.name for d in dt.ALL)
        raise source.damaged(
            f"holds {short(name)} of dtype {stored[:20]}", f"convert it to one of {names}, or bfloat16"
        )
    if stored == "BF16":
        return from_halves(aligned(raw, "<u2")).reshape(shape)
    if stored not in _DTYPES:
        return raw.view(dt.named(_KINDS[stored]).numpy).reshape(shape)
    kind = _DTYPES[stored]
    numbers = raw != 0 if kind == np.bool_ else aligned(raw, kind.newbyteorder("<")).astype(kind, copy=False)
    return numbers.reshape(shape)
