"""Training steps of the five models in workloads.py, in minigrad and PyTorch."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .process import Answer, Differ, alternate, ask, library_module, middle, peak_mebibytes, progress
from .table import Table, ratio
from .workloads import SIZES, Product, build, loss_function, optimizer, products

BOTH = ("minigrad", "torch")
PLAIN = "minigrad on NumPy"  # without its compiled kernels
BARS = {"multi30k": 0.42, "small": 0.60, "wide": 0.72, "gpt-128": 0.80, "gpt-384": 0.66}  # as shares of PyTorch's time
MOST_PRODUCTS, OF_PRODUCTS = 0.8, 1.25  # if products take over 0.8 of the bar, the goal is 1.25 times their time
WARM_UP, LEAST, MOST = 2, 4, 60  # steps per process: untimed, and the minimum and maximum of timed ones
EXACT = 1e-9  # relative, in float64


def check(library: str, work: str) -> Answer:
    """The loss and the norm of all gradients with the initial weights, in float64 without dropout."""
    torch = library_module(library)
    model = build(torch, SIZES[work], 0.0).double()
    loss = loss_function(torch, SIZES[work])(model)
    loss.backward()
    return {"loss": loss.item(), "norm": float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9))}


def train(library: str, work: str, seconds: float) -> Answer:
    """The times of training steps in ms, the loss in the first step, and the peak memory in MiB.

    Steps are repeated for ``seconds``, but at least ``LEAST`` and at most ``MOST`` times.
    """
    step = stepper(library_module(library), work)
    return {"loss": step(), "times": repeat(step, seconds), "memory": peak_mebibytes()}


def stepper(torch: Any, work: str) -> Callable[[], float]:
    """A function that runs a training step and returns its loss."""
    size = SIZES[work]
    torch.manual_seed(0)
    model = build(torch, size, size.dropout)
    loss_of, adam = loss_function(torch, size), optimizer(torch, size, model)

    def step() -> float:
        adam.zero_grad()
        loss = loss_of(model)
        loss.backward()
        adam.step()
        return float(loss.item())

    return step


def repeat(
    step: Callable[[], Any], seconds: float, warm_up: int = WARM_UP, least: int = LEAST, most: int = MOST
) -> list[float]:
    """The times of a step in milliseconds, after a warm-up."""
    for _ in range(warm_up):
        step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or (len(times) < most and time.perf_counter() < end):
        start = time.perf_counter()
        step()
        times.append(1000 * (time.perf_counter() - start))
    return times


def same(what: str, values: dict[str, float], tolerance: float = EXACT) -> None:
    """Raise Differ, with all values, if the values of the libraries differ."""
    ours = values["minigrad"]
    for library, theirs in values.items():
        if not math.isclose(ours, theirs, rel_tol=tolerance):
            raise Differ(f"{what}: {ours!r} on minigrad, {theirs!r} on {library}, so the steps differ")


def compare(work: str) -> None:
    """Compare losses and gradients with PyTorch, if it is installed. Raises Differ if they differ."""
    progress(f"step {work}: losses and gradients in float64")
    answers = {name: ask("benchmarks.steps:check", name, work=work) for name in BOTH}
    for what in ("loss", "norm"):
        same(f"{work}, {what}", {name: a[what] for name, a in answers.items() if "missing" not in a})


def measure(library: str, work: str, seconds: float) -> Answer:
    """Run ``train``, or only the matrix products, in a separate process."""
    if library == "products":
        return ask("benchmarks.steps:floor", "numpy", work=work)
    if library == PLAIN:
        return ask("benchmarks.steps:train", "minigrad", environment={"MINIGRAD_FAST": "0"}, work=work, seconds=seconds)
    return ask("benchmarks.steps:train", library, work=work, seconds=seconds)


def floor(library: str, work: str) -> Answer:
    """The time of the step's matrix products on float32 arrays, with the best of several runs for each shape: {"time":
    ms}. A step can be faster only if it computes fewer products."""
    counts = Counter(products(SIZES[work]))
    return {"time": sum(count * best(product) for product, count in counts.items())}


def best(product: Product, seconds: float = 0.1) -> float:
    """The best time of a batch of products in milliseconds. Operands and result are allocated beforehand."""
    batch, rows, inner, columns = product
    left, right = np.ones((batch, rows, inner), np.float32), np.ones((batch, inner, columns), np.float32)
    if batch == 1:
        left, right = left[0], right[0]
    result = np.matmul(left, right)
    return min(repeat(lambda: np.matmul(left, right, out=result), seconds, warm_up=0, least=3, most=sys.maxsize))


def time_of(answers: list[Answer]) -> float | None:
    """The median time of the steps in all processes, in milliseconds."""
    times = [t for a in answers for t in a.get("times", [a["time"]] if "time" in a else [])]
    return median(times) if times else None


def memory_of(answers: list[Answer]) -> float | None:
    """The median of the peaks of all processes, in MiB."""
    return middle([answer for answer in answers if "memory" in answer], "memory")


def spread(ours: list[Answer], theirs: list[Answer]) -> str | None:
    """The range of the ratios in all rounds."""
    if "missing" in theirs[0]:
        return None
    rounds = [ratio(time_of([a]), time_of([b])) or 0.0 for a, b in zip(ours, theirs, strict=True)]
    return f"{min(rounds):.2f}–{max(rounds):.2f}"


def table(works: Iterable[str], rounds: int, seconds: float) -> Table:
    """The table of training steps, with one row per workload."""
    columns = ["step", "minigrad ms", "PyTorch ms", "ratio", "of rounds", "goal", "on NumPy ms", "ratio on NumPy"]
    columns += ["products ms", "to products", "minigrad MiB", "PyTorch MiB", "memory ratio"]
    digits = ("", ".1f", ".1f", ".2f", ">", ">", ".1f", ".2f", ".1f", ".2f", ".0f", ".0f", ".2f")
    result = Table("A training step, against PyTorch eager", columns, digits)
    for work in works:
        compare(work)
        variants = (*BOTH, PLAIN, "products")
        answers = alternate(variants, rounds, partial(measure, work=work, seconds=seconds), f"step {work}")
        result.add(*_row(work, answers))
    memory = {name: ask("benchmarks.process:imported", name).get("memory") for name in BOTH}
    result.notes += _notes(memory)
    return result


def _row(work: str, answers: dict[str, list[Answer]]) -> tuple[Any, ...]:
    plausible(work, answers)
    ours, theirs, plain, products = (time_of(answers[name]) for name in (*BOTH, PLAIN, "products"))
    memory = [memory_of(answers[name]) for name in BOTH]
    between = spread(*(answers[name] for name in BOTH))
    times = (ours, theirs, ratio(ours, theirs), between, goal(work, ratio(products, theirs)), plain)
    least = min(t for a in answers["minigrad"] for t in a["times"])  # a step without interference
    over = ratio(plain, theirs), products, ratio(least, products)
    return f"{work}: {SIZES[work].title}", *times, *over, *memory, ratio(*memory)


def goal(work: str, products: float | None) -> str | None:
    """The target time of a step: a share of PyTorch's time, or a multiple of the products' time if they dominate."""
    bar = BARS.get(work)
    if bar is None or products is None or products <= MOST_PRODUCTS * bar:
        return None if bar is None else f"{bar:.2f}"
    return f"{OF_PRODUCTS} × products"


def plausible(work: str, answers: dict[str, list[Answer]]) -> None:
    """Raise Differ if the first losses of the timed runs, in float32 with different dropout, are not close."""
    losses = {name: answers[name][0]["loss"] for name in BOTH if "loss" in answers[name][0]}
    same(f"{work}, the timed run's first loss", losses, 0.02 if SIZES[work].dropout else 1e-4)


def _notes(memory: dict[str, float | None]) -> list[str]:
    ours, theirs = memory["minigrad"], memory["torch"]
    also = "; PyTorch is not installed" if theirs is None else f", importing PyTorch {theirs:.0f}"
    return [
        "ratio: minigrad's time over PyTorch's, medians both",
        "products: the step's matrix products only, on NumPy, each the best of many",
        "to products: the best step over them",
        "on NumPy: minigrad with MINIGRAD_FAST=0, as without the extra fast",
        f"goal: where products take more than {MOST_PRODUCTS} of it, {OF_PRODUCTS} times their time",
        f"memory: the process's peak, of which importing minigrad takes {ours:.0f} MiB{also}",
    ]
