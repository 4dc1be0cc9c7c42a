"""``autograd.graph``'s hooks on saved tensors, in both libraries, and in-place changes of saved tensors."""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.utils.checkpoint import checkpoint
from tests.support.cases import cases, raises
from tests.support.expressions import evaluate, split


def through_numpy(t: Any, log: list[str]) -> Any:
    """Hooks that save NumPy arrays instead of tensors."""

    def pack(x: Any) -> Any:
        log.append("pack")
        return x.detach().numpy().copy()

    def unpack(array: Any) -> Any:
        log.append("unpack")
        assert isinstance(array, np.ndarray)
        return t.from_numpy(array)

    return t.autograd.graph.saved_tensors_hooks(pack, unpack)


def test_saved_tensors_pass_through_the_hooks(t: Any) -> None:
    log: list[str] = []
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with through_numpy(t, log):
        y = (x * x).exp()
    assert log == ["pack"] * 3
    _ = x * x  # outside
    y.sum().backward(retain_graph=True)
    assert log == ["pack"] * 3 + ["unpack"] * 3
    assert x.grad.tolist() == pytest.approx((2 * x * y).tolist())
    y.sum().backward()  # unpacked again
    assert log.count("unpack") == 6
    raises(RuntimeError, "second time", y.sum().backward)


def test_second_order_through_the_hooks(t: Any) -> None:
    x = t.tensor([2.0], requires_grad=True)
    h = x * 1
    with through_numpy(t, []):
        y = h**3
        (first,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = t.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (12.0, 12.0)
    leaf = t.tensor([2.0], requires_grad=True)
    with through_numpy(t, []):
        (first,) = t.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
    assert t.autograd.grad(first.sum(), leaf)[0].item() == 12.0


def test_functions_save_through_the_hooks(t: Any) -> None:
    class Square(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            assert t.equal(y, x * x)
            return 2 * g * x

    log: list[str] = []
    x = t.tensor([3.0], requires_grad=True)
    with through_numpy(t, log):
        y = Square.apply(x)
    y.sum().backward()
    assert x.grad.item() == 6.0 and log == ["pack"] * 2 + ["unpack"] * 2


def test_a_whole_layer_on_the_cpu() -> None:
    """Besides the tensors, kernels save arrays of their own: the hooks get both."""
    mg.manual_seed(0)
    layer = mg.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    x = mg.randn(2, 4, 8)
    gradients, sizes = [], []
    log: list[str] = []
    for context in (mg.enable_grad(), mg.autograd.graph.save_on_cpu(), through_numpy(mg, log)):
        with context:
            loss = layer(x).square().mean()
        loss.backward()
        gradients.append([p.grad.tolist() for p in layer.parameters() if p.grad is not None])
        sizes.append(len(gradients[-1]))
        layer.zero_grad()
    assert gradients[0] == gradients[1] == gradients[2] and sizes == [12] * 3
    assert log.count("pack") == log.count("unpack") > 12


def test_hooks_leave_no_reference_to_what_they_packed() -> None:
    with mg.autograd.graph.saved_tensors_hooks(lambda x: x.shape, lambda shape: mg.ones(shape)):
        x = mg.rand(2, requires_grad=True)
        h = x.exp()
        y = h * h
    node: Any = y.grad_fn
    assert node.out is None and all(not hasattr(value, "array") for value in vars(node.saved)["saved"])
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]  # 1 for every saved value


def test_the_innermost_hooks_apply(t: Any) -> None:
    outer: list[str] = []
    inner: list[str] = []
    x = t.ones(1, requires_grad=True)
    with through_numpy(t, outer):
        with through_numpy(t, inner):
            y = x.exp()
        z = y.sin()
    z.sum().backward()
    assert inner == outer == ["pack", "unpack"]


def test_hooks_and_checkpoints_and_versions() -> None:
    log: list[str] = []
    x = mg.tensor([1.0], requires_grad=True)
    with through_numpy(mg, log):
        y = checkpoint(lambda v: v.exp().sin(), x, use_reentrant=False)
    assert not log  # the region saves nothing
    y.sum().backward()
    assert x.grad is not None and x.grad.item() == pytest.approx(np.exp(1) * np.cos(np.exp(1)), rel=1e-6)


def test_a_packed_tensor_may_change(t: Any) -> None:
    x = t.tensor([2.0], requires_grad=True)
    h = x * 1
    with through_numpy(t, []):
        y = h * h
    h.detach().mul_(100)
    y.sum().backward()
    assert x.grad.item() == 4.0


def test_wrong_hooks(t: Any) -> None:
    x = t.ones(2, requires_grad=True)
    with (
        t.autograd.graph.saved_tensors_hooks(lambda v: v.mul_(2), lambda v: v),
        pytest.raises(RuntimeError, match="modifying its input in place"),
    ):
        (x * 1).exp().sin()
    with t.autograd.graph.saved_tensors_hooks(lambda v: 1, lambda number: number):
        y = x.exp()
    raises(TypeError, "unpack_hook expected to be a Tensor", y.sum().backward)


def test_hooks_may_be_forbidden(t: Any) -> None:
    with t.autograd.graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), t.autograd.graph.save_on_cpu():
            pass
        with t.autograd.graph.disable_saved_tensors_hooks("nor here"), pytest.raises(RuntimeError, match="nor here"):
            through_numpy(t, []).__enter__()
    with t.autograd.graph.save_on_cpu():
        (t.ones(2, requires_grad=True) ** 2).sum().backward()


def test_hooks_on_one_saved_tensor(t: Any) -> None:
    x = t.tensor([3.0], requires_grad=True)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda v: 2 * v, lambda v: v)
    assert (y.grad_fn._saved_self.item(), y.grad_fn._saved_other.item()) == (6.0, 3.0)
    raises(RuntimeError, "already been set", lambda: y.grad_fn._raw_saved_self.register_hooks(lambda v: v, lambda v: v))
    y.grad_fn._raw_saved_other.register_hooks(lambda v: v, lambda v: 5 * v)
    y.sum().backward()
    assert x.grad.item() == 6.0 + 15.0
    raises(RuntimeError, "forbidden", t.autograd.SavedTensor)


def test_a_tensor_that_is_not_packed_may_not_change(t: Any) -> None:
    x, factor = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    a, b = x * 2, factor * 2
    y = a * b
    y.grad_fn._raw_saved_self.register_hooks(lambda v: v.clone(), lambda v: v)
    a.add_(1)
    y.sum().backward(retain_graph=True)
    assert factor.grad.tolist() == [4.0, 4.0]
    b.add_(1)
    raises(RuntimeError, "modified by an inplace operation", y.sum().backward)


@cases("kind", [ValueError, TypeError, IndexError, OverflowError, KeyError])
def test_hook_errors_reach_the_program(t: Any, kind: type[Exception]) -> None:
    def fail(value: Any) -> Any:
        raise kind("no")

    x = t.ones(2, requires_grad=True)
    with pytest.raises(kind, match=r"^'?no'?$"), t.autograd.graph.saved_tensors_hooks(fail, lambda v: v):
        x.exp()
    with t.autograd.graph.saved_tensors_hooks(lambda v: v, fail):
        y = x.exp().sum()
    for _ in range(2):
        raises(kind, r"^'?no'?$", y.backward)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


OWN_CHANGES = """
a[:1].mul_(b[:1]) ; a.atan2_(b) ; a.exp_() ; a.log_() ; a.mul_(b) ; a.pow_(b) ; a.sin_() ; a.neg_().abs_()
"""


@cases("change", split(OWN_CHANGES))
def test_hooks_get_the_tensors_that_an_in_place_change_saves(t: Any, change: str) -> None:
    """They also keep its old values, although they copy nothing."""

    def gradients(pack: Any) -> list[Any]:
        x, y = (t.tensor(values, requires_grad=True) for values in ([1.5, 2.0], [3.0, 2.0]))
        a, b = x * 1, y * 1
        with t.autograd.graph.saved_tensors_hooks(pack, lambda v: v):
            evaluate(change, a=a, b=b)
        a.sum().backward()
        return [None if v.grad is None else v.grad.tolist() for v in (x, y)]

    assert gradients(lambda v: v) == gradients(lambda v: v.detach()) == gradients(lambda v: v.clone())
