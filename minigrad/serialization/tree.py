"""Plain data as JSON, in which tensors are names: what the metadata of a saved file describes.

Lists and what JSON has stand for themselves; everything else is an object of one tag: {"tuple": [...]},
{"tensor": "weight", "requires_grad": true}, {"OrderedDict": ...}. Tensors and containers that can change are
numbered as they are met, and {"again": number} is one of them once more: what was one object is one again.
"""

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

from ..autograd.tape import Variable, wrap
from ..backend import dtype as dt
from ..backend import for_device, of
from ..backend.device import Device
from ..backend.dtype import Array, DType
from ..nn.parameter import Parameter
from ..tensor import Size, Tensor, _attributes
from .placing import Placing, Storage
from .safetensors_file import holds
from .source import Ndarray

_FACTORIES: dict[str, Any] = {c.__name__: c for c in (list, dict, set, tuple, int, float, str, bool)}
_MOST_TEXT = 1 << 16  # bytes: more of them are written like a tensor's
_RAW = re.compile(r"[<>|][biufcUSMm]\d{1,9}(\[\w{1,9}\])?")  # numbers, text and times: no Python objects


class NotPlain(Exception):
    """A value that only a pickle can hold; the text tells where it is and what."""


# Values without parts: type -> (tag, to JSON, from JSON)
_LEAVES: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    int: ("int", hex, lambda text: int(text, 16)),
    float: ("float", repr, float),
    complex: ("complex", lambda z: [repr(z.real), repr(z.imag)], lambda two: complex(*map(float, two))),
    Size: ("Size", list, Size),
    Device: ("device", str, Device),
    **dict.fromkeys((DType, type(dt.bfloat16)), ("dtype", lambda dtype: dtype.name, dt.named)),
    range: ("range", lambda r: [r.start, r.stop, r.step], lambda three: range(*three)),
}
_FROM_LEAF = {tag: read for tag, _, read in _LEAVES.values()}
_SEQUENCES: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_MAPPINGS: dict[str, Any] = {"dict": dict, "items": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_NAMESPACES: dict[str, Any] = {"Namespace": Namespace, "SimpleNamespace": SimpleNamespace}


def give_extras(obj: Any, attributes: dict[Any, Any]) -> None:
    """Attributes that a file tells. None of the object's own can be replaced.

    Raises:
        ValueError: one of them is the object's own.
    """
    check_extras(type(obj), attributes)
    vars(obj).update(attributes)


def check_extras(cls: type, attributes: dict[Any, Any]) -> None:
    """Refuse attributes that objects of a class have of their own.

    Raises:
        ValueError: there is one.
    """
    for name in attributes:
        if type(name) is not str or hasattr(cls, name) or name in Variable.__annotations__:
            raise ValueError(f"an attribute {name!r} that a {cls.__name__} has of its own")


def check_flag(tensor: Tensor, requires_grad: bool) -> None:
    """Refuse a gradient of a tensor that cannot have one.

    Raises:
        ValueError: it is asked for.
    """
    if requires_grad and not tensor.is_floating_point():
        raise ValueError(f"a tensor of {tensor.dtype} that requires a gradient")


class Writer:
    """Turns an object into JSON, and collects the arrays of its tensors by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, Ndarray] = {}
        self._names: dict[Any, str] = {}  # by memory
        self._alive: list[Any] = []  # so that a place or an id means nothing else
        self._numbers: dict[int, int] = {}  # of containers

    def encode(self, obj: Any, told: str, name: str) -> Any:
        """The JSON of one value. ``told`` is where it is, in Python; ``name`` what to call a tensor here."""
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
            return {"array": self._add(obj, name)}
        if kind is np.ndarray or (isinstance(obj, np.generic) and kind.__module__ == "numpy"):
            return {"ndarray" if kind is np.ndarray else "scalar": self._raw(np.asarray(obj), told, name)}
        if kind in _SEQUENCES and kind is not set:
            return {_SEQUENCES[kind]: self._encode_all(obj, told, name)}
        if id(obj) in self._numbers:
            return {"again": self._numbers[id(obj)]}
        self._numbers[id(obj)] = len(self._numbers)
        self._alive.append(obj)
        if kind is Tensor or kind is Parameter:
            if not holds(obj.array.dtype):  # the file format has no complex128
                raise NotPlain(f"{told}: a tensor of dtype {obj.dtype.name}")
            return self._encode_tensor(obj, told, name)
        return self._encode_container(obj, told, name)

    def _encode_all(self, obj: Any, told: str, name: str) -> list[Any]:
        return [self._inner(i, value, told, name) for i, value in enumerate(obj)]

    def _inner(self, key: Any, value: Any, told: str, name: str) -> Any:
        return self.encode(value, f"{told}[{key!r}]", f"{name}.{key}" if name else str(key))

    def _encode_container(self, obj: Any, told: str, name: str) -> Any:
        """A container that can change."""
        kind = type(obj)
        if kind is list:
            return self._encode_all(obj, told, name)
        if kind is set:
            return {"set": self._encode_all(obj, told, name)}
        if kind in _MAPPINGS.values():
            return self._encode_dict(obj, kind.__name__, told, name)
        if kind is defaultdict:
            factory = obj.default_factory
            known = getattr(factory, "__name__", None) if factory is not None else None
            if factory is not None and _FACTORIES.get(str(known)) is not factory:
                raise NotPlain(f"{told}: a defaultdict of {factory!r}")
            return {"defaultdict": known, **self._encode_dict(obj, "items", told, name)}
        if kind in _NAMESPACES.values():
            return {kind.__name__: self._encode_dict(vars(obj), "items", told, name)["items"]}
        raise NotPlain(f"{told}: a {kind.__module__}.{kind.__qualname__}")

    def _encode_dict(self, obj: Any, tag: str, told: str, name: str) -> dict[str, Any]:
        attributes = getattr(obj, "__dict__", None)
        more: dict[str, Any] = {}
        if attributes:
            more["attributes"] = self._encode_dict(attributes, "items", told, name)["items"]
        if tag == "dict" and all(type(key) is str for key in obj):
            return {"dict": {key: self._inner(key, value, told, name) for key, value in obj.items()}}
        items = [
            [self.encode(key, f"a key of {told}", name), self._inner(key, value, told, name)]
            for key, value in obj.items()
        ]
        return {"items" if tag == "dict" else tag: items, **more}

    def _encode_tensor(self, obj: Tensor, told: str, name: str) -> dict[str, Any]:
        tag = "parameter" if isinstance(obj, Parameter) else "tensor"
        node: dict[str, Any] = {tag: self._add(obj.array, name)}
        if obj.requires_grad:
            node["requires_grad"] = True
        if obj.device.type != "cpu":
            node["device"] = str(obj.device)
        if more := _attributes(obj):
            node["attributes"] = self._encode_dict(more, "items", told, name)["items"]
        return node

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
        self._alive.append(array)
        return free

    def _raw(self, array: Ndarray, told: str, name: str) -> dict[str, Any]:
        """An array that no tensor holds."""
        if not _RAW.fullmatch(array.dtype.str) or not array.dtype.itemsize:
            raise NotPlain(f"{told}: a numpy array of dtype {array.dtype}")
        data = self._blob(array.tobytes(), name)
        return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}

    def _blob(self, data: Any, name: str) -> Any:
        """Bytes as text, or where there are many, the name of an array of them."""
        if len(data) <= _MOST_TEXT:
            return base64.b64encode(data).decode("ascii")
        return {"array": self._add(np.frombuffer(data, np.uint8), name)}


class Reader:
    """Turns JSON back into the object. What was one object is one again, and what shared memory shares it."""

    def __init__(self, arrays: dict[str, Ndarray], place: Placing) -> None:
        self._arrays, self._place = arrays, place
        self._placed: dict[tuple[str, str], Tensor] = {}
        self._containers: list[Any] = []

    def everything(self) -> dict[str, Tensor]:
        """All tensors by name: a file that has no description."""
        return {name: self._at(name, "cpu") for name in self._arrays}

    def decode(self, node: Any) -> Any:
        """The object that a node of the tree stands for.

        Raises:
            KeyError, TypeError, ValueError, IndexError: it stands for none.
        """
        if isinstance(node, list):
            made = self._numbered([])
            made.extend(map(self.decode, node))
            return made
        if not isinstance(node, dict):
            return node
        tag = next(iter(node), "")
        if tag in _FROM_LEAF:
            return _FROM_LEAF[tag](node[tag])
        if tag in ("tensor", "parameter"):
            return self._tensor(tag, node)
        if tag == "array":
            return self._arrays[node[tag]]
        if tag in ("scalar", "ndarray"):
            array = self._from_raw(node[tag])
            return array[()] if tag == "scalar" else array
        if tag in ("bytes", "bytearray"):
            return (bytes if tag == "bytes" else bytearray)(self._from_blob(node[tag]))
        if tag in ("tuple", "frozenset"):
            return (tuple if tag == "tuple" else frozenset)(map(self.decode, node[tag]))
        return self._containers[node[tag]] if tag == "again" else self._decode_container(tag, node)

    def _from_raw(self, node: dict[str, Any]) -> Ndarray:
        if not _RAW.fullmatch(node["dtype"]):
            raise ValueError(f"an array of dtype {node['dtype']!r:.50}")
        return np.frombuffer(self._from_blob(node["data"]), node["dtype"]).reshape(node["shape"])

    def _from_blob(self, node: Any) -> bytearray:
        return bytearray(self._arrays[node["array"]] if isinstance(node, dict) else base64.b64decode(node))

    def _numbered(self, made: Any) -> Any:
        self._containers.append(made)
        return made

    def _decode_container(self, tag: str, node: dict[str, Any]) -> Any:
        if tag == "set":
            made = self._numbered(set())
            made.update(map(self.decode, node[tag]))
            return made
        if tag in _NAMESPACES:
            made = self._numbered(_NAMESPACES[tag]())
            vars(made).update(self._items(node[tag]))
            return made
        if tag == "defaultdict":
            made = defaultdict(None if node[tag] is None else _FACTORIES[node[tag]])
            items = node["items"]
        else:
            made, items = _MAPPINGS[tag](), node[tag]
        self._numbered(made)
        if "attributes" in node:
            give_extras(made, dict(self._items(node["attributes"])))
        for key, value in self._items(items):
            made[key] = value
        return made

    def _items(self, items: Any) -> Any:
        """(key, value) pairs: of a JSON object, whose keys are text, or of a list of pairs."""
        if isinstance(items, dict):
            return ((key, self.decode(value)) for key, value in items.items())
        return ((self.decode(key), self.decode(value)) for key, value in items)

    def _tensor(self, tag: str, node: dict[str, Any]) -> Tensor:
        wants = bool(node.get("requires_grad", False))
        plain = self._at(node[tag], node.get("device", "cpu")).detach()  # with a flag of its own
        check_flag(plain, wants)
        made = self._numbered(Parameter(plain, wants) if tag == "parameter" else plain.requires_grad_(wants))
        if "attributes" in node:
            give_extras(made, dict(self._items(node["attributes"])))
        return made

    def _at(self, name: str, location: str) -> Tensor:
        """A tensor by name, where what was saved at ``location`` is to be."""
        if (name, location) not in self._placed:
            array = self._arrays[name]
            device = self._place(Storage(array, location))
            if device.type != "cpu":
                array = for_device(device).asarray(array, device)
            self._placed[name, location] = wrap(array)
        return self._placed[name, location]
