"""Choosing by minimum Bayes risk, against the definition, and cases in which it must not change the order."""

import math
import random

import pytest

from minigrad_models.generation.beam_search import Hypothesis, minimum_bayes_risk
from minigrad_models.text.scores import mutual_bleu
from minigrad_models.text.tokenizer import EOS


def hypothesis(tokens: list[int], score: float) -> Hypothesis:
    return Hypothesis([*tokens, EOS], score, score * (len(tokens) + 1))


def drawn(seed: int) -> list[Hypothesis]:
    """A beam of seven sentences that share n-grams, the best score first."""
    draw = random.Random(seed)
    scores = sorted((-draw.random() for _ in range(7)), reverse=True)
    return [hypothesis([draw.randrange(10, 14) for _ in range(draw.randrange(1, 9))], s) for s in scores]


def test_bleu_of_tokens_by_hand() -> None:
    (_, near, short), (_, _, _), (_, _, same) = mutual_bleu([[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3]])
    # 3 of 4 tokens, 2 + 1 of 3 + 1 bigrams, 1 + 1 of 2 + 1 trigrams, 0 + 1 of 1 + 1 4-grams
    assert near == pytest.approx(100 * (3 / 4 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert short == pytest.approx(100 * (3 / 4 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert same == pytest.approx(100)
    assert mutual_bleu([[1, 2, 3], [1, 2, 3, 4]])[0][1] == pytest.approx(100 * math.exp(1 - 4 / 3))
    assert mutual_bleu([[1, 2], [3, 4], []]) == [[pytest.approx(100), 0, 0], [0, pytest.approx(100), 0], [0, 0, 0]]


@pytest.mark.parametrize(("seed", "sharpness"), [(0, 0.0), (1, 1.0), (2, 8.0)])
def test_the_expected_bleu_falls(seed: int, sharpness: float) -> None:
    beam = drawn(seed)
    total = sum(math.exp(sharpness * h.score) for h in beam)

    def expected(one: Hypothesis) -> float:
        similar = [mutual_bleu([one.tokens[:-1], other.tokens[:-1]])[0][1] for other in beam]
        return sum(math.exp(sharpness * h.score) / total * bleu for h, bleu in zip(beam, similar, strict=True))

    ordered = minimum_bayes_risk(beam, sharpness)
    assert sorted(map(id, ordered)) == sorted(map(id, beam))
    values = [expected(h) for h in ordered]
    assert values == pytest.approx(sorted(values, reverse=True))
    assert expected(ordered[0]) == pytest.approx(max(map(expected, beam)))


def test_two_similar_sentences_beat_the_likeliest() -> None:
    alone, this = hypothesis([9, 8, 7, 6], -0.50), hypothesis([1, 2, 3, 4], -0.55)
    that = hypothesis([1, 2, 3, 5], -0.56)
    assert minimum_bayes_risk([alone, this, that])[0] is this
    assert minimum_bayes_risk([alone, this, that], sharpness=1000)[0] is alone


def test_ties_keep_their_order_and_low_scores_do_not_underflow() -> None:
    same = [hypothesis([1, 2], -0.5), hypothesis([1, 2], -0.5), hypothesis([1, 2], -0.5)]
    assert [id(h) for h in minimum_bayes_risk(same)] == [id(h) for h in same]
    assert minimum_bayes_risk(same[:1]) == same[:1] and minimum_bayes_risk([]) == []
    beam = [hypothesis([1, 2, 3], -900.0), hypothesis([1, 2, 4], -900.1), hypothesis([5, 6, 7], -900.05)]
    assert minimum_bayes_risk(beam, 1.0)[0] is beam[0]
    for sharpness in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="sharpness must be finite and at least 0"):
            minimum_bayes_risk(drawn(0), sharpness)
