"""A model of a training step on 1 to 1,024 ranks: what data parallelism would give, and what would bound it.

    python -m benchmarks.scaling [--work multi30k] [--calibration FILE] [--rounds 3] [--seconds 4]
                                 [--markdown] [--json FILE]

The model's constants are measured here, on 1, 2 and 4 ranks (``benchmarks.ranks``), and what it says of those is
printed beside what was measured; networks are as their sources say. All on more ranks is computed, not measured.

    step = (forward + backward + update) · contention · (1 + σ √(2 ln N)) + what communication adds

Each bucket of gradients is reduced when it is full and the one before it is reduced. What still runs when the backward
pass ends is added; and of what ran before, the share 1 − overlap, since MPI sends when it is called, and the ranks' own
cores copy and add. The terms:

contention: of cores that share caches and memory: processes that exchange nothing, against one alone.
σ: the spread of a rank's steps. The slowest of N normal values is about √(2 ln N) deviations above the mean.
all-reduce: Thakur, Rabenseifner & Gropp 2005, "Optimization of Collective Communication Operations in MPICH".
overlap: least squares over the measured steps of several ranks.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from . import ranks
from .machine import describe
from .process import Answer, alternate
from .step_model import (
    GOOD,
    GPU_LATENCY,
    HALF,
    MIB,
    NETWORKS,
    NVLINK,
    RANKS,
    Machine,
    Network,
    Step,
    Time,
    activations,
    buckets,
    fitting,
    gradients,
    needed,
    parameters,
    reduction,
    states,
    step_time,
)
from .table import Cell, Table
from .workloads import SIZES, WORK, Work, flops

# What is measured --------------------------------------------------------------------------------------------

KINDS = {"alone": ("alone", 1), "apart 2": ("apart", 2), "together 2": ("together", 2), "together 4": ("together", 4)}
SEVERAL = (2, 4)


def calibrate(works: Iterable[str], rounds: int, seconds: float, sizes: Sequence[int]) -> Answer:
    """What the model takes from this machine: a step's parts, its time on several ranks, and all-reduces."""
    found: Answer = {"machine": describe("mpi4py", "mpich"), "cores": _cores(), "memory": _memory(), "add": _add_time()}
    found["steps"] = {work: _steps(work, rounds, seconds) for work in works}
    found["reduce"] = {}
    for n in SEVERAL:
        answers = ranks.reductions(n, rounds, sizes, None)["minigrad"]
        times = {name: {str(b): ranks.reduction_time(answers, name, b) for b in sizes} for name in ("minigrad", "mpi")}
        found["reduce"][str(n)] = times
    return found


def _steps(work: str, rounds: int, seconds: float) -> Answer:
    """Milliseconds of each of ``KINDS``, and of the parts of a step alone."""

    def ask(kind: str) -> Answer:
        mode, n = KINDS[kind]
        return ranks.measure(mode, work, n, seconds)

    answers = alternate(KINDS, rounds, ask, work)
    alone = answers["alone"]
    parts = {name: median(answer["parts"][name] for answer in alone) for name in alone[0]["parts"]}
    times = {kind: ranks.time_of(each) for kind, each in answers.items()}
    spread = median(answer["spread"] for answer in alone)
    return {"ms": times, "parts": parts, "spread": spread, "memory": median(answer["memory"] for answer in alone)}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    """Bytes of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0


def _add_time(size: int = 10 * MIB) -> float:
    """Seconds to add a byte of float32 to another, on one core: the best of some."""
    left, right = np.zeros(size // 4, np.float32), np.ones(size // 4, np.float32)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        np.add(left, right, out=left)
        times.append(time.perf_counter() - start)
    return min(times) / size


# What is fitted ----------------------------------------------------------------------------------------------


def step_of(name: str, found: Answer, cores: int) -> Step:
    """A step as it was measured."""
    parts, times = found["parts"], found["ms"]
    crowd = max(1.0, 2 / cores)
    contention = max(1.0, times["apart 2"] / times["alone"] / crowd)
    forward, backward, update = (parts[part] / 1000 for part in ("forward", "backward", "update"))
    return Step(SIZES[name], forward, backward, update, contention)


def like(work: Work, step: Step) -> Step:
    """A step of another size at the rate of one that was measured: passes by operations, the update by elements."""
    passes = flops(work) / flops(step.work)
    update = step.update * parameters(work) / parameters(step.work)
    return Step(work, passes * step.forward, passes * step.backward, update, step.contention)


def fit_inside(reduce: Answer) -> tuple[Network, float]:
    """Shared memory as a network, and the seconds of a call: from all-reduces on 2 ranks.

    The latency is that of MPI's shortest call; the rate makes squares of relative errors least.
    """
    ours, mpi = ({int(b): us / 1e6 for b, us in reduce[name].items()} for name in ("minigrad", "mpi"))
    least = min(ours)
    call = max(0.0, ours[least] - 2 * mpi[least])
    pairs = [(b, max(0.0, t - ours[least]), t) for b, t in ours.items() if b > least]
    over, under = sum(b * t / whole**2 for b, t, whole in pairs), sum((b / whole) ** 2 for b, _, whole in pairs)
    return Network("shared memory", mpi[least], under / over if over else math.inf), call


def fit(found: Answer) -> tuple[Machine, dict[str, Step]]:
    """This machine, with all of the model's constants, and the measured steps."""
    cores = found["cores"]
    inside, call = fit_inside(found["reduce"]["2"])
    steps = {name: step_of(name, each, cores) for name, each in found["steps"].items()}
    spread = median(each["spread"] for each in found["steps"].values())
    machine = Machine(f"{cores} cores", cores, inside, found["memory"] / cores, found["add"], call, spread)
    return replace(machine, overlap=_fit_overlap(machine, steps, found["steps"])), steps


def _fit_overlap(machine: Machine, steps: dict[str, Step], found: Answer) -> float:
    """The share of the communication within the backward pass that costs no time: least squares, from 0 to 1."""
    over = under = 0.0
    for name, step in steps.items():
        for n in SEVERAL:
            hidden, bare = (step_time(step, n, replace(machine, overlap=w), None).seconds for w in (1.0, 0.0))
            measured = found[name]["ms"][f"together {n}"] / 1000
            over += (bare - measured) * (bare - hidden) / measured**2
            under += ((bare - hidden) / measured) ** 2
    return min(1.0, max(0.0, over / under)) if under else 1.0


# Other steps and machines ------------------------------------------------------------------------------------


# Vaswani et al. 2017: batches of 25,000 source and as many target tokens on 8 GPUs, here 98 sentences of 32 on each;
# a vocabulary of 37,000, shared; steps of 0.4 s and 1.0 s on P100s, of 16 GB. Those contain their own all-reduce.
PAPER = {
    "base": Work("Transformer base", False, 6, 512, 8, 2048, 37_000, 98, 32, 0.1, 0.1, 0.0),
    "big": Work("Transformer big", False, 6, 1024, 16, 4096, 37_000, 98, 32, 0.3, 0.1, 0.0),
}
PAPER_SECONDS = {"base": 0.4, "big": 1.0}
P100 = Machine("8 P100", 8, NVLINK, 16e9)


def on_p100(name: str) -> Step:
    """A model of the paper's, as it says: a third of a step's operations are the forward pass's."""
    seconds = PAPER_SECONDS[name]
    return Step(PAPER[name], seconds / 3, 2 * seconds / 3, 0.0)


class Plan(NamedTuple):
    """A step, and the machines and networks to ask about.

    Attributes:
        sentences: of a batch that ranks share.
    """

    name: str
    step: Step
    machine: Machine
    networks: Sequence[Network]
    sentences: int

    def times(self, network: Network) -> list[Time]:
        """On each of ``RANKS``."""
        return [step_time(self.step, n, self.machine, network) for n in RANKS]


def plans(machine: Machine, steps: dict[str, Step]) -> Iterator[Plan]:
    """The measured steps, the paper's models on cores, and on GPUs."""
    for name, step in steps.items():
        yield Plan(name, step, machine, NETWORKS, step.work.batch)
    widest = max(steps.values(), key=lambda step: (step.work.width, flops(step.work)))
    for name, work in PAPER.items():
        step = like(fitting(work, machine.memory), widest)
        yield Plan(f"{name} on cores", step, machine, NETWORKS, P100.ranks * work.batch)
    gpu_networks = [replace(network, latency=GPU_LATENCY) for network in NETWORKS[2:]]
    for name, work in PAPER.items():
        yield Plan(f"{name} on P100", on_p100(name), P100, gpu_networks, P100.ranks * work.batch)


# What follows ------------------------------------------------------------------------------------------------


def batch_factor(step: Step, n: int, machine: Machine, network: Network) -> int:
    """How many times as large a rank's batch must be, so that communication adds at most 1 − ``GOOD`` of a step."""
    factor = 1
    while True:
        longer = replace(step, forward=factor * step.forward, backward=factor * step.backward)
        time = step_time(longer, n, machine, network)
        if time.latency + time.bandwidth <= (1 - GOOD) * time.seconds:
            return factor
        factor *= 2


def advice(plan: Plan, n: int, network: Network) -> str:
    """What would follow on n ranks, by the numbers."""
    work, memory = plan.step.work, plan.machine.memory
    said = []
    if needed(work) > memory:
        stages = [stage for stage in (1, 2, 3) if states(work, stage, n) + activations(work) <= memory]
        said.append(f"ZeRO stage {stages[0]}" if stages else "tensor or pipeline parallelism: ZeRO is not enough")
    factor = batch_factor(plan.step, n, plan.machine, network)
    if factor > 1:
        larger = replace(work, batch=factor * work.batch)
        where = "" if needed(larger) <= memory else ", accumulated: its activations do not fit"
        said.append(f"{factor} × the batch of a rank{where}")
    match step_time(plan.step, n, plan.machine, network).bound():
        case "contention":
            said.append("fewer ranks on a machine")
        case "stragglers":
            said.append("updates that wait less often: accumulate")
    return "; ".join(said) or "nothing"


def shared(plan: Plan, n: int, network: Network) -> Time:
    """A step where n ranks share one batch, of ``plan.sentences``."""
    part = plan.sentences / n / plan.step.work.batch
    step = replace(plan.step, forward=part * plan.step.forward, backward=part * plan.step.backward)
    return step_time(step, n, plan.machine, network)


# Tables ------------------------------------------------------------------------------------------------------


def fit_table(found: Answer, machine: Machine, steps: dict[str, Step]) -> Table:
    """Steps, measured and by the model."""
    title = "A training step, measured and by the model"
    result = Table(title, ("step", "ranks", "measured ms", "model ms", "ratio"), ("", "d", ".1f", ".1f", ".3f"))
    for name, step in steps.items():
        times = found["steps"][name]["ms"]
        for n in (1, *SEVERAL):
            measured = times["alone" if n == 1 else f"together {n}"]
            model = 1000 * step_time(step, n, machine, None).seconds
            result.add(name, n, measured, model, model / measured)
    kappas = ", ".join(f"{name} {step.contention:.2f}" for name, step in steps.items())
    result.notes += [
        f"of one thread each, on {found['machine']}",
        f"contention: {kappas}; σ {machine.spread:.3f}; overlap {machine.overlap:.2f}; "
        f"all-reduce: {1e6 * machine.call:.0f} µs a call, {1e6 * machine.inside.latency:.1f} µs a message, "
        f"{machine.inside.rate / 1e9:.2f} GB/s; to add: {1e-9 / machine.add:.1f} GB/s",
    ]
    if max(SEVERAL) > found["cores"]:
        result.notes.append(f"more than {found['cores']} ranks take turns on the cores")
    return result


def reduce_table(found: Answer, machine: Machine) -> Table:
    """All-reduces, measured and by the model."""
    title = "All-reduce, measured and by the model"
    result = Table(title, ("float32", "ranks", "measured µs", "model µs", "ratio"), ("", "d", ",.0f", ",.0f", ".2f"))
    for n in SEVERAL:
        crowd = max(1.0, n / machine.ranks)
        for size, measured in found["reduce"][str(n)]["minigrad"].items():
            model = 1e6 * crowd * reduction(n, int(size), machine, None).seconds
            result.add(ranks.in_words(int(size)), n, measured, model, model / measured)
    return result


def network_table(machine: Machine) -> Table:
    """The networks."""
    result = Table("Networks", ("network", "latency µs", "GB/s"), ("", ".2f", ".2f"))
    for network in (*NETWORKS, machine.inside, NVLINK):
        result.add(network.name, 1e6 * network.latency, network.rate / 1e9)
    result.notes.append(f"with GPUs the latency is NCCL's, {1e6 * GPU_LATENCY:.0f} µs between machines")
    return result


def plan_table(plan: Plan) -> Table:
    """A row for each number of ranks, a column for each network: the step, its efficiency, tokens a second."""
    work = plan.step.work
    title = f"{plan.name}: {work.title}, {work.batch} × {work.length} tokens a rank, machines of {plan.machine.name}"
    names = [network.name for network in plan.networks]
    result = Table(title, ("ranks", *names), (",d", *[">"] * len(names)))
    columns = [plan.times(network) for network in plan.networks]
    for i, n in enumerate(RANKS):
        tokens = n * work.batch * work.length
        times = [column[i] for column in columns]
        result.add(
            n, *(f"{1000 * t.seconds:,.0f} ms, {t.efficiency:.2f}, {short(tokens / t.seconds)}/s" for t in times)
        )
    result.notes.append("the step, its efficiency, and target tokens a second")
    return result


def summary_table(asked: Sequence[Plan]) -> Table:
    """For each step and network: efficiencies, what bounds the most ranks, and what would follow."""
    columns = (
        "step",
        "network",
        "on 8",
        "on 64",
        "on 1,024",
        f"{GOOD} up to",
        "bound",
        "all-reduce ms",
        "backward ms",
        "what follows",
    )
    digits = ("", "", ".2f", ".2f", ".2f", ",d", "", ",.1f", ",.1f", "")
    result = Table("Efficiency, and what bounds 1,024 ranks", columns, digits)
    for plan in asked:
        size = [bucket.size for bucket in buckets(gradients(plan.step.work))]
        for network in plan.networks:
            times = dict(zip(RANKS, plan.times(network), strict=True))
            good = max(n for n, t in times.items() if t.efficiency >= GOOD)
            last = times[RANKS[-1]]
            bound = "memory" if needed(plan.step.work) > plan.machine.memory else last.bound()
            reducing = sum(reduction(RANKS[-1], each, plan.machine, network).seconds for each in size)
            efficiencies = (times[n].efficiency for n in (8, 64, 1024))
            spent = (1000 * reducing, 1000 * plan.step.backward)
            result.add(plan.name, network.name, *efficiencies, good, bound, *spent, advice(plan, RANKS[-1], network))
    result.notes += [
        f"bound: compute, where the efficiency is at least {GOOD}, else what takes most of the rest; memory, where a "
        "rank's is not enough",
        f"what follows: so that communication adds at most {1 - GOOD:.0%} of a step",
    ]
    return result


def shared_table(asked: Sequence[Plan]) -> Table:
    """Strong scaling: for each step and network, how much faster ranks are that share one batch."""
    columns = ("step", "sentences", "network", "on 2", "on 8", "on 64", f"{HALF} up to", "times as fast", "bound there")
    result = Table(
        "One batch, shared by the ranks: how many times as fast", columns, ("", ",d", "", *[".2f"] * 3, ",d", ".2f", "")
    )
    for plan in asked:
        counts = [n for n in RANKS if n <= plan.sentences]
        for network in plan.networks:
            times = {n: shared(plan, n, network) for n in counts}
            faster = {n: times[1].seconds / t.seconds for n, t in times.items()}
            most = max(n for n, gain in faster.items() if gain >= HALF * n)
            gains = (faster.get(n) for n in (2, 8, 64))
            result.add(plan.name, plan.sentences, network.name, *gains, most, faster[most], times[most].bound())
    result.notes.append(f"{HALF} up to: the most ranks whose efficiency is at least that")
    return result


def memory_table(asked: Sequence[Plan], found: Answer) -> Table:
    """What a rank holds."""
    columns = (
        "step",
        "parameters M",
        "states MiB",
        "activations MiB",
        "both",
        "measured peak",
        "there are",
        "ZeRO-1",
        "ZeRO-2",
        "ZeRO-3",
    )
    result = Table("Memory of a rank, MiB", columns, ("", ".1f", *[",.0f"] * 8))
    for plan in asked:
        work = plan.step.work
        held: list[Cell] = [states(work) / MIB, activations(work) / MIB, needed(work) / MIB]
        peak = found["steps"].get(plan.name, {}).get("memory")
        shared = [states(work, stage, RANKS[-1]) / MIB for stage in (1, 2, 3)]
        result.add(plan.name, parameters(work) / 1e6, *held, peak, plan.machine.memory / MIB, *shared)
    result.notes += [
        "states: parameters, gradients and Adam's averages; ZeRO: the same, shared among 1,024 ranks",
        "measured peak: of one process, with Python and the libraries",
    ]
    return result


def short(number: float) -> str:
    """Three digits: 1234567 -> "1.23 M"."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def points(asked: Sequence[Plan]) -> list[dict[str, Any]]:
    """All figures of the plans, for JSON."""
    return [
        {"step": plan.name, "network": network.name, "ranks": n, **t._asdict(), "bound": t.bound()}
        for plan in asked
        for network in plan.networks
        for n, t in zip(RANKS, plan.times(network), strict=True)
    ]


# The program -------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description="Model steps on many ranks.")
    p.add_argument("--work", choices=SIZES, action="append", help="may be repeated (default: all five)")
    p.add_argument(
        "--calibration", type=Path, metavar="FILE", help="measured figures: read; written if it is not there"
    )
    p.add_argument("--rounds", type=int, default=3, help="processes of each kind (default: 3)")
    p.add_argument("--seconds", type=float, default=4.0, help="of steps in each process (default: 4)")
    p.add_argument("--markdown", action="store_true", help="print tables for a page")
    p.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    given = p.parse_args(arguments)
    if given.rounds < 1 or given.seconds <= 0:
        p.error("at least 1 round and some time are needed")
    given.work = given.work or list(WORK)
    return given


def main(arguments: Sequence[str]) -> int:
    """Measure, or read what was measured; print the tables."""
    given = parse(arguments)
    if given.calibration and given.calibration.exists():
        found = json.loads(given.calibration.read_text(encoding="utf-8"))
    else:
        found = calibrate(given.work, given.rounds, given.seconds, ranks.SIZES_REDUCED)
        if given.calibration:
            given.calibration.write_text(json.dumps(found, indent=1), encoding="utf-8")
    machine, steps = fit(found)
    asked = list(plans(machine, steps))
    tables = [fit_table(found, machine, steps), reduce_table(found, machine), network_table(machine)]
    tables += [*map(plan_table, asked), summary_table(asked), shared_table(asked), memory_table(asked, found)]
    for table in tables:
        ranks.show(table, given.markdown)
    if given.json:
        written = {"calibration": found, "tables": [table.values() for table in tables], "points": points(asked)}
        given.json.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
