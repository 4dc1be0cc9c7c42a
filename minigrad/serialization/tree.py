"""Converts plain data to the description in a saved file's metadata: JSON that refers to tensors by name. Lists and
JSON scalars are stored unchanged. Every other value becomes an object with a tag: {"tuple": [...]}, {"tensor":
"weight", "requires_grad": true}, {"OrderedDict": ...}. Tensors and mutable containers are numbered in order of
appearance, and {"again": number} refers to an earlier one. A view of another tensor's memory has a layout instead of a
name: {"tensor": {"of": "weight", "offset": 2, ...}}."""

from __future__ import annotations

import base64
import math
import re
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..autograd.tape import wrap
from ..backend import dtype as dt, of
from ..backend.device import Device
from ..backend.dtype import Array, DType
from ..nn.parameter import Parameter
from ..tensor import Size, Tensor
from .allowed import FACTORIES, Bounds, device_of, dismantle, put, size_of
from .memory import Part, Placing, Storage, blocks, check_flag, on_device, set_attributes, view
from .safetensors_file import holds
from .source import Ndarray, check_shape, short

_FACTORIES: dict[str, Any] = {c.__name__: c for c in FACTORIES}
_COPIES = 16  # limit on bytes to copy, in multiples of the file size, as each reference is copied
_MOST_TEXT = 1 << 16  # bytes; larger values are stored like tensors
_RAW = re.compile(r"[<>|][biufcUSMm]\d{1,9}(\[\w{1,9}\])?")  # numbers, text and times, but not Python objects


class NotPlain(Exception):
    """A value that only a pickle can store. The message contains the value and its position."""


class NoFormat(NotPlain):
    """A tensor whose dtype safetensors files cannot store, such as complex128."""


# Values without parts: type -> (tag, to JSON, from JSON)
_LEAVES: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    int: ("int", hex, lambda text: int(text, 16)),
    float: ("float", repr, float),
    complex: ("complex", lambda z: [repr(z.real), repr(z.imag)], lambda two: complex(*map(float, two))),
    Size: ("Size", list, size_of),
    Device: ("device", str, device_of),
    **dict.fromkeys((DType, type(dt.bfloat16)), ("dtype", lambda dtype: dtype.name, dt.named)),
    range: ("range", lambda r: [r.start, r.stop, r.step], lambda three: range(*three)),
}
_FROM_LEAF = {tag: read for tag, _, read in _LEAVES.values()}
_MAPPINGS: dict[str, Any] = {"dict": dict, "items": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_NAMESPACES: dict[str, Any] = {"Namespace": Namespace, "SimpleNamespace": SimpleNamespace}
_CONTAINERS = {"set": set, **_MAPPINGS, **_NAMESPACES}


class Writer:
    """Converts an object to JSON, and collects the arrays of its tensors by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, Ndarray] = {}
        self._names: dict[Any, str] = {}  # by memory
        self._parts: dict[str, Part] = {}  # by name
        self._places: list[tuple[dict[str, Any], str, str]] = []  # nodes, their tags, and names of arrays
        self._numbers: dict[int, int] = {}  # container numbers by id
        self._alive: list[Any] = []  # prevents addresses and ids from being reused

    def encode(self, obj: Any, where: str, name: str) -> Any:
        """Convert a value to JSON. ``where`` is its Python path, for messages; a tensor is called ``name``."""
        kind = type(obj)
        if obj is None or kind is bool or kind is str:
            return obj
        if (kind is int and -(2**63) <= obj < 2**63) or (kind is float and math.isfinite(obj)):
            return obj
        if kind in _LEAVES:
            tag, write, _ = _LEAVES[kind]
            return {tag: write(obj)}
        if kind is bytes or kind is bytearray:
            return {kind.__name__: self._blob(obj, name)}
        if kind is np.ndarray and holds(obj.dtype):
            return self._node("array", obj, name)
        if kind is np.ndarray or (isinstance(obj, np.generic) and kind.__module__ == "numpy"):
            array: Ndarray = np.asarray(obj)  # a dtype that tensors do not support
            if not _RAW.fullmatch(array.dtype.str) or not array.dtype.itemsize:
                raise NotPlain(f"{where}: a numpy array of dtype {array.dtype}")
            raw = {"dtype": array.dtype.str, "shape": list(array.shape), "data": self._blob(array.tobytes(), name)}
            return {"ndarray" if kind is np.ndarray else "scalar": raw}
        if kind is tuple or kind is frozenset:
            return {kind.__name__: [self._inner(i, value, where, name) for i, value in enumerate(obj)]}
        if id(obj) in self._numbers:
            return {"again": self._numbers[id(obj)]}
        self._numbers[id(obj)] = len(self._numbers)
        self._alive.append(obj)
        if kind is Tensor or kind is Parameter:
            return self._encode_tensor(obj, where, name)
        if kind is list or kind is set:
            parts = [self._inner(i, value, where, name) for i, value in enumerate(obj)]
            return parts if kind is list else {"set": parts}
        if kind in _NAMESPACES.values():
            return {kind.__name__: self._items_of(vars(obj), where, name)}
        return self._encode_dict(obj, where, name)

    def _inner(self, key: Any, value: Any, where: str, name: str) -> Any:
        return self.encode(value, f"{where}[{key!r}]", f"{name}.{key}" if name else str(key))

    def _encode_dict(self, obj: Any, where: str, name: str) -> dict[str, Any]:
        kind = type(obj)
        if kind is dict and all(type(key) is str for key in obj):
            return {"dict": {key: self._inner(key, value, where, name) for key, value in obj.items()}}
        if kind is defaultdict:
            factory = obj.default_factory
            label = None if factory is None else str(getattr(factory, "__name__", None))
            if label is not None and _FACTORIES.get(label) is not factory:
                raise NotPlain(f"{where}: a defaultdict of {factory!r}")
            node = {"defaultdict": label, "items": self._items_of(obj, where, name)}
        elif kind in _MAPPINGS.values():
            node = {"items" if kind is dict else kind.__name__: self._items_of(obj, where, name)}
        else:
            raise NotPlain(f"{where}: a {kind.__module__}.{kind.__qualname__}")
        if attributes := getattr(obj, "__dict__", None):
            node["attributes"] = self._items_of(attributes, where, name)
        return node

    def _items_of(self, obj: Any, where: str, name: str) -> list[Any]:
        return [
            [self.encode(key, f"a key of {where}", name), self._inner(key, value, where, name)]
            for key, value in obj.items()
        ]

    def _encode_tensor(self, obj: Tensor, where: str, name: str) -> dict[str, Any]:
        if not holds(obj.array.dtype):
            raise NoFormat(f"{where}: a tensor with the unsupported dtype {obj.dtype.name}")
        tag = "parameter" if isinstance(obj, Parameter) else "tensor"
        node = self._node(tag, obj.array, name)
        if obj.requires_grad:
            node["requires_grad"] = True
        if obj.device.type != "cpu":
            node["device"] = str(obj.device)
        if more := vars(obj):
            node["attributes"] = self._items_of(more, where, name)
        return node

    def _node(self, tag: str, array: Array, name: str) -> dict[str, Any]:
        node = {tag: self._add(array, name)}
        self._places.append((node, tag, node[tag]))
        return node

    def finish(self) -> None:
        """Collect the arrays. Shared memory is collected once, as an array that covers it or as a new array."""
        blocks(list(self._parts.values()))
        wholes = {}  # the first array that covers each block contiguously
        for name, part in reversed(self._parts.items()):
            if part.array.nbytes == part.block.size and part.array.flags.c_contiguous:
                wholes[part.block] = name
        for name, part in self._parts.items():
            block = part.block
            if block.is_shared and block not in wholes:
                whole = wholes[block] = self._free(f"{name}#memory")
                self.arrays[whole] = block.read().view(np.uint8 if block.kind is None else block.kind)
            elif wholes.get(block, name) == name or not block.is_shared:
                self.arrays[name] = of(part.array).to_numpy(part.array)
        for node, tag, name in self._places:
            part = self._parts[name]
            if part.block.is_shared and wholes[part.block] != name:
                place = {"offset": part.offset, "shape": list(part.array.shape), "strides": list(part.strides)}
                kind = {} if part.block.kind is not None else {"dtype": dt.of_numpy(part.array.dtype).name}
                node[tag] = {"of": wholes[part.block], **place, **kind}

    def _free(self, name: str) -> str:
        """An unused name for an array: ``name``, with a number if necessary."""
        free, count = name, 1
        while free in self._parts or free in self.arrays:
            count += 1
            free = f"{name}#{count}"
        return free

    def _add(self, array: Array, name: str) -> str:
        """The name of an array; arrays with the same memory have the same name."""
        place: Any = id(array)
        if isinstance(array, np.ndarray) and array.size:  # several objects may view the same memory
            place = (array.ctypes.data, array.shape, array.strides, array.dtype)  # 8-bit floats share one type code
        if place in self._names:
            return self._names[place]
        name = name.encode(errors="backslashreplace").decode()  # the description contains the original name
        free = self._free(name if name and name != "__metadata__" else "tensor")  # "__metadata__" is reserved
        self._parts[free] = Part(array)
        self._names[place] = free
        self._alive.append(array)
        return free

    def _blob(self, data: Any, name: str) -> Any:
        """Convert bytes to base64 text or, if they are large, to the name of an array."""
        if len(data) <= _MOST_TEXT:
            return base64.b64encode(data).decode("ascii")
        return {"array": self._add(np.frombuffer(data, np.uint8), name)}


class Reader:
    """Converts JSON back to an object. Shared objects and shared memory are shared again."""

    def __init__(self, arrays: dict[str, Ndarray], place: Placing) -> None:
        self._arrays, self._place = arrays, place
        self._left = _COPIES * sum(array.nbytes for array in arrays.values())  # bytes that may still be copied
        self._tensors: dict[tuple[str, str], Tensor] = {}  # by name and location
        self._containers: list[Any] = []  # by number

    def everything(self) -> dict[str, Tensor]:
        """All tensors by name: the content of a file without a description."""
        return {name: self._tensor_at(name, "cpu") for name in self._arrays}

    def whole(self, node: Any) -> Any:
        """The object that the whole tree describes. Raises LookupError, TypeError or ValueError for an invalid tree."""
        try:
            obj = self.decode(node)
            Bounds().check([obj, *self._containers])
        except BaseException:
            dismantle(self._containers)
            raise
        return obj

    def decode(self, node: Any) -> Any:
        """The object that a node describes. Raises the errors of ``whole``."""
        if isinstance(node, list):
            items: list[Any] = []
            self._containers.append(items)
            items.extend(map(self.decode, node))
            return items
        if not isinstance(node, dict):
            return node
        tag = next(iter(node), "")
        if tag in _FROM_LEAF:
            return _FROM_LEAF[tag](node[tag])
        if tag in ("tensor", "parameter"):
            return self._tensor(tag, node)
        if tag == "array":
            place = node[tag]
            return _view(self._arrays[place["of"]], place) if isinstance(place, dict) else self._arrays[place]
        if tag in ("scalar", "ndarray"):
            raw = node[tag]
            if not _RAW.fullmatch(raw["dtype"]):
                raise ValueError(f"an array cannot have dtype {short(raw['dtype'])}")
            check_shape(raw["shape"], np.dtype(raw["dtype"]).itemsize)
            array = np.frombuffer(self._from_blob(raw["data"]), raw["dtype"]).reshape(raw["shape"])
            return array[()] if tag == "scalar" else array
        if tag in ("bytes", "bytearray"):
            return (bytes if tag == "bytes" else bytearray)(self._from_blob(node[tag]))
        if tag in ("tuple", "frozenset"):
            parts = map(self.decode, node[tag])
            return tuple(parts) if tag == "tuple" else frozenset(put(set(), parts))
        return self._containers[node[tag]] if tag == "again" else self._container(tag, node)

    def _from_blob(self, node: Any) -> bytearray:
        if not isinstance(node, dict):
            return bytearray(base64.b64decode(node))
        array = self._arrays[node["array"]]
        self._left -= array.nbytes
        if self._left < 0:
            raise ValueError("it refers to the same bytes too often")
        return bytearray(array)

    def _container(self, tag: str, node: dict[str, Any]) -> Any:
        if tag == "defaultdict":
            container: Any = defaultdict(None if node[tag] is None else _FACTORIES[node[tag]])
            items = node["items"]
        else:
            container, items = _CONTAINERS[tag](), node[tag]
        self._containers.append(container)
        self._set_attributes(container, node)
        if tag == "set":
            put(container, map(self.decode, items))
        else:
            put(vars(container) if tag in _NAMESPACES else container, self._items(items))
        return container

    def _items(self, items: Any) -> Any:
        """The (key, value) pairs of a JSON object (whose keys are text) or of a list of pairs."""
        if isinstance(items, dict):
            return ((key, self.decode(value)) for key, value in items.items())
        return ((self.decode(key), self.decode(value)) for key, value in items)

    def _set_attributes(self, obj: Any, node: dict[str, Any]) -> None:
        if "attributes" in node:
            set_attributes(obj, put({}, self._items(node["attributes"])))

    def _tensor(self, tag: str, node: dict[str, Any]) -> Tensor:
        flag = bool(node.get("requires_grad", False))
        plain = self._tensor_at(node[tag], node.get("device", "cpu")).detach()  # requires_grad is handled separately
        check_flag(plain, flag)
        tensor = Parameter(plain, flag) if tag == "parameter" else plain.requires_grad_(flag)
        self._containers.append(tensor)
        self._set_attributes(tensor, node)
        return tensor

    def _tensor_at(self, place: Any, location: str) -> Tensor:
        """The tensor for an array that was saved from ``location``, on its target device."""
        name = place["of"] if isinstance(place, dict) else place
        if (name, location) not in self._tensors:
            array = self._arrays[name]
            device = self._place(Storage(array, location))
            if device.type != "cpu":
                array = on_device(array, device)
            self._tensors[name, location] = wrap(array)
        tensor = self._tensors[name, location]
        return tensor if name is place else wrap(_view(tensor.array, place))


def _view(whole: Array, place: dict[str, Any]) -> Array:
    """A view of an array's memory with a given layout."""
    kind = dt.named(place["dtype"]).numpy if "dtype" in place else None
    return view(whole, place["offset"], place["shape"], place["strides"], kind)
