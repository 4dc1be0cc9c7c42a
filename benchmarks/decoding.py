"""Greedy and beam decoding of the first workload's model: with the cache, without, and on PyTorch.

minigrad decodes as minigrad_models.translation.transformer does. PyTorch has no cache: its ``nn.Transformer`` of the
same weights is fed with all tokens so far at each step, the source being encoded once. The tokens must be equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import minigrad
from minigrad_models.generation.beam_search import beam_search
from minigrad_models.text.tokenizer import BOS, EOS, PAD
from minigrad_models.translation.transformer import Config, Transformer, positional_encoding

from .process import Answer, Differ, compared, library_module, speed
from .steps import repeat
from .table import Table, ratio
from .workloads import SIZES, Work

Decode = Callable[[], list[list[int]]]
BEAM, BATCHES = 4, (1, 32)
WAYS = ("greedy", "beam")
LIBRARIES = ("minigrad", "without cache", "torch")
GOAL = 1.5
ATTENTIONS = {
    "encoder": {"attention": "self_attn"},  # our names of attentions, and PyTorch's
    "decoder": {"self_attention": "self_attn", "cross_attention": "multihead_attn"},
}


def model_of(work: Work, positions: int) -> Transformer:
    """minigrad's model. Its weights are so large that sentences differ, and all logits of the end symbol are 0, far
    below the largest of the others: no sentence ends before its time."""
    config = Config(work.vocabulary, work.width, work.heads, work.layers, work.hidden, positions=positions)
    model, draw = Transformer(config).eval(), np.random.default_rng(0)
    with minigrad.no_grad():
        for name, weight in model.named_parameters():
            kind = name.split(".")[-2]
            spread = 0.02 if weight.dim() == 1 else {"query": 0.2, "key": 0.2, "embedding": 0.05}.get(kind, 0.1)
            values = spread * draw.standard_normal(tuple(weight.shape)) + name.endswith("norm.weight")
            weight.copy_(minigrad.tensor(values.astype(np.float32)))
        model.embedding.weight[[PAD, EOS]] = 0.0
    return model


def source(work: Work, batch: int) -> Any:
    """Sentences without padding (B, length)."""
    return np.random.default_rng(1).integers(EOS + 1, work.vocabulary, (batch, work.length))


def ours(work: Work, batch: int, tokens: int, cached: bool) -> dict[str, Decode]:
    """Functions that decode, with minigrad."""
    model, sentences = model_of(work, work.length + tokens), minigrad.from_numpy(source(work, batch))
    return {
        "greedy": lambda: model.greedy(sentences, max_length=tokens, cached=cached).tolist(),
        "beam": lambda: [
            beam[0].tokens for beam in beam_search(model.begin(sentences, cached), BEAM, tokens, length_penalty=0.6)
        ],
    }


class Theirs:
    """The model on PyTorch, and how it decodes."""

    def __init__(self, torch: Any, work: Work, positions: int) -> None:
        nn, sizes = torch.nn, (work.width, work.heads, work.hidden)
        self.torch, self.work = torch, work
        own = model_of(work, positions).state_dict()
        values = {name: torch.from_numpy(value.numpy()) for name, value in own.items()}
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(*sizes, batch_first=True), work.layers)
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*sizes, batch_first=True), work.layers)
        self.model = nn.Transformer(  # no norm at the end of either, as in the paper
            work.width, work.heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
        )
        self.model.load_state_dict(renamed(torch, work, values))
        self.model.eval()
        self.embedding = values["embedding.weight"]
        self.positions = torch.from_numpy(positional_encoding(positions, work.width).numpy())

    def embed(self, tokens: Any) -> Any:
        """(B, T) -> (B, T, D)"""
        x = self.torch.nn.functional.embedding(tokens, self.embedding) * math.sqrt(self.work.width)
        return x + self.positions[: tokens.size(1)]

    def next_logits(self, tokens: Any, memory: Any) -> Any:
        """Logits (B, V) after all tokens so far (B, T)."""
        mask = self.model.generate_square_subsequent_mask(tokens.size(1))
        states = self.model.decoder(self.embed(tokens), memory, tgt_mask=mask, tgt_is_causal=True)
        return self.torch.nn.functional.linear(states[:, -1], self.embedding)

    def greedy(self, sentences: Any, limit: int) -> Any:
        """(B, S) -> (B, limit)"""
        memory = self.model.encoder(self.embed(sentences))
        tokens = self.torch.full((sentences.size(0), 1), BOS)
        for _ in range(limit):
            chosen = self.next_logits(tokens, memory).argmax(-1, keepdim=True)
            tokens = self.torch.cat((tokens, chosen), 1)
        return tokens[:, 1:]

    def beam(self, sentences: Any, limit: int) -> Any:
        """(B, S) -> (B, limit); no sentence ends, and so all that is left of beam search is this."""
        torch, batch = self.torch, sentences.size(0)
        memory = self.model.encoder(self.embed(sentences)).repeat_interleave(BEAM, 0)
        tokens = torch.full((batch * BEAM, 1), BOS)
        scores = torch.full((batch, BEAM), -math.inf)
        scores[:, 0] = 0.0
        first = torch.arange(batch)[:, None] * BEAM
        for _ in range(limit):
            log_p = self.next_logits(tokens, memory).log_softmax(-1).view(batch, BEAM, -1)
            log_p = log_p + scores[:, :, None]
            scores, where = log_p.view(batch, -1).topk(BEAM)
            rows = (first + where // self.work.vocabulary).view(-1)
            tokens = torch.cat((tokens[rows], (where % self.work.vocabulary).view(-1, 1)), 1)
        return tokens[::BEAM, 1:]


def theirs(torch: Any, work: Work, batch: int, tokens: int) -> dict[str, Decode]:
    """Functions that decode, with PyTorch."""
    model, sentences = Theirs(torch, work, work.length + tokens), torch.from_numpy(source(work, batch))

    def decoded(way: str) -> list[list[int]]:
        with torch.inference_mode():
            result: list[list[int]] = getattr(model, way)(sentences, tokens).tolist()
        return result

    return {way: partial(decoded, way) for way in WAYS}


def renamed(torch: Any, work: Work, values: dict[str, Any]) -> dict[str, Any]:
    """The weights by ``nn.Transformer``'s names; it keeps queries, keys and values in one matrix."""
    theirs_of = {}
    sides = [(side, i, kind) for side in ATTENTIONS for i in range(work.layers) for kind in ("weight", "bias")]
    for side, i, kind in sides:
        old, new, names = f"{side}.{i}.", f"{side}.layers.{i}.", ATTENTIONS[side]
        for number, (name, theirs) in enumerate(names.items(), 1):
            parts = [values[f"{old}{name}.{part}.{kind}"] for part in ("query", "key", "value")]
            theirs_of[f"{new}{theirs}.in_proj_{kind}"] = torch.cat(parts)
            theirs_of[f"{new}{theirs}.out_proj.{kind}"] = values[f"{old}{name}.output.{kind}"]
            norm = f"{old}{name.removesuffix('_attention')}_residual.norm.{kind}"
            theirs_of[f"{new}norm{number}.{kind}"] = values[norm]
        theirs_of[f"{new}linear1.{kind}"] = values[f"{old}feed_forward.inner.{kind}"]
        theirs_of[f"{new}linear2.{kind}"] = values[f"{old}feed_forward.outer.{kind}"]
        theirs_of[f"{new}norm{len(names) + 1}.{kind}"] = values[f"{old}feed_forward_residual.norm.{kind}"]
    return theirs_of


def decoders(library: str, work: str, batch: int, tokens: int) -> dict[str, Decode]:
    """Those of ``ours`` or ``theirs``."""
    if library == "torch":
        return theirs(library_module("torch"), SIZES[work], batch, tokens)
    return ours(SIZES[work], batch, tokens, cached=library == "minigrad")


def check(library: str, work: str, batch: int, tokens: int) -> Answer:
    """What is decoded in each way (B, T)."""
    return {way: decode() for way, decode in decoders(library, work, batch, tokens).items()}


def measure(library: str, work: str, batch: int, tokens: int, seconds: float) -> Answer:
    """For each way the median time of a batch in ms."""
    return {way: median(repeat(decode, seconds)) for way, decode in decoders(library, work, batch, tokens).items()}


def agree(answers: dict[str, Answer]) -> None:
    """See to it that all have decoded the same tokens. Raises Differ: they have not."""
    for library, answer in answers.items():
        for way in WAYS:
            if answer[way] != answers["minigrad"][way]:
                raise Differ(f"decoding, {way}: other tokens on {library} than with minigrad's cache")


def table(rounds: int, seconds: float, work: str = "multi30k", tokens: int = 32) -> Table:
    """The table, a row for each way and size of the batch."""
    columns = ("decoding", "sentences", "tokens/s", "without cache", "PyTorch", "times PyTorch's", "goal")
    title = f"Decoding {tokens} tokens a sentence, {SIZES[work].title}"
    result = Table(title, columns, ("", ".0f", ",.0f", ",.0f", ",.0f", ".2f", ".1f"))
    for batch in BATCHES:
        answers = compared("decoding", LIBRARIES, rounds, seconds, agree, work=work, batch=batch, tokens=tokens)
        for way in WAYS:
            speeds = [speed(answers[name], way, batch * tokens) for name in LIBRARIES]
            name, goal = (f"beam of {BEAM}", None) if way == "beam" else (way, GOAL)
            result.add(name, float(batch), *speeds, ratio(speeds[0], speeds[2]), goal)
    result.notes.append("PyTorch is fed with all tokens so far at each step; all decode the same tokens")
    return result
