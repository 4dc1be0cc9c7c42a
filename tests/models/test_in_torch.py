"""The models' sources run in PyTorch with the same weights produce the same numbers and gradients."""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples.autoencoder import network
from examples.digits import classifiers
from minigrad_models.gpt import gpt2, transformer_xl
from minigrad_models.music import music_transformer as music
from minigrad_models.text.tokenizer import BOS, EOS, PAD
from minigrad_models.translation import conv_seq2seq, seq2seq, transformer
from tests.examples.digits.test_classifiers import SMALL
from tests.models.gpt.test_transformer_xl import KINDS as XL_KINDS
from tests.models.music.test_music_transformer import KINDS
from tests.support.in_torch import in_torch
from tests.support.parity import assert_close, torch

SOURCE = [[5, 6, 7, EOS], [8, 9, EOS, PAD], [4, EOS, PAD, PAD]]
TARGET = [[BOS, 6, 5, 9], [BOS, 9, 8, 7], [BOS, 4, EOS, PAD]]
TEXTS = np.random.default_rng(0).integers(0, 11, (2, 9)).tolist()
PICTURES = np.random.default_rng(0).random((4, 6)).tolist()
MASK = [[True] * 4, [False, True, True, True], [True, True, False, False]]
SIZES = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 12, "dropout": 0.0}
PAIR = {"vocabulary": 11, "source_vocabulary": 12, "positions": 8, "dropout": 0.0}
MODELS: dict[str, tuple[Any, str, dict[str, Any], tuple[Any, ...]]] = {
    "transformer": (transformer, "Transformer", PAIR | SIZES, (SOURCE, TARGET)),
    "convolution": (conv_seq2seq, "ConvSeq2Seq", PAIR | {"d_model": 6, "hidden": 5, "layers": 2}, (SOURCE, TARGET)),
    "autoencoder": (network, "Autoencoder", {"sizes": (6, 5, 4, 2)}, (PICTURES,)),
}
for _cell in seq2seq.CELLS:
    for _attention in seq2seq.ATTENTIONS:
        _sizes = PAIR | {"cell": _cell, "attention": _attention, "d_model": 6, "hidden": 5, "layers": 2}
        MODELS[f"{_cell} {_attention}"] = (seq2seq, "Seq2Seq", _sizes, (SOURCE, TARGET))
for _activation in ("gelu_tanh", "gelu", "relu"):
    _sizes = SIZES | {"vocabulary": 11, "positions": 8, "activation": _activation}
    _sizes |= {"embedding_dropout": 0.0, "attention_dropout": 0.0}
    MODELS[f"gpt2 {_activation}"] = (gpt2, "GPT2", _sizes, (TARGET, MASK))
for _kind, _options in KINDS.items():
    _sizes = SIZES | {"vocabulary": 11, "positions": 32, "distances": 6} | _options
    MODELS[f"music {_kind}"] = (music, "MusicTransformer", _sizes, (TEXTS,))
for _kind, _options in XL_KINDS.items():
    _sizes = SIZES | {"vocabulary": 11, "memory": 6, "activation_dropout": 0.0} | _options
    MODELS[f"xl {_kind}"] = (transformer_xl, "TransformerXL", _sizes, (TEXTS,))
for _class, _options in SMALL.items():
    _images = np.random.default_rng(0).random((6, 4, 4)).tolist()
    _sizes = {"side": 4, "classes": 3, "dropout": 0.0} | _options
    MODELS[_class.__name__] = (classifiers, _class.__name__, _sizes, (_images,))


@pytest.mark.parametrize("name", MODELS)
def test_the_same_numbers_and_gradients(name: str) -> None:
    module, kind, sizes, inputs = MODELS[name]
    twins = in_torch(module.__name__.rpartition(".")[2])
    models = []
    mg.manual_seed(0)
    for there in (module, twins):
        build = getattr(there, kind)
        if module is network:
            models.append(build(*sizes["sizes"]))
        else:
            models.append(build(**sizes) if module is classifiers else build(there.Config(**sizes)))
    ours, theirs = (model.double() for model in models)
    for parameter in ours.parameters():
        parameter.data += 0.3 * mg.randn_like(parameter)  # no norm is 1 and no bias 0
    theirs.load_state_dict({key: torch.tensor(value.numpy()) for key, value in ours.state_dict().items()})
    for key, buffer in theirs.named_buffers():  # the libraries round the table of sines differently
        buffer.copy_(torch.tensor(dict(ours.named_buffers())[key].numpy()))
    results = []
    for model, make, double in ((ours, mg.tensor, mg.float64), (theirs, torch.tensor, torch.float64)):
        tensors = [make(x, dtype=double) if np.asarray(x).dtype.kind == "f" else make(x) for x in inputs]
        memory = {}
        if kind == "TransformerXL":
            memory["memory"] = model.segment_loss(tensors[0][:, :4], tensors[0][:, 1:5])[1]
        logits = model(*tensors, **memory)
        (logits * logits.softmax(-1)).sum().backward()
        results.append((logits, {key: p.grad for key, p in model.named_parameters() if p.grad is not None}))
    (logits, gradients), (expected, expected_gradients) = results
    assert_close(logits, expected, 1e-10, f"{name}: logits")
    assert gradients.keys() == expected_gradients.keys()
    for key, gradient in gradients.items():
        np.testing.assert_allclose(gradient.numpy(), expected_gradients[key].numpy(), 1e-8, 1e-10, err_msg=key)
