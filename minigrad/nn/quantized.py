"""Layers for inference whose weights are in int8 or bfloat16, with a quarter or half of float32's memory. Products are
computed in float32. In int8, each row has a scale, so that its largest number becomes ±127.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from ..backend import dtype as dt, narrow
from ..ops.linear import narrow_linear
from ..tensor import Tensor, apply, wrap
from .embedding import Embedding
from .layer import Layer
from .linear import Linear
from .module import Module

__all__ = ["QuantizedEmbedding", "QuantizedLinear", "quantize_dynamic"]


class _Narrow(Layer):
    """Base class: a weight (N, K) in int8 or bfloat16, and the scale of each row (N,)."""

    weight: Tensor
    scale: Tensor

    def __init__(self, layer: Any, dtype: dt.DType) -> None:
        super().__init__()
        weight, scale = narrow.narrowed(layer.weight.array, dtype is dt.bfloat16)
        self.register_buffer("weight", wrap(weight))
        self.register_buffer("scale", wrap(scale))
        self.training = layer.training


class QuantizedLinear(_Narrow):
    """x Wᵀ + b for inference: (..., in_features) -> (..., out_features); see ``quantize_dynamic``."""

    _repr_fields = ("in_features", "out_features", "bias")

    def __init__(self, layer: Linear, dtype: dt.DType) -> None:
        super().__init__(layer, dtype)
        self.out_features, self.in_features = layer.weight.shape
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())

    def forward(self, input: Tensor) -> Tensor:
        return apply(narrow_linear, (input, self.weight, self.scale, self.bias))


class QuantizedEmbedding(_Narrow):
    """A table of V vectors for inference: (...) -> (..., embedding_dim); see ``quantize_dynamic``."""

    _repr_fields, _unnamed = ("num_embeddings", "embedding_dim"), 2

    def __init__(self, layer: Embedding, dtype: dt.DType) -> None:
        super().__init__(layer, dtype)
        self.num_embeddings, self.embedding_dim = layer.weight.shape

    def forward(self, input: Tensor) -> Tensor:
        return self.weight[input].to(dt.float32) * self.scale[input].unsqueeze(-1)

    def linear(self, input: Tensor, bias: Tensor | None = None) -> Tensor:
        """x Wᵀ + b, as in the last layer of a language model that shares its embedding's weight."""
        return apply(narrow_linear, (input, self.weight, self.scale, bias))


LAYERS: dict[type[Module], Callable[[Any, dt.DType], Module]] = {Linear: QuantizedLinear, Embedding: QuantizedEmbedding}


def quantize_dynamic(
    model: Module,
    qconfig_spec: Iterable[type[Module] | str] | None = None,
    dtype: dt.DType = dt.int8,
    inplace: bool = False,
) -> Module:
    """A copy of a model for inference in which layers have weights in ``dtype``, as PyTorch's function of this name.

    Args:
        qconfig_spec: classes of layers (Linear, Embedding) or names of submodules; None: all Linear layers.
        dtype: int8 or bfloat16.
        inplace: change the model itself.

    Raises ValueError for another dtype. A layer whose weight is not in float32 stays unchanged.

    >>> model = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    >>> nn.quantized.quantize_dynamic(model)[0].weight.dtype
    minigrad.int8
    """
    if dtype not in (dt.int8, dt.bfloat16):
        raise ValueError(f"weights can be quantized to int8 or bfloat16, not to {dtype}")
    chosen = {Linear} if qconfig_spec is None else set(qconfig_spec)
    model = model if inplace else deepcopy(model)
    replaced: dict[Module, Module] = {}  # a layer that is used twice stays one layer
    for path, module in list(model.named_modules(remove_duplicate=False)):
        kind = LAYERS.get(type(module))
        if kind is None or not (type(module) in chosen or path in chosen) or module.weight.dtype is not dt.float32:
            continue
        if module not in replaced:
            replaced[module] = kind(module, dtype)
        if not path:
            return replaced[module]
        parent, _, name = path.rpartition(".")
        setattr(model.get_submodule(parent), name, replaced[module])
    return model
