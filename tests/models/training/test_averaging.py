"""Weight averages, computed by hand."""

from pathlib import Path

import numpy as np

import minigrad
from minigrad import nn
from minigrad_models.training import averaged_state, moving_average, read_checkpoint
from tests.models.training.program import Model, contents, trainer
from tests.support.cases import raises


def test_moving_average(device: str) -> None:
    model = nn.BatchNorm1d(4).to(device)
    averaged = moving_average(model, 0.4)
    samples = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    mean = samples[0].copy()
    for i, weights in enumerate(samples):
        model.weight.data.copy_(minigrad.tensor(weights, device=device))
        model.num_batches_tracked += 2
        averaged.update_parameters(model)
        if i:
            d = np.float32(min(0.4, (1 + i) / (10 + i)))
            mean = d * mean + (1 - d) * weights
        np.testing.assert_allclose(averaged.module.weight.numpy(force=True), mean, rtol=1e-6)
    assert int(averaged.module.num_batches_tracked) == 12
    assert not averaged.module.training


def test_the_mean_of_a_runs_snapshots(tmp_path: Path, device: str) -> None:
    trainer(tmp_path, device).fit()
    paths = [tmp_path / "snapshots" / f"{step:09d}.safetensors" for step in (20, 24, 28)]
    states = [read_checkpoint(path)["model"] for path in paths]
    average = averaged_state(tmp_path)
    assert list(average) == list(states[0])
    for name, value in average.items():
        arrays = [state[name].numpy() for state in states]
        real = arrays[0].dtype.kind == "f"
        expected = np.mean(arrays, axis=0, dtype=np.float64) if real else arrays[-1]
        assert value.numpy().dtype == arrays[0].dtype
        np.testing.assert_array_equal(value.numpy(), np.asarray(expected).astype(arrays[0].dtype))
    Model().load_state_dict(averaged_state(tmp_path))


def test_snapshots_that_the_checkpoint_does_not_name_are_ignored(tmp_path: Path) -> None:
    trainer(tmp_path).fit()
    before = averaged_state(tmp_path)
    stray = tmp_path / "snapshots" / "000000032.safetensors"
    stray.write_bytes((tmp_path / "snapshots" / "000000020.safetensors").read_bytes())
    after = averaged_state(tmp_path)
    assert all((before[name] == after[name]).all() for name in before)
    trainer(tmp_path, steps=31).fit()
    assert not stray.exists() and len(contents(tmp_path)["files"]) == 6


def test_invalid_snapshots(tmp_path: Path) -> None:
    raises(FileNotFoundError, "has no snapshots to average: set keep_snapshots", lambda: averaged_state(tmp_path))
