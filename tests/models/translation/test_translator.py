"""A translator: it searches as its settings ask, and shows examples of what it has learned."""

from itertools import product
from pathlib import Path

import minigrad as mg
from minigrad import Tensor
from minigrad_models.text import Pairs, TokenizerPair, WordTokenizer
from minigrad_models.text.tokenizer import BOS, EOS
from minigrad_models.translation import translator as run
from minigrad_models.translation.own_pairs import LONGEST, SENTENCES, WORDS, Examples, examples_of, limited
from minigrad_models.translation.transformer import Config, Transformer
from minigrad_models.translation.translation_settings import preset
from minigrad_models.translation.translator import Translator

THREE = ("one", "two", "three")


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
    words = WordTokenizer(list(THREE))
    model = Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32))
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    translator.model.begin = lambda source, cached=True: Sure(len(source))  # type: ignore[method-assign,assignment,return-value]
    found = {}
    for early, beam in product((False, True), (1, 2)):
        translator.settings = translator.settings.changed({"early_stopping": early, "length_penalty": 0.0})
        found[early, beam] = translator.translate(["one"], beam=beam)[0].text
    assert found[False, 1] == found[True, 1] == found[False, 2] == "one two three"
    assert found[True, 2] != "one two three"


def test_a_string_is_one_sentence() -> None:
    words = WordTokenizer(list(THREE))
    model = Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32))
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    (one,) = translator.translate("three two one")
    assert one == translator.translate(["three two one"])[0] and one.source == "three two one"


def test_presets_search_as_their_results_were_measured() -> None:
    assert preset("multi30k").decoding.early_stopping and preset("multi30k-gru").decoding.early_stopping
    assert not preset("toy").decoding.early_stopping


def test_sentences_are_held_out_and_words_are_learned() -> None:
    train = Pairs(["a dog", "a cat, a dog"], ["x", "y"])
    validation = Pairs(["a bird", "a big bird", "a bird"], ["x", "y", "x"])
    found = examples_of({"train": train, "validation": validation})
    assert found == {"sentences": ["a big bird", "a bird"], "words": ["a", "dog", "cat"]}
    assert examples_of({"train": train})["sentences"] == ["a cat, a dog", "a dog"]


def test_there_are_not_too_many() -> None:
    """Of a file that somebody else has written, too."""
    found = limited({"sentences": [f"{i} " + "x" * i for i in range(200)], "words": [f"w{i}" for i in range(5000)]})
    assert len(found["sentences"]) == SENTENCES and len(found["words"]) == WORDS
    assert max(map(len, found["sentences"])) <= LONGEST


def test_they_come_with_the_one_file(tmp_path: Path) -> None:
    words = WordTokenizer(["one", "two"])
    model, tokenizers = Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32)), TokenizerPair(words, words)
    own: Examples = {"sentences": ["one two"], "words": ["two", "one"]}

    def loaded(examples: Examples | None) -> Examples:
        described = Translator(model, tokenizers, preset("toy"), examples).described({})
        path = run.write_model(tmp_path, model.state_dict(), 1, described)
        (tmp_path / "alone").mkdir(exist_ok=True)
        return Translator.load(path.rename(tmp_path / "alone" / "any.safetensors")).examples

    assert loaded(own) == own and loaded(None) == {"sentences": [], "words": []}
