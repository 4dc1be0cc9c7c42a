"""What one op costs on tiny tensors, where only Python and the walk back count: 8 float32 elements.

The second table is of lines that are not in chains: changes in place on 2 elements as in an optimiser written by hand,
single elements, indexing, gradcheck, and cross-entropy for each pixel. All are lines of a program, which timeit runs.
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
from .steps import BOTH, EXACT, same
from .table import Cell, Table, ratio

CHAIN = 100  # ops
CALLS = 100  # of one op between two looks at the clock
WITH_COLLECTOR = "import gc; gc.enable()"  # timeit stops it otherwise
Names = dict[str, Any]


@dataclass(frozen=True)
class Op:
    """An op on x, alone and in a chain.

    Attributes:
        once: an expression of x, of ``shape``, and c, of ``other``; both get gradients.
        chained: the same of y, the last result, which must not grow out of bounds.
        ops: how many ops ``chained`` is, 2 where one is needed to come back to where it began.
    """

    name: str
    once: str
    chained: str
    ops: int = 1
    shape: tuple[int, ...] = (8,)
    other: tuple[int, ...] = (8,)

    def programs(self) -> tuple[str, str, str, str]:
        """Forward, the same with backward, a chain, and the same with backward, walked back at once."""
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
# By the shape and dtype of x and y: float64 ones require a gradient. i holds whole numbers below the length of an axis
# of x, v is a vector of them.
LINES: dict[tuple[tuple[int, ...], type[np.floating[Any]]], list[str]] = {
    ((2,), np.float32): [
        "x.add_(y)",
        "x.add_(y, alpha=-1e-9)",
        "x.sub_(y)",
        "x.mul_(1.0)",
        "x.mul_(one)",
        "x.div_(one)",
        "x.addcmul_(y, y, value=1e-9)",
        "x.addcdiv_(y, y, value=-1e-9)",
        "x.lerp_(y, 0.1)",
        "x.sqrt_()",
        "x.neg_()",
        "x.clamp_(0.1, 2.0)",
        "x.copy_(y)",
        "x.zero_()",
        "x.fill_(1.5)",
        "y.mul_(0.9).add_(x, alpha=0.1); y.mul_(0.9).addcmul_(x, x, value=0.1); "
        "x.addcdiv_(y, y.sqrt().add_(1e-8), value=-1e-9)",  # as Adam by hand
    ],
    ((10, 10), np.float32): [
        "x[3].sum()",
        "x[3, 4].item()",
        "x[3] = 1.5",
        "x[3, 4] = 1.5",
        "x.index_put_((v, v), one)",
        "x.index_put_((v, v), one, accumulate=True)",
        "x.sort()[0]",
        "x.gather(1, i)",
        "x.cumsum(0)",
    ],
    ((64, 64), np.float32): ["x.index_put_((i, i), y, accumulate=True)"],
    ((5, 5), np.float64): [
        f"torch.autograd.{check}(lambda x: torch.tanh(x @ x), (x,){fast})"
        for check, fast in (("gradcheck", ""), ("gradcheck", ", fast_mode=True"), ("gradgradcheck", ""))
    ],
    ((4, 5), np.float64): ["torch.autograd.gradcheck(lambda x: torch.softmax(x, -1), (x,))"],
    ((2, 2, 768, 768), np.float32): [
        "x.requires_grad_(); x.grad = None; torch.nn.functional.cross_entropy(x, i[:, 0] % 2).backward()"
    ],
}


def of_op(torch: Any, op: Op, dtype: Any = np.float32) -> Names:
    """The names of an op's programs, on one library."""
    draw = np.random.default_rng(0)
    x = torch.from_numpy(0.3 * draw.standard_normal(op.shape).astype(dtype))
    near = np.eye(*op.other) if len(op.other) == 2 else np.ones(op.other)  # a chain must not die out
    c = torch.from_numpy((near + 0.01 * draw.standard_normal(op.other)).astype(dtype))
    names = {"torch": torch, "x": x.requires_grad_(), "c": c.requires_grad_()}
    for name, program in zip(("ones", "ends"), op.programs()[::2], strict=True):
        exec(program, names)
        names[name] = torch.ones_like(names["y"]).detach()
    return names


def of_line(torch: Any, shape: tuple[int, ...], dtype: Any) -> Names:
    """The names of a line."""
    draw = np.random.default_rng(0)
    numbers = [(0.5 + draw.random(shape)).astype(dtype) for _ in range(2)]
    x, y = (torch.from_numpy(n).requires_grad_(dtype is np.float64) for n in numbers)
    i = torch.from_numpy(draw.integers(0, shape[-1], shape))
    return {"torch": torch, "x": x, "y": y, "i": i, "v": torch.arange(shape[0]), "one": torch.tensor(1.0)}


def check(library: str) -> Answer:
    """Of each op the sum of its result and of a chain's, and of the squares of their gradients, in float64."""
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


def check_lines(library: str) -> Answer:
    """What each line gives at first, or x after it, as a sum."""
    torch, results = library_module(library), {}
    for kind, lines in LINES.items():
        for line in lines:
            names = of_line(torch, *kind)
            with torch.set_grad_enabled("grad" in line):
                try:
                    result = eval(line, names)
                except SyntaxError:  # a statement
                    exec(line, names)
                    result = names["x"]
            results[line] = [float(torch.as_tensor(result).double().sum().item())]
    return {"results": results}


def per_op(timer: Timer, seconds: float, calls: int) -> list[float]:
    """Microseconds of one call, in each of many loops of so many calls; the first, which warms up, does not count."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 6 or time.perf_counter() < end:
        times.append(1e6 * timer.timeit(calls) / calls)
    return times[1:]


def measure(library: str, seconds: float) -> Answer:
    """For each op the median µs forward, with backward, and with backward in a chain."""
    torch = library_module(library)
    results = {}
    for op in OPS:
        names, (once, both, _, chain) = of_op(torch, op), op.programs()
        timers = [Timer(program, WITH_COLLECTOR, globals=names) for program in (once, both, chain)]
        times = [median(per_op(timer, seconds, CALLS)) for timer in timers[:2]]
        results[op.name] = [*times, median(per_op(timers[2], seconds, 1)) / (CHAIN // op.ops * op.ops)]
    return {"results": results}


def measure_lines(library: str, seconds: float) -> Answer:
    """For each line the shortest time of many, in µs: other programs on the machine only add to it."""
    torch, results = library_module(library), {}
    for kind, lines in LINES.items():
        for line in lines:
            timer = Timer(line, WITH_COLLECTOR, globals=of_line(torch, *kind))
            with torch.set_grad_enabled("grad" in line):
                calls = min(CALLS, max(1, int(0.001 / timer.timeit(1))))
                results[line] = min(per_op(timer, seconds, calls))
    return {"results": results}


def agree(check: str, tolerance: float = EXACT) -> None:
    """Compare what a check gives on both libraries. Raises Differ: it is not the same."""
    ours, theirs = (ask(f"benchmarks.overhead:{check}", name).get("results", {}) for name in BOTH)
    for name in theirs:
        for mine, other in zip(ours[name], theirs[name], strict=True):
            same(f"{name} on small tensors", {"minigrad": mine, "torch": other}, tolerance)


def table(rounds: int, seconds: float) -> Table:
    """The table, a row for each op."""
    agree("check")
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


def table_of_lines(rounds: int, seconds: float) -> Table:
    """The second table, a row for each line."""
    agree("check_lines", 1e-4)
    answers = alternate(BOTH, rounds, partial(ask, "benchmarks.overhead:measure_lines", seconds=seconds), "small")
    columns = ("line", "µs", "PyTorch µs", "ratio")
    result = Table("A line on its own, against PyTorch eager", columns, ("", *(".2f",) * 3))
    for line in (line for lines in LINES.values() for line in lines):
        times = [min((a["results"][line] for a in answers[name] if "results" in a), default=None) for name in BOTH]
        result.add(line, *times, ratio(*times))
    return result
