"""A causal language model that sees a window of tokens: what GPT-2 and the Music Transformer share.

Shapes: B batch, T tokens, D model width, L layers, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F

from . import continuation
from .generate import Writes


class Causal(Writes):
    """Tokens -> logits of the next token at each position; ``generate`` continues prompts. Of ``config``,
    ``vocabulary`` is V, and ``positions`` the context; ``layers`` are causal TransformerLayers, and ``norm`` is of the
    last one's outputs."""

    CACHED: type[continuation.Cached] = continuation.Cached
    config: Any
    embedding: nn.Embedding
    layers: nn.ModuleList
    norm: nn.Module

    @property
    def context(self) -> int:
        """The largest number of tokens that the model sees."""
        return int(self.config.positions)

    @property
    def head_weight(self) -> Tensor:
        """The matrix of the last linear layer (V, D): by default the embedding."""
        return self.embedding.weight

    @property
    def head_bias(self) -> Tensor | None:
        """The bias of the last linear layer (V), if it has one."""
        return None

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens and their positions, both (B, T) or broadcast -> inputs of the first layer (B, T, D)."""
        raise NotImplementedError

    def seen(self, positions: Tensor, mask: Tensor) -> Tensor:
        """Where tokens may look, apart from the future, by their positions (B, T) and a mask (B, T) that is True at
        tokens: (B, 1, 1 or T, T)."""
        return mask[:, None, None]

    def head_inputs(self, states: Tensor) -> Tensor:
        """The last layer's outputs as the last linear layer reads them (..., D)."""
        return self.norm(states)

    def hidden_states(self, tokens: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """The inputs of each layer, and those of the last linear layer: tokens (B, T) -> L + 1 times (B, T, D). The
        mask (B, T) is True at tokens, False at padding before or after them. Raises ValueError: more tokens than the
        model sees."""
        if tokens.shape[1] > self.context:
            count = tokens.shape[1]
            raise ValueError(f"{count:,} tokens are more than the {self.context:,} that the model sees at once")
        if mask is None:
            positions, visible = mg.arange(tokens.shape[1], device=tokens.device)[None], None
        else:
            positions = continuation.positions_of(mask)
            visible = self.seen(positions, mask)
        states = [self.embed(tokens, positions)]
        for layer in self.layers:
            states.append(layer(states[-1], visible))
        return [*states[:-1], self.head_inputs(states[-1])]

    def logits(self, states: Tensor) -> Tensor:
        """The last layer's states, before the norm (..., D) -> logits (..., V)."""
        return F.linear(self.norm(states), self.head_weight, self.head_bias)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Tokens (B, T) -> logits (B, T, V) of the token after each; see ``hidden_states``."""
        return F.linear(self.hidden_states(tokens, mask)[-1], self.head_weight, self.head_bias)

    def loss(self, tokens: Tensor, targets: Tensor, ignore: int = -100, mask: Tensor | None = None) -> Tensor:
        """The mean cross-entropy of targets (B, T), each after the token at its place (B, T); ``ignore`` is none. The
        mask is that of ``hidden_states``. Padding after the tokens needs none: no token sees it."""
        states = self.hidden_states(tokens, mask)[-1].flatten(0, 1)
        return F.linear_cross_entropy(
            states, self.head_weight, targets.reshape(-1), linear_bias=self.head_bias, ignore_index=ignore
        )

    def begin(self, prompts: Sequence[Sequence[int]], cached: bool = True, stride: int = 1) -> continuation.Plain:
        """The decoder for ``generation.beam_search`` that continues prompts; see ``continuation``."""
        kind = self.CACHED if cached and not self.training else continuation.Plain
        return kind(self, prompts, stride, self.embedding.weight.device)
