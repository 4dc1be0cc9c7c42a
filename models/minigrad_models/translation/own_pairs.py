"""A user's own pairs: settings that suit their number and content, an overview of the pairs before training, and
example sentences, which are stored in the model file and shown before a user types."""

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

RECIPE = "multi30k"  # the settings for at least as many pairs as in that corpus
PAIRS = 29_000
SMALL = 20_000  # pairs: below this number, the model is smaller
LEAST = 400  # updates
OFTEN = 5  # the minimum number of occurrences of a subword
LARGEST = 200_000  # the maximum number of pairs to analyse
FEW, A_LANGUAGE = 100, 5000  # pairs: below FEW, none are held out; below A_LANGUAGE, too few to teach a language
SENTENCES, LONGEST = 6, 80  # characters
WORDS, LONGEST_WORD = 1000, 40
READ = 20_000  # training sentences from which to take words
_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*")


def suited(values: dict[str, Any]) -> Settings:
    """The settings that suit the pairs in ``values["data"]``. The other ``values`` take precedence over them."""
    start = preset(RECIPE).changed({"split_digits": True, **values})
    train = data.read(start.data)["train"]
    changes, s = sizes(len(train.source), values), start.data
    if len(train.source) < SMALL and s.tokenizer == "subwords" and "vocabulary" not in values:
        # A subword that occurs only a few times is hardly trained; its pieces occur more often (Gowda and May 2020,
        # arXiv 2004.02334).
        options: dict[str, Any] = {"split_digits": s.split_digits, "min_frequency": OFTEN}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            changes["vocabulary"] = len(SubwordTokenizer.train([*train.source, *train.target], s.vocabulary, **options))
    return start.changed({**changes, **values})


def sizes(pairs: int, values: dict[str, Any]) -> dict[str, Any]:
    """The number of updates and the model sizes for a number of pairs. The recipe's 10,000 updates are fifty epochs of
    29,000 pairs. Fewer pairs get more epochs and a smaller model: updates are proportional to pairs^0.8."""
    changes: dict[str, Any] = {}
    steps = 100 * round(preset(RECIPE).training.steps / 100 * (min(pairs, PAIRS) / PAIRS) ** 0.8)
    steps = values.get("steps", max(LEAST, steps))
    if pairs < SMALL:
        changes |= {"layers": 2 if pairs < 2000 else 3, "schedule": "cosine", "mbr": 0.0, "early_stopping": False}
        changes["metric"] = "loss"  # BLEU is near zero for texts of fewer than four words
    if steps == 1:
        changes["schedule"] = "inverse_sqrt"  # other schedules need an update after the warm-up
    every = max(1, steps // 10)
    warm_up = min(every, 1000)
    return changes | {"steps": steps, "warm_up": warm_up, "evaluate_every": every, "snapshot_every": max(1, every // 4)}


def overview(pairs: dict[str, Pairs], tokenizers: TokenizerPair) -> Iterator[str]:
    """Lines of text that describe the pairs of each split."""
    train = pairs["train"]
    held_out: dict[str, int] = {split: len(pairs[split].source) for split in ("validation", "test") if split in pairs}
    count, uses = len(train.source), {"validation": "for validation", "test": "for the test at the end"}
    if held_out:
        others = ", ".join(f"{number:,} {uses[split]}" for split, number in held_out.items())
        yield f"{count + sum(held_out.values()):,} pairs: {count:,} for training, {others}"
    else:
        yield f"{_counted(count, 'pair')}, all for training: none is held out for a test"
    if count > LARGEST:
        return
    counts = Counter(zip(train.source, train.target, strict=True))
    if more := sum(counts.values()) - len(counts):
        yield f"note: found {_counted(more, 'duplicate pair')}; each copy counts"
    translations = Counter(source for source, _ in counts)
    if many := sum(number > 1 for number in translations.values()):
        yield f"note: {_counted(many, 'sentence')} with several translations; the model can give only one of them"
    if held_out:
        yield from _new(pairs, tokenizers)
    if count < FEW:
        yield (
            "note: the model will memorise so few pairs, and learn little else. A rule, such as for numbers or dates, "
            "takes a few hundred pairs, with several for each word"
        )
    elif count < A_LANGUAGE:
        yield (
            "note: so few pairs can teach a rule, such as for numbers or dates, or a handful of phrases; "
            "everyday language takes ten thousand pairs or more"
        )


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _new(pairs: dict[str, Pairs], tokenizers: TokenizerPair) -> Iterator[str]:
    """Lines of text with the share of held-out words, and the held-out characters, that no training pair contains."""
    shares, whole = [], True
    for side, tokenizer in enumerate((tokenizers.source, tokenizers.target)):
        texts = {split: (part.source, part.target)[side] for split, part in pairs.items()}
        held_out = [text for split in ("validation", "test") for text in texts.get(split, ())]
        words = [word for text in held_out for word in words_of(tokenizer.prepare(text))]
        new = set(words) - {word for text in texts["train"] for word in words_of(tokenizer.prepare(text))}
        share = sum(word in new for word in words) / max(1, len(words))
        shares.append(f"{share:.1%} of the words to {('read', 'write')[side]}")
        whole = whole and not new
        if unknown := sorted({part for text in held_out for part in tokenizer.unknown(text)}):
            yield f"note: only held-out pairs contain {', '.join(unknown)[:80]}, which the model cannot learn"
    if not whole:
        in_pieces = isinstance(tokenizers.source, SubwordTokenizer)
        how = "composed of known pieces" if in_pieces else "unknown to the model"
        yield f"words that occur only in held-out pairs: {' and '.join(shares)}; they are {how}"


def words_of(text: str) -> list[str]:
    """The words and numbers of a text, without punctuation."""
    return _WORD.findall(text)


class Examples(TypedDict):
    """Source sentences to show first, and the words of the training data, most frequent first. The sentences are from
    held-out data, if there is any."""

    sentences: list[str]
    words: list[str]


def examples_of(pairs: dict[str, Pairs]) -> Examples:
    """Choose examples from the pairs (by split). The same pairs always yield the same examples."""
    held_out = pairs.get("validation", pairs["train"]).source
    counts = Counter(word for text in islice(pairs["train"].source, READ) for word in words_of(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return limited({"sentences": list(islice(held_out, READ)), "words": words})


def limited(examples: Examples) -> Examples:
    """Short examples without duplicates, longest first, as longer sentences show more."""
    short = list(dict.fromkeys(text for text in examples["sentences"] if 0 < len(text) <= LONGEST))
    sentences = sorted(short[:SENTENCES], key=len, reverse=True)
    words = [word for word in examples["words"] if len(word) <= LONGEST_WORD]
    return {"sentences": sentences, "words": words[:WORDS]}
