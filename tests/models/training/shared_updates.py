"""A training of a small model, of which all ranks compute a part. As a program, it tells the weights that it ends with.

python -m tests.models.training.shared_updates FOLDER [NAME=VALUE ...]
"""

import ast
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
from minigrad import Tensor, distributed, nn
from minigrad.nn import functional as F
from minigrad.optim.zero_redundancy import ZeroRedundancyOptimizer
from minigrad_models.training import LoaderBatches, Settings, Trainer, read_checkpoint

rows = np.random.default_rng(0).normal(size=(40, 6))


class Model(nn.Module):
    """With dropout, a parameter that is used twice and one that is used for some batches only."""

    def __init__(self, dropout: float, dtype: Any) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 6), nn.Linear(6, 1)
        self.seldom = nn.Parameter(minigrad.ones(1))
        self.dropout = nn.Dropout(dropout)
        self.to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        x = self.inner(self.dropout(F.relu(self.inner(x))))
        return self.outer(x * self.seldom if len(x) > 3 else x)


def loss(model: Model, batch: Tensor) -> tuple[Tensor, float]:
    """The mean squared error for the sum of a row."""
    batch = batch.to(model.seldom.dtype)
    return ((model(batch) - batch.sum(1, keepdim=True)) ** 2).mean(), len(batch)


class Batches:
    """Of four rows and of three in turns."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Twelve of them."""
        for i in range(start, 12):
            yield minigrad.tensor(np.roll(rows, number, 0)[3 * i : 3 * i + 3 + i % 2])


class Threes(Batches):
    """In the first epoch batches of three rows, for which ``Model`` does not use all its parameters."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Twelve of them."""
        for batch in super().epoch(number, start):
            yield batch if number else batch[:3]


class Broken(Batches):
    """The second batch of the fifth update is not what it should be on rank 1, or ends it."""

    def __init__(self, what: str) -> None:
        self.what = what

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """As they should be, but for one."""
        for i, batch in enumerate(super().epoch(number, start), start):
            if number == 1 and i == 5 and distributed.get_rank() == 1:
                if self.what == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                yield "no batch"
            yield batch


class Drawn:
    """Rows with noise from the generators that a program draws from."""

    def __len__(self) -> int:
        return len(rows)

    def __getitem__(self, i: int) -> Tensor:
        return minigrad.tensor(rows[i]) + minigrad.randn(6, dtype=minigrad.float64) + np.random.rand()


BATCHES: dict[str, Any] = {
    "plain": Batches,
    "threes": Threes,
    "broken": lambda: Broken("broken"),
    "killed": lambda: Broken("killed"),
    "by a loader": lambda: LoaderBatches(list(map(minigrad.tensor, rows)), 5, seed=2),
    "noisy": lambda: LoaderBatches(Drawn(), 5, seed=2),
}


def trainer(
    folder: Path,
    dropout: float = 0.0,
    steps: int = 10,
    dtype: str = "float64",
    batches: str = "plain",
    optimizer: str = "Adam",
    evaluated_part: bool = False,
    accumulate: int = 4,
    **more: Any,
) -> Trainer:
    """The loop; other arguments are ``Settings``."""
    rank = distributed.get_rank() if distributed.is_initialized() else 0
    minigrad.manual_seed(rank)  # the weights of rank 0 are everyone's
    model = Model(dropout, getattr(minigrad, dtype))
    if evaluated_part:
        model.dropout.eval()
    settings = Settings(steps=steps, accumulate=accumulate, progress=False, log_every=1, **more)
    made: Any
    if optimizer == "Zero":
        made = ZeroRedundancyOptimizer(model.parameters(), minigrad.optim.AdamW, lr=0.01, weight_decay=0.5)
    else:
        made = getattr(minigrad.optim, optimizer)(model.parameters(), lr=0.01, weight_decay=0.5)
    return Trainer(
        model,
        made,
        BATCHES[batches](),
        loss,
        folder=folder,
        settings=settings,
        evaluate=lambda model: {"loss": float(loss(model, minigrad.tensor(rows))[0])},
    )


def weights(folder: Path) -> dict[str, Any]:
    """Of the last checkpoint."""
    return {name: x.numpy() for name, x in read_checkpoint(folder / "last.safetensors")["model"].items()}


def main(folder: str, *words: str) -> int:
    """Train as one of the ranks. Returns the exit status."""
    options: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        options[name] = value if name in ("dtype", "batches", "optimizer") else ast.literal_eval(value)
    distributed.init_process_group()
    outcome = trainer(Path(folder), **options).fit()
    distributed.destroy_process_group()
    return 0 if outcome.finished else 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
