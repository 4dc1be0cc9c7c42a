"""Values that are computed when they are first asked for, as they would have been at the time of the call."""

from __future__ import annotations

import threading
from typing import Any

from ...autograd import tape
from ...autograd.tape import Node
from ...backend import of, xp
from ...backend.dtype import Array
from ...ops.linear import linear
from ...ops.op import Op
from ...tensor import Tensor

Factors = tuple[Tensor, Tensor, Tensor | None]  # x (..., D), W (V, D), b (V)
lock = threading.RLock()  # several threads may ask at once


class Pending:
    """A value that is computed when it is first asked for, and once."""

    found: Array | None = None

    def value(self) -> Array:
        """The array."""
        with lock:
            if self.found is None:
                self.found = self._compute()
            return self.found

    def _compute(self) -> Array:
        raise NotImplementedError

    def memory(self) -> Array | None:
        """The array whose memory it shows, if that has been computed."""
        return self.found


class Product(Pending):
    """x Wᵀ + b, of the memory as it is when this is made.

    Args:
        factors: x, W and b or None.
        mask: a bit for each that wants a gradient.
        node: what was recorded for them.
    """

    def __init__(self, factors: Factors, mask: int, node: Node) -> None:
        self.factors, self.mask, self.edges = factors, mask, node.edges
        self.arrays: list[Array | None] = [None if f is None else f.array for f in factors]
        tape.read_later(self)

    def _compute(self) -> Array:
        found = linear(*self.arrays)
        self.arrays = [None, None, None]
        return found

    def keep(self, changing: Array) -> None:
        """Take copies of the factors whose memory is about to change."""
        with lock:
            for i, array in enumerate(self.arrays):
                if array is not None and _overlap(array, changing):
                    self.arrays[i] = array.copy()

    def is_intact(self) -> bool:
        """Whether the factors have the values and the history that they had."""
        for factor, array in zip(self.factors, self.arrays, strict=True):
            if factor is not None and factor.array is not array:
                return False
        if tape._mask(linear, self.factors) != self.mask:
            return False
        wanted = [f for i, f in enumerate(self.factors) if f is not None and self.mask >> i & 1]
        return all((f._source()[0] or f) is edge[0] for f, edge in zip(wanted, self.edges, strict=True))


class Step(Pending):
    """What an op makes of a pending value: a view of its memory or, if it ``copies``, memory of its own."""

    def __init__(self, source: Pending, op: Op, args: tuple[Any, ...], copies: bool) -> None:
        self.source, self.op, self.args, self.copies = source, op, args, copies
        if copies:
            tape.read_later(self)

    def _compute(self) -> Array:
        return self.op.forward(self.source.value(), *self.args)

    def keep(self, changing: Array) -> None:
        """Copy now what is about to change."""
        source = self.source.memory()
        if self.found is None and source is not None and _overlap(source, changing):
            self.value()

    def memory(self) -> Array | None:
        return self.found if self.copies else self.source.memory()


def _overlap(a: Array, b: Array) -> bool:
    return of(a) is of(b) and bool(xp(a).may_share_memory(a, b))
