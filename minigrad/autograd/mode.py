"""Per-thread gradient modes: ``no_grad``, ``enable_grad``, ``set_grad_enabled`` and ``inference_mode``."""

from __future__ import annotations

import functools
import inspect
from _thread import _local as local, get_ident
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from .tracebacks import warn

F = TypeVar("F", bound=Callable[..., Any])


class _State(local):
    grad = True  # ops on tensors that require gradients are recorded
    inference = False  # within ``inference_mode``
    walk: Any = None  # the backward pass that is running


state = _State()


# Functions that capture thread state on which results depend. A checkpoint calls each of them when it begins, and gets
# a function that creates the context for each of its runs.
carried: list[Callable[[], Callable[[], AbstractContextManager[Any]]]] = []


def states() -> list[Callable[[], AbstractContextManager[Any]]]:
    """For each kind of ``carried`` state, a function that creates its context."""
    return [state() for state in carried]


def within(around: Iterable[Callable[[], AbstractContextManager[Any]]], *contexts: Any) -> ExitStack:
    """Enter the contexts that ``around`` creates, and then other contexts."""
    with ExitStack() as stack:
        for context in (*(make() for make in around), *contexts):
            stack.enter_context(context)
        return stack.pop_all()


class at_end:
    """``with at_end(function, *arguments) as end, end:`` calls the function twice at the end, whatever happens.

    Ctrl-C may raise KeyboardInterrupt before any line, even before the first one of ``__exit__``: if the inner ``with``
    is interrupted, the outer one still calls the function. So the function must be safe to call twice.
    """

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.function, self.arguments = function, arguments

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.function(*self.arguments)


class _Mode:
    """A context manager and decorator that sets the mode and always restores the old mode. If ``inference`` is None,
    inference mode stays unchanged."""

    grad: bool
    inference: bool | None = None

    def __enter__(self) -> None:
        inference = state.inference if self.inference is None else self.inference
        before = vars(self).setdefault("_before", {})  # by thread: several may enter the same mode
        before.setdefault(get_ident(), []).append((state.grad, state.inference))
        state.grad, state.inference = self.grad, inference  # last, so that no interrupt falls between it and the body

    def __exit__(self, *raised: object) -> None:
        if before := vars(self)["_before"].get(get_ident()):  # empty if one thread enters and another exits
            state.grad, state.inference = before.pop()

    def __call__(self, function: F) -> F:
        """Wrap a function, or the constructor of a class, to run in the mode."""
        if inspect.isclass(function):
            warn(
                "Decorating classes is deprecated: decorate functions or methods, such as the class's __init__",
                FutureWarning,
            )
            function.__init__ = self(function.__init__)  # type: ignore[method-assign]
            return function
        if inspect.isgeneratorfunction(function):
            return self._generator(function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            before = state.grad, state.inference
            with at_end(_put_back, before) as end, end:
                state.grad, state.inference = self.grad, before[1] if self.inference is None else self.inference
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a generator function to run its body in the mode, but not the caller's code between two values."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            send, throw, close = (_Mode.__call__(self, m) for m in (generator.send, generator.throw, generator.close))
            step, value = send, None
            while True:
                try:
                    result = step(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    step, value = send, (yield result)
                except GeneratorExit:
                    close()
                    raise
                except BaseException as error:  # pass exceptions from generator.throw() to the body
                    step, value = throw, error

        return wrapped


def _put_back(before: tuple[bool, bool]) -> None:
    state.grad, state.inference = before


def kept() -> at_end:
    """``with kept() as end, end, no_grad():`` restores the mode wherever an interrupt happens."""
    return at_end(_put_back, (state.grad, state.inference))


class no_grad(_Mode):
    """Disable gradient recording within ``with no_grad():`` or a function decorated with ``@no_grad()``.

    >>> w = mg.ones(2, requires_grad=True)
    >>> with mg.no_grad():
    ...     w -= 0.1 * mg.ones(2)
    >>> (w * 2).requires_grad
    True
    """

    grad = False

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, function: None = None) -> Self: ...

    def __new__(cls, function: Any = None, mode: Any = None) -> Any:
        function = mode if function is None else function  # inference_mode calls this argument ``mode``
        mode = super().__new__(cls)
        if not callable(function):
            return mode
        mode.__init__()
        return mode(function)  # @no_grad without parentheses


class enable_grad(no_grad):
    """Enable gradient recording, even within ``no_grad``."""

    grad = True


class inference_mode(no_grad):
    """Disable gradient recording, like ``no_grad``, in ``with inference_mode():`` or under ``@inference_mode()``.

    Args:
        mode: if False, enable recording instead, like ``enable_grad``.

    In PyTorch, tensors created in this mode can never join a graph. Here they can, as under ``no_grad``.

    >>> with mg.inference_mode():
    ...     y = mg.ones(2, requires_grad=True) * 2
    >>> y.requires_grad
    False
    """

    if TYPE_CHECKING:

        @overload
        def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
        @overload
        def __new__(cls, mode: bool = True) -> Self: ...

        def __new__(cls, mode: Any = True) -> Any: ...

    else:

        def __init__(self, mode: Any = True) -> None:
            self.grad, self.inference = mode is False, mode is not False


class set_grad_enabled(_Mode):
    """Set whether ops are recorded, either from here on or within ``with set_grad_enabled(flag):``."""

    def __init__(self, mode: bool) -> None:
        self.grad = bool(mode)
        super().__enter__()

    def __enter__(self) -> None:
        state.grad = self.grad  # the old mode has already been saved

    def __call__(self, function: F) -> F:
        self.__exit__()  # as a decorator, it has no effect at this point
        return super().__call__(function)


def is_grad_enabled() -> bool:
    """Whether ops are currently recorded."""
    return state.grad


def is_inference_mode_enabled() -> bool:
    """Whether ``inference_mode`` is active."""
    return state.inference
