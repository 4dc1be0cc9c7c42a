"""What a trained model shows of itself."""

from __future__ import annotations

from pathlib import Path

from minigrad.models.transformer import Config, Transformer
from minigrad.text import Pairs, TokenizerPair, WordTokenizer
from minigrad.translate import run
from minigrad.translate.examples import LONGEST, SENTENCES, WORDS, Examples, examples_of, limited
from minigrad.translate.settings import preset
from minigrad.translate.translator import Translator


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
    """A file of an earlier version has none; if its model learned the shipped corpus, that is there."""
    words = WordTokenizer(["one", "two"])
    model, tokenizers = Transformer(Config(len(words), 8, 2, 1, 16, 0.0, 32)), TokenizerPair(words, words)
    own: Examples = {"sentences": ["one two"], "words": ["two", "one"]}

    def loaded(examples: Examples | None, *data: str) -> Examples:
        settings = preset("toy").changed({"data": data})
        path = run.write_model(tmp_path, model.state_dict(), 1, run.extra(model, tokenizers, settings, {}, examples))
        (tmp_path / "alone").mkdir(exist_ok=True)
        return Translator.load(path.rename(tmp_path / "alone" / "any.safetensors")).examples

    assert loaded(own, "x.tsv") == own
    assert loaded(None, "x.tsv") == {"sentences": [], "words": []}
    assert len(loaded(None)["sentences"]) == SENTENCES and "the" in loaded(None)["words"]
