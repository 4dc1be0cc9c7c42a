"""Containers: modules and parameters in a row, in a list or in a dict."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, overload

from ..tensor import Tensor
from .module import Module
from .parameter import Parameter

V = TypeVar("V")
S = TypeVar("S", bound="_Numbered[Any]")


class Identity(Module):
    """Returns its input; arguments are taken and mean nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class _Numbered(Module, Generic[V]):
    """What Sequential, ModuleList and ParameterList share: values named "0", "1", ... in one table."""

    _table = "_modules"

    @property
    def _held(self) -> dict[str, Any]:
        held: dict[str, Any] = self.__dict__[self._table]
        return held

    def _name(self, index: int) -> str:
        """The name of a position, counted from the end if negative."""
        index, n = operator.index(index), len(self._held)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range: {self._get_name()} has {n} entries")
        return list(self._held)[index]

    def _renew(self, values: Iterable[V]) -> None:
        """Hold these values instead, numbered from 0."""
        listed = list(values)
        self._held.clear()
        self.extend(listed)

    @overload
    def __getitem__(self: S, index: slice) -> S: ...
    @overload
    def __getitem__(self, index: int) -> V: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(dict(list(self._held.items())[index]))
        return self._held[self._name(index)]

    def _part(self, held: dict[str, Any]) -> Any:
        """A container of the same class around a slice."""
        return type(self)(held.values())  # type: ignore[call-arg]

    def __setitem__(self, index: int, value: V) -> None:
        setattr(self, self._name(index), value)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._held)[index] if isinstance(index, slice) else [self._name(index)]
        self._renew(value for name, value in list(self._held.items()) if name not in names)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[V]:
        return iter(self._held.values())

    def __iadd__(self: S, values: Iterable[V]) -> S:
        return self.extend(values)

    def append(self: S, value: V) -> S:
        """Add a value at the end."""
        setattr(self, str(len(self)), value)
        return self

    def extend(self: S, values: Iterable[V]) -> S:
        """Add values at the end."""
        for value in list(values):
            self.append(value)
        return self

    def insert(self, index: int, value: V) -> None:
        """Put a value before position ``index``."""
        values = list(self)
        values.insert(index, value)
        self._renew(values)

    def pop(self, index: int = -1) -> V:
        """Take the value at a position out, and return it."""
        value: V = self[index]
        del self[index]
        return value


class Sequential(_Numbered[Any]):
    """Modules called one after another: ``Sequential(a, b)`` or ``Sequential(OrderedDict(first=a))``."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], Mapping) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def _part(self, held: dict[str, Any]) -> Sequential:
        return type(self)(held)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._held)[index] if isinstance(index, slice) else [self._name(index)]
        left = [(name, value) for name, value in self._held.items() if name not in names]
        numbered = all(name.isdecimal() for name in self._held)
        self._held.clear()
        self._held.update((str(i) if numbered else name, value) for i, (name, value) in enumerate(left))

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input


class ModuleList(_Numbered[Any]):
    """A list of modules that are registered. It has no forward: the owner calls them."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def append(self: S, value: Any) -> S:
        """Add a module at the end."""
        self.add_module(str(len(self)), value)
        return self

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


class ParameterList(_Numbered[Any]):
    """A list of parameters that are registered; tensors become parameters."""

    _table = "_parameters"

    def __init__(self, values: Iterable[Tensor] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), _as_parameter(value))

    def append(self: S, value: Any) -> S:
        """Add a parameter at the end."""
        self.register_parameter(str(len(self)), _as_parameter(value))
        return self

    def _child_lines(self) -> list[str]:
        return [_described(name, p) for name, p in self._parameters.items()]


class _Named(Module, Generic[V]):
    """What ModuleDict and ParameterDict share: values by name in one of the tables."""

    _table = "_modules"

    @property
    def _held(self) -> dict[str, Any]:
        held: dict[str, Any] = self.__dict__[self._table]
        return held

    def __getitem__(self, key: str) -> V:
        found: V = self._held[key]
        return found

    def __setitem__(self, key: str, value: V) -> None:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        del self._held[key]

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._held.keys()

    def values(self) -> Iterable[V]:
        """The values."""
        return self._held.values()

    def items(self) -> Iterable[tuple[str, V]]:
        """(name, value) of each."""
        return self._held.items()

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or ``default``."""
        return self._held.get(key, default)

    def pop(self, key: str) -> V:
        """Take the value of a name out, and return it."""
        found: V = self._held.pop(key)
        return found

    def clear(self) -> None:
        """Take everything out."""
        self._held.clear()

    def update(self, values: Mapping[str, V] | Iterable[tuple[str, V]]) -> None:
        """Add values by name, from a mapping or from pairs."""
        for key, value in values.items() if isinstance(values, (Mapping, _Named)) else values:
            self[key] = value


class ModuleDict(_Named[Any]):
    """A dict of modules that are registered."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __setitem__(self, key: str, value: Any) -> None:
        self.add_module(key, value)


class ParameterDict(_Named[Any]):
    """A dict of parameters that are registered; tensors become parameters."""

    _table = "_parameters"

    def __init__(self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, _as_parameter(value))

    def _child_lines(self) -> list[str]:
        return [_described(name, p) for name, p in self._parameters.items()]


def _as_parameter(value: Any) -> Parameter:
    return value if isinstance(value, Parameter) else Parameter(value)


def _described(name: str, parameter: Parameter | None) -> str:
    if parameter is None:
        return f"({name}): None"
    size = "x".join(map(str, parameter.array.shape))
    return f"({name}): Parameter containing: [{parameter.dtype} of size {size}]"
