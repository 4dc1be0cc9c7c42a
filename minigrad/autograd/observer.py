"""Observers, which are notified of each op, each gradient, each node of the backward pass, and each ``span``.

Anomaly mode, checkpointing, the profiler and graph drawings use observers. An observer belongs to the thread that
registered it. Without observers, the cost per op is one check of an empty tuple.
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
    """Watches the engine. Every method does nothing by default, so override only those you need. Arrays belong to the
    engine, so copy any that you keep. An exception in a method ends the op or the backward pass.

    Attributes:
        packs: whether it stores nodes' saved tensors elsewhere. If so, it gets a copy of any tensor about to change.
        lasts: whether it stays attached (or detached) when another observer's context ends.
    """

    packs = lasts = False

    def applying(self, op: Op, args: tuple[Any, ...]) -> None:
        """An op is about to run, on Tensors or (within a gradient rule) on arrays."""

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Any) -> Any:
        """An op has run. ``node`` is the recorded node, or None if no gradient will be needed. If this method returns a
        value other than None, the program gets that value; other observers still see the result. (For bare arrays and
        in-place changes, the return value is ignored.)"""

    def changing(self, tensor: Any) -> None:
        """A program is about to change a tensor in place."""

    def failed(self, op: Op) -> None:
        """An op has raised an error instead of returning a result."""

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        """A gradient is complete. For a node's result ``slot``, this is before the node's rules run; for a leaf, at the
        end of the pass. The gradient is an Array, or a Tensor if the backward pass itself is recorded."""

    def passing(self, node: Any) -> None:
        """A node's rules are about to run."""

    def delivered(self, node: Any, position: int, gradient: Any) -> None:
        """A rule has computed a gradient for ``node.edges[position]``, summed over broadcast axes and in the input's
        dtype, but not yet added to the gradients from other nodes."""

    def passed(self, node: Any, gradients: Sequence[Array | None]) -> None:
        """A node's rules have run and returned these gradients."""

    def ended(self) -> None:
        """A backward pass has ended."""

    def entered(self, name: str, kind: str, subject: Any) -> None:
        """A span begins: a module call, an optimizer step, a batch, a backward pass, or a call that creates tensors."""

    def left(self) -> None:
        """The innermost span ends, possibly with an exception."""


@contextmanager
def observed(*observers: Observer, exclusive: bool = False) -> Iterator[None]:
    """A context in which these observers also watch this thread. With ``exclusive``, no others do."""
    before, everywhere = watch.observers, Watch.observers
    with at_end(restore, before, everywhere, exclusive) as end, end:
        register(observers if exclusive else (*before, *observers))
        yield


def register(observers: tuple[Observer, ...]) -> None:
    """Set this thread's observers. If these are those of all threads, later changes for all threads apply here."""
    if observers == Watch.observers:
        vars(watch).pop("observers", None)
    else:
        watch.observers = observers


def restore(before: tuple[Observer, ...], everywhere: tuple[Observer, ...], exclusive: bool = False) -> None:
    """Restore this thread's observers to ``before``, without those detached, and with those attached, since all
    threads' observers were ``everywhere``. With ``exclusive``, the observers in ``before`` were suspended meanwhile."""
    now = watch.observers
    lasting = tuple(o for o in now if o.lasts and o not in before)
    before = (*(o for o in before if exclusive or not o.lasts or o in now), *lasting)
    came = tuple(o for o in Watch.observers if o not in everywhere and o not in before)
    register((*(o for o in before if o not in everywhere or o in Watch.observers), *came))


def attach(observer: Observer, everywhere: bool = False) -> None:
    """Let an observer watch this thread, or every thread, until ``detach`` is called."""
    here = (*watch.observers, observer)
    if everywhere:
        Watch.observers = (*Watch.observers, observer)  # for threads without registered observers
    register(here)


def detach(observer: Observer) -> None:
    """Undo ``attach``."""
    here = tuple(o for o in watch.observers if o is not observer)
    Watch.observers = tuple(o for o in Watch.observers if o is not observer)
    register(here)


class span:
    """``with span("Adam.step", "step", optimizer):`` notifies the observers when a span begins and ends. ``name`` is
    its name in a profile and ``kind`` is "module", "step", "data", "walk" or "call". ``subject`` is the module or
    optimizer. For a walk, it is the roots; for a call, it is a list that contains the result when the span ends."""

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
    """Wrap a function that creates tensors without an op, so that observers see a span of kind "call"."""

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
