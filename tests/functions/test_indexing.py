"""Indexing in all its forms, as in PyTorch: reading, writing, and the gradients of both."""

import math
import random
from math import isqrt
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree, numbers
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, host, ours, theirs, torch

SHAPE = (3, 4, 2)


def library_of(x: Any) -> Any:
    return torch if isinstance(x, torch.Tensor) else minigrad


def random_key(rng: random.Random, shape: tuple[int, ...]) -> list[Any]:
    """Parts of an index as plain data: ``resolve`` makes them tensors of either library."""
    key: list[Any] = []
    dims = list(shape)
    length = rng.choice([(3,), (2,), (2, 3), (1,)])  # shape of the index tensors, which broadcast with each other
    while dims and rng.random() < 0.85:
        n = dims.pop(0)
        kind = rng.choice(["int", "slice", "slice", "tensor", "mask", "none", "list", "scalar"])
        if kind == "int":
            key.append(rng.randrange(-n, n))
        elif kind == "slice":
            key.append(slice(rng.choice([None, 0, 1, -2]), rng.choice([None, n, -1, 99]), rng.choice([None, 1, 2])))
        elif kind == "tensor":
            key.append(("tensor", [rng.randrange(-n, n) for _ in range(int(np.prod(length)))], length))
        elif kind == "list":
            key.append([rng.randrange(-n, n) for _ in range(length[-1])])
        elif kind == "scalar":
            key.append(("tensor", [rng.randrange(n)], ()))
        elif kind == "none":
            key.append(None)
            dims.insert(0, n)
        elif any(isinstance(k, (tuple, list)) for k in key):
            key.append(slice(None))  # a mask broadcasts with index tensors only by luck
        else:
            mask = [rng.random() < 0.6 for _ in range(n)]
            return [*key, ("mask", mask)] + ([Ellipsis] if rng.random() < 0.3 else [])
    if dims and rng.random() < 0.3:
        key.append(Ellipsis)
    return key


def resolve(key: list[Any], t: Any) -> Any:
    parts = []
    for part in key:
        if isinstance(part, tuple) and part[0] == "tensor":
            part = t.tensor(part[1]).reshape(part[2])
        elif isinstance(part, tuple):
            part = t.tensor(part[1])
        parts.append(part)
    return tuple(parts) if len(parts) != 1 else parts[0]


@cases("seed", range(200))
def test_random_indices(seed: int) -> None:
    rng = random.Random(seed)
    key = random_key(rng, SHAPE)
    values = np.random.default_rng(seed).standard_normal(SHAPE)
    mine, other = ours(values, True), theirs(values, True)
    expected = other[resolve(key, torch)]
    actual = mine[resolve(key, minigrad)]
    assert_close(actual, expected)
    weight = np.random.default_rng(seed + 1).standard_normal(tuple(expected.shape))
    (actual * ours(weight)).sum().backward()
    (expected * theirs(weight)).sum().backward()
    assert_close(mine.grad, other.grad)
    value = weight if seed % 3 else np.asarray(1.5)
    results = []
    for t, make in ((minigrad, ours), (torch, theirs)):
        x, v = make(values, True), make(value, True)
        y = x * 1
        at = resolve(key, t)
        if len(set(map(str, key))) == len(key) and seed % 2:
            y[at] = v
        else:
            y[at] += v
        (y * y).sum().backward()
        results.append((y, x.grad, v.grad))
    if repeats(key, SHAPE) and value.ndim:
        return  # it is undefined which of several values stays
    for f, e in zip(*results, strict=True):
        assert_close(f, e)


def repeats(key: list[Any], shape: tuple[int, ...]) -> bool:
    """Whether an index names an element twice."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    elements = numbers[
        tuple(np.array(k[1]).reshape(k[2] if k[0] == "tensor" else -1) if isinstance(k, tuple) else k for k in key)
    ]
    return len(np.unique(elements)) < elements.size


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@cases(
    "key",
    [
        lambda t: t.tensor([True, False, True]),
        lambda t: t.tensor([1, 0, 1], dtype=t.uint8),
        lambda t: [True, False, True],
        lambda t: (slice(None), t.tensor([[0, 1], [3, 2]])),
        lambda t: (Ellipsis, None),
        lambda t: (),
        lambda t: (t.tensor(1), t.tensor(2)),
        lambda t: (np.int64(1), slice(None)),
        lambda t: (t.tensor([0, 1])[0],),
        lambda t: (0, [1, 2], t.tensor([0, 1])),
        lambda t: (slice(None), [0, -1], slice(None)),
        lambda t: range(2),
        lambda t: (t.tensor([0, 2]), slice(None), t.tensor([1, 0])),
        lambda t: np.array([2, 0]),
        lambda t: (None, None, 1),
        lambda t: slice(5, 2),
        lambda t: t.zeros(0, dtype=t.int64),
        lambda t: t.tensor(True),
        lambda t: [slice(0, 1), slice(1, 3)],
        lambda t: [[0, 1], [0, 2]],
        lambda t: [None, 0],
        lambda t: [Ellipsis, 0],
        lambda t: [t.tensor([0, 1]), 0],
        lambda t: [t.tensor(0), t.tensor(1)],
        lambda t: [(0, 1), (1, 2)],
    ],
)
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")  # PyTorch's warning about byte masks
def test_known_indices(key: Any) -> None:
    agree(lambda t, x: x[key(t)], numbers(*SHAPE))


def test_index_errors() -> None:
    x = minigrad.zeros(3, 4)
    raises(IndexError, "index 3 is out of bounds for dimension 0 with size 3", lambda: x[3])
    raises(IndexError, "index -5 is out of bounds for dimension 1 with size 4", lambda: x[..., -5])
    raises(IndexError, "too many indices for tensor of dimension 2", lambda: x[0, 0, 0])
    raises(IndexError, "must be long, int, byte or bool", lambda: x[minigrad.tensor([0.5])])
    raises(IndexError, "valid indices", lambda: x["a"])
    raises(ValueError, "step must be greater than zero", lambda: x[::-1])
    raises(IndexError, r"getitem.*\(3, 4\)", lambda: x[minigrad.tensor([0, 7])])
    raises(IndexError, "getitem", lambda: x[minigrad.tensor([True, False])])
    with pytest.raises(RuntimeError, match=r"shape mismatch: value tensor of shape \[5\]"):
        x[0] = minigrad.ones(5)
    with pytest.raises(IndexError):
        x[minigrad.tensor([0, 7])] = 1.0
    with pytest.raises(TypeError, match="set"):
        x[0] = {1}


def test_assigning_numbers_lists_and_arrays() -> None:
    x = minigrad.zeros(2, 3)
    x[0] = [1, 2, 3]
    x[1] = np.array([4.0, 5.0, 6.0])
    x[:, 1] = np.float64(7)
    x[0, 0] = minigrad.tensor(9)
    x[1, 2] = True
    assert x.tolist() == [[9, 7, 3], [4, 7, 1]]
    assert x.dtype is minigrad.float32
    n = minigrad.zeros(3, dtype=minigrad.int64)
    n[1:] = 2.9
    assert n.tolist() == [0, 2, 2]


@cases("descending", [False, True])
def test_sorting_is_stable_and_puts_nan_last(descending: bool) -> None:
    values = np.array([2.0, np.nan, 1.0, 2.0, 1.0, np.inf, -np.inf])
    agree(lambda t, x: tuple(x.sort(descending=descending, stable=True)), values)


ROWS = {
    "int8": np.array([[100, 1], [-100, 1], [100, 1], [0, 7], [-100, 1]], np.int8),
    "bool": np.array([[True, False], [False, True], [True, False]]),
    "inf": np.array([[np.inf, 1], [np.inf, 2], [np.inf, 1], [-np.inf, 0]]),
    "nan": np.array([np.nan, 2, 1, np.nan, 2]),
}


@cases("name, dim", [(n, d) for n in ROWS for d in (None, 0, -1) if n != "nan" or d is None])
def test_unique(name: str, dim: int | None, device: str) -> None:
    def program(t: Any, x: Any) -> Any:
        return *x.detach().unique(return_inverse=True, return_counts=True, dim=dim), x.detach().unique(dim=dim)

    agree(program, ROWS[name], device=device)


@cases("largest", [True, False])
def test_topk_of_nan_and_integers(largest: bool, device: str) -> None:
    for x in (
        np.array([2.0, np.nan, 1.0, np.inf, -1.0]),
        np.array([[3.0, math.nan, 7.0], [1, 2, 5]]),
        np.arange(9) % 4,
    ):
        agree(lambda t, x: x.detach().topk(3, largest=largest).values, x, device=device)
    assert ours(np.array([3.0, math.nan, 7.0, 0.0]), device=device).topk(3).indices.tolist() == [1, 2, 0]
    raises(RuntimeError, "out of range", lambda: minigrad.ones(3).topk(4))


@cases("largest", [True, False])
@cases("length, k", [(2048, 2), (2079, 2), (10_000, 8), (9_000, 1), (5_000, 7)])
def test_topk_of_a_long_axis(length: int, k: int, largest: bool) -> None:
    draw = np.random.default_rng(length)
    for values in (draw.standard_normal((3, length, 2)), draw.integers(0, 99, (3, length, 2)) / 7):
        values[0, -k:] += 1000 if largest else -1000  # at the end, in no group
        actual = ours(values).topk(k, dim=1, largest=largest)
        assert_close(actual.values, theirs(values).topk(k, dim=1, largest=largest).values)
        places = host(actual.indices)
        assert_close(np.take_along_axis(values, places, 1), host(actual.values))
        assert all(len(set(row)) == k for row in np.moveaxis(places, 1, -1).reshape(-1, k).tolist())


@cases("largest", [True, False])
def test_topk_of_a_long_axis_with_nan(largest: bool, device: str) -> None:
    """Each extreme element shares a group with a NaN."""
    values = np.random.default_rng(0).standard_normal(2048)
    groups = 2048 // isqrt(2048 // 2)
    values[5], values[6] = -100, 100
    values[[5 + groups, 6 + groups]] = np.nan
    actual, expected = (x.topk(3, largest=largest) for x in (ours(values, device=device), theirs(values)))
    assert_close(actual.values, expected.values)
    assert largest or host(actual.indices).tolist() == expected.indices.tolist()


def test_bad_input() -> None:
    x, i = minigrad.zeros(3, 4), minigrad.tensor([[0, 5]])
    raises(RuntimeError, r"gather: index 5 is out of range: indices must be in 0 \.\. 2", lambda: x.gather(0, i))
    for bad in (-1, 2**40):
        with pytest.raises(RuntimeError, match=f"index {bad} is out of range"):
            x.gather(0, minigrad.tensor([[bad, 2]]))
    raises(RuntimeError, "scatter: index 5", lambda: x.scatter(1, i, 1.0))
    raises(RuntimeError, r"index tensor of an integer dtype, not minigrad.float32", lambda: x.gather(0, x))
    raises(RuntimeError, "same number of dimensions", lambda: x.gather(0, minigrad.tensor([0])))
    raises(RuntimeError, r"boolean masks, but got mask with dtype minigrad\.float32", lambda: x.masked_fill(x, 1))
    raises(RuntimeError, "0-dimensional value", lambda: x.masked_fill(x > 0, minigrad.ones(4)))
    with pytest.raises(RuntimeError, match=r"cannot be converted to type minigrad.int64"):
        minigrad.zeros(2, dtype=minigrad.int64).masked_fill(minigrad.tensor([True, False]), float("inf"))
    raises(RuntimeError, "masked_fill", lambda: x.masked_fill(minigrad.tensor([True, False]), 1))
    raises(IndexError, "Dimension out of range", lambda: x.index_select(2, minigrad.tensor([0])))


# Repeated indices ----------------------------------------------------------------------------------------


def _set(t: Any, x: Any, i: Any, v: Any) -> Any:
    out = x.clone()
    out[i] = v
    return out


REPLACING = {  # it is undefined which of several values stays; their gradients are defined, as in PyTorch
    "setitem": _set,
    "index_put": lambda t, x, i, v: x.index_put((i,), v),
    "index_copy": lambda t, x, i, v: x.index_copy(0, i, v),
    "put": lambda t, x, i, v: x.put(i, v),
    "scatter": lambda t, x, i, v: x.scatter(0, i, v),
}


@cases("name", REPLACING)
def test_one_of_the_values_for_a_place_stays(name: str, device: str) -> None:
    x, index, v, g = np.arange(4.0), np.array([2, 0, 2, 0, 2]), np.arange(10.0, 15), np.array([1.0, 2, 3, 5])
    results = []
    for t, make in ((minigrad, lambda a: ours(a, device=device)), (torch, theirs)):
        a, values = make(x).requires_grad_(), make(v).requires_grad_()
        out = REPLACING[name](t, a, make(index), values)
        (out * make(g)).sum().backward()
        results.append((out, a.grad, values.grad))
    (actual, *found_derivatives), (expected, *expected_derivatives) = results
    for f, e in zip(found_derivatives, expected_derivatives, strict=True):
        assert_close(f, e)
    kept_values = host(actual.detach())
    assert kept_values[0] in v[index == 0] and kept_values[2] in v[index == 2]
    assert_close(kept_values[[1, 3]], host(expected.detach())[[1, 3]])


ACCUMULATING = {
    "index_put": lambda t, x, i, v: x.index_put((i,), v, accumulate=True),
    "put": lambda t, x, i, v: x.put(i, v, accumulate=True),
    "index_add": lambda t, x, i, v: x.index_add(0, i, v),
    "scatter_add": lambda t, x, i, v: x.scatter_add(0, i, v),
    "mean": lambda t, x, i, v: x.scatter_reduce(0, i, v, "mean", include_self=False),
    "getitem": lambda t, x, i, v: x[i] * v,
    "gather": lambda t, x, i, v: x.gather(0, i) * v,
    "take": lambda t, x, i, v: x.take(i) * v,
    "index_select": lambda t, x, i, v: x.index_select(0, i) * v,
    "embedding": lambda t, x, i, v: t.nn.functional.embedding(i, x.reshape(4, 1))[:, 0] * v,
}


@cases("name", ACCUMULATING)
def test_repeats_add_up(name: str, device: str) -> None:
    """They add up in the result if it consists of sums, otherwise in the gradient."""
    x, index, v = np.arange(1.0, 5), np.array([2, 0, 2, 0, 2]), np.arange(10.0, 15)
    agree(lambda t, *args: ACCUMULATING[name](t, *args), x, index, v, device=device)


# Reductions of whole slices, and positions -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:index_reduce")  # PyTorch warns that it is in beta
@cases("reduce", ["prod", "mean", "amax", "amin"])
@cases("include_self", [True, False])
def test_index_reduce(reduce: str, include_self: bool, device: str) -> None:
    x, index, source = np.arange(12.0).reshape(4, 3) - 3, np.array([0, 2, 0]), np.arange(9.0).reshape(3, 3) / 2
    how = reduce, include_self
    agree(
        lambda t, x, i, v: x.detach().index_reduce_(0, i, v.detach(), how[0], include_self=how[1]),
        *(x, index, source),
        device=device,
    )
    with pytest.raises(RuntimeError, match="Expected reduce to be one of"):
        ours(x).index_reduce(0, ours(index), ours(source), "sum")


@cases("shape", [(2, 3), (4,), (2, 2, 3)])
def test_unravel_index(shape: tuple[int, ...], device: str) -> None:
    indices = np.arange(np.prod(shape)).reshape(-1, 1)[::-1]
    agree(lambda t, i: t.unravel_index(i, shape), indices, device=device)
    assert minigrad.unravel_index(ours(indices).int(), shape)[0].dtype is minigrad.int64


@cases("include_self", [True, False])
@cases("reduce", ["amax", "amin", "prod"])
def test_gradients_of_reduced_elements(reduce: str, include_self: bool, device: str) -> None:
    """Equal extremes share the gradient; the gradient of a product is right with one zero and with several."""
    x = np.array([[4.0, 2, -1], [3, 3, 4]]) + (0 if include_self else 0.25)  # PyTorch gives excluded elements a share
    src = np.array([[2.0, 5, 1], [6, 2, 2], [2, -1, 3], [0, 3, 0.5]])
    index = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [0, 1, 0]])
    how = {"reduce": reduce, "include_self": include_self}
    agree(lambda t, x, s, i: t.scatter_reduce(x, 0, i, s, **how), x, src, index, device=device)


def test_second_gradients_of_products_with_zeros(device: str) -> None:
    """PyTorch raises an error where two factors of a product are 0."""
    values = np.array([[0.0, 5, 1], [6, 0, 2], [2, 0, 3], [0, 0, 0.5]])
    x, src = (ours(v, device=device).requires_grad_() for v in (values[:2, ::-1].copy(), values))
    index = ours(np.array([[0, 0, 1], [0, 1, 1], [1, 1, 1], [0, 1, 0]]), device=device)
    product = lambda x, src: x.scatter_reduce(0, index, src, "prod")
    assert minigrad.autograd.gradcheck(product, [x, src])
    assert minigrad.autograd.gradgradcheck(product, [x, src])


def test_a_value_of_more_axes_than_the_place_loses_the_first_where_they_are_of_length_1() -> None:
    x, y = minigrad.zeros(3), minigrad.zeros(2, 3)
    x[0] = minigrad.tensor([5.0])
    x[minigrad.tensor([1])] = minigrad.tensor([[6.0]])
    y[0] = minigrad.tensor([[1.0, 2.0, 3.0]])
    y[:, 1] = minigrad.tensor([[[7.0]]])
    assert (x.tolist(), y.tolist()) == ([5.0, 6.0, 0.0], [[1.0, 7.0, 3.0], [0.0, 7.0, 0.0]])
    x[x > 5] = minigrad.tensor([[9.0]])
    assert x.tolist() == [5.0, 9.0, 0.0]
    for key, wrong in ((0, minigrad.tensor([1.0, 2.0])), (slice(2), minigrad.zeros(2, 2))):
        with pytest.raises(RuntimeError, match="shape mismatch"):
            x[key] = wrong


def test_many_values_are_added_by_index() -> None:
    draw = np.random.default_rng(0)
    rows, columns = draw.integers(-5, 5, 300), draw.integers(0, 7, (4, 300))
    for i, j in ((rows, columns), (abs(rows) % 5, columns)):
        start, values = draw.standard_normal((5, 7)), draw.standard_normal((4, 300))
        added = np.zeros_like(start)
        np.add.at(added, (i, j), values)
        indices = minigrad.tensor(i), minigrad.tensor(j)
        x = minigrad.tensor(start)
        copy = x.index_put(indices, minigrad.tensor(values), accumulate=True)
        assert x.index_put_(indices, minigrad.tensor(values), accumulate=True) is x
        assert x.tolist() == copy.tolist() == (start + added).tolist()
        assert x._version == 1
        leaf = minigrad.tensor(start, requires_grad=True)
        assert leaf.index_put(indices, minigrad.tensor(values), accumulate=True).tolist() == copy.tolist()
    with pytest.raises(IndexError):
        x.index_put_((minigrad.tensor(rows + 6), indices[1]), minigrad.tensor(values), accumulate=True)
    assert x.tolist() == copy.tolist()


@cases("requires_grad", [False, True])
def test_an_assignment_to_a_part_of_an_expanded_tensor(requires_grad: bool) -> None:
    """As in PyTorch, it is rejected only if the part itself contains an element twice."""
    key: Any
    for key in (0, (0, 1), (slice(0, 1), slice(None)), (0, ...), (-1, slice(1, None))):
        v = minigrad.ones(1, 3).expand(2, 3)
        v[key] = minigrad.tensor(5.0, requires_grad=requires_grad)
        assert v[0].tolist() == v[1].tolist() and 5.0 in v[0].tolist()
    for key in (..., (slice(None), 0), slice(None)):
        with pytest.raises(RuntimeError, match="single memory location"):
            minigrad.ones(1, 3).expand(2, 3)[key] = minigrad.tensor(5.0, requires_grad=requires_grad)
    empty = minigrad.ones(1, 0, 3, requires_grad=requires_grad) * 1
    empty[...] = 2.0
    v = minigrad.ones(1, 3).expand(2, 3)
    v[0] /= 2
    assert v.tolist() == [[0.5] * 3] * 2
