"""Saving and loading: one safetensors file, whose metadata tells how the tensors were put together.

Nothing that is loaded can run code. The file of a plain dict of tensors is one that any reader of safetensors
understands; what is nested (a checkpoint with model, optimiser and numbers) is described in JSON beside the
tensors, under the metadata's key "minigrad". Files are written under another name, flushed to the disk and
then
renamed: after a crash, or on a full disk, the old file is still there.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from .autograd.tape import wrap
from .backend import dtype as dt
from .backend import of
from .backend.device import Device
from .backend.dtype import Array
from .nn.parameter import Parameter
from .tensor import Tensor

Path = str | os.PathLike[str]
Ndarray = np.ndarray[Any, Any]
_KEY = "minigrad"
_VERSION = 1
_LARGEST_HEADER = 100_000_000  # safetensors' own limit


def save(obj: Any, path: Path) -> None:
    """Write tensors and Python values to a file, which ``load`` gives back.

    Args:
        obj: dicts, lists, tuples, tensors, Parameters, NumPy arrays, numbers, strings, bools and None, in any
            nesting. Tensors in the same memory are written once, and share it again when they are loaded.
            Subclasses of dict, list and tuple come back as these, NumPy's numbers as Python's.
        path: the file; it is replaced in one step.

    Raises:
        TypeError: a value of another type; the text tells where it is. OSError: the file cannot be written.
    """
    writer = _Writer()
    tree = writer.encode(obj, "state", "")
    description = json.dumps({"version": _VERSION, "tree": tree}, separators=(",", ":"))
    _write(path, writer.arrays, {_KEY: description})


def load(path: Path, map_location: Any = None, *, weights_only: bool = True, mmap: bool | None = None) -> Any:
    """Read what ``save`` wrote; of another program's safetensors file, a dict of its tensors.

    Args:
        path: the file.
        map_location: the device for tensors, the CPU if None (wherever they were when they were saved). A
            dict {"cuda:0": "cpu"} and a function are taken for PyTorch's sake, and mean the CPU.
        weights_only, mmap: without effect: nothing that is loaded can run code.

    Returns:
        The object. bfloat16 tensors of other programs become float32, which holds all their numbers.

    Raises:
        FileNotFoundError: there is no such file. RuntimeError: it is not a safetensors file, or damaged.
    """
    if map_location is None or callable(map_location) or isinstance(map_location, Mapping):
        map_location = "cpu"
    metadata, tensors = _read(path, Device(map_location))
    if _KEY not in metadata:
        return tensors
    try:
        description = json.loads(metadata[_KEY])
        if description["version"] > _VERSION:
            raise _unreadable(
                path, f"was written by a newer minigrad (format {description['version']})", "update minigrad"
            )
        return _Reader(tensors).decode(description["tree"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _unreadable(
            path, f"holds a description that makes no sense ({error!r})", "restore it from a copy"
        ) from error


def save_file(tensors: Mapping[Any, Any], filename: Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name, as ``safetensors.torch.save_file`` does.

    Raises:
        TypeError: names or values of another type. OSError: the file cannot be written.
    """
    arrays: dict[str, Ndarray] = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise TypeError(f"save_file takes tensors by name, but {name!r} is a {type(tensor).__name__}")
        arrays[name] = _to_numpy(tensor)
    _write(filename, arrays, metadata)


def load_file(filename: Path, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file by name, as ``safetensors.torch.load_file`` does. See ``load``."""
    return _read(filename, Device(device))[1]


# The structure ---------------------------------------------------------------------------------------------


class _Writer:
    """Turns an object into JSON, in which tensors are names, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, Ndarray] = {}
        self._names: dict[Any, str] = {}  # by memory
        self._met: list[Array] = []
        self._inside: set[int] = set()

    def encode(self, obj: Any, told: str, name: str) -> Any:
        """The JSON of one value. ``told`` is where it is, in Python; ``name`` what to call a tensor here."""
        if isinstance(obj, np.generic):
            obj = obj.item()
        if obj is None or isinstance(obj, (bool, str, int)):
            return obj
        if isinstance(obj, float):
            return float(obj) if math.isfinite(obj) else {"float": repr(float(obj))}
        if isinstance(obj, Tensor):
            kind = "parameter" if isinstance(obj, Parameter) else "tensor"
            node: dict[str, Any] = {kind: self._add(obj.array, name)}
            return {**node, "requires_grad": True} if obj.requires_grad and obj.is_leaf else node
        if isinstance(obj, np.ndarray):
            if obj.dtype.kind not in "biuf" or obj.dtype.itemsize > 8:
                raise TypeError(
                    f"{told}: an array of dtype {obj.dtype} cannot be saved, only of numbers and bools"
                )
            return {"array": self._add(obj, name)}
        if id(obj) in self._inside:
            raise TypeError(f"{told}: a {type(obj).__name__} that contains itself cannot be saved")
        self._inside.add(id(obj))
        node = self._encode_container(obj, told, name)
        self._inside.discard(id(obj))
        return node

    def _encode_container(self, obj: Any, told: str, name: str) -> Any:
        def inner(key: Any, value: Any) -> Any:
            return self.encode(value, f"{told}[{key!r}]", f"{name}.{key}" if name else str(key))

        if isinstance(obj, Mapping):
            if all(type(key) is str for key in obj):
                return {"dict": {key: inner(key, value) for key, value in obj.items()}}
            return {"items": [[self._encode_key(key, told), inner(key, value)] for key, value in obj.items()]}
        if isinstance(obj, (list, tuple)):
            nodes = [inner(i, value) for i, value in enumerate(obj)]
            return nodes if isinstance(obj, list) else {"tuple": nodes}
        raise TypeError(
            f"{told}: a {type(obj).__name__} cannot be saved. Save dicts, lists, tuples, tensors, numbers, "
            f"strings, bools and None: of a module or an optimiser its state_dict(), of another object its "
            "attributes (vars(obj))"
        )

    def _encode_key(self, key: Any, told: str) -> Any:
        if isinstance(key, tuple):
            return {"tuple": [self._encode_key(part, told) for part in key]}
        if key is None or isinstance(key, (bool, str, int, float, np.generic)):
            return self.encode(key, told, "")
        raise TypeError(
            f"{told}: a dict with a {type(key).__name__} as key cannot be saved: use strings or numbers"
        )

    def _add(self, array: Array, name: str) -> str:
        """The name under which an array is written: the one it has, if its memory has been met before."""
        place: Any = id(array)
        if isinstance(array, np.ndarray) and array.size:  # another object may show the same memory
            place = (array.ctypes.data, array.shape, array.strides, array.dtype.str)
        if place in self._names:
            return self._names[place]
        base = free = name if name and name != "__metadata__" else "tensor"  # that name is the format's own
        count = 1
        while free in self.arrays:
            count += 1
            free = f"{base}#{count}"
        self.arrays[free] = of(array).to_numpy(array)
        self._names[place] = free
        self._met.append(array)  # alive, so that its place means nothing else
        return free


class _Reader:
    """Turns JSON back into the object. What was one tensor, or shared its memory, is one tensor again."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self._tensors = tensors
        self._made: dict[tuple[str, bool, bool], Tensor] = {}

    def decode(self, node: Any) -> Any:
        """The object that a node of the tree stands for."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "dict" in node:
            return {key: self.decode(value) for key, value in node["dict"].items()}
        if "items" in node:
            return {self.decode(key): self.decode(value) for key, value in node["items"]}
        if "tuple" in node:
            return tuple(self.decode(item) for item in node["tuple"])
        if "float" in node:
            return float(node["float"])
        if "array" in node:
            return _to_numpy(self._tensors[node["array"]])
        is_parameter = "parameter" in node
        name = node["parameter" if is_parameter else "tensor"]
        return self._tensor(name, is_parameter, bool(node.get("requires_grad", False)))

    def _tensor(self, name: str, is_parameter: bool, wants: bool) -> Tensor:
        key = (name, is_parameter, wants)
        if key not in self._made:
            plain = self._tensors[name].detach()  # the same memory, with a flag of its own
            self._made[key] = Parameter(plain, wants) if is_parameter else plain.requires_grad_(wants)
        return self._made[key]


def _to_numpy(tensor: Tensor) -> Ndarray:
    return of(tensor.array).to_numpy(tensor.array)


# The file --------------------------------------------------------------------------------------------------


def _write(path: Path, arrays: dict[str, Ndarray], metadata: dict[str, str] | None) -> None:
    """Write a safetensors file beside its place, flush it, and rename it."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file as write

    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a file is saved under a path, not into a {type(path).__name__}")
    target = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.tmp")
    dense = {key: np.asarray(array, order="C") for key, array in arrays.items()}
    try:
        with open(
            temporary, "xb"
        ) as file:  # says clearly what is wrong with a folder, and takes the umask's mode
            mode = os.stat(target if os.path.exists(target) else file.name).st_mode & 0o777
        write(dense, temporary, metadata=metadata)
        os.chmod(temporary, mode)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except SafetensorError as error:
        raise OSError(f"cannot write {target}: {error}") from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    if os.name == "posix":  # the new name itself must reach the disk, too
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _read(path: Path, device: Device) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata and the tensors of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    _check_file(path)
    tensors: dict[str, Tensor] = {}
    try:
        with safe_open(os.fspath(path), framework="np") as file:
            metadata = file.metadata() or {}
            for name in file.keys():  # noqa: SIM118  (it is no dict)
                stored = file.get_slice(name).get_dtype()
                array = (
                    _read_bfloat16(path, name) if stored == "BF16" else _read_array(path, file, name, stored)
                )
                tensors[name] = wrap(array).to(device=device)
    except SafetensorError as error:
        raise _unreadable(
            path, f"is not a safetensors file, or damaged ({error})", "restore it from a copy"
        ) from error
    return metadata, tensors


def _read_array(path: Path, file: Any, name: str, stored: str) -> Ndarray:
    known = {"BOOL", "U8", *(f"I{8 << i}" for i in range(4)), "F16", "F32", "F64"}
    if stored not in known:
        names = ", ".join(d.name for d in dt.ALL)
        raise _unreadable(
            path, f"holds {name!r} of dtype {stored}", f"convert it to one of {names}, or bfloat16"
        )
    array: Ndarray = file.get_tensor(name)
    return array


def _read_bfloat16(path: Path, name: str) -> Ndarray:
    """A bfloat16 tensor as float32: its 16 bits are the upper half of that."""
    size, header = _header(path)
    entry = header[name]
    begin, end = entry["data_offsets"]
    halves = np.fromfile(path, np.dtype("<u2"), (end - begin) // 2, offset=8 + size + begin)
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry["shape"])


def _header(path: Path) -> tuple[int, dict[str, Any]]:
    """The length of a safetensors header, and the header."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return size, json.loads(file.read(size))


def _check_file(path: Path) -> None:
    """Refuse what is no safetensors file in words that tell what it is."""
    with open(path, "rb") as file:
        start = file.read(8)
        length = file.seek(0, os.SEEK_END)
    convert = "load it in PyTorch and write its tensors with safetensors.torch.save_file"
    if start[:4] == b"PK\x03\x04":
        raise _unreadable(
            path, "is a PyTorch checkpoint (a zip archive of pickles, which can run code)", convert
        )
    if start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05":
        raise _unreadable(path, "is a Python pickle (which can run code)", convert)
    if length < 10:
        raise _unreadable(
            path, f"is too short for a safetensors file ({length} bytes)", "restore it from a copy"
        )
    size = int.from_bytes(start, "little")  # of the header
    try:
        header = _header(path)[1] if size <= _LARGEST_HEADER and 8 + size <= length else {}
        tensors = [entry for name, entry in header.items() if name != "__metadata__"]
        end = 8 + size + max((entry["data_offsets"][1] for entry in tensors), default=0)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        size = _LARGEST_HEADER + 1
    if size > _LARGEST_HEADER:
        raise _unreadable(path, "is not a safetensors file", "save it with minigrad.save or safetensors")
    if end > length:
        told = f"is truncated, or no safetensors file: it should have {end} bytes or more and has {length}"
        raise _unreadable(path, told, "restore it from a copy")


def _unreadable(path: Path, wrong: str, repair: str) -> RuntimeError:
    return RuntimeError(f"cannot load {os.fspath(path)}: it {wrong}. What to do: {repair}.")
