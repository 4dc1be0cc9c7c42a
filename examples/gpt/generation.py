"""Texts that a language model writes."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import minigrad as mg
from minigrad.text.generate import Decoder, Hypothesis, OnToken, RepetitionPenalty, beam_search, greedy, sample

from . import run
from .tokens import Tokens, Writer, decode


@dataclass(frozen=True)
class Search:
    """How the next token is chosen.

    Attributes:
        temperature: of the draws; 0 takes the likeliest token. top_k, top_p: see ``minigrad.text.generate.sample``.
        repetition_penalty: see ``RepetitionPenalty``. beams: above 1, a beam search, which draws nothing.
        stride: tokens by which the model's window moves at once, when a text outgrows it; 0: half of it.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0
    beams: int = 1
    stride: int = 0


def write(
    model: Any,
    prompts: Sequence[Sequence[int]],
    length: int,
    search: Search = Search(),
    end: int | None = None,
    on_token: OnToken | None = None,
) -> list[list[int]]:
    """Continue prompts by ``length`` tokens each, or up to the token ``end``, which is left out.

    Raises:
        ValueError: an empty prompt, or a value out of range.
    """
    decoder: Decoder
    if model.context is None:
        if search.stride:
            raise ValueError("--stride is for a window that moves, and this model has none: its memory moves with it")
        decoder = model.begin(prompts)
    else:
        decoder = model.begin(prompts, stride=search.stride or max(1, model.context // 2))
    if search.repetition_penalty != 1:
        decoder = RepetitionPenalty(decoder, search.repetition_penalty)
    hypotheses: list[Hypothesis]
    if search.beams > 1:
        hypotheses = [beam[0] for beam in beam_search(decoder, search.beams, length, eos=end)]
    elif search.temperature == 0:
        hypotheses = greedy(decoder, length, end, on_token)
    else:
        hypotheses = sample(decoder, length, search.temperature, search.top_k, search.top_p, end, on_token)
    return [[i for i in hypothesis.tokens if i != end] for hypothesis in hypotheses]


def example(model: Any, tokens: Tokens, length: int, seed: int) -> str:
    """A text to show while the model trains: the same draws each time."""
    mg.manual_seed(seed)
    (ids,) = write(model, [prompt_of(tokens, None)], length, Search(temperature=0.8), tokens.end)
    return decode(tokens, ids)


def prompt_of(tokens: Tokens, text: str | None) -> list[int]:
    """The ids of a prompt; of none, the token before a text, a line's end, or the vocabulary's first.

    Raises:
        ValueError: the prompt is empty, or has what the vocabulary lacks.
    """
    if text is not None:
        if not text:
            raise ValueError("the prompt is empty: a language model continues at least one token")
        return [int(i) for i in tokens.encode(text)]
    if tokens.end is not None:
        return [tokens.end]
    with suppress(ValueError):
        return [int(i) for i in tokens.encode("\n")]
    return [0]


# The command --------------------------------------------------------------------------------------------------


def generate(options: argparse.Namespace) -> int:
    """Write texts; a single one as its tokens come. Returns the exit status."""
    search = search_of(options)
    trained = run.load(options.run, options.device)
    tokens, context = trained.tokens, trained.model.context
    texts = options.prompt if options.prompt is not None else [None]
    prompts = [prompt_of(tokens, text) for text in texts]
    if context is not None and (longest := max(map(len, prompts))) > context:
        print(f"note: a prompt has {longest:,} tokens, and the model sees the last {context:,}", file=sys.stderr)
    rows = [(text, ids) for text, ids in zip(texts, prompts, strict=True) for _ in range(options.batch)]
    mg.manual_seed(options.seed)
    begin = time.perf_counter()
    if len(rows) == 1 and search.beams == 1:
        count = stream(trained, rows[0], options.tokens, search)
    else:
        count = several(trained, rows, options.tokens, search)
    seconds = time.perf_counter() - begin
    print(f"{count:,} tokens, {count / seconds:,.0f} a second", file=sys.stderr)
    return 0


def search_of(options: argparse.Namespace) -> Search:
    """The search of the options.

    Raises:
        ValueError: some of them have no effect beside others.
    """
    drawing = {"--temperature": options.temperature, "--top-k": options.top_k, "--top-p": options.top_p}
    given = [name for name, value in drawing.items() if value is not None]
    if options.beams > 1 and given:
        raise ValueError(f"{given[0]} is for drawing tokens, and --beams searches for the likeliest text: choose one")
    if options.temperature == 0 and given[1:]:
        raise ValueError(f"{given[1]} is for drawing tokens, and --temperature 0 takes the likeliest: choose one")
    temperature = 1.0 if options.temperature is None else options.temperature
    return Search(temperature, options.top_k, options.top_p, options.repetition_penalty, options.beams, options.stride)


def stream(trained: run.Trained, row: tuple[str | None, list[int]], length: int, search: Search) -> int:
    """Write one text, token by token; the number of its tokens."""
    text, prompt = row
    end = trained.tokens.end

    def show(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    show(text or "")
    writer = Writer(trained.tokens, show)
    (ids,) = write(
        trained.model, [prompt], length, search, end, lambda _, token: None if token == end else writer.add(token)
    )
    writer.close()
    show("\n")
    return len(ids)


def several(trained: run.Trained, rows: list[tuple[str | None, list[int]]], length: int, search: Search) -> int:
    """Write several texts at once, or one by beam search, with a bar on the way; the number of their tokens."""
    from tqdm import tqdm

    total = length * len(rows)
    with tqdm(total=total, desc="writing", unit=" tokens", leave=False, delay=2, disable=search.beams > 1) as bar:
        texts = write(
            trained.model, [ids for _, ids in rows], length, search, trained.tokens.end, lambda *_: bar.update()
        )
    for number, ((text, _), ids) in enumerate(zip(rows, texts, strict=True), 1):
        if len(rows) > 1:
            print(f"{'' if number == 1 else chr(10)}--- {number} ---")
        print((text or "") + decode(trained.tokens, ids))
    return sum(map(len, texts))
