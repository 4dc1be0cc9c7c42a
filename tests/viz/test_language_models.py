"""The same pages for all language models, in one line each: GPT-2, BERT with each head, Transformer-XL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn, viz
from minigrad.models import bert
from minigrad.models.gpt2 import GPT2
from minigrad.models.gpt2 import Config as GPT2Config
from minigrad.models.relative import relative_shift
from minigrad.models.transformer_xl import Config as XLConfig
from minigrad.models.transformer_xl import TransformerXL

pytestmark = pytest.mark.nightly
VOCABULARY = 23
TOKENS = mg.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 0, 0]])
MASK, TYPES = TOKENS != 0, mg.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]])
BERT = bert.Config(VOCABULARY, positions=8, d_model=8, heads=2, layers=2, d_ff=16)
SMALL = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 16}


class Letters:
    """A tokenizer whose tokens are letters."""

    def token(self, i: int) -> str:
        return chr(97 + i)


class Case(NamedTuple):
    """A model, what it is called with, and its loss with the arguments of that."""

    model: Any
    inputs: tuple[Tensor, ...]
    named: dict[str, Any]
    loss: Callable[..., Any]
    targets: tuple[Tensor, ...]


def gpt2() -> Case:
    model = GPT2(GPT2Config(VOCABULARY, positions=8, **SMALL))
    return Case(model, (TOKENS,), {}, model.loss, (TOKENS, TOKENS.roll(-1, 1)))


def with_memory() -> Case:
    model = TransformerXL(XLConfig(VOCABULARY, segment=5, memory=3, **SMALL))
    for parameter in (model.u, model.v):
        nn.init.normal_(parameter)
    memory = model.remember(model.eval().hidden_states(TOKENS))
    return Case(model, (TOKENS,), {"memory": memory}, model.loss, (TOKENS, TOKENS.roll(-1, 1)))


def choices() -> Case:
    model = bert.BertForMultipleChoice(BERT)
    named = {"types": TYPES[None], "mask": MASK[None]}
    return Case(model, (TOKENS[None],), named, model.loss, (TOKENS[None], mg.tensor([1])))


def of_bert(name: str, *targets: Any, loss: str = "loss", **changes: Any) -> Callable[[], Case]:
    def make() -> Case:
        model = getattr(bert, name)(replace(BERT, **changes))
        return Case(model, (TOKENS,), {"types": TYPES, "mask": MASK}, getattr(model, loss), (TOKENS, *targets))

    return make


CASES: dict[str, Callable[[], Case]] = {
    "GPT2": gpt2,
    "TransformerXL with a memory": with_memory,
    "BertForPreTraining": of_bert("BertForPreTraining", TOKENS, mg.tensor([0, 1]), loss="losses"),
    "BertForMultipleChoice": choices,
    "BertForMaskedLM": of_bert("BertForMaskedLM", TOKENS),
    "BertLMHeadModel": of_bert("BertLMHeadModel", TOKENS, causal=True),
    "BertForQuestionAnswering": of_bert("BertForQuestionAnswering", mg.tensor([0, 1]), mg.tensor([2, 2])),
}
DECODERS = ("GPT2", "TransformerXL with a memory", "BertLMHeadModel")


def named_case(name: str) -> Case:
    mg.manual_seed(0)
    return CASES[name]()


@pytest.mark.parametrize("name", CASES)
def test_attention(name: str) -> None:
    """Labels of the tokenizer, which the model has; the kind; a memory's tokens count back from the segment."""
    model, inputs, named, *_ = named_case(name)
    model.tokenizer = Letters()
    view = viz.attention(model, *inputs, sentence=1, **named)
    (attention,) = view.attentions
    assert attention.kind == ("decoder" if name in DECODERS else "encoder") and len(attention.layers) == 2
    assert attention.queries == tuple("jcgaa")
    memory = ("−3", "−2", "−1") if name.endswith("memory") else ()
    assert attention.keys == (*memory, *"jcgaa")
    padded = [layer.weights[:, :, 3:] for layer in attention.layers]
    if "mask" in named:
        assert all((weights == 0).all() for weights in padded)
    else:
        assert all((weights > 0).any() for weights in padded)
    assert "<svg" in view.svg("matrix") and "<!doctype html>" in view.html()


@pytest.mark.parametrize("name", CASES)
def test_graph_of_the_loss_has_every_gradient(name: str) -> None:
    model, *_, loss, targets = named_case(name)
    model.eval()
    view = viz.graph(loss, *targets)
    repeats = [group for group in view.tree.groups if group.kind == "repeat"]
    assert any(group.times == 2 and "layers" in group.path for group in repeats)  # both layers are one box
    shown = {node.name.removeprefix("model."): node.gradient for node in view.graph.nodes if node.kind == "parameter"}
    both = loss(*targets)
    (sum(both) if isinstance(both, tuple) else both).backward()
    gradients = {path: p.grad.numpy() for path, p in model.named_parameters() if p.grad is not None}
    assert shown.keys() == gradients.keys()
    for path, value in shown.items():
        norm = np.linalg.norm(value.table) if value.statistics is None else value.statistics["norm"]  # type: ignore[arg-type]
        np.testing.assert_allclose(norm, np.linalg.norm(gradients[path]), rtol=1e-4, atol=1e-7)


def test_weights_and_their_parts_of_a_transformer_xl() -> None:
    """Query times key plus what a distance adds, of section 3.3, is what the weights are made of."""
    model, (tokens,), named, *_ = named_case("TransformerXL with a memory")
    (attention,) = viz.attention(model, tokens, **named).attentions
    layer, block = attention.layers[0], model.layers[0].attention
    with mg.no_grad():
        x, memory = model.embed(tokens), named["memory"][0]
        q = block.split(block.query(x))[0]  # (H, T, D/H)
        k = block.split(block.key(mg.cat((memory, x), 1)))[0]
        (u, v), r = model.biases(0), block.distances(model.sinusoids(8))
        by_content = ((q + u) @ k.mT).numpy() / 2  # √(D/H) is 2
        by_distance = relative_shift(((q + v) @ r.mT)[None])[0].numpy() / 2
    earlier = np.tri(5, 8, 3, dtype=bool)
    scores = np.where(earlier, by_content + by_distance, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(layer.weights, powers / powers.sum(-1, keepdims=True), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(layer.blocked, ~earlier[None])
    np.testing.assert_allclose(layer.scale * layer.query @ layer.key.swapaxes(1, 2), by_content, rtol=1e-3, atol=1e-5)
    close = {"rtol": 1e-3, "atol": 1e-5}
    np.testing.assert_allclose(np.where(earlier, layer.bias, 0), np.where(earlier, by_distance, 0), **close)
    for names, keys in ((list("abcde"), ["−3", "−2", "−1", *"abcde"]), (list("xyzabcde"), list("xyzabcde"))):
        (attention,) = viz.attention(model, tokens, tokens=names, **named).attentions
        assert attention.queries == tuple("abcde") and list(attention.keys) == keys  # of the memory, too, or not
