"""Training of a small model, shared by all ranks. Run as a program, it prints the final weights.

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
    """A model with dropout, a parameter used twice, and one used only for some batches."""

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
    """The mean squared error in predicting the sum of a row."""
    batch = batch.to(model.seldom.dtype)
    return ((model(batch) - batch.sum(1, keepdim=True)) ** 2).mean(), len(batch)


class Batches:
    """Batches of three and four rows in turn."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Twelve batches."""
        for i in range(start, 12):
            yield minigrad.tensor(np.roll(rows, number, 0)[3 * i : 3 * i + 3 + i % 2])


class Threes(Batches):
    """Batches of three rows in the first epoch, for which ``Model`` does not use all its parameters."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Twelve batches."""
        for batch in super().epoch(number, start):
            yield batch if number else batch[:3]


class Broken(Batches):
    """The second batch of the fifth update is invalid on rank 1, or kills the rank."""

    def __init__(self, what: str) -> None:
        self.what = what

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Valid batches, except one."""
        for i, batch in enumerate(super().epoch(number, start), start):
            if number == 1 and i == 5 and distributed.get_rank() == 1:
                if self.what == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                yield "no batch"
            yield batch


class Drawn:
    """Rows with noise from the program's random generators."""

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
    """The trainer; ``more`` are ``Settings``."""
    rank = distributed.get_rank() if distributed.is_initialized() else 0
    minigrad.manual_seed(rank)  # all ranks get rank 0's weights
    model = Model(dropout, getattr(minigrad, dtype))
    if evaluated_part:
        model.dropout.eval()
    settings = Settings(steps=steps, accumulate=accumulate, progress=False, log_every=1, **more)
    optim: Any
    if optimizer == "Zero":
        optim = ZeroRedundancyOptimizer(model.parameters(), minigrad.optim.AdamW, lr=0.01, weight_decay=0.5)
    else:
        optim = getattr(minigrad.optim, optimizer)(model.parameters(), lr=0.01, weight_decay=0.5)
    return Trainer(
        model,
        optim,
        BATCHES[batches](),
        loss,
        folder=folder,
        settings=settings,
        evaluate=lambda model: {"loss": float(loss(model, minigrad.tensor(rows))[0])},
    )


def weights(folder: Path) -> dict[str, Any]:
    """The weights in the last checkpoint."""
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
