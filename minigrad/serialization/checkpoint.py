"""Reads PyTorch checkpoints: zip archives of a pickle and its storages, or files with both in sequence (before 1.6).
Reading does not run code unless the file is ``trusted``, in which case the names in it are imported and called."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import zipfile
import zlib
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..backend.device import Device
from ..tensor import Size
from .machine import Machine, refusal
from .memory import Placing, Rebuilder
from .source import DAMAGE, Ndarray, Source, cause, reason, short

_MAGIC = 0x1950A86A20F9469CFC6C  # in files from PyTorch before 1.6


class How(NamedTuple):
    """How to read a checkpoint."""

    place: Placing
    trusted: bool  # allow the file to run code
    pickle_module: Any  # a module whose ``Unpickler`` reads a trusted file
    encoding: str  # for text written by Python 2


def _unpickle(source: Source, file: Any, size: int, rebuilder: Rebuilder, how: How) -> Any:
    try:
        if how.trusted:
            values = rebuilder.values() | {("torch", "Size"): Size, ("torch", "device"): Device}

            class Trusting(how.pickle_module.Unpickler):  # type: ignore[misc, name-defined]
                """Calls the functions that the file names, but builds tensors itself."""

                def find_class(self, module: str, name: str) -> Any:
                    if (module, name) in values:
                        return values[module, name]
                    if module.partition(".")[0] == "torch":
                        raise refusal(source.name, module, name)
                    return super().find_class(module, name)

                def persistent_load(self, persistent_id: Any) -> Any:
                    return rebuilder.storage(persistent_id)

            return Trusting(file, encoding=how.encoding).load()
        return Machine(file, size, source.name, rebuilder, how.encoding).load()
    except (*DAMAGE, RuntimeError, pickle.UnpicklingError) as error:
        if isinstance(error, RuntimeError | pickle.UnpicklingError) and source.name in str(error):
            raise
        if how.trusted and isinstance(error, AttributeError):
            raise AttributeError(
                f"cannot load {source.name}: {reason(error)}. What to do: define or import it before loading, under "
                "the name that it had in the program that saved it"
            ) from error
        raise source.senseless("is an invalid checkpoint", error) from cause(error)


class _Archive:
    """The records of a zip archive. The constructor checks that they are not compressed and do not overlap."""

    def __init__(self, source: Source) -> None:
        self.source = source
        try:
            with zipfile.ZipFile(source.file) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, *DAMAGE) as error:
            raise source.senseless("is a damaged or truncated zip archive", error) from None
        self.records = {info.filename: info for info in infos}
        if len(self.records) < len(infos):
            raise source.damaged("is a zip archive with duplicate entry names")
        end = 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            begin, size = self._place(info)
            if not end and info.header_offset:
                raise source.damaged("is a damaged zip archive, or other data precedes it")
            if info.header_offset < end or begin + size > source.size:
                raise source.damaged(f"is a zip archive whose record {short(info.filename)} overlaps another")
            end = begin + size
        pickles = [name for name in self.records if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise source.damaged(
                "is a zip archive, but not a checkpoint: it has no data.pkl",
                "pass a file that torch.save or minigrad.save wrote",
            )
        self.folder = pickles[0].removesuffix("data.pkl")
        if f"{self.folder}constants.pkl" in self.records:
            raise source.damaged("is a TorchScript program", "in PyTorch, save the module's state_dict()")

    def _place(self, info: zipfile.ZipInfo) -> tuple[int, int]:
        """The position and size of a record's bytes."""
        fault = f"is a zip archive whose record {short(info.filename)}"
        if info.flag_bits & 0x1:
            raise self.source.damaged(f"{fault} is encrypted", "save it without a password")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise self.source.damaged(f"{fault} is compressed", "create it again without compression")
        header = self.source.data[info.header_offset : info.header_offset + 30].tobytes()
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise self.source.damaged(f"{fault} is not at its offset")
        name, extra = struct.unpack("<HH", header[26:30])
        return info.header_offset + 30 + name + extra, info.file_size

    def read(self, name: str, size: int | None = None) -> Ndarray:
        """The bytes of a record. Unless they stay in the mapped file, their checksum is verified."""
        info = self.records.get(self.folder + name)
        if info is None or (size is not None and info.file_size < size):
            raise self.source.damaged(f"lacks the record {short(name)} or part of it")
        data = self.source.region(*self._place(info))
        if not self.source.mmap and zlib.crc32(data.data) != info.CRC:
            raise self.source.damaged(f"is damaged: the checksum of its record {short(name)} is wrong")
        return data


def load_archive(source: Source, how: How) -> Any:
    """Load the object from a zip archive. Raises the errors of ``load``."""
    archive = _Archive(source)
    order = archive.read("byteorder").tobytes() if archive.folder + "byteorder" in archive.records else b"little"
    if order != sys.byteorder.encode():
        order_text = order[:20].decode("ascii", "replace")
        raise source.damaged(f"has the byte order {order_text!r}", "save it on a machine with this byte order")
    rebuilder = Rebuilder(source, how.place, lambda key, size: archive.read(f"data/{key}", size))
    pickled = archive.read("data.pkl")
    obj = _unpickle(source, io.BytesIO(pickled.data), pickled.size, rebuilder, how)
    rebuilder.finish()
    return obj


def load_legacy(source: Source, how: How) -> Any:
    """Load the object from a file with a sequence of pickles (a magic number, the version, the machine's byte order,
    the object, and the keys of its storages), followed by the storages. Raises the errors of ``load``."""
    waiting: dict[str, Ndarray] = {}

    def bytes_of(key: str, size: int) -> Ndarray:  # filled later, as storages follow the object
        if size + sum(raw.size for raw in waiting.values()) > source.size:
            raise source.damaged("refers to more storages than it can contain")
        waiting[key] = np.zeros(size, np.uint8)
        return waiting[key]

    rebuilder = Rebuilder(source, how.place, bytes_of)
    source.file.seek(0)
    unpickle = partial(_unpickle, source, source.file, source.size, rebuilder)
    cautious = how._replace(trusted=False)
    try:
        magic = unpickle(cautious)
        is_checkpoint = type(magic) is int and magic == _MAGIC
    except (RuntimeError, pickle.UnpicklingError):
        is_checkpoint = False
    if not is_checkpoint:
        raise source.damaged(
            "is a Python pickle, but not a PyTorch checkpoint (or is one from before 2017)",
            "if you trust its source, load it with pickle.load",
        )
    version, machine = unpickle(cautious), unpickle(cautious)
    if version != 1001 or type(machine) is not dict or machine.get("little_endian") is not True:
        raise source.damaged("is a checkpoint in an unknown old format", "load it in PyTorch and save it again")
    obj = unpickle(how)
    keys = unpickle(cautious)
    source.end(_fill(source, keys, source.file.tell(), waiting))
    rebuilder.finish()
    return obj


def _fill(source: Source, keys: Any, position: int, waiting: dict[str, Ndarray]) -> int:
    """Read the storages, and return the end position. Each storage is an element count, followed by the elements."""
    if type(keys) is not list or not all(type(key) is str for key in keys) or sorted(keys) != sorted(waiting):
        raise source.damaged("is a checkpoint whose storages do not match their names")
    for key in keys:
        raw = waiting[key]
        begin, end = position + 8, position + 8 + raw.size
        count = int.from_bytes(source.data[position:begin].tobytes(), "little")
        if end > source.size or (count == 0) != (raw.size == 0) or (count and raw.size % count):
            raise source.damaged("is truncated, or its storages have the wrong sizes")
        raw[...] = source.data[begin:end]
        position = end
    return position
