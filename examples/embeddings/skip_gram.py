"""Skip-gram with negative sampling: word vectors that predict the words around them.

The model follows Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality"
(arXiv 1310.4546). Each word has two vectors: v as the centre word ("input"), and v' as a context word ("output"). The
score of a pair is their dot product, and training learns to distinguish pairs in the text from random pairs.

Shapes: P pairs, N noise draws, K noise words in each, D vector width, V vocabulary, T words in a text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad import Tensor, nn
from minigrad.nn import functional as F

Array = np.ndarray[Any, np.dtype[Any]]


class SkipGram(nn.Module):
    """The vectors of all words: v in ``word`` and v' in ``context``, (V, D) each. ``negatives`` is k in equation 4, the
    number of noise words per pair. As in the paper's program, v starts small and v' at 0, so all scores start at 0."""

    def __init__(self, vocabulary: int, width: int = 100, negatives: int = 5) -> None:
        super().__init__()
        self.negatives = negatives
        self.word = nn.Embedding(vocabulary, width)
        self.context = nn.Embedding(vocabulary, width)
        nn.init.uniform_(self.word.weight, -0.5 / width, 0.5 / width)
        nn.init.zeros_(self.context.weight)

    def forward(self, word: Tensor, context: Tensor, noise: Tensor) -> Tensor:
        """The loss of each pair (P,), equation 4 with the opposite sign:

            −log σ(v'_context · v_word) − k E[log σ(−v'_noise · v_word)]

        The mean E is taken over the K words of a draw. With one draw per pair and K = k, this is the paper's sum. With
        fewer draws, P / N consecutive pairs share a draw: the mean is the same, and the scores are a matrix product.
        Centre and context words are (P,); ``noise``, from ``noise_distribution``, is (N, K); N divides P.
        """
        v = self.word(word)  # (P, D)
        near = (v * self.context(context)).sum(-1)  # (P,)
        far = v.view(len(noise), -1, v.shape[1]) @ self.context(noise).transpose(
            1, 2
        )  # (P, D) -> (N, P / N, D) -> (N, P / N, K)
        apart = F.logsigmoid(-far).mean(-1).view(-1)  # (N, P / N) -> (P,)
        return -F.logsigmoid(near) - self.negatives * apart


def noise_distribution(counts: Array, power: float = 0.75) -> Array:
    """P_n(w) = U(w)^¾ / Z from section 2.2, given the number of occurrences of each word: (V,) float64."""
    weights = counts.astype(np.float64) ** power
    return weights / weights.sum()


def keep_probability(counts: Array, threshold: float) -> Array:
    """The probability of keeping each word, (V,) float64: √(t / f(w)), at most 1. Equation 5 is one minus this; it
    drops frequent words. ``counts`` has the occurrences of each word, and ``threshold`` is t (infinity keeps all)."""
    frequency = counts / counts.sum()
    probability: Array = np.minimum(1.0, np.sqrt(threshold / np.maximum(frequency, 1e-300)))
    return probability


def pairs(words: Array, texts: Array, reach: Array) -> tuple[Array, Array]:
    """All (word, context) pairs at most ``reach`` apart in the same text, ordered by the word's position: (P,) each.
    ``texts`` (T,) has the index of each word's text, and ``reach`` (T,) the size of its window on each side, which the
    paper draws from 1 to the window."""
    place, others = np.arange(len(words)), []
    for distance in range(1, int(reach.max(initial=0)) + 1):
        left, right = place[:-distance], place[distance:]
        together = texts[:-distance] == texts[distance:]
        for one, other in ((left, right), (right, left)):
            near = together & (reach[one] >= distance)
            others.append(np.stack([one[near], other[near]]))
    if not others:
        return words[:0], words[:0]
    one, other = np.concatenate(others, axis=1)
    order = np.argsort(one, kind="stable")
    return words[one[order]], words[other[order]]


class Noise:
    """Draws words from a distribution (V,) by inverse transform sampling, without the rounding of a table."""

    def __init__(self, distribution: Array) -> None:
        self._cumulative = np.cumsum(distribution)
        self._cumulative /= self._cumulative[-1]

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Words (shape), int64."""
        return np.searchsorted(self._cumulative, generator.random(shape), side="right")
