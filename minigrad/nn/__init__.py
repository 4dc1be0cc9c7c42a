"""Layers and what they are made of, by PyTorch's names."""

from . import functional, init, utils
from .activation import (
    ELU,
    GELU,
    GLU,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from .attention import MultiheadAttention
from .containers import Identity, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .dropout import Dropout
from .linear import Bilinear, Linear
from .loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from .module import Module
from .normalization import LayerNorm, RMSNorm
from .parameter import Parameter
from .positional import LearnedPositionalEncoding, SinusoidalPositionalEncoding
from .sparse import Embedding
from .transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "Bilinear", "CrossEntropyLoss", "Dropout", "ELU", "Embedding", "GELU",
    "GLU", "HuberLoss", "Identity", "KLDivLoss", "L1Loss", "LayerNorm", "LeakyReLU",
    "LearnedPositionalEncoding", "Linear", "LogSigmoid", "LogSoftmax", "MSELoss", "Module", "ModuleDict",
    "ModuleList", "MultiheadAttention", "NLLLoss", "Parameter", "ParameterDict", "ParameterList", "RMSNorm",
    "ReLU", "Sequential", "SiLU", "Sigmoid", "SinusoidalPositionalEncoding", "SmoothL1Loss", "Softmax",
    "Softplus", "Tanh", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer", "functional", "init", "utils",
]  # fmt: skip
