"""Words into tags: the entities of CoNLL-2003 (Tjong Kim Sang and De Meulder 2003).

The state of each word's first piece goes through a linear layer; its other pieces are not asked (Devlin et al. 2019,
section 5.3). Entities are counted as conlleval does, by the library seqeval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad import Tensor
from minigrad.backend.extras import how_to_install

from .bert import IGNORED, BertForTokenClassification
from .bert_data import Tagged, find, tagged
from .encoding import Batch, Encoder, Feature, padded
from .task import Array, Task, most_frequent

OUTSIDE = "O"
Answer = tuple[str, ...]  # the tag of each word


@dataclass(frozen=True)
class Tagging(Task[Tagged, Answer]):
    """Words into tags."""

    kind = BertForTokenClassification
    unit = "words"

    def read(self, folder: Path | None) -> tuple[list[Tagged], list[Tagged]]:
        seqeval()
        known = self.read_file(find(self.there(folder), "eng.train", "train.txt"))
        return known, self.read_file(find(self.there(folder), "eng.testa", "valid.txt"))

    def read_file(self, path: Path) -> list[Tagged]:
        return tagged(path)

    def texts(self, examples: Sequence[Tagged]) -> Iterable[str]:
        return (" ".join(example.words) for example in examples)

    def said(self, examples: Sequence[Tagged]) -> Iterable[str]:
        return (tag for example in examples for tag in example.tags or ())

    def encoder(self, tokenizer: Any, longest: int) -> Encoder:
        """See ``Task``. Words that are cut off are outside of entities."""
        return Encoder(tokenizer, longest)

    def features(self, examples: Sequence[Tagged], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """See ``Task``; a target is a list: the number of the tag at the first piece of each word."""
        numbers = {label: i for i, label in enumerate(labels)}
        result = []
        for i, encoding in enumerate(encoder([list(example.words) for example in examples], are_words=True)):
            tags, words = examples[i].tags, encoding.word_ids
            first = [None if word == before else word for before, word in zip([None, *words], words, strict=False)]
            target = None
            if tags is not None:
                target = [IGNORED if word is None else numbers[tags[word]] for word in first]
            result.append(Feature(encoding.ids, encoding.type_ids, target, i, first))
        return result

    def targets(self, features: Sequence[Feature]) -> Tensor:
        """(B, T)"""
        longest = max(len(feature.ids) for feature in features)
        return mg.from_numpy(padded([feature.target for feature in features], longest, IGNORED))

    def loss(self, model: BertForTokenClassification, batch: Batch) -> tuple[Tensor, float]:
        """See ``Task``: the cross-entropy of a word's tag."""
        assert batch.targets is not None
        words = float((batch.targets != IGNORED).sum())
        return model.loss(batch.tokens, batch.targets, batch.types, batch.mask), words

    def outputs(self, model: BertForTokenClassification, batch: Batch) -> Array:
        """The number of the likeliest tag of each piece (B, T)."""
        tags: Array = model(batch.tokens, batch.types, batch.mask).argmax(-1).numpy()
        return tags

    def answers(
        self, examples: Sequence[Tagged], features: Sequence[Feature], outputs: Sequence[Array], labels: Sequence[str]
    ) -> list[Answer]:
        result = []
        for feature, output in zip(features, outputs, strict=True):
            tags = [OUTSIDE] * len(examples[feature.example].words)
            for word, number in zip(feature.places, output.tolist(), strict=False):
                if word is not None:
                    tags[word] = labels[number]
            result.append(tuple(tags))
        return result

    def metrics(self, examples: Sequence[Tagged], answers: Sequence[Answer]) -> dict[str, float]:
        """See ``Task``: F1, precision and recall of whole entities, and the accuracy of tags."""
        score = seqeval()
        right = [list(example.tags or ()) for example in examples]
        said = [list(answer) for answer in answers]
        names = ("f1", "precision", "recall")
        result = {name: float(getattr(score, f"{name}_score")(right, said, zero_division=0)) for name in names}
        return {**result, "accuracy": float(score.accuracy_score(right, said))}

    def majority(self, known: Sequence[Tagged], asked: Sequence[Tagged]) -> list[Answer]:
        """See ``Task``: the most frequent tag of each word; of words that are new, that of all."""
        tags: dict[str, list[str]] = {}
        for example in known:
            for word, tag in zip(example.words, example.tags or (), strict=True):
                tags.setdefault(word, []).append(tag)
        best, rest = {word: most_frequent(seen) for word, seen in tags.items()}, most_frequent(self.said(known))
        return [tuple(best.get(word, rest) for word in example.words) for example in asked]

    def parse(self, line: str) -> Tagged:
        """Words with spaces between them; punctuation marks are words if spaces set them off."""
        if not line.split():
            raise ValueError("words are needed, not an empty line")
        return Tagged(tuple(line.split()))

    def show(self, example: Tagged, answer: Answer) -> str:
        """Word/tag, or the word alone outside of entities."""
        both = zip(example.words, answer, strict=True)
        return " ".join(word if tag == OUTSIDE else f"{word}/{tag}" for word, tag in both)


def seqeval() -> Any:
    """The library. Raises ImportError: it is missing."""
    try:
        import seqeval.metrics
    except ImportError:
        raise ImportError(f"entities are counted by seqeval: {how_to_install('bert', 'seqeval')}") from None
    return seqeval.metrics
