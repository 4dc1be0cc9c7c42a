"""The loop of the four fine-tunings, and the models that come of it (Devlin et al. 2019, section 3.2 and appendix A.3).

RUN/model/task.json stands beside the model's files and says which task it was fine-tuned on.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import minigrad as mg
from minigrad.serialization.source import replaced
from minigrad.utils.bar import watched

from ..architectures.pretrained import Pretrained
from ..schema import check
from ..training import LoaderBatches, Settings
from .bert_data import Encoder, Feature, LikeLength, batch_of
from .tasks import TASKS, Array, Recipe, Task
from .train_bert import MODEL, Size, begin, fit, length, pretrained, shown, tell

SHORTEST = 16  # pieces to read at once: a window of a text has to be longer than what it shares with the next
AT_ONCE = 64  # features that are evaluated together
TASK = "task.json"


class Options(NamedTuple):
    """The options of a fine-tuning."""

    data: Path | None  # see ``Task.read``
    source: str | None  # see ``begin``
    run: Path  # the folder for all that is written
    recipe: Recipe
    longest: int | None = None  # pieces that are read at once, see ``length``
    size: Size = Size()  # of a model that begins at random
    seed: int = 0
    progress: bool = True


class Trained(NamedTuple):
    """A model that was fine-tuned, or is; ``labels`` are the names of its labels."""

    task: Task[Any, Any]
    model: Pretrained
    encoder: Encoder
    labels: list[str]

    def features(self, examples: Sequence[Any]) -> list[Feature]:
        """What the model reads; a note on stderr tells of examples that are cut off. Raises as ``Task.features``."""
        features, most = self.task.features(examples, self.encoder, self.labels), self.encoder.longest
        if self.encoder.cut:
            tell(f"note: of {self.encoder.cut:,} of {len(examples):,} texts only the first {most:,} pieces are read")
        return features

    @mg.no_grad()
    def answers(self, examples: Sequence[Any], features: Sequence[Feature] | None = None) -> list[Any]:
        """The answer to each example, with a bar on stderr after two seconds. Raises ValueError: one cannot be read."""
        features = self.features(examples) if features is None else features
        order = sorted(range(len(features)), key=lambda i: len(features[i].ids))
        outputs: dict[int, Array] = {}
        for first in watched(range(0, len(order), AT_ONCE), "reading"):
            rows = order[first : first + AT_ONCE]
            batch = batch_of([features[i] for i in rows], self.model.config.padding)
            outputs.update(zip(rows, self.task.outputs(self.model, batch), strict=True))
        return self.task.answers(examples, [(feature, outputs[i]) for i, feature in enumerate(features)], self.labels)


def finetune(task: Task[Any, Any], options: Options) -> dict[str, float]:
    """Fine-tune, save the best model, and return its metrics. A run that was stopped goes on."""
    known, asked = task.read(options.data)
    labels = sorted(set(task.said(known)))
    task.check(asked, labels)
    if len(labels) == 1:
        raise ValueError(f"all examples have the label {labels[0]!r}: there is nothing to learn")
    positions = options.longest or task.longest
    mg.manual_seed(options.seed)
    model = begin(task.kind, options.source, task.texts(known), options.size, positions, labels)
    longest, recipe = length(options.longest, task.longest, model), options.recipe
    trained = Trained(task, model, Encoder(model.tokenizer, longest, task.windows), labels)
    features, checks = trained.features(known), trained.features(asked)
    order = LikeLength([len(feature.ids) for feature in features], recipe.batch, options.seed)
    batches = LoaderBatches(features, order, lambda rows: batch_of(rows, model.config.padding))
    steps = recipe.epochs * len(order)
    tell(f"{task.name}: {len(known):,} examples to learn from, {len(asked):,} to measure by; {steps:,} updates")
    settings = Settings(
        steps,
        evaluate_every=len(order),
        metric=task.metric,
        mode="max",
        seed=options.seed,
        progress=options.progress,
        unit=task.unit,
    )
    evaluate = lambda m: task.metrics(asked, trained._replace(model=m).answers(asked, checks))
    described = {**identity(task, options, model, known), "max_length": longest}
    metrics = fit(model, batches, task.loss, options.run, recipe.rate, settings, evaluate, described)
    with replaced(options.run / MODEL / TASK) as temporary:
        content = json.dumps({"task": task.name, "max_length": longest}, indent=2)
        Path(temporary).write_text(content + "\n", encoding="utf-8")
    print(f"the most frequent answer: {shown(task.metrics(asked, task.majority(known, asked)))}")
    return metrics


def identity(task: Task[Any, Any], options: Options, model: Pretrained, known: Sequence[Any]) -> dict[str, Any]:
    """What must be the same where a run goes on: settings, the examples, and the weights that it began with."""
    weights = 0
    for parameter in model.parameters():
        weights = zlib.crc32(parameter.detach().numpy().tobytes(), weights)
    digest = hashlib.blake2b(digest_size=8)
    for example in known:
        digest.update(repr(tuple(example)).encode("utf-8", "surrogatepass"))
    described = {"task": task.name, **options.recipe._asdict()}
    return {**described, "first weights": f"{weights:08x}", "examples": digest.hexdigest()}


def load(path: Path) -> Trained:
    """The model of a run, or of a folder that a run has written."""
    folder = path / MODEL if (path / MODEL / TASK).is_file() else path
    file = folder / TASK
    if not file.is_file():
        raise FileNotFoundError(f"{path} holds no fine-tuned model: {TASK} is missing. Fine-tune first, to its end")
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
        check(described, dict[str, Any], "it")
        check(described.get("task"), str, "task")
        check(described.get("max_length"), int, "max_length")
        if described["max_length"] < SHORTEST:
            raise ValueError(f"max_length is {described['max_length']}")
        if described["task"] not in TASKS:
            raise ValueError(f"there is no task {described['task'][:40]!r}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}") from None
    task = TASKS[described["task"]]
    model = pretrained(task.kind, folder)
    length(described["max_length"], task.longest, model)
    encoder = Encoder(model.tokenizer, described["max_length"], task.windows)
    return Trained(task, model, encoder, model.config.label_names)
