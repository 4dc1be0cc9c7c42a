"""The engine under threads: each trains a model of its own, and must get the numbers that it gets by itself."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import minigrad as mg
from minigrad import nn

from .watch import Finding

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def cases(folder: Path, rng: random.Random) -> Iterator[Finding]:
    """A finding for each group of threads, with "" where there was nothing wrong."""
    for number in range(1 << 60):
        count = rng.choice((2, 3, 4))
        chosen = [rng.randrange(1 << 30) for _ in range(count)]
        models = [model_of(seed) for seed in chosen]
        starts = [{name: value.clone() for name, value in model.state_dict().items()} for model in models]
        alone = [training(model, seed) for model, seed in zip(models, chosen, strict=True)]
        for model, start in zip(models, starts, strict=True):
            model.load_state_dict(start)
        together = in_threads([lambda m=m, s=s: training(m, s) for m, s in zip(models, chosen, strict=True)])  # type: ignore[misc]
        faults = [
            f"thread {i}: {mine if isinstance(mine, BaseException) else 'other numbers than by itself'}"
            for i, (mine, expected) in enumerate(zip(together, alone, strict=True))
            if isinstance(mine, BaseException) or not np.array_equal(mine, expected)
        ]
        yield Finding(f"threads {number}: {count}, seeds {chosen}", "; ".join(faults))


def in_threads(calls: list[Callable[[], Numbers]]) -> list[Numbers | BaseException]:
    """The results of calls that run side by side, or their errors."""
    results: list[Numbers | BaseException] = [RuntimeError("it hangs")] * len(calls)
    begin = threading.Barrier(len(calls))

    def run(place: int) -> None:
        try:
            begin.wait()
            results[place] = calls[place]()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def model_of(seed: int) -> nn.Module:
    """A small model, of one of several kinds."""
    mg.manual_seed(seed)
    width = 4 + seed % 5
    middle = (nn.ReLU(), nn.LayerNorm(width), nn.Tanh(), nn.Softmax(-1))[seed % 4]
    return nn.Sequential(nn.Linear(3, width), middle, nn.Linear(width, 2))


def training(model: nn.Module, seed: int) -> Numbers:
    """Some steps, between which nothing may record a graph. Returns all weights."""
    rng = np.random.default_rng(seed)
    optimizer = (mg.optim.SGD, mg.optim.AdamW)[seed % 2](model.parameters(), lr=0.1)
    for _ in range(20):
        x = mg.from_numpy(rng.standard_normal((5, 3), np.float32))
        optimizer.zero_grad()
        loss = ((model(x) - 1) ** 2).mean()
        loss.backward()
        with mg.no_grad():
            if model(x).requires_grad:
                raise AssertionError("no_grad does not hold")
        if not mg.is_grad_enabled():
            raise AssertionError("another thread's no_grad holds here")
        optimizer.step()
    return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])
