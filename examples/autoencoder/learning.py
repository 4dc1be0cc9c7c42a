"""Short training runs that write nothing to disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad_models.training import Batches, Settings, ShuffledOrder, Trainer, schedules
from minigrad_models.training.update import Loss

from .network import mask

WARM_UP = 50  # updates while the learning rate rises; at most a tenth of all updates
BATCH = 64  # pictures


def train(
    model: nn.Module,
    batches: Batches[Any],
    loss: Loss,
    updates: int,
    rate: float,
    seed: int,
    name: str,
    unit: str = "pictures",
) -> None:
    """Train with Adam and a cosine learning-rate schedule, then set the model to eval mode.

    Args:
        loss: (model, batch) -> the mean loss and its weight.
        name: shown on stderr above the progress bar. unit: the unit of the loss weights.

    Raises:
        KeyboardInterrupt: after Ctrl-C. RuntimeError: if a loss is not finite.
    """
    size = sum(p.numel() for p in model.parameters())
    print(f"training {name}: {size:,} parameters, {updates:,} updates", file=sys.stderr, flush=True)
    adam = mg.optim.Adam(model.parameters(), lr=rate)
    settings = Settings(updates, save_seconds=None, evaluate_every=updates, log_every=updates, seed=seed, unit=unit)
    with TemporaryDirectory() as folder:
        schedule = LambdaLR(adam, schedules.cosine(min(WARM_UP, updates // 10), updates))
        outcome = Trainer(model, adam, batches, loss, folder=folder, settings=settings, schedule=schedule).fit()
    if not outcome.finished:
        raise KeyboardInterrupt
    model.eval()


class Pair(NamedTuple):
    """Pictures (B, P): the originals and the network input."""

    clean: Tensor
    read: Tensor


class PictureBatches:
    """Batches of pictures (N, P), in a new order in each epoch.

    Args:
        most: the largest share of pixels that masking noise erases. Each picture has its own share, from 0 to most.
    """

    def __init__(self, pictures: Tensor, seed: int, most: float = 0.0) -> None:
        self.pictures, self.seed, self.most = pictures, seed, most
        self.order = ShuffledOrder(len(pictures), BATCH, seed=seed)

    def epoch(self, number: int, start: int = 0) -> Iterator[Pair]:
        """The batches of an epoch, starting at number ``start``."""
        for place, rows in enumerate(self.order.epoch(number, start), start):
            clean = self.pictures[mg.tensor(rows)]
            if not self.most:
                yield Pair(clean, clean)
                continue
            generator = mg.Generator().manual_seed(self.seed + 1_000_003 * (number * len(self.order) + place + 1))
            shares = self.most * mg.rand(len(rows), 1, generator=generator)
            yield Pair(clean, mask(clean, shares, generator))


def picture_loss(model: Any, batch: Pair) -> tuple[Tensor, float]:
    """The squared error with respect to the clean pictures, and their number."""
    return model.loss(batch.clean, batch.read), float(len(batch.clean))
