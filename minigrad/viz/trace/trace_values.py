"""Values of a run: tensors, and tuples, lists and dictionaries of them, whose parts have names like Python's; what is
put in their place, and how the graph shows that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...autograd.tape import wrap
from ...backend import xp
from ...backend.dtype import Array
from ...backend.storage import owner
from ...functions.names import as_tensor, full_like
from ...ops.op import op
from ...tensor import Tensor
from ...utils.checkpoint import is_in_first_run

Cut = Literal["zeros", "mean", "detach"]
CUTS = ("zeros", "mean", "detach")


def parts(value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a value and their names: of a pair "lstm" these are "lstm[0]" and "lstm[1]"."""
    tensors: dict[str, Tensor] = {}
    mapped(value, name, lambda tensor, part: tensors.setdefault(part, tensor))
    yield from tensors.items()


def mapped(value: Any, name: str, function: Callable[[Any, str], Any], kind: type = Tensor) -> Any:
    """The value, each tensor in it (or what else of a kind) replaced by ``function(tensor, its name)``."""
    if isinstance(value, kind):
        return function(value, name)
    if isinstance(value, Mapping):
        inner = {key: mapped(held, f"{name}[{key!r}]", function, kind) for key, held in value.items()}
        same = all(inner[key] is held for key, held in value.items())
        return value if same else type(value)(inner)  # type: ignore[call-arg]
    if isinstance(value, list | tuple):
        items = [mapped(held, f"{name}[{i}]", function, kind) for i, held in enumerate(value)]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


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


# What is put in their place ---------------------------------------------------------------------------------


@op("dnew = g", new=lambda g: g, holomorphic=True)
def replaced(new: Array, old: Array, name: str) -> Array:
    """new, in the place of old"""
    return xp(new).array(new)


@op("dnew = g", new=lambda g: g, holomorphic=True)
def cut(new: Array, old: Array, name: str) -> Array:
    """new, which does not depend on what computed old"""
    return xp(new).array(new)


@dataclass(frozen=True)
class Change:
    """What goes on in place of a value: a tensor, an array, a number, or what a function makes of the value."""

    kind: Literal["replaced", "cut"]
    what: Any

    def of(self, old: Any, name: str) -> Any:
        """What it makes of a value. Raises RuntimeError, with the name, if that does not fit."""
        new = self.what(old) if callable(self.what) and not isinstance(self.what, Tensor) else self.what
        if new is None:
            raise RuntimeError(f"the replacement of {name!r} returned None: it must return the value that goes on")
        return new

    def passed(self, old: Tensor, new: Any, name: str) -> Tensor:
        """The new value in the place of the old one, as a node of the graph."""
        if is_in_first_run():
            raise RuntimeError(f"{name!r} is computed within a checkpoint, which would run again without the change")
        if isinstance(new, bool | int | float | complex):
            new = full_like(old, new)
        elif isinstance(new, np.ndarray | np.generic | list):
            new = as_tensor(new, device=old.device)
        if not isinstance(new, Tensor):
            raise RuntimeError(f"the replacement of {name!r} must be a tensor or a number, not {type(new).__name__}")
        if tuple(new.shape) != tuple(old.shape):
            raise RuntimeError(
                f"the replacement of {name!r} must have its shape {tuple(old.shape)}, not {tuple(new.shape)}"
            )
        new = new.to(device=old.device, dtype=old.dtype)
        result: Tensor = (replaced if self.kind == "replaced" else cut)(new, old, name)
        return result


def cutting(to: Cut, at: Any) -> Change:
    """A value without what was computed: zeros, its mean over all axes but the last, or itself without a history."""

    def constant(old: Tensor) -> Tensor:
        old = old.detach()
        if to == "mean":
            axes = tuple(range(old.ndim - 1))
            return (old.mean(axes, keepdim=True) if axes else old.mean()).expand_as(old)
        return old if to == "detach" else full_like(old, 0)

    def one(old: Tensor, _: str = "") -> Tensor:
        return _leaf(constant(old)) if at is None else _within(old, constant(old), at)

    return Change("cut", lambda old: mapped(old, "", one))


def patching(value: Any, at: Any) -> Change:
    """The numbers of another run's value."""
    if isinstance(value, list | tuple | Mapping) and any(isinstance(part, Tensor) for _, part in parts(value, "")):
        copied = mapped(value, "", lambda part, _: _leaf(part))
        return Change("replaced", lambda old: copied)
    source: Tensor = value.detach() if isinstance(value, Tensor) else as_tensor(value)

    def patched(old: Tensor) -> Tensor:
        if at is not None:
            return _within(old, source, at)
        return _leaf(source if source.ndim else source.expand_as(old))

    return Change("replaced", patched)


def _leaf(value: Tensor) -> Tensor:
    """A copy that gets a gradient, so that the graph shows it."""
    copied = value.detach().clone()
    return copied.requires_grad_() if copied.is_floating_point() else copied


def _within(old: Tensor, source: Tensor, at: Any) -> Tensor:
    """The old value, but at an index the source: its part there, or all of it if it has another shape."""
    new = old.clone()
    new[at] = _leaf(source[at] if source.shape == old.shape else source)
    return new


Replacement = Callable[[Any], Any] | Tensor | float | Change
