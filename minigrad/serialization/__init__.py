"""Saving and loading: ``save`` and ``load``, file formats, and the names that files may use.

A path that ends in ".safetensors" selects the safetensors format, in which the metadata describes the structure
(``tree.py``), so any safetensors reader can read a state dict. Other paths select PyTorch's archive format
(``archive_writer.py``), which can also contain pickled objects. Loading detects the format from the content, and does
not run code from a file unless the caller trusts it and passes ``weights_only=False``.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping
from typing import Any

from ..autograd.tracebacks import border_functions
from ..backend import of
from ..backend.device import Device
from ..tensor import Tensor
from . import safetensors_file
from .allowed import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .archive_writer import save_any, save_plain
from .checkpoint import How, load_archive, load_legacy
from .memory import placing
from .source import DAMAGE, Ndarray, Source, cause, short
from .tree import NoFormat, NotPlain, Reader, Writer

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "load_file", "safe_globals"]
__all__ += ["save", "save_file"]

_KEY = "minigrad"
_VERSION = 2
_LONGEST_TREE = 50_000_000  # the limit in characters, as a safetensors header has up to 100,000,000 bytes


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int | None = None,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to a file for ``load``.

    Args:
        obj: any object. Nested dicts, lists, tuples, sets, tensors, Parameters, NumPy arrays, numbers, text, bytes,
            dtypes, devices, sizes and namespaces are written as data. An object that contains anything else (such as a
            module) is pickled; loading it requires ``weights_only=False`` or its classes in ``safe_globals``. Memory
            shared by several tensors or views is written once, and is shared again after loading.
        f: a path, which is replaced atomically, or a binary file object. Data is written as a safetensors file if the
            path ends in ".safetensors", else as an archive for ``torch.load``.
        pickle_module, pickle_protocol: by default, ``pickle``, and protocol 2 for data or 5 for other objects.

    Raises pickle.PicklingError, TypeError or AttributeError if a part, such as a lambda, cannot be pickled; TypeError
    for a complex128 or 4-bit float tensor in a safetensors file, as the format lacks these dtypes; AttributeError if
    ``f`` is not a path or a file object; and OSError if the file cannot be written.

    >>> import os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "model.pt")
    >>> mg.save({"weight": mg.ones(2)}, file)
    >>> mg.load(file)
    {'weight': tensor([1., 1.])}
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(f"save takes a path or a binary file with a 'write' method, not a {type(f).__name__}")
    is_safetensors = isinstance(f, (str, os.PathLike)) and os.fsdecode(f).endswith(".safetensors")
    try:
        if is_safetensors:
            return _save_described(obj, f)
        try:
            return save_plain(obj, f, pickle_protocol)
        except NotPlain:
            return _save_described(obj, f)
    except NotPlain as reason:
        if isinstance(reason, NoFormat) and is_safetensors:
            raise TypeError(
                f"cannot write {f}: safetensors files cannot store {reason}. What to do: save it to a path that ends "
                "in .pt"
            ) from None
        try:
            save_any(obj, f, pickle_module, pickle_protocol)
        except Exception as error:
            error.add_note(f"minigrad.save had to use pickle because of {reason}")
            raise


def _save_described(obj: Any, f: Any) -> None:
    """Write plain data as a safetensors file whose metadata describes its structure. Raises NotPlain or OSError."""
    writer = Writer()
    tree = {"version": _VERSION, "tree": writer.encode(obj, "state", "")}
    writer.finish()
    description = json.dumps(tree, separators=(",", ":"))
    if len(description) > _LONGEST_TREE:
        raise NotPlain("the length of its description (too many numbers or too much text outside tensors)")
    safetensors_file.write(f, writer.arrays, {_KEY: description})


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file written by ``save``, a PyTorch checkpoint, a safetensors file, or the index of a sharded one.

    Args:
        f: a path, or a binary file object, which is read from its current position to its end.
        map_location: the device for all tensors, a dict from saved to new locations such as {"cuda:0": "cpu"}, or a
            function of (storage, location). None means the device from which each tensor was saved, if it exists.
        pickle_module: a module whose ``Unpickler`` reads pickles. Implies ``weights_only=False``.
        weights_only: read only data (the default). If False, a trusted file may run code.
        mmap: leave tensors in the file until they are accessed.
        pickle_load_args: only ``encoding`` is used, for text written by Python 2.

    Returns the object, or a dict for other programs' safetensors files. Without ml_dtypes, bfloat16 becomes float32.

    Raises FileNotFoundError if the file does not exist, EOFError if it is empty, RuntimeError if it is damaged or has
    an unknown format, and pickle.UnpicklingError if it contains more than data.

    >>> import os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "model.pt")
    >>> mg.save(nn.Linear(2, 1).state_dict(), file)
    >>> list(mg.load(file))
    ['weight', 'bias']
    """
    if pickle_module is not None and weights_only:
        raise RuntimeError("pickle_module cannot be used with weights_only=True: it can run code")
    trusted = pickle_module is not None if weights_only is None else not weights_only
    source = Source(f, bool(mmap))
    how = How(placing(map_location), trusted, pickle_module or pickle, pickle_load_args.get("encoding", "utf-8"))
    try:
        return _loaded(source, how, map_location)
    except MemoryError:
        repair = "close other programs, or load it with mmap=True"
        raise source.damaged("needs more memory than is available", repair) from None


def _loaded(source: Source, how: How, map_location: Any) -> Any:
    """Load the object from a file."""
    if not safetensors_file.begins(source):
        start = source.start(4)
        if start == b"PK\x03\x04":
            return load_archive(source, how)
        if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            return load_legacy(source, how)
        if start[:1] == b"{":
            return _load_shards(source, map_location)
    metadata, arrays = safetensors_file.read(source)
    reader = Reader(arrays, how.place)
    if _KEY not in metadata:
        return reader.everything()
    try:
        description = json.loads(metadata[_KEY])
        version = description["version"]
        if version <= _VERSION:
            return reader.whole(description["tree"])
    except DAMAGE as error:
        raise source.senseless("holds an invalid description", error) from cause(error)
    raise source.damaged(f"was written by a newer minigrad (format {short(version)})", "update minigrad")


def _load_shards(source: Source, map_location: Any) -> dict[str, Any]:
    """Load tensors from several files that an index ("model.safetensors.index.json") lists."""
    try:
        files = json.loads(source.data.tobytes())["weight_map"]
        plain = (f.isprintable() and os.path.basename(f) == f not in ("", ".", "..") for f in files.values())
        if source.path is None or not all(plain) or any(len(os.fsencode(f)) > 255 for f in files.values()):
            raise ValueError("it refers to files outside its folder")
        if any(file.endswith(".json") for file in files.values()):
            raise ValueError("it refers to an index instead of a tensor file")
    except DAMAGE as error:
        raise source.senseless(
            "is text, but not the index of a sharded model",
            error,
            "pass the path of a tensor file, or of the .index.json in its folder",
        ) from cause(error)
    shards: dict[str, list[str]] = {}
    for name, file in files.items():
        shards.setdefault(file, []).append(name)
    loaded: dict[str, Any] = {}
    for file, names in sorted(shards.items()):
        path = os.path.join(os.path.dirname(source.path), file)
        if Source(path, True).start(1) == b"{":
            raise source.damaged(f"refers to {file} as a tensor file, but that is an index")
        part = load(path, map_location, mmap=source.mmap)
        if missing := [name for name in names if not isinstance(part, dict) or name not in part]:
            raise source.damaged(f"lists {short(missing[0])} as a tensor of {file}, which does not contain it")
        loaded.update({name: part[name] for name in names})
    return {name: loaded[name] for name in files}


def save_file(tensors: Mapping[Any, Any], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name and a checksum, like ``safetensors.torch.save_file``. Raises TypeError if a value is not a
    tensor, ValueError if a name has a lone surrogate, and OSError if the file cannot be written."""
    arrays: dict[str, Ndarray] = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise TypeError(f"save_file takes tensors by name, but {short(name)} is a {type(tensor).__name__}")
        arrays[name] = of(tensor.array).to_numpy(tensor.array)
    safetensors_file.write(filename, arrays, {"format": "pt"} if metadata is None else metadata)


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """Read the tensors of a safetensors file by name, like ``safetensors.torch.load_file``. See ``load``."""
    return Reader(safetensors_file.read(Source(filename))[1], placing(Device(device))).everything()


border_functions(globals())
