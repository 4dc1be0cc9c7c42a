"""The English to Italian corpus as a data set: splits, what is held out, tokens, bad input."""

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache, partial
from itertools import combinations, pairwise

from minigrad.text import WordTokenizer
from minigrad.translate import english_italian
from minigrad.translate.english_italian import Pair, detokenize, load, normalize, tokenize
from minigrad.translate.english_italian.clauses import piacere
from minigrad.translate.english_italian.corpus import LONGEST, MAX_SIZES, split_of, split_of_link
from minigrad.translate.english_italian.lexicon import ADJECTIVES, NOUNS, VERBS, adjectives
from minigrad.translate.english_italian.phrases import PRONOUNS, noun_phrase
from minigrad.translate.english_italian.rules.reasons import because
from tests.support.cases import raises

SPLITS = ("train", "validation", "test")


@cache
def corpus() -> dict[str, list[Pair]]:
    return {split: load(split) for split in SPLITS}


@cache
def big_test_split() -> list[Pair]:
    return load("test", size=5_000, seed=1)


def everything() -> list[Pair]:
    return [pair for pairs in corpus().values() for pair in pairs]


def test_the_default_corpus_has_its_sizes_and_no_pair_twice() -> None:
    sizes = {split: len(pairs) for split, pairs in corpus().items()}
    assert sizes == {"train": 100_000, "validation": 1_000, "test": 1_000}
    assert len({pair.source for pair in everything()}) == 102_000
    assert max(len(pair.source.split()) for pair in everything()) <= LONGEST


def test_each_english_sentence_has_one_translation_whatever_the_split_and_seed() -> None:
    known: dict[str, str] = {}
    other_seeds = (load(split, size=size, seed=9) for split, size in (("train", 8_000), ("validation", 500)))
    for pairs in (everything(), *other_seeds, big_test_split()):
        for pair in pairs:
            assert known.setdefault(pair.source, pair.target) == pair.target


def test_splits_share_no_sentence_on_either_side() -> None:
    """The training's shares none with a test split of another seed."""
    for one, other in (*combinations(corpus().values(), 2), (corpus()["train"], big_test_split())):
        for side in ("source", "target"):
            assert {getattr(p, side) for p in one}.isdisjoint(getattr(p, side) for p in other)


def test_the_seed_alone_decides_what_the_corpus_has() -> None:
    for split in SPLITS:
        first = load(split, size=50, seed=3)
        assert first == load(split, size=80, seed=3)[:50] != load(split, size=50, seed=4)
    code = "from minigrad.translate.english_italian import load; print(load(size=200, seed=1))"
    path = ":".join(sys.path)
    environment = {"PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1", "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True)
    assert ran.stdout == f"{load(size=200, seed=1)}\n"


def test_no_training_sentence_joins_a_held_out_noun_and_adjective() -> None:
    """By the English text: "red shoes", "the shoes are too red", "shoes because they are red"."""
    both = ((noun, adjective.english) for noun in NOUNS.values() for adjective in adjectives(noun))
    known = [(noun, adjective) for noun, adjective in both if split_of_link(noun.name, adjective) == "test"]
    qualities = [(adjective, noun.english, noun.english_plural) for noun, adjective in known]
    assert len(qualities) >= 15
    joined = {split: noun_adjective_pairs(pairs) for split, pairs in corpus().items()}
    joined["test"] |= noun_adjective_pairs(big_test_split())
    met = 0
    for adjective, *nouns in qualities:
        for noun in filter(None, nouns):
            assert (noun, adjective) not in joined["train"]
            assert (noun, adjective) not in joined["validation"]
            met += (noun, adjective) in joined["test"]
    assert met >= len(qualities)


def noun_adjective_pairs(pairs: list[Pair]) -> set[tuple[str, str]]:
    """Neighbours (noun, adjective) in phrases, and subjects with their predicates."""
    joined: set[tuple[str, str]] = set()
    is_ = re.compile(r"(\w+)(?: because (?:it|they))? (?:is|are|was|were) (?:not )?(?:very |too |more )?(\w+)")
    for pair in pairs:
        joined |= {(noun, adjective) for adjective, noun in pairwise(pair.source[:-1].split())}
        if " who " not in pair.source and " that " not in pair.source:
            joined |= set(is_.findall(pair.source))
    return joined


def test_the_sentences_we_show_are_translated_rightly_and_held_out() -> None:
    """Those that people will try first."""
    cats, tomatoes = (noun_phrase("", NOUNS[name], True) for name in ("cat", "tomato"))
    friends = noun_phrase("my", NOUNS["friend"], True)
    tasty = because(piacere(friends, tomatoes), tomatoes, ADJECTIVES["tasty"], ("", ""), "present")
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
    """Those of the lexicon and of the test split as well."""
    sides = ([getattr(pair, side) for pair in corpus()["train"]] for side in ("source", "target"))
    source, target = (Counter(token for text in texts for token in tokenize(text)) for texts in sides)
    words = {n for noun in NOUNS.values() for n in (noun.english, noun.english_plural)}
    words |= {*ADJECTIVES, *(verb.base.split()[0] for verb in VERBS.values())}
    assert words - {""} <= source.keys() and len(source) >= 400 and len(target) >= 800
    assert min(source.values()) >= 40 and min(target.values()) >= 15
    for pair in corpus()["test"]:
        assert {*tokenize(pair.source)} <= source.keys() and {*tokenize(pair.target)} <= target.keys(), pair


def test_detokenize_undoes_tokenize_on_the_whole_corpus() -> None:
    for pair in everything()[:5_000] + corpus()["test"]:
        assert detokenize(tokenize(pair.source)) == pair.source == normalize(pair.source)
        assert detokenize(tokenize(pair.target)) == pair.target


def test_tokenize() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("The cat sees Maria's dog.", ["the", "cat", "sees", "Maria", "'s", "dog", "."]),
        ("I gatti mangiano l'arancia.", ["i", "gatti", "mangiano", "l'", "arancia", "."]),
        ("Mi piacciono i miei libri.", ["mi", "piacciono", "i", "miei", "libri", "."]),
        ("Dov'è l’amico di Luca?", ["dov'", "è", "l'", "amico", "di", "Luca", "?"]),
        ("I don’t like it", ["I", "do", "not", "like", "it"]),
        ("maria is here on monday", ["Maria", "is", "here", "on", "Monday"]),
        ("  too   many\tspaces \n", ["too", "many", "spaces"]),
        ("I LIKE CATS!", ["I", "like", "cats", "!"]),
        ("perche\u0301", ["perché"]),
        ("", []),
        ("   ", []),
        ("猫が好き", ["猫が好き"]),
        ("Κι έτσι", ["κι", "έτσι"]),
        ("''", ["'", "'"]),
    ]
    for text, tokens in rows:
        assert tokenize(text) == tokens


def test_normalize() -> None:
    rows = [
        ("i like cats", "I like cats."),
        ("  i   like cats . ", "I like cats."),
        ("I like cats...", "I like cats."),
        ("do you like cats", "Do you like cats?"),
        ("do you like cats?!", "Do you like cats?"),
        ("where is my cat", "Where is my cat?"),
        ("don't open the door", "Do not open the door."),
        ("I don’t like cats", "I do not like cats."),
        ("he can't swim", "He cannot swim."),
        ("he can not swim", "He cannot swim."),
        ("they won't go", "They will not go."),
        ("i'm tired", "I am tired."),
        ("she's tired", "She is tired."),
        ("i'd like some bread", "I would like some bread."),
        ("i'll go on monday", "I will go on Monday."),
        ("maria's cat is black", "Maria's cat is black."),
        ("where am i", "Where am I?"),
        ("  ", ""),
        ("...", "..."),
    ]
    for typed, written in rows:
        assert normalize(typed) == written == normalize(written)
    for text in ("\x00", "'s", "I", "i.", "é'", "🙂 cats", "a'b'c", "’", "1,5 €"):
        assert isinstance(detokenize(tokenize(text)), str)
        assert normalize(normalize(text)) == normalize(text)


def test_sizes_and_splits_that_there_are_not() -> None:
    for split in SPLITS:
        for size in (MAX_SIZES[split] + 1, -1):
            raises(ValueError, "is not between 0 and", partial(load, split, size=size))
    assert load(size=0) == []
    raises(ValueError, "no split 'dev'; there are train, validation, test", lambda: load("dev"))


def test_its_tokenizer_takes_what_people_type() -> None:
    pairs = english_italian.load("validation", size=1000)
    t = WordTokenizer.train([s for p in pairs for s in (p.source, p.target)], scheme=english_italian.SCHEME)
    assert t.encode(t.prepare("i like   cats")) == t.encode("I like cats.")
    assert t.unknown(t.prepare("I like zebras")) == ["zebras"]
    for pair in pairs[:200]:
        assert t.decode(t.encode(pair.target)) == pair.target
        assert t.prepare(pair.source) == pair.source
