"""What nodes of the tape keep alive for the backward pass, in bytes, each piece of memory counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...autograd.tape import Lost, Node, Variable
from .data import Saved
from .names import input_name

KERNEL = "kernel"
Place = Callable[[Any], int | None]  # the number of the node whose result (or leaf) a tensor is


class Memory:
    """Tells the nodes' saved arrays, from the oldest node to the youngest: the first to keep memory pays.

    Args:
        free: arrays that live anyhow: the parameters'.
    """

    def __init__(self, free: list[Any]) -> None:
        self._paid = {id(_owner(array)) for array in free}

    def of(self, node: Node, place: Place) -> list[Saved]:
        """What a node keeps; nothing of one that is freed, or that a checkpoint computes again."""
        if node.saved is None or isinstance(node.saved, Lost):
            return []
        found = []
        for name, value, number in _kept(node, place):
            arrays = list(_arrays(value))
            if arrays:
                found.append(Saved(name, sum(map(self._pay, arrays)), number))
        return found

    def _pay(self, array: Any) -> int:
        """The bytes that stay alive for an array: those of the memory it is a view of."""
        owner = _owner(array)
        if id(owner) in self._paid:
            return 0
        self._paid.add(id(owner))
        return int(owner.nbytes)


def _kept(node: Node, place: Place) -> Iterator[tuple[str, Any, int | None]]:
    """Names and values of all that a node keeps, and whose results they are."""
    if node.op.backward is None:
        for i, value in zip(node.plan.keep, node.saved, strict=True):  # type: ignore[arg-type]
            yield input_name(node, i), value, place(value) if isinstance(value, Variable) else None
        if node.out is not None:
            yield "out", node.out, place(node)
        yield KERNEL, node.residual, None
        return
    for i, value in enumerate(node.saved):  # type: ignore[arg-type]
        if isinstance(value, Variable):
            yield f"saved_tensors {i}", value, place(value)
        else:  # a result of its own, or None
            yield f"saved_tensors {i}", getattr(value, "array", None), place(node)
    for name, value in vars(node.residual).items():  # what a Function's forward noted on ctx
        if not name.startswith("_"):
            yield f"ctx.{name}", value, place(value) if isinstance(value, Variable) else None


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays within a value."""
    if isinstance(value, Variable):
        value = vars(value).get("array")  # of logits that are not computed there is none
    if isinstance(value, tuple | list):
        for inner in value:
            yield from _arrays(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _arrays(inner)
    elif hasattr(value, "nbytes") and hasattr(value, "strides"):
        yield value


def _owner(array: Any) -> Any:
    """The array whose memory it is."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "nbytes"):
        array = array.base
    return array
