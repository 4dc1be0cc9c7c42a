"""Tensors out of PyTorch's storages: memory by key, and for each tensor where in it its elements are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..autograd.tape import wrap
from ..backend import dtype as dt
from ..backend import for_device
from ..backend.device import Device
from ..nn.parameter import Parameter
from ..tensor import Tensor
from ..tensor import _rebuilt as rebuilt
from .placing import Placing, Storage
from .source import Ndarray, Source
from .tree import check_extras, check_flag, give_extras

Name = tuple[str, str]


class Format(NamedTuple):
    """A format of numbers in a file: PyTorch's name of it, and bytes an element."""

    name: str
    itemsize: int


_FORMATS = {
    name: Format(name, size)
    for name, size in {
        "float64": 8,
        "float32": 4,
        "float16": 2,
        "bfloat16": 2,
        "int64": 8,
        "int32": 4,
        "int16": 2,
        "int8": 1,
        "uint8": 1,
        "bool": 1,
        "complex32": 4,
        "complex64": 8,
        "complex128": 16,
        "uint16": 2,
        "uint32": 4,
        "uint64": 8,
        "float8_e4m3fn": 1,
        "float8_e5m2": 1,
        "float8_e4m3fnuz": 1,
        "float8_e5m2fnuz": 1,
        "float8_e8m0fnu": 1,
        "float4_e2m1fn_x2": 1,
        "quint8": 1,
        "qint8": 1,
        "qint32": 4,
    }.items()
}
_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "QUInt8Storage": "quint8",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
    "UntypedStorage": "uint8",
}


class Memory(Storage):
    """A storage of one format, and the key of its bytes."""

    def __init__(self, array: Any, location: str, key: str) -> None:
        super().__init__(array, location)
        self.key = key


class Rebuilder:
    """Makes storages and tensors for the persistent ids and the functions that a checkpoint names.

    Args:
        source: the file, for messages and bounds.
        place: on which device a storage is to be.
        bytes_of: the bytes of a storage, (size,) uint8, by key and size. They may be filled in later, but
            before ``finish`` is called.
        swapped: the file's byte order is not this machine's.
    """

    def __init__(
        self, source: Source, place: Placing, bytes_of: Callable[[str, int], Ndarray], swapped: bool = False
    ) -> None:
        self._source, self._place, self._bytes_of, self._swapped = source, place, bytes_of, swapped
        self._memories: dict[tuple[str, Format], Memory] = {}
        self._raw: dict[str, Ndarray] = {}
        self._pending: list[Callable[[], object]] = []  # what is to be done once all bytes are there
        self._elsewhere: dict[int, tuple[Tensor, Device]] = {}  # made in main memory, wanted on a device

    def values(self) -> dict[Name, Any]:
        """What a checkpoint may name of PyTorch and minigrad: formats, classes, and the functions below."""
        return {
            **{
                (module, name): _FORMATS[kind]
                for name, kind in _STORAGES.items()
                for module in ("torch", "torch.cuda", "torch.storage")
            },
            **{("torch", name): dt.named(name) for name in _FORMATS if name in dt._NAMED},
            ("torch", "Tensor"): Tensor,
            ("torch._tensor", "Tensor"): Tensor,
            ("minigrad.tensor", "Tensor"): Tensor,
            ("torch.nn.parameter", "Parameter"): Parameter,
            ("minigrad.nn.parameter", "Parameter"): Parameter,
            **self.functions(),
        }

    def functions(self) -> dict[Name, Any]:
        """Those that make tensors."""
        return {
            ("torch._utils", "_rebuild_tensor"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self.tensor_of_bytes,
            ("torch._utils", "_rebuild_parameter"): self.parameter,
            ("torch._utils", "_rebuild_parameter_with_state"): self.parameter_with_state,
            ("torch._tensor", "_rebuild_from_type_v2"): self.of_type,
            ("minigrad.tensor", "_rebuilt"): self.own,
        }

    # Storages -----------------------------------------------------------------------------------------------

    def storage(self, persistent_id: Any) -> Memory:
        """The storage of a persistent id: ("storage", format, key, location, number of elements).

        Raises:
            ValueError, TypeError: it makes no sense.
        """
        if type(persistent_id) is not tuple or len(persistent_id) not in (5, 6):
            raise ValueError(f"a persistent id {persistent_id!r:.100}")
        tag, form, key, location, count, *view = persistent_id
        if tag != "storage" or any(part is not None for part in view):
            raise ValueError("a storage that is a view of another")
        if not isinstance(form, Format) or not isinstance(key, str) or not isinstance(location, str):
            raise ValueError(f"a persistent id {persistent_id!r:.100}")
        if type(count) is not int or count < 0 or count * form.itemsize > self._source.size:
            raise ValueError(f"a storage of {count!r} elements")
        if key not in self._raw:
            self._raw[key] = self._bytes_of(key, count * form.itemsize)
        return self._memory(key, form, location)

    def _memory(self, key: str, form: Format, location: str) -> Memory:
        if (key, form) not in self._memories:
            made = Memory(self._numbers(self._raw[key], form), location, key)
            made.device = self._place(made)
            self._memories[key, form] = made
        return self._memories[key, form]

    def _numbers(self, raw: Ndarray, form: Format) -> Ndarray:
        """Bytes as numbers, here or (where they must be changed for it) when ``finish`` is called."""
        whole = raw[: raw.size // form.itemsize * form.itemsize]
        if form.name == "bfloat16":
            wide = np.zeros(whole.size // 2, np.float32)
            self._pending.append(lambda: _widen(whole, wide, self._swapped))
            return wide
        known = {d.name: d.numpy for d in dt.ALL}
        if form.name not in known:
            raise self._source.damaged(
                f"holds a tensor of dtype {form.name}, which minigrad does not have",
                f"in PyTorch, convert it to one of {', '.join(known)}",
            )
        kind = known[form.name]
        if whole.ctypes.data % kind.alignment:  # in a mapped file
            whole = whole.copy()
        if form.name == "bool":
            self._pending.append(lambda: np.not_equal(whole, 0, out=whole))
        numbers: Ndarray = whole.view(kind)
        if self._swapped and form.itemsize > 1:
            self._pending.append(lambda: numbers.byteswap(inplace=True))
        return numbers

    def finish(self) -> None:
        """Now that all bytes are there: put the numbers in order, and the tensors where they belong."""
        for task in self._pending:
            task()
        moved: dict[Any, Any] = {}
        for tensor, device in self._elsewhere.values():
            array = tensor.array
            same = (array.ctypes.data, array.shape, array.strides, array.dtype.str, str(device))
            if same not in moved:
                moved[same] = for_device(device).asarray(np.asarray(array, order="C"), device)
            tensor.array = moved[same]

    # Tensors ------------------------------------------------------------------------------------------------

    def tensor(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:
        """A tensor of a storage's elements: offset and strides count elements."""
        if not isinstance(storage, Memory):
            raise TypeError(f"a tensor whose storage is a {type(storage).__name__}")
        return self._wrapped(_strided(storage.array, offset, size, stride), requires_grad, storage.device)

    def tensor_of_bytes(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> Tensor:
        """A tensor of a storage of bytes, whose dtype is told."""
        if not isinstance(storage, Memory):
            raise TypeError(f"a tensor whose storage is a {type(storage).__name__}")
        return self.tensor(
            self._memory(storage.key, _FORMATS[dtype.name], storage.location), offset, size, stride, requires_grad
        )

    def parameter(self, data: Any, requires_grad: Any, hooks: Any = None) -> Parameter:
        """A Parameter in a tensor's memory."""
        if not isinstance(data, Tensor):
            raise TypeError(f"a Parameter of a {type(data).__name__}")
        check_flag(data, requires_grad)
        made = Parameter(data.detach(), bool(requires_grad))
        if id(data) in self._elsewhere:
            self._elsewhere[id(made)] = (made, self._elsewhere[id(data)][1])
        return made

    def parameter_with_state(self, data: Any, requires_grad: Any, hooks: Any, state: Any) -> Parameter:
        """A Parameter with the attributes that a program has given it."""
        made = self.parameter(data, requires_grad)
        give_extras(made, dict(state))
        return made

    def of_type(self, function: Any, cls: Any, args: Any, state: Any) -> Tensor:
        """A tensor with attributes: what a function makes of arguments."""
        if function not in self.functions().values() or cls not in (Tensor, Parameter):
            raise TypeError(f"a tensor of class {cls!r}")
        made: Tensor = function(*args)
        give_extras(made, dict(state))
        return made

    def own(self, cls: Any, array: Any, device: Any, requires_grad: Any, attributes: Any = None) -> Tensor:
        """A tensor that minigrad pickled (``Tensor.__reduce__``)."""
        if not isinstance(cls, type) or not issubclass(cls, Tensor) or type(array) is not np.ndarray:
            raise TypeError(f"a tensor of class {cls!r}")
        check_flag(wrap(array), requires_grad)
        if cls in (Tensor, Parameter):
            check_extras(cls, attributes or {})
        made = rebuilt(cls, array, "cpu", bool(requires_grad), attributes)
        return self._placed(made, self._place(Storage(array, str(device))))

    def _wrapped(self, array: Ndarray, requires_grad: Any, device: Device) -> Tensor:
        made: Tensor = wrap(array)
        check_flag(made, requires_grad)
        return self._placed(made.requires_grad_(bool(requires_grad)), device)

    def _placed(self, made: Tensor, device: Device) -> Tensor:
        if device.type != "cpu":
            self._elsewhere[id(made)] = (made, device)
        return made


def _widen(halves: Ndarray, wide: Ndarray, swapped: bool) -> None:
    """bfloat16 is the upper half of float32."""
    bits = halves.view(np.uint16)
    wide.view(np.uint32)[...] = (bits.byteswap() if swapped else bits).astype(np.uint32) << 16


def _strided(numbers: Ndarray, offset: Any, size: Any, stride: Any) -> Ndarray:
    """A view of a storage's elements; offset and strides count elements."""
    if not all(type(n) is int and n >= 0 for n in (offset, *size, *stride)) or len(size) != len(stride):
        raise ValueError("a tensor whose size or strides are none")
    if 0 in size:
        return np.zeros(size, numbers.dtype)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if last >= numbers.size or math.prod(size) >= 2**62:
        raise ValueError(f"a tensor that ends at element {last} of a storage of {numbers.size}")
    bytes_a_step = tuple(step * numbers.itemsize for step in stride)
    return np.ndarray(tuple(size), numbers.dtype, numbers, offset * numbers.itemsize, bytes_a_step)
