"""Measures an op on tensors of 8 float32 elements, where only the overhead of Python and autograd matters.

timeit runs each op separately, and in a chain of several ops.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from statistics import median
from timeit import Timer
from typing import Any

import numpy as np

from .process import Answer, alternate, ask, library_module, middle
from .steps import BOTH, same
from .table import Cell, Table, ratio

CHAIN = 100  # ops
CALLS = 100  # of one op between two clock readings
WITH_COLLECTOR = "import gc; gc.enable()"  # timeit disables it
Names = dict[str, Any]


@dataclass(frozen=True)
class Op:
    """An op on x, and a chain of such ops."""

    name: str
    once: str  # an expression in x (``shape``) and c (``other``), both of which get gradients
    chained: str  # an expression in y, the previous result, which must stay bounded
    ops: int = 1  # ops in ``chained``: 2 if a second one restores the shape or the range
    shape: tuple[int, ...] = (8,)
    other: tuple[int, ...] = (8,)

    def programs(self) -> tuple[str, str, str, str]:
        """Four programs: forward, forward and backward, a chain, and a chain with one backward pass."""
        start, once = "x.grad = c.grad = None\n", f"y = {self.once}\n"
        chain = "y = x\n" + f"y = {self.chained}\n" * (CHAIN // self.ops)
        return once, f"{start}{once}y.backward(ones)", chain, f"{start}{chain}y.backward(ends)"


OPS = [
    Op("add", "x + c", "y + c"),
    Op("mul", "x * c", "y * c"),
    Op("exp", "x.exp()", "(-y).exp()", ops=2),
    Op("tanh", "torch.tanh(x)", "torch.tanh(y)"),
    Op("relu", "torch.relu(x)", "torch.relu(y)"),
    Op("matmul", "x @ c", "y @ c", shape=(2, 4), other=(4, 4)),
    Op("sum", "x.sum()", "y.sum(-1, keepdim=True)", shape=(8, 1)),
    Op("reshape", "x.reshape(2, 4)", "y.reshape(2, 4).reshape(8)", ops=2),
    Op("index", "x[2:6]", "y[0:8]"),
]


def of_op(torch: Any, op: Op, dtype: Any = np.float32) -> Names:
    """The namespace for an op's programs in one library."""
    draw = np.random.default_rng(0)
    x = torch.from_numpy(0.3 * draw.standard_normal(op.shape).astype(dtype))
    near = np.eye(*op.other) if len(op.other) == 2 else np.ones(op.other)  # values in a chain must not vanish
    c = torch.from_numpy((near + 0.01 * draw.standard_normal(op.other)).astype(dtype))
    names = {"torch": torch, "x": x.requires_grad_(), "c": c.requires_grad_()}
    for name, program in zip(("ones", "ends"), op.programs()[::2], strict=True):
        exec(program, names)
        names[name] = torch.ones_like(names["y"]).detach()
    return names


def check(library: str) -> Answer:
    """For each op and its chain, the sum of the result and of the squares of each gradient, in float64."""
    torch = library_module(library)
    results: dict[str, list[float]] = {}
    for op in OPS:
        names = of_op(torch, op, np.float64)
        results[op.name] = []
        for program in op.programs()[1::2]:
            exec(program, names)
            grads = [names[leaf].grad for leaf in "xc" if names[leaf].grad is not None]
            results[op.name] += [float(value.sum().item()) for value in (names["y"], *(g * g for g in grads))]
    return {"results": results}


def per_op(timer: Timer, seconds: float, calls: int) -> list[float]:
    """Microseconds per call, for each of many loops of ``calls`` calls, excluding the first loop (a warm-up)."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 6 or time.perf_counter() < end:
        times.append(1e6 * timer.timeit(calls) / calls)
    return times[1:]


def measure(library: str, seconds: float) -> Answer:
    """The median µs of each op: forward, with backward, and with backward in a chain."""
    torch = library_module(library)
    results = {}
    for op in OPS:
        names, (once, both, _, chain) = of_op(torch, op), op.programs()
        timers = [Timer(program, WITH_COLLECTOR, globals=names) for program in (once, both, chain)]
        times = [median(per_op(timer, seconds, CALLS)) for timer in timers[:2]]
        results[op.name] = [*times, median(per_op(timers[2], seconds, 1)) / (CHAIN // op.ops * op.ops)]
    return {"results": results}


def table(rounds: int, seconds: float) -> Table:
    """The table, with one row per op. Raises Differ if the results of the libraries differ."""
    ours, theirs = (ask("benchmarks.overhead:check", name).get("results", {}) for name in BOTH)
    for name in theirs:
        for mine, other in zip(ours[name], theirs[name], strict=True):
            same(f"{name} on small tensors", {"minigrad": mine, "torch": other})
    answers = alternate(BOTH, rounds, partial(ask, "benchmarks.overhead:measure", seconds=seconds), "overhead")
    columns = ["op", "forward µs", "PyTorch µs", "ratio", "with backward µs", "PyTorch's µs", "ratio of both"]
    columns += [f"of {CHAIN} µs", f"PyTorch's of {CHAIN}", f"ratio of {CHAIN}"]
    result = Table("An op on 8 elements, against PyTorch eager", columns, ("", *(".2f",) * 9))
    for op in OPS:
        cells: list[Cell] = [op.name]
        for part in range(3):
            times = [middle(answers[name], "results", op.name, part) for name in BOTH]
            cells += [*times, ratio(*times)]
        result.add(*cells)
    result.notes.append(f"of {CHAIN}: one op of a chain of {CHAIN}, with backward, walked back at once")
    return result
