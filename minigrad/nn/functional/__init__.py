"""The functions behind the layers, by PyTorch's names: ``import minigrad.nn.functional as F``."""

from .activation import (
    elu,
    gelu,
    glu,
    gumbel_softmax,
    leaky_relu,
    log_softmax,
    logsigmoid,
    relu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    tanh,
)
from .attention import scaled_dot_product_attention
from .classification import cross_entropy, linear_cross_entropy, nll_loss
from .dropout import dropout
from .linear import bilinear, embedding, linear, one_hot
from .normalization import cosine_similarity, layer_norm, normalize, rms_norm
from .padding import pad
from .regression import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)

__all__ = [
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity",
    "cross_entropy", "dropout", "elu", "embedding", "gelu", "glu", "gumbel_softmax", "huber_loss", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "linear_cross_entropy", "log_softmax", "logsigmoid",
    "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "relu", "rms_norm",
    "scaled_dot_product_attention", "sigmoid", "silu", "smooth_l1_loss", "softmax", "softmin", "softplus",
    "tanh",
]  # fmt: skip
