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
    anomaly = False  # nodes remember the program's line, and NaN gradients are reported


state = _State()


class _Mode:
    """A context manager and decorator that sets grad mode and puts the old one back, whatever happens."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(state.grad)
        state.grad = self.enabled

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        state.grad = self._before.pop()

    def __call__(self, function: F) -> F:
        enabled = self.enabled
        if inspect.isgeneratorfunction(function):
            return _generator_in(enabled, function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with _Mode(enabled):
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


def _generator_in(enabled: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function whose body runs in the mode, and not what stands between two of its values."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        generator, send = function(*args, **kwargs), None
        while True:
            with _Mode(enabled):
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
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)  # @no_grad without parentheses


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


class set_detect_anomaly:
    """Anomaly mode on or off, at once or within ``with``."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = state.anomaly
        state.anomaly = bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        state.anomaly = self._before


class detect_anomaly:
    """Within it, each op remembers the line of the program that called it, an op whose result is the first
    to hold NaN is reported with that line, and so is a gradient rule that makes one. It costs time."""

    def __init__(self, check_nan: bool = True) -> None:
        self._before = state.anomaly

    def __enter__(self) -> None:
        self._before, state.anomaly = state.anomaly, True

    def __exit__(self, *raised: object) -> None:
        state.anomaly = self._before
