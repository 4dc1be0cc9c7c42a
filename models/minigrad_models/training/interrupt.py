"""Ctrl-C between two updates, never within one: the saved state is one that every training passes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

# On Windows SIGTERM never comes from outside; there, Ctrl-Break is what a console or a parent process can send.
SIGNALS = [signal.SIGINT, signal.SIGTERM]
if sys.platform == "win32":
    SIGNALS.append(signal.SIGBREAK)


class Interrupt:
    """In ``with Interrupt() as stop:`` Ctrl-C and SIGTERM (on Windows also Ctrl-Break) set ``stop.asked``; a second one
    interrupts. Signals that the program was started to ignore (as in ``nohup``) stay ignored. Outside of the main
    thread, where Python takes no signals, nothing changes. Processes that are forked meanwhile leave Ctrl-C to this
    one; SIGTERM ends them. At the first signal ``note`` is called with a text."""

    def __init__(self, note: Callable[[str], None] = lambda text: None) -> None:
        self.asked, self._owner = False, os.getpid()
        self._note = note
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.getsignal(number)  # first: ``__exit__`` puts back what is noted
                    signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._owner:
            if number == signal.SIGTERM:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
            return
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        with suppress(RuntimeError):  # the signal came while another text was being written
            self._note("stopping as soon as the current step is saved; repeat to stop at once")

    def __exit__(self, *raised: object) -> None:
        for number, handler in reversed(self._before.items()):  # Ctrl-C last: it may then come at once
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
