"""Training on several ranks: the same updates as on one process, exact resuming, and failures."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad_models.training import read_checkpoint
from minigrad_models.training.update import Ranks
from tests.models.training.shared_updates import Model, loss, trainer, weights
from tests.support.ranks import Ran, begun, finished, launcher

pytest.importorskip("mpi4py")
Weights = dict[str, Any]
PROGRAM = ["-m", "tests.models.training.shared_updates"]
CASES: dict[str, dict[str, Any]] = {
    "dropout": {"dropout": 0.3},
    "a part in eval mode": {"dropout": 0.3, "evaluated_part": True},
    "a parameter that no batch uses": {"batches": "threes", "optimizer": "AdamW", "steps": 5},
    "a loader": {"batches": "by a loader"},
    "batches that draw": {"batches": "noisy", "dropout": 0.3},
    "the optimiser's state in shares": {"optimizer": "Zero", "dropout": 0.3},
}


def options(case: dict[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in case.items()]


def on_ranks(ranks: int, folder: Path, **case: Any) -> Ran:
    return finished(begun(launcher(ranks, *PROGRAM, folder, *options(case)), folder.parent))


def train(ranks: int, folder: Path, **case: Any) -> Weights:
    ran = on_ranks(ranks, folder, **case)
    assert ran.status == 0, ran.err
    return weights(folder)


def alone(folder: Path, **case: Any) -> Weights:
    if case.get("optimizer") == "Zero":
        case = {**case, "optimizer": "AdamW"}
    assert trainer(folder, **case).fit().finished
    return weights(folder)


def near(one: Weights, other: Weights) -> bool:
    return all(np.allclose(one[name], other[name], rtol=1e-9, atol=1e-12) for name in one)


def equal(one: Weights, other: Weights) -> bool:
    return all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[] if "shares" in name else [pytest.mark.nightly]) for name in CASES]
)
def test_the_updates_match_one_process(tmp_path: Path, case: str) -> None:
    one = alone(tmp_path / "1", **CASES[case])
    assert near(one, train(2, tmp_path / "2", **CASES[case]))
    logs = [[json.loads(line) for line in (tmp_path / n / "log.jsonl").read_text().splitlines()] for n in "12"]
    losses = [[line["loss"] for line in log if "loss" in line] for log in logs]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9) and len(losses[0]) == CASES[case].get("steps", 10)


@pytest.mark.nightly
def test_it_resumes_bitwise_and_with_another_number_of_ranks(tmp_path: Path) -> None:
    case = {"dropout": 0.3, "optimizer": "Zero"}
    whole = train(2, tmp_path / "whole", **case)
    for name in ("same", "fewer", "more"):
        train(2, tmp_path / name, steps=4, **case)
    assert equal(whole, train(2, tmp_path / "same", **case))
    assert near(whole, alone(tmp_path / "fewer", **case))
    assert near(whole, train(3, tmp_path / "more", **case))


@pytest.mark.nightly
def test_a_killed_rank_ends_all_ranks_and_the_training_resumes_bitwise(tmp_path: Path) -> None:
    case = {"dropout": 0.3, "save_every": 2}
    ran = on_ranks(2, tmp_path / "run", batches="killed", **case)
    assert ran.status == signal.SIGKILL and "EXIT CODE: 9" in ran.out
    assert read_checkpoint(tmp_path / "run" / "last.safetensors")["step"] == 4
    assert equal(train(2, tmp_path / "whole", **case), train(2, tmp_path / "run", **case))


@pytest.mark.nightly
def test_a_failure_ends_all_ranks_and_is_reported_once(tmp_path: Path) -> None:
    ran = on_ranks(2, tmp_path / "broken", batches="broken")
    assert ran.status == 1
    assert "rank 1 failed with an error" in ran.err and "'str' object has no attribute 'to'" in ran.err
    (tmp_path / "run").write_text("in the way")
    ran = on_ranks(2, tmp_path / "run")
    assert ran.status == 1
    assert ran.err.count("failed with an error") == 1 and "cannot write checkpoints to" in ran.err
    ran = on_ranks(2, tmp_path / "none", accumulate=1)
    assert "2 ranks share the batches of an update, but accumulate is 1: set accumulate to 2" in ran.err
    assert not (tmp_path / "none").exists()


def test_one_process_is_a_rank_of_one(device: str) -> None:
    ranks = Ranks()
    assert (ranks.rank, ranks.count, ranks.is_first) == (0, 1, True)
    assert ranks.of_first(lambda: 3) == 3
    model = Model(0.0, minigrad.float32).to(device)
    ranks.check_equal(model)
    ranks.send(model.parameters())
    assert loss(model, minigrad.ones(4, 6, device=device))[1] == 4
