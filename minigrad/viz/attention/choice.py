"""Which heads of which layer a picture shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..numbers import Array
from .data import Attention


class Chosen(NamedTuple):
    """What is drawn."""

    weights: Array  # (H, T, S) of some heads
    heads: tuple[int, ...]  # their numbers
    title: str
    blocked: Array | None  # (T, S), what a mask forbids in all of them; None without a mask

    @property
    def several(self) -> bool:
        """Whether there is more than one head."""
        return len(self.heads) > 1

    @property
    def padding(self) -> set[int]:
        """The keys that no query may look at."""
        return set() if self.blocked is None else set(np.flatnonzero(self.blocked.all(0)).tolist())


def chosen(attention: Attention, layer: int | None, head: int | Sequence[int] | None) -> Chosen:
    """Some heads of a layer, or of the mean over all layers. Raises ValueError: there is no such layer or head, or
    layers differ in their heads."""
    weights, blocked, name = _of_layer(attention, layer)
    count = len(weights)
    numbers = range(count) if head is None else np.atleast_1d(head).tolist()
    heads = tuple(_within("head", h, count) for h in numbers)
    if not heads:
        raise ValueError("there is no head to draw: an empty list of heads")
    names = f"heads 0 to {count - 1}" if head is None and count > 1 else "head " + ", ".join(map(str, heads))
    if blocked is not None:
        blocked = np.array(np.broadcast_to(blocked, weights.shape)[list(heads)].all(0))
    return Chosen(weights[list(heads)], heads, f"{attention.title} · {name} · {names}", blocked)


def _of_layer(attention: Attention, layer: int | None) -> tuple[Array, Array | None, str]:
    """Weights (H, T, S) of a layer or of their mean, what masks forbid in them, and their name."""
    layers = attention.layers
    if layer is not None or len(layers) == 1:
        number = _within("layer", layer or 0, len(layers))
        return layers[number].weights, layers[number].blocked, f"layer {number}"
    if len({len(one.weights) for one in layers}) > 1:
        raise ValueError("there is no mean over layers that differ in their heads: choose a layer")
    mean: Array = np.mean([one.weights for one in layers], 0)
    masks = [np.broadcast_to(one.blocked, mean.shape) for one in layers if one.blocked is not None]
    blocked = np.logical_and.reduce(masks) if len(masks) == len(layers) else None
    return mean, blocked, f"mean of {len(layers)} layers"


def _within(name: str, number: int, count: int) -> int:
    if not -count <= number < count:
        raise ValueError(f"there is no {name} {number}: there are {count}, from 0 to {count - 1}")
    return number % count
