"""The models' own sources, run by PyTorch with the same weights: the same numbers and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.models import conv_seq2seq, gpt2, seq2seq, transformer
from minigrad.models.translation import TranslationModel
from minigrad.text.tokenizer import BOS, EOS, PAD
from tests.support.in_torch import in_torch
from tests.support.parity import torch

SOURCE = [[5, 6, 7, EOS], [8, 9, EOS, PAD], [4, EOS, PAD, PAD]]
TARGET = [[BOS, 6, 5, 9], [BOS, 9, 8, 7], [BOS, 4, EOS, PAD]]
MODELS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "transformer": (transformer, "Transformer", {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 12}),
    "convolution": (conv_seq2seq, "ConvSeq2Seq", {"d_model": 6, "hidden": 5, "layers": 2}),
    **{
        f"{cell} {attention}": (
            seq2seq,
            "Seq2Seq",
            {"cell": cell, "attention": attention, "d_model": 6, "hidden": 5, "layers": 2},
        )
        for cell in seq2seq.CELLS
        for attention in seq2seq.ATTENTIONS
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_numbers_and_gradients(name: str) -> None:
    module, kind, sizes = MODELS[name]
    options = {"vocabulary": 11, "source_vocabulary": 12, "positions": 8, "dropout": 0.0, **sizes}
    mg.manual_seed(0)
    ours: TranslationModel = getattr(module, kind)(module.Config(**options)).double()
    twin = in_torch(module.__name__.rpartition(".")[2])
    compare(ours, getattr(twin, kind)(twin.Config(**options)).double(), SOURCE, TARGET)


@pytest.mark.parametrize("activation", ["gelu_tanh", "gelu", "relu"])
def test_the_same_of_a_language_model(activation: str) -> None:
    options = {"vocabulary": 11, "positions": 8, "d_model": 8, "heads": 2, "layers": 2, "activation": activation}
    options |= dict.fromkeys(("dropout", "embedding_dropout", "attention_dropout"), 0.0)
    twin = in_torch("gpt2")
    mask = [[True] * 4, [False, True, True, True], [True, True, False, False]]
    compare(gpt2.GPT2(gpt2.Config(**options)).double(), twin.GPT2(twin.Config(**options)).double(), TARGET, mask)


def compare(ours: Any, theirs: Any, *inputs: Any) -> None:
    """Logits of the same weights, and all gradients."""
    theirs.load_state_dict({key: torch.tensor(value.numpy()) for key, value in ours.state_dict().items()})
    for key, buffer in theirs.named_buffers():  # a table of sines, which the libraries round differently
        buffer.copy_(torch.tensor(dict(ours.named_buffers())[key].numpy()))
    results = []
    for model, make in ((ours, mg.tensor), (theirs, torch.tensor)):
        logits = model(*map(make, inputs))
        (logits * logits.softmax(-1)).sum().backward()
        gradients = {key: p.grad.numpy() for key, p in model.named_parameters() if p.grad is not None}
        results.append((logits.detach().numpy(), gradients))
    (logits, gradients), (expected, expected_gradients) = results
    np.testing.assert_allclose(logits, expected, rtol=1e-10, atol=1e-12)
    assert gradients.keys() == expected_gradients.keys()
    for key, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected_gradients[key], rtol=1e-9, atol=1e-11, err_msg=key)
