"""Minimum Bayes risk: of several translations, choose the one that resembles the others most.

Each is compared with all, as if these were references that are right with the model's probability, and the one with the
highest expected BLEU is chosen (Kumar & Byrne 2004, "Minimum Bayes-Risk Decoding for Statistical Machine Translation",
section 3, on a list of hypotheses).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from ..text.tokenizer import EOS
from .beam_search import Hypothesis

ORDERS = 4  # BLEU counts groups of 1 to 4 tokens
Counts = list[Counter[tuple[Hashable, ...]]]


def minimum_bayes_risk(hypotheses: Sequence[Hypothesis], sharpness: float = 8.0, eos: int = EOS) -> list[Hypothesis]:
    """The hypotheses of one sentence, the highest expected BLEU first; those with equal BLEU keep their order. A
    hypothesis counts as a reference with probability softmax(sharpness · score): with a sharpness of 0 all count alike;
    a higher value gives more weight to the best score. 8 suits scores that are mean log-probabilities of a token
    (``power(1.0)``). The last token, ``eos``, is not compared. Raises ValueError: the sharpness is negative or not
    finite."""
    if not 0 <= sharpness < math.inf:
        raise ValueError(f"sharpness must be 0 or more, and finite, not {sharpness}")
    counts = [_counts([t for t in h.tokens if t != eos]) for h in hypotheses]
    best = max((h.score for h in hypotheses), default=0.0)
    weights = [math.exp(sharpness * (h.score - best)) for h in hypotheses]
    expected = [
        sum(weight * _bleu(one, other) for weight, other in zip(weights, counts, strict=True)) for one in counts
    ]
    order = sorted(range(len(hypotheses)), key=lambda i: -expected[i])
    return [hypotheses[i] for i in order]


def _counts(tokens: Sequence[Hashable]) -> Counts:
    """The counts of all groups of n tokens, for n = 1 to ORDERS."""
    return [Counter(zip(*(tokens[i:] for i in range(n)), strict=False)) for n in range(1, ORDERS + 1)]


def _bleu(hypothesis: Counts, reference: Counts) -> float:
    """BLEU of one sentence, from 0 to 1. The counts of groups of two and more tokens are raised by one, so that
    a sentence without a common group of four does not score 0 (Lin & Och 2004, "ORANGE: a Method for Evaluating
    Automatic Evaluation Metrics for Machine Translation", section 4)."""
    length, reference_length = hypothesis[0].total(), reference[0].total()
    if not length or not reference_length:
        return float(length == reference_length)
    log_precision = 0.0
    for n, (ours, theirs) in enumerate(zip(hypothesis, reference, strict=True)):
        common = sum(min(count, theirs[group]) for group, count in ours.items() if group in theirs)
        if n == 0 and not common:
            return 0.0
        added = 0 if n == 0 else 1
        log_precision += math.log((common + added) / (max(length - n, 0) + added))
    return math.exp(log_precision / ORDERS + min(0.0, 1 - reference_length / length))
