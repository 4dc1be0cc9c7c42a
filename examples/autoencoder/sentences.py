"""A sentence through a single vector and with attention: which model can still repeat long sentences?

The autoencoder of a sentence is a translator from English to the same English (models/seq2seq.py). Without attention,
the whole sentence passes through the encoder's last states (Cho et al. 2014, Sutskever et al. 2014). With attention,
the decoder reads the state of every word as well (Luong et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, viz
from minigrad.utils.bar import watched
from minigrad_models.text import TokenBatches, WordTokenizer
from minigrad_models.text.tokenizer import BOS, EOS, PAD, until_end
from minigrad_models.translation import english_italian
from minigrad_models.translation.encoder_decoder import pad
from minigrad_models.translation.seq2seq import Config, Seq2Seq
from minigrad_models.viz.blocks import Array, Block, Chart, Matrix, Section, Series, Steps, Text

from ..english_italian.corpus import draw
from ..lesson import markdown
from .learning import train

SENTENCES, HELD_OUT = 20_000, 4_000
WIDTH, STATE = 64, 128  # of an embedding, and of the state in each direction
RATE = 4e-3
BATCH_TOKENS = 2048
ONE, ATTENTION = "through one vector", "with attention"
KINDS = {ONE: "none", ATTENTION: "multiplicative"}
LEAST = 20  # minimum number of sentences per length for a point in the chart
EXAMPLES = 3


class SentenceBatches:
    """Batches of sentences of similar length. Source (B, S) and target (B, S + 1) are the same."""

    def __init__(self, sentences: list[list[int]], seed: int) -> None:
        self.sentences = sentences
        lengths = [(len(ids) + 1, len(ids) + 2) for ids in sentences]
        self.order = TokenBatches(lengths, BATCH_TOKENS, seed=seed)

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of an epoch, starting at number ``start``."""
        for rows in self.order.epoch(number, start):
            sentences = [self.sentences[i] for i in rows]
            yield source_of(sentences), pad([[BOS, *ids, EOS] for ids in sentences])


def source_of(sentences: list[list[int]]) -> Tensor:
    """Sentences as the encoder reads them (B, S)."""
    return pad([[*ids, EOS] for ids in sentences])


def loss(model: Any, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, float]:
    """The mean cross-entropy per token, and the number of tokens."""
    source, target = batch
    return model.loss(source, target), float((target[:, 1:] != PAD).sum())


class Copied(NamedTuple):
    """Both models on the same held-out sentences."""

    words: WordTokenizer  # the tokenizer
    sentences: list[list[int]]  # held out, as token ids
    written: Mapping[str, list[list[int]]]  # the sentences that each model wrote, by name
    models: Mapping[str, Seq2Seq]  # by name
    updates: int  # per model
    known: int  # training sentences

    @property
    def lengths(self) -> Array:
        """The words and punctuation marks of each sentence (N,)."""
        return np.array([len(ids) for ids in self.sentences])

    def exact(self, name: str) -> Array:
        """Which sentences a model repeated exactly (N,)."""
        pairs = zip(self.sentences, self.written[name], strict=True)
        return np.array([one == other for one, other in pairs])

    def longest_quarter(self) -> Array:
        """True for roughly the longest quarter of the sentences: all above a certain length (N,)."""
        quarter: Array = self.lengths >= np.quantile(self.lengths, 0.75)
        return quarter


def trained(updates: int, seed: int, sentences: int = SENTENCES, held_out: int = HELD_OUT) -> Copied:
    """Train both models on the grammar's English, and let them repeat held-out sentences. Raises the same errors as
    ``learning.train``."""
    train_set = [pair.source for pair in draw("train", sentences, seed)]
    unseen = [pair.source for pair in draw("test", held_out, seed)]
    words = WordTokenizer.train(train_set, scheme=english_italian.SCHEME)
    batches = SentenceBatches(words.encode_batch(train_set), seed)
    models, outputs = {}, {}
    test = words.encode_batch(unseen)
    for name, attention in KINDS.items():
        mg.manual_seed(seed)
        model = Seq2Seq(Config(len(words), "gru", attention, WIDTH, STATE, dropout=0.0))
        train(model, batches, loss, updates, RATE, seed, f"sentences {name}", "words")
        models[name], outputs[name] = model, repeat(model, test)
    return Copied(words, test, outputs, models, updates, len(train_set))


def repeat(model: Seq2Seq, sentences: list[list[int]], at_once: int = 200) -> list[list[int]]:
    """A model's output for each sentence: the most likely word at each step, up to twice as many words as it read."""
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    outputs: list[list[int]] = [[] for _ in sentences]
    for first in watched(range(0, len(order), at_once), "repeating sentences"):
        rows = order[first : first + at_once]
        batch = [sentences[i] for i in rows]
        tokens = model.greedy(source_of(batch), [2 * len(ids) + 2 for ids in batch]).tolist()
        for i, ids in zip(rows, tokens, strict=True):
            outputs[i] = until_end(ids)
    return outputs


def sections(computed: Copied) -> list[Section]:
    """The sections of the lesson."""
    lengths, quarter = computed.lengths, computed.longest_quarter()
    points = [n for n in range(1, lengths.max() + 1) if (lengths == n).sum() >= LEAST]
    shares = {name: [100 * float(computed.exact(name)[lengths == n].mean()) for n in points] for name in KINDS}
    short, long = ({name: float(computed.exact(name)[rows].mean()) for name in KINDS} for rows in (~quarter, quarter))
    lines = [Series(name, points, values) for name, values in shares.items()]
    border = int(lengths[quarter].min())
    return markdown.sections(
        globals(),
        updates=computed.updates,
        known=computed.known,
        sizes=" and ".join(f"{_size(model):,} parameters {name}" for name, model in computed.models.items()),
        both_states=2 * STATE,
        least=lengths.min(),
        most=lengths.max(),
        count=len(lengths),
        curves=Chart("Sentences repeated exactly", "words of the sentence", "%", lines, digits=1),
        before=border - 1,
        border=border,
        short=short,
        long=long,
        vocabulary=len(computed.words),
        bits=lengths.max() * math.log2(len(computed.words)),
        falls=long[ONE] < short[ONE],
        attention_helps=long[ATTENTION] > long[ONE],
        wrong=_examples(computed),
        **_attention(computed),
    )


def _size(model: Seq2Seq) -> int:
    return sum(p.numel() for p in model.parameters())


def _examples(computed: Copied) -> list[Block]:
    """The longest sentences that the single vector did not repeat exactly, and each model's output."""
    wrong = np.flatnonzero(~computed.exact(ONE))
    longest = wrong[np.argsort(-computed.lengths[wrong], kind="stable")][:EXAMPLES].tolist()
    if not longest:
        return [Text("None: every sentence was repeated exactly.")]
    rows = []
    for i in longest:
        rows.append(("read", computed.words.decode(computed.sentences[i])))
        rows += [(name, computed.words.decode(outputs[i])) for name, outputs in computed.written.items()]
    about = (
        f"The longest sentences that were not repeated exactly {ONE}. Usually the kind of sentence survives, with its "
        f"beginning and its end; who did what to which thing does not."
    )
    return [Text(about), Steps(("", "sentence"), rows)]


def _attention(computed: Copied) -> markdown.Fields:
    """The attention weights of the decoder on the longest sentence that it repeats exactly."""
    exact = np.where(computed.exact(ATTENTION), computed.lengths, -1)
    ids = computed.sentences[int(exact.argmax())]
    target = mg.tensor([[BOS, *ids]])
    weights = viz.attention(computed.models[ATTENTION], source_of([ids]), target).weights("cross")[0][0]  # (T, S)
    names = [*(computed.words.token(i) for i in ids), "⟨end⟩"]
    return {
        "at_itself": (weights.argmax(1) == np.arange(len(names))).mean(),
        "weights": Matrix("weights", weights, names, names, 2, "weights", note="rows look at columns"),
        "sums": np.abs(weights.sum(1) - 1).max() < 1e-5,
    }
