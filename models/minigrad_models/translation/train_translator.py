"""Trains a translator: builds the model, data, optimiser and loop, and writes the report at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad import Tensor
from minigrad.backend.compiled import store
from minigrad.utils.bar import bar

from ..programs.start_training import is_finished, train_to_end, trainer_of
from ..text import EncodedPairs, Pairs, tokenizer_pair_from_dict
from ..text.scores import bleu, bleu_metric, likely, report, samples, write
from ..training import Trainer
from . import translation_data as data
from .architectures import build
from .encoder_decoder import TranslationModel
from .own_pairs import examples_of, overview
from .translation_data import Batch, PairBatches
from .translation_settings import Settings
from .translator import PROGRAM, Translator, configuration

MOST_VALIDATED = 2000  # pairs to translate at each evaluation
FEW = 200  # sentences; with fewer, the report has a confidence interval
LONGEST_EXAMPLE = 80  # characters in the sentence of the printed command


def train(settings: Settings, folder: Path, fresh: bool = False) -> int:
    """Train, save, and report on held-out sentences. Returns the exit status (130 after Ctrl-C)."""
    pairs = data.read(settings.data)
    config = configuration(settings, pairs["train"])
    restore = lambda description: tokenizer_pair_from_dict(description["tokenizers"])
    tokenizers, config = PROGRAM.started(folder, config, fresh, restore)
    if is_finished(PROGRAM, settings, folder, fresh):
        return 0
    bleu_metric(settings.bleu_tokenizer)  # needed by the report at the end
    if settings.training.device == "cpu":
        store.prepare()  # compiles some kernels while the vocabulary is learned
    first = Translator.load(settings.model.start) if settings.model.start and tokenizers is None else None
    mg.manual_seed(settings.training.seed)
    if tokenizers is None:
        tokenizers = first.tokenizers if first else data.tokenizers_for(pairs["train"], settings.data)
    model = build(settings.model, tokenizers, settings.training.device)
    if first is not None:
        model.load_state_dict(first.model.state_dict())
    translator = Translator(model, tokenizers, settings, examples_of(pairs))
    encoded = data.encode(pairs["train"], tokenizers, settings)
    trainer = make_trainer(translator, pairs, encoded, config, folder)
    about = [*(overview(pairs, tokenizers) if settings.data.data else ())]
    sides = [tokenizers.target] if tokenizers.joint else [tokenizers.source, tokenizers.target]
    entries = " and ".join(f"{len(side):,}" for side in sides)
    about.append(f"{len(encoded):,} sentence pairs, {entries} tokens in the vocabulary, ")
    words = ["--run", str(folder), pairs["train"].source[0]] if settings.data.data else ["I like cats"]
    if len(words[-1]) > LONGEST_EXAMPLE:
        words[-1] = words[-1][:LONGEST_EXAMPLE].rpartition(" ")[0] or words[-1][:LONGEST_EXAMPLE]
    del pairs["train"]  # possibly large, and no longer needed

    def report_translations() -> str:
        parts = [report_of(translator, held_out, folder / f"{split}.json") for split, held_out in pairs.items()]
        return "\n".join([*parts, "\nto translate:  " + PROGRAM.typed("translate", *words)])

    return train_to_end(PROGRAM, trainer, settings, folder, "\n".join(about), fresh, report_translations, best=False)


def make_trainer(
    translator: Translator, pairs: dict[str, Pairs], encoded: EncodedPairs, config: dict[str, Any], folder: Path
) -> Trainer:
    """Build the training loop and its parts."""
    s = translator.settings.training
    evaluate = Evaluation(translator, pairs["validation"]) if "validation" in pairs else None

    def loss(model: TranslationModel, batch: Batch) -> tuple[Tensor, float]:
        """The mean loss per target token, and the number of target tokens."""
        return model.loss(batch.source, batch.target, s.label_smoothing, s.r_drop), float(batch.weight)

    batches = PairBatches(encoded, s)
    best = {"metric": s.metric, "mode": "max" if s.metric == "bleu" else "min"}
    return trainer_of(translator.model, batches, loss, evaluate, s, folder, translator.described(config), **best)


class Evaluation:
    """Evaluates a model on validation pairs: BLEU and exact matches of greedy translations, and the loss per token."""

    def __init__(self, translator: Translator, pairs: Pairs) -> None:
        self.tokenizers, self.settings = tokenizers, settings = translator.tokenizers, translator.settings
        self.pairs = Pairs(pairs.source[:MOST_VALIDATED], pairs.target[:MOST_VALIDATED])
        encoded = EncodedPairs(self.pairs, tokenizers, longest=settings.model.positions, progress=False)
        self.batches = PairBatches(encoded, settings.training, shuffle=False)

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """Metrics by name. "bleu" and "exact", the share of exact matches, are from 0 to 100; "loss" is the mean
        cross-entropy of the target tokens in nats, without label smoothing."""
        source, target = self.pairs.source, self.pairs.target
        texts = [t.text for t in Translator(model, self.tokenizers, self.settings).translate(source, beam=1)]
        right = sum(text == reference for text, reference in zip(texts, target, strict=True))
        total, count = 0.0, 0
        for batch in self.batches.epoch(0):
            total += float(model.loss(batch.source, batch.target)) * batch.weight
            count += batch.weight
        score = bleu(texts, target, self.settings.bleu_tokenizer).value
        return {"bleu": score, "exact": 100 * right / len(target), "loss": total / count}


def report_of(translator: Translator, pairs: Pairs, path: Path) -> str:
    """Translate a split, and write scores and translations to ``path``. Returns a summary, with samples for "test"."""
    split, settings = path.stem, translator.settings
    with bar(len(pairs.source), f"translating {split}", " sentences") as progress:
        translations = translator.translate(pairs.source, progress=progress.update)
    language = settings.data.target if settings.data.data else None
    sources, texts = [t.source for t in translations], [t.text for t in translations]
    scores = report(texts, pairs.target, sources, language, worst=0, tokenizer=settings.bleu_tokenizer)
    write(path, scores, texts)
    share = scores.exact / scores.sentences
    lines = [f"\n{split}: {scores.exact:,} of {scores.sentences:,} translated exactly ({share:.1%})"]
    if scores.sentences < FEW:
        low, high = likely(scores.exact, scores.sentences)
        lines += [f"  95 % confidence interval of this share, with so few sentences: {low:.0%} to {high:.0%}"]
    lines += [f"  {score}" for score in (scores.bleu, scores.chrf, scores.moses) if score is not None]
    lines += [f"  note: {note}" for note in scores.notes]
    if split == "test":
        lines.append("\nsentences that it has never seen:\n" + samples(pairs.source, texts, pairs.target))
    return "\n".join(lines)
