"""One update: it equals PyTorch's usual lines, and several small batches equal one large batch."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import Tensor, nn
from minigrad.nn import functional as F
from minigrad_models.training.update import update


def model_and_data(device: str, dtype: Any) -> tuple[Any, Tensor, Tensor]:
    minigrad.manual_seed(2)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).to(device=device, dtype=dtype)
    x, y = minigrad.randn(32, 5, dtype=dtype), minigrad.randint(0, 3, (32,))
    return model, x.to(device), y.to(device)


def loss(model: Any, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, float]:
    """The mean over examples, and their number."""
    return F.cross_entropy(model(batch[0]), batch[1]), len(batch[1])


def parts(x: Tensor, y: Tensor, sizes: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    return list(zip(x.split(list(sizes)), y.split(list(sizes)), strict=True))


@pytest.mark.parametrize(
    ("sizes", "dtype", "clip"),
    [((8, 8, 8, 8), "float32", None), ((1, 20, 11), "float64", 0.05), ((31, 1), "float32", 0.05)],
)
def test_several_batches_equal_one(device: str, sizes: tuple[int, ...], dtype: str, clip: float | None) -> None:
    results = []
    for cut in ((32,), sizes):
        model, x, y = model_and_data(device, getattr(minigrad, dtype))
        optimizer = minigrad.optim.SGD(model.parameters(), lr=1.0)
        pending = update(model, optimizer, loss, parts(x, y, cut), clip, 1)
        assert pending.weight == 32
        results.append([*pending.check(), *(p.numpy(force=True) for p in model.parameters())])
    tolerance = 1e-12 if dtype == "float64" else 2e-6
    for one, several in zip(*results, strict=True):
        np.testing.assert_allclose(several, one, rtol=tolerance, atol=tolerance)


def test_one_batch_equals_the_usual_loop_bitwise(device: str) -> None:
    model, x, y = model_and_data(device, minigrad.float32)
    optimizer = minigrad.optim.Adam(model.parameters(), lr=0.01)
    pending = update(model, optimizer, loss, [(x, y)], 0.05, 1)
    usual, x, y = model_and_data(device, minigrad.float32)
    optimizer = minigrad.optim.Adam(usual.parameters(), lr=0.01)
    value = F.cross_entropy(usual(x), y)
    value.backward()
    norm = nn.utils.clip_grad_norm_(usual.parameters(), 0.05)
    optimizer.step()
    assert pending.check() == (float(value), float(norm))
    for p, q in zip(model.parameters(), usual.parameters(), strict=True):
        assert p.numpy(force=True).tobytes() == q.numpy(force=True).tobytes()


def test_the_norm_is_before_clipping_and_weights_must_be_positive() -> None:
    model, x, y = model_and_data("cpu", minigrad.float64)
    optimizer = minigrad.optim.SGD(model.parameters(), lr=0.0)
    pending = update(model, optimizer, loss, [(x, y)], 1e-3, 1)
    clipped = np.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters()))
    assert pending.check()[1] > 0.01 and clipped == pytest.approx(1e-3, rel=1e-2)
    with pytest.raises(ValueError, match="in step 7 the loss has weight 0"):
        update(model, optimizer, lambda m, b: (loss(m, b)[0], 0.0), [(x, y)], None, 7)
