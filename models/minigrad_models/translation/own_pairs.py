"""A person's own pairs: settings that follow from how many there are and what they are made of; what is said of them
before a training; and what a trained model shows of itself before anybody types, which is written into its file."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypedDict

from ..text import Pairs, SubwordTokenizer, TokenizerPair
from . import translation_data as data
from .translation_settings import Settings, preset

RECIPE = "multi30k"  # the settings for as many pairs as that corpus has, and for more
PAIRS = 29_000
SMALL = 20_000  # pairs: below, the sizes follow the corpus
LEAST = 400  # updates
OFTEN = 5  # a subword stands so often, or is not one
LARGEST = 200_000  # pairs of a corpus that is read through for this
FEW, A_LANGUAGE = 100, 5000  # pairs: below, nothing is held out; from there on, there may be more than a rule to learn
SENTENCES, LONGEST = 6, 80  # characters
WORDS, LONGEST_WORD = 1000, 40
READ = 20_000  # sentences of the training that words are taken from
_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*")


def suited(values: dict[str, Any]) -> Settings:
    """The settings for the pairs of ``values["data"]``; the other values are given, and hold."""
    start = preset(RECIPE).changed({"split_digits": True, **values})
    train = data.read(start.data)["train"]
    chosen, s = sizes(len(train.source), values), start.data
    if len(train.source) < SMALL and s.tokenizer == "subwords" and "vocabulary" not in values:
        # A subword that stands in the corpus a few times only is learned from nothing, and its pieces stand more often
        # (Gowda and May 2020, arXiv 2004.02334).
        options: dict[str, Any] = {"split_digits": s.split_digits, "min_frequency": OFTEN}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            chosen["vocabulary"] = len(SubwordTokenizer.train([*train.source, *train.target], s.vocabulary, **options))
    return start.changed({**chosen, **values})


def sizes(pairs: int, values: dict[str, Any]) -> dict[str, Any]:
    """The updates, and the model, for a number of pairs. The recipe's 10,000 updates go over 29,000 pairs fifty times.
    Fewer pairs are gone over more often, and by a smaller model: updates grow with the power 0.8 of their number."""
    chosen: dict[str, Any] = {}
    steps = 100 * round(preset(RECIPE).training.steps / 100 * (min(pairs, PAIRS) / PAIRS) ** 0.8)
    steps = values.get("steps", max(LEAST, steps))
    if pairs < SMALL:
        chosen |= {"layers": 2 if pairs < 2000 else 3, "schedule": "cosine", "mbr": 0.0, "early_stopping": False}
        chosen["metric"] = "loss"  # BLEU is zero, or nearly, of texts of less than four words
    if steps == 1:
        chosen["schedule"] = "inverse_sqrt"  # the others need an update after those in which the rate rises
    every = max(1, steps // 10)
    warm_up = min(every, 1000)
    return {**chosen, "steps": steps, "warm_up": warm_up, "evaluate_every": every, "snapshot_every": max(1, every // 4)}


def overview(pairs: dict[str, Pairs], tokenizers: TokenizerPair) -> Iterator[str]:
    """Lines for a person, on the pairs by split."""
    train = pairs["train"]
    held_out: dict[str, int] = {split: len(pairs[split].source) for split in ("validation", "test") if split in pairs}
    count, uses = len(train.source), {"validation": "to watch the training with", "test": "to test with at the end"}
    if held_out:
        others = ", ".join(f"{number:,} {uses[split]}" for split, number in held_out.items())
        yield f"{count + sum(held_out.values()):,} pairs: {count:,} to learn from, {others}"
    else:
        yield f"{_counted(count, 'pair')}, all to learn from: none is held out to test with"
    if count > LARGEST:
        return
    counts = Counter(zip(train.source, train.target, strict=True))
    if more := sum(counts.values()) - len(counts):
        yield f"note: another copy of {_counted(more, 'pair')} was found; what stands twice counts twice"
    translations = Counter(source for source, _ in counts)
    if many := sum(number > 1 for number in translations.values()):
        yield f"note: {_counted(many, 'sentence')} with several translations; the model can give only one of them"
    if held_out:
        yield from _new(pairs, tokenizers)
    if count < FEW:
        yield (
            "note: so few pairs are learned by heart, and little else. A rule, as that of numbers or dates, "
            "takes some hundred pairs, and every word several of them"
        )
    elif count < A_LANGUAGE:
        yield (
            "note: so few pairs teach a rule, as that of numbers or dates, or a handful of phrases; "
            "everyday language takes ten thousand pairs and more"
        )


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _new(pairs: dict[str, Pairs], tokenizers: TokenizerPair) -> Iterator[str]:
    """The share of the words held out that no pair to learn from has, and characters of that kind."""
    shares, whole = [], True
    for side, tokenizer in enumerate((tokenizers.source, tokenizers.target)):
        texts = {split: (part.source, part.target)[side] for split, part in pairs.items()}
        held_out = [text for split in ("validation", "test") for text in texts.get(split, ())]
        words = [word for text in held_out for word in words_of(tokenizer.prepare(text))]
        new = set(words) - {word for text in texts["train"] for word in words_of(tokenizer.prepare(text))}
        share = sum(word in new for word in words) / max(1, len(words))
        shares.append(f"{share:.1%} of those to {('read', 'write')[side]}")
        whole = whole and not new
        if unknown := sorted({part for text in held_out for part in tokenizer.unknown(text)}):
            yield f"note: only pairs that are held out have {', '.join(unknown)[:80]}, which the model cannot know"
    if not whole:
        in_pieces = isinstance(tokenizers.source, SubwordTokenizer)
        how = "put together from pieces that it knows" if in_pieces else "unknown to the model"
        yield f"words that only the pairs held out have: {' and '.join(shares)}; they are {how}"


def words_of(text: str) -> list[str]:
    """The words and numbers of a text, without marks."""
    return _WORD.findall(text)


class Examples(TypedDict):
    """Sentences of the source that the model has not learned from (if some are held out), the first to be shown; and
    the words of its training, the commonest first."""

    sentences: list[str]
    words: list[str]


def examples_of(pairs: dict[str, Pairs]) -> Examples:
    """Examples of the pairs by split; the same pairs give the same."""
    held_out = pairs.get("validation", pairs["train"]).source
    counts = Counter(word for text in islice(pairs["train"].source, READ) for word in words_of(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return limited({"sentences": list(islice(held_out, READ)), "words": words})


def limited(examples: Examples) -> Examples:
    """Some of the examples: short ones, each once, the longest of them first, which show most."""
    short = list(dict.fromkeys(text for text in examples["sentences"] if 0 < len(text) <= LONGEST))
    chosen = sorted(short[:SENTENCES], key=len, reverse=True)
    words = [word for word in examples["words"] if len(word) <= LONGEST_WORD]
    return {"sentences": chosen, "words": words[:WORDS]}
