"""Ctrl-C between two updates, never within one: what is saved is a state that a whole training passes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any


class Interrupt:
    """Within ``with Interrupt() as stop:`` Ctrl-C and SIGTERM set ``stop.asked``; once more interrupts.

    Signals that the program was started to ignore (as in ``nohup``) stay ignored. Outside of the main thread,
    where Python takes no signals, nothing changes. Processes that are forked meanwhile leave Ctrl-C, which
    reaches them, too, to this one; SIGTERM ends them.

    Args:
        told: called with a text when the first signal arrives.
    """

    def __init__(self, told: Callable[[str], None] = lambda text: None) -> None:
        self.asked, self._owner = False, os.getpid()
        self._told = told
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._owner:
            if number == signal.SIGTERM:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
            return
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        with suppress(RuntimeError):  # the signal came while something else was being written there
            self._told("stopping as soon as the work at hand is done and saved; once more to stop at once")

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
