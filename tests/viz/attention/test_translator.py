"""The translator of minigrad/translate in viz.attention: its model in one line, and a translation's beam."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from minigrad.models.transformer import Config, Transformer
from minigrad.text import TokenizerPair, WordTokenizer
from minigrad.text.tokenizer import BOS, EOS
from minigrad.translate.settings import preset
from minigrad.translate.translator import Translator
from minigrad.viz.attention import attention

ENGLISH = ["my", "friends", "like", "tomatoes", "because", "they", "are", "tasty"]
GERMAN = ["meine", "freunde", "mögen", "tomaten", "weil", "sie", "lecker", "sind"]


@pytest.fixture
def translator() -> Translator:
    """One that has learned nothing."""
    mg.manual_seed(0)
    words = WordTokenizer([*ENGLISH, *GERMAN])
    model = Transformer(Config(len(words), 32, 4, 2, 64))
    return Translator(model, TokenizerPair(words, words), preset("toy"))


def test_its_model(translator: Translator) -> None:
    words = translator.tokenizers.source
    source, target = (words.encode(" ".join(side)) for side in (ENGLISH, GERMAN))
    inputs = mg.tensor([[*source, EOS]]), mg.tensor([[BOS, *target]])
    view = attention(translator.model, *inputs, tokens=(words.token, words.token), title="Why they?")
    assert view.kinds == ("encoder", "decoder", "cross")
    cross = view.attentions[2]
    assert cross.keys == (*ENGLISH, "</s>") and cross.queries == ("<s>", *GERMAN)
    expected = translator.attention(" ".join(ENGLISH), " ".join(GERMAN))
    assert np.allclose(np.stack(view.weights("cross")), expected.weights, atol=1e-6)
    assert view.attentions[0].layers[-1].path == "encoder.1.attention" and "Why they?" in view.page().html()


def test_a_translation_and_its_beam(translator: Translator) -> None:
    """Each text of the beam has its own tokens and weights: those at the steps that wrote the tokens."""
    translator.model.train()
    (found,) = translator.translate(["my friends like tomatoes"], beam=3)
    view = translator.look(found)
    assert translator.model.training and view.title == "my friends like tomatoes"
    assert [(one.text, one.score) for one in view.beam] == [(one.text, one.score) for one in found.beam]
    assert view.attentions == view.beam[0].attentions and view.kinds == ("encoder", "decoder", "cross")
    for one in view.beam:
        encoder, decoder, cross = one.attentions
        assert encoder is view.attentions[0]
        assert encoder.rows == cross.keys == ("my", "friends", "like", "tomatoes", "⟨end⟩")
        assert cross.rows == decoder.rows == (*one.text.split(), "⟨end⟩")
        assert decoder.keys == ("⟨begin⟩", *cross.rows[:-1])
        expected = translator.attention(found.source, one.text)
        assert (*expected.target,) == cross.rows and (*expected.source,) == cross.keys
        assert np.allclose(np.stack([layer.weights for layer in cross.layers]), expected.weights, atol=1e-6)


def test_a_translation_and_the_graph_of_each_text(translator: Translator) -> None:
    """Each graph is of the loss of its text, in evaluation mode; afterwards the model trains on."""
    translator.model.train()
    (found,) = translator.translate(["my friends like tomatoes"], beam=3)
    view = translator.linked(found)
    assert translator.model.training and len(view.graphs) == len(view.attention.beam) == 3
    losses = []
    translator.model.eval()
    for one in found.beam:
        both = found.source, one.text
        source, target = ([*translator.tokenizers.source.encode(text), EOS] for text in both)
        losses.append(float(translator.model.loss(mg.tensor([source]), mg.tensor([[BOS, *target]]))))
    shown = [graph.graph.nodes[graph.graph.output].value for graph in view.graphs]
    assert [value.table[0][0] for value in shown] == pytest.approx(losses, rel=1e-6)  # type: ignore[union-attr, index]
    paths = {layer.path for one in view.attention.attentions for layer in one.layers}
    assert all(paths <= {node.module for node in graph.graph.nodes} for graph in view.graphs)


def test_an_empty_sentence_has_no_attention(translator: Translator) -> None:
    (found,) = translator.translate([" "])
    for look in (translator.look, translator.linked):
        with pytest.raises(ValueError, match="the beam is empty"):
            look(found)
