"""Averages of weights: over the newest snapshots of a run, and exponential moving averages.

Both give a better model than that of any one step, at no cost in training (Polyak and Juditsky 1992; Izmailov
et al. 2018, arXiv 1803.05407). Vaswani et al. 2017 (section 6.1) average their last 5 or 20 checkpoints.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from minigrad import Tensor
from minigrad.nn.module import Module
from minigrad.optim.swa_utils import AveragedModel, move_means

from .checkpoints import RunFolder, read_checkpoint


def moving_average(model: Module, decay: float) -> AveragedModel:
    """A copy of a model for the mean m ← d · m + (1 - d) · w of the weights w after each update. It begins with the
    weights after the first update. After n updates, d = min(decay, (1 + n) / (10 + n)), so that the first weights soon
    fade (TensorFlow's ExponentialMovingAverage with num_updates). Call ``update_parameters(model)`` after each update.
    Buffers are copied, not averaged."""

    def update(means: Sequence[Tensor], new: Sequence[Tensor], age: Any) -> None:
        n = int(age)
        move_means(means, new, 1 - min(decay, (1 + n) / (10 + n)))

    averaged = AveragedModel(model, multi_avg_fn=update)
    averaged.eval()
    return averaged


def averaged_state(folder: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The mean of the snapshots of a run as a state dict, on the CPU. Sums are in float64, and are rounded once.
    Integers and bools are those of the last. Raises FileNotFoundError: the run has no snapshots (``keep_snapshots`` of
    its settings)."""
    if not (paths := RunFolder(folder).snapshots()):
        raise FileNotFoundError(f"{folder} holds no snapshots to average: set keep_snapshots in Settings")
    sums: dict[str, Tensor] = {}
    for path in paths:
        state: dict[str, Tensor] = read_checkpoint(path)["model"]
        real = {name: value.double() for name, value in state.items() if value.is_floating_point()}
        sums = {name: sums[name] + value if sums else value for name, value in real.items()}
    return {**state, **{name: (total / len(paths)).to(state[name].dtype) for name, total in sums.items()}}
