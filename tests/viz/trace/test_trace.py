"""``viz.trace``: the names of values, and the effects of changing them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, viz
from minigrad.autograd import gradcheck
from minigrad.nn import functional as F
from minigrad.utils._pytree import tree_leaves
from minigrad.utils.checkpoint import checkpoint
from minigrad_models.bert.bert import Bert, Config as BertConfig
from minigrad_models.gpt.gpt2 import GPT2, Config
from tests.support.cases import raises
from tests.support.engine import changed, parts
from tests.support.transformers import sentences, small


class Net(nn.Module):
    """A user's module: a layer called twice, its own function, and an op with a layer's name."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.linear = nn.Linear(3, 4), nn.Linear(4, 4)

    def forward(self, x: Any, scale: Any = 1.0) -> Any:
        hidden = self.first(x).tanh() * scale
        hidden = self.linear(self.linear(hidden))
        return self.mixed(hidden).sum(-1)

    def mixed(self, y: Any) -> Any:
        gate = F.linear(y, self.linear.weight).sigmoid()
        return y * gate


def net() -> Net:
    mg.manual_seed(0)
    return Net()


def gpt() -> GPT2:
    mg.manual_seed(0)
    return GPT2(Config(vocabulary=11, positions=8, d_model=8, heads=2, layers=2)).eval()


TOKENS = [[1, 2, 3, 4], [5, 6, 7, 8]]


def tokens() -> Any:
    return mg.tensor(TOKENS)


def bert() -> Any:
    return Bert(BertConfig(vocabulary=11, positions=8, d_model=8, heads=2, layers=1, d_ff=16))


MODELS: dict[str, Any] = {
    "a user's": lambda: (net(), mg.randn(2, 3)),
    "cnn": lambda: (
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(8, 2)),
        mg.randn(3, 1, 4, 4),
    ),
    "lstm": lambda: (nn.LSTM(3, 4, 2), mg.randn(5, 2, 3)),
    "gpt2": lambda: (gpt(), tokens()),
    "bert": lambda: (bert(), tokens()),
    "translator": lambda: (small(), sentences()[0], sentences()[1][:, :-1]),
    "transformer": lambda: (nn.Transformer(8, 2, 1, 1, 16, batch_first=True), mg.randn(1, 3, 8), mg.randn(1, 2, 8)),
}


def numbers(value: Any) -> np.ndarray[Any, Any]:
    return value.detach().numpy()


def leaves(value: Any) -> list[np.ndarray[Any, Any]]:
    return [numbers(x) for x in tree_leaves(value) if isinstance(x, mg.Tensor)]


@pytest.mark.parametrize("name", MODELS)
def test_a_run_equals_the_call_and_names_are_stable(name: str) -> None:
    """Bitwise, in training mode with dropout; replacing a value with itself changes only rounding."""
    model, *inputs = MODELS[name]()
    viz.trace(model, *inputs)  # triggers lazy imports
    state, before = mg.default_generator.get_state(), parts(model)
    run = viz.trace(model, *inputs)
    assert changed(before, parts(model)) == []
    again = viz.trace(model, *inputs)
    assert list(run) == list(again)
    mg.default_generator.set_state(state)
    for one, other, third in zip(leaves(run.output), leaves(again.output), leaves(model(*inputs)), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
    assert all(isinstance(run[name], mg.Tensor | tuple | list | dict) for name in run)
    fixed = [n for n in run if "input" not in n and not n.startswith(("output[1]", "stack"))]
    for place in fixed[:: max(1, len(fixed) // 6)]:
        edited = run.edited({place: lambda value: value})
        assert list(edited) == list(run)
        for one, other in zip(leaves(edited.output), leaves(run.output), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_names_are_paths_ops_and_inputs() -> None:
    model, x = net(), mg.randn(2, 3)
    run = viz.trace(model, x)
    assert run["input"].array is x.array and run["output"].array is run.output.array
    assert list(run) == [
        *("input", "first.input", "first.linear", "first", "tanh", "mul"),
        *("linear.input", "linear.linear", "linear", "linear 2.input", "linear 2.linear", "linear 2"),
        *("linear 3", "sigmoid", "mul 2", "sum", "output"),
    ]
    np.testing.assert_array_equal(numbers(run["mul"]), numbers(model.first(x).tanh()))
    assert run.names("linear 2*") == ["linear 2.input", "linear 2.linear", "linear 2"]
    assert "first" in run and "second" not in run and len(run) == len(list(run)) == 17
    assert dict(run)["sigmoid"].shape == (2, 4)
    run = viz.trace(net(), mg.ones(1, 3), scale=mg.full((), 2.0))
    assert run["input.scale"].item() == 2 and run["input.x"].array is run["input"].array
    doubled = run.edited({"input.scale": 4.0})
    np.testing.assert_allclose(numbers(doubled["mul"]), 2 * numbers(run["mul"]), rtol=1e-6)
    layer = nn.Linear(3, 2)
    assert {"Linear", "Linear.linear", "relu", "input"} <= set(viz.trace(lambda x: layer(x).relu(), mg.ones(1, 3)))


def test_parts_of_results_have_names() -> None:
    run = viz.trace(nn.LSTM(3, 4), mg.randn(2, 1, 3))
    out, (_, c) = run["output"]
    assert (run["output[0]"].shape, run["output[1][1]"].shape) == (out.shape, c.shape)
    silent = run.edited({"output[1][0]": 0.0})
    assert not silent.output[1][0].any() and (silent.output[0] == out).all() and (silent.output[1][1] == c).all()
    swapped = run.edited({"output": lambda value: (value[0] * 2, value[1])})
    np.testing.assert_allclose(numbers(swapped.output[0]), 2 * numbers(out), rtol=1e-6)
    patched = run.patch("output", swapped)
    np.testing.assert_array_equal(numbers(patched.output[0]), numbers(swapped.output[0]))
    raises(RuntimeError, "the same parts", lambda: run.edited({"output": lambda value: value[:1]}))


def test_attention_has_its_weights() -> None:
    model, x, y = small().eval(), *sentences()
    run = viz.trace(model, x, y)
    place = run.names("*cross_attention.weights")[1]
    weights = run[place]
    assert place == "decoder.1.cross_attention.weights" and weights.shape == (2, 2, 5, 4)
    q, k, v, scores, heads = (run[place.replace("weights", name)] for name in ("q", "k", "v", "scores", "heads"))
    allowed = numbers(scores > -1e9)
    np.testing.assert_allclose(numbers(scores)[allowed], numbers(q @ k.mT / 2**0.5)[allowed], rtol=1e-5)
    np.testing.assert_allclose(numbers(weights @ v), numbers(heads), atol=1e-6)
    assert "decoder.1.cross_attention.weights" in viz.trace(model.loss, *sentences())  # a bound method
    run = viz.trace(nn.Transformer(8, 2, 1, 2, 16, batch_first=True), mg.randn(1, 3, 8), mg.randn(1, 2, 8))
    assert run["decoder.layers.1.multihead_attn.weights"].shape == (1, 2, 2, 3)
    x, layer = mg.randn(2, 5, 8), nn.MultiheadAttention(8, 2, batch_first=True)
    fused = viz.trace(lambda x: layer(x, x, x, need_weights=False)[0], x)
    plain = viz.trace(lambda x: layer(x, x, x)[0], x)
    both = [numbers(run[run.names("*weights")[0]]) for run in (fused, plain)]
    np.testing.assert_allclose(*both, atol=1e-6)


def test_values_outlast_changes_in_place() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True))
    run = viz.trace(model, x := mg.randn(2, 3))
    np.testing.assert_array_equal(numbers(run["0"]), numbers(F.linear(x, model[0].weight, model[0].bias)))
    assert (run["0"] < 0).any() and not (run["1"] < 0).any()

    def assigns(x: Any) -> Any:
        doubled = x * 2
        doubled[0] = 0
        return doubled * 1

    run = viz.trace(assigns, x.requires_grad_())
    raises(RuntimeError, r"'mul' was overwritten after it was computed \(x\[...\] = value", lambda: run["mul"])
    raises(RuntimeError, "an in-place assignment", lambda: run.edited({"put": 0.0}))


def test_a_change_affects_all_later_values() -> None:
    model, x = net(), mg.randn(2, 3)
    run = viz.trace(model, x).edited({"sigmoid": lambda value: value * 0 + 1})
    hidden = run["linear 2"]
    np.testing.assert_allclose(numbers(run.output), numbers(hidden.sum(-1)), rtol=1e-6)
    both = run.edited({"sigmoid": lambda value: value * 2, "first": np.zeros((2, 4))})  # on top of the first change
    assert (both["sigmoid"] == 2).all() and not both["mul"].any()
    assert (run["sigmoid"] == 1).all() and "sigmoid" not in repr(viz.trace(model, x)) and "'sigmoid'" in repr(both)


def test_weights_take_effect() -> None:
    model, place = gpt(), "layers.1.attention"
    run = viz.trace(model, tokens())
    even = run.edited({f"{place}.weights": 0.25})
    expected = even[f"{place}.v"].mean(2, keepdim=True).expand(2, 2, 4, 4)
    np.testing.assert_allclose(numbers(even[f"{place}.heads"]), numbers(expected), atol=1e-6)
    first = run.edited({f"{place}.scores": lambda s: mg.zeros_like(s) + mg.tensor([0.0, -1e9, -1e9, -1e9])})
    np.testing.assert_allclose(numbers(first[f"{place}.weights"])[..., 0], 1, atol=1e-6)
    assert (run.output != even.output).any()
    one = run.patch(f"{place}.weights", 0.0, at=(slice(None), 1))
    assert not one[f"{place}.heads"][:, 1].any() and one[f"{place}.heads"][:, 0].any()


def test_a_complete_patch_gives_the_other_run() -> None:
    """The patch replaces the only path from the inputs, so all later values are the other run's."""
    model = gpt()
    clean, corrupted = viz.trace(model, tokens()), viz.trace(model, tokens().flip(1))
    patched = corrupted.patch("layers.0", clean)
    np.testing.assert_array_equal(numbers(patched.output), numbers(clean.output))
    part = corrupted.patch("layers.0", clean["layers.0"], at=(slice(None), 3))
    np.testing.assert_array_equal(numbers(part["layers.0"])[:, 3], numbers(clean["layers.0"])[:, 3])
    np.testing.assert_array_equal(numbers(part["layers.0"])[:, :3], numbers(corrupted["layers.0"])[:, :3])
    every = corrupted.patch("layers.?.attention.heads", clean)
    assert "layers.0.attention" in repr(every) and "layers.1.attention" in repr(every)


def test_a_value_without_a_history() -> None:
    x = mg.randn(2, 3).requires_grad_()
    run = viz.trace(net(), x)
    detached = run.edited({"linear 2": lambda value: value.detach()})
    np.testing.assert_array_equal(numbers(detached.output), numbers(run.output))
    detached.output.sum().backward()
    assert x.grad is None


def test_gradients_go_through_a_replacement() -> None:
    model, x = net().double(), mg.randn(2, 3, dtype=mg.float64)
    run = viz.trace(model, x)
    for place in ("mul", "first.linear", "linear 2", "sigmoid"):
        new = mg.randn(*run[place].shape, dtype=mg.float64).requires_grad_()
        assert gradcheck(lambda new, place=place: run.edited({place: lambda old: new * old.detach()}).output, [new])
    edited = run.edited({"mul": lambda value: value**3})
    by_hand = model.mixed(model.linear(model.linear((model.first(x).tanh()) ** 3))).sum()
    both = (mg.autograd.grad(loss, model.first.weight)[0] for loss in (edited.output.sum(), by_hand))
    np.testing.assert_allclose(*map(numbers, both), rtol=1e-9)
    patched = run.patch("mul", run)  # a patch gets the gradient at its position and passes it no further
    ours = mg.autograd.grad(patched.output.sum(), patched["mul"], retain_graph=True)[0]
    theirs = mg.autograd.grad(run.output.sum(), run["mul"])[0]
    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-6)
    patched.output.sum().backward()
    assert model.first.weight.grad is None and model.linear.weight.grad is not None
    layer, x = nn.MultiheadAttention(4, 2, batch_first=True, dtype=mg.float64), mg.randn(1, 3, 4, dtype=mg.float64)
    run = viz.trace(lambda x: layer(x, x, x, need_weights=False)[0], x)
    place = run.names("*.weights")[0]
    assert gradcheck(lambda w: run.edited({place: w}).output, [run[place].detach().requires_grad_()])


def test_the_graph_shows_the_change() -> None:
    run = viz.trace(gpt(), tokens()).edited({"layers.1.attention.weights": 0.0}).patch("layers.0.feed_forward", 0.0)
    graph = run.graph().graph
    mlp, weights = (node for node in graph.nodes if node.op == "replaced")
    assert weights.module == "layers.1.attention"
    assert "layers.1.attention.weights" in weights.attributes["name"]
    assert "layers.0.feed_forward" in mlp.attributes["name"]
    assert graph.title == "GPT2" and "layers.1.attention" in graph.modules
    assert {edge.input for edge in graph.edges if edge.target == weights.id} == {"new", "old"}
    assert not any(node.op == "replaced" for node in viz.trace(gpt(), tokens()).graph().graph.nodes)


def test_a_wrong_name_has_close_ones() -> None:
    run = viz.trace(gpt(), tokens())
    close = r"no value is called 'layers.1.atention.weights'; there is 'layers.1.attention.w"
    raises(KeyError, close, lambda: run["layers.1.atention.weights"])
    for change in (lambda name: run.edited({name: 0.0}), lambda name: run.patch(name, run)):
        raises(KeyError, "no value is called", partial(change, "layers.*.atention"))
    raises(KeyError, "no value is called", lambda: viz.trace(gpt(), tokens()).edited({"x": 0.0}))


def test_replacements_that_do_not_fit_are_refused_by_name() -> None:
    run = viz.trace(net(), mg.randn(2, 3))
    with pytest.raises(RuntimeError, match=r"'mul' must have shape \(2, 4\), not \(4, 2\)"):
        run.edited({"mul": mg.ones(4, 2)})
    raises(RuntimeError, "'mul' returned None", lambda: run.edited({"mul": lambda value: None}))
    with pytest.raises(RuntimeError, match="must be a tensor or a number, not str"):
        run.edited({"mul": "zeros"})  # type: ignore[dict-item]

    def fails(value: Any) -> Any:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as error:
        run.edited({"mul": fails})
    assert error.value.__notes__ == ["in the replacement of 'mul'"]

    def branches(x: Any) -> Any:
        y = x.sum()
        return y.exp() if y > 0 else y * 2

    run = viz.trace(branches, mg.ones(2))
    raises(RuntimeError, "'exp' was not computed in the run", lambda: run.edited({"sum": -1.0, "exp": 0.0}))


def test_invalid_models_are_refused() -> None:
    def generates(x: Any) -> Iterator[Any]:
        yield x * 2

    def fails(value: Any) -> Any:
        raise KeyboardInterrupt

    x = mg.ones(2)
    model: Any
    for model, inputs, error, message in [
        (x, x, TypeError, "takes a module or a function, not Tensor"),
        (lambda x: x, x, RuntimeError, "no op ran on tensors in"),
        (generates, x, TypeError, "generates returned a generator"),
        (lambda xs: [x * 2 for x in xs], generates(x), TypeError, "may be a generator: pass a list"),
    ]:
        raises(error, message, partial(viz.trace, model, inputs))
    layer, x = nn.Linear(3, 3), mg.randn(2, 3).requires_grad_()
    run = viz.trace(lambda x: checkpoint(layer, x, use_reentrant=False) * 1, x)
    raises(RuntimeError, "inside a checkpoint", lambda: run.edited({run.names("*linear")[0]: 0.0}))
    before = parts(layer)
    raises(KeyboardInterrupt, None, lambda: viz.trace(layer, x).edited({"linear": fails}))
    assert changed(before, parts(layer)) == []  # no side effects
