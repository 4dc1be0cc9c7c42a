"""Containers that hold modules in a sequence, list or dict. Parameter containers are in ``compat/nn/containers.py``."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..tensor import Tensor
from .module import Module

__all__ = ["Identity", "ModuleDict", "ModuleList", "Sequential"]

L = TypeVar("L", bound="_List")
Value = TypeVar("Value")
Pairs = Mapping[str, Any] | Iterable[tuple[str, Any]]


class Identity(Module):
    """Return the input unchanged. The constructor ignores its arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input

    if TYPE_CHECKING:

        def __call__(self, input: Value) -> Value: ...


class _List(Module):
    """Base class of Sequential, ModuleList and compat's ParameterList: a sequence of values stored as attributes."""

    def _names(self) -> list[str]:
        return list(self._modules)

    def _name(self, index: Any) -> str:
        names, position = self._names(), operator.index(index)
        if not -len(names) <= position < len(names):
            raise IndexError(f"index {position} is out of range: {self._get_name()} has {len(names)} entries")
        return names[position]

    def __len__(self) -> int:
        return len(self._names())

    @overload
    def __getitem__(self: L, index: slice) -> L: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part({name: getattr(self, name) for name in self._names()[index]})
        return getattr(self, self._name(index))

    def _part(self, entries: dict[str, Any]) -> Any:
        return type(self)(entries.values())

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), value)

    def append(self: L, value: Any) -> L:
        """Append a value."""
        self.add_module(str(len(self)), value)
        return self

    def extend(self: L, values: Iterable[Any]) -> L:
        """Append several values."""
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self: L, values: Iterable[Any]) -> L:
        return self.extend(values)


class _Modules(_List):
    """Base class of Sequential and ModuleList. Modules are named "0", "1", ..., or by the caller."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _renew(self, modules: Iterable[Any]) -> None:
        modules = list(modules)
        self._modules.clear()
        self.extend(modules)

    def __delitem__(self, index: int | slice) -> None:
        names = self._names()[index] if isinstance(index, slice) else [self._name(index)]
        self._renew(module for name, module in self._modules.items() if name not in names)

    def insert(self, index: int, module: Any) -> Any:
        """Insert a module before position ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renew(modules)

    def pop(self, key: int | slice) -> Any:
        """Remove the module at a position and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Modules):
    """Modules called in sequence: ``Sequential(a, b)`` or ``Sequential(OrderedDict(first=a))``.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> model(mg.zeros(5, 3)).shape
    minigrad.Size([5, 2])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        pairs = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in pairs:
            self.add_module(str(name), module)

    def _part(self, entries: dict[str, Any]) -> Sequential:
        return type(self)(OrderedDict(entries))

    def insert(self, index: int, module: Any) -> Sequential:
        """Insert a module before ``index``. Raises AssertionError for a non-module, IndexError for an invalid index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*list(self) * self._times(other))

    __rmul__ = __mul__

    def __imul__(self: L, other: int) -> L:
        return self.extend(list(self) * (self._times(other) - 1))

    def _times(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self).__name__} and {type(other).__name__}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self).__name__}")
        return other

    def forward(self, input: Any) -> Tensor:
        for module in self:
            input = module(input)
        return input


class ModuleList(_Modules):
    """A list that registers its modules. It has no ``forward``; the owner calls the modules.

    >>> layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    >>> x = mg.zeros(2, 4)
    >>> for layer in layers:
    ...     x = layer(x)
    >>> len(layers), x.shape
    (3, minigrad.Size([2, 4]))
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def _child_lines(self) -> list[str]:
        """One line for each run of identical modules, such as "(0-11): 12 x Block(...)"."""
        lines, first = [], 0
        for text, equal in groupby(map(repr, self)):
            count = len(list(equal))
            last = first + count - 1
            lines.append(f"({first}): {text}" if count == 1 else f"({first}-{last}): {count} x {text}")
            first += count
        return lines


class _Dict(Module, MutableMapping[str, Any]):
    """Base class of ModuleDict and compat's ParameterDict."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # a module equals only itself

    def _names(self) -> dict[str, Any]:
        return self._modules

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names())

    def __contains__(self, key: object) -> bool:
        return key in self._names()


class ModuleDict(_Dict):
    """A dict that registers its modules.

    >>> heads = nn.ModuleDict({"topic": nn.Linear(4, 3), "mood": nn.Linear(4, 2)})
    >>> heads["mood"](mg.zeros(1, 4)).shape
    minigrad.Size([1, 2])
    """

    def __init__(self, modules: Pairs | None = None) -> None:
        super().__init__()
        if modules is not None:  # a subclass may have overridden ``update``
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]
