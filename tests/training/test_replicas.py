"""Several processes for one training: the updates of one process, exact resuming, and what can go wrong."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import Tensor, nn
from minigrad.backend.parallel import get_num_threads
from minigrad.nn import functional as F
from minigrad.training import LoaderBatches, Settings, Trainer, read_checkpoint
from minigrad.training.replicas import Replicas

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
rows = np.random.default_rng(0).normal(size=(40, 6))


class Model(nn.Module):
    """With dropout, a parameter that is used twice and one that is used for some batches only."""

    def __init__(self, dropout: float, dtype: Any) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 6), nn.Linear(6, 1)
        self.seldom = nn.Parameter(minigrad.ones(1))
        self.dropout = nn.Dropout(dropout)
        self.to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        x = self.inner(self.dropout(F.relu(self.inner(x))))
        return self.outer(x * self.seldom if len(x) > 3 else x)


def loss(model: Model, batch: Tensor) -> tuple[Tensor, float]:
    batch = batch.to(model.seldom.dtype)
    return ((model(batch) - batch.sum(1, keepdim=True)) ** 2).mean(), len(batch)


class Batches:
    """Of four rows and of three in turns."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Tensor]:
        for i in range(start, 12):
            yield minigrad.tensor(np.roll(rows, number, 0)[3 * i : 3 * i + 3 + i % 2])


def trainer(
    folder: Path,
    processes: int,
    dropout: float = 0.0,
    steps: int = 10,
    dtype: Any = minigrad.float64,
    batches: Any = None,
    **more: Any,
) -> Trainer:
    minigrad.manual_seed(0)
    model = Model(dropout, dtype)
    settings = Settings(steps=steps, accumulate=4, processes=processes, progress=False, log_every=1, **more)
    optimizer = minigrad.optim.Adam(model.parameters(), lr=0.01)
    return Trainer(
        model,
        optimizer,
        batches or Batches(),
        loss,
        folder=folder,
        settings=settings,
        evaluate=lambda model: {"loss": float(loss(model, minigrad.tensor(rows))[0])},
    )


def weights(folder: Path) -> dict[str, Any]:
    return {name: x.numpy() for name, x in read_checkpoint(folder / "last.safetensors")["model"].items()}


def train(folder: Path, *args: Any, **named: Any) -> dict[str, Any]:
    assert trainer(folder, *args, **named).fit().finished
    return weights(folder)


def near(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(np.allclose(one[name], other[name], rtol=1e-9, atol=1e-12) for name in one)


def equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize("processes", [2, 3, 4])
def test_the_updates_are_those_of_one_process(tmp_path: Path, processes: int) -> None:
    assert near(train(tmp_path / "1", 1), train(tmp_path / "n", processes))
    logs = [(tmp_path / name / "log.jsonl").read_text().splitlines() for name in "1n"]
    assert len(logs[0]) == len(logs[1]) == 11


def test_dropout_does_not_depend_on_who_draws_it(tmp_path: Path) -> None:
    found = [train(tmp_path / f"{n}", n, 0.3) for n in (2, 4)]
    assert near(*found)
    assert not near(found[0], train(tmp_path / "none", 2, 0.0))
    assert not near(found[0], train(tmp_path / "seed", 2, 0.3, seed=1))


def test_float32_stays_float32(tmp_path: Path) -> None:
    assert {x.dtype for x in train(tmp_path, 2, dtype=minigrad.float32).values()} == {np.dtype("float32")}


def test_it_is_repeatable_and_goes_on_to_the_bit(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", 2, 0.3)
    assert equal(whole, train(tmp_path / "again", 2, 0.3))
    first = trainer(tmp_path / "part", 2, 0.3)
    step, calls = first.optimizer.step, []

    def stopped() -> None:
        calls.append(1)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        step()

    first.optimizer.step = stopped  # type: ignore[method-assign]
    assert first.fit().reason == "interrupted"
    assert not equal(whole, weights(tmp_path / "part"))
    assert equal(whole, train(tmp_path / "part", 2, 0.3))


def test_threads_are_as_before_when_it_is_over(tmp_path: Path) -> None:
    before = get_num_threads()
    train(tmp_path, 2)
    assert get_num_threads() == before


KILLED = """
import sys
from pathlib import Path
from tests.training.test_replicas import trainer
print("go", flush=True)
trainer(Path(sys.argv[1]), 2, 0.3, steps=150, save_every=10).fit()
"""


def test_a_kill_leaves_no_process_and_changes_nothing(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", 2, 0.3, steps=150, save_every=10)
    command = [sys.executable, "-c", KILLED, str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "go\n"
        while not (tmp_path / "run" / "log.jsonl").exists() and child.poll() is None:
            time.sleep(0.01)
        time.sleep(0.1)
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        others = children.read_text().split() if children.exists() else []
        child.kill()
    end = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in others) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in others)
    assert equal(whole, train(tmp_path / "run", 2, 0.3, steps=150, save_every=10))


class Broken(Batches):
    """The second batch of the fifth update is not what it should be, or ends its process."""

    def __init__(self, kill: bool) -> None:
        self.kill, self.parent = kill, os.getpid()

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        for i, batch in enumerate(super().epoch(number, start), start):
            if number == 1 and i == 5 and os.getpid() != self.parent:
                if self.kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield "no batch"
            yield batch


def test_a_failure_elsewhere_is_told_here(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)process 1 of the training failed.*AttributeError.*'str'"):
        trainer(tmp_path, 2, batches=Broken(kill=False)).fit()
    with pytest.raises(RuntimeError, match=r"process 1 of the training died \(exit code -9\)"):
        trainer(tmp_path, 2, batches=Broken(kill=True)).fit()


def test_what_cannot_be_shared(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="6 processes share the batches of an update, of which there are 4"):
        Settings(steps=1, processes=6, accumulate=4)
    with pytest.raises(ValueError, match="processes must be a positive whole number"):
        Settings(steps=1, processes=0)


def test_the_model_must_be_on_the_cpu(tmp_path: Path, device: str) -> None:
    model = Model(0.0, minigrad.float32).to(device)
    if device == "cpu":
        Replicas(model, loss, Batches(), 0, 0, count=2, accumulate=2, seed=0).close()
    else:
        made = trainer(tmp_path, 2)
        made.model.to(device)
        with pytest.raises(ValueError, match="processes=2 is for the CPU, and the model is on"):
            made.fit()
        assert not tmp_path.exists() or not any(tmp_path.iterdir())


def test_one_that_cannot_begin_takes_the_others_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    start, begun, before = ForkProcess.start, [], get_num_threads()

    def failing(process: ForkProcess) -> None:
        if len(begun) == 2:
            raise BlockingIOError("no room for a process")
        begun.append(process)
        start(process)

    monkeypatch.setattr(ForkProcess, "start", failing)
    with pytest.raises(BlockingIOError, match="no room for a process"):
        Replicas(Model(0.0, minigrad.float32), loss, Batches(), 0, 0, count=4, accumulate=4, seed=0)
    assert [process.exitcode for process in begun] == [0, 0]
    assert get_num_threads() == before


# Batches, modes and gradients -----------------------------------------------------------------------------


class Drawn:
    """Examples with noise from the generators that a program draws from; ``rows`` without."""

    def __init__(self, noise: float) -> None:
        self.noise = noise

    def __len__(self) -> int:
        return len(rows)

    def __getitem__(self, i: int) -> Tensor:
        drawn = minigrad.randn(6, dtype=minigrad.float64) + np.random.rand()
        return minigrad.tensor(rows[i]) + self.noise * drawn


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_with_processes(tmp_path: Path, workers: int) -> None:
    batches = LoaderBatches(Drawn(0.0), 5, seed=2, num_workers=workers)
    found = [train(tmp_path / f"{n}", n, batches=batches) for n in (1, 2)]
    assert near(*found)
    assert multiprocessing.active_children() == []


def test_a_batch_is_the_same_whoever_fetches_it(tmp_path: Path) -> None:
    batches = LoaderBatches(Drawn(0.5), 5, seed=2)
    found = [train(tmp_path / f"{n}", n, 0.3, batches=batches) for n in (2, 4)]
    assert near(*found)
    train(tmp_path / "part", 2, 0.3, steps=4, batches=batches)
    assert equal(found[0], train(tmp_path / "part", 2, 0.3, batches=batches))


def test_a_part_in_eval_mode_stays_so_everywhere(tmp_path: Path) -> None:
    found = []
    for processes in (1, 2):
        made = trainer(tmp_path / f"{processes}", processes, dropout=0.3)
        made.model.dropout.eval()  # type: ignore[union-attr]
        assert made.fit().finished
        found.append(weights(tmp_path / f"{processes}"))
    assert near(*found)


class Threes(Batches):
    """In the first epoch batches of three rows, for which ``Model`` does not use all its parameters."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Tensor]:
        for batch in super().epoch(number, start):
            yield batch if number else batch[:3]


def test_what_no_batch_uses_has_no_gradient(tmp_path: Path) -> None:
    """Optimisers leave it as it is, where they would move, or decay, one whose gradient is zero."""
    found = []
    for processes in (1, 2):
        made = trainer(tmp_path / f"{processes}", processes, batches=Threes(), steps=5)
        made.optimizer = minigrad.optim.AdamW(made.model.parameters(), lr=0.01, weight_decay=0.5)
        assert made.fit().finished
        found.append(weights(tmp_path / f"{processes}"))
    assert near(*found)


def test_bfloat16_stays_bfloat16(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    for processes in (1, 2):
        assert trainer(tmp_path / f"{processes}", processes, dtype=minigrad.bfloat16).fit().finished
    one, two = (read_checkpoint(tmp_path / name / "last.safetensors")["model"] for name in "12")
    assert {x.dtype for x in two.values()} == {minigrad.bfloat16}
    assert all(np.allclose(one[name].float().numpy(), two[name].float().numpy(), atol=0.05) for name in one)
