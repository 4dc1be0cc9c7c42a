"""Explanations: the chain of rules as text, its numbers, and its messages when numbers are missing."""

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
    """w, h and a loss that reads h twice: loss = Σ h², h = tanh(w)."""
    w = minigrad.tensor([0.5, -1.0]).requires_grad_()
    h = w.tanh()
    loss = (h * h).sum()
    return w, h, loss


def lines(explanation: Explanation) -> list[str]:
    return [line.strip() for line in str(explanation).splitlines()]


def test_before_backward_it_says_so_and_shows_rules_without_gradients() -> None:
    w, h, loss = product()  # noqa: RUF059  (the variables are what it finds)
    text = lines(explain(w))
    assert text[:2] == [
        "The gradient of w, input (2,) float32 in loss",
        "No backward pass has run yet, so there is no gradient. These are the rules that it will run.",
    ]
    assert "1  h = tanh, its input x is w" in text
    rule = r"rule +lambda g, x: g \* tanh_grad\(x\) +minigrad/ops/elementwise.py:\d+"
    assert any(re.fullmatch(rule, line) for line in text)
    assert f"x         w (2,) = [{w.tolist()[0]:.4g}, {w.tolist()[1]:.4g}]" in text
    assert "g         the gradient of h (2,)" in text
    assert not any(line.startswith("gives") for line in text)
    assert "h is read 2 times, and these gradients are summed:" in text
    assert "The backward pass begins at loss, whose own gradient is 1." in text
    assert w.grad is None


def test_the_chain_shows_the_engines_numbers() -> None:
    w, h, loss = product()
    h.retain_grad()
    loss.backward(retain_graph=True)
    text = lines(explain(w))
    first, second = (f"{g:.4g}" for g in w.grad.tolist())
    assert text[1:3] == [f"(2,) = [{first}, {second}]", ".grad has the same value."]
    assert f"gives     (2,) = [{first}, {second}]" in text
    above = ", ".join(f"{g:.4g}" for g in h.grad.tolist())
    assert f"g         the gradient of h (2,) = [{above}]" in text
    half = ", ".join(f"{g:.4g}" for g in h.tolist())  # each of the two edges of h * h
    assert text.count(f"gives     (2,) = [{half}]") == 2
    assert h.grad.tolist() == (2 * h).tolist()  # .grad is unchanged by the explanation


def test_a_freed_graph_says_which_numbers_are_missing() -> None:
    w, h, loss = product()
    loss.backward(retain_graph=True)
    loss.backward()
    text = lines(explain(w, of=loss))
    assert text[1].startswith(f".grad has (2,) = [{w.grad.tolist()[0]:.4g}, ") or text[1].startswith("(2,) = [")
    assert "backward(retain_graph=True) keeps intermediate gradients." in text
    assert "1  h = tanh, its input x is w" in text
    message = "It is gone: backward() has freed the graph, and keeps only the gradients of leaves."
    assert lines(explain(h, of=loss))[1] == message
    w, h, loss = product()
    h.retain_grad()
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    text = lines(explain(w, of=loss))
    assert text[2].startswith(".grad has (2,) = [")
    assert text[2].endswith("]: other backward passes added to it, or the program changed it.")


def test_it_ends_at_the_given_depth() -> None:
    w, h, loss = product()  # noqa: RUF059
    assert lines(explain(loss, run=True))[:2] == ["The gradient of loss, op () float32 in loss", "() = 1"]
    text = lines(explain(w, of=loss, run=True))
    assert text[1].startswith("(2,) = [") and text[2] == ".grad is None: no backward() has added it yet."
    assert w.grad is None
    text = lines(explain(w, depth=1))
    assert "… and so on to loss: depth=1 ends here" in text
    assert not any(line.startswith("1.1") for line in text)


def test_a_recorded_graph_adds_lines_and_numbers() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(2)

        def forward(self, x: Any) -> Any:
            h = self.norm(x)
            return h.pow(3).atan2(h).sum()

    graph = record(Net(), (minigrad.tensor([[1.0, 2.0], [3.0, 5.0]]),))
    text = lines(explain("norm.weight", of=graph))
    step = next(line for line in text if line.startswith("1  "))
    assert step.startswith("1  h = layer_norm, its input weight is norm.weight    tests/viz/test_explain.py:")
    assert step.endswith(": h = self.norm(x)")
    kernel = r"kernel +minigrad/backend/kernels/layer_norm_numba.py:\d+ computes the same result"
    assert any(re.fullmatch(kernel, line) for line in text) == bool(of(np.empty(0)).kernels("layer_norm"))
    if REGISTRY["layer_norm"].rules:  # the formula, and then the rule
        place = next(i for i, line in enumerate(text) if line.startswith("gradient  d"))
        assert text[place + 1].startswith("rule      ")
    assert any("_over_square is at minigrad/ops/elementwise.py:" in line for line in text)
    assert "b         3" in text  # an argument that is not a tensor


def test_a_users_function_shows_its_backward() -> None:
    x = minigrad.tensor([2.0]).requires_grad_()
    text = lines(explain(x, of=Cube.apply(Cube.apply(x)), run=True))
    assert "formula   x³" in text and "gives     (1,) = [192]" in text
    assert text.count("return 3 * x * x * grad") == 2


def test_numbers_are_in_the_brackets_of_their_shape() -> None:
    for array, expected in [
        (np.float32(2.0), "() = 4"),
        (np.ones((2, 1, 2)), "(2, 1, 2) = [[[2, 2]], [[2, 2]]]"),
        (np.zeros((2, 0)), "(2, 0) = [[], []]"),
        (np.zeros((0, 2)), "(0, 2) = []"),
        (np.linspace(-1, 1, 1000), "(1000,) with min -2, max 2, norm 36.55"),
    ]:
        x = minigrad.tensor(array).requires_grad_()
        assert lines(explain(x, of=(x * x).sum(), run=True))[1] == expected
    for derivative, expected in [
        (np.full(20, np.nan), "(20,) with 20 not finite"),
        (np.array([np.inf, np.nan, 3, *[0] * 17]), "(20,) with min 0, max 3, norm 3, 2 not finite"),
        (np.array([3e200, 4e200] + [0] * 98), "(100,) with min 0, max 4e+200, norm 5e+200"),
    ]:
        x = minigrad.ones(len(derivative), dtype=minigrad.float64).requires_grad_()
        assert lines(explain(x, of=(x * minigrad.tensor(derivative)).sum(), run=True))[1] == expected
    z = minigrad.tensor([3 + 4j]).requires_grad_()
    text = lines(explain(z, of=(z * z.conj()).real.sum(), run=True))
    assert text[1] == "(1,) = [6+8j]" and "b         the result of conj (1,) = [3-4j]" in text


def test_each_of_several_results_has_its_own_gradient() -> None:
    x = minigrad.tensor([1.0, 2.0]).requires_grad_()
    low, high = (x * 1).split(1)
    loss = (low * high + high * 3).sum()
    text = lines(explain(low, of=loss, run=True))
    assert text[:2] == ["The gradient of result 1 of low, high, op (1,) float32 in loss", "(1,) = [2]"]
    assert "1  mul, its input a is result 1 of low, high" in text
    text = lines(explain(high, of=loss, run=True))
    assert text[1] == "It is the sum of the results of the rules below."
    assert "result 2 of low, high is read 2 times, and these gradients are summed:" in text
    high.retain_grad()
    loss.backward(retain_graph=True)
    assert lines(explain(high, of=loss))[1] == "(1,) = [4], as stored in .grad"
    text = lines(explain(x, of=loss))
    assert "low, high is read 3 times, and for each result these gradients are summed:" in text
    assert "g         the gradient of result 1 of low, high (1,) = [2]" in text


def test_it_says_so_if_no_rule_gives_a_gradient() -> None:
    x, y = minigrad.ones(1).requires_grad_(), minigrad.ones(1).requires_grad_()
    loss = (Nothing.apply(x) * y).sum()
    text = lines(explain(x, of=loss, run=True))
    assert text[1] == "It does not exist: no rule returns one." and "gives     nothing" in text
    loss.backward()
    assert lines(explain(x, of=loss))[1].startswith(".grad is None: no rule returned one")


def test_hooks_that_may_have_changed_a_gradient_are_listed() -> None:
    def tenfold(g: Any) -> Any:
        return g * 10

    w, h, loss = product()
    h.retain_grad()  # not a hook of the program
    assert "ooks" not in str(explain(h, of=loss))
    w.register_hook(tenfold)
    loss.backward(retain_graph=True)
    text = lines(explain(w, of=loss))
    assert text[2].startswith("Hooks get the sum of the results of the rules below, and may change it: ")
    assert "tenfold" in text[2] and text[3] == ".grad has the same value."
    h.register_hook(tenfold)
    text = lines(explain(w, of=loss))
    assert any(t.startswith("g         the gradient of h (2,) = [") and "], after hooks: " in t for t in text)


def test_a_tensor_that_is_read_often_stays_short() -> None:
    w = minigrad.tensor([0.5]).requires_grad_()
    h = minigrad.ones(1)
    for _ in range(300):
        h = (h * w).tanh()
    text = lines(explain(w, of=h.sum(), run=True))
    assert f"w is read 300 times, and these gradients are summed (the first {READS} of them):" in text
    steps = [line for line in text if re.match(r"[\d.]+  ", line)]
    assert len(steps) <= 24 and sum("." not in step.split("  ")[0] for step in steps) == READS
    assert len(text) < 200


def test_a_leaf_without_a_result() -> None:
    w = minigrad.ones(2).requires_grad_()
    text = lines(explain(w))
    assert text[0] == "No backward pass yet: .grad is None."
    assert text[1].endswith("explain(tensor, of=loss).")
    (w * 3).sum().backward()
    assert lines(explain(w))[0] == ".grad has (2,) = [3, 3]."


def test_it_prints_itself_and_is_shown_as_text_in_a_notebook() -> None:
    explanation = Explanation("<b>&</b>")
    assert str(explanation) == repr(explanation) == "<b>&</b>"
    assert explanation._repr_html_() == "<pre>&lt;b&gt;&amp;&lt;/b&gt;</pre>"
    layer, x = nn.Linear(2, 1), minigrad.ones(1, 2)
    for view in (viz.graph(layer, x), viz.playback(layer, x)):
        assert lines(explain("weight", of=view))[1] == "(1, 2) = [[1, 1]]"


def test_control_characters_are_removed() -> None:
    evil = "evil\x1b[2J\r\t\u202e"

    evil_function = type(evil, (Cube,), {"__doc__": evil + "x" * 1000})
    x = minigrad.ones(1).requires_grad_()
    text = str(explain(x, of=evil_function.apply(x), run=True))
    assert "evil�[2J�" in text
    assert all(line.isprintable() and len(line) < 320 for line in text.split("\n"))


def test_errors_say_why_a_tensor_cannot_be_explained() -> None:
    w, h, loss = product()  # noqa: RUF059
    graph = record(nn.Linear(1, 1), (minigrad.ones(1, 1),))
    for arguments, options, error, message in [
        ((minigrad.ones(2),), {}, RuntimeError, "does not require a gradient"),
        ((minigrad.ones(2).requires_grad_(),), {"of": loss}, RuntimeError, "is not in the graph"),
        (("w",), {}, TypeError, "a name in a graph .of=viz.graph.*, not 'w'"),
        ((w,), {"of": graph}, TypeError, "a graph keeps only names"),
        (("wieght",), {"of": graph}, RuntimeError, "no 'wieght' in the graph of Linear; there is 'weight'"),
        ((3,), {}, TypeError, "a tensor, or a name in a graph .*, not 3"),
        ((nn.Linear(1, 1),), {}, TypeError, "a tensor, or a name in a graph .*, not Linear"),
        ((w, loss), {}, TypeError, "pass the tensor to differentiate as of="),
        ((w,), {"of": 3}, TypeError, r"of=… takes a tensor or a graph, not int"),
        ((w,), {"of": minigrad.ones(2)}, RuntimeError, "no recorded op created this tensor"),
    ]:
        raises(error, message, partial(explain, *arguments, **options))
