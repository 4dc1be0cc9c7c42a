"""Hooks on nodes, on accumulation and on several gradients, gradients from and to edges, nested backward passes, and
versions, as in PyTorch."""

from typing import Any

import minigrad as mg
from tests.support.cases import cases, raises


def test_hooks_on_a_node_see_and_replace_gradients(t: Any) -> None:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * t.tensor([3.0, 4.0])
    gradients: list[Any] = []

    def last(inputs: Any, outputs: Any) -> Any:
        gradients.append([[None if g is None else g.tolist() for g in gs] for gs in (inputs, outputs)])
        return inputs[0] * 10, inputs[1]

    before = y.grad_fn.register_prehook(lambda gradients: (gradients[0] + 1,))
    after = y.grad_fn.register_hook(last)
    y.sum().backward(retain_graph=True)
    assert gradients == [[[[6.0, 8.0], None], [[2.0, 2.0]]]] and x.grad.tolist() == [60.0, 80.0]
    before.remove()
    after.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0] and len(gradients) == 1


def test_tensor_hooks_come_before_those_of_the_node(t: Any) -> None:
    x = t.ones(1, requires_grad=True)
    y = x.exp()
    order: list[str] = []
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("node"))
    y.grad_fn.register_prehook(lambda gradients: order.append("before the node"))
    y.register_hook(lambda gradient: order.append("tensor"))
    y.sum().backward()
    assert order == ["tensor", "before the node", "node"]


def test_a_hook_may_change_only_values(t: Any) -> None:
    one, three = t.ones(2), t.ones(3)
    of_nodes = [(1.0,), (), (three,), one, [one]]
    wrong = [("prehook", bad) for bad in of_nodes] + [("hook", bad) for bad in of_nodes]
    wrong += [("tensor", bad) for bad in (three, one.double(), (one,), 1.0)]
    for kind, bad in wrong:
        y = t.ones(2, requires_grad=True).exp()
        owner = y if kind == "tensor" else y.grad_fn
        getattr(owner, "register_prehook" if kind == "prehook" else "register_hook")(lambda *gradients, bad=bad: bad)
        raises((RuntimeError, TypeError), None, y.sum().backward)


def test_a_prehook_may_drop_a_gradient(t: Any) -> None:
    x = t.ones(4, requires_grad=True)
    first, second = x.split(2)
    first.grad_fn.register_prehook(lambda gradients: (None, gradients[1]))
    (first + second).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 1.0]
    x = t.ones(2, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_prehook(lambda gradients: (None,))
    y.sum().backward()
    assert x.grad is None or not x.grad.any()  # PyTorch leaves it out


PLACES: list[Any] = [
    lambda y, hook: y.register_hook(hook),
    lambda y, hook: y.grad_fn.register_hook(hook),
    lambda y, hook: y.grad_fn.next_functions[0][0].register_hook(hook),
    lambda y, hook: y.grad_fn.register_prehook(hook),
]


@cases("register", PLACES)
def test_a_hook_may_remove_itself_and_others(register: Any, t: Any) -> None:
    """Every hook that is registered when the gradient arrives sees it."""
    y, calls, handles = t.ones(2, requires_grad=True).exp(), [], []

    def first(*gradients: Any) -> None:
        calls.append("first")
        for handle in handles:
            handle.remove()

    handles += register(y, first), register(y, lambda *gradients: calls.append("second"))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert calls == ["first", "second"]


def test_hooks_on_the_accumulation_of_a_leaf(t: Any) -> None:
    x = t.ones(2, requires_grad=True)
    y = x * 2
    accumulation = y.grad_fn.next_functions[0][0]
    assert accumulation.name() == "torch::autograd::AccumulateGrad"
    assert accumulation.variable is x and accumulation is (x * 3).grad_fn.next_functions[0][0]
    order: list[Any] = []
    x.register_hook(lambda g: order.append("tensor"))

    def five_times(gradients: Any) -> Any:
        order.append("before")
        return (gradients[0] * 5,)

    accumulation.register_prehook(five_times)
    x.register_post_accumulate_grad_hook(lambda leaf: order.append(leaf.grad.tolist()))
    handle = accumulation.register_hook(lambda inputs, outputs: order.append((len(inputs), outputs[0].tolist())))
    y.sum().backward(retain_graph=True)
    assert order == ["tensor", "before", [10.0, 10.0], (0, [10.0, 10.0])]
    order.clear()
    assert t.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [2.0, 2.0]  # accumulates nothing
    assert order == ["tensor"]
    handle.remove()
    y.sum().backward()
    assert order[-1] == [20.0, 20.0]


def test_several_results_reach_a_hook_together(t: Any) -> None:
    class Twice(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2 + b * 3

    x = t.ones(2, requires_grad=True)
    a, b = Twice.apply(x)
    counts: list[int] = []

    def twice(gradients: Any) -> Any:
        counts.append(len(gradients))
        return tuple(g * 2 for g in gradients)

    a.grad_fn.register_prehook(twice)
    (a + b).sum().backward()
    assert x.grad.tolist() == [10.0, 10.0] and counts == [2]


def test_a_step_within_the_backward_pass(t: Any) -> None:
    """Grad mode is off in the hook, so the hook may change the parameter; with ``create_graph`` it is on."""
    w = t.tensor([1.0, 2.0], requires_grad=True)
    modes: list[bool] = []

    def step(leaf: Any) -> None:
        modes.append(t.is_grad_enabled())
        if not modes[-1]:
            leaf.sub_(leaf.grad, alpha=0.5)
            leaf.grad = None

    w.register_post_accumulate_grad_hook(step)
    (w * w).sum().backward()
    assert w.tolist() == [0.0, 0.0] and w.grad is None and w.requires_grad
    w.sum().backward(create_graph=True)
    assert modes == [False, True]
    bad = t.ones(1, requires_grad=True)
    bad.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    raises(RuntimeError, "hooks should return None", lambda: bad.sum().backward())


def test_create_graph_goes_through_hooks(t: Any) -> None:
    x = t.tensor([2.0], requires_grad=True)
    y = x**3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2,))
    (first,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = t.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (24.0, 24.0)


def test_gradients_for_edges_and_from_them(t: Any) -> None:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    edge = t.autograd.graph.get_gradient_edge(h)
    leaf = t.autograd.graph.get_gradient_edge(x)
    h.mul_(2)
    (before, at_leaf) = t.autograd.grad(h.sum(), [edge, leaf], retain_graph=True)
    assert before.tolist() == [2.0, 2.0]
    assert t.equal(t.autograd.grad(edge, x, t.ones(2) * 2, retain_graph=True)[0], at_leaf)
    total = t.autograd.graph.get_gradient_edge(x.sum())
    assert t.autograd.grad(total, x)[0].tolist() == [1.0, 1.0]
    raises(RuntimeError, "implicitly created only for scalar", lambda: t.autograd.grad(edge, x))
    raises(RuntimeError, "Mismatch in shape", lambda: t.autograd.grad(edge, x, t.ones(3)))
    assert (edge.node.name(), edge.output_nr, leaf.node.variable is x) == ("MulBackward0", 0, True)
    assert leaf.node.name().endswith("AccumulateGrad")
    assert t.autograd.graph.get_gradient_edge(t.stack([x, x]).unbind()[1]).output_nr == 1
    raises(RuntimeError, "gradient edge", lambda: t.autograd.graph.get_gradient_edge(t.ones(1)))
    plain = t.autograd.graph.GradientEdge(h.grad_fn, 0)
    t.autograd.backward(h.sum(), inputs=[plain, leaf])
    assert t.allclose(x.grad, at_leaf)


def test_an_error_far_within_reaches_the_caller() -> None:
    class Down(mg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, depth: Any, x: Any) -> Any:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.depth == 0:
                raise ZeroDivisionError("at the bottom")
            with mg.enable_grad():
                Down.apply(ctx.depth - 1, mg.ones(1, requires_grad=True)).sum().backward()
            return None, g

    raises(ZeroDivisionError, "at the bottom", lambda: Down.apply(20, mg.ones(1, requires_grad=True)).sum().backward())
    assert mg.is_grad_enabled()


@cases("first", ["base", "view"])
def test_retain_grad_before_a_change_through_a_view(t: Any, first: str) -> None:
    x = t.ones(3, requires_grad=True).clone()
    v = x.view(3)
    x.retain_grad()
    v.retain_grad()
    (v if first == "base" else x).mul_(2)
    (x * t.tensor([1.0, 2.0, 3.0])).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    v.sum().backward()
    assert v.grad.tolist() == [1.0, 1.0, 1.0]


def test_an_input_of_backward_gets_its_gradient_once(t: Any) -> None:
    """Even if it is listed twice or retains its gradient."""
    x = t.ones(2, requires_grad=True)
    calls: list[float] = []
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf.grad.sum().item()))
    (x * 2).sum().backward(inputs=[x, x])
    assert x.grad.tolist() == [2.0, 2.0] and calls == [4.0]
    y = x * 3
    y.retain_grad()
    y.sum().backward(inputs=[y, x])
    assert y.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [5.0, 5.0]


def leaves(t: Any, count: int) -> list[Any]:
    return [t.tensor([float(i + 1)], requires_grad=True) for i in range(count)]


def test_a_change_that_autograd_does_not_see(t: Any) -> None:
    (a,) = leaves(t, 1)
    h = a * 2
    out = (h * h).sum()
    t.autograd.graph.increment_version(h)
    raises(RuntimeError, "modified by an inplace", out.backward)
    b, c = leaves(t, 2)
    products = [(x * x).sum() for x in (b, c)]
    t.autograd.graph.increment_version([b, c])
    for product in products:
        raises(RuntimeError, "modified by an inplace", product.backward)
