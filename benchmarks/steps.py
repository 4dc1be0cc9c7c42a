"""Training steps of the five models of workloads.py on minigrad and on PyTorch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from typing import Any

from .process import Answer, Differ, Missing, alternate, ask, library_module, peak_mebibytes, progress
from .table import Table, ratio
from .workloads import SIZES, build, loss_function, optimizer

BOTH = ("minigrad", "torch")
PLAIN = "minigrad on NumPy"  # without its compiled kernels
BARS = {"multi30k": 0.42, "small": 0.60, "wide": 0.72, "gpt-128": 0.80, "gpt-384": 0.66}  # of PyTorch's time
MOST_PRODUCTS, OF_PRODUCTS = 0.8, 1.25  # where products take more than that of a bar, the goal is so many times theirs
WARM_UP, LEAST, MOST = 2, 4, 60  # steps in a process: not timed, and timed
EXACT = 1e-9  # relative, in float64


def check(library: str, work: str) -> Answer:
    """Loss and norm of all gradients at the first weights, in float64 and without dropout."""
    torch = library_module(library)
    model = build(torch, SIZES[work], 0.0).double()
    loss = loss_function(torch, SIZES[work])(model)
    loss.backward()
    return {"loss": loss.item(), "norm": float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9))}


def train(library: str, work: str, seconds: float) -> Answer:
    """Times of training steps in ms, the loss of the first, and peak memory in MiB.

    Steps are repeated for ``seconds``, at least ``LEAST`` and at most ``MOST`` of them.
    """
    compiled = library == "torch.compile"
    torch = library_module("torch" if compiled else library)
    size = SIZES[work]
    torch.manual_seed(0)
    model = build(torch, size, size.dropout)
    loss_of, adam = loss_function(torch, size), optimizer(torch, size, model)
    called = torch.compile(model) if compiled else model

    def step() -> float:
        adam.zero_grad()
        loss = loss_of(called)
        loss.backward()
        adam.step()
        return float(loss.item())

    first = _try_compiled(step) if compiled else step()
    return {"loss": first, "times": repeat(step, seconds), "memory": peak_mebibytes()}


def _try_compiled(step: Callable[[], float]) -> float:
    """The first step compiles, and so finds out whether it can.

    Raises:
        Missing: it cannot.
    """
    try:
        return step()
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise Missing(f"cannot compile: {reason[0][:100]}") from error


def repeat(step: Callable[[], Any], seconds: float, warm_up: int = WARM_UP, least: int = LEAST) -> list[float]:
    """Times of a step in milliseconds, after a warm-up."""
    for _ in range(warm_up):
        step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or (len(times) < MOST and time.perf_counter() < end):
        start = time.perf_counter()
        step()
        times.append(1000 * (time.perf_counter() - start))
    return times


def same(what: str, values: dict[str, float], tolerance: float = EXACT) -> None:
    """See to it that libraries have computed the same.

    Raises:
        Differ: they have not; it says what each has.
    """
    ours = values["minigrad"]
    for library, theirs in values.items():
        if not math.isclose(ours, theirs, rel_tol=tolerance):
            raise Differ(f"{what}: {ours!r} on minigrad, {theirs!r} on {library}: not the same step")


def compare(work: str) -> None:
    """Compare losses and gradients of minigrad and PyTorch, where that is installed.

    Raises:
        Differ: they differ.
    """
    progress(f"step {work}: losses and gradients in float64")
    answers = {name: ask("benchmarks.steps:check", name, work=work) for name in BOTH}
    for what in ("loss", "norm"):
        same(f"{work}, {what}", {name: a[what] for name, a in answers.items() if "missing" not in a})


def measure(library: str, work: str, seconds: float) -> Answer:
    """``train``, or the matrix products alone, in a process of its own."""
    if library == "products":
        return ask("benchmarks.floor:measure", "numpy", work=work)
    if library == PLAIN:
        return ask("benchmarks.steps:train", "minigrad", environment={"MINIGRAD_FAST": "0"}, work=work, seconds=seconds)
    return ask("benchmarks.steps:train", library, work=work, seconds=seconds)


def time_of(answers: list[Answer]) -> float | None:
    """The median over all processes' steps, in milliseconds."""
    times = [t for a in answers for t in a.get("times", [a["time"]] if "time" in a else [])]
    return median(times) if times else None


def least_of(answers: list[Answer]) -> float | None:
    """The least of all processes' steps, in milliseconds: one that nothing else on the machine disturbed."""
    return min((t for a in answers for t in a.get("times", [])), default=None)


def memory_of(answers: list[Answer]) -> float | None:
    """The median of the processes' peaks, in MiB."""
    peaks = [a["memory"] for a in answers if "memory" in a]
    return median(peaks) if peaks else None


def spread(ours: list[Answer], theirs: list[Answer]) -> str | None:
    """The least and the most ratio of any round."""
    if "missing" in theirs[0]:
        return None
    rounds = [ratio(time_of([a]), time_of([b])) or 0.0 for a, b in zip(ours, theirs, strict=True)]
    return f"{min(rounds):.2f}–{max(rounds):.2f}"


def table(works: Iterable[str], rounds: int, seconds: float) -> Table:
    """The table of training steps, a row for each work."""
    columns = (
        "step",
        "minigrad ms",
        "PyTorch ms",
        "ratio",
        "of rounds",
        "goal",
        "on NumPy ms",
        "ratio on NumPy",
        "products ms",
        "to products",
        "minigrad MiB",
        "PyTorch MiB",
        "memory ratio",
    )
    digits = ("", ".1f", ".1f", ".2f", ">", ">", ".1f", ".2f", ".1f", ".2f", ".0f", ".0f", ".2f")
    result = Table("A training step, against PyTorch eager", columns, digits)
    for work in works:
        compare(work)
        asked = (*BOTH, PLAIN, "products")
        found = alternate(asked, rounds, partial(measure, work=work, seconds=seconds), f"step {work}")
        result.add(*_row(work, found))
    held = {name: ask("benchmarks.process:imported", name).get("memory") for name in BOTH}
    result.notes += _notes(held)
    return result


def _row(work: str, found: dict[str, list[Answer]]) -> tuple[Any, ...]:
    ours, theirs, plain, products = (time_of(found[name]) for name in (*BOTH, PLAIN, "products"))
    mine, other = memory_of(found["minigrad"]), memory_of(found["torch"])
    plausible(work, found)
    between = spread(found["minigrad"], found["torch"])
    name = f"{work}: {SIZES[work].title}"
    times = (ours, theirs, ratio(ours, theirs), between, goal(work, ratio(products, theirs)), plain)
    to_products = ratio(least_of(found["minigrad"]), products)
    return name, *times, ratio(plain, theirs), products, to_products, mine, other, ratio(mine, other)


def goal(work: str, products: float | None) -> str | None:
    """What a step may take at most: of PyTorch's time, or of the products', if they are too large a part of that."""
    bar = BARS.get(work)
    if bar is None or products is None or products <= MOST_PRODUCTS * bar:
        return None if bar is None else f"{bar:.2f}"
    return f"{OF_PRODUCTS} × products"


def plausible(work: str, found: dict[str, list[Answer]]) -> None:
    """The timed runs' first losses, in float32 and each with its own dropout, differ little."""
    losses = {name: found[name][0]["loss"] for name in ("minigrad", "torch") if "loss" in found[name][0]}
    same(f"{work}, the timed run's first loss", losses, 0.02 if SIZES[work].dropout else 1e-4)


def _notes(held: dict[str, float | None]) -> list[str]:
    ours, theirs = held["minigrad"], held["torch"]
    also = "; PyTorch is not installed" if theirs is None else f", importing PyTorch {theirs:.0f}"
    return [
        "ratio: minigrad's time over PyTorch's, medians both",
        "products: the step's matrix products alone, on NumPy, each the best of many",
        "to products: the best step over them",
        "on NumPy: minigrad with MINIGRAD_FAST=0, as without the extra fast",
        f"goal: where products take more than {MOST_PRODUCTS} of it, {OF_PRODUCTS} times their time in place of it",
        f"memory: the process's peak, of which importing minigrad takes {ours:.0f} MiB{also}",
    ]
