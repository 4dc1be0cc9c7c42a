"""A step of data parallelism as formulas: networks, all-reduces, buckets, memory. ``scaling.py`` fits them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from .workloads import Work

MIB, GIB = 2**20, 2**30
FIRST_BUCKET, BUCKET = MIB, 25 * MIB  # of DistributedDataParallel
RANKS = tuple(2**i for i in range(11))
GOOD, HALF = 0.9, 0.5  # efficiencies


# Networks ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """Links between machines.

    Attributes:
        latency: seconds from one process to another, of a short message. rate: bytes a second, in each direction.
    """

    name: str
    latency: float
    rate: float


# Rates are nominal: IEEE 802.3ae, 802.3by and 802.3bj for Ethernet, the InfiniBand Trade Association's roadmap for HDR
# and NDR of four lanes. Latencies: kernel TCP takes 10 to 30 µs one way, RDMA on 100 GbE or NDR some 2 µs there and
# back through one switch (kentino.com, "Latency dissection: where every microsecond goes in an AI cluster network");
# MPI on Ethernet without the kernel takes 1.93 µs (J. Squyres, blogs.cisco.com/performance/mpi-over-40gb-ethernet).
NETWORKS = (
    Network("10 GbE", 20e-6, 1.25e9),
    Network("25 GbE", 20e-6, 3.125e9),
    Network("100 GbE RoCE", 1.93e-6, 12.5e9),
    Network("HDR 200", 1e-6, 25e9),
    Network("NDR 400", 1e-6, 50e9),
)
# NCCL's own model of a step of its ring, in src/graph/tuning.cc for its protocol Simple: 14 µs, 3.4 µs over NVLink.
GPU_LATENCY = 14e-6
# Four links of 20 GB/s in each direction (NVIDIA, "Tesla P100" white paper, 2016).
NVLINK = Network("NVLink", 3.4e-6, 80e9)


# All-reduce --------------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Seconds: of messages however short, and of bytes, which are sent and added up."""

    latency: float
    bandwidth: float

    @property
    def seconds(self) -> float:
        """Both."""
        return self.latency + self.bandwidth

    def plus(self, other: Cost) -> Cost:
        """One after the other."""
        return Cost(self.latency + other.latency, self.bandwidth + other.bandwidth)


def ring(n: int, size: float, network: Network, add: float = 0.0) -> Cost:
    """Each rank passes parts of 1/n on: n − 1 times to add them up, and n − 1 times to hand them out.

    Args:
        n: ranks. size: bytes. add: seconds to add a byte to another.
    """
    part = (n - 1) / n * size
    return Cost(2 * (n - 1) * network.latency, 2 * part / network.rate + part * add)


def recursive_doubling(n: int, size: float, network: Network, add: float = 0.0) -> Cost:
    """Pairs exchange all, log₂ n times, each time twice as far apart."""
    rounds = int(math.log2(n))
    return Cost(rounds * network.latency, rounds * size * (1 / network.rate + add)).plus(_rest(n, size, network, add))


def rabenseifner(n: int, size: float, network: Network, add: float = 0.0) -> Cost:
    """Pairs exchange halves, quarters and so on to add them up, and the same back to hand them out."""
    power = 2 ** int(math.log2(n))
    part = (power - 1) / power * size
    cost = Cost(2 * math.log2(power) * network.latency, 2 * part / network.rate + part * add)
    return cost.plus(_rest(n, size, network, add))


def _rest(n: int, size: float, network: Network, add: float) -> Cost:
    """Ranks beyond a power of two: each gives its array to another before, and gets the result after."""
    if n & (n - 1) == 0:
        return Cost(0.0, 0.0)
    return Cost(2 * network.latency, 2 * size / network.rate + size * add)


def all_reduce(n: int, size: float, network: Network, add: float = 0.0) -> Cost:
    """The quickest of the three, as an MPI chooses by size and ranks."""
    algorithms = (recursive_doubling, rabenseifner, ring)
    return min((algorithm(n, size, network, add) for algorithm in algorithms), key=lambda cost: cost.seconds)


# A step ------------------------------------------------------------------------------------------------------


class Gradient(NamedTuple):
    """A parameter's gradient: its elements, and the operations of the backward pass since the one before."""

    elements: int
    flops: float


class Bucket(NamedTuple):
    """Gradients that are reduced together: their bytes, and the share of the backward pass when all are there."""

    size: int
    ready: float


def gradients(work: Work) -> list[Gradient]:
    """The gradients of a model of ``workloads.build``, in the reverse order of its parameters."""
    d, hidden, tokens, v = work.width, work.hidden, work.batch * work.length, work.vocabulary

    def weight(rows: int, columns: int, more: float = 0.0) -> Gradient:
        """Of a linear layer, whose backward pass has two products; and ``more`` operations."""
        return Gradient(rows * columns, 4.0 * tokens * rows * columns + more)

    def plain(*sizes: int) -> list[Gradient]:
        """Without matrix products."""
        return [Gradient(size, 0.0) for size in sizes]

    scores = 8.0 * tokens * work.length * d  # queries by keys, and by values, for each of which two products go back
    attention = [*plain(d), weight(d, d), *plain(3 * d), weight(3 * d, d, scores)]
    feed_forward = [*plain(d), weight(d, hidden), *plain(hidden), weight(hidden, d)]
    norm = plain(d, d)
    if work.decoder_only:
        block = [*feed_forward, *norm, *attention, *norm]
        return [weight(v, d), *norm, *block * work.layers, *plain(work.length * d, v * d)]
    decoder = [*norm * 3, *feed_forward, *attention, *attention]
    encoder = [*norm * 2, *feed_forward, *attention]
    head = Gradient(0, weight(v, d).flops)  # its weights are the embedding's, whose gradient is whole at the very end
    return [head, *norm, *decoder * work.layers, *norm, *encoder * work.layers, *plain(v * d)]


def buckets(arriving: Iterable[Gradient], first: int = FIRST_BUCKET, most: int = BUCKET) -> list[Bucket]:
    """The buckets of float32: each is closed when it has its bytes, of which the first has fewer."""
    parts = list(arriving)
    whole = sum(part.flops for part in parts) or 1.0
    result, size, done, limit = list[Bucket](), 0, 0.0, first
    for part in parts:
        size, done = size + 4 * part.elements, done + part.flops
        if size >= limit:
            result.append(Bucket(size, min(1.0, done / whole)))
            size, limit = 0, most
    return [*result, Bucket(size, 1.0)] if size else result


@dataclass(frozen=True)
class Step:
    """A rank's work between two updates.

    Attributes:
        forward, backward, update: seconds of the one process.
        contention: how much longer they take where all cores of a machine work.
    """

    work: Work
    forward: float
    backward: float
    update: float
    contention: float = 1.0

    @property
    def seconds(self) -> float:
        """Of the one process."""
        return self.forward + self.backward + self.update


@dataclass(frozen=True)
class Machine:
    """What the ranks run on, and how they work together.

    Attributes:
        ranks: cores or GPUs, for each of which there is a rank. inside: between the ranks of one machine.
        memory: bytes for each rank. add: seconds to add a byte to another.
        call: seconds of each all-reduce besides its messages. spread: σ. overlap: see the module.
    """

    name: str
    ranks: int
    inside: Network
    memory: float
    add: float = 0.0
    call: float = 0.0
    spread: float = 0.0
    overlap: float = 1.0


class Time(NamedTuple):
    """The seconds of a step: of one process alone, and what is added by contention, stragglers and communication."""

    alone: float
    contention: float
    stragglers: float
    latency: float
    bandwidth: float

    @property
    def seconds(self) -> float:
        """All."""
        return sum(self)

    @property
    def efficiency(self) -> float:
        """Of weak scaling."""
        return self.alone / self.seconds

    def bound(self) -> str:
        """What takes the time: "compute" where the efficiency is good, else the largest of the others."""
        if self.efficiency >= GOOD:
            return "compute"
        added = self._asdict()
        del added["alone"]
        return max(added, key=lambda name: added[name])


def reduction(n: int, size: float, machine: Machine, network: Network | None) -> Cost:
    """A call of minigrad.distributed, inside machines, then between them.

    Args:
        network: None if all ranks are on one machine, even if they are more than its cores.
    """
    inside = n if network is None else min(n, machine.ranks)
    between = 1 if network is None else math.ceil(n / machine.ranks)
    cost = Cost(machine.call if n > 1 else 0.0, 0.0)
    cost = cost.plus(all_reduce(inside, size, machine.inside))
    return cost if network is None else cost.plus(all_reduce(between, size, network, machine.add))


def step_time(step: Step, n: int, machine: Machine, network: Network | None) -> Time:
    """A step of n ranks, each with a batch of its own. ``network``: as in ``reduction``."""
    crowd = max(1.0, n / machine.ranks) if network is None else 1.0
    slower = crowd * (step.contention if n > 1 else 1.0)
    computing = slower * step.seconds
    total, end = Cost(0.0, 0.0), 0.0
    begin, backward = slower * step.forward, slower * step.backward
    for bucket in buckets(gradients(step.work)):
        cost = reduction(n, bucket.size, machine, network)
        cost = Cost(crowd * cost.latency, crowd * cost.bandwidth)
        end = max(end, begin + bucket.ready * backward) + cost.seconds
        total = total.plus(cost)
    after = max(0.0, end - begin - backward)
    added = machine.overlap * after + (1 - machine.overlap) * total.seconds
    share = added / total.seconds if total.seconds else 0.0
    late = computing * machine.spread * math.sqrt(2 * math.log(n))
    return Time(step.seconds, computing - step.seconds, late, share * total.latency, share * total.bandwidth)


# Memory ------------------------------------------------------------------------------------------------------


def parameters(work: Work) -> int:
    """Elements of the model."""
    return sum(gradient.elements for gradient in gradients(work))


def states(work: Work, stage: int = 0, n: int = 1) -> float:
    """Bytes of parameters, gradients and Adam's two averages in float32.

    Args:
        stage: what n ranks share (Rajbhandari et al. 2020, "ZeRO"): 0 nothing, 1 the averages, 2 also the gradients,
            3 also the parameters.
    """
    kept, shared = {0: (16, 0), 1: (8, 8), 2: (4, 12), 3: (0, 16)}[stage]
    return parameters(work) * (kept + shared / n)


def activations(work: Work) -> float:
    """Bytes that the backward pass needs, an estimate: Korthikanti et al. 2022, "Reducing Activation Recomputation in
    Large Transformer Models", section 4.1, twice for float32; and three arrays of logits."""
    tokens, d = work.batch * work.length, work.width
    attention = 11 * d + 5 * work.heads * work.length
    layer = attention + 7 * d + 4 * work.hidden
    layers = layer if work.decoder_only else 2 * layer + attention + 2 * d
    return 2.0 * tokens * layers * work.layers + 12.0 * tokens * work.vocabulary


def needed(work: Work) -> float:
    """Bytes of a rank that shares no state."""
    return states(work) + activations(work)


def fitting(work: Work, memory: float) -> Work:
    """The work with its batch halved until a rank's memory is enough, or one sentence is left."""
    while needed(work) > memory and work.batch > 1:
        work = replace(work, batch=work.batch // 2)
    return work
