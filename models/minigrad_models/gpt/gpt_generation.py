"""Texts that a language model writes."""

from __future__ import annotations

import argparse
import codecs
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import minigrad as mg
from minigrad.utils.bar import bar

from ..generation import generate as generation
from ..generation.beam_search import OnToken
from ..generation.generate import Search
from ..programs.options import search_of
from . import gpt_run as run
from .tokens import Tokens, decode


def write(
    model: Any,
    prompts: Sequence[Sequence[int]],
    length: int,
    search: Search,
    end: int | None = None,
    on_token: OnToken | None = None,
) -> list[list[int]]:
    """The tokens that follow prompts, as ``models.generation.write`` finds them, without the token ``end``."""
    hypotheses = generation.write(model, prompts, length, search, end, on_token)
    return [[i for i in hypothesis.tokens if i != end] for hypothesis in hypotheses]


def example(model: Any, tokens: Tokens, length: int, seed: int) -> str:
    """A text to show while the model trains: the same draws each time."""
    mg.manual_seed(seed)
    (ids,) = write(model, [prompt_of(tokens, None)], length, Search(temperature=0.8), tokens.end)
    return decode(tokens, ids)


def prompt_of(tokens: Tokens, text: str | None) -> list[int]:
    """The ids of a prompt; of none, the token before a text, a line's end, or the vocabulary's first."""
    if text is not None:
        if not text:
            raise ValueError("the prompt is empty: a language model continues at least one token")
        return [int(i) for i in tokens.encode(text)]
    if tokens.end is not None:
        return [tokens.end]
    with suppress(ValueError):
        return [int(i) for i in tokens.encode("\n")]
    return [0]


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


def stream(trained: run.Trained, row: tuple[str | None, list[int]], length: int, search: Search) -> int:
    """Write one text, token by token; the number of its tokens."""
    text, prompt = row
    tokens, end = trained.tokens, trained.tokens.end
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # the bytes of an unfinished character wait
    show = partial(print, end="", flush=True)
    show(text or "")
    on_token = lambda _, token: None if token == end else show(decoder.decode(tokens.piece(token)))
    (ids,) = write(trained.model, [prompt], length, search, end, on_token)
    show(decoder.decode(b"", final=True) + "\n")
    return len(ids)


def several(trained: run.Trained, rows: list[tuple[str | None, list[int]]], length: int, search: Search) -> int:
    """Write several texts at once, or one by beam search, with a bar on the way; the number of their tokens."""
    prompts = [ids for _, ids in rows]
    with bar(length * len(rows), "writing", " tokens", shown=search.beams <= 1) as shown:
        texts = write(trained.model, prompts, length, search, trained.tokens.end, lambda *_: shown.update())
    for number, ((text, _), ids) in enumerate(zip(rows, texts, strict=True), 1):
        if len(rows) > 1:
            print(f"{'' if number == 1 else chr(10)}--- {number} ---")
        print((text or "") + decode(trained.tokens, ids))
    return sum(map(len, texts))
