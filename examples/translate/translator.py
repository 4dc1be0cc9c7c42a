"""A trained model with its tokenizers: sentences in, translations out, and what was looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad.text import TokenizerPair
from minigrad.text.generate import Hypothesis as Found
from minigrad.text.generate import beam_search, greedy, power, sample
from minigrad.text.risk import minimum_bayes_risk
from minigrad.text.tokenizer import BOS, EOS, UNKNOWN
from models.transformer import Transformer, pad

from . import run
from .settings import DecodingSettings, Settings

if TYPE_CHECKING:
    from minigrad.viz.attention import AttentionView
    from minigrad.viz.linked import Linked

BATCH = 100  # sentences that are translated together
PLACES = 1 << 16  # for tokens in a batch, read or to be written, beams counted: their keys and values


class Hypothesis(NamedTuple):
    """One possible translation, and its score (higher is better)."""

    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """What became of a sentence.

    Attributes:
        source: the sentence as the tokenizer took it. text: its translation, "" for an empty sentence.
        score: the translation's. beam: the best found, best first. notes: what a person should know.
    """

    source: str
    text: str
    score: float
    beam: list[Hypothesis] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Attention(NamedTuple):
    """What each target token took from each source token.

    Attributes:
        source, target: the tokens' texts, with "⟨end⟩" at the end.
        weights: cross-attention (layers, heads, T, S) at the position that wrote the token; rows sum to 1.
    """

    source: list[str]
    target: list[str]
    weights: np.ndarray[Any, np.dtype[np.float32]]


class _Given(NamedTuple):
    """What the model is given when it is watched.

    Attributes:
        source, target: ids (1, S) and (1, T). read, written: the texts of the S tokens, and of the T tokens
            that follow those of the target.
    """

    source: mg.Tensor
    target: mg.Tensor
    read: list[str]
    written: list[str]


def _groups(lengths: Sequence[int], most: int, beam_size: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of groups of sentences, whose lengths rise: few enough, and none too large."""
    start = 0
    for stop, length in enumerate(lengths, 1):
        if stop - start > 1 and (stop - start > most or (stop - start) * beam_size * 3 * length > PLACES):
            yield start, stop - 1
            start = stop - 1
    if start < len(lengths):
        yield start, len(lengths)


class Translator:
    """A model and its tokenizers.

    Args:
        model: the transformer. tokenizers: of its source and target. settings: how it was trained, and how it
            searches unless told otherwise.
    """

    def __init__(self, model: Transformer, tokenizers: TokenizerPair, settings: Settings) -> None:
        self.model, self.tokenizers, self.settings = model, tokenizers, settings

    @classmethod
    def load(cls, path: Path | str, device: str = "cpu") -> Translator:
        """The model of a run's folder, or of a file.

        Raises:
            FileNotFoundError: there is none. ValueError, RuntimeError: the file is damaged, or not a model of
                this program.
        """
        return cls(*run.load(Path(path), device))

    @property
    def languages(self) -> tuple[str, str]:
        """What it translates from and to."""
        return self.settings.data.source, self.settings.data.target

    @mg.no_grad()
    def translate(
        self,
        sentences: Sequence[str],
        beam: int | None = None,
        length_penalty: float | None = None,
        coverage_penalty: float | None = None,
        sample: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        cached: bool = True,
        batch: int = BATCH,
        progress: Callable[[int], Any] | None = None,
        mbr: float | None = None,
    ) -> list[Translation]:
        """Translate sentences, those of about equal length together; results in the order given.

        Args:
            sentences: text; an empty one has an empty translation.
            beam, length_penalty, coverage_penalty, mbr: of the beam search; None takes the settings'.
            sample: a temperature: translations are drawn at random, from the top_k likeliest tokens, or from
                those that together have probability top_p.
            cached: keep keys and values; without, everything is computed again at each step.
            batch: how many sentences are translated together.
            progress: called with a number of sentences when so many more are done.

        Raises:
            ValueError: a value makes no sense, or chooses among the texts of a beam where that has only one.
        """
        given = {"beam": beam, "length_penalty": length_penalty, "coverage_penalty": coverage_penalty, "mbr": mbr}
        changes = {name: value for name, value in given.items() if value is not None}
        decoding = self.settings.changed(changes).decoding
        choosing = [name for name, value in changes.items() if name != "beam" and value]
        if choosing and decoding.beam == 1 and sample is None:
            raise ValueError(f"{choosing[0]} chooses among the texts of a beam, and a beam of 1 has only one")
        prepared = [self._prepared(sentence) for sentence in sentences]
        full = [i for i, (_, ids, _) in enumerate(prepared) if len(ids) > 1]
        order = sorted(full, key=lambda i: len(prepared[i][1]))
        results = [Translation(text, "", 0.0, [], notes) for text, _, notes in prepared]
        was_training = self.model.training
        self.model.eval()
        lengths = [len(prepared[i][1]) for i in order]
        for rows in (order[a:b] for a, b in _groups(lengths, batch, decoding.beam)):
            found = self._search([prepared[i][1] for i in rows], decoding, (sample, top_k, top_p), cached)
            for i, hypotheses in zip(rows, found, strict=True):
                results[i] = self._told(prepared[i], hypotheses)
            if progress is not None:
                progress(len(rows))
        self.model.train(was_training)
        return results

    def _prepared(self, sentence: str) -> tuple[str, list[int], list[str]]:
        """The text as the tokenizer wants it, its ids with EOS, and notes."""
        tokenizer, most, notes = self.tokenizers.source, self.model.config.positions - 1, []
        text = tokenizer.prepare(" ".join(sentence.split()))
        ids = tokenizer.encode(text)
        if UNKNOWN in ids:
            unknown = ", ".join(dict.fromkeys(tokenizer.unknown(text)))
            notes.append(f"the model has never seen: {unknown[:200]}")
        if len(ids) > most:
            notes.append(f"the sentence has {len(ids):,} tokens; only the first {most:,} are translated")
        return text, [*ids[:most], EOS], notes

    def _search(
        self,
        sources: list[list[int]],
        decoding: DecodingSettings,
        drawn: tuple[float | None, int | None, float | None],
        cached: bool,
    ) -> list[list[Found]]:
        """The best hypotheses of each sentence."""
        decoder = self.model.begin(pad(sources, self.model.embedding.weight.device), cached)
        limits = [min(2 * len(ids) + 10, self.model.config.positions - 1) for ids in sources]
        temperature, top_k, top_p = drawn
        if temperature is not None:
            return [[h] for h in sample(decoder, limits, temperature, top_k, top_p)]
        if decoding.beam == 1:
            return [[h] for h in greedy(decoder, limits)]
        penalty = power(decoding.length_penalty)
        beams = beam_search(decoder, decoding.beam, limits, penalty, decoding.coverage_penalty)
        return [minimum_bayes_risk(beam, decoding.mbr) for beam in beams] if decoding.mbr else beams

    def _told(self, prepared: tuple[str, list[int], list[str]], found: list[Found]) -> Translation:
        text, _, notes = prepared
        beam = [Hypothesis(self.tokenizers.target.decode(h.tokens), h.score) for h in found]
        return Translation(text, beam[0].text, beam[0].score, beam, notes)

    @mg.no_grad()
    def attention(self, source: str, target: str) -> Attention:
        """What each token of a translation looks at, if the model writes it after this source."""
        given = self._given(source, target)
        was_training = self.model.training
        self.model.eval()
        weights = self.model.attention(given.source, given.target)
        self.model.train(was_training)
        return Attention(given.read, given.written, weights[:, :, 0].cpu().numpy())

    def look(self, found: Translation) -> AttentionView:
        """All attention, of encoder and decoder, layer by layer and head by head, for each text of a beam.

        It shows itself in a notebook, and ``save`` makes a page (.html) or a picture of it: see
        ``minigrad.viz.attention``.

        Raises:
            ValueError: the translation of an empty sentence, for which the model was not asked.
        """
        from minigrad.viz.attention import AttentionView, Candidate, attention

        beam: list[Candidate] = []
        for text, score in found.beam:
            given = self._given(found.source, text)
            target = ["⟨begin⟩", *given.written[:-1]]
            tokens = {"source": given.read, "target": target, "written": given.written}
            encoder, *rest = attention(self.model, given.source, given.target, tokens=tokens).attentions
            shared = beam[0].attentions[0] if beam else encoder  # all were written after the same source
            beam.append(Candidate(text, score, (shared, *rest)))
        return AttentionView.of_beam(beam, found.source)

    def linked(self, found: Translation) -> Linked:
        """The same, and on the same page the graph of each text's loss, forward and backward.

        Raises:
            ValueError: as ``look``.
        """
        from minigrad.viz import graph
        from minigrad.viz.linked import Linked

        seen = self.look(found)
        was_training = self.model.training
        self.model.eval()
        graphs = []
        for text, _ in found.beam:
            given = self._given(found.source, text)
            whole = pad([[*given.target.tolist()[0], EOS]], given.target.device)
            graphs.append(graph(self.model.loss, given.source, whole))
        self.model.train(was_training)
        return Linked(seen, graphs)

    def _given(self, source: str, target: str) -> _Given:
        """What the model reads when it writes this target after this source."""
        _, ids, _ = self._prepared(source)
        most, device = self.model.config.positions - 1, self.model.embedding.weight.device
        written = [*self.tokenizers.target.encode(target)[: most - 1], EOS]
        read, names = (
            ["⟨end⟩" if i == EOS else tokenizer.token(i).strip() or "␣" for i in tokens]
            for tokenizer, tokens in ((self.tokenizers.source, ids), (self.tokenizers.target, written))
        )
        return _Given(pad([ids], device), pad([[BOS, *written[:-1]]], device), read, names)
