"""Subword dropout: its distribution is the paper's, and a draw depends on seed, text and number alone."""

import collections
import itertools

import pytest

from minigrad_models.text import SubwordSampler, SubwordTokenizer, subwords
from minigrad_models.text.tokenizer import UNKNOWN
from minigrad_models.translation import english_italian

pytest.importorskip("tokenizers")

TEXTS = [text for pair in english_italian.load("train", size=2000) for text in (pair.source, pair.target)]

Segmentation = tuple[int, ...]


@pytest.fixture(scope="module")
def tokenizer() -> SubwordTokenizer:
    return SubwordTokenizer.train(TEXTS, 400)


def test_a_draw_is_a_function_of_seed_text_and_number(tokenizer: SubwordTokenizer) -> None:
    sampler = SubwordSampler(tokenizer, 0.3, seed=5)
    draws = {(text, draw): sampler.encode(text, draw) for draw in range(3) for text in TEXTS[:100]}
    again = SubwordSampler(tokenizer, 0.3, seed=5)
    for (text, draw), ids in reversed(draws.items()):
        assert again.encode(text, draw) == ids and tokenizer.decode(ids) == tokenizer.prepare(text)
    different = sum(draws[text, 0] != draws[text, 1] for text in TEXTS[:100])
    assert different > 90
    other = SubwordSampler(tokenizer, 0.3, seed=6)
    assert sum(other.encode(text, 0) != draws[text, 0] for text in TEXTS[:100]) > 90


def test_pools_change_no_result(tokenizer: SubwordTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = TEXTS[:50]
    expected = [SubwordSampler(tokenizer, 0.3).encode(text, 0) for text in texts]
    monkeypatch.setattr(subwords, "MOST_WORDS", 3)
    monkeypatch.setattr(subwords, "LONGEST_WORD", 7)
    small = SubwordSampler(tokenizer, 0.3)
    assert [small.encode(text, 0) for text in texts] == expected
    assert len(small.pools) <= 3


def test_limits(tokenizer: SubwordTokenizer) -> None:
    texts = [*TEXTS[:300], "漢 men", "", "aaaaaaaaa", "x" * 3000, "  two   spaces "]
    for text in texts:
        expected = tokenizer.encode(text)
        assert SubwordSampler(tokenizer, 0.0).encode(text, 1) == expected
        assert SubwordSampler(tokenizer, 1e-12).encode(text, 1) == expected  # our merging, none left out
        ids = {token: i for i, token in enumerate(tokenizer.tokens)}
        characters = [ids.get(c, UNKNOWN) for word in tokenizer.words(text) for c in word]
        assert SubwordSampler(tokenizer, 1.0).encode(text, 1) == characters


def expected(sampler: SubwordSampler, ids: Segmentation) -> dict[Segmentation, float]:
    """Algorithm 1 of the paper, all its outcomes: of the possible merges that are not left out, the first."""
    merges = sorted(
        (*sampler.merges[pair], i) for i, pair in enumerate(itertools.pairwise(ids)) if pair in sampler.merges
    )
    result: dict[Segmentation, float] = collections.defaultdict(float)
    result[ids] = sampler.dropout ** len(merges)
    for n, (_, merged, i) in enumerate(merges):
        chance = sampler.dropout**n * (1 - sampler.dropout)
        for outcome, probability in expected(sampler, (*ids[:i], merged, *ids[i + 2 :])).items():
            result[outcome] += chance * probability
    return result


def samples(sampler: SubwordSampler, word: str, count: int) -> collections.Counter[Segmentation]:
    """Segmentations of a word, each of another seed."""
    result: collections.Counter[Segmentation] = collections.Counter()
    for sampler.seed in range(count):
        sampler.pools.clear()
        result[tuple(sampler.encode(word.removeprefix("▁"), 0))] += 1
    return result


def some_words(tokenizer: SubwordTokenizer) -> list[str]:
    words = {word for text in TEXTS[:200] for word in tokenizer.words(text)}
    return sorted(word for word in words if 4 <= len(word) <= 7 and word[0] == "▁")


def test_the_distribution_is_the_papers(tokenizer: SubwordTokenizer) -> None:
    sampler = SubwordSampler(tokenizer, 0.3)
    for word in some_words(tokenizer)[::20]:
        chances = expected(sampler, tuple(sampler.ids[c] for c in word))
        assert sum(chances.values()) == pytest.approx(1)
        counts = samples(sampler, word, 1000)
        assert set(counts) <= set(chances)
        assert all(abs(counts[s] - 1000 * p) < 5 * (1000 * p) ** 0.5 + 1 for s, p in chances.items()), word


def test_bad_arguments(tokenizer: SubwordTokenizer) -> None:
    with pytest.raises(ValueError, match=r"dropout is a probability, not 1\.5"):
        SubwordSampler(tokenizer, 1.5)
