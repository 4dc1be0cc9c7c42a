"""minigrad: a deep-learning framework in plain Python, on NumPy (CPU) and CuPy (NVIDIA GPU)."""

from __future__ import annotations

import math
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import autograd
from . import tensor as _tensor_module  # loaded first, so that `tensor` is then the function
from .autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .backend import Device as device
from .backend.dtype import DType as dtype
from .backend.dtype import bool_ as bool
from .backend.dtype import (
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from .backend.parallel import get_num_threads, set_num_threads
from .backend.random import Generator, default_generator, manual_seed
from .functions.comparison import allclose, equal, isclose
from .functions.creation import (
    arange,
    as_tensor,
    asarray,
    bernoulli,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    multinomial,
    normal,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    tensor,
    zeros,
    zeros_like,
)
from .functions.indexing import (
    argsort,
    gather,
    index_add,
    index_select,
    masked_fill,
    masked_select,
    nonzero,
    scatter,
    scatter_add,
    sort,
    take_along_dim,
    topk,
    unique,
)
from .functions.linalg import addmm, baddbmm, bmm, dot, einsum, ger, matmul, mm, mv, outer
from .functions.pointwise import (
    abs,
    absolute,
    add,
    atan,
    atan2,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    clamp,
    clip,
    clone,
    cos,
    div,
    divide,
    eq,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmod,
    ge,
    gt,
    isfinite,
    isinf,
    isnan,
    le,
    lerp,
    log,
    log1p,
    log2,
    log10,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    maximum,
    minimum,
    mul,
    multiply,
    nan_to_num,
    ne,
    neg,
    negative,
    pow,
    reciprocal,
    relu,
    remainder,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    softmax,
    sqrt,
    square,
    sub,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
    where,
)
from .functions.reduction import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumprod,
    cumsum,
    logsumexp,
    max,
    mean,
    min,
    norm,
    prod,
    std,
    sum,
    var,
)
from .functions.shaping import (
    broadcast_tensors,
    broadcast_to,
    cat,
    chunk,
    concat,
    concatenate,
    diagonal,
    flatten,
    flip,
    hstack,
    meshgrid,
    movedim,
    narrow,
    permute,
    repeat_interleave,
    reshape,
    roll,
    select,
    split,
    squeeze,
    stack,
    swapaxes,
    t,
    tile,
    transpose,
    tril,
    triu,
    unbind,
    unflatten,
    unsqueeze,
    vstack,
)
from .tensor import Size, Tensor

if TYPE_CHECKING:  # imported by __getattr__, when first used
    from . import cuda, nn, optim
    from .serialization import load, save

# As in PyTorch, log(0) is -inf and 1/0 is inf without a warning; NumPy's stay for the program's own arrays.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minigrad\.")

__version__ = "0.1.0"

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e

# Type checkers take for public what stands here. tests/test_package.py tells when a name is missing.
__all__ = [
    "abs", "absolute", "add", "addmm", "all", "allclose", "amax", "amin", "any", "arange", "argmax",
    "argmin", "argsort", "as_tensor", "asarray", "atan", "atan2", "autograd", "baddbmm", "bernoulli",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm", "bool", "broadcast_tensors",
    "broadcast_to", "cat", "ceil", "chunk", "clamp", "clip", "clone", "concat", "concatenate", "cos",
    "count_nonzero", "cuda", "cumprod", "cumsum", "default_generator", "device", "diagonal", "div",
    "divide", "dot", "double", "dtype", "e", "einsum", "empty", "empty_like", "enable_grad", "eq", "equal",
    "erf", "exp", "exp2", "expm1", "eye", "flatten", "flip", "float", "float16", "float32", "float64",
    "floor", "floor_divide", "fmod", "from_numpy", "full", "full_like", "gather", "ge", "Generator", "ger",
    "get_default_dtype", "get_num_threads", "gt", "half", "hstack", "index_add", "index_select", "inf",
    "int", "int16", "int32", "int64", "int8", "is_grad_enabled", "is_tensor", "isclose",
    "isfinite", "isinf", "isnan",
    "le", "lerp", "linspace", "load", "log", "log10", "log1p", "log2", "log_softmax", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logsumexp", "long", "lt", "manual_seed", "masked_fill",
    "masked_select", "matmul", "max", "maximum", "mean", "meshgrid", "min", "minimum", "mm", "movedim",
    "mul", "multinomial", "multiply", "mv", "nan", "nan_to_num", "narrow", "ne", "neg", "negative", "nn",
    "no_grad", "nonzero", "norm", "normal", "ones", "ones_like", "optim", "outer", "permute", "pi", "pow",
    "prod", "promote_types", "rand", "rand_like", "randint", "randn", "randn_like", "randperm",
    "reciprocal", "relu", "remainder", "repeat_interleave", "reshape", "roll", "round", "rsqrt", "save",
    "scatter", "scatter_add", "select", "set_default_dtype", "set_grad_enabled", "set_num_threads",
    "short", "sigmoid", "sign", "sin", "Size", "softmax", "sort", "split", "sqrt", "square", "squeeze",
    "stack", "std", "sub", "subtract", "sum", "swapaxes", "t", "take_along_dim", "tan", "tanh", "Tensor",
    "tensor", "tile", "topk", "transpose", "tril", "triu", "true_divide", "trunc", "uint8", "unbind",
    "unflatten", "unique", "unsqueeze", "var", "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip

_LAZY = {"nn": "nn", "optim": "optim", "cuda": "cuda", "text": "text"}
_LAZY_NAMES = {"save": "serialization", "load": "serialization"}


def __getattr__(name: str) -> Any:
    """Parts that not every program needs are imported when they are first used."""
    if name in _LAZY:
        return import_module(f"{__name__}.{_LAZY[name]}")
    if name in _LAZY_NAMES:
        return getattr(import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    raise AttributeError(f"module 'minigrad' has no attribute {name!r}")


def is_tensor(obj: Any) -> Any:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)
