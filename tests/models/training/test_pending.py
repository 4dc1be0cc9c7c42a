"""On a GPU, the loss and norm of an update are checked after the next update has been launched."""

import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad_models.training import read_checkpoint, read_log
from minigrad_models.training.update import update
from tests.models.training import program
from tests.models.training.program import contents, differences, trainer
from tests.models.training.test_update import loss, model_and_data
from tests.support import launches, strict


class Spoiled:
    """The program's loss, but NaN or interrupted by a signal in one update."""

    def __init__(self, nan: int = -1, stop: int = -1) -> None:
        self.nan, self.stop, self.calls = nan, stop, 0

    def __call__(self, model: Any, batch: Any) -> Any:
        self.calls += 1
        if self.calls == self.stop:
            os.kill(os.getpid(), signal.SIGINT)
        value, weight = program.loss(model, batch)
        return (value * math.nan if self.calls == self.nan else value), weight


def test_an_update_on_a_gpu_does_not_wait() -> None:
    strict.install(emulate=False)
    model, x, y = model_and_data("strict", minigrad.float32)
    optimizer = minigrad.optim.AdamW(model.parameters(), lr=0.01)
    batches = [(x[:8], y[:8]), (x[8:], y[8:])]
    update(model, optimizer, loss, batches, 0.05, 1)
    with launches.count() as counts:
        pending = update(model, optimizer, loss, batches, 0.05, 2)
        update(model, optimizer, loss, batches, 0.05, 3)
        assert min(pending.check()) > 0 and pending.weight == 32
    assert counts.syncs == 0


def test_a_pending_number_does_not_change(device: str) -> None:
    x = minigrad.ones(3, device=device)
    read = minigrad.backend.of(x.array).later(x.array)
    x.zero_()
    assert read().tolist() == [1.0, 1.0, 1.0]


# update 7 is followed by a log line, 8 by a snapshot, 10 by a checkpoint, 12 by an evaluation
@pytest.mark.parametrize("nan", [3, 8, 10, 12])
def test_files_never_contain_weights_of_an_unchecked_update(tmp_path: Path, device: str, nan: int) -> None:
    spoiled, evaluations = Spoiled(nan), []

    def evaluate(model: Any) -> dict[str, float]:
        evaluations.append(spoiled.calls)
        return program.evaluate(model)

    changed = {"accumulate": 1, "log_every": 7, "steps": 15}
    harm = "the weights and" if device == "cpu" else "the model in memory is damaged"
    with pytest.raises(RuntimeError, match=f"the loss is nan in step {nan}; {harm}"):
        trainer(tmp_path, device, loss=spoiled, evaluate=evaluate, **changed).fit()
    at_once = device == "cpu" or nan != 3
    assert spoiled.calls == (nan if at_once else nan + 1)
    assert max(evaluations, default=0) < nan
    for path in tmp_path.rglob("*.safetensors"):
        checkpoint = read_checkpoint(path)
        assert checkpoint["step"] < nan
        assert all(np.isfinite(value.numpy(force=True)).all() for value in checkpoint["model"].values())
    assert all(line["step"] < nan for line in read_log(tmp_path))
    again = trainer(tmp_path, device, loss=program.loss, **changed)
    assert again.fit().finished


@pytest.mark.skipif(os.name != "posix", reason="no such signals")
def test_a_pending_update_counts_when_the_training_stops(tmp_path: Path, device: str) -> None:
    changed = {"accumulate": 1, "log_every": 4, "steps": 15}
    assert trainer(tmp_path / "whole", device, **changed).fit().finished
    assert trainer(tmp_path / "run", device, loss=Spoiled(stop=7), **changed).fit().step == 7
    assert trainer(tmp_path / "run", device, **changed).fit().finished
    assert differences(contents(tmp_path / "run"), contents(tmp_path / "whole")) == []
    with pytest.raises(RuntimeError, match="the loss is nan in step 7"):  # a damaged model is not saved
        trainer(tmp_path / "damaged", device, loss=Spoiled(nan=7, stop=7), accumulate=1, log_every=4).fit()
    assert read_checkpoint(tmp_path / "damaged" / "last.safetensors")["step"] == 6
