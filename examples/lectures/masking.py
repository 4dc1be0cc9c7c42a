"""BERT's masked words and GPT's causal mask, side by side: visible tokens, and tokens with a loss.

BERT (Devlin et al. 2018, arXiv 1810.04805, section 3.1 and appendix A.1) selects 15 % of the tokens and hides most of
them; GPT (Radford et al. 2018) predicts each token from the previous ones. The network below, with untrained layers
from models/transformer.py, serves both, as its weights do not affect which tokens are visible or have a loss.
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
CHOSEN, MASKED, RANDOM = 0.15, 0.8, 0.1  # CHOSEN is a share of all tokens, the others of the chosen tokens
MASK, CLS, SEP, BOS = "[MASK]", "[CLS]", "[SEP]", "[BOS]"
WORDS = tuple(SENTENCE.split())
COUNT = len(WORDS)
HIDDEN = round(CHOSEN * COUNT)  # words in the sentence
VOCABULARY = (CLS, SEP, BOS, MASK, *sorted({*WORDS, *OTHERS.split()}))
SIZE = len(VOCABULARY)
FIRST = VOCABULARY.index(MASK) + 1  # the first word
NONE = -100  # a target without a loss, ignored by F.cross_entropy
SEED, DRAWS, SENTENCES = 0, 12, 20_000
D, HEADS, LAYERS = 16, 2, 2


class Exercise(NamedTuple):
    """The input and the targets of a model, (B, T) each. A target of NONE has no loss."""

    read: Tensor
    targets: Tensor


def ids(words: Sequence[str]) -> Tensor:
    """The ids of words (1, T)."""
    return mg.tensor([[VOCABULARY.index(word) for word in words]])


def bert(words: Tensor, generator: mg.Generator) -> Exercise:
    """BERT's exercise for sentences (B, T): [CLS], the words with some of them hidden, [SEP]. It selects 15 % of the
    words in a sentence, at least one. A selected word becomes [MASK] with a probability of 80 %, becomes a random word
    with 10 %, and stays unchanged with 10 %. The targets are the selected words."""
    b, t = words.shape
    count = max(1, round(CHOSEN * t))
    order = mg.rand(b, t, generator=generator).argsort(-1).argsort(-1)  # the rank of each position
    selected, fate = order < count, mg.rand(b, t, generator=generator)
    others = mg.randint(FIRST, SIZE, (b, t), generator=generator)
    read = mg.where(selected & (fate < MASKED), VOCABULARY.index(MASK), words)
    read = mg.where(selected & (fate >= MASKED) & (fate < MASKED + RANDOM), others, read)
    ends = [mg.full((b, 1), VOCABULARY.index(name)) for name in (CLS, SEP)]
    nothing = mg.full((b, 1), NONE)
    targets = mg.cat((nothing, mg.where(selected, words, NONE), nothing), 1)
    return Exercise(mg.cat((ends[0], read, ends[1]), 1), targets)


def gpt(words: Tensor) -> Exercise:
    """GPT's exercise: it reads [BOS] and all words except the last, and predicts every word."""
    start = mg.full((len(words), 1), VOCABULARY.index(BOS))
    return Exercise(mg.cat((start, words[:, :-1]), 1), words)


class Network:
    """Embeddings, sinusoidal positions and layers in float64, with a causal mask for GPT and without one for BERT."""

    def __init__(self) -> None:
        generator = mg.Generator().manual_seed(SEED)
        mg.manual_seed(SEED)
        self.embedding = mg.randn(SIZE, D, generator=generator, dtype=mg.float64) / math.sqrt(D)
        config = Config(SIZE, D, HEADS, d_ff=4 * D, dropout=0.0)
        self.layers = [TransformerLayer(config).apply(initialise).to(mg.float64) for _ in range(LAYERS)]

    def embed(self, read: Tensor) -> Tensor:
        """Tokens (B, T) -> inputs of the first layer (B, T, D)."""
        return self.embedding[read] * math.sqrt(D) + positional_encoding(read.shape[1], D)

    def states(self, x: Tensor, causal: bool) -> Tensor:
        """Inputs of the first layer (B, T, D) -> states (B, T, D)."""
        mask = mg.ones(x.shape[1], x.shape[1], dtype=mg.bool)
        for layer in self.layers:
            x = layer(x, mask.tril() if causal else mask)
        return x

    def logits(self, read: Tensor, causal: bool) -> Tensor:
        """Tokens (B, T) -> logits (B, T, V)."""
        return self.states(self.embed(read), causal) @ self.embedding.T


def seen(network: Network, words: Sequence[str], causal: bool) -> Array:
    """How much the state of word i changes with word j: the norm of ∂yᵢ/∂xⱼ (T, T), computed by the engine."""
    x = network.embed(ids(words)).detach().requires_grad_()
    y = network.states(x, causal)[0]  # (T, D)
    rows = [
        mg.stack([mg.autograd.grad(y[i, d], x, retain_graph=True)[0][0] for d in range(D)]).norm(dim=(0, 2))
        for i in range(len(words))
    ]
    return mg.stack(rows).numpy()


class Losses(NamedTuple):
    """The losses in an exercise: the mean, the loss at each position (0 without a target), and the gradient norms."""

    mean: float
    each: Array  # (T,)
    gradients: Array  # (T,), of the mean with respect to the logits of each position


def losses(network: Network, exercise: Exercise, causal: bool) -> Losses:
    """The cross-entropy in an exercise with a single sentence."""
    logits = network.logits(exercise.read, causal)[0].detach().requires_grad_()  # (T, V)
    targets = exercise.targets[0]
    mean = F.cross_entropy(logits, targets, ignore_index=NONE)
    (gradient,) = mg.autograd.grad(mean, logits)
    each = F.cross_entropy(logits.detach(), targets, ignore_index=NONE, reduction="none")
    return Losses(float(mean), each.numpy(), gradient.norm(dim=-1).numpy())


def shares() -> dict[str, float]:
    """The outcomes for the words in many sentences, as shares of all words."""
    words = ids(WORDS).expand(SENTENCES, COUNT)
    exercise = bert(words, mg.Generator().manual_seed(SEED))
    read, targets = exercise.read[:, 1:-1].numpy(), exercise.targets[:, 1:-1].numpy()
    selected, masked, same = targets != NONE, read == VOCABULARY.index(MASK), read == words.numpy()
    kinds = (~selected, selected & masked, selected & ~masked & ~same, selected & same)
    names = ("not selected", "replaced by [MASK]", "replaced by another word", "selected, but unchanged")
    return {name: float(kind.mean()) for name, kind in zip(names, kinds, strict=True)}


def expected() -> tuple[float, ...]:
    """The shares that follow from the rule. A random word may equal the original."""
    same, selected = 1 / (SIZE - FIRST), HIDDEN / COUNT
    unchanged = 1 - MASKED - RANDOM
    return 1 - selected, selected * MASKED, selected * RANDOM * (1 - same), selected * (unchanged + RANDOM * same)


def draws() -> list[Exercise]:
    """BERT's exercise for the sentence, drawn repeatedly."""
    generator = mg.Generator().manual_seed(SEED)
    return [bert(ids(WORDS), generator) for _ in range(DRAWS)]


def lesson() -> Lesson:
    """The worked example."""
    network, samples, measured = Network(), draws(), shares()
    views = seen(network, SHORT, False), seen(network, SHORT, True)
    return told(
        globals(),
        **_checks(network, samples, views, measured),
        draws=_exercises(samples),
        **_views(*views),
        **_losses(network, samples[_telling(samples)]),
        rule=_rule(measured),
    )


def _names(row: Tensor) -> list[str]:
    """The words with these ids; "" for a target without a loss."""
    return ["" if i == NONE else VOCABULARY[i] for i in row.tolist()]


def _fates(exercise: Exercise) -> list[str]:
    """The outcome for each of BERT's tokens."""
    fates = []
    for read, target in zip(_names(exercise.read[0]), _names(exercise.targets[0]), strict=True):
        fates.append("" if not target else "hidden" if read == MASK else "kept" if read == target else "replaced")
    return fates


def _telling(samples: Sequence[Exercise]) -> int:
    """The index of the first draw that has the largest number of distinct outcomes."""
    return max(range(len(samples)), key=lambda n: (len(set(_fates(samples[n]))), -n))


def _exercises(samples: Sequence[Exercise]) -> Choice:
    options: list[Block] = [_exercise(one) for one in samples]
    start = _telling(samples)
    return Choice("draw", [str(i + 1) for i in range(len(samples))], options, start, True)


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
    """Say whether a word may look at another."""

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
    network: Network, samples: Sequence[Exercise], views: tuple[Array, Array], measured: dict[str, float]
) -> Fields:
    both, before = views
    one = samples[_telling(samples)]
    left, right = losses(network, one, False), losses(network, gpt(ids(WORDS)), True)
    selected = (one.targets[0] != NONE).numpy()
    later = np.triu(np.ones_like(both), 1) > 0
    differences = [abs(a - b) for a, b in zip(measured.values(), expected(), strict=True)]
    return {
        "fifteen": all(int((d.targets != NONE).sum()) == HIDDEN and not _fates(d)[0] + _fates(d)[-1] for d in samples),
        "by_rule": max(differences) < 0.002,
        "exact_zeros": not before[later].any() and bool(before[~later].all() and both.all()),
        "arrive": (left.gradients > 0).tolist() == selected.tolist() and (right.gradients > 0).all(),
        "means": math.isclose(left.mean, left.each[selected].mean()) and math.isclose(right.mean, right.each.mean()),
    }
