"""What is put in the place of a value, and how the graph shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...autograd.recompute import is_in_first_run
from ...backend import xp
from ...backend.dtype import Array
from ...functions.names import as_tensor, full_like
from ...ops.op import op
from ...tensor import Tensor
from .trace_values import mapped, parts

Kind = Literal["replaced", "cut"]
Cut = Literal["zeros", "mean", "detach"]
CUTS = ("zeros", "mean", "detach")


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

    kind: Kind
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
            return old.mean(tuple(range(old.ndim - 1)), keepdim=True).expand_as(old) if old.ndim > 1 else _mean(old)
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
    return Change("replaced", lambda old: _leaf(_filling(source, old)) if at is None else _within(old, source, at))


def _filling(source: Tensor, old: Tensor) -> Tensor:
    return source.expand_as(old) if source.ndim == 0 else source


def _mean(old: Tensor) -> Tensor:
    return old.mean().expand_as(old)


def _leaf(value: Tensor) -> Tensor:
    """A copy that gets a gradient, so that the graph shows it."""
    copied = value.detach().clone()
    return copied.requires_grad_() if copied.is_floating_point() else copied


def _within(old: Tensor, source: Tensor, at: Any) -> Tensor:
    """The old value, but at an index the source: its part there, or all of it if it has another shape."""
    new = old.clone()
    new[at] = _leaf(source[at] if source.shape == old.shape else source)
    return new


def changes(given: Any, kind: Kind = "replaced") -> Change:
    """What a program has given as a change, as one."""
    return given if isinstance(given, Change) else Change(kind, given)


Replacement = Callable[[Any], Any] | Tensor | float | Change
