"""The model of many ranks: its formulas against simulations that move numbers, and what must hold for any constants."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from benchmarks import scaling
from benchmarks import step_model as model
from benchmarks.step_model import Cost, Gradient, Machine, Network, Step
from benchmarks.workloads import SIZES, build, flops

SLOW = Network("slow", 1e-3, 1e4)
FAST = Network("fast", 1e-6, 1e9)
FREE = Network("free", 0.0, 1e30)
ADD = 3e-5
HERE = Machine("2 cores", 2, Network("shared memory", 4e-6, 2e9), 2**33, 1e-10, 7e-5, 0.02, 0.3)


# Simulations: each rank has a clock and an array ---------------------------------------------------------------


class Ranks:
    """Ranks with full-duplex links."""

    def __init__(self, n: int, elements: int, network: Network) -> None:
        self.clocks, self.network = [0.0] * n, network
        self.arrays = [np.arange(elements) * 1.0 + rank for rank in range(n)]
        self.sum = np.sum(self.arrays, axis=0)

    def send(self, messages: list[tuple[int, int, slice]], adding: bool) -> None:
        """Messages (from, to, part) at the same time. A rank goes on when it has received what it is sent."""
        before, parts = list(self.clocks), [self.arrays[source][part].copy() for source, _, part in messages]
        for (source, target, part), values in zip(messages, parts, strict=True):
            arrival = max(before[source], before[target]) + self.network.latency + 8 * values.size / self.network.rate
            self.clocks[target] = arrival + (8 * values.size * ADD if adding else 0.0)
            self.clocks[source] = max(self.clocks[source], before[source])
            self.arrays[target][part] = values + (self.arrays[target][part] if adding else 0.0)

    def finished(self) -> float:
        """The time, when all have the sum."""
        for array in self.arrays:
            np.testing.assert_array_equal(array, self.sum)
        return max(self.clocks)


def by_ring(ranks: Ranks, n: int, elements: int) -> None:
    parts = [slice(i * elements // n, (i + 1) * elements // n) for i in range(n)]
    for turn in range(n - 1):
        ranks.send([(r, (r + 1) % n, parts[(r - turn) % n]) for r in range(n)], adding=True)
    for turn in range(n - 1):
        ranks.send([(r, (r + 1) % n, parts[(r + 1 - turn) % n]) for r in range(n)], adding=False)


def among_a_power(core: Callable[[Ranks, int, int], None]) -> Callable[[Ranks, int, int], None]:
    """Ranks beyond a power of two give their arrays to others first, and get the result last."""

    def run(ranks: Ranks, n: int, elements: int) -> None:
        power = 2 ** (n.bit_length() - 1)
        rest, whole = range(power, n), slice(0, elements)
        ranks.send([(r, r - power, whole) for r in rest], adding=True)
        core(ranks, power, elements)
        ranks.send([(r - power, r, whole) for r in rest], adding=False)

    return run


@among_a_power
def by_doubling(ranks: Ranks, n: int, elements: int) -> None:
    distance = 1
    while distance < n:
        ranks.send([(r, r ^ distance, slice(0, elements)) for r in range(n)], adding=True)
        distance *= 2


@among_a_power
def by_halving(ranks: Ranks, n: int, elements: int) -> None:
    own, distance = [(0, elements)] * n, n // 2
    history = []
    while distance:
        history.append((distance, own))
        halves = []
        for r, (low, high) in enumerate(own):
            middle = (low + high) // 2
            halves.append((middle, high) if r & distance else (low, middle))
        ranks.send([(r, r ^ distance, slice(*halves[r ^ distance])) for r in range(n)], adding=True)
        own, distance = halves, distance // 2
    for distance, larger in reversed(history):
        ranks.send([(r, r ^ distance, slice(*own[r])) for r in range(n)], adding=False)
        own = larger


ALGORITHMS = [(model.ring, by_ring), (model.recursive_doubling, by_doubling), (model.rabenseifner, by_halving)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16])
@pytest.mark.parametrize(("formula", "algorithm"), ALGORITHMS)
def test_formulas_are_the_time_of_the_algorithms(formula: Any, algorithm: Any, n: int) -> None:
    elements = 16 * 105  # so that all parts are equal
    ranks = Ranks(n, elements, SLOW)
    algorithm(ranks, n, elements)
    assert ranks.finished() == pytest.approx(formula(n, 8 * elements, SLOW, ADD).seconds, rel=1e-12)


def test_formulas_of_the_paper() -> None:
    """Thakur, Rabenseifner & Gropp 2005, for 8 ranks."""
    a, b, c, size = SLOW.latency, 1 / SLOW.rate, ADD, 800.0
    assert model.ring(8, size, SLOW, c).seconds == pytest.approx(14 * a + 2 * 700 * b + 700 * c)
    assert model.recursive_doubling(8, size, SLOW, c).seconds == pytest.approx(3 * (a + size * b + size * c))
    assert model.rabenseifner(8, size, SLOW, c).seconds == pytest.approx(6 * a + 2 * 700 * b + 700 * c)


# What must hold ------------------------------------------------------------------------------------------------


def test_an_all_reduce_grows_with_bytes_and_ranks() -> None:
    sizes = [4, 4096, 10**6, 10**8]
    for n in model.RANKS:
        times = [model.all_reduce(n, size, FAST, ADD).seconds for size in sizes]
        assert times == sorted(times)
    for size in sizes:
        times = [model.all_reduce(n, size, FAST, ADD).seconds for n in model.RANKS]
        assert times == sorted(times) and times[0] == 0.0


def test_short_arrays_double_and_long_ones_halve() -> None:
    assert model.all_reduce(8, 4, FAST) == model.recursive_doubling(8, 4, FAST)
    assert model.all_reduce(8, 10**8, FAST) == model.rabenseifner(8, 10**8, FAST)
    assert model.all_reduce(6, 10**8, FAST) == model.ring(6, 10**8, FAST)


@pytest.mark.parametrize("name", ["multi30k", "gpt-384"])
def test_more_ranks_are_never_more_efficient_nor_a_faster_network_slower(name: str) -> None:
    step = Step(SIZES[name], 0.1, 0.2, 0.01, 1.1)
    for overlap in (0.0, 0.5, 1.0):
        machine = replace(HERE, overlap=overlap)
        slow, *_, fast = ([model.step_time(step, n, machine, w) for n in model.RANKS] for w in model.NETWORKS)
        assert slow[0].efficiency == 1.0 and slow[0].seconds == pytest.approx(step.seconds)
        for times in (slow, fast):
            efficiencies = [t.efficiency for t in times]
            assert efficiencies == sorted(efficiencies, reverse=True)
        assert all(f.seconds <= s.seconds for s, f in zip(slow, fast, strict=True))


def test_overlap() -> None:
    """A free network adds nothing. Without overlap, all is added; with it, at least the last bucket and at most all."""
    step = Step(SIZES["gpt-384"], 0.1, 0.2, 0.0)
    ideal = Machine("one", 1, FREE, 1e9)
    assert model.step_time(step, 64, ideal, FREE).efficiency == pytest.approx(1.0)
    sizes = [bucket.size for bucket in model.buckets(model.gradients(step.work))]
    costs = [model.reduction(64, size, ideal, FAST).seconds for size in sizes]
    bare = model.step_time(step, 64, replace(ideal, overlap=0.0), FAST).seconds - step.seconds
    hidden = model.step_time(step, 64, ideal, FAST).seconds - step.seconds
    assert bare == pytest.approx(sum(costs)) and costs[-1] <= hidden + 1e-12 and hidden <= bare


def test_a_time_line_of_two_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backward from 1 to 3 s; buckets are there at 2 and 3 s and take 1.5 s each: 2 to 3.5 and 3.5 to 5 s."""
    mebibyte = Gradient(2**18, 1.0)
    monkeypatch.setattr(model, "gradients", lambda work: [mebibyte, mebibyte])
    monkeypatch.setattr(model, "reduction", lambda *args: Cost(0.5, 1.0))
    time = model.step_time(Step(SIZES["tiny"], 1.0, 2.0, 0.25), 4, replace(HERE, overlap=1.0, spread=0.0), FAST)
    assert time.seconds == pytest.approx(5.25)
    assert time.latency == pytest.approx(2 / 3) and time.bandwidth == pytest.approx(4 / 3)


def test_what_bounds() -> None:
    assert model.Time(1.0, 0.0, 0.0, 0.05, 0.05).bound() == "compute"
    for name in ("contention", "stragglers", "latency", "bandwidth"):
        assert model.Time(**{"alone": 1.0, **dict.fromkeys(model.Time._fields[1:], 0.1), name: 0.2}).bound() == name


def test_a_larger_batch_hides_communication() -> None:
    step, network = Step(SIZES["gpt-384"], 0.01, 0.02, 0.001), model.NETWORKS[0]
    factor = scaling.batch_factor(step, 1024, HERE, network)
    larger = replace(step, forward=factor * step.forward, backward=factor * step.backward)
    assert factor > 1 and scaling.batch_factor(larger, 1024, HERE, network) == 1


# Gradients and memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiny", "tiny-gpt", "small", "gpt-128"])
def test_gradients_are_those_of_the_model(name: str) -> None:
    work = SIZES[name]
    found = model.gradients(work)
    sizes = [p.numel() for p in build(mg, work, 0.0).parameters()]
    assert [g.elements for g in found if g.elements] == sizes[::-1]
    assert sum(g.flops for g in found) == pytest.approx(flops(work) * 2 / 3)


@pytest.mark.parametrize("name", ["multi30k", "gpt-384"])
def test_buckets_are_those_of_distributed_data_parallel(name: str) -> None:
    from minigrad.nn.parallel.buckets import Buckets

    theirs = Buckets(list(build(mg, SIZES[name], 0.0).parameters()), None)  # type: ignore[arg-type]
    ours = model.buckets(model.gradients(SIZES[name]))
    assert [b.size for b in ours] == [4 * b.flat.numel() for b in theirs.buckets]
    shares = [b.ready for b in ours]
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_the_header_is_that_of_each_call() -> None:
    from minigrad.distributed.agreement import LENGTH

    assert 2 * 8 * LENGTH == model.HEADER


def test_the_models_of_the_paper() -> None:
    """Vaswani et al. 2017, table 3: 65 and 213 million parameters."""
    assert model.parameters(scaling.PAPER["base"]) == pytest.approx(65e6, rel=0.05)
    assert model.parameters(scaling.PAPER["big"]) == pytest.approx(213e6, rel=0.02)


def test_zero() -> None:
    work = SIZES["wide"]
    none, *shared = (model.states(work, stage, 64) for stage in range(4))
    assert none == 16 * model.parameters(work)
    assert [none, *shared] == sorted([none, *shared], reverse=True) and shared[-1] == pytest.approx(none / 64)


def test_a_batch_that_fits() -> None:
    work = scaling.PAPER["big"]
    limit = model.states(work) + 0.3 * model.activations(work)
    fitted = model.fitting(work, limit)
    assert fitted.batch == work.batch // 4 and model.needed(fitted) <= limit
    assert model.fitting(work, 0).batch == 1


# Calibration -----------------------------------------------------------------------------------------------------


def measured(machine: Machine, names: list[str]) -> dict[str, Any]:
    """What would be measured if the model were right."""
    steps = {}
    for name in names:
        step = Step(SIZES[name], 0.1, 0.2, 0.01, 1.2)
        several = {f"together {n}": 1000 * model.step_time(step, n, machine, None).seconds for n in (2, 4)}
        times = {"alone": 310.0, "apart 2": 372.0, **several}
        parts = {"forward": 100.0, "backward": 200.0, "update": 10.0}
        steps[name] = {"ms": times, "parts": parts, "spread": machine.spread, "memory": 500.0}
    a, b = machine.inside.latency, 1 / machine.inside.rate
    mpi = {str(size): 1e6 * (a + b * size) for size in (0, 2**16, 2**20, 10 * 2**20)}
    ours = {size: us + 1e6 * (machine.call + a) for size, us in mpi.items()}
    reduce = {str(n): {"minigrad": ours, "mpi": mpi} for n in (2, 4)}
    about = {"machine": "a machine", "cores": 2, "memory": 2**34, "add": machine.add}
    return {**about, "steps": steps, "reduce": reduce}


def test_the_fit_finds_the_constants() -> None:
    machine, steps = scaling.fit(measured(HERE, ["multi30k", "gpt-384"]))
    assert steps["multi30k"] == Step(SIZES["multi30k"], 0.1, 0.2, 0.01, pytest.approx(1.2))
    assert machine.inside.latency == pytest.approx(HERE.inside.latency)
    assert machine.inside.rate == pytest.approx(HERE.inside.rate, rel=1e-6)
    assert machine.call == pytest.approx(HERE.call)
    assert machine.overlap == pytest.approx(HERE.overlap, abs=1e-3)
    assert machine.memory == HERE.memory


def test_another_size_at_the_same_rate() -> None:
    step = Step(SIZES["wide"], 1.0, 2.0, 0.5, 1.3)
    twice = scaling.like(replace(SIZES["wide"], batch=2 * SIZES["wide"].batch), step)
    assert (twice.forward, twice.backward, twice.update, twice.contention) == pytest.approx((2.0, 4.0, 0.5, 1.3))


def test_the_program_reads_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, result = tmp_path / "calibration.json", tmp_path / "result.json"
    path.write_text(json.dumps(measured(HERE, ["multi30k", "wide"])))
    assert scaling.main(["--calibration", str(path), "--markdown", "--json", str(result)]) == 0
    shown = capsys.readouterr().out
    for title in ("measured and by the model", "Networks", "wide", "big on P100", "One batch, shared", "Memory"):
        assert title in shown
    points = json.loads(result.read_text())["points"]
    assert len(points) == (4 * 5 + 2 * 3) * 11
    ratios = [row["ratio"] for row in json.loads(result.read_text())["tables"][0]["rows"]]
    assert ratios == pytest.approx([1.0] * 6, rel=1e-3)


def test_the_program_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 1, 2 and 4 ranks, at the smallest size; what it has measured can be read again."""
    pytest.importorskip("mpi4py")
    monkeypatch.setattr(scaling.ranks, "SIZES_REDUCED", (4, 4096))
    path = tmp_path / "calibration.json"
    options = ["--work", "tiny", "--rounds", "1", "--seconds", "0.01", "--calibration", str(path)]
    assert scaling.main(options) == 0
    found = json.loads(path.read_text())
    assert set(found["steps"]["tiny"]["ms"]) == set(scaling.KINDS) and found["add"] > 0
    assert 0.0 <= scaling.fit(found)[0].overlap <= 1.0


@pytest.mark.parametrize(("number", "text"), [(12.3, "12.3"), (1234.0, "1.23 k"), (9.87e6, "9.87 M"), (2e9, "2 G")])
def test_short_numbers(number: float, text: str) -> None:
    assert scaling.short(number) == text


@pytest.mark.parametrize("wrong", [["--rounds", "0"], ["--seconds", "-1"], ["--work", "huge"]])
def test_command_line(wrong: list[str]) -> None:
    assert len(scaling.parse([]).work) == 5
    with pytest.raises(SystemExit):
        scaling.parse(wrong)
