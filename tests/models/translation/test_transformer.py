"""The transformer's properties besides the common ones in test_encoder_decoder.py."""

import math
from typing import Any

import pytest

import minigrad as mg
from minigrad_models.generation import beam_search as generate
from minigrad_models.text.tokenizer import BOS, EOS, PAD
from minigrad_models.translation.transformer import Config, Transformer, pad


def small(
    device: str, norm_first: bool = False, vocabulary: int = 11, positions: int = 32, order: str = "sinusoidal"
) -> Transformer:
    mg.manual_seed(1)
    model = Transformer(Config(vocabulary, 8, 2, 2, 16, 0.1, positions, norm_first, position_encoding=order))
    return model.to(device).eval()


def values(x: mg.Tensor) -> mg.Tensor:
    return x.detach().cpu()


def test_rotary_positions_encode_distances_and_order(device: str) -> None:
    """Self-attention by hand: the score of a query and a key depends on their signed distance; cross-attention
    does not depend on order."""
    model = small(device, order="rotary")
    assert not hasattr(model, "positions") and not any("rotary" in key for key in model.state_dict())
    attention = model.encoder[0].attention
    x = mg.randn(1, 1, 8, device=device).expand(1, 6, 8)  # one token six times
    allowed = mg.ones(1, 1, 1, 6, dtype=mg.bool, device=device)
    with mg.no_grad():
        weights = values(attention.weights(x, x, allowed))[0, 0].log()
    for gap in range(-4, 5):  # the softmax shifts all scores of a row equally
        scores = [float(weights[i, i + gap] - weights[i, i]) for i in range(6) if 0 <= i + gap < 6]
        assert max(scores) - min(scores) < 1e-5
    assert not mg.allclose(weights[3, 2], weights[3, 4], atol=1e-6)
    source, turned = pad([[4, 5, 6]], device), pad([[6, 5, 4]], device)
    target = pad([[BOS, 7]], device)
    assert not mg.allclose(values(model(source, target)), values(model(turned, target)), atol=1e-5)
    assert model.decoder[0].cross_attention.rotary is None


def test_bad_sizes_and_sentences() -> None:
    wrong: dict[str, dict[str, Any]] = {
        r"d_model \(10\) must be even and a multiple of heads \(4\)": {"d_model": 10, "heads": 4},
        "position_encoding must be one of sinusoidal, rotary, not 'learned'": {"position_encoding": "learned"},
        "heads with an even width, not 6 / 2": {"d_model": 6, "heads": 2, "position_encoding": "rotary"},
        r"attention_dropout must be between 0 and 1, not 1\.5": {"attention_dropout": 1.5},
    }
    for message, sizes in wrong.items():
        with pytest.raises(ValueError, match=message):
            Config(11, **sizes)
    model = small("cpu", positions=4)
    with pytest.raises(ValueError, match="a sentence of 5 tokens is longer than the model's 4 positions"):
        model.encode(pad([[4, 5, 6, 7, 8]], "cpu"))
    assert model.greedy(pad([[4, 5]], "cpu"), max_new_tokens=50).shape[1] <= 4
    with pytest.raises(IndexError, match="out of range"):
        model.encode(pad([[4, 11]], "cpu"))


def test_empty_sentences(device: str) -> None:
    """A batch without sentences, a sentence of only the end token, and one of only padding."""
    model = small(device)
    empty = pad([], device)
    for none in (empty, model.greedy(empty)):
        assert none.shape == (0, 1)
    for sentence in ([EOS], [PAD, PAD]):
        source = pad([sentence, [4, 5, EOS]], device)
        for cached in (True, False):
            assert len(model.greedy(source, 5, cached)) == 2
            beams = generate.beam_search(model.begin(source, cached), 3, 5, 0.6)
            assert len(beams) == 2 and all(math.isfinite(h.score) for beam in beams for h in beam)


def test_dropout_settings() -> None:
    """By default attention and activations have no dropout, and embeddings have the general rate."""
    layer = (model := Transformer(Config(11, 8, 2, 1, 16, 0.3))).encoder[0]
    assert (model.dropout.p, layer.feed_forward.dropout.p, layer.attention.dropout) == (0.3, 0.0, 0.0)
    source, target = pad([[4, 5, 6, 7]]), pad([[BOS, 7, 8]])
    for name in ("attention_dropout", "activation_dropout", "embedding_dropout"):
        mg.manual_seed(0)
        options: dict[str, Any] = {name: 0.5}
        model = Transformer(Config(11, 8, 2, 1, 16, 0.0, **options))
        first, second = model(source, target), model(source, target)
        assert not mg.allclose(first, second, atol=1e-3), name  # drawn again
        model.eval()
        assert mg.equal(model(source, target), model(source, target)), name


def test_dropped_activations_and_weights_are_zeros() -> None:
    """With probability 1, attention and the feed-forward network return only the bias of their output."""
    config = Config(11, 8, 2, 1, 16, 0.0, attention_dropout=1.0, activation_dropout=1.0)
    layer = Transformer(config).encoder[0]
    x = mg.randn(2, 3, 8)
    for part, output in (
        (layer.attention.output, layer.attention(x, x, None)),
        (layer.feed_forward.outer, layer.feed_forward(x)),
    ):
        mg.nn.init.normal_(part.bias)
        assert mg.allclose(output, mg.zeros(2, 3, 8))  # biases were 0
    assert mg.allclose(layer.feed_forward(x), layer.feed_forward.outer.bias.expand(2, 3, 8))


def test_a_vocabulary_for_each_language(device: str) -> None:
    mg.manual_seed(0)
    model = Transformer(Config(7, 8, 2, 1, 16, 0.0, 16, source_vocabulary=30)).to(device).eval()
    names = dict(model.named_parameters())
    assert names["source_embedding.weight"].shape == (30, 8) and names["embedding.weight"].shape == (7, 8)
    source = pad([[29, 12, EOS], [25, EOS]], device)
    assert model(source, pad([[BOS, 6], [BOS, 5]], device)).shape == (2, 2, 7)
    with_cache, without = (generate.beam_search(model.begin(source, cached), 3, 8) for cached in (True, False))
    assert [beam[0].tokens for beam in with_cache] == [beam[0].tokens for beam in without]
    first = pad([[BOS], [BOS]], device)
    other = pad([[28, 12, EOS], [25, EOS]], device)
    changed = (values(model(source, first)) - values(model(other, first))).abs().amax((1, 2)) > 1e-6
    assert changed.tolist() == [True, False]
    joint = dict(Transformer(Config(7, 8, 2, 1, 16)).named_parameters())
    assert set(names) - set(joint) == {"source_embedding.weight"}


def test_a_configuration_makes_the_round_trip() -> None:
    config = Config(7, 8, 2, 1, 16, 0.1, 16, True, 30, 0.1, 0.2, 0.3)
    assert Config(**config.as_dict()).as_dict() == config.as_dict()
    sizes: dict[str, Any] = {"vocabulary": 7, "d_model": 8, "heads": 2, "layers": 1, "d_ff": 16, "dropout": 0.1}
    old = sizes | {"positions": 16, "norm_first": False}
    new = {"source_vocabulary": None, "attention_dropout": 0.0, "activation_dropout": 0.0, "embedding_dropout": None}
    assert Config(**old).as_dict() == old | new | {"position_encoding": "sinusoidal"}
