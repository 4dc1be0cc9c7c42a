"""Lists and dicts of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, TypeVar

from ...nn.containers import _Dict, _List
from ...nn.parameter import Parameter
from ...tensor import Tensor

__all__ = ["ParameterDict", "ParameterList"]

L = TypeVar("L", bound="ParameterList")
D = TypeVar("D", bound="ParameterDict")


class ParameterList(_List):
    """A list of registered parameters. Tensors become parameters; other values are unchanged."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _names(self) -> list[str]:
        return [str(i) for i in range(self._size)]

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self._names()])

    def __setitem__(self, index: int, param: Any) -> None:
        super().__setitem__(index, _as_parameter(param))

    def append(self: L, value: Any) -> L:
        """Append a value."""
        self._size += 1
        self[-1] = value
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")

    def extra_repr(self) -> str:
        return _described(enumerate(self), lambda value: value.dtype)


class ParameterDict(_Dict):
    """A dict of registered parameters. Tensors become parameters; other values are unchanged."""

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
            problem = f"as it is not a string (type is '{type(key).__name__}')"
            raise TypeError(f"Index given to ParameterDict cannot be used as a key {problem}")
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value for a key, or ``default``."""
        return getattr(self, key) if key in self else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value for a key. A missing key is first set to ``default``."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last (key, value). Raises KeyError if the dict is empty."""
        for key in reversed(self):
            return key, self.pop(key)
        raise KeyError("popitem(): ParameterDict is empty")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict({**self, **other})

    def __ror__(self, other: Any) -> ParameterDict:
        return ParameterDict({**other, **self})

    def __ior__(self: D, other: Any) -> D:  # type: ignore[misc]
        self.update(other)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self) -> str:
        return _described(self.items(), Tensor.type)


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(items: Iterable[tuple[Any, Any]], kind_of: Callable[[Tensor], Any]) -> str:
    """One line per value. The line for a tensor includes the dtype or type from ``kind_of``."""
    lines = []
    for name, value in items:
        text = f"Object of type: {type(value).__name__}"
        if isinstance(value, Tensor):
            size = "x".join(map(str, value.array.shape))
            device = f" (GPU {value.get_device()})" if value.is_cuda else ""
            role = "Parameter" if isinstance(value, Parameter) else "Tensor"
            text = f"{role} containing: [{kind_of(value)} of size {size}{device}]"
        lines.append(f"  ({name}): {text}")
    return "\n".join(lines)
