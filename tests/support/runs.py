"""The results of a program's run: weights, which can be compared bit for bit, and losses of evaluations."""

from pathlib import Path

import minigrad as mg
from minigrad_models.training import read_checkpoint, read_log


def weights(folder: Path, name: str = "last.safetensors") -> dict[str, mg.Tensor]:
    state: dict[str, mg.Tensor] = read_checkpoint(folder / name)["model"]
    return state


def same(one: dict[str, mg.Tensor], other: dict[str, mg.Tensor]) -> bool:
    return one.keys() == other.keys() and all(mg.equal(one[name], other[name]) for name in one)


def evaluated(folder: Path) -> list[float]:
    return [line["evaluation"]["loss"] for line in read_log(folder) if "evaluation" in line]
