"""New tensors on a device are created there, and equal the CPU's."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from tests.support import launches
from tests.support.cases import cases

CREATED: dict[str, Callable[..., Any]] = {
    "zeros": lambda **o: minigrad.zeros(2, 3, **o),
    "ones": lambda **o: minigrad.ones((4,), dtype=minigrad.bool, **o),
    "full": lambda **o: minigrad.full((2, 2), 7, **o),
    "full of infinities": lambda **o: minigrad.full((2, 2), -math.inf, dtype=minigrad.float16, **o),
    "zeros_like": lambda **o: minigrad.zeros_like(minigrad.ones(3, 2, **o).T, dtype=minigrad.int32),
    "full_like": lambda **o: minigrad.full_like(minigrad.ones(3, **o), 2.5),
    "arange": lambda **o: minigrad.arange(5, **o),
    "arange of floats": lambda **o: minigrad.arange(1, -2, -0.3, **o),
    "arange as another dtype": lambda **o: minigrad.arange(3, 9, 2, dtype=minigrad.float32, **o),
    "arange of bytes": lambda **o: minigrad.arange(2.5, 9, 2, dtype=minigrad.uint8, **o),
    "causal mask": lambda **o: minigrad.nn.Transformer.generate_square_subsequent_mask(4, **o),
}


@cases("name", CREATED)
def test_created_on_the_device(name: str, device: str) -> None:
    expected = CREATED[name]()
    with launches.count() as counts:
        result = CREATED[name](device=device)
    assert counts.by_name["upload"] == 0
    assert (result.device.type, result.dtype, result.stride()) == (device, expected.dtype, expected.stride())
    assert result.numpy(force=True).tobytes() == expected.numpy().tobytes()


def test_a_number_that_a_dtype_lacks(device: str) -> None:
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        minigrad.full((2,), 300, dtype=minigrad.uint8, device=device)


@cases("weights", [[0.2, 0.0, 0.5, 0.3, 0.0], [[0.0, 4.0, 0.0], [1.0, 1.0, 2.0]]])
@cases("replacement", [False, True])
@cases("count", [1, 2])
def test_drawn_by_weight(weights: Any, replacement: bool, count: int, device: str) -> None:
    """3,000 draws: each share is within 5 standard deviations of its weight, and weight 0 is never drawn."""
    p = minigrad.tensor(weights, dtype=minigrad.float64)
    if count == 2 and not replacement and p.ndim == 2:
        p = p + 1.0
    rows = (p if p.ndim == 2 else p[None]).repeat_interleave(3000, 0)
    minigrad.manual_seed(5)
    with launches.count() as counts:
        indices = rows.to(device).multinomial(count, replacement)
    assert counts.syncs == 0 and indices.device.type == device and indices.dtype is minigrad.int64
    assert indices.shape == (len(rows), count)
    first = indices[:, 0].cpu().view(-1, 3000)
    share = p.view(len(first), -1) / p.sum(-1, keepdim=True).view(-1, 1)
    shares = minigrad.stack([(first == i).double().mean(1) for i in range(share.shape[1])], 1)
    assert bool(((shares - share).abs() <= 5 * (share * (1 - share) / 3000).sqrt()).all())
    if not replacement and count == 2:
        assert bool((indices[:, 0] != indices[:, 1]).all())


def test_drawn_among_many_in_16_bits(device: str) -> None:
    """50,000 equal weights: a running sum in float16 would stop growing before an eighth of them."""
    minigrad.manual_seed(5)
    indices = minigrad.full((20, 50_000), 2e-5, dtype=minigrad.float16, device=device).multinomial(1)
    assert 15_000 <= indices.double().mean().item() <= 35_000


def test_no_draw_without_sufficient_weights(device: str) -> None:
    with pytest.raises(RuntimeError, match="cannot draw 3 samples without replacement"):
        minigrad.ones(2, device=device).multinomial(3)
    with pytest.raises(RuntimeError, match="only supports floating-point dtypes"):
        minigrad.ones(2, dtype=minigrad.int64, device=device).multinomial(1)
    assert minigrad.ones(2, device=device).multinomial(5, True).shape == (5,)
