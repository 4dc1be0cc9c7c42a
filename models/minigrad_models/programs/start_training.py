"""The trainings of programs that keep a model: how one begins, what it shows, how it stops and ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minigrad import nn
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad.utils.bar import say

from ..training import Trainer, averaged_state, read_checkpoint
from ..training.batches import Batches
from .folder import BEST, Program, write_model, write_settings
from .settings import Updates

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
    settings = s.loop_settings(evaluate is not None, unit=unit, **{"metric": METRIC, **best})
    schedule, more = LambdaLR(optimizer, s.rate()), {"evaluate": evaluate, "extra": extra, "carried": carried}
    return Trainer(model, optimizer, batches, loss, folder=folder, settings=settings, schedule=schedule, **more)


def train_to_end(
    program: Program,
    trainer: Trainer,
    settings: Any,
    folder: Path,
    about: str,
    fresh: bool,
    report: Callable[[], None],
    best: bool = True,
) -> int:
    """Train, from where an earlier training in the folder stopped, or as a ``fresh`` one, for which the earlier is
    renamed. Then write the trained model, and ``report`` what it is worth, in eval mode. ``settings`` are ``Sections``
    with ``Updates`` as ``training``, ``about`` is printed before the first update. The weights are the moving
    average, the mean of snapshots, or, with ``best``, those with the best evaluation; else the last ones. Returns the
    exit status (130 after Ctrl-C). Raises as ``Trainer.fit``."""
    trainer.check()
    if fresh and trainer.ranks.is_first:
        program.set_aside(folder)
    print(about, flush=True)
    text = settings.as_toml(f"Settings of the run {folder.name}")
    if not trainer.fit(lambda: write_settings(folder, text)).finished:
        print(program.stopped(folder))
        return 130
    if trainer.ranks.is_first:
        model, s = trainer.model, settings.training
        if s.ema:
            assert trainer.averaged is not None
            model.load_state_dict(trainer.averaged.module.state_dict())
        elif s.average and trainer.state.snapshots:
            model.load_state_dict(averaged_state(folder))
        elif best and trainer.state.best is not None:
            model.load_state_dict(read_checkpoint(folder / BEST)["model"])
        path = write_model(folder, model.state_dict(), trainer.state.step, trainer.extra)
        model.eval()
        print(f"saved to {path}", flush=True)
        report()
    return 0


def report_validation(program: Program, trainer: Trainer, folder: Path, validation: str, *words: str) -> None:
    """Print what a model's validation gave, and the command that writes with it, ``generate --run FOLDER`` and more
    words."""
    updates = f"{trainer.state.step:,} updates in {trainer.state.seconds:.0f} s"
    print(f"validation, all of it: {validation}; {updates}", flush=True)
    print("\nwrite with it:  " + program.typed("generate", "--run", str(folder), *words))


def show(text: str) -> None:
    """Print a text between the lines of a progress bar, if there is one."""
    say(f"\n{text.strip()}\n", sys.stdout)
