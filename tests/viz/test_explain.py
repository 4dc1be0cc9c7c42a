"""Explanations: the chain of rules in text, its numbers, and what it says where there are none."""

import re
from functools import partial
from typing import Any

import numpy as np

import minigrad
from minigrad import nn, viz
from minigrad.backend import of
from minigrad.compat.ops.registry import REGISTRY
from minigrad.viz.explain import READS, Explanation, explain
from tests.support.cases import raises
from tests.support.functions import Cube, Nothing
from tests.support.graphs import record


def product() -> tuple[Any, Any, Any]:
    """w of a loss that reads it twice by way of h: loss = Σ h², h = tanh(w)."""
    w = minigrad.tensor([0.5, -1.0]).requires_grad_()
    h = w.tanh()
    loss = (h * h).sum()
    return w, h, loss


def lines(told: Explanation) -> list[str]:
    return [line.strip() for line in str(told).splitlines()]


def test_before_a_backward_it_says_so_and_tells_rules_without_gradients() -> None:
    w, h, loss = product()  # noqa: RUF059  (the variables are what it finds)
    told = lines(explain(w))
    assert told[:2] == [
        "The gradient of w, input (2,) float32 in loss",
        "No backward has run yet, so there is no gradient: these are the rules that it will run.",
    ]
    assert "1  h = tanh, its input x is w" in told
    rule = r"rule +lambda g, x: g \* tanh_slope\(x\) +minigrad/ops/elementwise.py:\d+"
    assert any(re.fullmatch(rule, line) for line in told)
    assert f"x         w (2,) = [{w.tolist()[0]:.4g}, {w.tolist()[1]:.4g}]" in told
    assert "g         the gradient of h (2,)" in told
    assert not any(line.startswith("gives") for line in told)
    assert "h is read 2 times, and these gradients are summed:" in told
    assert "Backward begins at loss, whose own gradient is 1." in told
    assert w.grad is None


def test_the_chain_has_the_engines_numbers() -> None:
    w, h, loss = product()
    h.retain_grad()
    loss.backward(retain_graph=True)
    told = lines(explain(w))
    first, second = (f"{g:.4g}" for g in w.grad.tolist())
    assert told[1:3] == [f"(2,) = [{first}, {second}]", ".grad holds the same."]
    assert f"gives     (2,) = [{first}, {second}]" in told
    above = ", ".join(f"{g:.4g}" for g in h.grad.tolist())
    assert f"g         the gradient of h (2,) = [{above}]" in told
    half = ", ".join(f"{g:.4g}" for g in h.tolist())  # each of the two edges of h * h
    assert told.count(f"gives     (2,) = [{half}]") == 2
    assert h.grad.tolist() == (2 * h).tolist()  # what has been looked at is not added to


def test_a_freed_graph_says_what_is_gone() -> None:
    w, h, loss = product()
    loss.backward(retain_graph=True)
    loss.backward()
    told = lines(explain(w, of=loss))
    assert told[1].startswith(f".grad has (2,) = [{w.grad.tolist()[0]:.4g}, ") or told[1].startswith("(2,) = [")
    assert "backward(retain_graph=True) keeps intermediate gradients." in told
    assert "1  h = tanh, its input x is w" in told
    gone = "It is gone: backward() has freed the graph, and keeps only the gradients of leaves."
    assert lines(explain(h, of=loss))[1] == gone
    w, h, loss = product()
    h.retain_grad()
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    told = lines(explain(w, of=loss))
    assert told[2].startswith(".grad has (2,) = [")
    assert told[2].endswith("]: other backward passes added to it, or the program changed it.")


def test_it_ends_at_the_depth_that_was_asked_for() -> None:
    w, h, loss = product()  # noqa: RUF059
    assert lines(explain(loss, run=True))[:2] == ["The gradient of loss, op () float32 in loss", "() = 1"]
    told = lines(explain(w, of=loss, run=True))
    assert told[1].startswith("(2,) = [") and told[2] == ".grad is None: no backward() has added it yet."
    assert w.grad is None
    told = lines(explain(w, depth=1))
    assert "… and so on to loss: depth=1 ends here" in told
    assert not any(line.startswith("1.1") for line in told)


def test_of_a_recorded_graph_it_knows_lines_and_numbers() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(2)

        def forward(self, x: Any) -> Any:
            h = self.norm(x)
            return h.pow(3).atan2(h).sum()

    graph = record(Net(), (minigrad.tensor([[1.0, 2.0], [3.0, 5.0]]),))
    told = lines(explain("norm.weight", of=graph))
    step = next(line for line in told if line.startswith("1  "))
    assert step.startswith("1  h = layer_norm, its input weight is norm.weight    tests/viz/test_explain.py:")
    assert step.endswith(": h = self.norm(x)")
    kernel = r"kernel +minigrad/backend/kernels/layer_norm_numba.py:\d+ computes the same"
    assert any(re.fullmatch(kernel, line) for line in told) == bool(of(np.empty(0)).kernels("layer_norm"))
    if REGISTRY["layer_norm"].rules:  # the formula, and then the rule
        place = next(i for i, line in enumerate(told) if line.startswith("gradient  d"))
        assert told[place + 1].startswith("rule      ")
    assert any("_over_square is at minigrad/ops/elementwise.py:" in line for line in told)
    assert "b         3" in told  # an argument that is no tensor


def test_a_users_function_shows_its_backward() -> None:
    x = minigrad.tensor([2.0]).requires_grad_()
    told = lines(explain(x, of=Cube.apply(Cube.apply(x)), run=True))
    assert "formula   x³" in told and "gives     (1,) = [192]" in told
    assert told.count("return 3 * x * x * grad") == 2


def test_numbers_stand_in_the_brackets_of_their_shape() -> None:
    for array, expected in [
        (np.float32(2.0), "() = 4"),
        (np.ones((2, 1, 2)), "(2, 1, 2) = [[[2, 2]], [[2, 2]]]"),
        (np.zeros((2, 0)), "(2, 0) = [[], []]"),
        (np.zeros((0, 2)), "(0, 2) = []"),
        (np.linspace(-1, 1, 1000), "(1000,) with min -2, max 2, norm 36.55"),
    ]:
        x = minigrad.tensor(array).requires_grad_()
        assert lines(explain(x, of=(x * x).sum(), run=True))[1] == expected
    for slope, expected in [
        (np.full(20, np.nan), "(20,) with 20 not finite"),
        (np.array([np.inf, np.nan, 3, *[0] * 17]), "(20,) with min 0, max 3, norm 3, 2 not finite"),
        (np.array([3e200, 4e200] + [0] * 98), "(100,) with min 0, max 4e+200, norm 5e+200"),
    ]:
        x = minigrad.ones(len(slope), dtype=minigrad.float64).requires_grad_()
        assert lines(explain(x, of=(x * minigrad.tensor(slope)).sum(), run=True))[1] == expected
    z = minigrad.tensor([3 + 4j]).requires_grad_()
    told = lines(explain(z, of=(z * z.conj()).real.sum(), run=True))
    assert told[1] == "(1,) = [6+8j]" and "b         the result of conj (1,) = [3-4j]" in told


def test_of_several_results_each_has_its_own_gradient() -> None:
    x = minigrad.tensor([1.0, 2.0]).requires_grad_()
    low, high = (x * 1).split(1)
    loss = (low * high + high * 3).sum()
    told = lines(explain(low, of=loss, run=True))
    assert told[:2] == ["The gradient of result 1 of low, high, op (1,) float32 in loss", "(1,) = [2]"]
    assert "1  mul, its input a is result 1 of low, high" in told
    told = lines(explain(high, of=loss, run=True))
    assert told[1] == "It is the sum of the results of the rules below."
    assert "result 2 of low, high is read 2 times, and these gradients are summed:" in told
    high.retain_grad()
    loss.backward(retain_graph=True)
    assert lines(explain(high, of=loss))[1] == "(1,) = [4], as .grad has it"
    told = lines(explain(x, of=loss))
    assert "low, high is read 3 times, and for each result these gradients are summed:" in told
    assert "g         the gradient of result 1 of low, high (1,) = [2]" in told


def test_where_no_rule_gives_a_gradient_it_says_so() -> None:
    x, y = minigrad.ones(1).requires_grad_(), minigrad.ones(1).requires_grad_()
    loss = (Nothing.apply(x) * y).sum()
    told = lines(explain(x, of=loss, run=True))
    assert told[1] == "It does not exist: no rule returns one." and "gives     nothing" in told
    loss.backward()
    assert lines(explain(x, of=loss))[1].startswith(".grad is None: no rule returned one")


def test_hooks_that_may_have_changed_a_gradient_are_told() -> None:
    def tenfold(g: Any) -> Any:
        return g * 10

    w, h, loss = product()
    h.retain_grad()  # is no hook of the program
    assert "ooks" not in str(explain(h, of=loss))
    w.register_hook(tenfold)
    loss.backward(retain_graph=True)
    told = lines(explain(w, of=loss))
    assert told[2].startswith("Hooks get the sum of the results of the rules below, and may change it: ")
    assert "tenfold" in told[2] and told[3] == ".grad holds the same."
    h.register_hook(tenfold)
    told = lines(explain(w, of=loss))
    assert any(t.startswith("g         the gradient of h (2,) = [") and "], after hooks: " in t for t in told)


def test_a_tensor_that_is_read_often_stays_short() -> None:
    w = minigrad.tensor([0.5]).requires_grad_()
    h = minigrad.ones(1)
    for _ in range(300):
        h = (h * w).tanh()
    told = lines(explain(w, of=h.sum(), run=True))
    assert f"w is read 300 times, and these gradients are summed (the first {READS} of them):" in told
    steps = [line for line in told if re.match(r"[\d.]+  ", line)]
    assert len(steps) <= 24 and sum("." not in step.split("  ")[0] for step in steps) == READS
    assert len(told) < 200


def test_a_leaf_that_nothing_here_was_computed_from() -> None:
    w = minigrad.ones(2).requires_grad_()
    told = lines(explain(w))
    assert told[0] == "No backward has run yet: .grad is None."
    assert told[1].endswith("explain(tensor, of=loss).")
    (w * 3).sum().backward()
    assert lines(explain(w))[0] == ".grad has (2,) = [3, 3]."


def test_it_prints_itself_and_is_shown_as_text_in_a_notebook() -> None:
    told = Explanation("<b>&</b>")
    assert str(told) == repr(told) == "<b>&</b>"
    assert told._repr_html_() == "<pre>&lt;b&gt;&amp;&lt;/b&gt;</pre>"
    layer, x = nn.Linear(2, 1), minigrad.ones(1, 2)
    for view in (viz.graph(layer, x), viz.playback(layer, x)):
        assert lines(explain("weight", of=view))[1] == "(1, 2) = [[1, 1]]"


def test_nothing_that_a_terminal_obeys_is_passed_through() -> None:
    evil = "evil\x1b[2J\r\t\u202e"

    named = type(evil, (Cube,), {"__doc__": evil + "x" * 1000})
    x = minigrad.ones(1).requires_grad_()
    text = str(explain(x, of=named.apply(x), run=True))
    assert "evil�[2J�" in text
    assert all(line.isprintable() and len(line) < 320 for line in text.split("\n"))


def test_what_cannot_be_explained_says_why() -> None:
    w, h, loss = product()  # noqa: RUF059
    graph = record(nn.Linear(1, 1), (minigrad.ones(1, 1),))
    for arguments, options, error, message in [
        ((minigrad.ones(2),), {}, RuntimeError, "requires no gradient"),
        ((minigrad.ones(2).requires_grad_(),), {"of": loss}, RuntimeError, "is not in the graph"),
        (("w",), {}, TypeError, "a name in a graph .of=viz.graph.*, not 'w'"),
        ((w,), {"of": graph}, TypeError, "a graph keeps only names"),
        (("wieght",), {"of": graph}, RuntimeError, "no 'wieght' in the graph of Linear; there is 'weight'"),
        ((3,), {}, TypeError, "a tensor, or a name in a graph .*, not 3"),
        ((nn.Linear(1, 1),), {}, TypeError, "a tensor, or a name in a graph .*, not Linear"),
        ((w, loss), {}, TypeError, "pass the differentiated tensor as of="),
        ((w,), {"of": 3}, TypeError, r"of=… takes a tensor or a graph, not int"),
        ((w,), {"of": minigrad.ones(2)}, RuntimeError, "no recorded op created this tensor"),
    ]:
        raises(error, message, partial(explain, *arguments, **options))
