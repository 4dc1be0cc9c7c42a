"""Continuing prompts by a causal language model, for the searches of ``minigrad_models.generation.beam_search``.

Prompts of a batch end together: shorter ones are padded in front, where nothing may be seen. A text that outgrows the
model's context loses its beginning: the last ``context`` tokens count, at the positions from 0 on.

Shapes: N rows, that is B prompts times W beams (W is 1 without beam search), T tokens so far, S tokens of the window,
D model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.autograd.tape import wrap

from .cache import CachedTransformerLayer


class LanguageModel(Protocol):
    """The parts of a causal model that generation uses."""

    config: Any  # its ``vocabulary`` is V

    @property
    def layers(self) -> nn.ModuleList:
        """Causal TransformerLayers."""

    @property
    def context(self) -> int:
        """The largest number of tokens that the model sees."""

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens and their positions (N, T) -> inputs of the first layer (N, T, D)."""

    def logits(self, states: Tensor) -> Tensor:
        """The last layer's states (..., D) -> logits (..., V)."""

    def __call__(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Tokens (N, T), and a mask (N, T) that is True at tokens and False at padding -> logits (N, T, V)."""


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
    """The definition: at each step the model runs over the whole window. When the text outgrows the context, the window
    moves by ``stride`` tokens at once. With 1, each token is predicted from as many as the model can see, and a cache
    is of no use from there on; with more, the cache is filled anew only after so many tokens. A batch's windows move
    together. Raises ValueError: as ``Prompts``, or a stride out of range."""

    def __init__(self, model: LanguageModel, prompts: Sequence[Sequence[int]], stride: int = 1, device: Any = None):
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

    def __init__(self, model: LanguageModel, prompts: Sequence[Sequence[int]], stride: int = 1, device: Any = None):
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
