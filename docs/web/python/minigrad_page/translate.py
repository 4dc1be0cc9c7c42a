"""The translator's answers, from the server's own functions, and some more training steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import minigrad as mg
from minigrad.optim import AdamW
from minigrad_models.service.refused import Refused
from minigrad_models.text.tokenizer import BOS, EOS
from minigrad_models.translation import Translator
from minigrad_models.translation.encoder_decoder import pad
from minigrad_models.translation.serve import api
from minigrad_models.translation.translation_data import read_shipped

FILE = "/model.safetensors"
BATCH = 16  # sentence pairs
PAIRS = 4000  # of the corpus that ships with minigrad
RATE = 3e-4


@cache
def _translator() -> Translator:
    return Translator.load(FILE)


def act(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request of the page: {"path", "body"}; a rejected request gets {"error"}."""
    try:
        return {"answer": PATHS[request["path"]](_translator(), request.get("body") or {})}
    except Refused as error:
        return {"error": error.message}


def train(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Run ``steps`` updates on pairs from the grammar; answers with their losses. The page draws them immediately
    (losses.py)."""
    model = translator.model
    adam = AdamW(model.parameters(), lr=RATE)
    losses = []
    model.train()
    try:
        for _ in range(int(request["steps"])):
            source, target = zip(*itertools.islice(_pairs(), BATCH), strict=True)
            loss = model.loss(_padded(translator, source, "source"), _padded(translator, target, "target"))
            adam.zero_grad()
            loss.backward()
            adam.step()
            losses.append(loss.item())
    finally:
        model.eval()
    return {"losses": losses}


@cache
def _pairs() -> Iterator[tuple[str, str]]:
    """Pairs of the shipped corpus, repeated forever."""
    train = read_shipped(PAIRS)["train"]
    return itertools.cycle(zip(train.source, train.target, strict=True))


def _padded(translator: Translator, sentences: Sequence[str], side: str) -> mg.Tensor:
    """The ids of sentences, in the form for training."""
    tokenizer = getattr(translator.tokenizers, side)
    begin = [BOS] if side == "target" else []
    return pad([[*begin, *tokenizer.encode(text), EOS] for text in sentences])


PATHS: dict[str, Callable[[Translator, dict[str, Any]], Any]] = {
    "/about": lambda translator, _: api.about(translator),
    "/translate": api.translate,
    "/attention": api.attention,
    "/linked": api.linked,
    "/train": train,
}
