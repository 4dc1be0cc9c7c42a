"""Causal language models that see a window of tokens, and continuing prompts by them, for the searches of
``minigrad_models.generation.beam_search``.

Prompts of a batch end together: shorter ones are padded in front, where nothing may be seen. A text that outgrows the
model's context loses its beginning: the last ``context`` tokens count, at the positions from 0 on.

Shapes: B batch, N rows, that is B prompts times W beams (W is 1 without beam search), T tokens, S tokens of the window,
D model width, L layers, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.autograd.tape import wrap
from minigrad.nn import functional as F

from .cache import CachedTransformerLayer
from .generate import Writes


class Prompts:
    """The prompts of a batch, padded in front so that they end together: ``start`` are the tokens (B, T), and ``first``
    is each row's first that is no padding (N). Padding repeats that token: so no search meets one that a prompt lacks.
    Raises ValueError: no prompt, an empty one, or a token out of the vocabulary."""

    def __init__(self, prompts: Sequence[Sequence[int]], vocabulary: int, device: Any = None) -> None:
        if not prompts or not all(prompts):
            raise ValueError("a prompt has no tokens: a language model continues at least one")
        for token in (min(map(min, prompts)), max(map(max, prompts))):
            if not 0 <= token < vocabulary:
                raise ValueError(f"a prompt has token {token}, and the vocabulary ends at {vocabulary - 1}")
        longest = max(map(len, prompts))
        rows = [[prompt[0]] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        self.start = mg.tensor(rows, dtype=mg.int64, device=device)
        self.first = mg.tensor([longest - len(prompt) for prompt in prompts], device=device)
        self.padding = longest - min(map(len, prompts))  # before the first token that all rows have

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Continue row rows[n] as row n."""
        self.first = self.first[rows]

    def mask(self, begin: int, end: int) -> Tensor | None:
        """True at tokens, False at padding, from ``begin`` to ``end`` (N, end - begin); None without padding."""
        if self.padding <= begin:
            return None
        return mg.arange(begin, end, device=self.first.device) >= self.first[:, None]


class Plain(Prompts):
    """The definition: at each step the model, a ``Causal`` or one with the same parts, runs over the whole window. When
    the text outgrows the context, the window moves by ``stride`` tokens at once. With 1, each token is predicted from
    as many as the model can see, and a cache is of no use from there on; with more, the cache is filled anew only after
    so many tokens. A batch's windows move together. Raises ValueError: as ``Prompts``, or a stride out of range."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], stride: int = 1, device: Any = None):
        super().__init__(prompts, model.config.vocabulary, device)
        if not 1 <= stride <= model.context:
            raise ValueError(f"stride must be between 1 and the model's context ({model.context}), not {stride}")
        self.model, self.stride, self.context = model, stride, model.context

    def next_logits(self, tokens: Tensor) -> Tensor:
        """Tokens so far (N, T) -> logits of the next token (N, V)."""
        begin, end = self.begin(tokens.shape[1]), tokens.shape[1]
        with mg.no_grad():
            return self.model(tokens[:, begin:], self.mask(begin, end))[:, -1]

    def begin(self, length: int) -> int:
        """The first token of the window at a length of the text."""
        beyond = max(0, length - self.context)
        return -(-beyond // self.stride) * self.stride


class Cached(Plain):
    """The same logits with a cache: each call of ``next_logits`` must add one token."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], stride: int = 1, device: Any = None):
        super().__init__(model, prompts, stride, device)
        self.layers: list[CachedTransformerLayer] = []
        self.window = (0, 0)  # the first token in the cache, and the end

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        end = tokens.shape[1]
        begin = self.begin(end)
        if not self.layers or begin != self.window[0]:
            self.layers = [CachedTransformerLayer(layer, len(tokens)) for layer in self.model.layers]
            self.window = (begin, begin)
        done = self.window[1]
        positions = self.positions(begin, end)
        x = self.model.embed(tokens[:, done:], positions[:, done - begin :]).array
        visible = self.seen(positions, self.mask(begin, end), end - done)
        for layer in self.layers:
            x = layer.step(x, done - begin, None if visible is None else visible.array)
        self.window = (begin, end)
        return self.model.logits(wrap(x[:, -1]))

    def positions(self, begin: int, end: int) -> Tensor:
        """Those of the window's tokens (N, end - begin): 0 at a row's first, and at the padding before it."""
        row = mg.arange(begin, end, device=self.first.device)[None]
        return (row - self.first.clamp(min=begin)[:, None]).clamp(min=0)

    def seen(self, positions: Tensor, mask: Tensor | None, new: int) -> Tensor | None:
        """Where the last ``new`` tokens of a window (N, S) may look, apart from the future: (N, 1, 1 or new, S), or
        None for everywhere. The mask (N, S) is True at tokens, False at padding."""
        return None if mask is None else mask[:, None, None]

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Continue row rows[n] as row n."""
        super().reorder(rows, beam_size)
        begin, end = self.window
        for layer in self.layers:
            layer.reorder(rows.array, end - begin)


def positions_of(mask: Tensor) -> Tensor:
    """Positions of tokens by a mask (N, T), True at tokens: 0 at a row's first, and at the padding before it."""
    return (mask.long().cumsum(1) - 1).clamp(min=0)


class Causal(Writes):
    """Tokens -> logits of the next token at each position; ``generate`` continues prompts. Of ``config``,
    ``vocabulary`` is V, and ``positions`` the context; ``layers`` are causal TransformerLayers, and ``norm`` is of the
    last one's outputs."""

    CACHED: type[Cached] = Cached
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
            positions = positions_of(mask)
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

    def begin(self, prompts: Sequence[Sequence[int]], cached: bool = True, stride: int = 1) -> Plain:
        """The decoder for ``generation.beam_search`` that continues prompts; see ``Plain``."""
        kind = self.CACHED if cached and not self.training else Plain
        return kind(self, prompts, stride, self.embedding.weight.device)
