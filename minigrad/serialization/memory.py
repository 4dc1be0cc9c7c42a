"""Handles the memory of saved tensors: shared memory, views, and the device to load it to. Also rebuilds tensors from
PyTorch's storages (memory by key) and each tensor's layout in its storage."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..autograd.tape import Variable, wrap
from ..backend import dtype as dt, for_device, of
from ..backend.device import Device
from ..backend.dtype import Array, DType
from ..backend.registry import address
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .allowed import dict_of
from .source import Ndarray, Source, aligned, check_shape, from_halves, short

Name = tuple[str, str]
CPU = Device("cpu")
_STORAGES = """
    float64:Double float32:Float float16:Half bfloat16:BFloat16 int64:Long int32:Int int16:Short int8:Char uint8:Byte
    bool:Bool complex64:ComplexFloat complex128:ComplexDouble
"""
STORAGES = dict(entry.split(":") for entry in _STORAGES.split())
"""The names of PyTorch's storage classes by dtype."""


@dataclass(eq=False)
class Storage:
    """The memory of saved tensors, which is passed to ``map_location=lambda storage, location: ...``."""

    array: Any  # the elements in main memory, (n,)
    location: str  # the device from which it was saved: "cpu", "cuda:0"
    device: Device = CPU  # the device to load it to
    key: str = ""  # the key of its bytes in a PyTorch checkpoint

    def cpu(self) -> Storage:
        """The same storage, to be loaded into main memory."""
        return Storage(self.array, self.location)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Storage:
        """The same storage, to be loaded onto a GPU."""
        return Storage(self.array, self.location, Device("cuda" if device is None else device))

    def nbytes(self) -> int:
        """The total size of the elements in bytes."""
        return int(self.array.nbytes)


Placing = Callable[[Storage], Device]


def placing(map_location: Any = None) -> Placing:
    """Convert ``map_location`` to a function from storage to device. ``map_location`` is a device, a dict such as
    {"cuda:0": "cpu"}, or a function of (storage, location) that returns a storage (``storage.cuda(1)``), a device or
    None. By default, a tensor is loaded to the device from which it was saved, if that exists, else to the CPU."""

    @cache
    def saved_from(location: str) -> Device:
        try:
            device = Device(location)
            for_device(device).asarray(np.empty(0, np.float32), device)
        except Exception:  # a missing driver or an unknown device type may raise anything
            return CPU
        return device

    def place(storage: Storage) -> Device:
        target = map_location
        if isinstance(target, Mapping):
            target = target.get(storage.location)
        elif callable(target):
            target = target(storage, storage.location)
            target = getattr(target, "device", target)
        return saved_from(storage.location) if target is None else Device(target)

    return place


def on_device(array: Array, device: Device) -> Array:
    """Copy a NumPy array to a device. 8-bit floats, which CuPy does not support, become float32."""
    return for_device(device).asarray(dt.widened(array) if dt.is_kept(array.dtype) else array, device)


class Block:
    """The memory of overlapping arrays, from the first byte to the last. ``kind`` is the NumPy dtype of all arrays, or
    None if their dtypes differ. ``is_shared`` is True if there are several arrays."""

    __slots__ = ("_first", "begin", "end", "is_shared", "kind")

    def __init__(self, first: Part) -> None:
        self._first, self.begin, self.end = first.array, first.begin, first.end
        self.kind: Any = first.array.dtype
        self.is_shared = False

    @property
    def size(self) -> int:
        return self.end - self.begin

    def read(self) -> Ndarray:
        """The bytes, (n,) uint8, in main memory. On the CPU, this is a view."""
        first = self._first
        if not self.size:
            return np.empty(0, np.uint8)
        if first.nbytes == self.size and first.flags.c_contiguous:
            return of(first).to_numpy(first.reshape(-1).view(np.uint8))
        flat = first[(slice(0, 1),) * first.ndim].reshape(1).view(np.uint8)
        return of(flat).to_numpy(of(flat).xp.lib.stride_tricks.as_strided(flat, (self.size,), (1,)))


class Part:
    """An array in a block. It is copied if its strides are negative or not multiples of the element size. ``offset`` is
    the position of its first element. ``offset`` and ``strides`` are in elements."""

    __slots__ = ("array", "begin", "block", "end", "offset", "strides")
    block: Block

    def __init__(self, array: Array) -> None:
        item = array.dtype.itemsize
        if any(step < 0 or step % item for step in array.strides):
            array = array.copy()
        self.array = array
        self.strides = tuple([step // item for step in array.strides])
        if not array.size:  # NumPy does not keep strides for an empty array
            self.strides = tuple(math.prod(max(n, 1) for n in array.shape[i + 1 :]) for i in range(array.ndim))
        self.begin = self.end = self.offset = 0
        if array.size:
            steps = zip(array.shape, array.strides, strict=True)
            self.begin = address(array)
            self.end = self.begin + item + sum([(n - 1) * step for n, step in steps])


def blocks(parts: Sequence[Part]) -> None:
    """Find the blocks of arrays. An array that is not aligned to its element size gets its own block."""
    device, block = "", None
    places = [(str(of(part.array).device_of(part.array)), part.begin, i) for i, part in enumerate(parts)]
    for place, begin, i in sorted(places):
        part = parts[i]
        kind = part.array.dtype
        if block is None or place != device or begin >= block.end or (begin - block.begin) % kind.itemsize:
            device, block = place, Block(part)
        else:
            block.is_shared, block.end = True, max(block.end, part.end)
            block.kind = kind if kind == block.kind else None
        part.block, part.offset = block, (begin - block.begin) // kind.itemsize


def view(memory: Array, offset: Any, size: Any, stride: Any, kind: Any = None) -> Array:
    """A view of dense memory, with an offset, shape and strides in elements of a NumPy dtype (by default, the dtype of
    the memory). Raises ValueError if the view would extend beyond the memory."""
    check_shape(size, 16)
    if not isinstance(stride, (tuple, list)) or len(size) != len(stride):
        raise ValueError("a tensor has different numbers of strides and dimensions")
    kind = memory.dtype if kind is None else kind
    count = memory.nbytes // kind.itemsize
    if not all(type(n) is int and n >= 0 for n in (offset, *stride)):
        raise ValueError("a tensor's offset and strides must be non-negative integers")
    flat = memory.reshape(-1).view(np.uint8)[: count * kind.itemsize].view(kind)
    offset = 0 if 0 in size else offset
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= count:
        raise ValueError(f"a tensor ends at element {short(last)}, but its storage has {count} elements")
    if list(stride) == [math.prod(size[i + 1 :]) for i in range(len(size))]:
        return flat[offset : offset + math.prod(size)].reshape(size)
    steps = tuple(step * kind.itemsize for step in stride)
    if isinstance(flat, np.ndarray):
        return np.ndarray(tuple(size), kind, flat, offset * kind.itemsize, steps)
    return of(flat).xp.lib.stride_tricks.as_strided(flat[offset:], tuple(size), steps)


def set_attributes(obj: Any, attributes: dict[Any, Any]) -> None:
    """Set an object's attributes from a file. Raises ValueError if one would replace a class attribute."""
    cls = type(obj)
    for name in attributes:
        if type(name) is not str or hasattr(cls, name) or name in Variable.__annotations__:
            raise ValueError(f"the attribute {short(name)} would replace an attribute of {cls.__name__}")
    vars(obj).update(attributes)


def check_flag(tensor: Tensor, requires_grad: bool) -> None:
    """Raise ValueError if a tensor should require a gradient but cannot, and TypeError if the flag is not a bool."""
    if not isinstance(requires_grad, int):
        raise TypeError(f"requires_grad is {short(requires_grad)}, not a bool")
    if requires_grad and dt.kind_of(tensor.array) not in "fc":
        raise ValueError(f"a tensor of dtype {tensor.dtype} cannot require a gradient")


class Rebuilder:
    """Builds storages and tensors for the persistent ids and functions in a PyTorch checkpoint. ``bytes_of(key, size)``
    returns the bytes of a storage, (size,) uint8, which may be filled at any time before ``finish``."""

    def __init__(self, source: Source, place: Placing, bytes_of: Callable[[str, int], Ndarray]) -> None:
        self._source, self._place, self._bytes_of = source, place, bytes_of
        self._memories: dict[tuple[str, DType], Storage] = {}
        self._raw: dict[str, Ndarray] = {}
        self._pending: list[Callable[[], object]] = []  # tasks for ``finish``
        self._elsewhere: dict[int, tuple[Tensor, Device]] = {}  # tensors in main memory and their target devices, by id

    def values(self) -> dict[Name, Any]:
        """The PyTorch and minigrad names that a checkpoint may use: storage types, classes and functions."""
        return {
            **{
                (module, f"{name}Storage"): dt.named(kind)
                for kind, name in (*STORAGES.items(), ("uint8", "Untyped"))
                for module in ("torch", "torch.cuda", "torch.storage")
            },
            **{("torch", kind.name): kind for kind in (*dt.ALL, *dt.STORED)},
            **{(module, "Tensor"): Tensor for module in ("torch", "torch._tensor", "minigrad.tensor")},
            **{(f"{library}.nn.parameter", "Parameter"): Parameter for library in ("torch", "minigrad")},
            **self.functions(),
        }

    def functions(self) -> dict[Name, Any]:
        """The functions that build tensors, by PyTorch name."""
        return {
            ("torch._utils", "_rebuild_tensor"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self.tensor_of_bytes,
            ("torch._utils", "_rebuild_parameter"): self.parameter,
            ("torch._utils", "_rebuild_parameter_with_state"): self.parameter,
            ("torch._tensor", "_rebuild_from_type_v2"): self.of_type,
        }

    def storage(self, persistent_id: Any) -> Storage:
        """The storage for the id ("storage", type, key, location, size). Raises ValueError for any other id."""
        if type(persistent_id) is not tuple or len(persistent_id) not in (5, 6):
            raise ValueError(f"{short(persistent_id)} is not a persistent id")
        tag, form, key, location, count, *view = persistent_id
        if not isinstance(tag, str) or tag != "storage" or any(part is not None for part in view):
            raise ValueError("a storage is a view of another")
        if not isinstance(form, DType) or not isinstance(key, str) or not isinstance(location, str):
            raise ValueError(f"a storage has the key {short(key)} and the location {short(location)}")
        if type(count) is not int or count < 0 or count * form.itemsize > self._source.size:
            raise ValueError(f"a storage cannot have {short(count)} elements")
        if key not in self._raw:
            self._raw[key] = self._bytes_of(key, count * form.itemsize)
        return self._memory(key, form, location)

    def _memory(self, key: str, form: DType, location: str) -> Storage:
        """A storage that interprets bytes as numbers. ``finish`` converts dtypes that are stored differently."""
        if (key, form) in self._memories:
            return self._memories[key, form]
        raw = self._raw[key]
        whole = raw[: raw.size // form.itemsize * form.itemsize]
        if form.name == "bfloat16" and not dt.bfloat16.is_available:
            halves = aligned(whole, np.uint16)
            numbers: Ndarray = np.zeros(halves.size, np.float32)
            self._pending.append(lambda: np.copyto(numbers, from_halves(halves)))
        else:
            numbers = aligned(whole, form.numpy)
        memory = self._memories[key, form] = Storage(numbers, location, key=key)
        memory.device = self._place(memory)
        return memory

    def finish(self) -> None:
        """Convert numbers after reading, and move tensors to their devices. There, they continue to share memory."""
        for task in self._pending:
            task()
        moving = list(self._elsewhere.values())
        parts = [Part(tensor.array) for tensor, _ in moving]
        blocks(parts)
        there: dict[tuple[Device, Block], Array] = {}
        for (tensor, device), part in zip(moving, parts, strict=True):
            kind, place = part.array.dtype, (device, part.block)
            if dt.is_kept(kind):
                tensor.array = on_device(part.array, device)
                continue
            if place not in there:
                there[place] = on_device(part.block.read(), device)
            tensor.array = view(there[place], part.offset, part.array.shape, part.strides, kind)

    def tensor(
        self, storage: Any, offset: Any, size: Any, stride: Any, flag: Any = False, hooks: Any = None, bits: Any = None
    ) -> Tensor:
        """Build a tensor that views a storage. ``offset`` and strides are in elements; ``flag`` is its requires_grad.
        ``bits``, which PyTorch sets for lazily conjugated or negated tensors, is not supported."""
        if bits:
            raise ValueError("it has a lazily conjugated or negated tensor: save x.resolve_conj()")
        array = view(_checked(storage).array, offset, size, stride)
        if array.dtype == np.bool_:  # convert only this part to 0 and 1, as the storage may contain other dtypes
            truths = array.view(np.uint8)
            self._pending.append(lambda: np.not_equal(truths, 0, out=truths))
        tensor: Tensor = wrap(array)
        check_flag(tensor, flag)
        if storage.device.type != "cpu":
            self._elsewhere[id(tensor)] = (tensor, storage.device)
        return tensor.requires_grad_(bool(flag))

    def tensor_of_bytes(
        self, storage: Any, offset: Any, size: Any, stride: Any, flag: Any, hooks: Any, dtype: Any, bits: Any = None
    ) -> Tensor:
        if not isinstance(dtype, DType):
            raise TypeError(f"a tensor cannot have dtype {short(dtype)}")
        typed = self._memory(_checked(storage).key, dtype, storage.location)
        return self.tensor(typed, offset, size, stride, flag, hooks, bits)

    def parameter(self, data: Any, requires_grad: Any, hooks: Any = None, state: Any = ()) -> Parameter:
        if not isinstance(data, Tensor):
            raise TypeError(f"it creates a Parameter from a {type(data).__name__}")
        check_flag(data, requires_grad)
        parameter = Parameter(data.detach(), bool(requires_grad))
        if id(data) in self._elsewhere:
            self._elsewhere[id(parameter)] = (parameter, self._elsewhere[id(data)][1])
        set_attributes(parameter, dict_of(state))
        return parameter

    def of_type(self, function: Any, cls: Any, args: Any, state: Any) -> Tensor:
        """Build a tensor with one of ``functions``, and set its attributes."""
        if function not in self.functions().values() or cls not in (Tensor, Parameter) or type(args) is not tuple:
            raise TypeError(f"it creates a tensor of class {short(cls)}")
        tensor: Tensor = function(*args)
        set_attributes(tensor, dict_of(state))
        return tensor


def _checked(storage: Any) -> Storage:
    if not isinstance(storage, Storage):
        raise TypeError(f"a tensor has a {type(storage).__name__} instead of a storage")
    return storage
