"""BERT's masked words and GPT's causal mask, side by side: what a token may see, and which tokens have a loss.

BERT (Devlin et al. 2018, arXiv 1810.04805, section 3.1 and appendix A.1) chooses 15 % of the tokens and hides most of
them; GPT (Radford et al. 2018) predicts each token from those before it. The network below is one for both, of layers
of models/transformer.py, not yet trained: what it sees and where its losses are does not depend on its weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F
from minigrad_models.architectures.layers import TransformerLayer
from minigrad_models.translation.transformer import Config, initialise, positional_encoding

from ..lesson.blocks import Array, Block, Choice, Equation, Lesson, Matrix, Number, Steps, number
from ..lesson.markdown import Fields, told

SENTENCE = "Your cat is a lovely cat that sleeps all day on the warm stones beside my window in the sun"
SHORT = ("Your", "cat", "is", "a", "lovely", "cat")
OTHERS = "I like tomatoes and python code but dogs are gorgeous friends"  # more words to draw from
CHOSEN, MASKED, RANDOM = 0.15, 0.8, 0.1  # of all tokens; of the chosen
MASK, CLS, SEP, BOS = "[MASK]", "[CLS]", "[SEP]", "[BOS]"
WORDS = tuple(SENTENCE.split())
COUNT = len(WORDS)
HIDDEN = round(CHOSEN * COUNT)  # of the words of the sentence
VOCABULARY = (CLS, SEP, BOS, MASK, *sorted({*WORDS, *OTHERS.split()}))
SIZE = len(VOCABULARY)
FIRST = VOCABULARY.index(MASK) + 1  # of the words
NONE = -100  # a target without a loss: what F.cross_entropy ignores
SEED, DRAWS, SENTENCES = 0, 12, 20_000
D, HEADS, LAYERS = 16, 2, 2


class Exercise(NamedTuple):
    """What a model reads and what it should predict: (B, T) each; a target of NONE has no loss."""

    read: Tensor
    targets: Tensor


def ids(words: Sequence[str]) -> Tensor:
    """The numbers of words (1, T)."""
    return mg.tensor([[VOCABULARY.index(word) for word in words]])


def bert(words: Tensor, generator: mg.Generator) -> Exercise:
    """BERT's exercise for sentences (B, T): [CLS], the words with some of them hidden, [SEP]. Of a sentence's words
    15 % are chosen, at least one. In place of a chosen word stands [MASK] with a probability of 80 %, a random word
    with 10 %, and the word itself with 10 %. The targets are the chosen words."""
    b, t = words.shape
    count = max(1, round(CHOSEN * t))
    order = mg.rand(b, t, generator=generator).argsort(-1).argsort(-1)  # the rank of each place
    chosen, fate = order < count, mg.rand(b, t, generator=generator)
    drawn = mg.randint(FIRST, SIZE, (b, t), generator=generator)
    read = mg.where(chosen & (fate < MASKED), VOCABULARY.index(MASK), words)
    read = mg.where(chosen & (fate >= MASKED) & (fate < MASKED + RANDOM), drawn, read)
    ends = [mg.full((b, 1), VOCABULARY.index(name)) for name in (CLS, SEP)]
    nothing = mg.full((b, 1), NONE)
    targets = mg.cat((nothing, mg.where(chosen, words, NONE), nothing), 1)
    return Exercise(mg.cat((ends[0], read, ends[1]), 1), targets)


def gpt(words: Tensor) -> Exercise:
    """GPT's exercise: it reads [BOS] and all words but the last, and predicts every word."""
    start = mg.full((len(words), 1), VOCABULARY.index(BOS))
    return Exercise(mg.cat((start, words[:, :-1]), 1), words)


class Network:
    """Embeddings, sines, and layers, in float64; with a causal mask it is GPT's, without one BERT's."""

    def __init__(self) -> None:
        generator = mg.Generator().manual_seed(SEED)
        mg.manual_seed(SEED)
        self.embedding = mg.randn(SIZE, D, generator=generator, dtype=mg.float64) / math.sqrt(D)
        config = Config(SIZE, D, HEADS, d_ff=4 * D, dropout=0.0)
        self.layers = [TransformerLayer(config).apply(initialise).to(mg.float64) for _ in range(LAYERS)]

    def embed(self, read: Tensor) -> Tensor:
        """(B, T) -> (B, T, D)"""
        return self.embedding[read] * math.sqrt(D) + positional_encoding(read.shape[1], D)

    def states(self, x: Tensor, causal: bool) -> Tensor:
        """(B, T, D) -> (B, T, D)"""
        mask = mg.ones(x.shape[1], x.shape[1], dtype=mg.bool)
        for layer in self.layers:
            x = layer(x, mask.tril() if causal else mask)
        return x

    def logits(self, read: Tensor, causal: bool) -> Tensor:
        """(B, T) -> (B, T, V)"""
        return self.states(self.embed(read), causal) @ self.embedding.T


def seen(network: Network, words: Sequence[str], causal: bool) -> Array:
    """How much the state of word i changes with word j: the norm of ∂yᵢ/∂xⱼ (T, T), by the engine."""
    x = network.embed(ids(words)).detach().requires_grad_()
    y = network.states(x, causal)[0]  # (T, D)
    rows = [
        mg.stack([mg.autograd.grad(y[i, d], x, retain_graph=True)[0][0] for d in range(D)]).norm(dim=(0, 2))
        for i in range(len(words))
    ]
    return mg.stack(rows).numpy()


class Losses(NamedTuple):
    """Of one exercise: the mean, the loss of each place (0 where there is none), and the norm of its gradient."""

    mean: float
    each: Array  # (T,)
    gradients: Array  # (T,), of the mean by the logits of each place


def losses(network: Network, exercise: Exercise, causal: bool) -> Losses:
    """The cross-entropy of an exercise of one sentence."""
    logits = network.logits(exercise.read, causal)[0].detach().requires_grad_()  # (T, V)
    targets = exercise.targets[0]
    mean = F.cross_entropy(logits, targets, ignore_index=NONE)
    (gradient,) = mg.autograd.grad(mean, logits)
    each = F.cross_entropy(logits.detach(), targets, ignore_index=NONE, reduction="none")
    return Losses(float(mean), each.numpy(), gradient.norm(dim=-1).numpy())


def shares() -> dict[str, float]:
    """What became of the words of many sentences, as shares of all."""
    words = ids(WORDS).expand(SENTENCES, COUNT)
    exercise = bert(words, mg.Generator().manual_seed(SEED))
    read, targets = exercise.read[:, 1:-1].numpy(), exercise.targets[:, 1:-1].numpy()
    chosen, masked, same = targets != NONE, read == VOCABULARY.index(MASK), read == words.numpy()
    kinds = (~chosen, chosen & masked, chosen & ~masked & ~same, chosen & same)
    names = ("not chosen", "[MASK] in its place", "another word in its place", "chosen, but left as it is")
    return {name: float(kind.mean()) for name, kind in zip(names, kinds, strict=True)}


def expected() -> tuple[float, ...]:
    """The shares that the rule gives. A random word may be the very word that stands there."""
    same, chosen = 1 / (SIZE - FIRST), HIDDEN / COUNT
    kept = 1 - MASKED - RANDOM
    return 1 - chosen, chosen * MASKED, chosen * RANDOM * (1 - same), chosen * (kept + RANDOM * same)


def draws() -> list[Exercise]:
    """BERT's exercise for the sentence, drawn anew some times."""
    generator = mg.Generator().manual_seed(SEED)
    return [bert(ids(WORDS), generator) for _ in range(DRAWS)]


def lesson() -> Lesson:
    """The worked example."""
    network, drawn, measured = Network(), draws(), shares()
    views = seen(network, SHORT, False), seen(network, SHORT, True)
    return told(
        globals(),
        **_checks(network, drawn, views, measured),
        draws=_exercises(drawn),
        **_views(*views),
        **_losses(network, drawn[_telling(drawn)]),
        rule=_rule(measured),
    )


def _names(row: Tensor) -> list[str]:
    """The words of numbers; none for a target without a loss."""
    return ["" if i == NONE else VOCABULARY[i] for i in row.tolist()]


def _fates(exercise: Exercise) -> list[str]:
    """What became of each of BERT's tokens."""
    fates = []
    for read, target in zip(_names(exercise.read[0]), _names(exercise.targets[0]), strict=True):
        fates.append("" if not target else "hidden" if read == MASK else "kept" if read == target else "replaced")
    return fates


def _telling(drawn: Sequence[Exercise]) -> int:
    """The first draw with most kinds of fates."""
    return max(range(len(drawn)), key=lambda n: (len(set(_fates(drawn[n]))), -n))


def _exercises(drawn: Sequence[Exercise]) -> Choice:
    options: list[Block] = [_exercise(one) for one in drawn]
    start = _telling(drawn)
    return Choice("draw", [str(i + 1) for i in range(len(drawn))], options, start, True)


def _exercise(left: Exercise) -> Steps:
    right = gpt(ids(WORDS))
    columns = left.read[0], _fates(left), left.targets[0], right.read[0], right.targets[0]
    texts = (_names(column) if isinstance(column, Tensor) else column for column in columns)
    rows = [(str(i), *row) for i, row in enumerate(zip_longest(*texts, fillvalue=""))]
    return Steps(("place", "BERT reads", "", "its target", "GPT reads", "its target"), rows, numbers=(0,))


def _views(both: Array, before: Array) -> Fields:
    allowed = np.ones_like(both), np.tril(np.ones_like(both))
    names = [f"{i} {word}" for i, word in enumerate(SHORT)]
    return {
        "allowed": Equation(
            Matrix("BERT", allowed[0], names, SHORT, 0, "weights", _sees(False), example=(1, 4)),
            "and",
            Matrix("GPT", allowed[1], names, SHORT, 0, "weights", _sees(True), example=(1, 4)),
        ),
        "seen": Equation(
            Matrix("BERT: |∂yᵢ/∂xⱼ|", both, names, SHORT, 2, "signs"),
            "and",
            Matrix("GPT: |∂yᵢ/∂xⱼ|", before, names, SHORT, 2, "signs"),
        ),
    }


def _sees(causal: bool) -> Callable[[int, int], str]:
    """Whether a word may look at another, in words."""

    def how(i: int, j: int) -> str:
        sees = "does not see" if causal and j > i else "sees"
        return f"word {i}, “{SHORT[i]}”, {sees} word {j}, “{SHORT[j]}”"

    return how


def _losses(network: Network, exercise: Exercise) -> Fields:
    left, right = losses(network, exercise, False), losses(network, gpt(ids(WORDS)), True)
    rows = []
    for i, (word, fate) in enumerate(zip(_names(exercise.read[0]), _fates(exercise), strict=True)):
        mine = (number(left.each[i], 3), number(left.gradients[i], 3)) if fate else ("", number(left.gradients[i], 3))
        other = (number(right.each[i], 3), number(right.gradients[i], 3)) if i < COUNT else ("", "")
        rows.append((str(i), word, *mine, _names(gpt(ids(WORDS)).read[0])[i] if i < COUNT else "", *other))
    return {
        "even": math.log(SIZE),
        "losses": Steps(
            ("place", "BERT reads", "loss", "gradient", "GPT reads", "loss", "gradient"), rows, numbers=(0, 2, 3, 5, 6)
        ),
        "bert_mean": left.mean,
        "gpt_mean": right.mean,
        "more": COUNT / HIDDEN,
    }


def _rule(measured: dict[str, float]) -> Steps:
    rows = [
        (name, f"{Number(a):.2%}", f"{Number(b):.2%}")
        for (name, a), b in zip(measured.items(), expected(), strict=True)
    ]
    return Steps(("", "measured", "by the rule"), rows, numbers=(1, 2))


def _checks(
    network: Network, drawn: Sequence[Exercise], views: tuple[Array, Array], measured: dict[str, float]
) -> Fields:
    both, before = views
    one = drawn[_telling(drawn)]
    left, right = losses(network, one, False), losses(network, gpt(ids(WORDS)), True)
    chosen = (one.targets[0] != NONE).numpy()
    later = np.triu(np.ones_like(both), 1) > 0
    differences = [abs(a - b) for a, b in zip(measured.values(), expected(), strict=True)]
    return {
        "fifteen": all(int((d.targets != NONE).sum()) == HIDDEN and not _fates(d)[0] + _fates(d)[-1] for d in drawn),
        "by_rule": max(differences) < 0.002,
        "exact_zeros": not before[later].any() and bool(before[~later].all() and both.all()),
        "arrive": (left.gradients > 0).tolist() == chosen.tolist() and (right.gradients > 0).all(),
        "means": math.isclose(left.mean, left.each[chosen].mean()) and math.isclose(right.mean, right.each.mean()),
    }
