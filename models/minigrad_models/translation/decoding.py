"""Decoding a translation token by token with what can be kept: the keys and values of the tokens so far (see
``cache``), and those of the source, for cross-attention, which are computed once. ``Plain`` keeps nothing.

Shapes: N rows, that is B sentences times W beams (W is 1 without beam search), T tokens so far, S source length, D
model width, H heads, V vocabulary.
"""

from __future__ import annotations

from minigrad import Tensor, no_grad
from minigrad.autograd.tape import wrap
from minigrad.backend.dtype import Array
from minigrad.nn import functional as F

from ..architectures.layers import DecoderLayer
from ..generation.cache import CachedAttention, CachedFeedForward, CachedLinear, CachedResidual, attend
from .encoder_decoder import Plain as Plain
from .encoder_decoder import TranslationModel


class Cached:
    """The same logits with a cache: each call of ``next_logits`` must add one token."""

    @no_grad()
    def __init__(self, model: TranslationModel, start: Tensor, memory: Tensor, mask: Tensor) -> None:
        self.model, self.start, self.mask = model, start, mask
        self.beam_size, self.length = 1, 0  # W; tokens seen so far
        padding = None if bool(mask.all()) else mask.array  # without padding, attention needs no mask
        self.layers = [CachedLayer(layer, memory, padding) for layer in model.decoder]

    @no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """Tokens so far (N, T), of which the last is new -> logits of the next token (N, V)."""
        x = self.model.embed(tokens[:, -1:], self.length).array  # (N, 1, D)
        for layer in self.layers:
            x = layer.step(x, self.length)
        self.length += 1
        return F.linear(self.model.decoder_norm(wrap(x[:, 0])), self.model.embedding.weight)

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Continue row rows[n] as row n; from now on each sentence has ``beam_size`` rows."""
        sentences = rows[::beam_size] // self.beam_size
        if len(sentences) < len(self.mask):
            self.mask = self.mask[sentences]
            for layer in self.layers:
                layer.keep(sentences.array)
        self.beam_size = beam_size
        for layer in self.layers:
            layer.reorder(rows.array, beam_size, self.length)


class CachedLayer:
    """A decoder layer, with the keys and values of its attentions: those of the source (B, H, S, D/H) are shared by the
    W beams of a sentence."""

    def __init__(self, layer: DecoderLayer, memory: Tensor, mask: Array | None) -> None:
        cross = layer.cross_attention
        self.self_attention = CachedAttention(layer.self_attention, len(memory))
        self.feed_forward = CachedFeedForward(layer.feed_forward)
        residuals = (layer.self_residual, layer.cross_residual, layer.feed_forward_residual)
        self.residuals = [CachedResidual(residual) for residual in residuals]
        self.cross_query, self.cross_output = CachedLinear(cross.query), CachedLinear(cross.output)
        self.keys, self.values = (cross.split(part(memory)).array for part in (cross.key, cross.value))
        self.heads, self.beam_size, self.mask = cross.heads, 1, mask

    def step(self, x: Array, position: int) -> Array:
        """The state of the new token after this layer, (N, 1, D) -> (N, 1, D)."""
        x = self.residuals[0](x, lambda y: self.self_attention.step(y, position))
        x = self.residuals[1](x, self.attend_to_source)
        return self.residuals[2](x, self.feed_forward)

    def attend_to_source(self, x: Array) -> Array:
        """Cross-attention: the W beams of a sentence are W queries to the same keys."""
        d = x.shape[-1]
        q = self.cross_query(x).reshape(-1, self.beam_size, self.heads, d // self.heads)
        heads = attend(q.swapaxes(1, 2), self.keys, self.values, self.mask)  # (B, H, W, D/H)
        return self.cross_output(heads.swapaxes(1, 2).reshape(x.shape))  # -> (N, 1, D)

    def keep(self, sentences: Array) -> None:
        """Keep some of the B sentences, and drop the others."""
        self.keys, self.values = self.keys[sentences], self.values[sentences]
        self.mask = None if self.mask is None else self.mask[sentences]

    def reorder(self, rows: Array, beam_size: int, length: int) -> None:
        """Continue row rows[n] as row n, W rows per sentence, each of ``length`` tokens."""
        self.beam_size = beam_size
        self.self_attention.reorder(rows, length)
