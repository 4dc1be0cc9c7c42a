"""The progress bar: loss, tokens per second, time left."""

from __future__ import annotations

import math
import sys
import time
from typing import Any


class Progress:
    """A tqdm bar over a training that ends with its steps or its time, whichever comes first.

    Args:
        steps: updates in all. limit: seconds in all, or infinity.
        done: updates already made. seconds: time already spent.
    """

    def __init__(self, steps: int, limit: float, done: int, seconds: float) -> None:
        try:
            from tqdm import tqdm
        except ImportError:
            raise ImportError(
                "the progress bar needs tqdm: pip install 'minigrad[translate]' (or pip install tqdm)"
            ) from None
        self.steps, self.limit, self.done = steps, limit, done
        self.first, self.first_seconds = done, seconds
        self.loss, self.tokens, self.mark = math.nan, 0, time.monotonic()
        self.rate = 0.0
        shape = "{percentage:3.0f}% |{bar:24}| {desc}"
        quiet = not sys.stderr.isatty()  # in a log, a line every ten seconds
        self.bar: Any = tqdm(total=100.0, bar_format=shape, mininterval=10 if quiet else 0.2, file=sys.stderr)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *raised: object) -> None:
        self.bar.close()

    def advance(self, loss: float, tokens: int, seconds: float) -> None:
        """Count one update.

        Args:
            loss: its loss. tokens: how many it read, source and target. seconds: of training so far.
        """
        self.done += 1
        self.tokens += tokens
        self.loss = loss if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * loss
        now = time.monotonic()
        if now - self.mark > 1 or not self.rate:
            self.rate, self.tokens, self.mark = self.tokens / max(now - self.mark, 1e-9), 0, now
        part = max(self.done / self.steps, seconds / self.limit)
        spent, made = seconds - self.first_seconds, self.done - self.first
        left = min(spent / made * (self.steps - self.done), self.limit - seconds)
        step, speed = f"step {self.done:,}/{self.steps:,}", f"{self.rate:,.0f} tokens/s"
        text = f"{step}, loss {self.loss:.3f}, {speed}, {clock(left)} left"
        self.bar.set_description_str(text, refresh=False)
        self.bar.update(min(100.0, 100 * part) - self.bar.n)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"
