"""A translator's search: what its settings ask for is what it does."""

from __future__ import annotations

from itertools import product

import minigrad as mg
from minigrad import Tensor
from minigrad.models.transformer import Config, Transformer
from minigrad.text import TokenizerPair, WordTokenizer
from minigrad.text.tokenizer import BOS, EOS
from minigrad.translate.settings import preset
from minigrad.translate.translator import Translator

WORDS = ("one", "two", "three")


class Sure:
    """A decoder that is sure of "one two three": whatever else it might write, the end before the end included, has a
    chance of some thousandth."""

    def __init__(self, sentences: int) -> None:
        self.start = mg.full((sentences, 1), BOS)

    def next_logits(self, tokens: Tensor) -> Tensor:
        row = [4, 5, 6, EOS][min(tokens.shape[1], 4) - 1]
        logits = mg.zeros(len(tokens), 7)
        logits[:, EOS] = 2.0
        logits[:, row] = 8.0
        return logits

    def reorder(self, rows: Tensor, size: int) -> None:
        """It keeps nothing."""


def test_the_beam_finds_what_is_likeliest() -> None:
    """With early stopping, the first two that end are the result, however unlikely they are."""
    words = WordTokenizer(list(WORDS))
    translator = Translator(
        Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32)), TokenizerPair(words, words), preset("toy")
    )
    translator.model.begin = lambda source, cached=True: Sure(len(source))  # type: ignore[method-assign,assignment,return-value]
    found = {}
    for early, beam in product((False, True), (1, 2)):
        translator.settings = translator.settings.changed({"early_stopping": early, "length_penalty": 0.0})
        found[early, beam] = translator.translate(["one"], beam=beam)[0].text
    assert found[False, 1] == found[True, 1] == found[False, 2] == "one two three"
    assert found[True, 2] != "one two three"


def test_presets_search_as_their_results_were_measured() -> None:
    assert preset("multi30k").decoding.early_stopping and preset("multi30k-gru").decoding.early_stopping
    assert not preset("toy").decoding.early_stopping
