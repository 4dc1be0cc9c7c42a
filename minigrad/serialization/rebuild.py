"""Tensors out of PyTorch's storages: memory by key, and the layout of each tensor in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.tape import wrap
from ..backend import dtype as dt
from ..backend.device import Device
from ..backend.dtype import DType
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .bounds import dict_of
from .errors import short
from .memory import Placing, Storage, moved, view
from .source import Ndarray, Source, aligned, from_halves
from .tree import check_flag, set_attributes

Name = tuple[str, str]


_STORAGES = """
    float64:Double float32:Float float16:Half bfloat16:BFloat16 int64:Long int32:Int int16:Short int8:Char uint8:Byte
    bool:Bool complex64:ComplexFloat complex128:ComplexDouble
"""
STORAGES = dict(entry.split(":") for entry in _STORAGES.split())
"""The names of PyTorch's classes of storages, by dtype."""


class Rebuilder:
    """Builds storages and tensors from the persistent ids and the functions that a checkpoint names.

    ``bytes_of`` is a function from key and size of a storage to its bytes, (size,) uint8, which may be filled in until
    ``finish`` is called.
    """

    def __init__(self, source: Source, place: Placing, bytes_of: Callable[[str, int], Ndarray]) -> None:
        self._source, self._place, self._bytes_of = source, place, bytes_of
        self._memories: dict[tuple[str, DType], Storage] = {}
        self._raw: dict[str, Ndarray] = {}
        self._pending: list[Callable[[], object]] = []  # tasks for ``finish``
        self._elsewhere: dict[int, tuple[Tensor, Device]] = {}  # by id: tensors in main memory, and their device

    def values(self) -> dict[Name, Any]:
        """The names of PyTorch and minigrad that a checkpoint may use: formats, classes, and functions."""
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
        """The functions that build tensors, by the names of those that they stand for."""
        return {
            ("torch._utils", "_rebuild_tensor"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self.tensor_of_bytes,
            ("torch._utils", "_rebuild_parameter"): self.parameter,
            ("torch._utils", "_rebuild_parameter_with_state"): self.parameter,
            ("torch._tensor", "_rebuild_from_type_v2"): self.of_type,
        }

    # Storages -----------------------------------------------------------------------------------------------

    def storage(self, persistent_id: Any) -> Storage:
        """The storage of a persistent id: ("storage", format, key, location, number of elements). Raises ValueError: it
        makes no sense."""
        if type(persistent_id) is not tuple or len(persistent_id) not in (5, 6):
            raise ValueError(f"{short(persistent_id)} in the place of a persistent id")
        tag, form, key, location, count, *view = persistent_id
        if not isinstance(tag, str) or tag != "storage" or any(part is not None for part in view):
            raise ValueError("a storage that is a view of another")
        if not isinstance(form, DType) or not isinstance(key, str) or not isinstance(location, str):
            raise ValueError(f"a storage of key {short(key)} on {short(location)}")
        if type(count) is not int or count < 0 or count * form.itemsize > self._source.size:
            raise ValueError(f"a storage of {short(count)} elements")
        if key not in self._raw:
            self._raw[key] = self._bytes_of(key, count * form.itemsize)
        return self._memory(key, form, location)

    def _memory(self, key: str, form: DType, location: str) -> Storage:
        if (key, form) not in self._memories:
            memory = Storage(self._numbers(self._raw[key], form), location, key=key)
            memory.device = self._place(memory)
            self._memories[key, form] = memory
        return self._memories[key, form]

    def _numbers(self, raw: Ndarray, form: DType) -> Ndarray:
        """Bytes as numbers; ``finish`` converts those that are stored differently."""
        whole = raw[: raw.size // form.itemsize * form.itemsize]
        if form.name == "bfloat16" and not dt.bfloat16.is_available:
            halves = aligned(whole, np.uint16)
            wide = np.zeros(halves.size, np.float32)
            self._pending.append(lambda: np.copyto(wide, from_halves(halves)))
            return wide
        return aligned(whole, form.numpy)

    def finish(self) -> None:
        """Convert the numbers, once all bytes are there, and move the tensors to their devices."""
        for task in self._pending:
            task()
        by_device: dict[Device, list[Tensor]] = {}
        for tensor, device in self._elsewhere.values():
            by_device.setdefault(device, []).append(tensor)
        for device, tensors in by_device.items():
            for tensor, array in zip(tensors, moved([tensor.array for tensor in tensors], device), strict=True):
                tensor.array = array

    # Tensors ------------------------------------------------------------------------------------------------

    def tensor(
        self, storage: Any, offset: Any, size: Any, stride: Any, flag: Any = False, hooks: Any = None, bits: Any = None
    ) -> Tensor:
        """A tensor of a storage's elements, which offset and strides count. ``flag`` is its requires_grad; ``bits``
        says whether PyTorch shows the elements as their conjugates or negatives, which is refused."""
        if bits:
            raise ValueError("a tensor that shows conjugates or negatives of its memory: save x.resolve_conj()")
        array = view(_checked(storage).array, offset, size, stride)
        if array.dtype == np.bool_:  # not the whole storage: others of its bytes may be of other dtypes
            truths = array.view(np.uint8)
            self._pending.append(lambda: np.not_equal(truths, 0, out=truths))
        tensor: Tensor = wrap(array)
        check_flag(tensor, flag)
        return self._moved(tensor.requires_grad_(bool(flag)), storage.device)

    def tensor_of_bytes(
        self, storage: Any, offset: Any, size: Any, stride: Any, flag: Any, hooks: Any, dtype: Any, bits: Any = None
    ) -> Tensor:
        """A tensor of some dtype in a storage of bytes."""
        if not isinstance(dtype, DType):
            raise TypeError(f"a tensor of dtype {short(dtype)}")
        typed = self._memory(_checked(storage).key, dtype, storage.location)
        return self.tensor(typed, offset, size, stride, flag, hooks, bits)

    def parameter(self, data: Any, requires_grad: Any, hooks: Any = None, state: Any = ()) -> Parameter:
        """A Parameter in the memory of a tensor, with attributes."""
        if not isinstance(data, Tensor):
            raise TypeError(f"a Parameter of a {type(data).__name__}")
        check_flag(data, requires_grad)
        parameter = Parameter(data.detach(), bool(requires_grad))
        if id(data) in self._elsewhere:
            self._elsewhere[id(parameter)] = (parameter, self._elsewhere[id(data)][1])
        set_attributes(parameter, dict_of(state))
        return parameter

    def of_type(self, function: Any, cls: Any, args: Any, state: Any) -> Tensor:
        """The tensor that one of the functions builds, with attributes."""
        if function not in self.functions().values() or cls not in (Tensor, Parameter) or type(args) is not tuple:
            raise TypeError(f"a tensor of class {short(cls)}")
        tensor: Tensor = function(*args)
        set_attributes(tensor, dict_of(state))
        return tensor

    def _moved(self, tensor: Tensor, device: Device) -> Tensor:
        """A tensor that ``finish`` moves to a device."""
        if device.type != "cpu":
            self._elsewhere[id(tensor)] = (tensor, device)
        return tensor


def _checked(storage: Any) -> Storage:
    if not isinstance(storage, Storage):
        raise TypeError(f"a tensor whose storage is a {type(storage).__name__}")
    return storage
