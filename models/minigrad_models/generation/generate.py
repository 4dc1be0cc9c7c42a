"""Text generation with a language model: continues prompts using any of the searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minigrad import nn
from minigrad.autograd.mode import at_end

from ..inputs import renamed
from ..text.subwords import load_library
from .beam_search import Decoder, Hypothesis, Limits, OnToken, RepetitionPenalty, beam_search, greedy, sample

END = "<|endoftext|>"  # ends text in GPT-2's vocabulary
OnPiece = Callable[[int, Any], None]


@dataclass(frozen=True)
class GenerationConfig:
    """How to choose the next token. The names are the same as in transformers."""

    temperature: float = 1.0  # for sampling; 0 selects the most likely token
    top_k: int | None = None  # see ``generation.beam_search.sample``
    top_p: float | None = None
    repetition_penalty: float = 1.0  # see ``generation.beam_search.RepetitionPenalty``
    num_beams: int = 1  # above 1, a beam search without sampling returns the most likely text it finds
    stride: int = 0  # tokens by which the window moves when text outgrows it; 0: half the window


class Model(Protocol):
    """The parts of a language model that ``generate`` uses. ``context`` is the maximum number of tokens that it sees,
    or None if it has a memory instead of a window. ``begin`` returns a decoder for prompts; with a context, it takes a
    ``stride``."""

    @property
    def context(self) -> int | None: ...

    @property
    def begin(self) -> Callable[..., Decoder]: ...


def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    max_new_tokens: Limits,
    config: GenerationConfig = GenerationConfig(),
    eos_token_id: int | None = None,
    on_token: OnToken | None = None,
) -> list[Hypothesis]:
    """Continue prompts by ``max_new_tokens`` (one number for all, or one for each), or until ``eos_token_id``.
    ``on_token`` is called with each token and the index of its prompt as soon as the token is generated. A beam search
    does not call it, because it finds the tokens only at the end. Raises ValueError for an empty prompt, a token
    outside the vocabulary, or a value out of range."""
    decoder = model.begin(prompts, **strides(model, config.stride))
    if config.repetition_penalty != 1:
        decoder = RepetitionPenalty(decoder, config.repetition_penalty)
    if config.num_beams != 1:
        return [texts[0] for texts in beam_search(decoder, config.num_beams, max_new_tokens, eos_token_id=eos_token_id)]
    if config.temperature == 0:
        return greedy(decoder, max_new_tokens, eos_token_id, on_token)
    limits = config.top_k, config.top_p
    return sample(decoder, max_new_tokens, config.temperature, *limits, eos_token_id, on_token)


def strides(model: Model, stride: int) -> dict[str, int]:
    """The arguments of ``begin`` for the model's window. Raises ValueError for a stride without a window."""
    if model.context is not None:
        return {"stride": stride or max(1, model.context // 2)}
    if stride:
        raise ValueError("a stride needs a moving window, but this model has a memory instead")
    return {}


class GenerationMixin(nn.Module):
    """A ``Model`` that continues tokens and, if it has a tokenizer (a ``tokenizers.Tokenizer``), text."""

    tokenizer: Any = None
    begin: Callable[..., Decoder]

    @property
    def context(self) -> int | None:
        raise NotImplementedError

    @renamed(max_length="max_new_tokens", beams="num_beams", end="eos_token_id")
    def generate(
        self,
        prompts: str | Sequence[str] | Sequence[Sequence[int]],
        max_new_tokens: Limits = 100,
        *,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float = 1.0,
        num_beams: int = 1,
        stride: int = 0,
        eos_token_id: int | None = None,
        on_token: OnPiece | None = None,
    ) -> Any:
        """Continue each prompt. Returns text for text prompts, and tokens for token prompts. The result includes the
        end token but not the prompt. Dropout is off. Sampling uses the generator of ``minigrad.manual_seed``.

        Args:
            max_new_tokens: the maximum number of new tokens, one for all prompts or one for each.
            temperature: for sampling; by default 1 with ``top_k`` or ``top_p``, or else 0 (the most likely token).
            top_k, top_p, repetition_penalty, num_beams, stride: see ``GenerationConfig``.
            eos_token_id: the token that ends text; by default the tokenizer's "<|endoftext|>", if any.
            on_token: called with the index of a prompt and each new token (for text, the characters that it completes).

        Raises ValueError for text without a tokenizer, an empty prompt, a token that is not in the vocabulary, a value
        out of range, or mutually exclusive options.
        """
        check_exclusive(temperature, top_k, top_p, num_beams)
        if temperature is None:
            temperature = 0.0 if top_k is None and top_p is None else 1.0
        config = GenerationConfig(temperature, top_k, top_p, repetition_penalty, num_beams, stride)
        if on_token is not None and num_beams > 1:
            raise ValueError("on_token needs tokens one by one, but beam search returns them only at the end")
        texts = [prompts] if isinstance(prompts, str) else list(prompts)
        are_texts = any(isinstance(text, str) for text in texts)
        if are_texts and self.tokenizer is None:
            raise ValueError("the model has no tokenizer: pass prompts as tokens, or set model.tokenizer")
        if eos_token_id is None and self.tokenizer is not None:
            eos_token_id = self.tokenizer.token_to_id(END)
        ids: list[Any] = [self.tokenizer.encode(text).ids for text in texts] if are_texts else texts
        stream = Stream(self.tokenizer, len(texts), on_token) if are_texts and on_token is not None else None
        with at_end(self.train, self.training) as mode, mode:
            self.eval()
            emit = on_token if stream is None else stream.add
            hypotheses = generate(self, ids, max_new_tokens, config, eos_token_id, emit)
        if not are_texts:
            return [hypothesis.tokens for hypothesis in hypotheses]
        results = [self.tokenizer.decode(hypothesis.tokens) for hypothesis in hypotheses]
        if stream is not None:
            stream.close(results)
        return results[0] if isinstance(prompts, str) else results


def check_exclusive(
    temperature: float | None, top_k: int | None, top_p: float | None, num_beams: int, name: Callable[[str], str] = str
) -> None:
    """Raise ValueError if search options are mutually exclusive. ``name`` maps an option's name to its name in the
    message, such as ``--top-k``."""
    limits = [option for option, value in (("top_k", top_k), ("top_p", top_p)) if value is not None]
    drawing = limits + (["temperature"] if temperature else [])
    if num_beams != 1 and drawing:
        other = f"{name('num_beams')} searches for the likeliest text"
        raise ValueError(f"{name(drawing[0])} is for sampling, but {other}: choose one")
    if temperature == 0 and limits:
        other = f"{name('temperature')} 0 picks the likeliest token"
        raise ValueError(f"{name(limits[0])} is for sampling, but {other}: choose one")


class Stream:
    """Decodes the tokens of ``count`` texts as they arrive, using a ``tokenizers.Tokenizer``. Once all bytes of a
    character have arrived, it is passed to ``on_piece`` with the index of the text."""

    def __init__(self, tokenizer: Any, count: int, on_piece: OnPiece) -> None:
        self.tokenizer, self.on_piece = tokenizer, on_piece
        kind = load_library().decoders.DecodeStream
        self.streams = [kind(skip_special_tokens=True) for _ in range(count)]
        self.lengths = [0] * count  # characters passed on so far

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
