"""The backward pass step by step: its order, numbers and sums match the engine."""

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn
from minigrad.autograd import Function
from minigrad.autograd.walk import nodes_behind
from minigrad.viz.graph import graph
from minigrad.viz.graph.graph_data import value_of
from minigrad.viz.playback import playback
from tests.support.browser import texts
from tests.support.cases import raises
from tests.support.functions import Nothing
from tests.support.graphviz import needs_dot

SVG = "{http://www.w3.org/2000/svg}"
WIDE, READY = {"width": 1300, "height": 900}, "[data-ready]"


class Net(nn.Module):
    """A net with a residual connection: h gets gradients from two rules, and a weight is read twice."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 4)
        self.outer = nn.Linear(4, 4, bias=False)

    def forward(self, x: Any) -> Any:
        h = self.inner(x)
        mixed = h + torch.tanh(self.outer(h)) * self.outer.weight.sum()
        return (mixed * mixed).mean()


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net()


def table(value: Any) -> Any:
    return np.array(value.table)


def name(played: Any, number: int) -> str:
    node = played.graph.nodes[number]
    return node.op if node.kind == "op" else node.name


def test_order_and_numbers_match_the_engine(net: Net) -> None:
    x = torch.randn(2, 3)
    played = playback(net, x)
    assert all(p.grad is None for p in net.parameters())
    loss = net(x)
    order = [node.op.name for node in sorted(nodes_behind((loss,)), key=lambda node: -node.order)]  # the latest first
    assert [name(played, step.node) for step in played.steps] == order and len(played) == len(order)
    (arrived,) = played.steps[0].arrived.values()
    assert arrived.table == [[1.0]] and played.steps[0].seconds > 0
    loss.backward()
    totals = {name(played, d.target): d for step in played.steps for d in step.deliveries}
    for path, parameter in net.named_parameters():
        last = totals[path]
        assert last.count == last.of
        np.testing.assert_array_equal(table(last.total).reshape(parameter.shape), parameter.grad.numpy(), path)
    assert totals["outer.weight"].of == 2 and totals["inner.bias"].of == 1


def test_sums_grow_in_order(net: Net) -> None:
    played = playback(net, torch.randn(2, 3))
    sums: dict[tuple[int, int], Any] = {}
    counts: dict[tuple[int, int], int] = {}
    nodes = played.graph.nodes
    for step in played.steps:
        for slot, value in step.arrived.items():
            if (step.node, slot) in sums:  # all its gradients have arrived
                np.testing.assert_array_equal(sums[step.node, slot], table(value))
        for d in step.deliveries:
            key = d.target, d.slot
            addend = np.array(d.gradient.table, np.float32)
            sums[key] = sums[key] + addend if key in sums else addend
            counts[key] = counts.get(key, 0) + 1
            assert d.count == counts[key]
            np.testing.assert_array_equal(np.array(d.total.table, np.float32), sums[key])
            assert d.target < step.node  # inputs are older
    assert {d.of for step in played.steps for d in step.deliveries if nodes[d.target].name == "h"} == {2}
    assert len([d for step in played.steps for d in step.deliveries if d.of in (2, 3)]) >= 4


def test_invalid_arguments() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    freed = w * w
    freed.sum().backward()

    def step() -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss

    for arguments, error, message in [
        ((torch.ones(2),), RuntimeError, "no recorded op created this tensor"),
        ((torch.ones(2), torch.ones(2)), TypeError, "only a tensor, or a module or function and its inputs"),
        ((3,), TypeError, "a tensor, a module or a function, not int"),
        ((lambda x: x, torch.ones(2)), RuntimeError, "nothing that <lambda> returned requires a gradient"),
        ((freed,), RuntimeError, r"backward\(\) has freed this graph.*retain_graph=True"),
        ((step,), RuntimeError, "or a function that does not run backward itself"),
    ]:
        raises(error, message, partial(playback, *arguments))


def test_several_results_hooks_and_a_rule_that_gives_nothing() -> None:
    class Half(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * 0.5

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 0.5, None

    def loss(x: Any) -> Any:
        low, high = torch.split(x * 1.0, 1)
        high.register_hook(lambda g: g * 10)
        return (Half.apply(high, x) + low).sum()

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g * 10)
    played = playback(loss, x)
    steps = {name(played, step.node): step for step in played.steps}
    assert [d.input for d in steps["Half"].deliveries] == ["x"]
    assert "lambda" in played.graph.nodes[steps["split"].node].attributes["hooks"]
    (last,) = played.steps[-1].deliveries
    assert last.gradient.table == last.total.table == [[1.0, 5.0]]
    assert last.count == last.of == 1  # Half gave x nothing, so x does not wait for it
    (leaf,) = (node for node in played.graph.nodes if node.name == "x")
    assert leaf.gradient.table == [[10.0, 50.0]] and "lambda" in leaf.attributes["hooks"]  # applied after the sum


def test_the_sum_of_a_shared_leaf_grows_as_in_the_engine() -> None:
    for dtype, shape in (("float16", (9, 9)), ("float32", ()), ("float64", (0, 3)), ("complex64", (2,))):
        torch.manual_seed(1)
        w = torch.randn(shape, dtype=getattr(torch, dtype)).requires_grad_()
        loss = (w * w * 300 + w).sum().abs()
        played = playback(loss)
        assert w.grad is None
        deliveries = [d for step in played.steps for d in step.deliveries if d.target == 0]
        assert [d.count for d in deliveries] == [1, 2, 3] and {d.of for d in deliveries} == {3}
        loss.backward()
        last = deliveries[-1].total
        assert last == played.graph.nodes[0].gradient == value_of(w.grad.array)
        assert (last.shape, last.dtype) == (shape, dtype)
    w = torch.tensor([60000.0, 0.0], dtype=torch.float16, requires_grad=True)
    with np.errstate(all="ignore"):
        loss = (w * w + w * math.inf - w * math.inf).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        played = playback(loss)
    totals = [d.total.table for step in played.steps for d in step.deliveries if d.target == 0]
    np.testing.assert_array_equal(totals[0] + totals[-1], [[-math.inf, -math.inf], [math.nan, math.nan]])


def test_a_differentiable_gradient_and_a_rule_that_gives_nothing() -> None:
    w = torch.tensor([2.0], requires_grad=True)
    loss = (w**3).sum()
    loss.backward(create_graph=True)
    played = playback(w.grad.sum())
    assert played.steps[-1].deliveries[-1].total.table == [[12.0]]  # 6 w
    assert len(playback(loss)) == 2 and w.grad.tolist() == [12.0]  # 3 w², once
    played = playback(Nothing.apply(w * 2).sum())
    assert [name(played, step.node) for step in played.steps] == ["sum", "Nothing"]
    assert played.steps[-1].deliveries == ()


@needs_dot
def test_a_picture_of_each_step(net: Net) -> None:
    """The step's node is highlighted and its edges are thick; nodes that have not run have no gradient yet."""
    played = playback(net, torch.ones(1, 3))
    count, gradients = len(played), []
    raises(ValueError, rf"there is no step {count + 1}: .* from 0 to {count}", lambda: played.svg(count + 1))
    for number in range(count + 1):
        root = ElementTree.fromstring(played.svg(number))
        strokes = [node.attrib for node in root.iter(f"{SVG}path")]
        assert any("stroke-dasharray" in look for look in strokes) == (number < count)  # waiting nodes
        thick = {group.get("id") for group in root.iter(f"{SVG}g") if group.find("*[@stroke-width='2.2']") is not None}
        step = played.steps[max(number - 1, 0)]
        assert {key for key in thick if key[0] == "n"} == {f"n{step.node}"}
        assert (len(thick) > 1) == (number > 0)  # including edges
        words = [text.replace("\xa0", " ") for text in root.itertext()]
        gradients.append(sum("∇" in text for text in words))
        if not number:
            assert "Before the backward pass" in words and not [text for text in words if "∇" in text and text != "∇ 1"]
            continue
        assert f"step {number} of {count}" in " ".join(words)
        formulas = played.graph.ops[played.graph.nodes[step.node].op].gradients
        assert all(any(formulas[d.input] in text for text in words) for d in step.deliveries)
        assert sum(" have arrived" in text for text in words) == sum(d.of > 1 for d in step.deliveries)
    assert gradients == sorted(gradients) and gradients[0] < gradients[-1]
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)) for _ in range(30)))
    folded = playback(lambda x: layers(x).sum(), torch.ones(1, 2))
    first = f'id="n{folded.steps[-1].node}"'
    assert first not in folded.svg(1) and first in folded.svg()  # a step inside a closed box opens it


@needs_dot
def test_a_picture_joins_all_leaves_to_their_ops(net: Net) -> None:
    """This includes the input, which gets no gradient, as in the graph's picture."""
    x = torch.ones(1, 3)
    for svg in (playback(net, x).svg(2), graph(net, x).svg()):
        lines = [group for group in ElementTree.fromstring(svg).iter(f"{SVG}g") if group.get("class") == "edge"]
        assert len(lines) == len({(edge.source, edge.target) for edge in graph(net, x).graph.edges})


def test_step_by_step(opened: Callable[..., Any], net: Net) -> None:
    played = playback(net, torch.randn(2, 3))
    page = opened(played, viewport=WIDE)
    rows = "rows => rows.map(row => [...row.cells].map(cell => Number(cell.title)))"
    for number, step in enumerate(played.steps, 1):
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#at") == f"step {number} of {len(played)}"
        op = played.graph.ops[played.graph.nodes[step.node].op]
        assert page.inner_text("#name").startswith(op.name)
        (arrived,) = step.arrived.values()
        assert page.eval_on_selector_all("#arrives tr", rows) == arrived.table
        assert texts(page, ".out h3 code") == [d.input for d in step.deliveries]
        for place, d in enumerate(step.deliveries):
            box = f".out >> nth={place} >> .value >> nth="
            assert page.locator(f"{box}0").locator("tr").evaluate_all(rows) == d.gradient.table
            text = page.inner_text(f".out >> nth={place}")
            if d.of > 1:
                assert f"{d.count} of {d.of}" in text
            if d.count > 1:
                assert page.locator(f"{box}1").locator("tr").evaluate_all(rows) == d.total.table
            waits = d.of - d.count
            assert (f"waits for {waits} more" if waits else "complete") in text
        notes = [f"{d.count} of {d.of} have arrived" for d in step.deliveries if d.of > 1]
        assert sorted(page.locator("#around .note").all_text_contents()) == sorted(notes)
        rule = page.inner_text("#rule")
        assert "``" not in page.inner_text("main")
        for d in step.deliveries:
            source, formula = op.rules[d.input], op.gradients[d.input]
            assert rule.index(formula) < rule.rindex(f"{source.file}:{source.line}")
        assert ("its kernel" in rule) == (op.kernel is not None)
        assert page.locator(".wire.done").count() >= len(step.deliveries)
        tops = page.eval_on_selector_all(
            "#around .box rect", "boxes => boxes.map(box => Number(box.getAttribute('y')))"
        )
        here = tops[page.eval_on_selector_all("#around .box", "boxes => boxes.findIndex(b => b.matches('.now'))")]
        inputs = sum(edge.target == step.node for edge in played.graph.edges)  # inputs above, readers below
        assert [top < here for top in tops] == [i < inputs for i in range(len(tops))] and min(tops) >= 0
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#at") == f"step {len(played) - 1} of {len(played)}"


def test_controls_list_links_and_the_end(opened: Callable[..., Any], net: Net) -> None:
    played = playback(net, torch.randn(2, 3))
    page = opened(played, viewport=WIDE)
    page.keyboard.press("End")
    assert page.inner_text("#at") == "the end" and page.is_disabled("#on")
    assert sorted(texts(page, "#leaves .name")) == sorted(path for path, _ in net.named_parameters())
    page.click("#leaves summary >> nth=0")
    leaf = int(page.get_attribute("#leaves details >> nth=0", "data-leaf"))
    cells = page.locator("#leaves details >> nth=0").locator("td")
    cells.first.wait_for()  # created when the list opens
    rows = cells.evaluate_all("c => c.map(x => Number(x.title))")
    np.testing.assert_array_equal(rows, table(played.graph.nodes[leaf].gradient).ravel())
    for act, step in (
        (lambda: page.click("[data-step='2']"), 2),
        (lambda: page.click(".out .link >> nth=0"), 3),
        (lambda: page.click("#back"), 2),
        (lambda: page.click("#around .box.link >> nth=-1"), 1),
        (lambda: page.fill("#step", "4"), 4),
    ):
        act()
        assert page.inner_text("#at") == f"step {step} of {len(played)}"
        assert page.input_value("#step") == str(step)
    page.fill("#step", str(len(played)))
    page.click("#play")
    page.wait_for_selector("#at:text-is('the end')")
    page.click("#first")
    assert page.inner_text("#at") == "no backward yet"
