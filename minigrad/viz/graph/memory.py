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
    """Lists the nodes' saved arrays, from the oldest node to the youngest: the first to keep memory pays. Arrays
    that live anyhow, as the parameters' do, are free."""

    def __init__(self, free: list[Any]) -> None:
        self._paid = {id(_owner(array)) for array in free}

    def of(self, node: Node, place: Place) -> list[Saved]:
        """What a node keeps; nothing of one that is freed, or that a checkpoint computes again."""
        if node.saved is None or isinstance(node.saved, Lost):
            return []
        saved = []
        for name, value, number in _kept(node, place):
            arrays = list(_arrays(value))
            if arrays:
                saved.append(Saved(name, sum(map(self._pay, arrays)), number))
        return saved

    def _pay(self, array: Any) -> int:
        """The bytes that stay alive for an array: those of the memory it is a view of."""
        owner = _owner(array)
        paid = id(owner) in self._paid
        self._paid.add(id(owner))
        return 0 if paid else int(owner.nbytes)


def _kept(node: Node, place: Place) -> Iterator[tuple[str, Any, int | None]]:
    """Names and values of all that a node keeps, and whose results they are."""

    def whose(value: Any) -> int | None:
        return place(value) if isinstance(value, Variable) else None

    saved: Any = node.saved
    if node.op.backward is None:
        for i, value in zip(node.plan.keep, saved, strict=True):
            yield input_name(node, i), value, whose(value)
        if node.out is not None:
            yield "out", node.out, place(node)
        yield KERNEL, node.residual, None
        return
    for i, value in enumerate(saved):  # a Function's; its results are references, or None
        own = not isinstance(value, Variable)
        yield (
            f"saved_tensors {i}",
            getattr(value, "array", None) if own else value,
            place(node) if own else whose(value),
        )
    for name, value in vars(node.residual).items():  # what a Function's forward noted on ctx
        if not name.startswith("_"):
            yield f"ctx.{name}", value, whose(value)


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays within a value."""
    if isinstance(value, Variable):
        value = vars(value).get("array")
    if isinstance(value, tuple | list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _arrays(inner)
    elif hasattr(value, "nbytes") and hasattr(value, "strides"):
        yield value


def _owner(array: Any) -> Any:
    """The array whose memory it is."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "nbytes"):
        array = array.base
    return array
