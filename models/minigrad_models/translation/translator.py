"""A trained model with its tokenizers: loading and saving it, translating sentences, and showing their attention."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad.autograd.mode import at_end

from ..generation import beam_search as searching
from ..programs.folder import Description, Program, write_model as write_model
from ..text import Pairs, TokenizerPair, tokenizer_pair_from_dict
from ..text.tokenizer import BOS, EOS, UNKNOWN, several
from .architectures import restored
from .encoder_decoder import TranslationModel, pad
from .own_pairs import Examples, limited
from .translation_settings import DecodingSettings, ModelSettings, Settings

if TYPE_CHECKING:
    from minigrad.viz.attention import AttentionView
    from minigrad.viz.linked import Linked

BATCH = 100  # sentences to translate together
PLACES = 1 << 16  # source and target tokens in a batch, in all beams: limits the memory for keys and values


class Described(Description):
    """The metadata of a checkpoint."""

    tokenizers: dict[str, Any]
    examples: Examples


def configuration(settings: Settings, train: Pairs) -> dict[str, Any]:
    """The values that must not change when a run resumes: settings and checksums of the sentences."""
    digests = []
    for side in (train.source, train.target) if settings.data.data else ():
        checksum = hashlib.blake2b(digest_size=16)
        for text in side:
            checksum.update(text.encode() + b"\n")
        digests.append(checksum.hexdigest())
    return {**settings.fixed(), "the text of the corpus": digests}


REPORTS = ("validation.json", "test.json")
PROGRAM = Program("minigrad_models.translation", 2, Described, Settings, REPORTS)


def sizes(path: Path) -> dict[str, Any]:
    """The settings that a run must share with the model it starts from. Raises the errors of ``Translator.load``."""
    names = {"tokenizer", "vocabulary", "joint", "split_digits", *asdict(ModelSettings())} - {"start"}
    with PROGRAM.reading(path) as (_, settings, _):
        return {k: v for k, v in settings.without(set()).items() if k in names and not k.endswith("dropout")}


class Hypothesis(NamedTuple):
    """A possible translation and its score (higher is better)."""

    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """A translated sentence."""

    source: str  # the sentence as normalised by the tokenizer
    text: str  # its translation, "" for an empty sentence
    score: float  # of the translation
    beam: list[Hypothesis] = field(default_factory=list)  # of the search, best first
    notes: list[str] = field(default_factory=list)  # for the user to read


class Attention(NamedTuple):
    """The attention of each target token to each source token."""

    source: list[str]  # the text of each token, with "⟨end⟩" at the end
    target: list[str]
    weights: np.ndarray[Any, np.dtype[np.float32]]  # (layers, heads, T, S) to predict each target token; rows sum to 1


class _Inputs(NamedTuple):
    """The inputs of the model for one sentence and its translation."""

    source: mg.Tensor  # ids (1, S)
    target: mg.Tensor  # ids (1, T)
    source_texts: list[str]  # of the S source tokens
    target_texts: list[str]  # of the T tokens that the model predicts


class Translator:
    """A translation model with its source and target tokenizers, its training settings (including the search defaults),
    and example sentences."""

    def __init__(
        self, model: TranslationModel, tokenizers: TokenizerPair, settings: Settings, examples: Examples | None = None
    ) -> None:
        self.model, self.tokenizers, self.settings = model, tokenizers, settings
        self.examples: Examples = examples or {"sentences": [], "words": []}

    @classmethod
    def load(cls, path: Path | str, device: str = "cpu") -> Translator:
        """Load the model in a run folder (the best so far if it is unfinished) or in a file. Raises FileNotFoundError
        if it does not exist, and ValueError or RuntimeError if it is damaged or not a model of this program."""
        with PROGRAM.reading(Path(path)) as (checkpoint, settings, description):
            model = restored(settings.model.model, description["model"], checkpoint["model"])
            tokenizers = tokenizer_pair_from_dict(description["tokenizers"])
            lengths = {"vocabulary": len(tokenizers.target), "source_vocabulary": len(tokenizers.source)}
            if any(getattr(model.config, name) not in (None, length) for name, length in lengths.items()):
                raise ValueError("its tokenizers and its model have different vocabularies")
        return cls(model.to(device).eval(), tokenizers, settings, limited(description["examples"]))

    def described(self, config: dict[str, Any]) -> dict[str, Any]:
        """The metadata for a checkpoint. A resumed run must have the same ``config``."""
        more = {"model": self.model.config.as_dict(), "tokenizers": self.tokenizers.as_dict()}
        return PROGRAM.described(self.settings, config, **more, examples=self.examples)

    @mg.no_grad()
    def translate(
        self,
        sentences: str | Sequence[str],
        beam: int | None = None,
        length_penalty: float | None = None,
        sample: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        cached: bool = True,
        batch: int = BATCH,
        progress: Callable[[int], Any] | None = None,
        mbr: float | None = None,
    ) -> list[Translation]:
        """Translate one or more sentences, in batches of at most ``batch`` sentences of similar length. Results are in
        input order. An empty sentence has an empty translation.

        Args:
            beam, length_penalty, mbr: beam search options; None for the value in the settings.
            sample: the temperature for sampling translations at random, from the top_k most likely tokens or from the
                most likely tokens whose total probability is top_p.
            cached: whether to cache keys and values; without a cache, each step recomputes everything.
            progress: called after each batch with the number of its sentences.

        Raises ValueError if a value is out of range, or an option selects from a beam with a single hypothesis.
        """
        search = {"beam": beam, "length_penalty": length_penalty, "mbr": mbr}
        changes = {name: value for name, value in search.items() if value is not None}
        decoding = self.settings.changed(changes).decoding
        choosing = [name for name, value in changes.items() if name != "beam" and value]
        if choosing and decoding.beam == 1 and sample is None:
            raise ValueError(f"{choosing[0]} selects among the translations in a beam, but a beam of 1 has only one")
        prepared = [self._prepared(sentence) for sentence in several(sentences)]
        full = [i for i, (_, ids, _) in enumerate(prepared) if len(ids) > 1]
        groups: list[list[int]] = []  # batches of sentence indices, of limited size
        for i in sorted(full, key=lambda i: len(prepared[i][1])):
            places = 3 * decoding.beam * len(prepared[i][1])
            if not groups or len(groups[-1]) >= batch or (len(groups[-1]) + 1) * places > PLACES:
                groups.append([])
            groups[-1].append(i)
        results = [Translation(text, "", 0.0, [], notes) for text, _, notes in prepared]
        with at_end(self.model.train, self.model.training) as end, end:
            self.model.eval()
            for rows in groups:
                beams = self._search([prepared[i][1] for i in rows], decoding, (sample, top_k, top_p), cached)
                for i, hypotheses in zip(rows, beams, strict=True):
                    texts = [Hypothesis(self.tokenizers.target.decode(h.tokens), h.score) for h in hypotheses]
                    text, _, notes = prepared[i]
                    results[i] = Translation(text, texts[0].text, texts[0].score, texts, notes)
                if progress is not None:
                    progress(len(rows))
        return results

    def _prepared(self, sentence: str) -> tuple[str, list[int], list[str]]:
        """The text as normalised by the tokenizer, its ids with EOS, and notes."""
        tokenizer, most, notes = self.tokenizers.source, self.model.config.positions - 1, []
        text = tokenizer.prepare(" ".join(sentence.split()))
        ids = tokenizer.encode(text)
        if UNKNOWN in ids:
            unknown = ", ".join(dict.fromkeys(tokenizer.unknown(text)))
            notes.append(f"the model has never seen: {unknown[:200]}")
        if len(ids) > most:
            notes.append(f"the sentence has {len(ids):,} tokens, but only the first {most:,} are translated")
        return text, [*ids[:most], EOS], notes

    def _search(
        self,
        sources: list[list[int]],
        decoding: DecodingSettings,
        sampling: tuple[float | None, int | None, float | None],
        cached: bool,
    ) -> list[list[searching.Hypothesis]]:
        decoder = self.model.begin(pad(sources, self.model.embedding.weight.device), cached)
        limits = [min(2 * len(ids) + 10, self.model.config.positions - 1) for ids in sources]
        temperature, top_k, top_p = sampling
        if temperature is not None:
            return [[h] for h in searching.sample(decoder, limits, temperature, top_k, top_p)]
        if decoding.beam == 1:
            return [[h] for h in searching.greedy(decoder, limits)]
        penalty = searching.power(decoding.length_penalty)
        beams = searching.beam_search(decoder, decoding.beam, limits, penalty, decoding.early_stopping)
        return [searching.minimum_bayes_risk(beam, decoding.mbr) for beam in beams] if decoding.mbr else beams

    def attention(self, source: str, target: str) -> Attention:
        """The attention of each token in a translation to the tokens in the source. Raises ValueError if the model has
        no attention."""
        from minigrad.viz.attention import attention

        self.model.check_attention()
        inputs = self._inputs(source, target)
        view = attention(self.model, inputs.source, inputs.target)
        return Attention(inputs.source_texts, inputs.target_texts, np.stack(view.weights("cross")))

    def look(self, translation: Translation) -> AttentionView:
        """All encoder and decoder attention, by layer and head, for each hypothesis in a beam. A notebook displays the
        view, and ``save`` writes it as a page (.html) or an image; see ``minigrad.viz.attention``. Raises ValueError
        for the translation of an empty sentence or a model without attention."""
        from minigrad.viz.attention import AttentionView, Candidate, attention

        self.model.check_attention()
        beam: list[Candidate] = []
        for text, score in translation.beam:
            inputs = self._inputs(translation.source, text)
            target = ["⟨begin⟩", *inputs.target_texts[:-1]]
            tokens = {"source": inputs.source_texts, "target": target, "written": inputs.target_texts}
            attentions = attention(self.model, inputs.source, inputs.target, tokens=tokens).attentions
            if beam and attentions[0].kind == "encoder":  # which all hypotheses share
                attentions = (beam[0].attentions[0], *attentions[1:])
            beam.append(Candidate(text, score, attentions))
        return AttentionView(beam[0].attentions if beam else (), f"Attention: {translation.source}", beam)

    def linked(self, translation: Translation) -> Linked:
        """A page with the attention, and the forward and backward graphs of each hypothesis's loss. Raises ValueError
        in the same cases as ``look``."""
        from minigrad.viz import graph
        from minigrad.viz.linked import Linked

        view = self.look(translation)
        graphs = []
        with at_end(self.model.train, self.model.training) as end, end:
            self.model.eval()
            for text, _ in translation.beam:
                inputs = self._inputs(translation.source, text)
                target = pad([[*inputs.target.tolist()[0], EOS]], inputs.target.device)
                graphs.append(graph(self.model.loss, inputs.source, target))
        return Linked(view, graphs)

    def _inputs(self, source: str, target: str) -> _Inputs:
        _, ids, _ = self._prepared(source)
        most, device = self.model.config.positions - 1, self.model.embedding.weight.device
        target_ids = [*self.tokenizers.target.encode(target)[: most - 1], EOS]
        source_texts, target_texts = (
            ["⟨end⟩" if i == EOS else tokenizer.token(i).strip() or "␣" for i in tokens]
            for tokenizer, tokens in ((self.tokenizers.source, ids), (self.tokenizers.target, target_ids))
        )
        return _Inputs(pad([ids], device), pad([[BOS, *target_ids[:-1]]], device), source_texts, target_texts)
