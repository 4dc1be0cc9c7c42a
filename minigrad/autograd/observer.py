"""One way to watch: an Observer sees each op, each gradient, each node that the walk passes, and spans around them.

Anomaly mode, checkpointing, the profiler and the pictures are observers. They belong to the thread that registered
them. While a thread has none, watching costs one look at an empty tuple an op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from sys import _getframe
from typing import Any, TypeVar

from ..backend.dtype import Array
from ..ops.op import Op, Watch, watch
from .mode import at_end
from .tape import Variable
from .tracebacks import shorten

F = TypeVar("F", bound=Callable[..., Any])


class Observer:
    """Watches the engine. Every method does nothing: override what is needed. Arrays belong to the engine: copy
    those to keep. An exception that a method raises ends the op or the walk.

    Attributes:
        packs: whether it puts tensors that nodes keep elsewhere; of one that is about to change it gets a copy.
        lasts: whether the end of another observer's context leaves it as it is then, attached or not.
    """

    packs = lasts = False

    def applying(self, op: Op, args: tuple[Any, ...]) -> None:
        """An op is about to run, on Tensors, or within a gradient rule on arrays."""

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Any) -> Any:
        """An op has run. ``node`` is what the tape recorded, None where no gradient will be wanted. What this returns,
        unless None, is what the program gets in place of the result; the other observers see the result itself. (Of
        bare arrays, and of a change in place, it is ignored.)"""

    def changing(self, tensor: Any) -> None:
        """A program is about to change a tensor in place."""

    def failed(self, op: Op) -> None:
        """An op has raised an error in place of a result."""

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        """The whole gradient of a node's result ``slot``, before the node's rules run; of a leaf, once the walk is
        over. An Array, or a Tensor where the walk itself is recorded."""

    def passing(self, node: Any) -> None:
        """A node's rules are about to run."""

    def delivered(self, node: Any, position: int, gradient: Any) -> None:
        """What a rule gave for ``node.edges[position]``, summed over broadcast axes and in the input's dtype, before
        it is added to what other nodes gave."""

    def passed(self, node: Any, gradients: Sequence[Array | None]) -> None:
        """A node's rules have run; their results as they came."""

    def ended(self) -> None:
        """A walk is over."""

    def entered(self, name: str, kind: str, subject: Any) -> None:
        """A span begins: the call of a module, an optimiser's step, a batch, a walk, a call that makes tensors."""

    def left(self) -> None:
        """The innermost span ends, by an exception too."""


@contextmanager
def observed(*observers: Observer, alone: bool = False) -> Iterator[None]:
    """Within it, these watch this thread as well; with ``alone``, nobody else does."""
    before, everywhere = watch.observers, Watch.observers
    with at_end(restore, before, everywhere, alone) as end, end:
        register(observers if alone else (*before, *observers))
        yield


def register(observers: tuple[Observer, ...]) -> None:
    """Let these watch this thread: they, or if they are those of every thread, whoever these will be."""
    if observers == Watch.observers:
        vars(watch).pop("observers", None)
    else:
        watch.observers = observers


def restore(before: tuple[Observer, ...], everywhere: tuple[Observer, ...], alone: bool = False) -> None:
    """Let those watch this thread again that did ``before``, when ``everywhere`` watched every thread: of these, those
    who still do, and those who have come since. ``alone``: those of ``before`` were not among them meanwhile."""
    now = watch.observers
    lasting = tuple(o for o in now if o.lasts and o not in before)
    before = (*(o for o in before if alone or not o.lasts or o in now), *lasting)
    came = tuple(o for o in Watch.observers if o not in everywhere and o not in before)
    register((*(o for o in before if o not in everywhere or o in Watch.observers), *came))


def attach(observer: Observer, everywhere: bool = False) -> None:
    """Let an observer watch this thread from now on, or every thread; ``detach`` ends it and leaves the others."""
    here = (*watch.observers, observer)
    if everywhere:
        Watch.observers = (*Watch.observers, observer)  # of threads that have registered none
    register(here)


def detach(observer: Observer) -> None:
    """End what ``attach`` began."""
    here = tuple(o for o in watch.observers if o is not observer)
    Watch.observers = tuple(o for o in Watch.observers if o is not observer)
    register(here)


class span:
    """``with span("Adam.step", "step", optimizer):`` tells the observers where a span begins and ends. ``name``: what
    it is called in a profile. ``kind``: "module", "step", "data", "walk" or "call". ``subject``: the module, the
    optimiser and so on; of a walk its roots; of a call a list, which holds the result when the span ends."""

    __slots__ = ("arguments", "observers")

    def __init__(self, name: str, kind: str, subject: Any = None) -> None:
        self.arguments = (name, kind, subject)

    def __enter__(self) -> None:
        self.observers = watch.observers
        for observer in self.observers:
            observer.entered(*self.arguments)

    def __exit__(self, *raised: object) -> None:
        for observer in self.observers:
            observer.left()


def announced(function: F) -> F:
    """A function that makes tensors without an op, and that observers see as a span of kind "call"."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if not watch.observers:
                result = function(*args, **kwargs)
            else:
                results: list[Any] = []
                with span(function.__name__, "call", results):
                    results.append(function(*args, **kwargs))
                result = results[0]
            if isinstance(result, Variable):
                frame = _getframe(1)
                result._origin = frame.f_code, frame.f_lasti
            return result
        except Exception as error:
            shorten(error)
            raise

    return call  # type: ignore[return-value]
