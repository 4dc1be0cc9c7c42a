"""Properties of translation models, tested for the transformer and all earlier models."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad.viz.attention import attention
from minigrad_models.programs.models import size
from minigrad_models.text.tokenizer import BOS, EOS, PAD
from minigrad_models.translation import conv_seq2seq, seq2seq, transformer
from minigrad_models.translation.encoder_decoder import TranslationModel, pad

V = 11
SOURCE, TARGET = [[5, 6, 7, EOS], [8, 9, EOS], [4, EOS]], [[BOS, 6, 5, EOS], [BOS, 9, 8, 7, EOS], [BOS, 4, EOS]]


def recurrent(cell: str, attention: str) -> Callable[..., TranslationModel]:
    return lambda d, h, **more: seq2seq.Seq2Seq(seq2seq.Config(V, cell, attention, d, h, **more))


def attentive(**options: Any) -> Callable[..., TranslationModel]:
    return lambda d, h, **more: transformer.Transformer(transformer.Config(V, d, 2, d_ff=h, **options | more))


# For embeddings of width d and layers of width h.
MODELS: dict[str, Callable[..., TranslationModel]] = {
    "transformer": attentive(),
    "norm first": attentive(norm_first=True),
    "rotary": attentive(norm_first=True, position_encoding="rotary"),
    "convolution": lambda d, h, **more: conv_seq2seq.ConvSeq2Seq(conv_seq2seq.Config(V, d, h, **more)),
    "rnn none": recurrent("rnn", "none"),
    "lstm additive": recurrent("lstm", "additive"),
    "gru multiplicative": recurrent("gru", "multiplicative"),
}
each_model = pytest.mark.parametrize("name", MODELS)


def small(name: str, device: str, **more: Any) -> TranslationModel:
    mg.manual_seed(1)
    sizes = {"d": 8, "h": 5, "layers": 2, "dropout": 0.1, "positions": 12}
    return MODELS[name](**sizes | more).to(device).eval()


def values(x: mg.Tensor) -> mg.Tensor:
    return x.detach().cpu()


@each_model
def test_a_token_depends_on_earlier_tokens_and_the_whole_source(name: str, device: str) -> None:
    model = small(name, device)
    source, target = pad([[4, 5, 6, EOS]], device), pad([[BOS, 7, 8, 9]], device)
    before = values(model(source, target))
    later = values(model(source, pad([[BOS, 7, 10, 9]], device)))
    assert mg.equal(before[0, :2], later[0, :2])
    assert ((before[0, 2:] - later[0, 2:]).abs().amax(-1) > 1e-6).all()
    for place in range(3):
        other = [4, 5, 6, EOS]
        other[place] = 10
        assert ((before - values(model(pad([other], device), target))).abs().amax(-1) > 1e-7).all()


@each_model
def test_padding_changes_nothing(name: str, device: str) -> None:
    model = small(name, device)
    alone = values(model(pad([[4, EOS]], device), pad([[BOS, 7]], device)))
    both = pad([[4, EOS], [4, 5, 6, 7, EOS]], device), pad([[BOS, 7], [BOS, 7, 8]], device)
    assert mg.allclose(alone[0], values(model(*both))[0, :2], atol=1e-5)
    loss = model.loss(pad([[4, EOS]], device), pad([[BOS, 7, EOS]], device))
    longer = model.loss(pad([[4, EOS, PAD]], device), pad([[BOS, 7, EOS, PAD, PAD]], device))
    assert math.isclose(float(loss), float(longer), rel_tol=1e-5)


@each_model
def test_loss_is_the_cross_entropy_of_the_logits(name: str, device: str) -> None:
    model = small(name, device)
    source, target = pad(SOURCE, device), pad(TARGET, device)
    logits = model(source, target[:, :-1])
    plain = F.cross_entropy(logits.reshape(-1, V), target[:, 1:].reshape(-1), ignore_index=PAD, label_smoothing=0.1)
    assert math.isclose(float(plain), float(model.loss(source, target, 0.1)), rel_tol=1e-5)


@each_model
def test_gradients_match_finite_differences(name: str) -> None:
    model = small(name, "cpu", d=4, h=3, layers=1, dropout=0.0, positions=5).double()
    source, target = pad(SOURCE[:2]), pad(TARGET[:2])
    assert mg.autograd.gradcheck(lambda *_: model.loss(source, target), list(model.parameters()), atol=1e-6)


@each_model
def test_decoding_from_the_last_state_equals_decoding_from_scratch(name: str, device: str) -> None:
    model = small(name, device, dropout=0.0)
    source = pad(SOURCE, device)
    cached, plain = model.begin(source), model.begin(source, cached=False)
    tokens = pad([[BOS]] * 3, device)
    for step in range(4):
        assert mg.allclose(values(cached.next_logits(tokens)), values(plain.next_logits(tokens)), atol=1e-5)
        if step == 1:  # two sentences continue in two beams, one is dropped
            rows, width = mg.tensor([2, 2, 0, 0], device=device), 2
        else:  # beams are reordered
            width = 1 if step == 0 else 2
            rows = mg.tensor([0, 1, 2] if step == 0 else [1, 0, 2, 3], device=device)
        for decoder in (cached, plain):
            decoder.reorder(rows, width)
        tokens = mg.cat([tokens[rows], pad([[4 + i] for i in range(len(rows))], device)], 1)


@each_model
def test_attention_of_a_translation(name: str, device: str) -> None:
    model = small(name, device)
    source, target = pad(SOURCE, device), pad(TARGET, device)
    if name.endswith("none"):
        with pytest.raises(ValueError, match="no attention"):
            model.check_attention()
        return
    for i, length in enumerate((4, 3, 2)):
        rows = mg.tensor([i, (i + 1) % 3, (i + 2) % 3], device=device)  # the view shows the first one
        weights = np.stack(attention(model, source[rows], target[rows]).weights("cross"))
        assert weights.shape[2:] == (5, 4)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert not weights[..., length:].any()  # padding


@each_model
def test_sentences_may_not_be_longer_than_the_models(name: str) -> None:
    model = small(name, "cpu", positions=4)
    for limit in (100, [9]):
        assert model.greedy(pad([[4, EOS]]), limit).shape[1] <= 3


def test_invalid_configurations() -> None:
    wrong: dict[str, tuple[Any, dict[str, Any]]] = {
        "cell must be one of rnn, lstm, gru, not 'gated'": (seq2seq, {"cell": "gated"}),
        "attention must be one of none, additive, multiplicative": (seq2seq, {"attention": "some"}),
        "dropout must be between 0 and 1, not 2": (seq2seq, {"dropout": 2}),
        "kernel must be an odd number of tokens, not 4": (conv_seq2seq, {"kernel": 4}),
        "dropout must be between 0 and 1, not -1": (conv_seq2seq, {"dropout": -1}),
    }
    for message, (module, options) in wrong.items():
        with pytest.raises(ValueError, match=message):
            module.Config(V, **options)


@each_model
def test_the_size_is_the_number_of_weights(name: str) -> None:
    for source_vocabulary in (None, 13):
        model = small(name, "cpu", layers=3, source_vocabulary=source_vocabulary)
        assert size(type(model), model.config) == sum(p.numel() for p in model.parameters() if p.ndim > 1)
