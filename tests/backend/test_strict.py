"""The strict stand-in for CuPy raises CuPy's errors, and otherwise behaves like CuPy."""

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import cupy_names
from tests.support.cases import cases, raises
from tests.support.expressions import split
from tests.support.strict_array import NAMES, NAMESPACE, StrictArray

xp: Any = NAMESPACE


@pytest.fixture
def x() -> Any:
    return xp.arange(6, dtype=xp.float32).reshape(2, 3) + 1


HOST = np.ones((2, 3), np.float32)

REFUSED = """
np.asarray(x) ; np.array(x) ; np.array([x, x]) ; x + HOST ; HOST + x ; x @ HOST.T ; x == HOST ; x.__iadd__(HOST)
HOST.copy().__iadd__(x) ; np.add(x, HOST) ; xp.maximum(x, HOST) ; xp.concatenate([x, HOST]) ; xp.logical_not(x * 1j)
xp.unique(x, axis=0) ; xp.where(True, x, 0.0) ; xp.where(x > 0, x, HOST) ; x.dot(HOST.T)
x.__setitem__((0,), HOST[0]) ; HOST.copy().__setitem__(0, x[0]) ; x * np.array(2.0) ; xp.add(x, [1, 2, 3])
xp.sum([1, 2, 3]) ; xp.sum(3.0) ; xp.array([None, 'a'], dtype=object) ; xp.asarray(['a']) ; xp.sum(x, where=x > 0)
xp.add(x, x, where=x > 0) ; x.sum(initial=1) ; xp.sum(x, 0, None, None, False, 0, True) ; [1, 2, 3][xp.argmax(x)]
range(xp.argmax(x)) ; hash(x)
"""


@cases("expression", split(REFUSED))
def test_refused(expression: str, x: Any) -> None:
    raises(TypeError, None, lambda: eval(expression, {"np": np, "xp": xp, "HOST": HOST, "x": x}))


@cases("name", ["nansum_", "erf", "errstate", "random", "float128", "memmap", "_x", "put"])
def test_names_that_cupy_or_the_stand_in_lacks(name: str) -> None:
    raises(AttributeError, None, lambda: getattr(xp, name))


def test_scalars_stay_arrays(x: Any) -> None:
    single = x[0, 0], x.sum(), xp.max(x), xp.any(x > 0), xp.allclose(x, x), -x[1, 2], x[0][0] > 0, x[0, 0] + 1
    for value in (*single, xp.count_nonzero(x)):
        assert type(value) is StrictArray
        assert value.shape == ()
    assert float(x[0, 1]) == 2
    assert int(x[1, 2]) == 6
    assert bool(x[0, 0] == 1)
    assert x[0, 1].item() == 2
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert [type(row) for row in x] == [StrictArray] * 2


def test_views_share_memory_and_know_their_owner(x: Any) -> None:
    owner = x.copy()
    assert owner.base is None
    views = owner[0], owner.T, owner.reshape(3, 2), owner[:, 1:][0], owner.ravel(), owner.mT, owner.view(), owner[1, 2]
    turned = xp.broadcast_to(owner, (4, 2, 3)), xp.swapaxes(owner, 0, 1), xp.expand_dims(owner, 0)
    for view in (*views, *turned):
        assert view.base is owner
    assert owner[xp.asarray([0])].base is None
    assert (owner + 1).base is None
    owner[0][1] = 50
    owner[1, 2] -= 1
    assert owner.tolist() == [[1, 50, 3], [4, 5, 5]]
    reshaped = xp.ascontiguousarray(owner.T).reshape(2, 3)
    assert reshaped[0].base is reshaped.base


def test_in_place(x: Any) -> None:
    """By CuPy's "same kind" rule."""
    raises(TypeError, None, lambda: x.astype(xp.int64).__itruediv__(2))
    raises(TypeError, None, lambda: xp.add.at(xp.zeros(3, xp.int64), xp.asarray([0]), 1))
    z = xp.zeros(3, xp.float32)
    xp.add.at(z, xp.asarray([0, 0, 2]), xp.ones(3, xp.float32))
    xp.add.at(z, (xp.asarray([1]),), 5.0)
    assert z.tolist() == [2, 5, 1]


REPEATS: dict[str, tuple[Any, list[float]]] = {
    "an array": (lambda: xp.asarray([2, 0, 2, -2]), [2, 0, 1, 0]),
    "a list": (lambda: [3, 3, 3, 3], [0, 0, 0, 1]),
    "an array of the host": (lambda: np.array([1, 0, 0, 1]), [2, 1, 0, 0]),
    "a tuple": (lambda: (xp.asarray([0, 1, 2, 0]),), [1, 2, 3, 0]),
    "no repeats": (lambda: xp.asarray([3, 1, 0, 2]), [3, 2, 4, 1]),
}


@cases("name", REPEATS)
def test_another_value_wins_at_a_repeated_index_than_in_numpy(name: str) -> None:
    index, expected = REPEATS[name]
    z = xp.zeros(4)
    z[index()] = xp.asarray([1.0, 2.0, 3.0, 4.0])
    assert z.tolist() == expected


def test_repeats_across_axes_and_slices(x: Any) -> None:
    z = xp.zeros((2, 3))
    z[xp.asarray([1, 0, 1]), xp.asarray([2, 0, -1])] = xp.asarray([1.0, 2.0, 3.0])
    assert z.tolist() == [[2, 0, 0], [0, 0, 1]]
    z[:, [0, 0]] = x[:, :2]
    assert z.tolist() == [[1, 0, 0], [4, 0, 1]]
    z[..., None, xp.asarray([1, 1])] += xp.asarray([5.0, 6.0])
    assert z.tolist() == [[1, 5, 0], [4, 5, 1]]
    z.T[xp.asarray([0, 0])] = 7  # with one value the result is defined
    assert z.tolist() == [[7, 5, 0], [7, 5, 1]]
    z[xp.asarray([[True, False, True], [False, False, False]])] = xp.asarray([8.0, 9.0])
    assert z.tolist() == [[8, 5, 9], [7, 5, 1]]
    z[0, xp.asarray([1, 2])] = z[0, :2]  # source and target are the same
    assert z.tolist() == [[8, 8, 5], [7, 5, 1]]
    with pytest.raises(ValueError, match="broadcast"):
        z[xp.asarray([0, 1])] = xp.zeros(4)


def test_indices_in_arrays_count_round_the_axis(x: Any) -> None:
    """CuPy reads them modulo the length, and raises an error only for plain integers."""
    assert x[xp.asarray([2, -3])].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert x[..., xp.asarray([4])].tolist() == [[2], [5]]
    assert x[None, :, xp.asarray([4])].tolist() == [[[2], [5]]]
    assert x[xp.asarray([[False, True, False], [True, False, False]])].tolist() == [2, 4]
    assert x.take(xp.asarray([7]), axis=1).tolist() == xp.take(x, xp.asarray([1]), axis=1).tolist()
    x[xp.asarray([3]), xp.asarray([3])] = 0
    xp.add.at(x, (xp.asarray([3]), xp.asarray([5])), 1.0)
    assert x.tolist() == [[1, 2, 3], [0, 5, 7]]
    raises(IndexError, None, lambda: x[2])
    raises(IndexError, None, lambda: x[xp.asarray([0.5])])


TINY = np.array([1e-40, -1e-40, 2e-38, 1.0])
FLUSHED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "operator": (lambda t: t * 1, [0, 0, 2e-38, 1]),
    "result": (lambda t: t / 4, [0, 0, 0, 0.25]),
    "comparison": (lambda t: t > 0, [False, False, True, True]),
    "function": (lambda t: xp.log(t), [-np.inf, -np.inf, np.log(np.float32(2e-38)), 0]),
    "two results": (lambda t: xp.frexp(t)[0], [0, 0, np.frexp(np.float32(2e-38))[0], 0.5]),
    "sign of zero": (lambda t: 1 / t, [np.inf, -np.inf, 1 / np.float32(2e-38), 1]),
    "into out": (lambda t: xp.multiply(t, 0.25, out=xp.empty_like(t)), [0, 0, 0, 0.25]),
    "in place": (lambda t: t.copy().__imul__(0.25), [0, 0, 0, 0.25]),
    "negative": (lambda t: -t, [0, 0, -np.float32(2e-38), -1]),
    "complex": (lambda t: (t.astype(xp.complex64) * 1j).imag, [0, 0, np.float32(2e-38), 1]),
    "wider": (lambda t: t.astype(xp.float64), [0, 0, np.float32(2e-38), 1]),
    "copy": (lambda t: t.copy(), TINY.astype(np.float32)),
}


@cases("name", FLUSHED)
def test_subnormal_numbers_are_zeros(name: str) -> None:
    function, expected = FLUSHED[name]
    there = xp.asarray(TINY.astype(np.float32))
    np.testing.assert_allclose(function(there).get(), np.array(expected), rtol=1e-6, atol=0)
    assert (there.get() == TINY.astype(np.float32)).all()  # they are read as 0, but stay in memory


def test_a_partition_of_nan_is_refused() -> None:
    assert xp.argpartition(xp.asarray([3.0, 1.0, 2.0]), 0)[0] == 1
    raises(ValueError, "NaN", lambda: xp.argpartition(xp.asarray([3.0, np.nan, 2.0]), 0))


def test_quotients_and_remainders_are_cupys() -> None:
    a, b = xp.asarray([1.0, -1.0, 5.0]), xp.asarray([0.1, np.inf, 3.0])
    for quotient, rest in ((a // b, a % b), (xp.floor_divide(a, b), xp.remainder(a, b))):
        assert quotient.tolist() == [10, 0, 1]
        np.testing.assert_allclose(rest.get(), [0, np.nan, 2], atol=1e-15)
    large = xp.asarray([2**53 + 1])
    assert xp.fmod(large, 2).tolist() == [0]
    assert ((large % 2).tolist(), (-large // 2).tolist()) == ([1], [-(2**52) - 1])


def test_new_memory_is_poisoned() -> None:
    assert xp.isnan(xp.empty((2, 2), xp.float32)).all()
    assert xp.isnan(xp.empty_like(xp.zeros(3))).all()
    assert (xp.empty(3, xp.int64) == 77).all()


def test_cupy_has_every_attribute_of_an_array() -> None:
    own = "emulator_array _array _base __weakref__ __annotations__ __firstlineno__ __static_attributes__"
    offered = set(vars(StrictArray)) - set(own.split())
    assert offered <= set(NAMES["array"]), offered - set(NAMES["array"])


@pytest.fixture(scope="module")
def cupy() -> Any:
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("CuPy cannot be imported here")
    return importlib.import_module("cupy")


def test_the_list_of_names_is_cupys(cupy: Any) -> None:
    """The installed CuPy has everything that the stand-in offers, even if the list is from another version."""
    now = cupy_names.collect(cupy)
    for name, parameters in NAMES["functions"].items():
        if hasattr(np, name):
            assert set(parameters) <= set(now["functions"][name]), name
    for name in vars(NAMESPACE):
        assert hasattr(cupy, name)
    offered = {name for name in vars(StrictArray) if not name.startswith("_")} - {"emulator_array"}
    assert offered <= set(now["array"])


def test_cupy_flushes_and_divides_as_the_stand_in(cupy: Any) -> None:
    assert "-ftz=true" in inspect.getsource(cupy.cuda.compiler)
    for name, formula in (("remainder", "in0 - _floor_divide(in0, in1) * in1"), ("fmod", "fmod((double)in0")):
        assert any(formula in str(op.routine) for op in getattr(cupy, name)._ops.ops)
