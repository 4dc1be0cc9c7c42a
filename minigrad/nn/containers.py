"""Containers: modules and parameters in a row, in a list or in a dict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, NoReturn, TypeVar, overload

from ..tensor import Tensor
from .module import Module
from .parameter import Parameter

__all__ = ["Identity", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

S = TypeVar("S", bound="_Modules")
L = TypeVar("L", bound="ParameterList")
D = TypeVar("D", bound="ParameterDict")
Pairs = Mapping[str, Any] | Iterable[tuple[str, Any]]


class Identity(Module):
    """Returns its input; arguments are taken and mean nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


def _position(index: Any, count: int, owner: Module) -> int:
    """A position counted from the start, given one that may count from the end."""
    index = operator.index(index)
    if not -count <= index < count:
        raise IndexError(f"index {index} is out of range: {owner._get_name()} has {count} entries")
    return index % count


def _iterable(values: Any, owner: Module) -> Any:
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{owner._get_name()}.extend should be called with an iterable, but got {type(values).__name__}"
        )
    return values


class _Modules(Module):
    """What Sequential and ModuleList share: modules in a row, named "0", "1", ... or as they came."""

    def _name(self, index: int) -> str:
        return list(self._modules)[_position(index, len(self), self)]

    def _renew(self, modules: Iterable[Any]) -> None:
        """Hold these modules instead, numbered from 0."""
        listed = list(modules)
        self._modules.clear()
        self.extend(listed)

    @overload
    def __getitem__(self: S, index: slice) -> S: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(list(self._modules.items())[index])
        return self._modules[self._name(index)]

    def _part(self, named: list[tuple[str, Any]]) -> Any:
        """A container of the same class around a slice."""
        return type(self)([module for _, module in named])

    def __setitem__(self, index: int, module: Any) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        self._renew([module for name, module in self._modules.items() if name not in names])

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __iadd__(self: S, modules: Iterable[Any]) -> S:
        return self.extend(modules)

    def append(self: S, module: Any) -> S:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: S, modules: Iterable[Any]) -> S:
        """Add modules at the end."""
        for module in list(_iterable(modules, self)):
            self.append(module)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Put a module before position ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renew(modules)

    def pop(self, key: int | slice) -> Any:
        """Take the module at a position out, and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Modules):
    """Modules called one after another: ``Sequential(a, b)`` or ``Sequential(OrderedDict(first=a))``."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], Mapping) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def _part(self, named: list[tuple[str, Any]]) -> Sequential:
        return type(self)(OrderedDict(named))

    def insert(self, index: int, module: Any) -> Sequential:
        """Put a module before position ``index``.

        Raises:
            AssertionError: no module. IndexError: no such position.
        """
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

    def __imul__(self: S, other: int) -> S:
        return self.extend(list(self) * (self._times(other) - 1))

    def _times(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self).__name__} and {type(other).__name__}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self).__name__}")
        return other

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleList(_Modules):
    """A list of modules that are registered. It has no forward: the owner calls them."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def _child_lines(self) -> list[str]:
        """Equal neighbours as one line: "(0-11): 12 x Block(...)"."""
        runs: list[tuple[int, int, str]] = []
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        return [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]


class ModuleDict(Module):
    """A dict of modules that are registered."""

    def __init__(self, modules: Pairs | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take everything out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take the module of a name out, and return it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """(name, module) of each."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Pairs) -> None:
        """Add modules by name, from a mapping or from pairs."""
        for key, module in _pairs(modules, self):
            self[key] = module


class ParameterList(Module):
    """A list of parameters that are registered: tensors become parameters, other values are kept, too."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(self._size)[index])
        return getattr(self, str(_position(index, self._size, self)))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(_position(index, self._size, self)), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self: L, parameters: Iterable[Any]) -> L:
        return self.extend(parameters)

    def append(self: L, value: Any) -> L:
        """Add a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self: L, values: Iterable[Any]) -> L:
        """Add values at the end."""
        for value in list(_iterable(values, self)):
            self.append(value)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")

    def extra_repr(self) -> str:
        return _described(enumerate(self), lambda value: value.dtype)


class ParameterDict(Module):
    """A dict of parameters that are registered: tensors become parameters, other values are kept, too."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}')"
            )
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The values."""
        return [self[key] for key in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        """(name, value) of each."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or ``default``."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which is put in if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Take the value of a name out, and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last (name, value) out, and return it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Take everything out."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """Another dict of the same values."""
        return ParameterDict(self.items())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with one value under several names."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters: Pairs) -> None:
        """Add values by name, from a mapping or from pairs."""
        for key, value in _pairs(parameters, self):
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)  # type: ignore[arg-type]
        return made

    def __ror__(self, other: Any) -> ParameterDict:
        made = ParameterDict(other)
        made.update(self)  # type: ignore[arg-type]
        return made

    def __ior__(self: D, other: Any) -> D:  # type: ignore[misc]
        self.update(other)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self) -> str:
        return _described(self.items(), Tensor.type)


def _pairs(values: Any, owner: Module) -> Iterable[tuple[str, Any]]:
    """(name, value) from a mapping, from another container, or from pairs."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{owner._get_name()}.update should be called with an iterable of key/value pairs, but got "
            f"{type(values).__name__}"
        )
    if isinstance(values, (Mapping, ModuleDict, ParameterDict)):
        return list(values.items())
    return list(values)


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(named: Iterable[tuple[Any, Any]], told_by: Callable[[Tensor], Any]) -> str:
    """A line for each value; of a tensor with its dtype or type, as ``told_by`` says."""
    lines = []
    for name, value in named:
        told = f"Object of type: {type(value).__name__}"
        if isinstance(value, Tensor):
            size = "x".join(map(str, value.array.shape))
            where = f" (GPU {value.get_device()})" if value.is_cuda else ""
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            told = f"{kind} containing: [{told_by(value)} of size {size}{where}]"
        lines.append(f"  ({name}): {told}")
    return "\n".join(lines)
