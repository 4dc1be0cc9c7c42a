"""The small data sets: independent rules check their labels, and the splits do not overlap."""

from collections import Counter

from minigrad_models.bert import small
from minigrad_models.bert.questions import WORDS, Split
from minigrad_models.translation import english_italian
from minigrad_models.translation.english_italian import tokenize

SPLITS: tuple[Split, ...] = ("train", "dev")


def test_they_are_reproducible_and_large_enough() -> None:
    for task, sizes in (("sst2", (2000, 300)), ("mrpc", (1500, 100)), ("conll", (2000, 300))):
        for split, least in zip(SPLITS, sizes, strict=True):
            examples = small.load(task, split)
            assert examples == small.load(task, split) and least <= len(examples) <= small.MOST[split]


def test_moods() -> None:
    labels = {example.texts[0]: example.label for split in SPLITS for example in small.load("sst2", split)}
    assert labels["The gnocchi are good."] == "positive" and labels["Luca's dogs are not strong."] == "negative"
    assert labels["These boys are very afraid."] == "negative" and labels["Laura is not very afraid."] == "positive"
    assert min(Counter(labels.values()).values()) > 0.35 * len(labels)


def test_paraphrases() -> None:
    """Equivalent sentences have the same words in another order; others differ in one word."""
    for split in SPLITS:
        examples = small.load("mrpc", split)
        for example in examples:
            first, second = (Counter(tokenize(text)) for text in example.texts)
            second[","] -= 1
            changed = (first - second) + (second - first)
            assert (not changed) == (example.label == "equivalent") and changed.total() <= 2, example
            assert not changed or changed == {"not": 1} or set(changed) <= set(small.PLACE.split("|")), example
        assert 0.4 < sum(example.label == "equivalent" for example in examples) / len(examples) < 0.6


def test_entities_are_whole_and_new_in_dev() -> None:
    there: dict[Split, set[str]] = {}
    for split in SPLITS:
        there[split] = set()
        for words, tags in small.load("conll", split):
            assert not set(words) & set(small.NAME.split("|"))
            for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
                first = "B-LOC" if word in small.TOWNS else "B-PER" if word in WORDS["first"] else "O"
                assert tag == (f"I-{tags[i - 1][2:]}" if word in WORDS["last"] else first)
                if tag[0] == "I":
                    assert tags[i - 1][0] == "B"
                    there[split].add(f"{words[i - 1]} {word}")
        assert len(there[split]) > 50
    assert not there["train"] & there["dev"]


def test_the_splits_share_no_sentence() -> None:
    pairs = {split: {pair.source for pair in english_italian.load(split)} for split in ("train", "validation", "test")}
    for split, parts in (("train", ("train",)), ("dev", ("validation", "test"))):
        assert all(any(e.texts[0] in pairs[part] for part in parts) for e in small.load("sst2", split))
