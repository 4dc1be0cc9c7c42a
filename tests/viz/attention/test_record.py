"""viz.attention of a model: it records the weights that the engine computes, however attention is written."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F, hooks
from minigrad.ops.op import watch
from minigrad.viz.attention import AttentionView, Layer, attention
from minigrad_models.text import TokenizerPair, WordTokenizer
from minigrad_models.text.tokenizer import BOS, EOS
from minigrad_models.translation import seq2seq
from minigrad_models.translation.transformer import Config, Transformer
from minigrad_models.translation.translation_settings import preset
from minigrad_models.translation.translator import Translator
from tests.support.cases import raises

B, H, T, D = 2, 2, 5, 8
WIDTH = D // H


@pytest.fixture(autouse=True)
def seeded() -> None:
    mg.manual_seed(0)


def softmax(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def check_parts(layer: Layer) -> None:
    """The weights follow from the recorded queries, keys, scale, bias and mask."""
    scores = layer.scale * (layer.query @ np.swapaxes(layer.key, -1, -2))
    scores = scores + (0 if layer.bias is None else layer.bias)
    if layer.blocked is not None:
        scores = np.where(layer.blocked, -np.inf, scores)
    assert np.allclose(softmax(scores), layer.weights, atol=1e-6)


def by_filling_in_place(q: Tensor, k: Tensor, later: Tensor) -> Tensor:
    scores = mg.matmul(q, k.mT) * WIDTH**-0.5
    scores.masked_fill_(later, -1e9)
    return nn.Softmax(dim=-1)(scores)


def by_flat_heads(q: Tensor, k: Tensor, later: Tensor) -> Tensor:
    b, h, t, d = q.shape
    scores = mg.bmm(q.reshape(b * h, t, d), k.reshape(b * h, t, d).transpose(1, 2)) / math.sqrt(d)
    return scores.view(b, h, t, t).masked_fill(later, -mg.inf).softmax(-1)


MINUS = mg.tensor(float("-inf"))
WAYS: list[Callable[[Tensor, Tensor, Tensor], Tensor]] = [
    *(by_filling_in_place, by_flat_heads),
    lambda q, k, later: F.softmax((q @ k.transpose(-2, -1) / math.sqrt(WIDTH)).masked_fill(later, -math.inf), -1),
    lambda q, k, later: (q @ k.mT / mg.sqrt(mg.tensor(float(WIDTH))) + later * -1e4).softmax(3),
    lambda q, k, later: mg.where(later, MINUS, q / math.sqrt(WIDTH) @ k.transpose(-1, -2)).softmax(-1),
    lambda q, k, later: (q @ (k * WIDTH**-0.5).transpose(-1, -2)).masked_fill(later, -mg.inf).softmax(-1),
    lambda q, k, later: (mg.einsum("bhtd,bhsd->bhts", q, k) / 2).masked_fill(later, -mg.inf).softmax(-1),
]


class Written(nn.Module):
    """Attention as people write it, in several ways; ``weights`` is the last call's weights."""

    def __init__(self, way: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(D, D) for _ in range(3))
        self.way = way

    def forward(self, x: Tensor) -> Tensor:
        maps = (self.query, self.key, self.value)
        q, k, v = (f(x).view(*x.shape[:2], H, WIDTH).transpose(1, 2) for f in maps)
        self.weights = self.way(q, k, mg.ones(x.shape[1], x.shape[1]).triu(1).bool())
        if self.way is WAYS[-1]:
            return mg.einsum("bhts,bhsd->bthd", self.weights, v).reshape(x.shape)
        return (F.dropout(self.weights, 0.5, self.training) @ v).transpose(1, 2).reshape(x.shape)


@pytest.mark.parametrize("way", WAYS)
def test_written_by_hand(way: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    model = nn.Sequential(Written(way), Written(way))
    x = mg.randn(B, T, D)
    (group,) = attention(model, x).attentions
    assert group.kind == "decoder" and [layer.path for layer in group.layers] == ["0", "1"]
    for layer, module in zip(group.layers, model, strict=True):
        assert np.array_equal(layer.weights, module.weights.detach().numpy()[0])
        assert np.array_equal(layer.blocked[0], np.triu(np.ones((T, T), bool), 1))
        check_parts(layer)
    first = group.layers[0]
    q, k = (f(x).view(B, T, H, WIDTH).transpose(1, 2).detach().numpy()[0] for f in (model[0].query, model[0].key))
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(WIDTH)
    assert np.allclose(first.scale * first.query @ np.swapaxes(first.key, -1, -2), scores, atol=1e-5)


@pytest.mark.parametrize("need_weights", [True, False])
def test_multihead_attention(need_weights: bool) -> None:
    layer = nn.MultiheadAttention(D, H, dropout=0.5, batch_first=need_weights)
    x, memory = mg.randn(B, T, D), mg.randn(B, 3, D)
    padding = mg.tensor([[False, False, True], [False, False, False]])
    if not need_weights:
        x, memory = x.transpose(0, 1), memory.transpose(0, 1)
    view = attention(layer, x, memory, memory, key_padding_mask=padding, need_weights=need_weights)
    assert isinstance(view, AttentionView)
    layer.eval()
    expected = layer(x, memory, memory, padding, average_attn_weights=False)[1].detach().numpy()[0]
    (group,) = view.attentions
    assert group.kind == "cross" and np.allclose(group.layers[0].weights, expected, atol=1e-6)
    assert group.layers[0].blocked.tolist() == [[[False, False, True]] * T]
    check_parts(group.layers[0])
    with mg.no_grad():
        assert attention(layer, x, x, x, need_weights=need_weights).kinds == ("encoder",)


def test_the_whole_transformer_of_nn() -> None:
    model = nn.Transformer(D, H, 2, 3, 16, dropout=0.1, batch_first=True)
    source, target = mg.randn(B, T, D), mg.randn(B, 4, D)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    view = attention(model, source, target, tgt_mask=mask, tokens=(list("abcde"), list("wxyz")))
    assert view.kinds == ("encoder", "decoder", "cross")
    encoder, decoder, cross = view.attentions
    assert [layer.path for layer in encoder.layers] == [f"encoder.layers.{i}.self_attn" for i in range(2)]
    assert [layer.path for layer in decoder.layers] == [f"decoder.layers.{i}.self_attn" for i in range(3)]
    assert [layer.path for layer in cross.layers] == [f"decoder.layers.{i}.multihead_attn" for i in range(3)]
    assert cross.queries == tuple("wxyz") and cross.keys == tuple("abcde")
    for a in view.attentions:
        for layer in a.layers:
            check_parts(layer)


SOURCE = mg.tensor([[5, 6, 7, 8, 2], [5, 6, 2, 0, 0]])
TARGET = mg.tensor([[1, 9, 8], [1, 7, 0]])


def test_the_translators_model() -> None:
    model = Transformer(Config(12, 16, 4, 3, 32, norm_first=True, attention_dropout=0.3))
    view = attention(model, SOURCE.flip(0), TARGET.flip(0), tokens=lambda i: f"⟨{i}⟩")
    encoder, decoder, cross = view.attentions
    assert (encoder.kind, decoder.kind, cross.kind) == ("encoder", "decoder", "cross")
    assert model.training  # still
    expected: list[Any] = []
    for layer in model.eval().decoder:
        layer.cross_attention.register_forward_pre_hook(
            lambda module, inputs: expected.append(module.weights(*inputs).detach()[1])
        )
    model(SOURCE, TARGET)
    assert np.allclose(np.stack(view.weights("cross")), expected, atol=1e-6)
    assert cross.queries == decoder.keys == ("⟨1⟩", "⟨7⟩", "⟨0⟩") and cross.keys[0] == "⟨5⟩"
    padding, causal = cross.layers[0].blocked, decoder.layers[0].blocked
    assert padding is not None and padding.tolist() == [[[False] * 3 + [True] * 2] * 3]
    assert causal is not None and np.array_equal(causal[0], np.triu(np.ones((3, 3), bool), 1))
    for layer in (layer for a in view.attentions for layer in a.layers):
        check_parts(layer)


class Inline(nn.Module):
    """A decoder block with both attentions inline: only their inputs show which is which."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(D, D) for _ in range(6))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        q, k, v, queries, keys, values = self.maps
        x = x + F.scaled_dot_product_attention(q(x)[:, None], k(x)[:, None], v(x)[:, None])[:, 0]
        looked = F.scaled_dot_product_attention(queries(x)[:, None], keys(memory)[:, None], values(memory)[:, None])
        return x + looked[:, 0]


class Pieces(nn.Module):
    """Additive attention (Bahdanau et al. 2015), without a product of queries and keys, and with two other lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.of_query, self.of_key, self.to_score = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, 1)
        self.first, self.second = (nn.MultiheadAttention(D, H, batch_first=True) for _ in range(2))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        sums = self.of_query(x)[:, :, None] + self.of_key(memory)[:, None]
        x = self.to_score(sums.tanh())[..., 0].softmax(-1) @ memory
        x = self.first(x, x, x)[0][:, ::2]
        halved: Tensor = self.second(x, x, x)[0]
        return halved


def test_additive_scores_and_different_lengths() -> None:
    view = attention(Pieces(), mg.randn(1, 4, D), mg.randn(1, 3, D))
    titles = [f"Encoder self-attention ({n} × {n})" for n in (4, 2)]
    assert [a.title for a in view.attentions] == [*titles, "Cross-attention"]
    layer = view.attentions[-1].layers[0]
    assert layer.weights.shape == (1, 4, 3) and layer.query is None


def test_kinds_by_the_sources_of_queries_and_keys() -> None:
    x, memory = mg.randn(1, T, D), mg.randn(1, T, D)  # equal lengths
    assert attention(Inline(), x, memory).kinds == ("encoder", "cross")
    block = Inline()
    view = attention(lambda x, memory: block(block(x, memory), memory), x, memory)
    assert view.kinds == ("encoder", "cross") and len(view.weights("cross")) == 2


def test_functions_of_queries_and_keys() -> None:
    q, k, v = (mg.randn(3, 2) for _ in range(3))
    view = attention(F.scaled_dot_product_attention, q, k, v, tokens=["I", "like", "cats"])
    expected = softmax(q.numpy() @ k.numpy().T / math.sqrt(2))
    assert np.allclose(view.weights()[0], expected[None], atol=1e-6) and view.kinds == ("encoder",)
    assert not q.requires_grad
    for model, message in (
        (nn.Linear(D, D), "no attention was found in this Linear"),
        (lambda x: x.softmax(-1), "no attention was found in <lambda>"),
    ):
        with pytest.raises(ValueError, match=message):
            attention(model, mg.randn(2, D))


def test_three_axes_are_sentences_or_heads() -> None:
    x = mg.randn(3, T, D)
    view = attention(F.scaled_dot_product_attention, x, x, x)
    first = x[0].numpy()
    assert np.allclose(view.weights()[0], softmax(first @ first.T / math.sqrt(D))[None], atol=1e-6)

    def heads(states: Tensor) -> Tensor:  # (T, 3 D), a single sentence
        x = states.view(T, 3, D).transpose(0, 1)
        return F.scaled_dot_product_attention(x, x, x)

    assert attention(heads, mg.randn(T, 3 * D)).weights()[0].shape == (3, T, T)


def test_shared_keys_and_an_added_bias() -> None:
    q, k = mg.randn(1, 4, 3, WIDTH), mg.randn(1, 2, 3, WIDTH)
    near = -mg.arange(3.0).sub(mg.arange(3.0)[:, None]).abs()
    near[0, 2] = float("-inf")
    view = attention(F.scaled_dot_product_attention, q, k, k, near, enable_gqa=True)
    layer = view.attentions[0].layers[0]
    assert layer.key.shape == (4, 3, WIDTH) and layer.bias.shape == (1, 3, 3)
    assert layer.blocked is not None and np.argwhere(layer.blocked).tolist() == [[0, 0, 2]]
    check_parts(layer)


def test_frozen_models_and_no_side_effects() -> None:
    model = Transformer(Config(12, 16, 4, 1, 32)).requires_grad_(False)
    model.encoder.eval()
    before = {name: p.numpy().copy() for name, p in model.named_parameters()}
    modes = [m.training for m in model.modules()]
    random = mg.get_rng_state().numpy().copy()
    for is_broken in (False, True):
        if is_broken:
            raises(IndexError, None, lambda: attention(model, SOURCE * 10, TARGET))
        else:
            assert attention(model, SOURCE, TARGET).kinds == ("encoder", "decoder", "cross")
        assert not any(p.requires_grad or p.grad is not None for p in model.parameters())
        assert [m.training for m in model.modules()] == modes
        assert all(np.array_equal(p.numpy(), before[name]) for name, p in model.named_parameters())
        assert np.array_equal(mg.get_rng_state().numpy(), random)
        assert watch.observers == () and not any(hooks.AROUND_CALLS)
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_tokens_of_a_model() -> None:
    model = Transformer(Config(12, 16, 4, 1, 32))
    by_side: Callable[[int], str] = "source-{}".format
    view = attention(model, SOURCE, TARGET, tokens=(by_side, ["a", "b", "c"]))
    assert view.attentions[2].keys[0] == "source-5" and view.attentions[1].keys == ("a", "b", "c")
    assert attention(model, SOURCE, TARGET).attentions[0].queries == ("5", "6", "7", "8", "2")
    with pytest.raises(ValueError, match="Encoder self-attention, layer 0 has 5 queries, but there are 3"):
        attention(model, SOURCE, TARGET, tokens=list("abc"))
    with mg.no_grad():
        model.encoder[0].attention.query.weight[0, 0] = float("nan")
    with pytest.raises(ValueError, match=r"Encoder self-attention: these are not.*contains non-finite"):
        attention(model, SOURCE, TARGET)


class Reads(nn.Module):
    """A language model, or a captioner if it gets states (B, S, D); it also takes an integer mask."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, D)
        self.own, self.cross = (nn.MultiheadAttention(D, H, batch_first=True) for _ in range(2))

    def forward(self, *inputs: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        states, ids = (inputs if inputs[0].is_floating_point() else (None, inputs[0]))[:2]
        x = self.embedding(ids)
        x = self.own(x, x, x, attn_mask=mg.ones(x.shape[1], x.shape[1]).triu(1).bool())[0]
        attended: Tensor = x if states is None else self.cross(x, states, states)[0]
        return attended


def test_ids_are_distinguished_from_masks_and_states() -> None:
    ids, mask = mg.tensor([[7, 8, 9], [4, 5, 6]]), mg.tensor([[1, 1, 0]])
    for view in (attention(Reads(), ids, mask), attention(Reads(), ids, attention_mask=mask)):
        assert view.attentions[0].queries == ("7", "8", "9")
    decoder, cross = attention(Reads(), mg.randn(2, 3, D), ids).attentions
    assert decoder.queries == cross.queries == ("7", "8", "9") and cross.keys == ("0", "1", "2")
    view = attention(Reads(), ids, tokens={"target": "<{}>".format, "written": ["b", "c", "d"]})
    assert view.attentions[0].keys == ("<7>", "<8>", "<9>") and view.attentions[0].rows == ("b", "c", "d")


@pytest.mark.parametrize("attention_of", ["additive", "multiplicative"])
def test_a_recurrent_decoder_attends_step_by_step(attention_of: str) -> None:
    config = seq2seq.Config(9, attention=attention_of, d_model=6, hidden=4, dropout=0.0)
    model = seq2seq.Seq2Seq(config)
    source, target = mg.tensor([[4, 5, 6, 2], [7, 2, 0, 0]]), mg.tensor([[1, 5, 4, 6, 7], [1, 8, 4, 0, 0]])
    view = attention(model, source.flip(0), target.flip(0))
    (cross,) = view.attentions
    assert cross.kind == "cross" and len(cross.layers) == 1
    scores: list[Tensor] = []
    assert model.decoder.scores is not None
    model.decoder.scores.register_forward_hook(lambda module, inputs, out: scores.append(out.detach()))
    model.eval()(source, target)
    scores = [mg.cat(scores, 1).masked_fill((source == 0)[:, None], -math.inf)]
    expected = scores[0].softmax(-1)[1:].numpy()
    np.testing.assert_allclose(cross.layers[0].weights, expected, rtol=1e-5, atol=1e-7)


ENGLISH = ["my", "friends", "like", "tomatoes", "because", "they", "are", "tasty"]
GERMAN = ["meine", "freunde", "mögen", "tomaten", "weil", "sie", "lecker", "sind"]


@pytest.fixture
def translator() -> Translator:
    """An untrained translator."""
    mg.manual_seed(0)
    words = WordTokenizer([*ENGLISH, *GERMAN])
    model = Transformer(Config(len(words), 32, 4, 2, 64))
    return Translator(model, TokenizerPair(words, words), preset("toy"))


def test_a_translation_and_its_beam(translator: Translator) -> None:
    """Each text of the beam has its own tokens and the weights at the steps that generated them."""
    translator.model.train()
    (translation,) = translator.translate(["my friends like tomatoes"], beam=3)
    view = translator.look(translation)
    assert translator.model.training and view.title == "Attention: my friends like tomatoes"
    assert [(one.text, one.score) for one in view.beam] == [(one.text, one.score) for one in translation.beam]
    assert view.attentions == view.beam[0].attentions and view.kinds == ("encoder", "decoder", "cross")
    for one in view.beam:
        encoder, decoder, cross = one.attentions
        assert encoder is view.attentions[0]
        assert encoder.rows == cross.keys == ("my", "friends", "like", "tomatoes", "⟨end⟩")
        assert cross.rows == decoder.rows == (*one.text.split(), "⟨end⟩")
        assert decoder.keys == ("⟨begin⟩", *cross.rows[:-1])
        expected = translator.attention(translation.source, one.text)
        assert (*expected.target,) == cross.rows and (*expected.source,) == cross.keys
        assert np.allclose(np.stack([layer.weights for layer in cross.layers]), expected.weights, atol=1e-6)


def test_a_translation_and_the_graph_of_each_text(translator: Translator) -> None:
    """Each graph shows the loss of its text in evaluation mode; afterwards the model is back in training mode."""
    translator.model.train()
    (translation,) = translator.translate(["my friends like tomatoes"], beam=3)
    view = translator.linked(translation)
    assert translator.model.training and len(view.graphs) == len(view.attention.beam) == 3
    losses = []
    translator.model.eval()
    for one in translation.beam:
        both = translation.source, one.text
        source, target = ([*translator.tokenizers.source.encode(text), EOS] for text in both)
        losses.append(float(translator.model.loss(mg.tensor([source]), mg.tensor([[BOS, *target]]))))
    values = [graph.graph.nodes[graph.graph.output].value for graph in view.graphs]
    assert [value.table[0][0] for value in values] == pytest.approx(losses, rel=1e-6)  # type: ignore[union-attr, index]
    paths = {layer.path for one in view.attention.attentions for layer in one.layers}
    assert all(paths <= {node.module for node in graph.graph.nodes} for graph in view.graphs)


def test_an_empty_sentence_has_no_attention(translator: Translator) -> None:
    (translation,) = translator.translate([" "])
    for look in (translator.look, translator.linked):
        raises(ValueError, "the beam is empty", partial(look, translation))
