"""A decoder that may not choose tokens without a meaning.

Shapes: N rows, T tokens so far, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..generation.beam_search import Decoder
from ..generation.generate import Model
from ..programs.validation import Ids


class Rules(Protocol):
    """Which tokens may follow what the rows of a decoder have; it begins before their first."""

    def add(self, tokens: Ids) -> None:
        """The next token of each row (N,)."""

    def allowed(self) -> Ids:
        """True at the tokens that may come next, (N, V) or (1, V); each row has one."""

    def reorder(self, rows: Ids) -> None:
        """Continue row rows[n] as row n."""

    def over(self) -> bool:
        """Whether all rows have come to their end, and only a token that says so may follow."""


class Allowed:
    """A decoder whose logits of tokens that rules do not allow are -inf.

    Args:
        decoder: any other. It is not asked for what comes after the end.
        rules: made for its rows.
        vocabulary: V.
    """

    def __init__(self, decoder: Decoder, rules: Rules, vocabulary: int) -> None:
        self.decoder, self.rules, self.vocabulary, self.start = decoder, rules, vocabulary, decoder.start
        self.read = 0  # tokens of a row that the rules have seen

    def next_logits(self, tokens: Tensor) -> Tensor:
        """See ``Decoder``."""
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
        """See ``Decoder``."""
        self.rules.reorder(rows.numpy())
        self.decoder.reorder(rows, beam_size)


class Restricted:
    """A ``models.generation.Model`` that writes by rules.

    Args:
        model: any other. rules: makes them, for a number of rows.
    """

    def __init__(self, model: Any, rules: Callable[[int], Rules]) -> None:
        self.model: Model = model
        self.rules, self.vocabulary = rules, int(model.config.vocabulary)

    @property
    def context(self) -> int | None:
        """See ``Model``."""
        return self.model.context

    def begin(self, prompts: Sequence[Sequence[int]], **options: Any) -> Allowed:
        """See ``Model``."""
        return Allowed(self.model.begin(prompts, **options), self.rules(len(prompts)), self.vocabulary)
