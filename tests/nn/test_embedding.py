"""Embeddings and embedding bags: max_norm, gradients scaled by frequency, pretrained tables, one-hot vectors."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from minigrad import nn
from minigrad.nn import functional as F
from tests.support.both import agree, numbers, refuse
from tests.support.cases import cases, pairwise, raises, rng
from tests.support.layer_checks import check_first_numbers
from tests.support.parity import assert_close, host, torch
from tests.support.twins import check_twins

TABLE = np.random.default_rng(1).standard_normal((6, 4))
INDICES = np.array([[0, 1, 1], [5, 1, 2]])
OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding_idx": 1},
    {"max_norm": 1.0},
    {"max_norm": 0.5, "norm_type": 1.0},
    {"max_norm": 100.0},
    {"scale_grad_by_freq": True},
    {"padding_idx": -1, "max_norm": 0.7, "scale_grad_by_freq": True},
]


@cases("options", OPTIONS)
def test_results_gradients_and_the_table(options: dict[str, Any], device: str) -> None:
    def call(t: Any, layer: Any, indices: Any) -> Any:
        return [layer(indices), layer(indices), layer.weight, layer.padding_idx]

    check_twins(lambda n: n.Embedding(6, 4, **options), INDICES, device=device, call=call)


def test_by_frequency_to_second_order() -> None:
    weight, expected = minigrad.tensor(TABLE, requires_grad=True), torch.tensor(TABLE, requires_grad=True)
    out = F.embedding(minigrad.tensor(INDICES), weight, scale_grad_by_freq=True)
    (g,) = minigrad.autograd.grad(out.pow(3).sum(), weight, create_graph=True)
    theirs = torch.nn.functional.embedding(torch.tensor(INDICES), expected, scale_grad_by_freq=True)
    assert_close(g, torch.autograd.grad(theirs.pow(3).sum(), expected)[0])
    g.sum().backward()
    counts = np.bincount(INDICES.reshape(-1), minlength=6)
    assert_close(weight.grad, TABLE * 6 * np.divide(counts, np.maximum(counts, 1) ** 2)[:, None])


def test_the_callers_gradient_is_not_changed() -> None:
    weight = minigrad.ones(3, 2, requires_grad=True)
    out = F.embedding(minigrad.tensor([1, 1]), weight, scale_grad_by_freq=True)
    out.retain_grad()
    out.sum().backward()
    assert out.grad.tolist() == [[1, 1], [1, 1]] and weight.grad.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_earlier_graphs_notice_the_renormalization() -> None:
    layer = nn.Embedding(4, 3, max_norm=0.1).double()
    loss = (layer.weight * layer.weight).sum()
    layer(minigrad.tensor([1]))
    raises(RuntimeError, "modified by an inplace operation", loss.backward)


def test_keywords_become_attributes() -> None:
    layer = nn.Embedding(6, 4, 2, 1.0, 1.0, True, True, device="cpu", dtype=minigrad.float64)
    names = ("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
    assert [getattr(layer, name) for name in names] == [6, 4, 2, 1.0, 1.0, True, True]
    assert nn.Embedding(6, 4, _weight=minigrad.ones(6, 4), _freeze=True).weight.requires_grad is False


@cases("kind", [nn.Embedding, nn.EmbeddingBag])
def test_a_pretrained_table(kind: Any) -> None:
    table = minigrad.randn(4, 3)
    layer = kind.from_pretrained(table, mode="sum") if kind is nn.EmbeddingBag else kind.from_pretrained(table)
    assert not layer.weight.requires_grad and layer.weight.data_ptr() == table.data_ptr()
    assert kind.from_pretrained(table, freeze=False, padding_idx=1).weight.requires_grad
    assert layer(minigrad.tensor([[3]])).flatten().tolist() == table[3].tolist()
    assert not kind(4, 3, padding_idx=1).weight[1].any().item()


def test_one_hot(device: str) -> None:
    for values, classes in (([1, 2], -1), ([0, 3], 5), ([], 3), ([[0, 2], [1, 1]], -1)):
        one_hot = lambda t, x, classes=classes: t.nn.functional.one_hot(x, classes)
        agree(one_hot, np.array(values, np.int64), device=device)
    f = lambda values, classes: lambda: F.one_hot(minigrad.tensor(values), classes)
    raises(RuntimeError, "non-negative", f([1, -1], -1))
    raises(RuntimeError, "Class values must be smaller than num_classes", f([1, 3], 3))
    raises(RuntimeError, "positive", f([1], 0))
    raises(RuntimeError, r"use \.long\(\)", f([1.0], -1))


def test_errors() -> None:
    layer, index = nn.Embedding(4, 3), minigrad.tensor([0])
    words = r"embedding: index 4 is out of range: indices must be in 0 \.\. 3"
    raises(IndexError, words, lambda: layer(minigrad.tensor([0, 4])))
    words = r"integer dtype, but got minigrad\.float32: use \.long\(\)"
    raises(RuntimeError, words, lambda: layer(minigrad.ones(2)))
    raises(AssertionError, "Padding_idx must be within num_embeddings", lambda: nn.Embedding(4, 3, padding_idx=4))
    raises(AssertionError, "2-dimensional", lambda: nn.Embedding.from_pretrained(minigrad.ones(3)))
    for shape in ((), (3,), (3, 2, 2)):
        weight = minigrad.ones(shape)
        raises(RuntimeError, "'weight' must be 2-D", lambda weight=weight: F.embedding(index, weight))  # type: ignore[misc]


FLAT = np.array([1, 2, 4, 4, 0, 3, 2])
BAGS = [
    (FLAT[:6].reshape(3, 2), None),
    (FLAT, np.array([0, 2, 2, 5])),
    (FLAT, np.array([0])),
    (FLAT, np.array([0, 3, 7])),  # the last bag is empty
]


@cases("bags, mode, padding_idx", pairwise(BAGS, ["sum", "mean", "max"], [None, 4, -3]))
def test_bags(bags: Any, mode: str, padding_idx: int | None, device: str) -> None:
    check_twins(lambda n: n.EmbeddingBag(5, 3, mode=mode, padding_idx=padding_idx), *bags, device=device)
    check_first_numbers(lambda n: n.EmbeddingBag(5, 4))


@cases("bags, padding_idx, how", pairwise(BAGS, [None, 4], [{"mode": "max"}, {"norm_type": 1.0}, {"mode": "sum"}]))
def test_longest_norms_in_bags(bags: Any, padding_idx: int | None, how: dict[str, Any], device: str) -> None:
    def call(t: Any, layer: Any, *tensors: Any) -> Any:
        before = layer.weight.detach().clone()
        out = layer(*tensors).detach()
        assert not layer.weight.equal(before)  # long rows were scaled down in place
        return [out, layer.weight]

    check_twins(lambda n: n.EmbeddingBag(5, 3, 0.3, padding_idx=padding_idx, **how), *bags, device=device, call=call)


@cases("bags, mode", itertools.product(BAGS, ["sum", "mean"]))
def test_gradients_by_frequency_in_bags(bags: Any, mode: str, device: str) -> None:
    """Each row's gradient is divided by the number of its lookups. PyTorch on a CPU uses another row's number."""
    index, offsets = (None if a is None else minigrad.tensor(a, device=device) for a in bags)
    weight = minigrad.tensor(rng.standard_normal((5, 3)), device=device, requires_grad=True)

    def gradient(scale: bool) -> Any:
        out = F.embedding_bag(index, weight, offsets, mode=mode, scale_grad_by_freq=scale)
        return host(minigrad.autograd.grad(out.square().sum(), weight)[0])

    counts = np.bincount(bags[0].ravel(), minlength=5).clip(1)[:, None]
    assert_close(gradient(scale=True), gradient(scale=False) / counts)


@cases("indices, offsets", BAGS)
def test_factors_and_the_end_of_the_last_bag(indices: Any, offsets: Any, device: str) -> None:
    def program(t: Any, weight: Any, factors: Any, x: Any, o: Any) -> Any:
        bag = t.nn.functional.embedding_bag
        out = bag(x, weight, o, mode="sum", per_sample_weights=factors)
        return [out] if o is None else [out, bag(x, weight, o, include_last_offset=True)]

    offsets = None if offsets is None else np.append(offsets, 7)
    agree(program, numbers(5, 3), numbers(*indices.shape), indices, offsets, device=device)


NOTHING = np.zeros(0, np.int64)
EMPTY = [
    (NOTHING, [0, 0], False),
    (NOTHING, [], False),
    (NOTHING, [0], True),
    (NOTHING, [0, 0], True),
    (np.zeros((0, 3), np.int64), None, False),
    (np.array([3, 1]), [0, 0, 2, 2], False),
]


@cases("row, mode", itertools.product(EMPTY, ["sum", "mean", "max"]))
def test_empty_bags(row: Any, mode: str) -> None:
    indices, offsets, last = row

    def program(t: Any, weight: Any) -> Any:
        starts = None if offsets is None else t.tensor(offsets, dtype=t.int64)
        bag = t.nn.functional.embedding_bag
        return bag(t.from_numpy(indices), weight, starts, mode=mode, include_last_offset=last)

    agree(program, numbers(4, 3))


REFUSED: list[Callable[[Any, Any], Any]] = [
    lambda t, bag: bag(t.ones(0).long(), t.ones(0).long(), include_last_offset=True),
    lambda t, bag: bag(t.tensor([1, 4]), t.tensor([0])),
    lambda t, bag: bag(t.tensor([[1, -1]])),
    lambda t, bag: bag(t.ones(2), t.tensor([0])),
    lambda t, bag: bag(t.ones(2).long(), t.tensor([0.0])),
    lambda t, bag: bag(t.ones(2).long(), t.tensor([0]), per_sample_weights=t.ones(2).double()),
    lambda t, bag: bag(t.ones(2).long(), t.tensor([0]), padding_idx=4),
]


@cases("case, mode", itertools.product(REFUSED, ["sum", "mean", "max"]))
def test_bags_that_both_refuse(case: Callable[[Any, Any], Any], mode: str) -> None:
    def program(t: Any) -> None:
        def bag(indices: Any, offsets: Any = None, **options: Any) -> Any:
            return t.nn.functional.embedding_bag(indices, t.ones(4, 3), offsets, mode=mode, **options)

        case(t, bag)

    refuse(program)


def test_errors_of_bags() -> None:
    x, table, f, offsets = minigrad.ones(5).long(), minigrad.ones(3, 2), F.embedding_bag, minigrad.tensor
    row = x.reshape(1, 5)
    raises(ValueError, "has to be 1D or 2D Tensor", lambda: f(x.reshape(1, 5, 1), table))
    raises(ValueError, "has to be a 1D Tensor but got None", lambda: f(x, table))
    raises(ValueError, "if input is 2D, then offsets has to be None", lambda: f(row, table, x))
    raises(RuntimeError, r"offsets\[0\] has to be 0", lambda: f(x, table, offsets([1, 2])))
    raises(RuntimeError, "not greater than input's length 5", lambda: f(x, table, offsets([0, 8])))
    words = "only supported for mode='sum'"
    raises(NotImplementedError, words, lambda: f(row, table, per_sample_weights=minigrad.ones(1, 5)))
    raises(ValueError, "one of sum, mean or max", lambda: f(x, table, mode="x"))
    raises(RuntimeError, "not supported for max mode", lambda: f(row, table, mode="max", scale_grad_by_freq=True))
    raises(RuntimeError, "index 3 is out of range", lambda: f(row * 3, table))
