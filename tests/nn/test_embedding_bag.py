"""Bags of embeddings against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree, numbers, refuse
from tests.support.cases import cases, raises, rng
from tests.support.layer_checks import check_first_numbers
from tests.support.parity import assert_close, torch
from tests.support.twins import compare_gradients, pair, twinned

FLAT = np.array([1, 2, 4, 4, 0, 3, 2])
BAGS = {
    "rows": (FLAT[:6].reshape(3, 2), None),
    "offsets": (FLAT, np.array([0, 2, 2, 5])),
    "all in one": (FLAT, np.array([0])),
    "none in the last": (FLAT, np.array([0, 3, 7])),
}


@cases("padding_idx", [None, 4, -3])
@cases("mode", ["sum", "mean", "max"])
@cases("bags", BAGS)
def test_layer(bags: str, mode: str, padding_idx: int | None, device: str) -> None:
    how = {"mode": mode, "padding_idx": padding_idx}
    mine, other = twinned(nn.EmbeddingBag(5, 3, **how), torch.nn.EmbeddingBag(5, 3, **how), device)
    pairs = [(None, None) if a is None else pair(a, device) for a in BAGS[bags]]
    out, expected = mine(*(p for p, _ in pairs)), other(*(t for _, t in pairs))
    assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    compare_gradients(mine, other)
    assert repr(mine) == repr(other)


@cases("how", [{"mode": "max"}, {"norm_type": 1.0}, {"mode": "sum"}])
@cases("padding_idx", [None, 4])
@cases("bags", BAGS)
def test_longest_norm(bags: str, padding_idx: int | None, how: dict[str, Any], device: str) -> None:
    how = {"padding_idx": padding_idx, "max_norm": 0.3, **how}
    mine, other = twinned(nn.EmbeddingBag(5, 3, **how), torch.nn.EmbeddingBag(5, 3, **how), device)
    before = mine.weight.detach().clone()
    pairs = [(None, None) if a is None else pair(a, device) for a in BAGS[bags]]
    assert_close(mine(*(p for p, _ in pairs)), other(*(t for _, t in pairs)))
    assert_close(mine.weight, other.weight)
    assert not mine.weight.equal(before)  # long rows were scaled down in place
    assert repr(mine) == repr(other)


@cases("mode", ["sum", "mean"])
@cases("bags", BAGS)
def test_gradients_by_frequency(bags: str, mode: str, device: str) -> None:
    """Each row's gradient is divided by the number of its lookups. PyTorch on a CPU takes another row's number."""
    index, offsets = (None if a is None else minigrad.tensor(a, device=device) for a in BAGS[bags])
    weight = minigrad.tensor(rng.standard_normal((5, 3)), device=device, requires_grad=True)

    def gradient(scale: bool) -> minigrad.Tensor:
        out = F.embedding_bag(index, weight, offsets, mode=mode, scale_grad_by_freq=scale)
        return minigrad.autograd.grad(out.square().sum(), weight)[0]

    counts = np.bincount(BAGS[bags][0].ravel(), minlength=5).clip(1)[:, None]
    assert_close(gradient(scale=True), gradient(scale=False) / minigrad.tensor(counts, device=device))


@cases("bags", BAGS)
def test_factors(bags: str, device: str) -> None:
    weight, tweight = pair(rng.standard_normal((5, 3)), device, requires_grad=True)
    (x, tx), (o, to) = ((None, None) if a is None else pair(a, device) for a in BAGS[bags])
    f, tf = pair(rng.standard_normal(BAGS[bags][0].shape), device, requires_grad=True)
    out = F.embedding_bag(x, weight, o, mode="sum", per_sample_weights=f)
    expected = torch.nn.functional.embedding_bag(tx, tweight, to, mode="sum", per_sample_weights=tf)
    assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert_close(weight.grad, tweight.grad)
    assert_close(f.grad, tf.grad)


def test_the_end_of_the_last_bag(device: str) -> None:
    weight, tweight = pair(rng.standard_normal((5, 3)), device)
    (x, tx), (o, to) = pair(FLAT, device), pair(np.array([0, 3, 7]), device)
    found = F.embedding_bag(x, weight, o, include_last_offset=True)
    assert_close(found, torch.nn.functional.embedding_bag(tx, tweight, to, include_last_offset=True))


def test_first_numbers_and_given_ones() -> None:
    check_first_numbers(lambda n: n.EmbeddingBag(5, 4))
    table = minigrad.randn(4, 3)
    layer = nn.EmbeddingBag.from_pretrained(table, mode="sum")
    assert not layer.weight.requires_grad and layer.weight.data_ptr() == table.data_ptr()
    assert not nn.EmbeddingBag(4, 3, padding_idx=1).weight[1].any().item()


ints = minigrad.ones(5, dtype=minigrad.int64)
table = minigrad.ones(3, 2)


def test_errors() -> None:
    raises(ValueError, "has to be 1D or 2D Tensor", lambda: F.embedding_bag(ints.reshape(1, 5, 1), table))
    raises(ValueError, "has to be a 1D Tensor but got None", lambda: F.embedding_bag(ints, table))
    words = "if input is 2D, then offsets has to be None"
    raises(ValueError, words, lambda: F.embedding_bag(ints.reshape(1, 5), table, ints))
    raises(RuntimeError, r"offsets\[0\] has to be 0", lambda: F.embedding_bag(ints, table, minigrad.tensor([1, 2])))
    raises(
        RuntimeError, "not greater than input's length 5", lambda: F.embedding_bag(ints, table, minigrad.tensor([0, 8]))
    )
    raises(
        NotImplementedError,
        "only supported for mode='sum'",
        lambda: F.embedding_bag(ints.reshape(1, 5), table, per_sample_weights=minigrad.ones(1, 5)),
    )
    raises(ValueError, "one of sum, mean or max", lambda: F.embedding_bag(ints, table, mode="x"))
    words = "not supported for max mode"
    raises(RuntimeError, words, lambda: F.embedding_bag(ints.reshape(1, 5), table, mode="max", scale_grad_by_freq=True))
    raises(RuntimeError, "index 3 is out of range", lambda: F.embedding_bag(ints.reshape(1, 5) * 3, table))


NOTHING = np.zeros(0, np.int64)


@cases("mode", ["sum", "mean", "max"])
@cases(
    "indices, offsets, last",
    [
        (NOTHING, [0, 0], False),
        (NOTHING, [], False),
        (NOTHING, [0], True),
        (NOTHING, [0, 0], True),
        (np.zeros((0, 3), np.int64), None, False),
        (np.array([3, 1]), [0, 0, 2, 2], False),
    ],
)
def test_empty_bags(mode: str, indices: Any, offsets: list[int] | None, last: bool) -> None:
    def program(t: Any, weight: Any) -> Any:
        starts = None if offsets is None else t.tensor(offsets, dtype=t.int64)
        table = t.nn.functional.embedding_bag
        return table(t.from_numpy(indices), weight, starts, mode=mode, include_last_offset=last)

    agree(program, numbers(4, 3))


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "no end of the last bag": lambda t, bag: bag(t.ones(0).long(), t.ones(0).long(), include_last_offset=True),
    "an index too high": lambda t, bag: bag(t.tensor([1, 4]), t.tensor([0])),
    "an index too low": lambda t, bag: bag(t.tensor([[1, -1]])),
    "indices that are no integers": lambda t, bag: bag(t.ones(2), t.tensor([0])),
    "offsets that are no integers": lambda t, bag: bag(t.ones(2).long(), t.tensor([0.0])),
    "factors of another dtype": lambda t, bag: bag(
        t.ones(2).long(), t.tensor([0]), per_sample_weights=t.ones(2).double()
    ),
    "no such padding": lambda t, bag: bag(t.ones(2).long(), t.tensor([0]), padding_idx=4),
}


@cases("case", REFUSED)
@cases("mode", ["sum", "mean", "max"])
def test_refused(case: str, mode: str) -> None:
    def program(t: Any) -> None:
        def bag(indices: Any, offsets: Any = None, **options: Any) -> Any:
            return t.nn.functional.embedding_bag(indices, t.ones(4, 3), offsets, mode=mode, **options)

        REFUSED[case](t, bag)

    refuse(program)
