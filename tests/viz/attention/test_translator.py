"""The translator of examples/translate in viz.attention: in one line, with nothing added to it."""

from __future__ import annotations

import numpy as np

import minigrad as mg
from examples.translate.settings import preset
from examples.translate.translator import Translator
from minigrad.text import TokenizerPair, WordTokenizer
from minigrad.text.tokenizer import BOS, EOS
from minigrad.viz.attention import attention
from models.transformer import Config, Transformer

ENGLISH = ["my", "friends", "like", "tomatoes", "because", "they", "are", "tasty"]
GERMAN = ["meine", "freunde", "mögen", "tomaten", "weil", "sie", "lecker", "sind"]


def test_a_translation() -> None:
    mg.manual_seed(0)
    words = WordTokenizer([*ENGLISH, *GERMAN])
    model = Transformer(Config(len(words), 32, 4, 2, 64))
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    source, target = (words.encode(" ".join(side)) for side in (ENGLISH, GERMAN))

    view = attention(
        translator.model, mg.tensor([[*source, EOS]]), mg.tensor([[BOS, *target]]),
        tokens=(words.token, words.token), title="Why they?",
    )  # fmt: skip

    assert view.kinds == ("encoder", "decoder", "cross")
    cross = view.attentions[2]
    assert cross.keys == (*ENGLISH, "</s>") and cross.queries == ("<s>", *GERMAN)
    expected = translator.attention(" ".join(ENGLISH), " ".join(GERMAN))
    assert np.allclose(np.stack(view.weights("cross")), expected.weights, atol=1e-6)
    they = ENGLISH.index("they")
    layer = view.attentions[0].layers[-1]  # what "they" attends to
    assert layer.path == "encoder.1.attention" and np.allclose(layer.weights[:, they].sum(-1), 1)
    assert "Why they?" in view.page().html()
