"""Values of a run: tensors, and tuples, lists and dictionaries of them, whose parts have names like Python's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...autograd.tape import wrap
from ...backend.storage import owner
from ...tensor import Tensor


def parts(value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a value and their names: of a pair "lstm" these are "lstm[0]" and "lstm[1]"."""
    found: dict[str, Tensor] = {}
    mapped(value, name, lambda tensor, part: found.setdefault(part, tensor))
    yield from found.items()


def mapped(value: Any, name: str, function: Callable[[Tensor, str], Any]) -> Any:
    """The value, each tensor in it replaced by ``function(tensor, its name)``."""
    if isinstance(value, Tensor):
        return function(value, name)
    if isinstance(value, Mapping):
        inner = {key: mapped(held, f"{name}[{key!r}]", function) for key, held in value.items()}
        return value if _same(inner.values(), value.values()) else type(value)(inner)  # type: ignore[call-arg]
    if isinstance(value, list | tuple):
        items = [mapped(held, f"{name}[{i}]", function) for i, held in enumerate(value)]
        if _same(items, value):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _same(one: Any, other: Any) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


class Kept:
    """A tensor as it was when it was noted: its numbers stay, whatever the program changes in place later."""

    def __init__(self, tensor: Tensor) -> None:
        self.version = tensor._changes[0]
        self.tensor = tensor
        if not tensor.is_leaf or not tensor.requires_grad:  # a leaf is to get its gradient itself
            self.tensor = wrap(tensor.array)
            (self.tensor._node, self.tensor._slot), self.tensor._needs = tensor._source(), tensor._wanted()
            self.tensor._changes = tensor._changes

    def shares(self, array: Any) -> bool:
        """Whether the array is in the same memory."""
        return owner(self.tensor.array) is owner(array)

    def save(self) -> None:
        """Copy the numbers, as their memory is about to change."""
        tensor: Tensor = wrap(self.tensor.array.copy())
        tensor._node, tensor._slot, tensor._needs = self.tensor._node, self.tensor._slot, self.tensor._needs
        self.tensor, self.version = tensor, 0

    def get(self, name: str) -> Tensor:
        """The tensor. Raises RuntimeError if an assignment has overwritten its numbers."""
        count, change = self.tensor._changes
        if count != self.version:
            by = f" ({change[0]} at {change[1]})" if change else ""
            raise RuntimeError(f"{name!r} was overwritten after it was computed{by}: its numbers are gone")
        return self.tensor
