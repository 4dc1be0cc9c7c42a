"""Batched products by cuBLAS: the arguments for each kind of operand, and TF32 as set by PyTorch's three switches."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minigrad.backend import cublas
from minigrad.backend.dtype import named
from tests.support import cublas as fake, strict
from tests.support.cases import cases
from tests.support.strict_array import wrap

TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}
VIEWS: dict[str, Any] = {
    "as it lies": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "rows with gaps": lambda x: np.concatenate((x, x), -1)[..., : x.shape[-1]],
    "columns with gaps": lambda x: np.concatenate((x.swapaxes(-1, -2),) * 2, -1)[..., : x.shape[-2]].swapaxes(-1, -2),
    "every second column": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1, :])[..., ::-1, :],
    "batch reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "batch between rows": lambda x: np.ascontiguousarray(x.swapaxes(0, -2)).swapaxes(0, -2),
}
SHAPES = [
    *(((3, 2, 5), (3, 5, 4)), ((2, 3, 4, 5), (2, 3, 5, 6)), ((2, 3, 4, 5), (3, 5, 6)), ((2, 1, 4, 5), (1, 3, 5, 6))),
    *(((1, 4, 5), (3, 5, 6)), ((4, 5), (3, 5, 2)), ((3, 1, 5), (3, 5, 1)), ((3, 4, 1), (3, 1, 6)), ((5,), (5,))),
    *(((2, 5), (5,)), ((5,), (5, 3)), ((1, 5), (5, 1)), ((2, 3, 5), (5,)), ((5,), (2, 5, 3)), ((2, 3, 0), (2, 0, 4))),
    *(((2, 0, 3), (2, 3, 4)), ((0, 2, 3), (0, 3, 4))),
]


@pytest.fixture(autouse=True)
def _installed() -> None:
    strict.install()


def normal(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def check(a: Any, b: Any, name: str) -> None:
    """Assert that a product equals NumPy's, in the operands' dtype."""
    out = cublas.matmul(wrap(a), wrap(b))
    assert out.dtype == named(name).numpy
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    assert out.shape == expected.shape
    np.testing.assert_allclose(out.get().astype(np.float64), expected, TOLERANCES[name], TOLERANCES[name] * 4)


@cases("shapes", SHAPES)
@pytest.mark.parametrize("name", TOLERANCES)
def test_shapes(name: str, shapes: Any) -> None:
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    check(*(normal(shape, i).astype(named(name).numpy) for i, shape in enumerate(shapes)), name)


@cases("second", VIEWS)
@cases("first", VIEWS)
def test_operands_are_read_in_their_layout(first: str, second: str) -> None:
    a, b = normal((3, 4, 5), 0).astype(np.float32), normal((3, 5, 6), 1).astype(np.float32)
    x, y = VIEWS[first](a), VIEWS[second](b)
    assert (x == a).all() and (y == b).all()
    check(x, y, "float32")


@cases("view", ["as it lies", "transposed", "rows with gaps", "columns with gaps"])
def test_operands_that_cublas_can_read_are_not_copied(view: str) -> None:
    x = wrap(VIEWS[view](normal((3, 4, 5), 0)))
    assert cublas._laid_out(x, (3,))[0] is x
    assert cublas._laid_out(wrap(x.get()[0]), (3,))[3] == 0  # a matrix for the whole batch


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_sixteen_bits_are_added_up_in_float32(name: str) -> None:
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    ones = np.ones((2, 1, 4096), named(name).numpy)
    for x, y in ((ones, ones.swapaxes(1, 2)), (ones[0], ones[0].T), (ones[0, 0], ones[0, 0]), (ones[0], ones[0, 0])):
        fake.calls.clear()
        assert set(cublas.matmul(wrap(x), wrap(y)).get().ravel().tolist()) == {4096}
        assert fake.calls == [68]
    fake.calls.clear()
    assert cublas.matmul(wrap(ones[:, 0]), wrap(ones[:, 0].T)).shape == (2, 2)
    assert not fake.calls  # CuPy's own


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="inner dimensions"):
        cublas.matmul(wrap(np.ones((2, 3, 4))), wrap(np.ones((2, 3, 4))))


@pytest.fixture
def cupy() -> Any:
    """CuPy's switch, which records its settings; TF32 is off again after the test."""
    settings: list[tuple[Any, int]] = []
    products = SimpleNamespace(
        COMPUTE_TYPE_DEFAULT=1,
        COMPUTE_TYPE_TF32=7,
        set_compute_type=lambda kind, compute: settings.append((kind, compute)),
    )
    before = dict(cublas._TF32)
    yield SimpleNamespace(_core=SimpleNamespace(_routines_linalg=products), settings=settings)
    cublas._TF32.update(before)


def test_cupy_has_these_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed CuPy has the handle and the switch, which overrides the environment."""
    library = pytest.importorskip("cupy")
    products = library._core._routines_linalg
    before, state = products.get_compute_type(np.float32), dict(cublas._TF32)
    assert callable(library.cuda.get_cublas_handle)
    monkeypatch.setenv("CUPY_TF32", "1")
    try:
        cublas.allow_tf32(False, library)
        assert products.get_compute_type(np.float32) == products.COMPUTE_TYPE_DEFAULT != products.COMPUTE_TYPE_TF32
    finally:
        cublas._TF32.update(state)
        products.set_compute_type(np.float32, before)


def test_tf32_is_off_until_it_is_allowed(cupy: Any) -> None:
    x = wrap(np.full((2, 1, 1), 1 + 2.0**-12, np.float32))
    one = wrap(np.ones((2, 1, 1), np.float32))
    cublas.allow_tf32(cublas.is_tf32_allowed(), cupy)
    fake.calls.clear()
    assert (cublas.matmul(x, one).get() != 1).all()
    cublas.allow_tf32(True)
    assert (cublas.matmul(x, one).get() == 1).all()
    cublas.matmul(x.astype(np.float16), one.astype(np.float16))
    cublas.allow_tf32(False)
    assert (cublas.matmul(x, one).get() != 1).all()
    assert fake.calls == [68, 77, 68, 68]
    assert cupy.settings == [(np.float32, 1), (np.float32, 7), (np.float32, 1)]
