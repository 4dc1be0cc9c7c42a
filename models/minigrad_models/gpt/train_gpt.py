"""The training: text, model, optimiser and loop, and the report at the end."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import minigrad as mg

from ..programs.models import check_device
from ..programs.start_training import METRIC, report_validation, show, train_to_end, trainer_of
from ..programs.validation import Ids
from ..text import Recurrence
from . import gpt_generation as generation
from . import gpt_run as run
from . import text
from .gpt_run import ARCHITECTURES, build, copied
from .gpt_settings import Settings
from .text import bits
from .tokens import Tokens, from_dict, learn


def train(settings: Settings, folder: Path, fresh: bool = False) -> int:
    """Train, save, and report. Returns the exit status (130 after Ctrl-C)."""
    s = settings.training
    check_device(s.device)  # all that may be wrong raises before anything is read, or changes
    s.rate()
    corpus = text.read(settings.data)
    config = {**settings.fixed(), "the text": corpus.digest}
    tokens, config = run.PROGRAM.started(folder, config, fresh, lambda kept: from_dict(kept["tokenizer"]))
    mg.manual_seed(s.seed)
    model, tokens = model_of(settings, corpus, tokens)
    evaluation = Evaluation(settings, tokens, corpus.validation)
    ids = tokens.encode(corpus.train)
    kind = ARCHITECTURES[settings.model.model]
    batches, loss = kind.batches(ids, settings.window, s.batch, s.seed, s.device), kind.loss()
    described = {"model": asdict(model.config), "tokenizer": tokens.as_dict()}
    extra = run.PROGRAM.described(settings, config, **described)
    carried = loss if isinstance(loss, Recurrence) else None
    trainer = trainer_of(model, batches, loss, evaluation, s, folder, extra, settings.data.tokenizer, carried)
    count = sum(p.numel() for p in model.parameters())
    about = (
        f"{corpus.name}: {len(ids):,} {settings.data.tokenizer} to learn from, {len(evaluation.ids):,} to validate "
        f"with, a vocabulary of {len(tokens):,}; {count:,} parameters, on {s.device}, in {folder}"
    )

    def report() -> None:
        nats = kind.score(model, evaluation.ids, settings.window)
        per_character = bits(nats, evaluation.characters, len(evaluation.ids))
        validation = f"loss {nats:.4f} per token, {per_character:.3f} bits per character"
        report_validation(run.PROGRAM, trainer, folder, validation)

    return train_to_end(run.PROGRAM, trainer, settings, folder, about, fresh, report)


def model_of(settings: Settings, corpus: text.Text, tokens: Tokens | None) -> tuple[Any, Tokens]:
    """The model to train, with random weights or those of ``start``, and its vocabulary: that of a run which goes on,
    that of ``start``, or one that is learned from the text."""
    if settings.model.start:
        trained = run.load(Path(settings.model.start))
        return copied(trained.model, settings.model).to(settings.training.device), tokens or trained.tokens
    if tokens is None:
        data = settings.data
        tokens = learn(data.tokenizer, corpus.train + corpus.validation, corpus.train, data.vocabulary)
    return build(settings.model, len(tokens), settings.training.device), tokens


class Evaluation:
    """The loss of the text that validates, by a vocabulary, and a text of the model's, printed."""

    def __init__(self, settings: Settings, tokens: Tokens, text: str) -> None:
        self.settings, self.tokens = settings, tokens
        self.ids: Ids = tokens.encode(text)
        if len(self.ids) < 2:
            raise ValueError(f"the text's end, {text[:60]!r}, is a single token: too little to validate with")
        self.characters = len(text)

    def __call__(self, model: Any) -> dict[str, float]:
        """Nats per token, and bits per character."""
        s = self.settings.training
        score = ARCHITECTURES[self.settings.model.model].score
        loss = score(model, self.ids, self.settings.window, batch=4 * s.batch, most=s.validated)
        if s.sample:
            show(generation.example(model, self.tokens, s.sample, s.seed))
        return {METRIC: loss, "bits_per_character": bits(loss, self.characters, len(self.ids))}
