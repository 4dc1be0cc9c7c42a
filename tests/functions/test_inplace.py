"""In-place changes within the graph: values and gradients equal PyTorch's. test_names.py compares only values."""

import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import inplace
from minigrad.autograd.observer import Observer, observed
from minigrad.ops.op import watch
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.expressions import split
from tests.support.parity import ours

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.2, 0.8, (3, 4)), RNG.uniform(0.2, 0.8, (3, 4))
MASK, INDEX = RNG.random((3, 4)) > 0.5, RNG.integers(0, 3, (3, 4))
Change = Callable[[Any, Any, Any], Any]
RESHAPES: dict[str, Callable[[Any], Any]] = {
    "squeeze_": lambda x: x.squeeze_(),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
}
CHANGES: dict[str, Change] = {
    "add_": lambda t, x, y: x.add_(y, alpha=2),
    "addcmul_": lambda t, x, y: x.addcmul_(y, y, value=3),
    "clamp_": lambda t, x, y: x.clamp_(0.3, 0.6),
    "clamp_ by tensors": lambda t, x, y: x.clamp_(min=y),
    "copysign_": lambda t, x, y: x.copysign_(y - 0.5),
    "cumsum_": lambda t, x, y: x.cumsum_(1),
    "div_ rounding": lambda t, x, y: x.div_(y, rounding_mode="floor").add_(y),
    "erfinv_": lambda t, x, y: x.erfinv_(),
    "exp_": lambda t, x, y: x.mul_(y).exp_(),
    "fill_diagonal_": lambda t, x, y: x.fill_diagonal_(2.0).mul_(y),
    "frac_": lambda t, x, y: x.mul_(3).frac_(),
    "index_add_": lambda t, x, y: x.index_add_(0, ours_or(t, [0, 0, 1]), y, alpha=2),
    "index_put_": lambda t, x, y: x.index_put_((ours_or(t, [0, 0]),), y[:2], accumulate=True),
    "lerp_": lambda t, x, y: x.lerp_(y, 0.3),
    "logit_": lambda t, x, y: x.logit_(),
    "masked_fill_": lambda t, x, y: x.masked_fill_(ours_or(t, MASK), 1.5).mul_(y),
    "masked_scatter_": lambda t, x, y: x.masked_scatter_(ours_or(t, MASK), y),
    "mul_ twice": lambda t, x, y: x.mul_(y).mul_(2),
    "put_": lambda t, x, y: x.put_(ours_or(t, [1, 5]), y[0, :2]),
    "scatter_": lambda t, x, y: x.scatter_(0, ours_or(t, INDEX[:1]), y[:1]),
    "scatter_add_": lambda t, x, y: x.scatter_add_(0, ours_or(t, INDEX), y),
    "scatter_reduce_": lambda t, x, y: x.scatter_reduce_(0, ours_or(t, INDEX), y, "mean"),
    "sinc_": lambda t, x, y: x.sinc_(),
    "squeeze_": lambda t, x, y: x.unsqueeze_(1).mul_(y[:, None]).squeeze_(1),
    "t_": lambda t, x, y: x.t_().mul_(y.t()),
    "transpose_": lambda t, x, y: x.transpose_(0, 1).add_(y.t()).exp_(),
    "unsqueeze_ of a view": lambda t, x, y: x[1:].unsqueeze_(0).mul_(2),
    "xlogy_": lambda t, x, y: x.xlogy_(y),
    "slice +=": lambda t, x, y: x[1:, ::2].__iadd__(y[1:, ::2]),
    "mask = value": lambda t, x, y: x.__setitem__(ours_or(t, MASK), y[ours_or(t, MASK)]),
}


def ours_or(t: Any, values: Any) -> Any:
    return t.tensor(np.asarray(values))


@cases("name", RESHAPES)
def test_another_shape_keeps_the_history(t: Any, name: str) -> None:
    """Even without gradients, for a leaf, and where elements share memory."""
    reshape, shape = RESHAPES[name], RESHAPES[name](t.ones(3, 4)).shape
    leaf = t.ones(3, 4, requires_grad=True)
    y, parameter = leaf * 2, t.ones(3, 4, requires_grad=True)
    with t.no_grad():
        assert reshape(y).requires_grad and reshape(parameter).requires_grad and parameter.is_leaf
    assert y.shape == parameter.shape == shape
    if t is minigrad:  # PyTorch rejects gradients of the new shape
        (y.sum() + (parameter * 3).sum()).backward()
        assert leaf.grad.tolist() == [[2.0] * 4] * 3 and parameter.grad.shape == shape
    x = t.ones(4, requires_grad=True)
    wide = reshape((x * 1).expand(3, 4))
    wide.sum().backward()
    assert wide.shape == shape and x.grad.tolist() == [3.0] * 4
    assert y._base is None and not y._is_view() and not y.detach_().requires_grad


@cases("name", RESHAPES)
def test_views_from_before_another_shape(t: Any, name: str) -> None:
    x = t.tensor(X, requires_grad=True)
    y = x * 1
    row, whole, column = y[1], y.view_as(y), y[:, 2]
    column.mul_(3)
    RESHAPES[name](y)
    y.mul_(2)
    row.add_(1)
    (row.square().sum() + (whole**3).sum() + y.exp().sum()).backward()
    value = 2 * X * np.array([1, 1, 3, 1])
    value[1] += 1
    derivative = 3 * value**2 + np.exp(value)
    derivative[1] += 2 * value[1]
    np.testing.assert_allclose(x.grad.numpy(), derivative * np.array([2, 2, 6, 2]))


@cases("name", CHANGES)
def test_gradients_flow_as_in_torch(name: str) -> None:
    def program(t: Any, a: Any, b: Any) -> Any:
        x = a * 1
        CHANGES[name](t, x, b * 1)
        return x * x

    agree(program, X, Y)


@cases("name", CHANGES)
def test_a_leaf_that_requires_a_gradient_is_not_changed(name: str) -> None:
    a, b = ours(X, True), ours(Y)
    raises(RuntimeError, "in-place", lambda: CHANGES[name](minigrad, a, b))
    assert a.tolist() == X.tolist()


def test_shapes_and_dtypes_that_do_not_fit() -> None:
    x = minigrad.zeros(2, dtype=minigrad.int64)
    for change in (
        lambda: x.clamp_(0.5, 1.5),
        lambda: x.add_(0.5),
        lambda: x.exp_(),
        lambda: x.atan2_(minigrad.ones(2)),
    ):
        with pytest.raises(RuntimeError, match="can't be cast"):
            change()
    raises(RuntimeError, "doesn't match the broadcast shape", lambda: minigrad.zeros(2).add_(minigrad.ones(3, 2)))
    assert x.tolist() == [0, 0]
    raises(RuntimeError, "cannot change a tensor's shape", lambda: minigrad.zeros(2).logical_and_(minigrad.ones(3, 2)))


def test_resize_keeps_the_first_elements() -> None:
    x = minigrad.arange(4)
    assert x.resize_(2).tolist() == [0, 1]
    assert x.resize_(2, 2).shape == (2, 2)
    assert x[0].tolist() == [0, 1]
    raises(RuntimeError, "require grad", lambda: minigrad.ones(2, requires_grad=True).resize_(3))


def test_fill_out_of_place() -> None:
    x, value = (minigrad.tensor(v, requires_grad=True) for v in ([1.0, 2.0], 3.0))
    y = minigrad.fill(x, value)
    y.sum().backward()
    assert (x.tolist(), y.tolist(), x.grad.tolist(), value.grad.item()) == ([1, 2], [3, 3], [0, 0], 2)
    raises(RuntimeError, "0-dimension value tensor", lambda: minigrad.fill(x, minigrad.ones(2)))


# The fast path ------------------------------------------------------------------------------------------------

NAMES = [n for n in dir(minigrad.Tensor) if (n.endswith("_") and n[0] != "_") or n.startswith("__i")]
SELF = object()
ARGUMENTS: dict[str, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "none": lambda y: ((), {}),
    "a tensor": lambda y: ((y,), {}),
    "itself": lambda y: ((SELF,), {}),
    "a number": lambda y: ((0.5,), {}),
    "an integer": lambda y: ((2,), {}),
    "numpy's number": lambda y: ((np.float64(0.5),), {}),
    "an array": lambda y: ((y.numpy(),), {}),
    "a list": lambda y: (([0.5, 1.5],), {}),
    "two tensors": lambda y: ((y, y), {}),
    "a tensor and a number": lambda y: ((y, 0.3), {}),
    "two numbers": lambda y: ((0.2, 0.7), {}),
    "alpha": lambda y: ((y,), {"alpha": 0.3}),
    "value": lambda y: ((y, y), {"value": 0.3}),
    "by name": lambda y: ((), {"other": y}),
    "rounding": lambda y: ((y,), {"rounding_mode": "floor"}),
    "maximum": lambda y: ((), {"max": 0.4}),
    "wider": lambda y: ((y.double(),), {}),
    "integers": lambda y: (((y * 4).long(),), {}),
    "bools": lambda y: ((y > 0.5,), {}),
    "complex": lambda y: ((0.5j,), {}),
    "too many axes": lambda y: ((y.expand(2, 3, *y.shape),), {}),
    "a gradient": lambda y: ((y.clone().requires_grad_(),), {}),
}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda x: x,
    "float64": lambda x: x.double(),
    "integers": lambda x: (x * 4).long(),
    "half": lambda x: x.half(),
    "transposed": lambda x: x.t(),
    "a view with steps": lambda x: x[::2, 1:],
    "one element": lambda x: x[1, 1],
    "empty": lambda x: x[:0],
    "expanded": lambda x: x[:1].expand(3, 4),
    "read-only": lambda x: minigrad.from_numpy(np.broadcast_to(x.numpy(), (3, 4))),
    "a leaf": lambda x: x.requires_grad_(),
    "a result": lambda x: x.requires_grad_() * 1,
    "a view of a result": lambda x: (x.requires_grad_() * 1)[1:],
    "detached": lambda x: x.requires_grad_().detach(),
    "a view of a leaf made unrecorded": lambda x: unrecorded(x.requires_grad_()),
}


def unrecorded(leaf: minigrad.Tensor) -> minigrad.Tensor:
    with minigrad.no_grad():
        return leaf[1:]


def outcome(name: str, layout: str, arguments: str, grad: bool) -> Any:
    """The effects of an in-place change: the memory's bytes, the version, the history; or its error."""
    base = minigrad.tensor(X, dtype=minigrad.float32)
    with np.errstate(all="ignore"):
        x = LAYOUTS[layout](base)
        args, kwargs = ARGUMENTS[arguments](minigrad.tensor(Y, dtype=minigrad.float32)[: len(x) if x.ndim else 0])
    minigrad.manual_seed(0)
    error: Any = None
    try:
        with minigrad.set_grad_enabled(grad):
            result = getattr(x, name)(*(x if a is SELF else a for a in args), **kwargs)
            error = None if result is x else type(result)
    except Exception as raised:
        error = type(raised), str(raised), bool(raised.__context__)
    array = np.ascontiguousarray(x.array)
    about = x._version, base._version, x.requires_grad, getattr(x.grad_fn, "op", None)
    return error, x.array.dtype, x.array.shape, x.array.strides, array.tobytes(), base.array.tobytes(), about


@pytest.fixture(scope="module")
def fast_names() -> list[str]:
    """The methods that have a fast path, in any family."""
    calls: list[str] = []

    def refuse(*args: Any) -> bool:
        calls.append("call")
        return False

    homes = [module for name, module in list(sys.modules.items()) if name.startswith("minigrad.functions.")]
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        for home, way in product(homes, ("at_once", "overwritten")):
            if hasattr(home, way):
                patch.setattr(home, way, refuse)
        names = []
        for name in NAMES:
            calls.clear()
            for arguments in ("none", "a tensor", "a number", "two tensors"):
                outcome(name, "dense", arguments, False)
            names += [name] * bool(calls)
    return names


def test_many_methods_have_a_fast_path(fast_names: list[str]) -> None:
    assert len(fast_names) > 60
    assert {"add_", "sub_", "mul_", "div_", "lerp_", "addcmul_", "addcdiv_", "sqrt_", "neg_"}.issubset(fast_names)
    assert {"clamp_", "__iadd__", "__imul__"}.issubset(fast_names)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_fast_path_agrees_with_the_general_one(layout: str, fast_names: list[str]) -> None:
    """An observer forces the general path."""
    for number, name in enumerate(fast_names):
        offset = number + list(LAYOUTS).index(layout)  # a dense tensor gets all arguments, others every fourth
        for arguments in ARGUMENTS if layout == "dense" else list(ARGUMENTS)[offset % 4 :: 4]:
            for grad in (False, True) if layout in ("dense", *list(LAYOUTS)[-5:]) else (False,):
                fast = outcome(name, layout, arguments, grad)
                with observed(Observer()):
                    general = outcome(name, layout, arguments, grad)
                assert fast == general, (name, arguments, grad)


TAKEN = """
add_(y) ; add_(y, alpha=2) ; sub_(0.5) ; mul_(y) ; div_(y) ; pow_(2) ; lerp_(y, .3) ; addcmul_(y, y, value=2)
addcdiv_(y, y) ; sqrt_() ; neg_() ; clamp_(0, 1) ; exp_()
"""


@cases("call", split(TAKEN))
def test_a_change_creates_no_variable(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded or not, with gradients off and on."""
    monkeypatch.setattr(inplace, "mutate", None)
    monkeypatch.setattr(watch, "observers", ())  # from other tests
    for dtype in (minigrad.float32, minigrad.float64):
        for grad in (False, True):
            x, y = minigrad.tensor(X, dtype=dtype), minigrad.tensor(Y, dtype=dtype)
            with monkeypatch.context() as patch, minigrad.set_grad_enabled(grad):
                patch.setattr("minigrad.autograd.tape.wrap", None)
                eval(f"x.{call}", {"x": x, "y": y})
            assert x._version == 1


def test_the_line_of_a_change_is_named_where_a_node_needs_the_old_value() -> None:
    x = minigrad.tensor(X, requires_grad=True)
    w = minigrad.tensor(Y)
    y = (x * w).sum()
    w.mul_(2)
    w.add_(y.detach())
    raises(RuntimeError, r"add_ at .*test_inplace\.py:\d+ has", lambda: y.backward())
    view = minigrad.tensor(X)
    y = (x * view[:]).sum()
    view.zero_()
    raises(RuntimeError, r"value at .*test_inplace\.py:\d+ has", lambda: y.backward())
