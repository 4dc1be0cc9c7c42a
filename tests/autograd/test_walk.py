"""The backward pass: the sums it computes, the memory it frees, the errors it raises."""

from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad.autograd import Function, backward, grad
from tests.support.both import agree, numbers
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, theirs, torch


def leaf(*values: float, dtype: Any = None) -> minigrad.Tensor:
    return minigrad.tensor([float(v) for v in values], requires_grad=True, dtype=dtype)


# Sums by slot, not by operand ------------------------------------------------------------------------------


TWICE: list[tuple[Any, list[float]]] = [
    (lambda x: (x[0] + x[1:].sum(0) + x.flip(0)[2]).sum(), [2, 1, 1]),  # a view's gradient is added in place
    (lambda x: (x - x).sum(), [0, 0, 0]),
    (lambda x: x @ x, [2, 4, 6]),
    (lambda x: (minigrad.cat([x, x]) * minigrad.arange(6.0)).sum(), [3, 5, 7]),
    (lambda x: (x * x * x).sum(), [3, 12, 27]),
    (lambda x: x[minigrad.tensor([0, 2, 0, 0])].sum(), [3, 0, 1]),
]


@cases("program, derivative", TWICE)
def test_an_operand_used_twice_gets_both_gradients(program: Any, derivative: list[float]) -> None:
    x = leaf(1, 2, 3)
    program(x).backward()
    assert x.grad.tolist() == derivative


@cases("order", [(0, 1), (1, 0)])
def test_two_losses_in_either_order(order: tuple[int, int]) -> None:
    x = leaf(1, 2)
    h = x * x  # both losses go through it
    losses = [h.sum(), (h * h).sum()]
    for i in order:
        losses[i].backward(retain_graph=True)
    assert x.grad.tolist() == [2 + 4, 4 + 32]


def test_several_roots_at_once() -> None:
    x = leaf(1, 2)
    a, b = x * 2, x.exp().sum()
    backward([a, b], [minigrad.ones(2), None])
    assert_close(x.grad, 2 + np.exp([1.0, 2.0]), 1e-6)
    (actual,) = grad([a.sum(), a.sum()], x, [minigrad.tensor(1.0), minigrad.tensor(2.0)])
    assert actual.tolist() == [6, 6]


def test_gradients_accumulate_until_they_are_cleared_and_share_no_memory() -> None:
    x, y, gradients, g = leaf(1, 2), leaf(3, 4), [], minigrad.ones(2)
    with x.register_hook(gradients.append):  # a hook may keep its gradient
        for _ in range(3):
            (x * 2).sum().backward()
    assert [k.tolist() for k in gradients] == [[2, 2]] * 3 and x.grad.tolist() == [6, 6]
    x.grad.zero_()
    (x + y).backward(g)
    x.grad.mul_(5)
    assert y.grad.tolist() == [1, 1] and g.tolist() == [1, 1]
    x.grad = y.grad = None
    (x + y).backward(g, create_graph=True)
    assert not np.shares_memory(x.grad.array, y.grad.array)


# grad ------------------------------------------------------------------------------------------------------


def test_grad_does_not_change_dot_grad() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    (gx,) = grad((x * y).sum(), x)
    assert gx.tolist() == [3, 4]
    assert grad((x * x).sum(), [x, y], None, True, False, True, True)[1] is None  # only_inputs, at PyTorch's position
    assert grad((x * x).sum(), x, only_inputs=False)[0].tolist() == [2, 4]
    assert x.grad is None and y.grad is None


def test_grad_of_intermediate_tensors_and_of_the_output_itself() -> None:
    x = leaf(1, 2)
    h = x * 3
    loss = (h * h).sum()
    gh, gx, gl, again = grad(loss, [h, x, loss, h], retain_graph=True)
    assert gh.tolist() == again.tolist() == [6, 12] and gx.tolist() == [18, 36]
    assert gl.item() == 1
    a, b = h.unbind(0)
    ga, gb = grad(a * 2 + b * 5, [a, b])
    assert (ga.item(), gb.item()) == (2, 5)


def test_grad_of_rows_of_vectors_at_once() -> None:
    """``is_grads_batched``: a Jacobian in one call, differentiated again, and with an unused input."""
    torch = pytest.importorskip("torch")
    results = []
    for t in (minigrad, torch):
        x, w = t.tensor([1.0, 2.0, 3.0], requires_grad=True), t.ones(2, requires_grad=True)
        y, z = x**3, (x * x)[:2]
        jacobian, unused = t.autograd.grad(
            y, (x, w), t.eye(3), create_graph=True, is_grads_batched=True, allow_unused=True
        )
        assert unused is None
        both = t.autograd.grad([y, z], x, (t.ones(2, 3), t.eye(2)), is_grads_batched=True, retain_graph=True)
        (second,) = t.autograd.grad(jacobian.square().sum(), x)
        results.append([jacobian.tolist(), both[0].tolist(), second.tolist()])
        y = x**3
        t.autograd.grad(y, x, t.eye(3), is_grads_batched=True)
        with pytest.raises(RuntimeError):  # the last row freed the graph
            t.autograd.grad(y, x, t.eye(3), is_grads_batched=True)
    assert results[0] == results[1]


def test_grad_of_an_unused_input() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    raises(RuntimeError, "allow_unused", lambda: grad((x * 2).sum(), [x, y]))
    gx, gy = grad((x * 2).sum(), [x, y], allow_unused=True)
    assert (gx.tolist(), gy) == ([2, 2], None)
    gx, gy = grad((x * 2).sum(), [x, y], materialize_grads=True)
    assert gy.tolist() == [0, 0]
    raises(RuntimeError, "does not require grad", lambda: grad(x.sum(), minigrad.ones(2)))


def test_only_paths_to_the_inputs_are_walked() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    calls: list[str] = []
    a, b = x * 2, y * 3
    a.register_hook(lambda g: calls.append("a"))
    b.register_hook(lambda g: calls.append("b"))
    (a * b).sum().backward(inputs=[x])
    assert calls == ["a"] and y.grad is None
    assert x.grad.tolist() == [18, 24]
    h = x * 2
    (h * h).sum().backward(inputs=[h])  # made by an op
    assert x.grad.tolist() == [18, 24] and h.grad.tolist() == [4, 8]


@cases("create", [False, True])
def test_an_op_that_computes_all_gradients_at_once_may_reach_past_the_inputs(create: bool) -> None:
    """The other gradients that fused ops and a Function's backward compute are dropped, and no hook sees them."""

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b, g * a

    minigrad.manual_seed(0)
    x, w, b = (minigrad.randn(*shape, requires_grad=True) for shape in ((3, 4), (4,), (4,)))
    calls: list[Any] = []
    x.register_hook(calls.append)
    for program in (lambda: F.layer_norm(x.exp(), (4,), w * 1, b * 1), lambda: Product.apply(x.exp(), w * 1)):
        (expected,) = grad((program() * x.detach()).sum(), [w], create_graph=create)
        loss = (program() * x.detach()).sum()
        loss.backward(inputs=[w], create_graph=create)
        assert x.grad is None and b.grad is None
        assert not calls
        everything = grad((program() * x.detach()).sum(), [x, w])
        assert w.grad.tolist() == expected.tolist()
        assert w.grad.tolist() == pytest.approx(everything[1].tolist(), rel=1e-5)  # by a kernel, or by rules
        w.grad = None
        calls.clear()


# Higher orders ---------------------------------------------------------------------------------------------


def test_third_order_and_a_penalty_on_the_gradient() -> None:
    x = leaf(0.5, dtype=minigrad.float64)
    value, actual = x.sin().sum(), []
    for _ in range(4):
        (value,) = grad(value, x, create_graph=True)
        value = value.sum()
        actual.append(value.item())
    assert_close(actual, [np.cos(0.5), -np.sin(0.5), -np.cos(0.5), np.sin(0.5)], 1e-12)

    def program(t: Any, w: Any, x: Any) -> Any:
        (g,) = t.autograd.grad((w @ x).tanh().sum(), x, create_graph=True)
        return (g * g).sum() + (w * w).sum()

    agree(program, numbers(2, 2), numbers(2))


def test_gradient_computed_with_a_graph_requires_grad() -> None:
    x = leaf(1, 2)
    (g,) = grad((x**3).sum(), x, create_graph=True)
    assert g.requires_grad
    (g,) = grad((x**3).sum(), x)
    assert not g.requires_grad
    with minigrad.no_grad():
        (g,) = grad((minigrad.enable_grad(lambda: (x**3).sum())()), x, create_graph=True)
    assert g.requires_grad


# Hooks -----------------------------------------------------------------------------------------------------


def test_hooks_see_and_replace_gradients_and_can_be_removed() -> None:
    x, calls = leaf(1, 2), []
    handle = x.register_hook(lambda g: calls.append(g.tolist()))
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    assert calls == [[3, 3]]
    h = x * 2
    h.register_hook(lambda g: g * 10)
    h.register_hook(lambda g: calls.append(g.tolist()))
    x.grad = None
    (h * 3 + h * h).sum().backward()  # the whole gradient, once
    assert calls[1:] == [[70, 110]] and x.grad.tolist() == [140, 220]
    with x.register_hook(lambda g: g * 0):
        x.grad = None
        x.sum().backward()
        assert x.grad.tolist() == [0, 0]
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]


@cases("create_graph", [False, True])
def test_the_hooks_of_a_tensor_get_one_object(create_graph: bool) -> None:
    """Programs set attributes on a gradient for the next hook, or return one that has them."""
    for library, make in ((minigrad, ours), (torch, theirs)):
        h = make(np.array([1.0, 2.0]), True) * 2
        calls: list[Any] = []
        gradient = library.ones(2, dtype=library.float64)
        for hook in (calls.append, calls.append, lambda g, gradient=gradient: gradient, calls.append):
            h.register_hook(hook)
        h.sum().backward(create_graph=create_graph)
        assert calls[0] is calls[1] and calls[2] is gradient


def test_bad_hooks() -> None:
    x = leaf(1, 2)
    raises(RuntimeError, "doesn't require gradient", lambda: minigrad.ones(2).register_hook(lambda g: g))
    with x.register_hook(lambda g: g.sum()):
        raises(RuntimeError, "hook has changed the size of the value", x.sum().backward)
    with x.register_hook(lambda g: 1.0):
        raises(TypeError, "hook must return", x.sum().backward)


def test_retain_grad_follows_a_change_in_place() -> None:
    x = minigrad.ones(2, requires_grad=True)
    h, calls = x * 2, []
    h.retain_grad()
    h.register_hook(lambda g: calls.append(g.tolist()))  # a hook stays with the value on which it was registered
    h.mul_(3)
    h[0] = h[1] * 5
    h.sum().backward()
    assert h.grad is not None and h.grad.tolist() == [1, 1]
    assert calls == [[0, 18]]


def test_retain_grad() -> None:
    x = leaf(1, 2)
    h = x * 2
    assert not h.retains_grad
    h.retain_grad()
    h.retain_grad()  # calling it twice changes nothing
    h.register_hook(lambda g: g * 2)  # and it sees the results of later hooks
    (h * h).sum().backward()
    assert h.grad.tolist() == [8, 16]
    x.retain_grad()  # a leaf has its gradient anyway
    assert h.retains_grad and not x.retains_grad
    raises(RuntimeError, "retain_grad", lambda: minigrad.ones(2).retain_grad())


# Errors ----------------------------------------------------------------------------------------------------


def test_backward_twice() -> None:
    x = leaf(1, 2)
    loss = (x * x).sum()
    loss.backward()
    raises(RuntimeError, r"second time .*: mul \(gradient rule at .*elementwise\.py:\d+.*retain_graph", loss.backward)
    raises(RuntimeError, "second time", lambda: grad(loss, x))
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [6, 12]
    loss = (x + 1).sum()  # saves nothing
    loss.backward()
    loss.backward()
    assert x.grad.tolist() == [8, 14]


def test_backward_without_a_scalar_and_without_a_graph() -> None:
    x = leaf(1, 2)
    raises(RuntimeError, r"only for scalar outputs, and this tensor has shape \(2,\)", lambda: (x * 2).backward())
    raises(RuntimeError, "does not require grad", lambda: minigrad.ones(1).backward())
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] has a shape of .*\(\[3\]\) and output\[0\] has"):
        (x * 2).backward(minigrad.ones(3))
    raises(TypeError, "must be Tensors", lambda: (x * 2).backward([np.ones(2)]))
    raises(RuntimeError, "2 tensors and 1 gradients", lambda: backward([x * 1, x * 2], [minigrad.ones(2)]))
    assert x.grad is None


def test_a_saved_value_changed_in_place() -> None:
    x = leaf(1, 2)
    h = x * 2
    loss = (h * h).sum()
    h += 1
    words = r"mul \(gradient rule at .*elementwise\.py.*add_ at .*test_walk\.py:\d+ has"
    raises(RuntimeError, words, loss.backward)
    assert x.grad is None
    h = x * 2
    loss = h.exp().sum()
    h[0] = 5  # exp saves its result, not its input: fine
    loss.backward()


CHANGES: list[Any] = [
    lambda h: h.detach().mul_(2),
    lambda h: h.__setitem__(0, 1),
    lambda h: h[1:].zero_(),
    lambda h: h.t().neg_(),
    lambda h: h.view(4)[2:].add_(1),
    lambda h: h.split(1)[0].fill_(2),
    lambda h: h.detach().uniform_(),
]


@cases("change", CHANGES)
def test_changes_through_views_are_noticed_and_through_data_are_not(change: Any) -> None:
    h = minigrad.ones(2, 2, requires_grad=True) * 1
    loss = (h * h).sum()
    h.data.mul_(2)
    loss.backward(retain_graph=True)
    with minigrad.no_grad():
        change(h)
    raises(RuntimeError, "modified by an inplace operation", loss.backward)


USES: list[Any] = [
    lambda x, i, m: x[i],
    lambda x, i, m: x.gather(0, i),
    lambda x, i, m: x.index_select(0, i),
    lambda x, i, m: x.masked_fill(m, 0.0),
    lambda x, i, m: minigrad.where(m, x, 0.0),
    lambda x, i, m: x[m],
    lambda x, i, m: minigrad.zeros(3).index_add(0, i, x),
    lambda x, i, m: minigrad.zeros(3).scatter(0, i, x),
]


@cases("use", USES)
def test_an_index_or_mask_changed_after_use(use: Any) -> None:
    """Either the rule has its own copy, or the change is detected."""
    i, m = minigrad.tensor([2, 0, 1]), minigrad.tensor([True, False, True])
    x, y = leaf(1, 2, 3), leaf(1, 2, 3)
    weights = minigrad.tensor([1.0, 10.0, 100.0])
    expected = use(x, i, m)
    (expected * weights[: len(expected)]).sum().backward()
    out = use(y, i, m)
    i.fill_(0)
    m.fill_(False)
    try:
        (out * weights[: len(out)]).sum().backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        assert y.grad.tolist() == x.grad.tolist()


def test_in_place_on_a_leaf() -> None:
    x = leaf(1, 2)
    for change in (
        lambda: x.add_(1),
        lambda: x.__setitem__(0, 1),
        lambda: x[1:].mul_(2),
        lambda: x.fill_(0),
        lambda: x.t().zero_(),
        lambda: x.uniform_(),
        lambda: x.masked_fill_(x > 0, 0),
    ):
        raises(RuntimeError, "leaf Variable that requires grad", change)
    assert x.tolist() == [1, 2]
    with minigrad.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3] and x.is_leaf


def test_in_place_on_memory_that_is_read_only_or_too_small() -> None:
    raises(RuntimeError, "single memory location", lambda: minigrad.ones(3).expand(2, 3).add_(1))
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        minigrad.from_numpy(frozen)[0] = 1
    words = r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"
    raises(RuntimeError, words, lambda: minigrad.ones(3).add_(minigrad.ones(2, 3)))
    raises(RuntimeError, "result type .*float32 can't be cast", lambda: minigrad.ones(3).long().add_(0.5))


def test_anomaly_mode_names_the_forward_line() -> None:
    x = leaf(-1, 2)
    with (
        minigrad.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match=r"sqrt at .*test_walk\.py:\d+ produced the first NaN"),
    ):
        x.sqrt().sum().backward()
    zero = leaf(0.0)
    with minigrad.autograd.detect_anomaly():
        loss = (zero.sqrt() * 0).sum()
        words = r"of sqrt with respect to x contains NaN \(rule at .*elementwise\.py.*test_walk\.py:\d+"
        raises(RuntimeError, words, loss.backward)
    (zero.sqrt() * 0).sum().backward()  # outside, as usual


# Depth and memory ------------------------------------------------------------------------------------------


def test_chains_of_20_000_ops() -> None:
    x = leaf(1.0)
    y = changed = x * 1
    for _ in range(20_000):
        y = y + 1e-5
    y.backward()
    for _ in range(20_000):
        changed += 1e-5
    changed.backward()
    assert x.grad.item() == 2


def test_a_second_order_chain() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(2000):
        y = y * 1.0001
    (g,) = grad((y * y).sum(), x, create_graph=True)
    g.backward()
    assert_close(x.grad, [2 * 1.0001**4000], 1e-3)


def test_float32_gradients_stay_float32() -> None:
    x = minigrad.randn(3, 4, requires_grad=True)
    y = (x / np.sqrt(4) * np.float64(2) + 1.5).softmax(-1).log().mean() * 2
    assert y.dtype is minigrad.float32
    y.backward()
    assert x.grad.dtype is minigrad.float32
    x.double().sum().backward()
    x.backward(minigrad.ones(3, 4, dtype=minigrad.float64))
    assert x.grad.dtype is minigrad.float32


def test_a_float_turned_to_ints_has_no_history() -> None:
    x = leaf(1.5, 2.5)
    for result in (x.long(), x.to(minigrad.int32), x > 1, x.bool(), x.argmax(), x.max(0).indices, x.sort().indices):
        assert not result.requires_grad and result.is_leaf


AT_KINKS: list[tuple[Any, Any]] = [
    *((lambda t, x, e=e: x**e, np.array([0.0, 2.0])) for e in (0, 1, 2, 3, 2.0, 0.5, 1.5)),
    (lambda t, x: x.norm(), np.zeros(3)),
    (lambda t, x: x.norm(dim=0), np.zeros(3)),
    (lambda t, x: x.std(), np.zeros(3)),
    (lambda t, x: x.norm(1), np.zeros(3)),
    (lambda t, x: x[0] ** x[1], np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]])),
]
TIES: list[Any] = [
    lambda t, x: x.amax(1),
    lambda t, x: x.max(),
    lambda t, x: x.amin(),
    lambda t, x: x.min(),
    lambda t, x: t.maximum(x, x.detach() * 1),
    lambda t, x: t.minimum(x * 1, x),
    lambda t, x: (x - 2).relu(),
    lambda t, x: (x - 2).abs(),
    lambda t, x: x.clamp(2.0, 3.0),
    lambda t, x: x.max(dim=1)[0],
]


@cases("program, values", [*AT_KINKS, *((tie, np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])) for tie in TIES)])
def test_ties_powers_and_norms_at_zero_have_pytorchs_gradients(program: Any, values: Any) -> None:
    agree(program, values)
