"""Music that a model writes: from nothing, or as a motif goes on. It writes no token that has no meaning.

Shapes: N rows, T tokens so far, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..generation import generate as generation
from ..generation.beam_search import Decoder
from ..generation.generate import Model, Search
from ..programs.validation import Ids
from .languages import TEMPO, Language, Rules, Written

LEAST = 0.01  # seconds of a note


class Allowed:
    """A decoder whose logits of tokens that the rules of its rows do not allow are -inf. After the end, the decoder
    within is not asked. ``vocabulary`` is V."""

    def __init__(self, decoder: Decoder, rules: Rules, vocabulary: int) -> None:
        self.decoder, self.rules, self.vocabulary, self.start = decoder, rules, vocabulary, decoder.start
        self.read = 0  # tokens of a row that the rules know

    def next_logits(self, tokens: Tensor) -> Tensor:
        for column in tokens[:, self.read :].numpy().T:
            self.rules.add(column)
        self.read = tokens.shape[1]
        if self.rules.over():
            logits = mg.zeros(len(tokens), self.vocabulary, device=tokens.device)
        else:
            logits = self.decoder.next_logits(tokens)
        mask = mg.from_numpy(np.ascontiguousarray(~self.rules.allowed())).to(tokens.device)
        return logits.masked_fill(mask, -np.inf)

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        self.rules.reorder(rows.numpy())
        self.decoder.reorder(rows, beam_size)


class Restricted:
    """A ``generation.generate.Model`` that writes as another, but by the rules of a language, for so many seconds."""

    def __init__(self, model: Any, language: Language, seconds: float) -> None:
        self.model: Model = model
        self.language, self.seconds, self.context = language, seconds, model.context

    def begin(self, prompts: Sequence[Sequence[int]], **options: Any) -> Allowed:
        rules = self.language.rules(len(prompts), self.seconds)
        return Allowed(self.model.begin(prompts, **options), rules, self.language.vocabulary)


def compose(
    model: Any,
    language: Language,
    prompt: Ids,
    seconds: float,
    search: Search,
    count: int = 1,
    tempo: float = TEMPO,
    progress: Any = None,
) -> list[Ids]:
    """Several sequences that go on from one, the prompt (T,), for so many seconds; it is their beginning, and begins
    with ``language.begin``. The tempo is of chorales. ``progress`` hears seconds of music, as they are written."""
    total = float(language.seconds(prompt, tempo).sum()) + seconds

    heard = lambda _, token: progress(float(language.seconds(np.array([token]), tempo)[0]))
    hypotheses = generation.write(
        Restricted(model, language, total),
        [prompt.tolist()] * count,
        language.most_tokens(seconds, tempo),
        search,
        language.begin,
        None if progress is None else heard,
    )
    return [np.array([*prompt, *(i for i in h.tokens if i != language.begin)], np.int64) for h in hypotheses]


def closed(written: Written, seconds: float) -> Written:
    """The same, with notes that end after so many seconds at the latest."""
    notes = [note._replace(end=max(min(note.end, seconds), note.start + LEAST)) for note in written.notes]
    return written._replace(notes=notes)
