"""What pre-training and fine-tuning share: AdamW whose rate rises and falls, and the best model (appendix A.2, A.3).

RUN/last.safetensors, best.safetensors, log.jsonl    the training; see minigrad_models.training.checkpoints
RUN/model/                                           the best model, as transformers reads it
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minigrad.optim import AdamW
from minigrad.optim.lr_scheduler import LambdaLR

from ..architectures.pretrained import Pretrained
from ..training import Batches, Settings, Trainer, linear, read_checkpoint
from ..training.trainer import Evaluate
from ..training.update import Loss

WARMUP = 0.1  # the part of all updates during which the learning rate rises
DECAY = 0.01  # of the weights, each update, times the rate; not of biases and norms
MODEL = "model"


class Best(NamedTuple):
    """The best evaluation: after so many updates, its results by name."""

    step: int
    metrics: dict[str, float]


def fit(
    model: Pretrained,
    batches: Batches[Any],
    loss: Loss,
    run: Path,
    rate: float,
    settings: Settings,
    evaluate: Evaluate,
    config: Mapping[str, Any],
) -> Best:
    """Train, or go on with a training; the model then has its best weights and is in eval mode.

    Args:
        rate: the highest learning rate. config: what must be the same where a run goes on.

    Raises:
        KeyboardInterrupt: the run was interrupted. Else as ``Trainer.fit``.
    """
    matrices, vectors = ([p for p in model.parameters() if (p.ndim > 1) == wide] for wide in (True, False))
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = AdamW(groups, lr=rate)
    schedule = LambdaLR(optimizer, linear(round(WARMUP * settings.steps), settings.steps))
    options: dict[str, Any] = {"schedule": schedule, "evaluate": evaluate, "extra": {"config": dict(config)}}
    trainer = Trainer(model, optimizer, batches, loss, folder=run, settings=settings, **options)
    if not trainer.fit().finished:
        tell(f"\nstopped; saved in {run}. The same command goes on from there")
        raise KeyboardInterrupt
    best = read_checkpoint(trainer.folder.best)
    model.load_state_dict(best["model"])
    model.eval()
    return Best(best["step"], best["metrics"])


def report(best: Best, run: Path) -> dict[str, float]:
    """Print what came of a run, whose model has been written; returns the metrics."""
    tell(f"wrote {run / MODEL}")
    print(f"best, after {best.step:,} updates: {shown(best.metrics)}")
    return best.metrics


def shown(metrics: dict[str, float]) -> str:
    """Metrics as they are read."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in metrics.items())


def tell(text: str) -> None:
    """A line on stderr, at once."""
    print(text, file=sys.stderr, flush=True)
