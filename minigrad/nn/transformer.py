"""The transformer of "Attention Is All You Need" (Vaswani et al. 2017): blocks, stacks and the full model.

Shape letters: B batch size, T target length, S source length, D model width, H heads. Inputs are (T, B, D), or
(B, T, D) with ``batch_first``, or (T, D) if unbatched. As in PyTorch, True in a mask means masked out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from ..functions.creation import full
from ..ops.op import watch
from ..tensor import Tensor
from . import functional as F, init
from .activation import GELU, Dropout, ReLU
from .attention import MultiheadAttention
from .containers import ModuleList
from .functional.activation import relu_dropout
from .functional.attention import causal_mask
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder"]
__all__ += ["TransformerEncoderLayer"]

Activation = Callable[[Tensor], Tensor]
Mask = Tensor | None


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """The additive causal mask (sz, sz): -inf above the diagonal, 0 elsewhere."""
    return full((sz, sz), float("-inf"), device=device, dtype=dtype).triu(1)


class _Block(Module):
    """Base class of encoder and decoder blocks: attention and feed-forward sublayers, each with a norm and dropout. See
    TransformerEncoderLayer for the arguments."""

    _attentions: ClassVar[tuple[str, ...]] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation
        self.activation_relu_or_gelu = 0  # PyTorch's code for relu or gelu
        for number, (function, layer) in {1: (F.relu, ReLU), 2: (F.gelu, GELU)}.items():
            if self.activation is function or isinstance(self.activation, layer):
                self.activation_relu_or_gelu = number

    def _residual(self, x: Tensor, norm: Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x plus a sublayer's result, with the norm before the sublayer (Xiong et al. 2020) or after the sum."""
        return x + part(norm(x)) if self.norm_first else norm(x + part(x))

    def _sa_block(self, x: Tensor, attn_mask: Mask, key_padding_mask: Mask, is_causal: bool = False) -> Tensor:
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, **masks, need_weights=False)[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        """The feed-forward network, (..., D) -> (..., dim_feedforward) -> (..., D), and its dropout."""
        x, dropout = self.linear1(x), self.dropout
        fuses = type(dropout) is Dropout and self.activation is F.relu and dropout.training and dropout.p
        if fuses and not (dropout.inplace or dropout._has_hooks() or watch.observers):  # nothing observes the calls
            hidden = relu_dropout(x, dropout.p)
        else:
            hidden = dropout(self.activation(x))
        last: Module = getattr(self, f"dropout{len(self._attentions) + 1}")
        return last(self.linear2(hidden))


class TransformerEncoderLayer(_Block):
    """Self-attention and a feed-forward network, each with a residual connection and a layer norm.

    Args:
        d_model: D. nhead: H. dim_feedforward: the hidden width of the feed-forward network.
        dropout: applied to attention weights, hidden units and each sublayer's result.
        activation: "relu", "gelu" or a function. layer_norm_eps: the eps of the norms.
        batch_first: inputs are (B, S, D) instead of (S, B, D). bias: whether linear maps and norms have biases.
        norm_first: apply norms before the sublayers instead of after the sums.

    >>> nn.TransformerEncoderLayer(8, 2, batch_first=True)(mg.zeros(2, 5, 8)).shape
    minigrad.Size([2, 5, 8])
    """

    def forward(
        self, src: Tensor, src_mask: Mask = None, src_key_padding_mask: Mask = None, is_causal: bool = False
    ) -> Tensor:
        """Apply one block: ``src`` (S, B, D) -> the same shape. ``src_mask``: (S, S) or (B H, S, S).
        ``src_key_padding_mask``: (B, S). ``is_causal``: mask causally; ``src_mask`` must be None or the causal mask."""
        masks = (src_mask, src_key_padding_mask, is_causal)
        x = self._residual(src, self.norm1, lambda x: self._sa_block(x, *masks))
        return self._residual(x, self.norm2, self._ff_block)


class TransformerDecoderLayer(_Block):
    """Self-attention, cross-attention to the encoder output, and a feed-forward network. See TransformerEncoderLayer.

    >>> nn.TransformerDecoderLayer(8, 2, batch_first=True)(mg.zeros(2, 3, 8), mg.zeros(2, 5, 8)).shape
    minigrad.Size([2, 3, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Apply one block: ``tgt`` (T, B, D) and ``memory`` (S, B, D) -> (T, B, D).

        Args:
            tgt_mask: (T, T) or (B H, T, T). memory_mask: (T, S) or (B H, T, S).
            tgt_key_padding_mask: (B, T). memory_key_padding_mask: (B, S).
            tgt_is_causal, memory_is_causal: mask causally; the respective mask must be None or the causal mask."""
        tgt_masks = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        memory_masks = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = self._residual(tgt, self.norm1, lambda x: self._sa_block(x, *tgt_masks))
        x = self._residual(x, self.norm2, lambda x: self._mha_block(x, memory, *memory_masks))
        return self._residual(x, self.norm3, self._ff_block)

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Mask, key_padding_mask: Mask, is_causal: bool = False
    ) -> Tensor:
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return self.dropout2(self.multihead_attn(x, mem, mem, **masks, need_weights=False)[0])


class TransformerEncoder(Module):
    """A stack of ``num_layers`` copies of a block, and an optional final norm.

    Args:
        encoder_layer: the block to copy. num_layers: the number of copies. norm: applied last.
        enable_nested_tensor: return zeros at padded positions whenever PyTorch skips these. It does so in evaluation,
            without gradients, if ``src_key_padding_mask`` pads on the right and there is no other mask.
        mask_check: check that the mask pads on the right.

    >>> layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    >>> nn.TransformerEncoder(layer, 2)(mg.zeros(2, 5, 8)).shape
    minigrad.Size([2, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = False
        if enable_nested_tensor and isinstance(encoder_layer, TransformerEncoderLayer):
            # PyTorch runs such a block on nested tensors without the padding
            layer, attention = encoder_layer, encoder_layer.self_attn
            plain = attention.batch_first and attention.in_proj_bias is not None and attention._qkv_same_embed_dim
            fits = attention.num_heads % 2 == 0 and layer.norm1.eps == layer.norm2.eps
            self.use_nested_tensor = bool(plain and fits and layer.activation_relu_or_gelu and not layer.norm_first)

    def forward(
        self, src: Tensor, mask: Mask = None, src_key_padding_mask: Mask = None, is_causal: bool | None = None
    ) -> Tensor:
        """Apply all blocks: ``src`` (S, B, D) -> the same shape. ``is_causal``: if None, inferred from the mask."""
        out, causal = src, _detect_is_causal_mask(mask, is_causal)
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and self._nested(src, mask, src_key_padding_mask, out):
            out = out.masked_fill((src_key_padding_mask != 0).unsqueeze(-1), 0.0)
        return out if self.norm is None else self.norm(out)

    def _nested(self, src: Tensor, mask: Mask, padding: Tensor, out: Tensor) -> bool:
        """Whether PyTorch would skip padded positions and return zeros for them."""
        if not self.use_nested_tensor or mask is not None or src.ndim != 3:
            return False
        if self.layers[0].training or out.requires_grad:
            return False
        is_kept = padding == 0  # (B, S)
        return not self.mask_check or not bool((is_kept[:, 1:] & ~is_kept[:, :-1]).any())


class TransformerDecoder(Module):
    """A stack of ``num_layers`` decoder blocks, and an optional final norm. See TransformerEncoder."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Apply all blocks: ``tgt`` (T, B, D), ``memory`` (S, B, D) -> (T, B, D). See TransformerEncoder."""
        masks = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
        padding = {"tgt_key_padding_mask": tgt_key_padding_mask, "memory_key_padding_mask": memory_key_padding_mask}
        is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal)
        causal = {"tgt_is_causal": is_causal, "memory_is_causal": memory_is_causal}
        out = tgt
        for layer in self.layers:
            out = layer(out, memory, **masks, **padding, **causal)
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder and a decoder, without the embeddings or the projection to the vocabulary.

    Args:
        d_model: D. nhead: H. num_encoder_layers, num_decoder_layers: numbers of blocks.
        custom_encoder, custom_decoder: modules that replace them. See TransformerEncoderLayer for the other arguments.
            ``init.xavier_uniform_`` initialises the weights.

    >>> model = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    >>> model(mg.zeros(2, 5, 8), mg.zeros(2, 3, 8)).shape
    minigrad.Size([2, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        block = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norms = [LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory) for _ in range(2)]
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*block, **factory)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norms[0])
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*block, **factory)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norms[1])
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Mask = None,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        src_key_padding_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encode ``src`` (S, B, D), and decode ``tgt`` (T, B, D). Returns (T, B, D). For the masks, see the blocks.
        Raises RuntimeError if the widths or batch sizes of ``src`` and ``tgt`` do not match."""
        shapes, at = (tuple(src.shape), tuple(tgt.shape)), 0 if self.batch_first else 1
        problem = ""
        if len(shapes[0]) != len(shapes[1]) or (len(shapes[0]) == 3 and shapes[0][at] != shapes[1][at]):
            problem = "batch number of src and tgt must be equal"
        elif shapes[0][-1] != self.d_model or shapes[1][-1] != self.d_model:
            problem = f"feature number of src and tgt must be equal to d_model = {self.d_model}"
        if problem:
            raise RuntimeError(f"Transformer: the {problem}, but their shapes are {shapes}")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        masks = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
        padding = {"tgt_key_padding_mask": tgt_key_padding_mask, "memory_key_padding_mask": memory_key_padding_mask}
        causal = {"tgt_is_causal": tgt_is_causal, "memory_is_causal": memory_is_causal}
        return self.decoder(tgt, memory, **masks, **padding, **causal)

    generate_square_subsequent_mask = staticmethod(_generate_square_subsequent_mask)


def _detect_is_causal_mask(mask: Mask, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether a bool or additive mask is the causal mask, which attention does not need to read."""
    if is_causal is not None:
        return is_causal
    if mask is None or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    size = mask.shape[0]
    if mask.array.dtype.kind == "b":
        expected = causal_mask(size, size, mask)
    else:
        expected = _generate_square_subsequent_mask(size, mask.device, mask.dtype)
    return bool((mask == expected).all())


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Activation:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu
