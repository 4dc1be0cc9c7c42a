"""Greedy decoding with the model of the first workload: with a cache, without a cache, and in PyTorch.

minigrad decodes with minigrad_models.translation.transformer. PyTorch's ``nn.Transformer``, with the same weights, has
no cache, so it encodes the source once and then reads all tokens so far at each step. The tokens must be equal.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minigrad
from minigrad_models.text.tokenizer import BOS, EOS, PAD
from minigrad_models.translation.transformer import Config, Transformer, positional_encoding

from .compare import Jobs, compared, speed
from .process import library_module
from .table import Table, ratio
from .workloads import SIZES, Work

BATCHES = (1, 32)
LIBRARIES = ("minigrad", "without cache", "torch")
GOAL = 1.5
ATTENTIONS = {
    "encoder": {"attention": "self_attn"},  # our names and PyTorch's for the attention modules
    "decoder": {"self_attention": "self_attn", "cross_attention": "multihead_attn"},
}


def model_of(work: Work, positions: int) -> Transformer:
    """The minigrad model. Its weights are large enough for sentences to differ. The logit of the end token is always 0,
    which is far below the largest logit, so sentences do not end early."""
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


class Theirs:
    """The PyTorch model, with greedy decoding."""

    def __init__(self, torch: Any, work: Work, positions: int) -> None:
        nn, sizes = torch.nn, (work.width, work.heads, work.hidden)
        self.torch, self.work = torch, work
        own = model_of(work, positions).state_dict()
        values = {name: torch.from_numpy(value.numpy()) for name, value in own.items()}
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(*sizes, batch_first=True), work.layers)
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*sizes, batch_first=True), work.layers)
        self.model = nn.Transformer(  # neither model has a final norm, as in the paper
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
            best = self.next_logits(tokens, memory).argmax(-1, keepdim=True)
            tokens = self.torch.cat((tokens, best), 1)
        return tokens[:, 1:]


def renamed(torch: Any, work: Work, values: dict[str, Any]) -> dict[str, Any]:
    """The weights under the names in ``nn.Transformer``, which keeps queries, keys and values in one matrix."""
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


def jobs(library: str, work: str, batch: int, tokens: int) -> Jobs:
    """The job of decoding sentences without padding, (B, length) -> (B, tokens)."""
    size = SIZES[work]
    positions = size.length + tokens
    source = np.random.default_rng(1).integers(EOS + 1, size.vocabulary, (batch, size.length))
    if library == "torch":
        torch = library_module("torch")
        model, sentences = Theirs(torch, size, positions), torch.from_numpy(source)
        return {"greedy": torch.inference_mode()(lambda: model.greedy(sentences, tokens))}
    own, cached = model_of(size, positions), library == "minigrad"
    return {"greedy": lambda: own.greedy(minigrad.from_numpy(source), max_new_tokens=tokens, cached=cached).numpy()}


def table(rounds: int, seconds: float, work: str = "multi30k", tokens: int = 32) -> Table:
    """The table, with one row per batch size."""
    columns = ("decoding", "sentences", "tokens/s", "without cache", "PyTorch", "times PyTorch's", "goal")
    title = f"Decoding {tokens} tokens a sentence, {SIZES[work].title}"
    result = Table(title, columns, ("", ".0f", ",.0f", ",.0f", ",.0f", ".2f", ".1f"))
    for batch in BATCHES:
        answers = compared("decoding", LIBRARIES, rounds, seconds, work=work, batch=batch, tokens=tokens)
        speeds = [speed(answers[name], "greedy", batch * tokens) for name in LIBRARIES]
        result.add("greedy", float(batch), *speeds, ratio(speeds[0], speeds[2]), GOAL)
    result.notes.append("PyTorch reads all tokens so far at each step; all decode the same tokens")
    return result
