"""Greedy search, sampling and beam search with a decoder whose sentences can all be enumerated."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.generation.beam_search import (
    Hypothesis,
    RepetitionPenalty,
    _likeliest,
    beam_search,
    greedy,
    power,
    sample,
    wu,
)

BOS, EOS, V, S = 1, 2, 5, 3


class Random:
    """Random but reproducible logits and attention for each sentence and prefix.

    Sentence i has i % 2 padding positions.
    """

    def __init__(self, seeds: list[int], device: str = "cpu", end: float = 0.0) -> None:
        self.device, self.end, self.steps = device, end, 0
        self.rows = list(seeds)  # the sentence of each row
        self.start = mg.full((len(seeds), 1), BOS, device=device)

    def logits(self, seed: int, beginning: list[int]) -> np.ndarray:
        values = np.random.default_rng([seed, *beginning]).normal(0, 1.5, V)
        values[EOS] += self.end
        return values.astype(np.float32)

    def weights(self, seed: int, beginning: list[int]) -> np.ndarray:
        values = np.exp(np.random.default_rng([seed, 99, *beginning]).normal(0, 2, S)) * self.mask(seed)
        return (values / values.sum()).astype(np.float32)

    def mask(self, seed: int) -> np.ndarray:
        return np.arange(S) < S - seed % 2

    def next_logits(self, tokens: mg.Tensor) -> mg.Tensor:
        assert len(tokens) == len(self.rows) and tokens.shape[1] == 1 + self.steps
        self.steps, self.tokens = self.steps + 1, tokens.tolist()
        rows = [self.logits(s, t) for s, t in zip(self.rows, self.tokens, strict=True)]
        return mg.tensor(np.stack(rows), device=self.device)

    def reorder(self, rows: mg.Tensor, num_beams: int) -> None:
        self.rows = [self.rows[i] for i in rows.tolist()]
        groups = [self.rows[i : i + num_beams] for i in range(0, len(self.rows), num_beams)]
        # a sentence's rows are contiguous:
        assert all(len(set(g)) == 1 and len(g) == num_beams for g in groups)


def probabilities(
    logits: mg.Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> mg.Tensor:
    """The distribution from which ``sample`` draws: logits (N, V) -> (N, V)."""
    p, ids = _likeliest(logits, temperature, top_k, top_p)
    return p if ids is None else mg.zeros_like(logits).scatter(-1, ids, p)


def log_p(decoder: Random, seed: int, sentence: list[int]) -> float:
    """ln P of a sentence, token by token."""
    total = 0.0
    for i, token in enumerate(sentence):
        logits = decoder.logits(seed, [BOS, *sentence[:i]]).astype(np.float64)
        total += logits[token] - np.log(np.exp(logits).sum())
    return total


def score(decoder: Random, seed: int, sentence: list[int], lp: Callable[[int], float]) -> float:
    """Equation 14 of Wu et al., without coverage."""
    return log_p(decoder, seed, sentence) / lp(len(sentence))


def sentences(limit: int) -> list[list[int]]:
    """All sentences that the decoder can write, with their end."""
    words = [t for t in range(V) if t != EOS]
    return [[*w, EOS] for n in range(limit) for w in itertools.product(words, repeat=n)]


@pytest.mark.parametrize(("lp", "early"), [(wu(0.0), True), (wu(0.6), False), (wu(1.5), False), (power(0.8), True)])
def test_a_wide_beam_is_an_exhaustive_search(device: str, lp: Callable[[int], float], early: bool) -> None:
    decoder = Random([1, 2], device)
    result = beam_search(decoder, 80, 3, lp, early)
    for seed, hypotheses in zip((1, 2), result, strict=True):
        expected = sorted(sentences(3), key=lambda y: -score(decoder, seed, y, lp))
        assert [h.tokens for h in hypotheses] == expected
        for h in hypotheses:
            assert math.isclose(h.score, score(decoder, seed, h.tokens, lp), abs_tol=1e-5)
            assert math.isclose(h.log_probability, log_p(decoder, seed, h.tokens), abs_tol=1e-5)


def by_hand(decoder: Random, seed: int, width: int, limit: int, alpha: float) -> tuple[list[Hypothesis], int]:
    """Plain Python beam search of one sentence up to the limit; and the step at which ``width`` were finished."""
    beams: list[tuple[list[int], float]] = [([], 0.0)]
    result: list[Hypothesis] = []
    enough = limit
    for length in range(1, limit + 1):
        more = [([*y, t], log_p(decoder, seed, [*y, t])) for y, _ in beams for t in range(V)]
        more.sort(key=lambda b: -b[1])
        norm = ((5 + length) / 6) ** alpha
        result += [Hypothesis(y, p / norm, p) for y, p in more[:width] if y[-1] == EOS]
        beams = [b for b in more if b[0][-1] != EOS][:width]
        if len(result) >= width and enough == limit:
            enough = length
    return sorted(result, key=lambda h: -h.score), enough


@pytest.mark.parametrize("alpha", [0.6, 2.0, -0.5])
def test_without_early_stopping_no_better_sentence_is_missed(alpha: float) -> None:
    """The result is the same as when searching up to the limit, but takes fewer steps."""
    steps = []
    for seed in range(12):
        decoder = Random([seed], end=0.5)
        (result,) = beam_search(decoder, 2, 9, alpha, early_stopping=False)
        expected, _ = by_hand(decoder, seed, 2, 9, alpha)
        assert [h.tokens for h in result] == [h.tokens for h in expected[:2]]
        steps.append(decoder.steps)
    assert min(steps) < 9


def test_early_stopping_ends_when_a_whole_beam_is_finished() -> None:
    missed = 0
    for seed in range(12):
        decoder = Random([seed])
        (result,) = beam_search(decoder, 2, 9, 2.0)
        expected, enough = by_hand(decoder, seed, 2, 9, 2.0)
        assert decoder.steps == enough
        if not expected:  # sentences that never ended were cut off
            continue
        assert result == [h for h in result if any(h.tokens == e.tokens for e in expected)]
        assert max(len(h.tokens) for h in result) <= enough
        missed += result[0].tokens != expected[0].tokens
    assert missed  # a heuristic: with this large a penalty, longer sentences would have been better


@pytest.mark.parametrize("early", [True, False])
def test_a_batch_gives_the_same_result_as_single_sentences(device: str, early: bool) -> None:
    seeds, limits = list(range(8)), [3, 9, 1, 7, 9, 9, 2, 9]
    together = beam_search(Random(seeds, device, 0.5), 3, limits, 0.6, early)
    both = list(zip(seeds, limits, strict=True))
    assert together == [beam_search(Random([s], device, 0.5), 3, n, 0.6, early)[0] for s, n in both]
    assert all(len(h.tokens) <= n for hs, n in zip(together, limits, strict=True) for h in hs)
    assert len({len(hs[0].tokens) for hs in together}) > 2  # they end at different times
    assert greedy(Random(seeds, device), limits) == [greedy(Random([s], device), n)[0] for s, n in both]


def test_greedy_takes_the_largest_each_time(device: str) -> None:
    decoder = Random(list(range(6)), device)
    for seed, result in enumerate(greedy(decoder, 8)):
        expected: list[int] = []
        while len(expected) < 8 and EOS not in expected:
            expected.append(int(decoder.logits(seed, [BOS, *expected]).argmax()))
        assert result.tokens == expected
        assert result.score == result.log_probability
        assert math.isclose(result.score, log_p(decoder, seed, expected), abs_tol=1e-5)
    best = [hypotheses[0] for hypotheses in beam_search(Random(list(range(6)), device), 1, 8)]
    plain = [h.tokens for h in greedy(Random(list(range(6)), device), 8)]
    assert [h.tokens for h in best] == plain
    later = beam_search(Random(list(range(6)), device), 1, 8, 2.0, early_stopping=False)
    assert [result[0].tokens for result in later] != plain  # a longer sentence may rank higher


def test_sampling_follows_the_probabilities() -> None:
    decoder, draws = Random([7]), 4000
    samples = sample(Random([7] * draws), 2)
    counts: dict[tuple[int, ...], int] = {}
    for h in samples:
        counts[tuple(h.tokens)] = counts.get(tuple(h.tokens), 0) + 1
        assert math.isclose(h.score, log_p(decoder, 7, h.tokens), abs_tol=1e-5)
    words = [t for t in range(V) if t != EOS]
    total = 0.0
    for sentence in [[EOS], *([a, b] for a in words for b in range(V))]:
        p = math.exp(log_p(decoder, 7, sentence))
        total += p
        assert abs(counts.get(tuple(sentence), 0) / draws - p) < 4 * math.sqrt(p / draws)
    assert math.isclose(total, 1.0, abs_tol=1e-6)


def test_temperature_top_k_and_top_p(device: str) -> None:
    p = np.array([[0.4, 0.1, 0.2, 0.25, 0.05]])
    logits = mg.tensor(np.log(p) + 3.0, device=device)

    cold = p[0] ** 2 / (p[0] ** 2).sum()
    both = cold[0] + cold[3]
    for options, expected in (
        ((), p[0]),
        ((0.5,), cold),
        ((1.0, 2), [0.4 / 0.65, 0, 0, 0.25 / 0.65, 0]),
        ((1.0, 50), p[0]),
        ((1.0, None, 0.6), [0.4 / 0.65, 0, 0, 0.25 / 0.65, 0]),
        ((1.0, None, 0.7), [0.4 / 0.85, 0, 0.2 / 0.85, 0.25 / 0.85, 0]),
        ((1.0, None, 1e-9), [1, 0, 0, 0, 0]),
        ((1.0, None, 1.0), p[0]),
        ((1.0, 3, 0.7), [0.4 / 0.65, 0, 0, 0.25 / 0.65, 0]),  # 0.65 of the remaining 0.85
        ((0.5, None, 0.6), [cold[0] / both, 0, 0, cold[3] / both, 0]),
    ):
        distribution: Any = probabilities(logits, *options)[0].cpu()  # type: ignore[arg-type]
        np.testing.assert_allclose(distribution.numpy(), expected, rtol=0, atol=1e-9, err_msg=str(options))


def test_at_most_k_tokens_are_drawn_from_equal_ones(device: str) -> None:
    logits = mg.tensor([[1.0, 2.0, 1.0, 1.0, 1.0], [0.0] * 5], device=device)
    for top_k in (1, 3, 9):
        p = probabilities(logits, top_k=top_k).cpu()
        assert (p > 0).sum(1).tolist() == [min(top_k, 5)] * 2
        assert mg.allclose(p.sum(1), mg.ones(2)) and float(p[0, 1]) == float(p[0].max())


class Broken(Random):
    """NaN from the second token on."""

    def logits(self, seed: int, beginning: list[int]) -> np.ndarray:
        return super().logits(seed, beginning) * (np.nan if len(beginning) > 1 else 1)


def test_empty_and_bad_input() -> None:
    assert greedy(Random([]), 5) == sample(Random([]), 5) == [] and beam_search(Random([]), 3, 5) == []
    assert beam_search(Random([3]), 4, 6, 0.8) == beam_search(Random([3]), 4, 6, wu(0.8))  # the paper's
    assert wu(0.6)(1) == 1.0 and math.isclose(wu(0.6)(13), 3**0.6) and power(0.5)(9) == 3.0
    one, two = Random([1]), Random([1, 2])
    wrong: list[tuple[str, Any, Callable[..., object]]] = [
        ("num_beams must be at least 1, not (0|-1)", (0, -1), lambda x: beam_search(one, x)),
        ("temperature must be positive", (0.0, -1.0, math.nan), lambda x: sample(one, temperature=x)),
        ("top_p must be above 0 and at most 1", (0.0, 1.1, math.nan), lambda x: sample(one, top_p=x)),
        ("top_k must be at least 1, not 0", (0,), lambda x: sample(one, top_k=x)),
        ("repetition_penalty must be a pos", (0.0, -1.0, math.nan, math.inf), lambda x: RepetitionPenalty(one, x)),
        ("length_penalty must be a finite", (math.nan, math.inf), lambda x: beam_search(one, length_penalty=x)),
        ("length_penalty must be a finite", (math.nan, math.inf), power),
    ]
    for write in (greedy, sample, lambda decoder, limit: beam_search(decoder, 2, limit)):
        wrong.append(("max_new_tokens must be at least 1", (0, [3, 0]), partial(write, two)))
        wrong.append(("3 limits for 2 sentences", ([1, 2, 3],), partial(write, two)))
        wrong.append(("logits for token 2 are NaN or infinite", (5,), partial(write, Broken([1, 2], end=-50.0))))
    for message, values, call in wrong:
        for value in values:
            with pytest.raises(ValueError, match=message):
                call(value)


@pytest.mark.parametrize("penalty", [1.7, 0.5])
def test_the_penalty_divides_positive_logits_of_tokens_so_far_and_multiplies_negative_ones(
    device: str, penalty: float
) -> None:
    inner = Random([1, 2], device)
    decoder = RepetitionPenalty(inner, penalty)
    tokens = mg.tensor([[BOS], [BOS]], device=device)
    assert mg.equal(decoder.start.cpu(), tokens.cpu())
    for step in range(3):
        logits = decoder.next_logits(tokens).cpu()
        for row, seed in enumerate((1, 2)):
            text = tokens[row].tolist()
            expected = inner.logits(seed, text)
            for token in set(text):  # once, however often it occurs
                expected[token] = expected[token] / penalty if expected[token] > 0 else expected[token] * penalty
            np.testing.assert_allclose(logits[row].numpy(), expected, rtol=1e-6)
        tokens = mg.cat((tokens, mg.tensor([[step], [3]], device=device)), 1)
    decoder.reorder(mg.tensor([1, 1]), 1)
    assert inner.rows == [2, 2]


def test_without_an_end_every_text_reaches_its_limit(device: str) -> None:
    limits = [3, 6, 1]
    for write in (greedy, sample):
        texts = write(Random([1, 2, 3], device, end=2.0), limits, eos_token_id=None)
        assert [len(h.tokens) for h in texts] == limits and any(EOS in h.tokens[:-1] for h in texts)
    for beams, limit in zip(
        beam_search(Random([1, 2, 3], device, end=2.0), 3, limits, eos_token_id=None), limits, strict=True
    ):
        assert [len(h.tokens) for h in beams] == [limit] * 3
        assert beams[0].score == max(h.score for h in beams)


def test_each_token_is_reported_when_it_is_generated() -> None:
    for write in (greedy, sample):
        reports: list[tuple[int, int]] = []
        texts = write(Random([4, 5, 6]), 9, on_token=lambda *token, reports=reports: reports.append(token))
        for i, h in enumerate(texts):
            assert [token for j, token in reports if i == j] == h.tokens
        longest = max(len(h.tokens) for h in texts)
        assert [i for i, _ in reports] == [i for t in range(longest) for i in range(3) if t < len(texts[i].tokens)]
