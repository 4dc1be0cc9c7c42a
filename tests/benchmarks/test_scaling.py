"""The model of many ranks: its formulas against simulations that move numbers, and what must hold for any constants."""

import json
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from benchmarks import scaling
from benchmarks import step_model as model
from benchmarks.step_model import Machine, Network, Step
from benchmarks.workloads import SIZES, build

HERE = Machine("2 cores", 2, Network("shared memory", 4e-6, 2e9), 2**33, 1e-10, 7e-5, 0.02, 0.3)


@pytest.mark.parametrize("name", ["multi30k", "gpt-384"])
def test_buckets_are_those_of_distributed_data_parallel(name: str) -> None:
    from minigrad.nn.parallel.buckets import Buckets

    theirs = Buckets(list(build(mg, SIZES[name], 0.0).parameters()), None)  # type: ignore[arg-type]
    ours = model.buckets(model.gradients(SIZES[name]))
    assert [b.size for b in ours] == [4 * b.flat.numel() for b in theirs.buckets]
    shares = [b.ready for b in ours]
    assert shares == sorted(shares) and shares[-1] == 1.0


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
