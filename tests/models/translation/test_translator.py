"""A translator: it searches as set in its settings, and shows examples of sentences and words."""

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
    """A decoder that is sure of "one two three": every other token, including an early end, has a probability of
    about a thousandth."""

    def __init__(self, sentences: int) -> None:
        self.start = mg.full((sentences, 1), BOS)

    def next_logits(self, tokens: Tensor) -> Tensor:
        row = [4, 5, 6, EOS][min(tokens.shape[1], 4) - 1]
        logits = mg.zeros(len(tokens), 7)
        logits[:, EOS] = 2.0
        logits[:, row] = 8.0
        return logits

    def reorder(self, rows: Tensor, size: int) -> None:
        """Do nothing: there is no cache."""


def test_the_beam_finds_the_likeliest_sentence() -> None:
    """With early stopping, the first two finished sentences are the result, however unlikely they are."""
    words = WordTokenizer(list(THREE))
    model = Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32))
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    translator.model.begin = lambda source, cached=True: Sure(len(source))  # type: ignore[method-assign,assignment,return-value]
    texts = {}
    for early, beam in product((False, True), (1, 2)):
        translator.settings = translator.settings.changed({"early_stopping": early, "length_penalty": 0.0})
        texts[early, beam] = translator.translate(["one"], beam=beam)[0].text
    assert texts[False, 1] == texts[True, 1] == texts[False, 2] == "one two three"
    assert texts[True, 2] != "one two three"


def test_a_string_is_one_sentence() -> None:
    words = WordTokenizer(list(THREE))
    model = Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32))
    translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    (one,) = translator.translate("three two one")
    assert one == translator.translate(["three two one"])[0] and one.source == "three two one"


def test_presets_search_as_in_their_published_results() -> None:
    assert preset("multi30k").decoding.early_stopping and preset("multi30k-gru").decoding.early_stopping
    assert not preset("toy").decoding.early_stopping


def test_sentences_are_held_out_and_words_are_learned() -> None:
    train = Pairs(["a dog", "a cat, a dog"], ["x", "y"])
    validation = Pairs(["a bird", "a big bird", "a bird"], ["x", "y", "x"])
    examples = examples_of({"train": train, "validation": validation})
    assert examples == {"sentences": ["a big bird", "a bird"], "words": ["a", "dog", "cat"]}
    assert examples_of({"train": train})["sentences"] == ["a cat, a dog", "a dog"]


def test_the_number_of_examples_is_limited() -> None:
    """This also applies to a file that somebody else wrote."""
    examples = limited({"sentences": [f"{i} " + "x" * i for i in range(200)], "words": [f"w{i}" for i in range(5000)]})
    assert len(examples["sentences"]) == SENTENCES and len(examples["words"]) == WORDS
    assert max(map(len, examples["sentences"])) <= LONGEST


def test_examples_are_stored_in_the_model_file(tmp_path: Path) -> None:
    words = WordTokenizer(["one", "two"])
    model, tokenizers = Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32)), TokenizerPair(words, words)
    own: Examples = {"sentences": ["one two"], "words": ["two", "one"]}

    def loaded(examples: Examples | None) -> Examples:
        described = Translator(model, tokenizers, preset("toy"), examples).described({})
        path = run.write_model(tmp_path, model.state_dict(), 1, described)
        (tmp_path / "alone").mkdir(exist_ok=True)
        return Translator.load(path.rename(tmp_path / "alone" / "any.safetensors")).examples

    assert loaded(own) == own and loaded(None) == {"sentences": [], "words": []}
