"""Choosing by minimum Bayes risk: of the translations that were found, the one that is most like the others.

The likeliest translation need not be the best one: where the model is undecided between several that say much
the same, together they may be likelier than it. So each is compared with all, as if these were references
that are right with the probability that the model gives them, and the one with the highest BLEU to be
expected is taken (Kumar & Byrne 2004, "Minimum Bayes-Risk Decoding for Statistical Machine Translation",
section 3, on a list of hypotheses).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from .generate import Hypothesis
from .tokenizer import EOS

ORDERS = 4  # BLEU counts groups of 1 to so many tokens
Counts = list[Counter[tuple[Hashable, ...]]]


def minimum_bayes_risk(hypotheses: Sequence[Hypothesis], sharpness: float = 8.0, eos: int = EOS) -> list[Hypothesis]:
    """The hypotheses of one sentence, the one of the highest expected BLEU first.

    Args:
        hypotheses: of ``beam_search``; of those that are equally good, the order is kept.
        sharpness: a hypothesis counts as a reference with probability softmax(sharpness · score): 0, and all
            count alike; the higher it is, the more the best score decides. 8 suits scores that are mean
            log-probabilities of a token (``power(1.0)``).
        eos: the symbol at the end, which is not compared.

    Raises:
        ValueError: a sharpness below 0 or not finite.
    """
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


def sentence_bleu(found: Sequence[Hashable], reference: Sequence[Hashable]) -> float:
    """BLEU of one sentence, from 0 to 1. So that one without a common group of four is worth something, one
    is added to the counts of groups of two and more tokens (Lin & Och 2004, "ORANGE: a Method for Evaluating
    Automatic Evaluation Metrics for Machine Translation", section 4)."""
    return _bleu(_counts(found), _counts(reference))


def _counts(tokens: Sequence[Hashable]) -> Counts:
    """How often each group of n tokens occurs, for n = 1 to ORDERS."""
    return [Counter(zip(*(tokens[i:] for i in range(n)), strict=False)) for n in range(1, ORDERS + 1)]


def _bleu(found: Counts, reference: Counts) -> float:
    length, wanted = found[0].total(), reference[0].total()
    if not length or not wanted:
        return float(length == wanted)
    log_precision = 0.0
    for n, (ours, theirs) in enumerate(zip(found, reference, strict=True)):
        common = sum(min(count, theirs[group]) for group, count in ours.items() if group in theirs)
        if n == 0 and not common:
            return 0.0
        added = 0 if n == 0 else 1
        log_precision += math.log((common + added) / (max(length - n, 0) + added))
    return math.exp(log_precision / ORDERS + min(0.0, 1 - wanted / length))
