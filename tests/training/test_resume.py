"""A run that is killed, at any moment and as often as it likes, ends as one that never was."""

import os
from pathlib import Path
from typing import Any

import pytest

from minigrad.optim.lr_scheduler import LambdaLR
from minigrad.training import RunFolder, cosine, linear, read_checkpoint, read_log
from tests.training.disk import OPERATIONS, Disk
from tests.training.program import contents, differences, trainer


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The power stays on."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class Killed(BaseException):
    """No program catches it."""


def die(name: str, args: Any) -> None:
    """What a killed program does."""
    raise Killed


# Files of each kind are written, replaced and deleted: alone, several at one step, and at the end.
SHORT: Any = {"steps": 5, "accumulate": 2, "evaluate_every": 2, "save_every": 3, "snapshot_every": 2}


def operations(folder: Path) -> int:
    """How many times a whole run touches the disk."""
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, die)
        trainer(folder, keep_snapshots=1, **SHORT).fit()
    assert set(disk.operations) == set(OPERATIONS) - {"ftruncate"}  # which comes when the log is cut back
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
            Disk(patch, die, n, halfway=halfway)  # a dead program does not tidy up: all that follows fails
            with pytest.raises(Killed):
                trainer(folder, keep_snapshots=1, **SHORT).fit()
        check_what_last_tells(folder)
        trainer(folder, keep_snapshots=1, **SHORT).fit()
        assert differences(contents(folder), expected) == [], f"killed at operation {n}"


def check_what_last_tells(folder: Path) -> None:
    """Whatever the checkpoint of a killed run names is there, and whole."""
    run = RunFolder(folder)
    if run.last.exists():
        told = read_checkpoint(run.last)["training"]
        assert [int(path.stem) for path in run.snapshots()] == told["snapshots"]
        assert [read_checkpoint(path)["step"] for path in run.snapshots()] == told["snapshots"]
        assert told["best"] is None or read_checkpoint(run.best)["step"] >= told["best_step"]
        assert told["lines"] == 0 or len(run.log.read_bytes().splitlines()) >= told["lines"]


@pytest.mark.usefixtures("quick")
def test_another_schedule_holds_from_the_next_update_on(tmp_path: Path) -> None:
    """It may be one for more steps; the optimiser's state has the rate of the old one."""
    trainer(tmp_path, steps=6, log_every=1).fit()
    more = trainer(tmp_path, steps=12, log_every=1)
    more.schedule = LambdaLR(more.optimizer, linear(5, 12))
    more.fit()
    rates = [line["lr"] for line in read_log(tmp_path) if "loss" in line]
    parts = [*map(cosine(5, 1000), range(6)), *map(linear(5, 12), range(6, 12))]
    assert rates == [0.02 * part for part in parts]
