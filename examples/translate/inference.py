"""Translating with a trained model, sentence by sentence or many at a time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import minigrad as mg
from minigrad.text import Tokenizer
from minigrad.text.tokenizer import EOS
from models.transformer import Transformer, pad

from . import checkpoint


def translate_sentences(options: argparse.Namespace) -> int:
    """Print the translation of each sentence of the command line; 1 if one could not be translated."""
    model, tokenizer, _ = checkpoint.load(options.checkpoint, options.device)
    mg.manual_seed(options.seed)
    status = 0
    for typed in options.sentences:
        sentence = tokenizer.prepare(typed)
        length = len(tokenizer.encode(sentence)) + 1
        if not typed.strip():
            print("error: the sentence is empty", file=sys.stderr)
            status = 1
        elif length > model.config.positions:
            print(
                f"error: the sentence has {length} tokens, the model reads at most {model.config.positions}; "
                f"split it: {sentence[:60]}...",
                file=sys.stderr,
            )
            status = 1
        else:
            if unknown := tokenizer.unknown(sentence):
                listed = ", ".join(dict.fromkeys(unknown))
                print(f"note: the model has never seen: {listed}", file=sys.stderr)
            print(translate(model, tokenizer, [sentence], beam=options.beam, temperature=options.sample)[0])
    return status


@mg.no_grad()
def translate(
    model: Transformer,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    beam: int = 1,
    temperature: float | None = None,
    batch: int = 100,
    progress: Any = None,
) -> list[str]:
    """Translate sentences, those of about equal length together; results in the order given.

    Args:
        beam: follow so many beginnings; 1 is greedy.
        temperature: draw at random instead.
        progress: called with the number of sentences after each batch.
    """
    was_training = model.training
    model.eval()
    encoded = [[*tokenizer.encode(s), EOS][: model.config.positions] for s in sentences]
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
    results = [""] * len(encoded)
    device = model.embedding.weight.device
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        source = pad([encoded[i] for i in rows], device)
        limit = 2 * source.shape[1] + 10
        if temperature is not None:
            found = model.sample(source, limit, temperature)
        else:
            found = model.greedy(source, limit) if beam == 1 else model.beam(source, beam, limit)
        for i, ids in zip(rows, found.tolist(), strict=True):
            results[i] = tokenizer.decode(ids)
        if progress:
            progress(len(rows))
    model.train(was_training)
    return results
