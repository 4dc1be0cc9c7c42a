"""Walks within walks: a Function's ``backward``, or a hook, may call ``backward()`` itself, thousands deep.

Python limits nested calls by thread, so that a deep walk goes on in a thread of its own, with the state of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

from ..ops.op import watch
from .mode import state, states, within
from .observer import register


def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function that runs in another thread, whose modes and observers are those of this one."""
    around, before, observers = states(), dict(vars(state)), watch.observers
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        vars(state).update(before)
        register(observers)
        try:
            with within(around):
                results.append(function(*args))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
