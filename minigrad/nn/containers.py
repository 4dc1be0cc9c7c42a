"""Containers: modules and parameters in a sequence, a list or a dict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, NoReturn, TypeVar, overload

from ..tensor import Tensor
from .module import Module
from .parameter import Parameter

__all__ = ["Identity", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

L = TypeVar("L", bound="_List")
M = TypeVar("M", bound="_Modules")
D = TypeVar("D", bound="ParameterDict")
Pairs = Mapping[str, Any] | Iterable[tuple[str, Any]]


class Identity(Module):
    """Returns its input; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


# Lists -------------------------------------------------------------------------------------------------------


class _List(Module):
    """What Sequential, ModuleList and ParameterList share."""

    def __len__(self) -> int:
        raise NotImplementedError

    def append(self: L, value: Any) -> L:
        """Add a value at the end."""
        raise NotImplementedError

    def extend(self: L, values: Iterable[Any]) -> L:
        """Add values at the end."""
        for value in list(_iterable(values, self, "extend", "an iterable")):
            self.append(value)
        return self

    def __iadd__(self: L, values: Iterable[Any]) -> L:
        return self.extend(values)

    def _position(self, index: Any) -> int:
        """A position counted from the start, from one that may count from the end."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range: {self._get_name()} has {len(self)} entries")
        return index % len(self)


class _Modules(_List):
    """What Sequential and ModuleList share: modules in a row, under the names "0", "1", ... or others."""

    def _name(self, index: int) -> str:
        return list(self._modules)[self._position(index)]

    def _renew(self, modules: Iterable[Any]) -> None:
        """Hold these modules instead, numbered from 0."""
        modules = list(modules)
        self._modules.clear()
        self.extend(modules)

    @overload
    def __getitem__(self: M, index: slice) -> M: ...
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

    def append(self: M, module: Any) -> M:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: M, modules: Iterable[Any]) -> M:
        """Add modules at the end."""
        return super().extend(modules)

    def insert(self, index: int, module: Any) -> Any:
        """Put a module before position ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renew(modules)

    def pop(self, key: int | slice) -> Any:
        """Remove the module at a position, and return it."""
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
            AssertionError: not a module. IndexError: no such position.
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

    def __imul__(self: M, other: int) -> M:
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
    """A list of modules that are registered. It has no forward: its owner calls them."""

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


class ParameterList(_List):
    """A list of parameters that are registered: tensors become parameters, other values stay what they are."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(self._size)[index])
        return getattr(self, str(self._position(index)))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(self._position(index)), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._size)])

    def append(self: L, value: Any) -> L:
        """Add a value at the end."""
        setattr(self, str(len(self)), _as_parameter(value))
        self._size += 1
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")

    def extra_repr(self) -> str:
        return _described(enumerate(self), lambda value: value.dtype)


# Dicts -------------------------------------------------------------------------------------------------------


class _Dict(Module):
    """What ModuleDict and ParameterDict share, over the keys that ``_names`` returns."""

    def _names(self) -> dict[str, Any]:
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        raise NotImplementedError

    def __setitem__(self, key: str, value: Any) -> None:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __contains__(self, key: object) -> bool:
        return key in self._names()

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove the value of a key, and return it."""
        value = self[key]
        del self[key]
        return value

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._names().keys()

    def _update(self, pairs: Pairs) -> None:
        """Add values by key, from a mapping, from another container, or from pairs."""
        pairs = _iterable(pairs, self, "update", "an iterable of key/value pairs")
        for key, value in list(pairs.items() if isinstance(pairs, (Mapping, _Dict)) else pairs):
            self[key] = value


class ModuleDict(_Dict):
    """A dict of modules that are registered."""

    def __init__(self, modules: Pairs | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def _names(self) -> dict[str, Any]:
        return self._modules

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def items(self) -> ItemsView[str, Any]:
        """(key, module) of each."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Pairs) -> None:
        """Add modules by key, from a mapping or from pairs."""
        self._update(modules)


class ParameterDict(_Dict):
    """A dict of parameters that are registered: tensors become parameters, other values stay what they are."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _names(self) -> dict[str, Any]:
        return self._keys

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

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return [self[key] for key in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        """(key, value) of each."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or ``default``."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is set to ``default`` if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last (key, value), and return it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def copy(self) -> ParameterDict:
        """Another dict of the same values."""
        return ParameterDict(self.items())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with one value for several keys."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters: Pairs) -> None:
        """Add values by key, from a mapping or from pairs."""
        self._update(parameters)

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict([*self.items(), *other.items()])

    def __ror__(self, other: Any) -> ParameterDict:
        return ParameterDict([*other.items(), *self.items()])

    def __ior__(self: D, other: Any) -> D:  # type: ignore[misc]
        self.update(other)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self) -> str:
        return _described(self.items(), Tensor.type)


def _iterable(values: Any, owner: Module, method: str, expected: str) -> Any:
    if not isinstance(values, Iterable):
        called = f"{owner._get_name()}.{method} should be called with {expected}"
        raise TypeError(f"{called}, but got {type(values).__name__}")
    return values


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(named: Iterable[tuple[Any, Any]], kind_of: Callable[[Tensor], Any]) -> str:
    """A line for each value; for a tensor with its dtype or type, as ``kind_of`` says."""
    lines = []
    for name, value in named:
        text = f"Object of type: {type(value).__name__}"
        if isinstance(value, Tensor):
            size = "x".join(map(str, value.array.shape))
            device = f" (GPU {value.get_device()})" if value.is_cuda else ""
            role = "Parameter" if isinstance(value, Parameter) else "Tensor"
            text = f"{role} containing: [{kind_of(value)} of size {size}{device}]"
        lines.append(f"  ({name}): {text}")
    return "\n".join(lines)
