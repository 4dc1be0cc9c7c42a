"""Attention of the language models, with one line each: GPT-2, BERT with a head, Transformer-XL."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn, viz
from minigrad_models.architectures.layers import relative_shift
from minigrad_models.bert import bert
from minigrad_models.gpt.gpt2 import GPT2, Config as GPT2Config
from minigrad_models.gpt.transformer_xl import Config as XLConfig, TransformerXL
from tests.support.cases import cases

pytestmark = pytest.mark.nightly
VOCABULARY = 23
TOKENS = mg.tensor([[9, 2, 6, 0, 0], [3, 1, 4, 1, 5]])
MASK, TYPES = TOKENS != 0, mg.tensor([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1]])
BERT = bert.Config(VOCABULARY, positions=8, d_model=8, heads=2, layers=2, d_ff=16)
SMALL = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 16}


class Letters:
    """A tokenizer whose tokens are letters."""

    def token(self, i: int) -> str:
        return chr(97 + i)


def gpt2() -> tuple[Any, Tensor, dict[str, Any]]:
    """A model, its tokens, and its other inputs, like the functions below."""
    return GPT2(GPT2Config(VOCABULARY, positions=8, **SMALL)), TOKENS, {}


def with_memory() -> tuple[Any, Tensor, dict[str, Any]]:
    model = TransformerXL(XLConfig(VOCABULARY, segment=5, memory=3, **SMALL))
    for parameter in (model.u, model.v):
        nn.init.normal_(parameter)
    return model, TOKENS, {"memory": model.remember(model.eval().hidden_states(TOKENS))}


def of_bert(name: str, **changes: Any) -> tuple[Any, Tensor, dict[str, Any]]:
    return getattr(bert, name)(replace(BERT, **changes)), TOKENS, {"types": TYPES, "mask": MASK}


def choices() -> tuple[Any, Tensor, dict[str, Any]]:
    return bert.BertForMultipleChoice(BERT), TOKENS[None], {"types": TYPES[None], "mask": MASK[None]}


MODELS: dict[str, Callable[[], tuple[Any, Tensor, dict[str, Any]]]] = {
    "GPT2": gpt2,
    "TransformerXL with a memory": with_memory,
    "BertForMultipleChoice": choices,
    "BertForMaskedLM": partial(of_bert, "BertForMaskedLM"),
}
DECODERS = ("GPT2", "TransformerXL with a memory")


@cases("name", MODELS)
def test_attention(name: str) -> None:
    """Labels come from the model's tokenizer; a memory's tokens count backwards from the segment."""
    model, tokens, kwargs = MODELS[name]()
    model.tokenizer = Letters()
    view = viz.attention(model, tokens, **kwargs)
    (attention,) = view.attentions
    assert attention.kind == ("decoder" if name in DECODERS else "encoder") and len(attention.layers) == 2
    assert attention.queries == tuple("jcgaa")
    memory = ("−3", "−2", "−1") if name.endswith("memory") else ()
    assert attention.keys == (*memory, *"jcgaa")
    padded = [layer.weights[:, :, 3:] for layer in attention.layers]
    if "mask" in kwargs:
        assert all((weights == 0).all() for weights in padded)
    else:
        assert all((weights > 0).any() for weights in padded)
    assert "<svg" in view.svg("matrix") and "<!doctype html>" in view.html()


def test_weights_and_their_parts_of_a_transformer_xl() -> None:
    """The weights are computed from query times key plus the distance terms of section 3.3."""
    model, tokens, kwargs = with_memory()
    (attention,) = viz.attention(model, tokens, **kwargs).attentions
    layer, block = attention.layers[0], model.layers[0].attention
    with mg.no_grad():
        x, memory = model.embed(tokens), kwargs["memory"][0]
        q = block.split(block.query(x))[0]  # (H, T, D/H)
        k = block.split(block.key(mg.cat((memory, x), 1)))[0]
        u, v, r = model.u[0], model.v[0], block.distances(model.sinusoids(8))
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
        (attention,) = viz.attention(model, tokens, tokens=names, **kwargs).attentions
        assert attention.queries == tuple("abcde") and list(attention.keys) == keys  # with or without the memory's
