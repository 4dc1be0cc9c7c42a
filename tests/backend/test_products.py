"""Matrix products on all cores equal NumPy's."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from minigrad.backend import blas, parallel, products
from tests.support.cases import cases

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    *(((1, 1), (1, 1)), ((5, 3), (3, 7)), ((64, 9), (9, 2)), ((2, 9), (9, 64)), ((0, 3), (3, 4)), ((4, 0), (0, 3))),
    *(((4, 3), (3,)), ((3,), (3, 4)), ((3,), (3,)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4))),
    *(((5, 1, 2, 3), (5, 4, 3, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4))),
]


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three threads, which share even the smallest product."""
    before = parallel.get_num_threads()
    parallel.set_num_threads(3)
    for name in ("SMALL", "LARGE", "PART", "LEAST"):
        monkeypatch.setattr(products, name, 1)
    yield
    parallel.set_num_threads(before)


def use(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without compiled loops."""
    if not compiled:
        monkeypatch.setattr(products, "_shared", lambda *_: None)


def numbers(shape: tuple[int, ...], dtype: Any = np.float64, seed: int = 0) -> Any:
    return (8 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


@cases("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex128])
@cases("left, right", SHAPES)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], dtype: Any) -> None:
    a, b = numbers(left, dtype), numbers(right, dtype, seed=1)
    actual, expected = products.matmul(a, b), a @ b
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(
        actual,
        expected,
        rtol=np.finfo(dtype).eps * 16 if dtype != np.int64 else 0,
        atol=np.finfo(dtype).eps * 1e4 if dtype != np.int64 else 0,
    )


@cases("dtype, near", [(np.float64, 1e-12), (np.float32, 1e-3)])
@cases(
    "shapes",
    [((6, 5), (5, 9)), ((1, 5), (5, 9)), ((9, 5), (5, 6)), ((4, 6, 5), (4, 5, 9)), ((2, 3, 6, 5), (2, 3, 5, 4))],
)
def test_any_layout(shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any, near: float) -> None:
    def layouts(x: Any) -> list[Any]:
        steps = np.repeat(x, 2, axis=-1)[..., ::2], np.repeat(x, 2, axis=-2)[..., ::2, :], x[..., ::-1, :]
        turned = np.array(x.T, order="C").T, np.array(x.swapaxes(-1, -2)).swapaxes(-1, -2)
        return [x, *turned, *steps, np.broadcast_to(x[:1], x.shape)]

    for a in layouts(numbers(shapes[0], dtype)):
        for b in layouts(numbers(shapes[1], dtype, seed=1)):
            expected = np.array(a) @ np.array(b)
            np.testing.assert_allclose(products.matmul(a, b), expected, rtol=near / 10, atol=near)


def test_two_dtypes() -> None:
    a, b = numbers((6, 5), np.float32), numbers((5, 7), np.float64)
    actual = products.matmul(a, b)
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, a.astype(np.float64) @ b, rtol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
@cases("form", [(), (1,), (40,), (1, 40), (1, 1)])
@cases("shape", [(1, 3), (2, 3), (5, 3), (100, 3), (0, 3)])
def test_a_bias_is_added_once_to_each_row(
    shape: tuple[int, int], form: tuple[int, ...], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(compiled, monkeypatch)
    for kind, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        a, b, bias = numbers(shape, kind), numbers((3, 40), kind, seed=1), np.asarray(numbers(form, kind, seed=2))
        np.testing.assert_allclose(products.matmul(a, b, bias), a @ b + bias, rtol=tolerance, atol=tolerance)


@cases("threads", [1, 2, 3, 4, 7])
@cases("shape", [(1, 1), (2, 5), (100, 9), (3, 64), (5, 1), (0, 4), (4, 0), (0, 0)])
@cases("dtype", [np.float64, np.float32, np.float16])
def test_column_sums(shape: tuple[int, int], dtype: Any, threads: int) -> None:
    parallel.set_num_threads(threads)
    every_second = numbers((2 * shape[0], shape[1]), dtype)[::2]
    for x in (numbers(shape, dtype), numbers(shape[::-1], dtype).T, every_second):
        actual = products.column_sums(x)
        assert (actual.dtype, actual.shape) == (dtype, shape[1:])
        scale = np.abs(x.astype(np.float64)).sum()
        eps = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(actual, x.astype(np.float64).sum(axis=0), rtol=0, atol=2 * eps * scale)


def test_without_openblas_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled loops call OpenBLAS; without it they are not used."""
    monkeypatch.setattr(blas, "sgemm", lambda: 0)
    monkeypatch.setattr(blas, "calls", lambda: ())
    a, b = numbers((6, 5), np.float32), numbers((5, 7), np.float32, seed=1)
    np.testing.assert_array_equal(products.matmul(a, b), a @ b)


@pytest.mark.parametrize("compiled", [True, False])
@cases("rows", [0, 1, 2, 3, 16, products.FEW, products.FEW + 1])
@cases("inner", [0, 1, 5])
def test_few_rows_with_a_transposed_matrix(
    rows: int, inner: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(compiled, monkeypatch)
    weight, bias = numbers((40, inner), np.float32), numbers((40,), np.float32, seed=2)
    wide = numbers((40, 2 * inner), np.float32)[:, :inner]
    for a in (numbers((rows, inner), np.float32, seed=1), numbers((inner, rows), np.float32, seed=1).T):
        for b in (weight.T, weight.T.copy(), wide.T, weight[::2].T, weight[::-1].T, np.repeat(weight[:1], 40, 0).T):
            actual = products.matmul(a, b, bias[: b.shape[1]])
            assert actual.dtype == np.float32 and actual.flags.c_contiguous
            np.testing.assert_allclose(actual, np.array(a) @ np.array(b) + bias[: b.shape[1]], rtol=1e-4, atol=1e-4)


def test_a_small_product_of_one_row_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding multiplies one row by matrices of any layout, which two threads read faster than one."""
    shared: list[int] = []
    compute = products._shared_rows
    monkeypatch.setattr(products, "_shared_rows", lambda *args: [shared.append(len(args[0])), compute(*args)][1])
    monkeypatch.setattr(products, "LARGE", 1_000)
    for rows, b in ((1, numbers((5, 40), np.float32)), (1, numbers((40, 5), np.float32).T), (2, numbers((5, 40)))):
        products.matmul(numbers((rows, 5), np.float32, seed=1), b.astype(np.float32))
    assert shared == ([1, 1] if products._has_loops() else [])


def test_few_rows_are_the_same_separately_and_in_a_batch() -> None:
    """A token decoded by itself gives the same result as in a batch, up to rounding."""
    x, weight = numbers((32, 64), np.float32), numbers((500, 64), np.float32, seed=1)
    together = products.matmul(x, weight.T)
    for count in (1, 2, 5, 16):
        some = products.matmul(x[:count], weight.T)
        np.testing.assert_allclose(some, together[:count], rtol=1e-4, atol=1e-2)
