"""Writes an object in PyTorch's format: an archive of one pickle and the tensors' memory. The pickler writes the names
of PyTorch's functions without requiring PyTorch. Tensors with overlapping memory become views of one storage. As in
PyTorch, the archive is an uncompressed zip file whose records are aligned to 64 bytes."""

from __future__ import annotations

import pickle
import struct
import sys
import zipfile
from codecs import encode
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from ..backend import dtype as dt
from ..backend.device import Device
from ..nn.parameter import Parameter
from ..tensor import Size, Tensor
from .allowed import NUMPY_KINDS, PYTHON_2, VALUES
from .memory import STORAGES, Block, Part, blocks
from .source import Ndarray, replaced
from .tree import NotPlain

_Pickler: Any = vars(pickle)["_Pickler"]  # type checkers only know the C version
_ALIGNMENT = 64  # the alignment of records in bytes
_LONG = 1 << 30  # bytes; larger records need 64-bit sizes


class _Code:
    """Part of a pickle: opcodes, or a function that returns the opcodes once all tensors are known."""

    def __init__(self, code: bytes | Callable[[], bytes]) -> None:
        self.code = code

    def __call__(self) -> None:
        """Do nothing. It exists because picklers check that a function or class is callable."""


class Archiver(_Pickler):  # type: ignore[misc]
    """Pickles any object for an archive."""

    def __init__(self, protocol: int) -> None:
        self._codes: list[Any] = []  # bytes, and functions that return bytes at the end
        self._parts: list[Part] = []
        self._keys: dict[Block, str] = {}
        super().__init__(SimpleNamespace(write=self._codes.append), protocol)

    def parts(self, obj: Any) -> tuple[bytes, list[tuple[str, Ndarray]]]:
        """An object's pickle, without frames (which need all bytes early), and tensor memory, (n,) uint8, by key."""
        self.write(pickle.PROTO + bytes([self.proto]))
        self.save(obj)
        self.write(pickle.STOP)
        blocks(self._parts)
        for part in self._parts:
            self._keys.setdefault(part.block, str(len(self._keys)))
        content = b"".join(code() if callable(code) else code for code in self._codes)
        return content, [(key, block.read()) for block, key in self._keys.items()]

    def _tensor(self, obj: Tensor) -> None:
        part, state = Part(obj.array), dict(vars(obj))
        self._parts.append(part)
        is_parameter = type(obj) is Parameter
        arguments = partial(self._arguments, part, obj, is_parameter)

        def function() -> bytes:  # the function that builds the tensor from a typed storage or from bytes
            return _global("torch._utils", "_rebuild_tensor_v2" if _has_storage(part.block) else "_rebuild_tensor_v3")

        if is_parameter:
            data = _Code(lambda: function() + arguments() + pickle.REDUCE)
            name = "_rebuild_parameter_with_state" if state else "_rebuild_parameter"
            more = (state,) if state else ()
            hooks: OrderedDict[str, Any] = OrderedDict()
            self.save_reduce(_Code(_global("torch._utils", name)), (data, obj.requires_grad, hooks, *more), obj=obj)
        elif state:
            args = (_Code(function), _Code(_global("torch", "Tensor")), _Code(arguments), state)
            self.save_reduce(_Code(_global("torch._tensor", "_rebuild_from_type_v2")), args, obj=obj)
        else:
            self._codes += [function, arguments, pickle.REDUCE]
            self.memoize(obj)

    def _arguments(self, part: Part, obj: Tensor, is_parameter: bool) -> bytes:
        """The arguments of the function that builds a tensor: its storage, and its layout in the storage."""
        kind, block = dt.of_numpy(part.array.dtype).name, part.block
        typed = _has_storage(block)
        form = _global("torch", f"{STORAGES[kind]}Storage") if typed else _global("torch.storage", "UntypedStorage")
        count = block.size // part.array.dtype.itemsize if typed else block.size
        storage = _text("storage") + form + _text(self._keys[block]) + _text(str(obj.device)) + _number(count)
        flag = pickle.NEWTRUE if obj.requires_grad and not is_parameter else pickle.NEWFALSE
        hooks = _global("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE
        layout = _number(part.offset) + _numbers(part.array.shape) + _numbers(part.strides)
        last = b"" if typed else _global("torch", kind)
        return b"((" + storage + b"tQ" + layout + flag + hooks + last + pickle.TUPLE

    def _bytes(self, obj: bytes) -> None:
        """With protocol 2, write even empty bytes as encoded text, as PyTorch rejects calls of ``bytes``."""
        if obj or self.proto > 2:
            self.save_bytes(obj)
        else:
            self.save_reduce(encode, ("", "latin1"), obj=obj)

    _own: ClassVar[dict[Any, Any]] = {
        Tensor: _tensor,
        Parameter: _tensor,
        _Code: lambda self, part: self._codes.append(part.code),
        bytes: _bytes,
        FunctionType: lambda self, function: self.save_global(function),
        Size: lambda self, size: self.save_reduce(_Code(_global("torch", "Size")), (tuple(size),), obj=size),
        **dict.fromkeys((dt.DType, dt.ExtraDType), lambda self, dtype: self.write(_global("torch", dtype.name))),
        Device: lambda self, device: self.save_reduce(
            _Code(_global("torch", "device")),
            (device.type,) if device.index is None else (device.type, device.index),
            obj=device,
        ),
    }
    dispatch: ClassVar[dict[Any, Any]] = {**_Pickler.dispatch, **_own}


class PlainArchiver(Archiver):
    """Pickles only plain data. Raises NotPlain for an object whose class or function ``load`` would reject."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a name if ``load`` allows it."""
        own = name or getattr(obj, "__qualname__", None) or obj.__name__
        module = vars(pickle)["whichmodule"](obj, own)
        if (PYTHON_2.get(module, module), own) not in VALUES:
            raise NotPlain(f"{module}.{own}")
        super().save_global(obj, name)

    def save_reduce(self, func: Any, args: Any, *more: Any, **options: Any) -> None:
        """Write a call, except for NumPy dtypes that ``load`` rejects."""
        if func is np.dtype and args[0][0] not in NUMPY_KINDS:
            raise NotPlain(f"a NumPy dtype {args[0]!r:.20}")
        super().save_reduce(func, args, *more, **options)


def _has_storage(block: Block) -> bool:
    """Whether PyTorch has a typed storage for a block: its arrays have one dtype, for which a storage class exists."""
    return block.kind is not None and dt.of_numpy(block.kind).name in STORAGES


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _text(value: str) -> bytes:
    raw = value.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(raw)) + raw


def _number(value: int) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def _numbers(values: Any) -> bytes:
    return pickle.MARK + b"".join(map(_number, values)) + pickle.TUPLE


def save_plain(obj: Any, f: Any, protocol: int | None) -> None:
    """Write plain data for PyTorch to a path or a binary file object. Raises NotPlain or OSError."""
    try:
        parts = PlainArchiver(2 if protocol in (None, 0, 1) else protocol).parts(obj)
    except Exception as error:  # may be raised by the object's methods
        raise NotPlain("a part that cannot be pickled") from error
    _write(f, *parts)


def save_any(obj: Any, f: Any, pickle_module: Any, protocol: int | None) -> None:
    """Write any object. A custom ``pickle_module`` also pickles the tensors. Raises the errors of ``save``."""
    protocol = 5 if protocol is None else protocol
    if pickle_module not in (None, pickle):
        _write(f, pickle_module.dumps(obj, protocol=protocol), [])
    else:
        _write(f, *Archiver(protocol).parts(obj))


class _Sink:
    """A file object to which zipfile can only append. Archive positions are relative to its initial end."""

    def __init__(self, file: Any) -> None:
        self._file, self.position = file, 0

    def write(self, data: Any) -> int:
        self._file.write(data)
        self.position += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing, as the file's owner flushes it."""


def _write(f: Any, content: bytes, storages: list[tuple[str, Ndarray]]) -> None:
    """Write the records in PyTorch's order to a path or a binary file object."""
    if not hasattr(f, "write"):
        with replaced(f) as temporary, open(temporary, "wb") as file:
            return _write(file, content, storages)
    sink: Any = _Sink(f)
    records: list[tuple[str, Any]] = [("data.pkl", content), ("byteorder", sys.byteorder.encode())]
    records += [(f"data/{key}", raw.data) for key, raw in storages]
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in [*records, ("version", b"3\n")]:
            info = zipfile.ZipInfo(f"archive/{name}")
            is_long = len(data) > _LONG
            padding = -(sink.position + 30 + len(info.filename) + 4 + 20 * is_long) % _ALIGNMENT
            info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            with archive.open(info, "w", force_zip64=is_long) as record:
                record.write(data)
