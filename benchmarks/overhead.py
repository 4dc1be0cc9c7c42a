"""What one op costs on tiny tensors, where only Python and the walk back count: 8 float32 elements.

The second table is of calls that are not in chains: changes in place on 2 elements as in an optimiser written by hand,
single elements, indexing, gradcheck, and cross-entropy for each pixel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .process import Answer, alternate, ask, library_module, middle
from .steps import BOTH, EXACT, same
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


@dataclass(frozen=True)
class Call:
    """A call on its own.

    Attributes:
        call: is given the inputs, and returns what both libraries must agree on; None for a change of x.
        shape: of x and y, which are float32; i holds whole numbers below the length of an axis of x.
        dtype: of x and y; float64 ones require a gradient.
    """

    name: str
    call: Callable[[Inputs], Any]
    shape: tuple[int, ...] = (2,)
    dtype: Any = np.float32


class Inputs:
    """What a call gets: a library, x, y, the numbers that x had at first, indices, a vector of them, and 1."""

    def __init__(self, torch: Any, call: Call) -> None:
        draw = np.random.default_rng(0)
        self.torch = torch
        numbers = [(0.5 + draw.random(call.shape)).astype(call.dtype) for _ in range(2)]
        self.x, self.y = (torch.from_numpy(n).requires_grad_(call.dtype is np.float64) for n in numbers)
        self.i = torch.from_numpy(draw.integers(0, call.shape[-1], call.shape))
        self.vector, self.one = torch.arange(call.shape[0]), torch.tensor(1.0)


def _adam(at: Inputs) -> None:
    """A step as a program writes it."""
    at.y.mul_(0.9).add_(at.x, alpha=0.1)
    at.y.mul_(0.9).addcmul_(at.x, at.x, value=0.1)
    at.x.addcdiv_(at.y, at.y.sqrt().add_(1e-8), value=-1e-9)


def _set(at: Inputs, key: Any, value: float) -> None:
    at.x[key] = value


def _checked(function: Callable[[Any, Any], Any], second: bool, **options: Any) -> Callable[[Inputs], Any]:
    """A call of gradcheck, or of gradgradcheck, of a function of the library and x."""

    def call(at: Inputs) -> Any:
        check = at.torch.autograd.gradgradcheck if second else at.torch.autograd.gradcheck
        return check(partial(function, at.torch), (at.x,), **options)

    return call


CALLS_ALONE = [
    Call("add_", lambda at: at.x.add_(at.y)),
    Call("add_ alpha", lambda at: at.x.add_(at.y, alpha=-1e-9)),
    Call("sub_", lambda at: at.x.sub_(at.y)),
    Call("mul_ number", lambda at: at.x.mul_(1.0)),
    Call("mul_", lambda at: at.x.mul_(at.one)),
    Call("div_", lambda at: at.x.div_(at.one)),
    Call("addcmul_", lambda at: at.x.addcmul_(at.y, at.y, value=1e-9)),
    Call("addcdiv_", lambda at: at.x.addcdiv_(at.y, at.y, value=-1e-9)),
    Call("lerp_", lambda at: at.x.lerp_(at.y, 0.1)),
    Call("sqrt_", lambda at: at.x.sqrt_()),
    Call("neg_", lambda at: at.x.neg_()),
    Call("clamp_", lambda at: at.x.clamp_(0.1, 2.0)),
    Call("copy_", lambda at: at.x.copy_(at.y)),
    Call("zero_", lambda at: at.x.zero_()),
    Call("fill_", lambda at: at.x.fill_(1.5)),
    Call("Adam by hand", _adam),
    Call("x[i]", lambda at: at.x[3].sum(), (10, 10)),
    Call("x[i, j].item()", lambda at: at.x[3, 4].item(), (10, 10)),
    Call("x[i] = v", lambda at: _set(at, 3, 1.5), (10, 10)),
    Call("x[i, j] = v", lambda at: _set(at, (3, 4), 1.5), (10, 10)),
    Call("index_put_", lambda at: at.x.index_put_((at.vector, at.vector), at.one), (10, 10)),
    Call("index_put_ adds", lambda at: at.x.index_put_((at.vector, at.vector), at.one, accumulate=True), (10, 10)),
    Call("index_put_ adds 4096", lambda at: at.x.index_put_((at.i, at.i), at.y, accumulate=True), (64, 64)),
    Call("sort", lambda at: at.x.sort()[0], (10, 10)),
    Call("gather", lambda at: at.x.gather(1, at.i), (10, 10)),
    Call("cumsum", lambda at: at.x.cumsum(0), (10, 10)),
    Call("gradcheck", _checked(lambda torch, x: torch.tanh(x @ x), False), (5, 5), np.float64),
    Call("gradcheck fast", _checked(lambda torch, x: torch.tanh(x @ x), False, fast_mode=True), (5, 5), np.float64),
    Call("gradcheck softmax", _checked(lambda torch, x: torch.softmax(x, -1), False), (4, 5), np.float64),
    Call("gradgradcheck", _checked(lambda torch, x: torch.tanh(x @ x), True), (5, 5), np.float64),
    Call("cross_entropy", lambda at: _pixels(at), (2, 2, 768, 768)),
]


def _pixels(at: Inputs) -> Any:
    """Cross-entropy of two classes for each pixel, with its gradient."""
    logits = at.x.detach().requires_grad_()
    with at.torch.enable_grad():
        loss = at.torch.nn.functional.cross_entropy(logits, at.i[:, 0] % 2)
    loss.backward()
    return loss.detach()


def check_alone(library: str) -> Answer:
    """What each call gives at first, as a sum."""
    torch, results = library_module(library), {}
    for call in CALLS_ALONE:
        at = Inputs(torch, call)
        with torch.set_grad_enabled(call.dtype is np.float64):
            result = call.call(at)
        results[call.name] = [float((at.x if result is None else torch.as_tensor(result)).double().sum().item())]
    return {"results": results}


def measure_alone(library: str, seconds: float) -> Answer:
    """For each call the shortest time of many, in µs: other programs on the machine only add to it."""
    torch, results = library_module(library), {}
    for call in CALLS_ALONE:
        at = Inputs(torch, call)
        with torch.set_grad_enabled(call.dtype is np.float64):
            start = time.perf_counter()
            call.call(at)
            calls = min(CALLS, max(1, int(0.001 / (time.perf_counter() - start))))
            results[call.name] = per_op(partial(call.call, at), 1, seconds, calls, min)
    return {"results": results}


def table_alone(rounds: int, seconds: float) -> Table:
    """The second table, a row for each call."""
    agree("check_alone", 1e-4)
    answers = alternate(BOTH, rounds, partial(ask, "benchmarks.overhead:measure_alone", seconds=seconds), "small")
    columns = ("call", "µs", "PyTorch µs", "ratio")
    result = Table("A call on its own, against PyTorch eager", columns, ("", *(".2f",) * 3))
    for call in CALLS_ALONE:
        times = [min((a["results"][call.name] for a in answers[name] if "results" in a), default=None) for name in BOTH]
        result.add(call.name, *times, ratio(*times))
    return result


def agree(check: str, tolerance: float = EXACT) -> None:
    """Compare what a check gives on both libraries. Raises Differ: it is not the same."""
    ours, theirs = (ask(f"benchmarks.overhead:{check}", name).get("results", {}) for name in BOTH)
    for name in theirs:
        for mine, other in zip(ours[name], theirs[name], strict=True):
            same(f"{name} on 8 elements" if check == "check" else name, {"minigrad": mine, "torch": other}, tolerance)


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


def per_op(
    call: Callable[[], Any], ops: int, seconds: float, calls: int = 0, of: Callable[[list[float]], float] = median
) -> float:
    """Microseconds of one op: the median of many loops, or what ``of`` takes, each of at least ``CALLS`` ops, or of
    ``calls``."""
    calls = calls or max(1, CALLS // ops)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 6 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append(1e6 * (time.perf_counter() - start) / (calls * ops))
    return of(times[1:])  # the first warms up


def check(library: str) -> Answer:
    """The sum of each chain's result and of its gradients, in float64, and those of the op alone."""
    torch = library_module(library)
    results: dict[str, list[float]] = {}
    for op in OPS:
        case = Case(torch, op, np.float64)
        results[op.name] = [float(case.forward().sum().item()), float(case.chain().sum().item())]
        for call in (case.both, case.chain_both):
            call()
            grads = [t.grad for t in (case.x, case.c) if t.grad is not None]
            results[op.name] += [float((g * g).sum().item()) for g in grads]
    return {"results": results}


def measure(library: str, seconds: float) -> Answer:
    """For each op µs forward, with backward, and with backward in a chain."""
    torch = library_module(library)
    results = {}
    for op in OPS:
        case = Case(torch, op)
        chained = CHAIN // op.ops * op.ops
        pairs = ((case.forward, 1), (case.both, 1), (case.chain_both, chained))
        results[op.name] = [per_op(call, ops, seconds) for call, ops in pairs]
    return {"results": results}


def table(rounds: int, seconds: float) -> Table:
    """The table, a row for each op."""
    agree("check")
    answers = alternate(BOTH, rounds, partial(ask, "benchmarks.overhead:measure", seconds=seconds), "overhead")
    columns = ["op", "forward µs", "PyTorch µs", "ratio", "with backward µs", "PyTorch's µs", "ratio of both"]
    columns += [f"of {CHAIN} µs", f"PyTorch's of {CHAIN}", f"ratio of {CHAIN}"]
    result = Table("An op on 8 elements, against PyTorch eager", columns, ("", *(".2f",) * 9))
    for op in OPS:
        cells: list[float | str | None] = [op.name]
        for part in range(3):
            times = [middle(answers[name], "results", op.name, part) for name in BOTH]
            cells += [*times, ratio(*times)]
        result.add(*cells)
    result.notes.append(f"of {CHAIN}: one op of a chain of {CHAIN}, with backward, walked back at once")
    return result
