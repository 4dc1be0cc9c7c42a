"""The functions behind the layers, by PyTorch's names: ``import minigrad.nn.functional as F``."""

from typing import TYPE_CHECKING

from ...missing import names_of
from .activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from .attention import scaled_dot_product_attention
from .classification import cross_entropy, linear_cross_entropy, nll_loss
from .convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    fold,
    unfold,
)
from .ctc import ctc_loss
from .distance import cosine_similarity, pairwise_distance
from .dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from .embedding_bag import embedding_bag
from .interpolation import channel_shuffle, interpolate, pixel_shuffle, pixel_unshuffle, upsample
from .linear import bilinear, embedding, linear, one_hot
from .margin import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .multihead import multi_head_attention_forward
from .normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from .padding import pad
from .pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
)
from .regression import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "channel_shuffle",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "cosine_similarity", "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "gelu", "glu", "group_norm",
    "gumbel_softmax", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "linear", "linear_cross_entropy", "local_response_norm", "log_softmax", "logsigmoid",
    "lp_pool1d", "lp_pool2d", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d",
    "mse_loss", "multi_head_attention_forward", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "relu", "rms_norm",
    "scaled_dot_product_attention", "sigmoid", "silu", "smooth_l1_loss", "softmax", "softmin", "softplus",
    "tanh", "unfold", "upsample",
    "celu", "celu_", "cosine_embedding_loss", "ctc_loss", "elu_", "gaussian_nll_loss", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "leaky_relu_",
    "margin_ranking_loss", "mish", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "poisson_nll_loss", "prelu", "relu6", "relu_", "rrelu", "rrelu_", "selu",
    "selu_", "soft_margin_loss", "softshrink", "softsign", "tanhshrink", "threshold", "threshold_",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip

if not TYPE_CHECKING:  # checkers complain of a missing name themselves
    __getattr__ = names_of(__name__)
