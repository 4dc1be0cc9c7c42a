"""Text generation with a language model: continues prompts by any of the searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minigrad import nn
from minigrad.autograd.mode import at_end

from ..text.subwords import load_library
from .beam_search import Decoder, Hypothesis, OnToken, RepetitionPenalty, beam_search, greedy, sample

END = "<|endoftext|>"  # ends a text in GPT-2's vocabulary
OnPiece = Callable[[int, Any], None]


@dataclass(frozen=True)
class Search:
    """How to choose the next token."""

    temperature: float = 1.0  # of sampling; 0 selects the likeliest token
    top_k: int | None = None  # see ``generation.beam_search.sample``
    top_p: float | None = None
    repetition_penalty: float = 1.0  # see ``generation.beam_search.RepetitionPenalty``
    beams: int = 1  # above 1, a beam search, without sampling, which returns the likeliest text of each prompt
    stride: int = 0  # tokens by which the model's window moves when a text outgrows it; 0: half of it


class Model(Protocol):
    """The parts of a language model that ``write`` uses: ``context``, the most tokens that it sees (None: it has a
    memory, not a window), and ``begin``, which returns a decoder for prompts; with a context it takes a ``stride``."""

    @property
    def context(self) -> int | None: ...

    @property
    def begin(self) -> Callable[..., Decoder]: ...


def write(
    model: Model,
    prompts: Sequence[Sequence[int]],
    length: int | Sequence[int],
    search: Search = Search(),
    end: int | None = None,
    on_token: OnToken | None = None,
) -> list[Hypothesis]:
    """Continue prompts by ``length`` tokens (one number for all, or one for each), or up to the token ``end``.
    ``on_token`` is called with the index of a prompt and each of its tokens, as soon as it is generated; a beam search
    does not call it, because it finds the tokens only at the end. Raises ValueError for an empty prompt, a token
    outside the vocabulary, or a value out of range."""
    decoder = model.begin(prompts, **strides(model, search.stride))
    if search.repetition_penalty != 1:
        decoder = RepetitionPenalty(decoder, search.repetition_penalty)
    if search.beams != 1:
        return [texts[0] for texts in beam_search(decoder, search.beams, length, eos=end)]
    if search.temperature == 0:
        return greedy(decoder, length, end, on_token)
    return sample(decoder, length, search.temperature, search.top_k, search.top_p, end, on_token)


def strides(model: Model, stride: int) -> dict[str, int]:
    """The arguments of ``begin`` for the model's window. Raises ValueError if there is a stride but no window."""
    if model.context is not None:
        return {"stride": stride or max(1, model.context // 2)}
    if stride:
        raise ValueError("a stride needs a moving window, but this model has a memory instead")
    return {}


class Writes(nn.Module):
    """A ``Model`` that continues tokens, and texts if it has a tokenizer (a ``tokenizers.Tokenizer``)."""

    tokenizer: Any = None
    begin: Callable[..., Decoder]

    @property
    def context(self) -> int | None:
        raise NotImplementedError

    def generate(
        self,
        prompts: str | Sequence[str] | Sequence[Sequence[int]],
        max_length: int | Sequence[int] = 100,
        *,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float = 1.0,
        beams: int = 1,
        stride: int = 0,
        end: int | None = None,
        on_token: OnPiece | None = None,
    ) -> Any:
        """The continuation of each prompt, text for a text and tokens for tokens, without the prompt but with ``end``.
        Dropout is off. Sampling uses the generator of ``minigrad.manual_seed``.

        Args:
            max_length: the largest number of new tokens: one for all prompts, or one for each.
            temperature: of sampling; by default 1 with ``top_k`` or ``top_p``, and otherwise 0: the likeliest tokens.
            top_k, top_p, repetition_penalty, beams, stride: see ``Search``.
            end: the token that ends a text; by default the tokenizer's "<|endoftext|>", if it has one.
            on_token: called with the index of a prompt and each new token, or, for a text, the characters that it
                completes.

        Raises ValueError if a text lacks a tokenizer, a prompt is empty, a token is not in the vocabulary, a value is
        out of range, or options exclude each other.
        """
        check_exclusive(temperature, top_k, top_p, beams)
        if temperature is None:
            temperature = 0.0 if top_k is None and top_p is None else 1.0
        search = Search(temperature, top_k, top_p, repetition_penalty, beams, stride)
        if on_token is not None and beams > 1:
            raise ValueError("on_token needs tokens one by one, but a beam search finds them only at its end")
        texts = [prompts] if isinstance(prompts, str) else list(prompts)
        are_texts = any(isinstance(text, str) for text in texts)
        if are_texts and self.tokenizer is None:
            raise ValueError("the model has no tokenizer: pass prompts as tokens, or set model.tokenizer")
        if end is None and self.tokenizer is not None:
            end = self.tokenizer.token_to_id(END)
        ids: list[Any] = [self.tokenizer.encode(text).ids for text in texts] if are_texts else texts
        stream = Stream(self.tokenizer, len(texts), on_token) if are_texts and on_token is not None else None
        with at_end(self.train, self.training) as mode, mode:
            self.eval()
            hypotheses = write(self, ids, max_length, search, end, on_token if stream is None else stream.add)
        if not are_texts:
            return [hypothesis.tokens for hypothesis in hypotheses]
        results = [self.tokenizer.decode(hypothesis.tokens) for hypothesis in hypotheses]
        if stream is not None:
            stream.close(results)
        return results[0] if isinstance(prompts, str) else results


def check_exclusive(
    temperature: float | None, top_k: int | None, top_p: float | None, beams: int, name: Callable[[str], str] = str
) -> None:
    """Raise ValueError if options of a search exclude each other. ``name`` maps an option's name to the one in the
    message, such as ``--top-k``."""
    limits = [option for option, value in (("top_k", top_k), ("top_p", top_p)) if value is not None]
    drawing = limits + (["temperature"] if temperature else [])
    if beams != 1 and drawing:
        other = f"{name('beams')} search for the likeliest text"
        raise ValueError(f"{name(drawing[0])} is for sampling, and {other}: choose one")
    if temperature == 0 and limits:
        other = f"{name('temperature')} 0 takes the likeliest"
        raise ValueError(f"{name(limits[0])} is for sampling, and {other}: choose one")


class Stream:
    """Decodes the tokens of ``count`` texts as they arrive, with a ``tokenizers.Tokenizer``: passes each character to
    ``on_piece``, with the index of the text, once all its bytes have arrived."""

    def __init__(self, tokenizer: Any, count: int, on_piece: OnPiece) -> None:
        self.tokenizer, self.on_piece = tokenizer, on_piece
        kind = load_library().decoders.DecodeStream
        self.streams = [kind(skip_special_tokens=True) for _ in range(count)]
        self.lengths = [0] * count  # characters passed on

    def add(self, text: int, token: int) -> None:
        piece = self.streams[text].step(self.tokenizer, token)
        if piece:
            self.lengths[text] += len(piece)
            self.on_piece(text, piece)

    def close(self, texts: Sequence[str]) -> None:
        """Pass on the remaining bytes, which belong to incomplete characters."""
        for i, text in enumerate(texts):
            if rest := text[self.lengths[i] :]:
                self.on_piece(i, rest)
