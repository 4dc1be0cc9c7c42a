"""Gradients in a backward pass of DistributedDataParallel: they go into buckets, and come back reduced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..autograd.observer import Observer, detach
from ..autograd.origin import note_change
from ..autograd.tape import wrap
from ..autograd.walk import nodes_behind
from ..distributed import collectives
from ..distributed.group import ReduceOp
from ..functions.creation import tensor
from ..nn.parallel.buckets import Buckets, GradBucket

Hook = Callable[[Any, GradBucket], Any]


class Reducer(Observer):
    """Watches the walk back: fills the buckets as gradients of parameters arrive, and sets ``.grad`` at its end. A
    gradient is whole when the walk has passed the last node that uses its parameter: these are counted before."""

    lasts = True  # a forward pass within a profile is walked back after it

    def __init__(self, names: list[str], buckets: Buckets, finds_unused: bool) -> None:
        self.names, self.buckets, self.finds_unused = names, buckets, finds_unused
        self.numbers = {id(p): number for number, p in enumerate(buckets.parameters)}
        self.factor = self.usual_factor = 1.0 / buckets.group.size()
        self._uses: dict[int, int] = {}
        self._open: set[int] = set()  # numbers of parameters whose gradient is not whole
        self._spans: list[bool] = []  # the walk's, and those within it: whether each is a walk; empty: there is none
        self._is_reduced = False
        self._error: BaseException | None = None
        self.hook: tuple[Any, Hook] | None = None
        self._futures: list[tuple[GradBucket, Any]] = []

    def set_hook(self, state: Any, hook: Hook) -> None:
        """See ``register_comm_hook``."""
        if self.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self.hook, self.factor, self.usual_factor = (state, hook), 1.0, 1.0
        self.buckets.reduce = self._call_hook

    def _call_hook(self, bucket: GradBucket) -> None:
        assert self.hook is not None
        state, hook = self.hook
        self._futures.append((bucket, hook(state, bucket)))

    def entered(self, name: str, kind: str, subject: Any) -> None:
        """A walk begins, or a span within it."""
        if self._spans:
            self._spans.append(kind == "walk")
        elif kind == "walk" and name == "backward" and self._count(subject):
            self._spans, self._is_reduced, self._error = [True], False, sys.exc_info()[1]
            self.buckets.begin()
            self._futures = []
            self._open = set(range(len(self.names)))
            unused = [number for number in self._open if not self._uses.get(number)]
            if unused and not self.finds_unused:
                self._spans = []
                raise RuntimeError(_unused_text([self.names[number] for number in unused]))
            for number in unused:
                self._complete(number)

    def _count(self, roots: Any) -> bool:
        """Count the uses of each parameter behind the roots. Returns whether there are any."""
        self._uses = {}
        for node in nodes_behind(roots):
            for edge in node.edges:
                number = self.numbers.get(id(edge[0]))
                if number is not None:
                    self._uses[number] = self._uses.get(number, 0) + 1
        return bool(self._uses)

    def reset(self) -> None:
        """Forget a walk that an error has ended."""
        self._spans = []

    def _is_in_walk(self) -> bool:
        """Whether the innermost walk is that whose gradients are reduced."""
        return sum(self._spans) == 1

    def delivered(self, node: Any, position: int, gradient: Any) -> None:
        """A part of a parameter's gradient is there."""
        if self._is_in_walk():
            target = node.edges[position][0]
            number = self.numbers.get(id(target))
            if number is not None and not target._hooks:
                self.buckets.add(number, getattr(gradient, "array", gradient))

    def passed(self, node: Any, gradients: Any) -> None:
        """The node has given all it has to give."""
        if not self._is_in_walk():
            return
        for target, *_ in node.edges:
            number = self.numbers.get(id(target))
            if number is not None:
                self._uses[number] -= 1
                if not self._uses[number] and not target._hooks:
                    self._complete(number)
        self.buckets.move()

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        """The walk is over, and the hooks of a parameter have seen its gradient, perhaps changed it."""
        number = self.numbers.get(id(target)) if self._is_in_walk() else None
        if number is not None and number in self._open and target._hooks:
            self.buckets.add(number, getattr(gradient, "array", gradient))
            self._complete(number)

    def ended(self) -> None:
        """The walk is over: wait for the other ranks' gradients, unless an error has ended it."""
        if self._is_in_walk() and sys.exc_info()[1] is self._error:
            for number in sorted(self._open, reverse=True):
                self._complete(number)
            self._wait()
            self._is_reduced = True

    def left(self) -> None:
        """A span has ended; at last that of the walk, when ``.grad`` holds this rank's own gradients."""
        if self._spans:
            self._spans.pop()
            if not self._spans and self._is_reduced:
                self._hand_out()
                detach(self)  # one reduction for a forward pass, as in PyTorch

    def shadow(self) -> None:
        """Take part in the reductions of other ranks' backward pass, with nothing to give."""
        self.buckets.begin()
        self._futures = []
        for number in reversed(range(len(self.names))):
            self.buckets.complete(number)
        self._wait()
        if self.finds_unused:
            self._marks(set())

    def _complete(self, number: int) -> None:
        """A gradient is whole: add what has accumulated before."""
        parameter = self.buckets.parameters[number]
        self._open.discard(number)
        if parameter.grad is not None:
            self.buckets.add(number, parameter.grad.array)
        self.buckets.complete(number, self.factor)

    def _wait(self) -> None:
        """Until all buckets are reduced, by a hook's futures where there is one."""
        self.buckets.wait()
        for bucket, future in self._futures:
            result = future.wait() if hasattr(future, "wait") else future
            result = result[0] if isinstance(result, (list, tuple)) else result
            if result is not None and result is not bucket.flat:
                bucket.set_buffer(result)

    def _hand_out(self) -> None:
        """Set ``.grad`` of each parameter that any rank has used."""
        used = {number for number, p in enumerate(self.buckets.parameters) if p.grad is not None}
        used = self._marks(used) if self.finds_unused else used
        for number, parameter in enumerate(self.buckets.parameters):
            view = self.buckets.view(number)
            if parameter.grad is not None:
                parameter.grad.array[...] = view
                note_change(parameter.grad._changes, "the reduction of gradients", "backward()")
            elif number in used:
                parameter.grad = wrap(view.copy())

    def _marks(self, own: set[int]) -> set[int]:
        """The parameters that any rank has used."""
        marks = tensor([int(number in own) for number in range(len(self.names))])
        collectives.all_reduce(marks, ReduceOp.MAX, self.buckets.group)
        return {number for number, mark in enumerate(marks.tolist()) if mark}


def _unused_text(names: list[str]) -> str:
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return (
        f"Expected to have finished reduction, but the loss does not depend on {shown}. Every rank must give a "
        "gradient for every parameter: pass find_unused_parameters=True to DistributedDataParallel if a forward pass "
        "may leave some out, set requires_grad=False on those that are never used, and compute the loss from the "
        "output of forward"
    )
