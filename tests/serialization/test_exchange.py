"""A training run that one library starts and saves continues in the other with the same losses."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minigrad
from tests.support.parity import torch

OPTIMISERS: dict[str, Callable[[Any, Any], Any]] = {
    "Adam": lambda lib, groups: lib.optim.Adam(groups, lr=0.02, weight_decay=0.01),
    "AdamW amsgrad": lambda lib, groups: lib.optim.AdamW(groups, lr=0.02, amsgrad=True),
    "SGD": lambda lib, groups: lib.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=True),
    "RMSprop": lambda lib, groups: lib.optim.RMSprop(groups, lr=0.01, momentum=0.5, centered=True),
    "NAdam": lambda lib, groups: lib.optim.NAdam(groups, lr=0.01),
    "Adagrad": lambda lib, groups: lib.optim.Adagrad(groups, lr=0.05),
}
SCHEDULERS: dict[str, Callable[[Any, Any], Any]] = {
    "CosineAnnealingLR": lambda lib, o: lib.optim.lr_scheduler.CosineAnnealingLR(o, 12),
    "OneCycleLR": lambda lib, o: lib.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
    "StepLR": lambda lib, o: lib.optim.lr_scheduler.StepLR(o, 2, 0.5),
    "SequentialLR": lambda lib, o: lib.optim.lr_scheduler.SequentialLR(
        o, [lib.optim.lr_scheduler.LinearLR(o), lib.optim.lr_scheduler.ExponentialLR(o, 0.9)], [3]
    ),
    "ReduceLROnPlateau": lambda lib, o: lib.optim.lr_scheduler.ReduceLROnPlateau(o, patience=0, threshold=0.9),
}
CASES = [(optimiser, "CosineAnnealingLR") for optimiser in OPTIMISERS] + [("Adam", name) for name in SCHEDULERS]


class Training:
    """A small language model with tied weights and normalisation, in either library, and its parts."""

    def __init__(self, library: Any, optimiser: str, scheduler: str) -> None:
        nn = library.nn
        self.library = library
        self.net = nn.ModuleDict(
            {
                "embedding": nn.Embedding(7, 6),
                "body": nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.GELU()),
                "head": nn.Linear(6, 7, bias=False),
            }
        ).double()
        self.net["head"].weight = self.net["embedding"].weight
        body = self.net["body"].parameters()
        groups = [{"params": [self.net["head"].weight]}, {"params": list(body), "lr": 0.03}]
        self.optimiser = OPTIMISERS[optimiser](library, groups)
        self.scheduler = SCHEDULERS[scheduler](library, self.optimiser)
        self.done = 0

    def steps(self, count: int) -> list[float]:
        """The losses of the next updates."""
        losses = []
        for step in range(self.done, self.done + count):
            tokens = self.library.tensor([(step + 3 * i) % 7 for i in range(10)])
            out = self.net["head"](self.net["body"](self.net["embedding"](tokens)))
            loss = self.library.nn.functional.cross_entropy(out, (2 * tokens) % 7)
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            losses.append(float(loss.item()))
            self.scheduler.step(*([losses[-1]] if "Plateau" in type(self.scheduler).__name__ else []))
        self.done += count
        return losses

    def state(self) -> dict[str, Any]:
        parts = {name: getattr(self, name).state_dict() for name in ("net", "optimiser", "scheduler")}
        return {
            **parts,
            "done": self.done,
            "best": {"net": copy.deepcopy(parts["net"]), "loss": 0.5},
            "note": ("é", None),
        }

    def load(self, state: dict[str, Any]) -> None:
        for name in ("net", "optimiser", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.done = state["done"]


@pytest.mark.parametrize(("optimiser", "scheduler"), CASES)
@pytest.mark.parametrize("is_ours", [True, False], ids=["from minigrad", "from PyTorch"])
def test_training_continues_in_the_other_library(is_ours: bool, optimiser: str, scheduler: str, tmp_path: Path) -> None:
    first, second = (minigrad, torch) if is_ours else (torch, minigrad)
    before = Training(first, optimiser, scheduler)
    before.steps(4)
    first.save(before.state(), tmp_path / "checkpoint.pth")
    expected = before.steps(6)
    after = Training(second, optimiser, scheduler)
    state = second.load(tmp_path / "checkpoint.pth", weights_only=True)
    after.load(state)
    assert after.steps(6) == pytest.approx(expected, rel=1e-9)
    second.save(after.state(), tmp_path / "back.pth")
    again = Training(first, optimiser, scheduler)
    again.load(first.load(tmp_path / "back.pth", weights_only=True))
    assert again.steps(3) == pytest.approx(before.steps(3), rel=1e-9)
    shared = second.load(tmp_path / "checkpoint.pth")["net"]
    shared["head.weight"][0, 0] = 7
    assert shared["embedding.weight"][0, 0] == 7 and state["best"]["net"]["head.weight"][0, 0] != 7
    assert shared._metadata == before.net.state_dict()._metadata


def test_safetensors_own_library_reads_tied_weights(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    ours, theirs = (Training(library, "Adam", "StepLR").net for library in (minigrad, torch))
    minigrad.save(ours.state_dict(), tmp_path / "net.safetensors")
    assert safetensors.load_model(theirs, tmp_path / "net.safetensors") == (set(), [])
    for name, tensor in theirs.state_dict().items():
        assert tensor.tolist() == ours.state_dict()[name].tolist()
    assert theirs["head"].weight is theirs["embedding"].weight
    safetensors.save_model(theirs, tmp_path / "theirs.safetensors")  # omits the same names
    assert (
        minigrad.load(tmp_path / "theirs.safetensors").keys()
        == safetensors.load_file(tmp_path / "net.safetensors").keys()
    )
