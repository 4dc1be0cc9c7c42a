"""The grammar as the source of a data set: splits, held-out pairs, bad input."""

import gzip
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache, partial
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from examples.english_italian import __main__ as command
from examples.english_italian.clauses import piacere
from examples.english_italian.corpus import LARGEST, draw, split_of, split_of_link
from examples.english_italian.lexicon import ADJECTIVES, NOUNS, VERBS, adjectives
from examples.english_italian.phrases import PRONOUNS, noun_phrase
from examples.english_italian.pieces import NOTHING
from examples.english_italian.rules.reasons import because
from minigrad_models.translation import english_italian
from minigrad_models.translation.english_italian import Pair, detokenize, load, tokenize
from tests.support.cases import raises

SPLITS = ("train", "validation", "test")


@cache
def corpus() -> dict[str, list[Pair]]:
    return {split: load(split) for split in SPLITS}


@cache
def big_test_split() -> list[Pair]:
    return draw("test", 5_000, 1)


def test_an_english_sentence_has_one_translation_in_all_splits_and_seeds() -> None:
    translations: dict[str, str] = {}
    other_seeds = (draw(split, size, 9) for split, size in (("train", 8_000), ("validation", 500)))
    for pairs in (*corpus().values(), *other_seeds, big_test_split()):
        for pair in pairs:
            assert translations.setdefault(pair.source, pair.target) == pair.target


def test_splits_share_no_sentence_on_either_side() -> None:
    """The training split also shares none with a test split from another seed."""
    for one, other in (*combinations(corpus().values(), 2), (corpus()["train"], big_test_split())):
        for side in ("source", "target"):
            assert {getattr(p, side) for p in one}.isdisjoint(getattr(p, side) for p in other)


def test_the_corpus_depends_only_on_the_seed() -> None:
    for split in SPLITS:
        first = draw(split, 50, 3)
        assert first == draw(split, 80, 3)[:50] != draw(split, 50, 4)
    code = "from examples.english_italian.corpus import draw; print(draw('train', 200, 1))"
    path = ":".join(sys.path)
    environment = {"PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1", "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True)
    assert ran.stdout == f"{draw('train', 200, 1)}\n"


def test_no_training_sentence_joins_a_held_out_noun_and_adjective() -> None:
    """Found in the English text: "red shoes", "the shoes are too red", "shoes because they are red"."""
    both = ((noun, adjective.english) for noun in NOUNS.values() for adjective in adjectives(noun))
    links = [(noun, adjective) for noun, adjective in both if split_of_link(noun.name, adjective) == "test"]
    qualities = [(adjective, noun.english, noun.english_plural) for noun, adjective in links]
    assert len(qualities) >= 15
    joined = {split: noun_adjective_pairs(pairs) for split, pairs in corpus().items()}
    joined["test"] |= noun_adjective_pairs(big_test_split())
    count = 0
    for adjective, *nouns in qualities:
        for noun in filter(None, nouns):
            assert (noun, adjective) not in joined["train"]
            assert (noun, adjective) not in joined["validation"]
            count += (noun, adjective) in joined["test"]
    assert count >= len(qualities)


def noun_adjective_pairs(pairs: list[Pair]) -> set[tuple[str, str]]:
    """Pairs (noun, adjective) that are adjacent in phrases, or subject and predicate."""
    joined: set[tuple[str, str]] = set()
    is_ = re.compile(r"(\w+)(?: because (?:it|they))? (?:is|are|was|were) (?:not )?(?:very |too |more )?(\w+)")
    for pair in pairs:
        joined |= {(noun, adjective) for adjective, noun in pairwise(pair.source[:-1].split())}
        if " who " not in pair.source and " that " not in pair.source:
            joined |= set(is_.findall(pair.source))
    return joined


def test_the_sentences_we_show_are_correct_and_held_out() -> None:
    """The sentences that people will try first."""
    cats, tomatoes = (noun_phrase("", NOUNS[name], True) for name in ("cat", "tomato"))
    friends = noun_phrase("my", NOUNS["friend"], True)
    tasty = because(piacere(friends, tomatoes), tomatoes, ADJECTIVES["tasty"], NOTHING, "present")
    likes = "My friends like tomatoes because they are tasty."
    for clause, english, italian in (
        (tasty, likes, "Ai miei amici piacciono i pomodori perché sono gustosi."),
        (piacere(PRONOUNS["I"], cats), "I like cats.", "Mi piacciono i gatti."),
    ):
        assert detokenize([*clause.english.split(), clause.end]) == english
        assert detokenize([*clause.italian.split(), clause.end]) == italian
        assert split_of(clause) == "test"
    short = [Pair("I love you very much.", "Ti amo molto."), Pair("I like cats.", "Mi piacciono i gatti.")]
    assert {*short} <= {*big_test_split()}
    assert {likes, *(pair.source for pair in short)}.isdisjoint(pair.source for pair in corpus()["train"])


def test_the_vocabulary_is_large_and_each_word_is_often_in_training() -> None:
    """This includes each word of the lexicon and of the test split."""
    sides = ([getattr(pair, side) for pair in corpus()["train"]] for side in ("source", "target"))
    source, target = (Counter(token for text in texts for token in tokenize(text)) for texts in sides)
    words = {n for noun in NOUNS.values() for n in (noun.english, noun.english_plural)}
    words |= {*ADJECTIVES, *(verb.base.split()[0] for verb in VERBS.values())}
    assert words - {""} <= source.keys() and len(source) >= 400 and len(target) >= 800
    assert min(source.values()) >= 5 and min(target.values()) >= 4
    for pair in corpus()["test"]:
        assert {*tokenize(pair.source)} <= source.keys() and {*tokenize(pair.target)} <= target.keys(), pair


def test_sizes_and_splits_that_do_not_exist() -> None:
    for split in SPLITS:
        for size in (LARGEST[split] + 1, -1):
            raises(ValueError, "is not between 0 and", partial(draw, split, size))
    raises(ValueError, "unknown split 'dev'; choose from train, validation, test", lambda: draw("dev", 1))


def test_the_command_writes_the_shipped_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = english_italian.CORPUS.read_bytes()
    monkeypatch.setattr(english_italian, "CORPUS", tmp_path / "corpus.tsv.gz")
    monkeypatch.setattr(sys, "argv", ["english_italian"])
    command.main()
    assert gzip.decompress((tmp_path / "corpus.tsv.gz").read_bytes()) == gzip.decompress(shipped)
    monkeypatch.setattr(sys, "argv", ["english_italian", "3", "--seed", "7"])
    command.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[1:] == ["\t".join(pair) for pair in draw("train", 3, 7)]
