"""Pre-training on a text: masked words and next sentence (Devlin et al. 2019, section 3.1 and appendix A.2)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F
from minigrad.utils.bar import watched

from ..training import Settings
from .bert import IGNORED, BertForPreTraining
from .masking import Batch, Examples, Sentences, read, split
from .train_bert import Size, fit, from_scratch, tell

HELD_OUT = 0.1  # of the sentences, the last of the text
CHECKED = 512  # examples of an evaluation at most


class Options(NamedTuple):
    """What a pre-training is asked to do.

    Attributes:
        text: the file. run: the folder for all that is written.
        updates, batch, rate: how long, how many examples at once, and the highest learning rate.
        longest: pieces of an example. evaluate_every: updates between two evaluations.
    """

    text: Path
    run: Path
    size: Size = Size()
    updates: int = 4000
    batch: int = 32
    rate: float = 1e-3
    longest: int = 64
    evaluate_every: int = 500
    seed: int = 0
    progress: bool = True


def pretrain(options: Options) -> dict[str, float]:
    """Train on a text, save the best model, and return its metrics. A run that was stopped goes on. Raises
    KeyboardInterrupt: the run was interrupted; OSError, ValueError, RuntimeError, ImportError: the text or the folder
    cannot be used."""
    texts = split(options.text)
    border = len(texts) - max(2, round(HELD_OUT * len(texts)))
    if border < 2:
        raise ValueError(f"{options.text} has {len(texts)} sentences, too few to learn from some and measure by others")
    mg.manual_seed(options.seed)
    model = from_scratch(BertForPreTraining, texts[:border], options.size, options.longest)
    known, asked = (read(model.tokenizer, some) for some in (texts[:border], texts[border:]))
    numbers = (model.config.vocabulary, options.longest, options.batch)
    checks = list(islice(Examples(asked, *numbers, seed=0).epoch(0), -(-CHECKED // options.batch)))
    weights = sum(p.numel() for p in model.parameters())
    tell(f"{border:,} sentences of {len(known.ids):,} pieces to learn from, {len(asked):,} to measure by")
    tell(f"{weights:,} parameters, {options.updates:,} updates")
    return fit(
        model,
        Examples(known, *numbers, options.seed),
        loss,
        options.run,
        options.rate,
        Settings(
            options.updates,
            evaluate_every=options.evaluate_every,
            seed=options.seed,
            progress=options.progress,
            unit="examples",
        ),
        lambda m: measure(m, checks),
        identity(options, model, known),
    )


def identity(options: Options, model: BertForPreTraining, known: Sentences) -> dict[str, Any]:
    """What must be the same where a run goes on."""
    described = {**options.size._asdict(), "batch": options.batch, "rate": options.rate, "max_length": options.longest}
    return {**described, "text": f"{zlib.crc32(known.ids.tobytes()):08x}", "pieces": model.config.vocabulary}


def loss(model: BertForPreTraining, batch: Batch) -> tuple[Tensor, float]:
    """The sum of both losses (appendix A.2), and the number of examples."""
    words, follows = model.losses(batch.tokens, batch.words, batch.follows, batch.types, batch.mask)
    return words + follows, len(batch.follows)


def measure(model: BertForPreTraining, batches: Sequence[Batch]) -> dict[str, float]:
    """The mean losses over words and over examples, and the part of each that is right."""
    sums, counts = np.zeros(4), np.zeros(2)
    for batch in watched(batches, "measuring"):
        states, asked = model.bert(batch.tokens, batch.types, batch.mask), batch.words != IGNORED
        words = model.words(states[asked], model.bert.embedding.weight)  # only where one is asked for
        follows = model.next_sentence(model.bert.pooled(states))
        answers = ((words, batch.words[asked]), (follows, batch.follows))
        losses = [float(F.cross_entropy(said, right, reduction="sum")) for said, right in answers]
        sums += [*losses, *(float((said.argmax(-1) == right).sum()) for said, right in answers)]
        counts += [len(right) for _, right in answers]
    words_loss, pairs_loss, words_right, pairs_right = (sums / np.tile(counts, 2)).tolist()
    return {
        "loss": words_loss + pairs_loss,
        "masked_words_loss": words_loss,
        "next_sentence_loss": pairs_loss,
        "masked_words_accuracy": words_right,
        "next_sentence_accuracy": pairs_right,
    }
