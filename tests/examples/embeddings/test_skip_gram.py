"""Skip-gram against its equations: the loss, the noise, the subsampled words, the windows."""

import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples.embeddings.skip_gram import Noise, SkipGram, keep_probability, noise_distribution, pairs
from minigrad.func import functional_call

V, D, K = 7, 3, 2
WORD, CONTEXT = [0, 0, 3, 6], [1, 2, 2, 5]
NOISE = [[4, 5], [1, 1], [6, 0], [2, 3]]  # a draw for each pair
DRAWN = 200_000


@pytest.fixture
def model() -> SkipGram:
    """A model whose scores are not 0, unlike a new model's."""
    mg.manual_seed(0)
    model = SkipGram(V, D, K).double()
    with mg.no_grad():
        for weight in model.parameters():
            weight.normal_()
    return model


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x))


def by_hand(model: SkipGram, noise: list[list[int]], shared: int) -> list[float]:
    """Equation 4, pair by pair."""
    v, u = (weight.detach().numpy() for weight in (model.word.weight, model.context.weight))
    losses = []
    for i, (word, context) in enumerate(zip(WORD, CONTEXT, strict=True)):
        far = [log_sigmoid(-float(u[n] @ v[word])) for n in noise[i // shared]]
        losses.append(-log_sigmoid(float(u[context] @ v[word])) - K * sum(far) / len(far))
    return losses


def batch(noise: list[list[int]]) -> tuple[mg.Tensor, mg.Tensor, mg.Tensor]:
    return mg.tensor(WORD), mg.tensor(CONTEXT), mg.tensor(noise)


@pytest.mark.parametrize("noise", [NOISE, NOISE[:2], [[4, 5, 1, 1, 6]]], ids=["of-each", "of-two", "of-all"])
def test_the_loss_is_equation_4_and_so_are_its_gradients(model: SkipGram, noise: list[list[int]]) -> None:
    computed = model(*batch(noise)).detach().numpy()
    np.testing.assert_allclose(computed, by_hand(model, noise, len(WORD) // len(noise)), rtol=1e-12)
    names, weights = zip(*model.named_parameters(), strict=True)

    def losses(*weights: mg.Tensor) -> Any:
        return functional_call(model, dict(zip(names, weights, strict=True)), batch(noise))

    assert mg.autograd.gradcheck(losses, [weight.detach().requires_grad_() for weight in weights])


def test_noise_is_drawn_as_often_as_words_occur_to_the_power_of_three_quarters() -> None:
    counts = np.array([1000, 100, 10, 1])
    expected = counts**0.75 / (counts**0.75).sum()
    np.testing.assert_allclose(noise_distribution(counts), expected)
    samples = Noise(noise_distribution(counts)).draw((DRAWN // 2, 2), np.random.default_rng(0))
    parts = np.bincount(samples.ravel(), minlength=4) / DRAWN
    assert (abs(parts - expected) < 5 * np.sqrt(expected * (1 - expected) / DRAWN)).all()


def test_frequent_words_are_subsampled_by_equation_5() -> None:
    counts = np.array([9000, 900, 90, 10])  # of 10,000
    t = 1e-2
    left_out = [1 - math.sqrt(t / f) for f in (0.9, 0.09)]
    np.testing.assert_allclose(1 - keep_probability(counts, t), [*left_out, 0, 0], atol=1e-12)
    assert (keep_probability(counts, math.inf) == 1).all()


def test_pairs_are_within_the_window_and_the_same_text() -> None:
    words, texts = np.array([10, 11, 12, 13, 14]), np.array([0, 0, 0, 1, 1])
    word, context = pairs(words, texts, np.array([1, 2, 2, 5, 1]))
    assert list(zip(word.tolist(), context.tolist(), strict=True)) == [
        (10, 11), (11, 12), (11, 10), (12, 11), (12, 10), (13, 14), (14, 13)
    ]  # fmt: skip
    assert [len(x) for x in pairs(words[:1], texts[:1], np.array([5]))] == [0, 0]
    assert [len(x) for x in pairs(words[:0], texts[:0], words[:0])] == [0, 0]
