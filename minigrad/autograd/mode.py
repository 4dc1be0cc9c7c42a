"""Whether ops are recorded: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, per thread."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _State(threading.local):
    grad = True  # ops on tensors that require gradients are recorded
    inference = False  # within ``inference_mode``


state = _State()


class _Mode:
    """A context manager and decorator that sets grad mode and puts the old one back, whatever happens."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(state.grad)
        state.grad = self.enabled

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.grad = self._before.pop()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            return self._in_constructor(function)
        if inspect.isgeneratorfunction(function):
            return _generator_in(self._again, function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _again(self) -> _Mode:
        """A new mode for each call: calls may overlap, as those of generators do."""
        return _Mode(self.enabled)

    def _in_constructor(self, cls: Any) -> Any:
        """A decorated class: its ``__init__`` runs in the mode."""
        cls.__init__ = self(cls.__init__)
        return cls


def _generator_in(mode: Callable[[], _Mode], function: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function whose body runs in the mode, and not what stands between two of its values."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        generator, send = function(*args, **kwargs), None
        while True:
            with mode():
                try:
                    value = generator.send(send)
                except StopIteration as stop:
                    return stop.value
            send = yield value

    return wrapped


class no_grad(_Mode):
    """Record nothing inside: ``with no_grad():`` or ``@no_grad()``."""

    def __init__(self, function: Any = None) -> None:
        super().__init__(False)

    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        if function is None:
            return mode
        mode.__init__()  # type: ignore[misc]
        return mode(function)  # @no_grad without parentheses


class enable_grad(no_grad):
    """Record inside, even where a ``no_grad`` stands around it."""

    def __init__(self, function: Any = None) -> None:
        super().__init__()
        self.enabled = True


class set_grad_enabled(_Mode):
    """Record or not from here on, or within ``with set_grad_enabled(flag):``."""

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self._before.append(state.grad)
        state.grad = self.enabled

    def __enter__(self) -> None:
        state.grad = self.enabled

    def __call__(self, function: F) -> F:
        state.grad = self._before.pop()  # as a decorator it changes nothing here
        return super().__call__(function)


def is_grad_enabled() -> bool:
    """Whether ops are recorded at present."""
    return state.grad


class inference_mode(no_grad):
    """Record nothing inside, as ``no_grad``: ``with inference_mode():``, ``@inference_mode()``.

    Args:
        mode: False records inside, as ``enable_grad``.

    In PyTorch such tensors can never join a graph; here they can, as those of ``no_grad``.
    """

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls, None if isinstance(mode, bool) else mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.enabled = mode is False
        self._inference: list[bool] = []

    def _again(self) -> _Mode:
        return inference_mode(not self.enabled)

    def __enter__(self) -> None:
        super().__enter__()
        self._inference.append(state.inference)
        state.inference = not self.enabled

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.inference = self._inference.pop()
        super().__exit__(kind, error, trace)


def is_inference_mode_enabled() -> bool:
    """Whether this runs within ``inference_mode``."""
    return state.inference
