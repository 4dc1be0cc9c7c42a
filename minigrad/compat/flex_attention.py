"""``torch.nn.attention.flex_attention``: attention whose scores and mask are functions of indices (Dong et al. 2024).
All scores are computed, including masked ones."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from ..autograd import no_grad
from ..backend.dtype import float32, float64
from ..functions import names as mg
from ..nn import functional as F
from ..tensor import Tensor
from .internal import current_accelerator

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """Selects the extra results of ``flex_attention``."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """log Σ exp(score) and the largest score for each query, both (B, H, T), and only if requested."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class BlockMask:
    """A mask, (B, H, T, S), divided into blocks."""

    def __init__(self, mask: Tensor, mask_mod: Callable[..., Tensor], BLOCK_SIZE: tuple[int, int]) -> None:
        self.mask, self.mask_mod, self.BLOCK_SIZE, self.shape = mask, mask_mod, BLOCK_SIZE, tuple(mask.shape)

    def to_dense(self) -> Tensor:
        """A tensor (B, H, T / block, S / block), int32, with 1 for blocks with an unmasked element, and 0 elsewhere."""
        (t, s), (rows, columns) = self.shape[-2:], self.BLOCK_SIZE
        padded = F.pad(self.mask, (0, -s % columns, 0, -t % rows))
        return padded.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).any(-1).any(-2).int()

    def sparsity(self) -> float:
        """The percentage of the mask in blocks that are completely masked."""
        return 100 * (1 - self.to_dense().sum().item() * math.prod(self.BLOCK_SIZE) / math.prod(self.shape))

    def to(self, device: Any) -> BlockMask:
        """The mask on another device."""
        return BlockMask(self.mask.to(device), self.mask_mod, self.BLOCK_SIZE)


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The mask (B, H, T, S), bool, computed by ``mask_mod(batch, head, query, key)``. If B or H is None, it is 1. For a
    ``score_mod(score, batch, head, query, key)``, the mask is True where the score is not -inf."""
    sizes, device = (B or 1, H or 1, Q_LEN, KV_LEN), device or current_accelerator() or "cpu"
    if len(inspect.signature(mod_fn).parameters) == 4:
        return _each(mod_fn, sizes, device).bool()
    return ~mg.isneginf(_each(mod_fn, sizes, device, mg.zeros(sizes, device=device)))


def create_block_mask(
    mask_mod: Callable[..., Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """``create_mask`` for a ``mask_mod``, divided into blocks."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), mask_mod, size)


def _each(mod: Callable[..., Tensor], sizes: Sequence[int], device: Any, scores: Tensor | None = None) -> Tensor:
    """Apply a function of indices to all indices, like nested ``func.vmap``. Returns (B, H, T, S). One call handles a
    row of keys if, for the last row, this gives the same result as one call per key. The results differ if the function
    indexes a tensor by the key before another index."""
    keys = mg.arange(sizes[-1], device=device)
    places = list(product(*(mg.arange(size, device=device).unbind() for size in sizes[:-1])))
    rows = [[] for _ in places] if scores is None else [[row] for row in scores.reshape(-1, sizes[-1]).unbind()]
    at_once: Any = lambda score, place: mod(*score, *place, keys).expand(sizes[-1])
    by_key: Any = lambda score, place: mg.stack([mod(*(s[i] for s in score), *place, k) for i, k in enumerate(keys)])
    with no_grad():
        try:
            call = at_once if mg.equal(at_once(rows[-1], places[-1]), by_key(rows[-1], places[-1])) else by_key
        except (IndexError, RuntimeError):
            call = by_key
    return mg.stack([call(score, place) for score, place in zip(rows, places, strict=True)]).reshape(sizes)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(q kᵀ · scale)) v where the mask is True: (B, H, T, Ev). The result is 0 if all keys are masked.

    Args:
        query, key, value: (B, H, T, E), (B, H, S, E) and (B, H, S, Ev).
        score_mod: ``score_mod(score, batch, head, query, key)`` returns the score to use.
        scale: 1 / √E by default.
        enable_gqa: allow several query heads to share a key and value head.
        return_lse, return_aux: also return log Σ exp(score), (B, H, T), or the requested results.

    Raises ValueError if the numbers of heads, or the mask's sizes, do not match.
    """
    heads, shared = query.shape[1], key.shape[1]
    if heads % shared or (heads != shared and not enable_gqa):
        raise ValueError(f"Expect query and key/value to have the same number of heads, not {heads} and {shared}")
    lengths = query.shape[2], key.shape[2]
    if block_mask is not None and block_mask.shape[-2:] != lengths:
        raise ValueError(f"block_mask was created for {block_mask.shape=}, but there are {lengths} queries and keys")
    key, value = (x.repeat_interleave(heads // shared, dim=1) for x in (key, value))
    working = float64 if query.dtype == float64 else float32
    scores = (
        query.to(working) @ key.to(working).transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    )
    if score_mod is not None:
        scores = _each(score_mod, scores.shape, query.device, scores)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.mask, -math.inf)
    lse = scores.logsumexp(-1)
    weights = F.softmax(scores, dim=-1).masked_fill((lse == -math.inf).unsqueeze(-1), 0)
    output = weights.to(query.dtype) @ value.to(query.dtype)
    if return_aux is not None:
        return output, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (output, lse) if return_lse else output
