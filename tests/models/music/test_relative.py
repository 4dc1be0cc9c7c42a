"""Relative scores: the skewing trick against the definition, gradients, and memory."""

import itertools
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.architectures.layers import RelativePositions, relative_shift
from tests.support.parity import assert_close

H, W = 3, 4


def positions(distances: int, device: str = "cpu", dtype: mg.dtype = mg.float64, width: int = W) -> RelativePositions:
    module = RelativePositions(H, width, distances)
    mg.nn.init.normal_(module.weight)
    return module.to(dtype).to(device)


def test_the_shift_is_a_view_and_aligns_distances_with_keys() -> None:
    t, m = 3, 2
    s = t + m
    scores = mg.arange(s, -1, -1).expand(1, 1, t, s + 1).contiguous()  # each number is its distance
    shifted = relative_shift(scores)
    assert shifted.untyped_storage().data_ptr() == scores.untyped_storage().data_ptr()
    for i, j in itertools.product(range(t), range(s)):
        if j <= m + i:
            assert shifted[0, 0, i, j] == m + i - j


def past(scores: mg.Tensor) -> mg.Tensor:
    """The scores with the future, which contains numbers of other rows, set to 0."""
    t, s = scores.shape[-2:]
    return scores.tril(s - t)


def definition(module: RelativePositions, q: mg.Tensor, keys: int) -> mg.Tensor:
    """The scores from an embedding for each pair of query and key; 0 for keys in the future."""
    distance = mg.arange(keys - q.shape[2], keys, device=q.device)[:, None] - mg.arange(keys, device=q.device)
    pairs = module.weight[:, distance.clamp(0, module.weight.shape[1] - 1)]  # (H, T, S, W)
    return mg.einsum("bhtw,htsw->bhts", q, pairs).masked_fill(distance < 0, 0.0)


@pytest.mark.parametrize(("queries", "keys", "distances"), [(7, 7, 4), (7, 7, 9), (1, 7, 1), (3, 7, 20), (1, 1, 4)])
def test_the_skew_gives_the_definition(queries: int, keys: int, distances: int, device: str) -> None:
    for dtype, tolerance in ((mg.float64, 1e-12), (mg.float32, 1e-6)):
        module = positions(distances, device, dtype)
        q = mg.randn(2, H, queries, W, dtype=dtype).to(device)
        assert_close(past(module(q, keys)), definition(module, q, keys), tolerance)


def test_the_definition_is_the_sum_for_each_pair() -> None:
    module, q = positions(4), mg.randn(2, H, 5, W, dtype=mg.float64)
    scores, table = definition(module, q, 7).detach().numpy(), module.weight.detach().numpy()
    for b, h, i, j in itertools.product(range(2), range(H), range(5), range(7)):
        distance = 2 + i - j
        score = q.numpy()[b, h, i] @ table[h, min(distance, 3)] if distance >= 0 else 0.0
        np.testing.assert_allclose(scores[b, h, i, j], score, rtol=1e-12, atol=1e-14)


def test_gradients_of_first_and_second_order() -> None:
    module = positions(2)
    q = mg.randn(1, H, 3, W, dtype=mg.float64, requires_grad=True)

    def scores(q: mg.Tensor, _weight: mg.Tensor) -> mg.Tensor:
        return past(module(q, 5)).sin()

    assert mg.autograd.gradcheck(scores, [q, module.weight])
    assert mg.autograd.gradgradcheck(scores, [q, module.weight])


def peak(length: int, width: int) -> int:
    """Peak bytes while the scores of this many tokens and their gradients are computed."""
    module = positions(length, dtype=mg.float32, width=width)
    q = mg.randn(1, H, length, width).requires_grad_()
    tracemalloc.start()
    try:
        module(q, length).sum().backward()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_length_times_width_and_not_with_its_square() -> None:
    """All attention has L² scores; the extra memory of a wider head is linear in L."""
    short, long = (peak(length, 72) - peak(length, 8) for length in (128, 256))
    assert long < 8 * 256 * H * 64 * 4  # 64 more float32 columns in each head
    assert long < 3 * short
