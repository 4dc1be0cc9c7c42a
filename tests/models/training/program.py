"""A small training run, as a function, with everything that makes resuming hard."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
from minigrad import Tensor, nn
from minigrad.nn import functional as F
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad_models.training import LoaderBatches, Settings, Trainer, cosine, read_checkpoint, read_log
from minigrad_models.training.checkpoints import RunFolder

WORDS = 23
TIMES = {"seconds"}  # entries that may differ between runs


class Model(nn.Module):
    """Predicts a word from the previous three; with dropout, running means, and a matrix used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, 8)
        self.hidden = nn.Linear(24, 8)
        self.normed = nn.BatchNorm1d(8)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(8, WORDS)
        self.head.weight = self.embed.weight

    def forward(self, words: Tensor) -> Tensor:
        x = self.dropout(self.embed(words).reshape(len(words), 24))
        return self.head(self.dropout(F.relu(self.normed(self.hidden(x)))))


@cache
def drawn(i: int) -> tuple[int, ...]:
    """A sentence that depends only on its number."""
    return tuple(np.random.RandomState(i).randint(0, WORDS, 5 + i % 5).tolist())


class Data:
    """Sentences of different lengths, by number."""

    def __len__(self) -> int:
        return 29

    def __getitem__(self, i: int) -> list[int]:
        return list(drawn(i))


def collate(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """All windows of four words: the first three, and the last."""
    windows = np.array([row[i : i + 4] for row in rows for i in range(len(row) - 3)])
    return minigrad.tensor(windows[:, :3]), minigrad.tensor(windows[:, 3])


def loss(model: Model, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, float]:
    """Cross-entropy with some words replaced at random by Python's and NumPy's generators."""
    device = model.head.bias.device
    words, target = batch
    words = words.clone()
    words[random.randrange(len(words)), np.random.randint(3)] = 0
    return F.cross_entropy(model(words.to(device)), target.to(device)), len(target)


def evaluate(model: Model) -> dict[str, float]:
    """The loss on some of the data; its random numbers must not affect training."""
    minigrad.randn(5), random.random(), np.random.rand()
    words, target = collate([Data()[i] for i in range(9)])
    device = model.head.bias.device
    assert not model.dropout.training
    return {"loss": float(F.cross_entropy(model(words.to(device)), target.to(device))), "nan": float("nan")}


def settings(**changed: Any) -> Settings:
    """Settings with short intervals of different lengths."""
    usual: dict[str, Any] = {
        "steps": 30,
        "accumulate": 3,
        "clip": 0.5,
        "evaluate_every": 6,
        "save_every": 5,
        "save_seconds": None,
        "keep_snapshots": 3,
        "snapshot_every": 4,
        "ema_decay": 0.9,
        "log_every": 2,
        "seed": 3,
        "progress": False,
    }
    return Settings(**{**usual, **changed})


def trainer(
    folder: str | Path,
    device: str = "cpu",
    loss: Any = loss,
    evaluate: Any = evaluate,
    config: Any = None,
    **changed: Any,
) -> Trainer:
    """The trainer as at the start of a program."""
    minigrad.manual_seed(1)
    model = Model().to(device)
    optimizer = minigrad.optim.AdamW(model.parameters(), lr=0.02)
    return Trainer(
        model,
        optimizer,
        LoaderBatches(Data(), 4, collate, seed=7),
        loss,
        folder=folder,
        settings=settings(**changed),
        schedule=LambdaLR(optimizer, cosine(5, 1000)),
        evaluate=evaluate,
        extra={"config": config or {"width": 8}},
    )


def plain(value: Any) -> Any:
    """A value that == compares bitwise, without times."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if key not in TIMES}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    array = value.numpy(force=True) if isinstance(value, Tensor) else value
    return (array.dtype.str, array.shape, array.tobytes()) if isinstance(array, np.ndarray) else repr(value)


def contents(folder: str | Path) -> dict[str, Any]:
    """Everything that a run has written, except times."""
    run = RunFolder(folder)
    files = sorted(path.relative_to(run.path).as_posix() for path in run.path.rglob("*") if path.is_file())
    read = {name: plain(read_checkpoint(run.path / name)) for name in files if name.endswith("s")}
    return {"files": files, **read, "log": plain(read_log(run.path))}


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    """All files: their bytes and modification times."""
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def differences(values: dict[str, Any], expected: dict[str, Any], name: str = "") -> list[str]:
    """The names of the entries in which two runs differ."""
    if not isinstance(values, dict) or not isinstance(expected, dict):
        return [] if values == expected else [name]
    return [
        difference
        for key in {**values, **expected}
        for difference in differences(values.get(key), expected.get(key), f"{name}/{key}")
    ]
