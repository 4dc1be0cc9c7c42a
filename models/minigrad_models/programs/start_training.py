"""The trainings of programs that keep a model: how one begins, what it shows, how it stops and ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from minigrad import nn
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad.utils.bar import say

from ..training import Trainer, averaged_state, read_checkpoint
from ..training.batches import Batches
from .folder import BEST, Program, write_settings
from .ranks import is_first
from .updates import Updates, loop_settings

METRIC = "loss"


def trainer_of(
    model: nn.Module,
    batches: Batches[Any],
    loss: Any,
    evaluate: Any,
    s: Updates,
    folder: Path,
    extra: dict[str, Any],
    unit: str = "tokens",
    carried: Any = None,
    **best: Any,
) -> Trainer:
    """The loop of a training. Arguments are those of ``Trainer``; ``best`` are the settings ``metric``, which is
    ``METRIC`` by default, and ``mode``. Raises ValueError: settings of the rates or of the loop that cannot be."""
    optimizer = s.make_optimizer(model)
    return Trainer(
        model,
        optimizer,
        batches,
        loss,
        folder=folder,
        settings=loop_settings(s, evaluate is not None, unit=unit, **{"metric": METRIC, **best}),
        schedule=LambdaLR(optimizer, s.rate()),
        evaluate=evaluate,
        extra=extra,
        carried=carried,
    )


def fit(program: Program, trainer: Trainer, folder: Path, settings: str, about: str, fresh: bool = False) -> bool:
    """Train to the end, from where an earlier training in the folder stopped; a ``fresh`` one renames that. Returns
    whether it came to its end. ``settings`` is the text of settings.toml; ``about`` is printed before the first update.
    Raises as ``Trainer.fit``."""
    trainer.check()
    if fresh and is_first():
        with program.prepared(folder, fresh) as place:
            program.set_aside(folder, place)
    print(about, flush=True)
    outcome = trainer.fit(lambda: write_settings(folder, settings))
    if not outcome.finished:
        print(program.stopped(folder))
    return outcome.finished


def show(text: str) -> None:
    """Print a text between the lines of a progress bar, if there is one."""
    say(f"\n{text.strip()}\n", sys.stdout)


def take_weights(trainer: Trainer, model: nn.Module, s: Updates, folder: Path, best: bool = True) -> None:
    """Give a model the weights of a finished training: the moving average, the mean of snapshots, or, with ``best``,
    those with the best evaluation; else the last ones."""
    if s.ema:
        assert trainer.averaged is not None
        model.load_state_dict(trainer.averaged.module.state_dict())
    elif s.average and trainer.state.snapshots:
        model.load_state_dict(averaged_state(folder))
    elif best and trainer.state.best is not None:
        model.load_state_dict(read_checkpoint(folder / BEST)["model"])
