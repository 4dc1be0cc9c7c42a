"""Shows training progress on stderr: the loss, the tokens or other units per second, the time left, and the last
evaluation. Also handles Ctrl-C, which takes effect between two updates, never within one."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from types import FrameType
from typing import Any

from minigrad.utils.bar import in_notebook, library

QUIET_SECONDS = 10.0
LOST = (OSError, ValueError)  # a full disk, a lost terminal or a closed stream must not end training
# On Windows, other processes cannot send SIGTERM, but a console or a parent process can send Ctrl-Break.
SIGNALS = [signal.SIGINT, signal.SIGTERM]
if sys.platform == "win32":
    SIGNALS.append(signal.SIGBREAK)


class Progress(AbstractContextManager["Progress"]):
    """Shows a tqdm bar in a terminal or notebook. Elsewhere, or without tqdm, it prints a line every ten seconds. If
    ``shown`` is False, only notes appear. ``steps`` and ``limit`` are the total updates and seconds, ``done`` and
    ``seconds`` are those of earlier runs, and ``unit`` is the unit of the loss weights."""

    def __init__(
        self, steps: int, limit: float, done: int = 0, seconds: float = 0.0, shown: bool = True, unit: str = "tokens"
    ) -> None:
        self.steps, self.limit, self.done, self.shown, self.unit = steps, limit, done, shown, unit
        self.first, self.first_seconds = done, seconds
        self.loss, self.tokens, self.mark = math.nan, 0.0, time.monotonic()
        self.rate, self.metric = 0.0, ""
        self.last_line = self.mark
        self.bar: Any = _bar() if shown else None

    def __exit__(self, *raised: object) -> None:
        if self.bar is not None:
            with suppress(*LOST):
                self.bar.close()

    def advance(self, loss: float, tokens: float, seconds: float) -> None:
        """Count one update, with its loss and tokens, after ``seconds`` of training."""
        self.done += 1
        self.tokens += tokens
        self.loss = loss if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * loss
        now = time.monotonic()
        if now - self.mark > 1 or not self.rate:
            self.rate, self.tokens, self.mark = self.tokens / max(now - self.mark, 1e-9), 0.0, now
        if not self.shown:
            return
        if self.bar is not None:
            part = 100 * min(1.0, max(self.done / self.steps, seconds / self.limit))
            self.bar.set_description_str(self.text(seconds), refresh=False)
            with suppress(*LOST):
                self.bar.update(part - self.bar.n)
        elif now - self.last_line >= QUIET_SECONDS:
            self.last_line = now
            self.note(self.text(seconds))

    def text(self, seconds: float) -> str:
        """A line of progress after ``seconds`` of training."""
        step, speed = f"step {self.done:,}/{self.steps:,}", f"{self.rate:,.0f} {self.unit}/s"
        return f"{step}, loss {self.loss:.3f}, {speed}, {clock(self.left(seconds))} left{self.metric}"

    def left(self, seconds: float) -> float:
        """The seconds of training that remain after ``seconds`` at the current update speed."""
        spent, updates = seconds - self.first_seconds, max(1, self.done - self.first)
        return min(spent / updates * (self.steps - self.done), self.limit - seconds)

    def evaluated(self, name: str, value: float) -> None:
        self.metric = f", {'validation loss' if name == 'loss' else name} {value:.4g}"

    def note(self, text: str) -> None:
        """Write a separate line, if stderr accepts it."""
        with suppress(*LOST):
            if self.bar is not None:
                self.bar.write(text, file=sys.stderr)
            else:
                print(text, file=sys.stderr, flush=True)


def _bar() -> Any:
    """A bar from 0 to 100, or None without tqdm or outside terminals and notebooks."""
    with suppress(AttributeError, *LOST):  # sys.stderr may be None, or closed
        if (notebook := in_notebook()) or sys.stderr.isatty() or "MINIGRAD_TERMINAL" in os.environ:
            width = "bar" if notebook else "bar:24"
            shape = f"{{percentage:3.0f}}% |{{{width}}}| {{desc}}"
            tqdm = library()
            return tqdm and tqdm(total=100.0, bar_format=shape, mininterval=0.2, file=sys.stderr)
    return None


def clock(seconds: float) -> str:
    """Minutes and seconds, or hours, minutes and seconds."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class Interrupt:
    """Within ``with Interrupt() as stop:``, Ctrl-C or SIGTERM (or Ctrl-Break on Windows) sets ``stop.asked`` and calls
    ``note`` with a message; a second signal raises KeyboardInterrupt. Signals that are already ignored (as with
    ``nohup``) remain ignored. Outside the main thread, the context has no effect, as Python cannot handle signals
    there. Forked child processes ignore Ctrl-C, but SIGTERM ends them."""

    def __init__(self, note: Callable[[str], None] = lambda text: None) -> None:
        self.asked, self._owner = False, os.getpid()
        self._note = note
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.getsignal(number)  # first, so that ``__exit__`` can restore it
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
        with suppress(RuntimeError):  # the signal arrived while another text was being written
            self._note("stopping as soon as the current step is saved; repeat to stop at once")

    def __exit__(self, *raised: object) -> None:
        for number, handler in reversed(self._before.items()):  # Ctrl-C last, as it may arrive immediately
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
