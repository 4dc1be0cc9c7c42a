"""KeyboardInterrupt before a chosen line of the library, as Ctrl-C raises it, but at the same place each time.

As a program, ``python -m tests.support.interrupts mlp`` interrupts a training step at many lines, and prints each
setting that was not restored.
"""

import copy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.autograd.mode import state
from minigrad.backend import blas, parallel
from minigrad.backend.random import default_generator
from minigrad.ops.op import watch

LIBRARY = str(Path(mg.__file__).parent)
EACH_LINE = ("blas.py", "parallel.py")
STRIDE = 211  # in other files, one of every STRIDE lines


class Lines:
    """The library lines that a call runs; raises KeyboardInterrupt before line ``at``, counted from 1."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.places: list[tuple[str, int]] = []

    def run(self, call: Callable[[], object]) -> bool:
        """Whether the interrupt has ended the call."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(LIBRARY) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.places.append((frame.f_code.co_filename, frame.f_lineno))
            if len(self.places) == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


def moments(places: list[tuple[str, int]]) -> Iterator[int]:
    """The first run of each line in the files that change settings, and some other lines."""
    passed = set()
    for number, place in enumerate(places, 1):
        if number % STRIDE == 0 or (place[0].endswith(EACH_LINE) and place not in passed):
            passed.add(place)
            yield number


def _step_of(kind: str) -> tuple[Callable[[], float], Callable[[], None]]:
    """A training step that is large enough for threads, and a function that undoes it."""
    mg.manual_seed(0)
    if kind == "mlp":
        model: Any = nn.Sequential(nn.Linear(64, 300), nn.ReLU(), nn.Dropout(0.1), nn.Linear(300, 300), nn.GELU())
        x = mg.randn(128, 64)
    else:
        model, x = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), mg.randn(16, 32, 64)
    adam = mg.optim.Adam(model.parameters())

    def step() -> float:
        adam.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        adam.step()
        return float(loss.detach())

    step()
    start = copy.deepcopy((model.state_dict(), adam.state_dict(), default_generator.get_state()))

    def go_back() -> None:
        weights, moments, random = copy.deepcopy(start)
        model.load_state_dict(weights)
        adam.load_state_dict(moments)
        default_generator.set_state(random)

    return step, go_back


def modes() -> dict[str, Any]:
    """The current values of all temporary settings."""
    pool = parallel._pool
    return {
        "threads of BLAS": functions[0]() if (functions := blas.calls()) else None,
        "gradients": (state.grad, state.inference),
        "observers": watch.observers,
        "NumPy's errors": np.geterr(),
        "users of the pool": dict(pool.user) if pool else {},
    }


def main(kind: str) -> None:
    """Print a line for each interrupt after which a setting was not restored."""
    step, go_back = _step_of(kind)
    go_back()
    expected, before = [step(), step()], modes()
    go_back()
    lines = Lines()
    lines.run(step)
    count = 0
    for at in moments(lines.places):
        go_back()
        tried = Lines(at)
        was_raised, now = tried.run(step), modes()
        go_back()
        wrong = [f"{name}: {now[name]}, not {value}" for name, value in before.items() if now[name] != value]
        wrong += [] if was_raised or len(tried.places) < at else ["the interrupt was lost"]
        if wrong or [step(), step()] != expected:
            print(*tried.places[-1], wrong or "other losses")
        count += 1
    print(count, "moments, threads:", parallel._pool is not None)


if __name__ == "__main__":
    main(sys.argv[1])
