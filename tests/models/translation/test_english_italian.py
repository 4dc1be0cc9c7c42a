"""The English to Italian corpus as a data set: splits, held-out pairs, tokens, bad input."""

from functools import cache, partial

from minigrad_models.text import WordTokenizer
from minigrad_models.translation import english_italian
from minigrad_models.translation.english_italian import Pair, detokenize, load, normalize, tokenize
from tests.support.cases import raises

SPLITS = ("train", "validation", "test")


@cache
def corpus() -> dict[str, list[Pair]]:
    return {split: load(split) for split in SPLITS}


def everything() -> list[Pair]:
    return [pair for pairs in corpus().values() for pair in pairs]


def test_the_corpus_has_its_sizes_and_no_pair_twice() -> None:
    sizes = {split: len(pairs) for split, pairs in corpus().items()}
    assert sizes == {"train": 14_500, "validation": 1_000, "test": 1_000}
    assert len({pair.source for pair in everything()}) == 16_500
    assert max(len(pair.source.split()) for pair in everything()) <= 14


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
    for typed, normal_form in rows:
        assert normalize(typed) == normal_form == normalize(normal_form)
    for text in ("\x00", "'s", "I", "i.", "é'", "🙂 cats", "a'b'c", "’", "1,5 €"):
        assert isinstance(detokenize(tokenize(text)), str)
        assert normalize(normalize(text)) == normalize(text)


def test_its_tokenizer_accepts_typed_text() -> None:
    pairs = load("validation")
    t = WordTokenizer.train([s for p in pairs for s in (p.source, p.target)], scheme=english_italian.SCHEME)
    assert t.encode(t.prepare("i like   cats")) == t.encode("I like cats.")
    assert t.unknown(t.prepare("I like zebras")) == ["zebras"]
    for pair in pairs[:200]:
        assert t.decode(t.encode(pair.target)) == pair.target
        assert t.prepare(pair.source) == pair.source


def test_sizes_and_splits_that_do_not_exist() -> None:
    for size in (1001, -1):
        raises(ValueError, "size .* of 'test' is not between 0 and 1000", partial(load, "test", size))
    assert load(size=0) == [] and load(size=3) == corpus()["train"][:3]
    raises(ValueError, "unknown split 'dev'; choose from train, validation, test", lambda: load("dev"))
