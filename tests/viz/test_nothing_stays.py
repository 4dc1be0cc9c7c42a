"""Drawing has no lasting effect (bar 5): afterwards the engine is the same, even after a failure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, viz
from minigrad.autograd import Function
from minigrad_models.translation.transformer import Transformer
from tests.support.cases import cases, raises
from tests.support.engine import alive, changed, parts
from tests.support.transformers import sentences, small

pytestmark = pytest.mark.nightly
Draw = Callable[[Transformer], Any]


def read() -> tuple[Any, Any]:
    """The translator's inputs: a source, and a target without its end."""
    source, target = sentences()
    return source, target[:, :-1]


DRAWINGS: dict[str, Draw] = {
    "graph of a call": lambda model: viz.graph(model.loss, *sentences()).html(),
    "graph of a tensor": lambda model: viz.graph(model.loss(*sentences())).dot(),
    "playback of a tensor": lambda model: viz.playback(model.loss(*sentences())).html(),
    "linked": lambda model: viz.linked(model, *read()).html(),  # includes attention
    "trace": lambda model: viz.trace(model, *read()).edited({"decoder.0": 0.0}).graph(),
    "explain": lambda model: str(viz.explain(model.embedding.weight, of=model.loss(*sentences()), run=True)),
}


def step(model: Transformer) -> tuple[float, list[Any]]:
    """The loss and gradients of a training step."""
    minigrad.manual_seed(2)
    model.zero_grad()
    loss = model.loss(*sentences())
    loss.backward()
    gradients = [p.grad.numpy() for p in model.parameters()]
    model.zero_grad()
    return loss.item(), gradients


@cases("draw", DRAWINGS.values())
def test_the_engine_is_unchanged(draw: Draw) -> None:
    model = small()
    first, gradients = step(model)
    draw(model)  # triggers the library's lazy imports
    before, living = parts(model), alive()
    draw(model)
    assert changed(before, parts(model)) == []
    assert alive() == living
    second, again = step(model)
    assert second == first
    for one, other in zip(gradients, again, strict=True):
        np.testing.assert_array_equal(one, other)


class Interrupted(Function):
    """The identity with an interrupted backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyboardInterrupt


class Broken(nn.Module):
    """A translator that fails at a given place."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.model, self.where, self.calls = small(), where, 0

    def forward(self, source: Any, target: Any) -> Any:
        states = self.model.decode(target, *self.model.encode(source))
        if self.where == "forward":
            raise ValueError("broken")
        if self.where == "backward":
            states = Interrupted.apply(states)
        elif self.where == "hook":
            states.register_hook(self._hook)
        return states.sum()

    def extra_repr(self) -> str:
        if self.where == "text":
            raise ValueError("broken")
        return ""

    def _hook(self, gradient: Any) -> Any:
        raise ValueError("broken")


FORWARD = [("forward", draw) for draw in (viz.graph, viz.attention)]


@cases("where, draw", [*FORWARD, ("backward", viz.playback), ("hook", viz.graph), ("text", viz.playback)])
def test_nothing_stays_if_the_program_fails(where: str, draw: Callable[..., Any]) -> None:
    small().loss(*sentences()).backward()  # triggers lazy imports
    model = Broken(where)
    before = parts(model)
    raises((ValueError, KeyboardInterrupt), None, lambda: draw(model, *read()))
    assert changed(before, parts(model)) == []
    assert model.training
