"""What one op costs on tiny tensors, where only Python and the walk back count: 8 float32 elements."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .process import Answer, alternate, ask, library_module
from .steps import BOTH, same
from .table import Table, ratio

CHAIN = 100  # ops
CALLS = 100  # of one op between two looks at the clock


@dataclass(frozen=True)
class Op:
    """An op on x, alone and in a chain.

    Attributes:
        once: is given the library, x of ``shape`` and another of ``other``; both get gradients.
        chained: the same with the last result in place of x, which it must not let grow out of bounds.
        ops: how many ops ``chained`` is, 2 where one is needed to come back to where it began.
    """

    name: str
    once: Callable[[Any, Any, Any], Any]
    chained: Callable[[Any, Any, Any], Any]
    ops: int = 1
    shape: tuple[int, ...] = (8,)
    other: tuple[int, ...] = (8,)


OPS = [
    Op("add", lambda torch, x, c: x + c, lambda torch, x, c: x + c),
    Op("mul", lambda torch, x, c: x * c, lambda torch, x, c: x * c),
    Op("exp", lambda torch, x, c: x.exp(), lambda torch, x, c: (-x).exp(), ops=2),
    Op("tanh", lambda torch, x, c: torch.tanh(x), lambda torch, x, c: torch.tanh(x)),
    Op("relu", lambda torch, x, c: torch.relu(x), lambda torch, x, c: torch.relu(x)),
    Op("matmul", lambda torch, x, c: x @ c, lambda torch, x, c: x @ c, shape=(2, 4), other=(4, 4)),
    Op("sum", lambda torch, x, c: x.sum(), lambda torch, x, c: x.sum(-1, keepdim=True), shape=(8, 1)),
    Op("reshape", lambda torch, x, c: x.reshape(2, 4), lambda torch, x, c: x.reshape(2, 4).reshape(8), ops=2),
    Op("index", lambda torch, x, c: x[2:6], lambda torch, x, c: x[0:8]),
]


class Case:
    """An op's inputs on one library, and what is timed."""

    def __init__(self, torch: Any, op: Op, dtype: Any = np.float32) -> None:
        draw = np.random.default_rng(0)
        self.torch, self.op = torch, op
        self.x = torch.from_numpy(0.3 * draw.standard_normal(op.shape).astype(dtype)).requires_grad_()
        near = np.eye(*op.other) if len(op.other) == 2 else np.ones(op.other)  # a chain must not die out
        other = near + 0.01 * draw.standard_normal(op.other)
        self.c = torch.from_numpy(other.astype(dtype)).requires_grad_()
        self.seeds = {f: torch.ones_like(f(torch, self.x, self.c)).detach() for f in (op.once, op.chained)}

    def forward(self) -> Any:
        return self.op.once(self.torch, self.x, self.c)

    def both(self) -> None:
        self.x.grad = self.c.grad = None
        self.forward().backward(self.seeds[self.op.once])

    def chain(self) -> Any:
        torch, chained, y, c = self.torch, self.op.chained, self.x, self.c
        for _ in range(CHAIN // self.op.ops):
            y = chained(torch, y, c)
        return y

    def chain_both(self) -> None:
        self.x.grad = self.c.grad = None
        self.chain().backward(self.seeds[self.op.chained])


def per_op(call: Callable[[], Any], ops: int, seconds: float) -> float:
    """Microseconds of one op: the median of many loops, each of at least ``CALLS`` ops."""
    calls = max(1, CALLS // ops)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 6 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append(1e6 * (time.perf_counter() - start) / (calls * ops))
    return median(times[1:])  # the first warms up


def check(library: str) -> Answer:
    """The sum of each chain's result and of its gradients, in float64, and those of the op alone."""
    torch = library_module(library)
    found: dict[str, list[float]] = {}
    for op in OPS:
        case = Case(torch, op, np.float64)
        found[op.name] = [float(case.forward().sum().item()), float(case.chain().sum().item())]
        for call in (case.both, case.chain_both):
            call()
            grads = [t.grad for t in (case.x, case.c) if t.grad is not None]
            found[op.name] += [float((g * g).sum().item()) for g in grads]
    return {"found": found}


def measure(library: str, seconds: float) -> Answer:
    """For each op µs forward, with backward, and with backward in a chain."""
    torch = library_module(library)
    found = {}
    for op in OPS:
        case = Case(torch, op)
        chained = CHAIN // op.ops * op.ops
        pairs = ((case.forward, 1), (case.both, 1), (case.chain_both, chained))
        found[op.name] = [per_op(call, ops, seconds) for call, ops in pairs]
    return {"found": found}


def table(rounds: int, seconds: float) -> Table:
    """The table, a row for each op."""
    checked = {name: ask("benchmarks.overhead:check", name) for name in BOTH}
    for op in () if "missing" in checked["torch"] else OPS:
        for ours, theirs in zip(*(checked[name]["found"][op.name] for name in BOTH), strict=True):
            same(f"{op.name} on 8 elements", {"minigrad": ours, "torch": theirs})
    found = alternate(BOTH, rounds, partial(ask, "benchmarks.overhead:measure", seconds=seconds), "overhead")
    columns = (
        "op",
        "forward µs",
        "PyTorch µs",
        "ratio",
        "with backward µs",
        "PyTorch's µs",
        "ratio of both",
        f"of {CHAIN} µs",
        f"PyTorch's of {CHAIN}",
        f"ratio of {CHAIN}",
    )
    result = Table("An op on 8 elements, against PyTorch eager", columns, ("", *(".2f",) * 9))
    for op in OPS:
        cells: list[float | str | None] = [op.name]
        for part in range(3):
            ours, theirs = (_median(found[name], op.name, part) for name in BOTH)
            cells += [ours, theirs, ratio(ours, theirs)]
        result.add(*cells)
    result.notes.append(f"of {CHAIN}: one op of a chain of {CHAIN}, with backward, walked back at once")
    return result


def _median(answers: list[Answer], name: str, part: int) -> float | None:
    return None if "missing" in answers[0] else median(a["found"][name][part] for a in answers)
