"""Compares training on several single-threaded ranks with training in one process, and measures all-reduce.

    python -m benchmarks.ranks [--work multi30k] [--work gpt-384] [--ranks 2] [--rounds 3] [--seconds 4]

Efficiency is weak scaling: each rank has its own batch, as large as the batch of the single process, and
DistributedDataParallel averages the gradients. The table includes the ceiling (the same processes without
communication) and strong scaling (the ranks share one batch). minigrad and the MPI library are compared in an
all-reduce of the same buffer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .machine import describe
from .process import ROOT, Answer, Differ, Failed, Missing, alternate, answers_of, library_module, middle
from .program import parser, show
from .steps import LEAST, MOST, WARM_UP, repeat
from .table import Table, ratio
from .workloads import SIZES, build, loss_function, optimizer

MODES = ("alone", "together", "apart", "shared")  # one process; ranks with DDP, without, and with DDP and one batch
KIB, MIB = 2**10, 2**20
REDUCED = {"4 B": 4, "64 KiB": 64 * KIB, "1 MiB": MIB, "10 MiB": 10 * MIB, "100 MiB": 100 * MIB}  # bytes of float32
TURNS = 3  # per library and process
BYTES_TIMED = 512 * MIB  # per size, library and process, within the limits below
LEAST_CALLS, MOST_CALLS = 4, 300  # per turn
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MINIGRAD")}


def train(library: str, work: str, mode: str, seconds: float) -> Answer:
    """Training steps on this rank: the median in ms, and the sum of the absolute values of the weights at the end.

    Args:
        mode: one of ``MODES``. seconds: the duration; all ranks run the same number of steps.
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

    slowest = torch.tensor([repeat(step, 0, WARM_UP - 1, 1)[0]])  # so that all ranks run the same number of steps
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    count = min(MOST, max(LEAST, round(1000 * seconds / slowest.item())))
    dist.barrier()
    times = repeat(step, 0, 0, count)
    with torch.no_grad():
        weights = float(sum(p.double().abs().sum().item() for p in own.parameters()))
    dist.destroy_process_group()
    return {"rank": rank, "ms": median(times), "weights": weights}


def reduce(library: str, sizes: Sequence[int]) -> Answer:
    """The median microseconds of an in-place all-reduce, by bytes: MPI's own through mpi4py, and minigrad's, in turns.
    Raises Differ if the result is not the sum of the ranks."""
    mg, MPI = library_module(library), library_module("mpi4py.MPI")
    mg.distributed.init_process_group()
    world = MPI.COMM_WORLD
    times: dict[str, dict[int, float]] = {"mpi": {}, "minigrad": {}}
    for size in sizes:
        array = np.zeros(size // 4, np.float32)
        calls: dict[str, Callable[[], Any]] = {
            "mpi": partial(world.Allreduce, MPI.IN_PLACE, array),
            "minigrad": partial(mg.distributed.all_reduce, mg.from_numpy(array)),
        }
        for name, call in calls.items():
            array[...] = world.rank + 1
            call()
            if not (array == world.size * (world.size + 1) / 2).all():
                raise Differ(f"all-reduce of {size} bytes by {name}: the result is not the ranks' sum")
        array[...] = 0.0  # repeated sums of other numbers would overflow
        for name, each in _in_turns(calls, world.Barrier, size).items():
            times[name][size] = median(each)
    mg.distributed.destroy_process_group()
    return {"rank": int(world.rank), "us": times, "version": MPI.Get_library_version().split("\n")[0]}


def _in_turns(calls: dict[str, Callable[[], Any]], barrier: Callable[[], Any], size: int) -> dict[str, list[float]]:
    """The microseconds of each call."""
    count = min(MOST_CALLS, max(LEAST_CALLS, BYTES_TIMED // TURNS // size))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            barrier()
            times[name] += [1000 * ms for ms in repeat(calls[name], 0, 1, count)]
    return times


def ask_ranks(ranks: int, function: str, **arguments: Any) -> list[Answer]:
    """The results of a function of this module on all ranks, which have one thread each. Each result includes its
    "rank". Raises Failed if a rank fails, and Missing if a library is not installed."""
    start = [sys.executable, "-m", "minigrad.run", "-n", str(ranks)]
    answers = answers_of(start, f"benchmarks.ranks:{function}", "minigrad", ROOT, ONE_THREAD, **arguments)
    for answer in answers:
        if "missing" in answer:
            raise Missing(answer["missing"])
    if len(answers) != ranks:
        raise Failed(f"{len(answers)} of {ranks} ranks returned from {function}")
    return sorted(answers, key=lambda answer: int(answer["rank"]))


def measure(mode: str, work: str, ranks: int, seconds: float) -> Answer:
    """{"ms": the slowest rank's step} in a mode. Raises Differ if ranks that average their gradients end with
    different weights."""
    count = 1 if mode == "alone" else ranks
    answers = ask_ranks(count, "train", work=work, mode=mode, seconds=seconds)
    weights = {answer["weights"] for answer in answers}
    if mode in ("together", "shared") and len(weights) > 1:
        raise Differ(f"{work}, {mode}: the ranks' weights differ after some steps: {weights}")
    return {"ms": max(answer["ms"] for answer in answers)}


def steps_table(measured: dict[str, dict[str, list[Answer]]], ranks: int) -> Table:
    """The table, with one row per workload, from the answers of ``measure`` by mode."""
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


def reductions_table(answers: list[Answer], ranks: int) -> Table:
    """The table, with one row per size, from the answers of ``reduce``."""
    beneath = " ".join(answers[0]["version"].split(",")[0].replace("Version:", "").split()[:2])
    columns = ("float32", "minigrad µs", f"{beneath} µs", "ratio", "minigrad GB/s")
    result = Table(f"All-reduce in place on {ranks} ranks", columns, ("", ",.1f", ",.1f", ".2f", ".2f"))
    for name, size in REDUCED.items():
        mine, mpi = (middle(answers, "us", each, str(size)) for each in ("minigrad", "mpi"))
        result.add(name, mine, mpi, ratio(mine, mpi), ratio(size / 1000, mine))
    result.notes += [
        "medians of calls, then of rounds; all on one buffer, minigrad and the MPI beneath it in the same processes",
        "GB/s: bytes of the buffer over the time",
    ]
    return result


def main(arguments: Sequence[str]) -> int:
    """Measure, and print both tables."""
    p = parser("benchmarks.ranks", __doc__, SIZES, ranks=2, rounds=3, seconds=4.0)
    options = p.parse_args(arguments)
    ranks, rounds = options.ranks, options.rounds
    if ranks < 2:
        p.error("at least 2 ranks are needed")
    print(describe("mpi4py", "mpich") + "\n", flush=True)
    steps = {}
    for work in options.work or ["multi30k", "gpt-384"]:
        timed = partial(measure, work=work, ranks=ranks, seconds=options.seconds)
        steps[work] = alternate(MODES, rounds, timed, f"{work} on {ranks} ranks")
    show(steps_table(steps, ranks))
    reduced = [ask_ranks(ranks, "reduce", sizes=list(REDUCED.values()))[0] for _ in range(rounds)]
    show(reductions_table(reduced, ranks))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
