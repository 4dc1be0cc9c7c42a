"""A run that is killed at any moment, any number of times, ends like an uninterrupted run."""

import os
from pathlib import Path
from typing import Any

import pytest

from minigrad.optim.lr_scheduler import LambdaLR
from minigrad_models.training import RunFolder, cosine, linear, read_checkpoint, read_log
from tests.models.training.disk import OPERATIONS, Disk
from tests.models.training.program import contents, differences, trainer


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip fsync."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class Killed(BaseException):
    """Raised instead of killing the program, which does not catch it."""


def die(name: str, args: Any) -> None:
    """Stop as a killed program does."""
    raise Killed


# Files of each type are written, replaced and deleted: one or several at a step, and at the end.
SHORT: Any = {"steps": 5, "accumulate": 2, "evaluate_every": 2, "save_every": 3, "snapshot_every": 2}


def operations(folder: Path) -> int:
    """The number of disk operations of a whole run."""
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, die)
        trainer(folder, keep_snapshots=1, **SHORT).fit()
    assert set(disk.operations) == set(OPERATIONS) - {"ftruncate"}  # called when the log is truncated
    return disk.count


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("halfway", "every"),
    [
        pytest.param(True, 9, id="some"),
        pytest.param(False, 1, id="before", marks=pytest.mark.nightly),
        pytest.param(True, 1, id="within or after", marks=pytest.mark.nightly),
    ],
)
def test_killed_at_every_operation_on_files(tmp_path: Path, halfway: bool, every: int) -> None:
    count = operations(tmp_path / "counted")
    assert count > 50
    expected = contents(tmp_path / "counted")
    for n in range(0, count, every):
        folder = tmp_path / f"run{n}"
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, die, n, halfway=halfway)  # a killed program cannot clean up: all later operations fail
            with pytest.raises(Killed):
                trainer(folder, keep_snapshots=1, **SHORT).fit()
        check_what_last_tells(folder)
        trainer(folder, keep_snapshots=1, **SHORT).fit()
        assert differences(contents(folder), expected) == [], f"killed at operation {n}"


def check_what_last_tells(folder: Path) -> None:
    """Everything that the checkpoint of a killed run names exists and is complete."""
    run = RunFolder(folder)
    if run.last.exists():
        state = read_checkpoint(run.last)["training"]
        assert [int(path.stem) for path in run.snapshots()] == state["snapshots"]
        assert [read_checkpoint(path)["step"] for path in run.snapshots()] == state["snapshots"]
        assert state["best"] is None or read_checkpoint(run.best)["step"] >= state["best_step"]
        assert state["lines"] == 0 or len(run.log.read_bytes().splitlines()) >= state["lines"]


@pytest.mark.usefixtures("quick")
def test_another_schedule_takes_effect_with_the_next_update(tmp_path: Path) -> None:
    """It may have more steps; the optimiser's state stores the old schedule's rate."""
    trainer(tmp_path, steps=6, log_every=1).fit()
    more = trainer(tmp_path, steps=12, log_every=1)
    more.schedule = LambdaLR(more.optimizer, linear(5, 12))
    more.fit()
    rates = [line["lr"] for line in read_log(tmp_path) if "loss" in line]
    parts = [*map(cosine(5, 1000), range(6)), *map(linear(5, 12), range(6, 12))]
    assert rates == [0.02 * part for part in parts]
