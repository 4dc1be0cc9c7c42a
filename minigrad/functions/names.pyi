"""The free functions, written by `python tasks.py index` from the names in names.py."""

from collections.abc import Sequence
from typing import Any

from minigrad.backend.random import Generator
from minigrad.compat.functions.copies import alias_copy as alias_copy
from minigrad.compat.functions.decompositions import cholesky as cholesky
from minigrad.compat.functions.decompositions import lu_unpack as lu_unpack
from minigrad.compat.functions.equations import cholesky_inverse as cholesky_inverse
from minigrad.compat.functions.equations import cholesky_solve as cholesky_solve
from minigrad.compat.functions.equations import det as det
from minigrad.compat.functions.equations import inverse as inverse
from minigrad.compat.functions.equations import logdet as logdet
from minigrad.compat.functions.equations import pinverse as pinverse
from minigrad.compat.functions.equations import slogdet as slogdet
from minigrad.compat.functions.equations import triangular_solve as triangular_solve
from minigrad.compat.functions.products import cdist as cdist
from minigrad.compat.functions.products import chain_matmul as chain_matmul
from minigrad.compat.functions.products import cross as cross
from minigrad.compat.functions.products import geqrf as geqrf
from minigrad.compat.functions.products import inner as inner
from minigrad.compat.functions.products import kron as kron
from minigrad.compat.functions.products import lu as lu
from minigrad.compat.functions.products import lu_solve as lu_solve
from minigrad.compat.functions.products import matrix_exp as matrix_exp
from minigrad.compat.functions.products import matrix_power as matrix_power
from minigrad.compat.functions.products import orgqr as orgqr
from minigrad.compat.functions.products import ormqr as ormqr
from minigrad.compat.functions.products import pca_lowrank as pca_lowrank
from minigrad.compat.functions.products import pdist as pdist
from minigrad.compat.functions.products import qr as qr
from minigrad.compat.functions.products import svd as svd
from minigrad.compat.functions.products import svd_lowrank as svd_lowrank
from minigrad.compat.functions.products import tensordot as tensordot
from minigrad.compat.functions.products import vander as vander
from minigrad.compat.functions.products import vdot as vdot
from minigrad.compat.functions.special import mvlgamma as mvlgamma
from minigrad.compat.functions.special import polygamma as polygamma
from minigrad.compat.functions.spectrum import istft as istft
from minigrad.compat.functions.spectrum import stft as stft
from minigrad.compat.functions.statistics import aminmax as aminmax
from minigrad.compat.functions.statistics import bincount as bincount
from minigrad.compat.functions.statistics import bucketize as bucketize
from minigrad.compat.functions.statistics import corrcoef as corrcoef
from minigrad.compat.functions.statistics import cov as cov
from minigrad.compat.functions.statistics import cummax as cummax
from minigrad.compat.functions.statistics import cummin as cummin
from minigrad.compat.functions.statistics import dist as dist
from minigrad.compat.functions.statistics import histc as histc
from minigrad.compat.functions.statistics import histogram as histogram
from minigrad.compat.functions.statistics import histogramdd as histogramdd
from minigrad.compat.functions.statistics import isin as isin
from minigrad.compat.functions.statistics import kthvalue as kthvalue
from minigrad.compat.functions.statistics import logcumsumexp as logcumsumexp
from minigrad.compat.functions.statistics import median as median
from minigrad.compat.functions.statistics import mode as mode
from minigrad.compat.functions.statistics import msort as msort
from minigrad.compat.functions.statistics import nanmean as nanmean
from minigrad.compat.functions.statistics import nanmedian as nanmedian
from minigrad.compat.functions.statistics import nanquantile as nanquantile
from minigrad.compat.functions.statistics import nansum as nansum
from minigrad.compat.functions.statistics import quantile as quantile
from minigrad.compat.functions.statistics import searchsorted as searchsorted
from minigrad.compat.functions.statistics import std_mean as std_mean
from minigrad.compat.functions.statistics import unique_consecutive as unique_consecutive
from minigrad.compat.functions.statistics import var_mean as var_mean
from minigrad.functions.arguments import Dims, Maybe, Scalar
from minigrad.functions.comparison import allclose as allclose
from minigrad.functions.comparison import equal as equal
from minigrad.functions.comparison import get_device as get_device
from minigrad.functions.comparison import is_storage as is_storage
from minigrad.functions.comparison import is_tensor as is_tensor
from minigrad.functions.comparison import isclose as isclose
from minigrad.functions.comparison import numel as numel
from minigrad.functions.comparison import result_type as result_type
from minigrad.functions.conversion import angle as angle
from minigrad.functions.conversion import complex as complex
from minigrad.functions.conversion import conj as conj
from minigrad.functions.conversion import detach as detach
from minigrad.functions.conversion import imag as imag
from minigrad.functions.conversion import polar as polar
from minigrad.functions.conversion import real as real
from minigrad.functions.conversion import view_as_complex as view_as_complex
from minigrad.functions.conversion import view_as_real as view_as_real
from minigrad.functions.creation import as_tensor as as_tensor
from minigrad.functions.creation import asarray as asarray
from minigrad.functions.creation import empty_permuted as empty_permuted
from minigrad.functions.creation import from_numpy as from_numpy
from minigrad.functions.creation import frombuffer as frombuffer
from minigrad.functions.creation import tensor as tensor
from minigrad.functions.indexing import argsort as argsort
from minigrad.functions.indexing import gather as gather
from minigrad.functions.indexing import index_add as index_add
from minigrad.functions.indexing import index_copy as index_copy
from minigrad.functions.indexing import index_fill as index_fill
from minigrad.functions.indexing import index_reduce as index_reduce
from minigrad.functions.indexing import index_select as index_select
from minigrad.functions.indexing import masked_fill as masked_fill
from minigrad.functions.indexing import masked_scatter as masked_scatter
from minigrad.functions.indexing import masked_select as masked_select
from minigrad.functions.indexing import nonzero as nonzero
from minigrad.functions.indexing import nonzero_static as nonzero_static
from minigrad.functions.indexing import put as put
from minigrad.functions.indexing import scatter as scatter
from minigrad.functions.indexing import scatter_add as scatter_add
from minigrad.functions.indexing import scatter_reduce as scatter_reduce
from minigrad.functions.indexing import sort as sort
from minigrad.functions.indexing import take_along_dim as take_along_dim
from minigrad.functions.indexing import topk as topk
from minigrad.functions.indexing import unique as unique
from minigrad.functions.indexing import unravel_index as unravel_index
from minigrad.functions.linalg import addbmm as addbmm
from minigrad.functions.linalg import addmm as addmm
from minigrad.functions.linalg import addmv as addmv
from minigrad.functions.linalg import addr as addr
from minigrad.functions.linalg import baddbmm as baddbmm
from minigrad.functions.linalg import bmm as bmm
from minigrad.functions.linalg import dot as dot
from minigrad.functions.linalg import einsum as einsum
from minigrad.functions.linalg import ger as ger
from minigrad.functions.linalg import matmul as matmul
from minigrad.functions.linalg import mm as mm
from minigrad.functions.linalg import mv as mv
from minigrad.functions.linalg import outer as outer
from minigrad.functions.pointwise import add as add
from minigrad.functions.pointwise import addcdiv as addcdiv
from minigrad.functions.pointwise import addcmul as addcmul
from minigrad.functions.pointwise import clamp as clamp
from minigrad.functions.pointwise import clip as clip
from minigrad.functions.pointwise import clone as clone
from minigrad.functions.pointwise import div as div
from minigrad.functions.pointwise import divide as divide
from minigrad.functions.pointwise import float_power as float_power
from minigrad.functions.pointwise import frexp as frexp
from minigrad.functions.pointwise import lerp as lerp
from minigrad.functions.pointwise import log_softmax as log_softmax
from minigrad.functions.pointwise import logaddexp2 as logaddexp2
from minigrad.functions.pointwise import logit as logit
from minigrad.functions.pointwise import nan_to_num as nan_to_num
from minigrad.functions.pointwise import neg as neg
from minigrad.functions.pointwise import negative as negative
from minigrad.functions.pointwise import round as round
from minigrad.functions.pointwise import rsub as rsub
from minigrad.functions.pointwise import sgn as sgn
from minigrad.functions.pointwise import sign as sign
from minigrad.functions.pointwise import softmax as softmax
from minigrad.functions.pointwise import sub as sub
from minigrad.functions.pointwise import subtract as subtract
from minigrad.functions.pointwise import where as where
from minigrad.functions.random import bernoulli as bernoulli
from minigrad.functions.random import get_rng_state as get_rng_state
from minigrad.functions.random import multinomial as multinomial
from minigrad.functions.random import normal as normal
from minigrad.functions.random import poisson as poisson
from minigrad.functions.random import set_rng_state as set_rng_state
from minigrad.functions.reduction import count_nonzero as count_nonzero
from minigrad.functions.reduction import cumprod as cumprod
from minigrad.functions.reduction import cumsum as cumsum
from minigrad.functions.reduction import cumulative_trapezoid as cumulative_trapezoid
from minigrad.functions.reduction import logsumexp as logsumexp
from minigrad.functions.reduction import max as max
from minigrad.functions.reduction import mean as mean
from minigrad.functions.reduction import min as min
from minigrad.functions.reduction import norm as norm
from minigrad.functions.reduction import prod as prod
from minigrad.functions.reduction import renorm as renorm
from minigrad.functions.reduction import sum as sum
from minigrad.functions.reduction import trapezoid as trapezoid
from minigrad.functions.shaping import as_strided as as_strided
from minigrad.functions.shaping import as_strided_scatter as as_strided_scatter
from minigrad.functions.shaping import block_diag as block_diag
from minigrad.functions.shaping import broadcast_shapes as broadcast_shapes
from minigrad.functions.shaping import broadcast_tensors as broadcast_tensors
from minigrad.functions.shaping import cartesian_prod as cartesian_prod
from minigrad.functions.shaping import cat as cat
from minigrad.functions.shaping import chunk as chunk
from minigrad.functions.shaping import combinations as combinations
from minigrad.functions.shaping import concat as concat
from minigrad.functions.shaping import concatenate as concatenate
from minigrad.functions.shaping import diag as diag
from minigrad.functions.shaping import diag_embed as diag_embed
from minigrad.functions.shaping import diagonal as diagonal
from minigrad.functions.shaping import diff as diff
from minigrad.functions.shaping import flatten as flatten
from minigrad.functions.shaping import flip as flip
from minigrad.functions.shaping import flipud as flipud
from minigrad.functions.shaping import gradient as gradient
from minigrad.functions.shaping import hstack as hstack
from minigrad.functions.shaping import meshgrid as meshgrid
from minigrad.functions.shaping import moveaxis as moveaxis
from minigrad.functions.shaping import movedim as movedim
from minigrad.functions.shaping import narrow as narrow
from minigrad.functions.shaping import permute as permute
from minigrad.functions.shaping import repeat_interleave as repeat_interleave
from minigrad.functions.shaping import reshape as reshape
from minigrad.functions.shaping import roll as roll
from minigrad.functions.shaping import rot90 as rot90
from minigrad.functions.shaping import row_stack as row_stack
from minigrad.functions.shaping import select as select
from minigrad.functions.shaping import select_scatter as select_scatter
from minigrad.functions.shaping import slice_scatter as slice_scatter
from minigrad.functions.shaping import split as split
from minigrad.functions.shaping import split_with_sizes as split_with_sizes
from minigrad.functions.shaping import squeeze as squeeze
from minigrad.functions.shaping import stack as stack
from minigrad.functions.shaping import swapaxes as swapaxes
from minigrad.functions.shaping import swapdims as swapdims
from minigrad.functions.shaping import t as t
from minigrad.functions.shaping import tensor_split as tensor_split
from minigrad.functions.shaping import tile as tile
from minigrad.functions.shaping import trace as trace
from minigrad.functions.shaping import transpose as transpose
from minigrad.functions.shaping import unbind as unbind
from minigrad.functions.shaping import unflatten as unflatten
from minigrad.functions.shaping import unsafe_chunk as unsafe_chunk
from minigrad.functions.shaping import unsafe_split as unsafe_split
from minigrad.functions.shaping import unsafe_split_with_sizes as unsafe_split_with_sizes
from minigrad.functions.shaping import unsqueeze as unsqueeze
from minigrad.functions.shaping import vstack as vstack
from minigrad.functions.typed import set_default_tensor_type as set_default_tensor_type
from minigrad.functions.typed import typename as typename
from minigrad.tensor import Tensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "alias_copy",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_strided_copy",
    "as_strided_scatter",
    "as_tensor",
    "asarray",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "baddbmm",
    "bartlett_window",
    "bernoulli",
    "bincount",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "cartesian_prod",
    "cat",
    "cdist",
    "ceil",
    "chain_matmul",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "column_stack",
    "combinations",
    "complex",
    "concat",
    "concatenate",
    "conj",
    "conj_physical",
    "copysign",
    "corrcoef",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "deg2rad",
    "det",
    "detach",
    "detach_copy",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_copy",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dist",
    "div",
    "divide",
    "dot",
    "dsplit",
    "dstack",
    "einsum",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand_copy",
    "expm1",
    "eye",
    "fill",
    "fix",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frexp",
    "from_file",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "gather",
    "gcd",
    "ge",
    "geqrf",
    "ger",
    "get_device",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "gt",
    "hamming_window",
    "hann_window",
    "heaviside",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "igamma",
    "igammac",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "initial_seed",
    "inner",
    "inverse",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "kaiser_window",
    "kron",
    "kthvalue",
    "lcm",
    "ldexp",
    "le",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logspace",
    "logsumexp",
    "lt",
    "lu",
    "lu_solve",
    "lu_unpack",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "movedim",
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "ne",
    "neg",
    "negative",
    "nextafter",
    "nonzero",
    "nonzero_static",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "orgqr",
    "ormqr",
    "outer",
    "pca_lowrank",
    "pdist",
    "permute",
    "permute_copy",
    "pinverse",
    "poisson",
    "polar",
    "polygamma",
    "positive",
    "pow",
    "prod",
    "put",
    "qr",
    "quantile",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "range",
    "ravel",
    "real",
    "reciprocal",
    "relu",
    "remainder",
    "renorm",
    "repeat_interleave",
    "reshape",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "roll",
    "rot90",
    "round",
    "row_stack",
    "rsqrt",
    "rsub",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "select",
    "select_copy",
    "select_scatter",
    "set_default_tensor_type",
    "set_rng_state",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "split",
    "split_copy",
    "split_with_sizes",
    "split_with_sizes_copy",
    "sqrt",
    "square",
    "squeeze",
    "squeeze_copy",
    "stack",
    "std",
    "std_mean",
    "stft",
    "sub",
    "subtract",
    "sum",
    "svd",
    "svd_lowrank",
    "swapaxes",
    "swapdims",
    "t",
    "t_copy",
    "take",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor",
    "tensor_split",
    "tensordot",
    "tile",
    "topk",
    "trace",
    "transpose",
    "transpose_copy",
    "trapezoid",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "typename",
    "unbind",
    "unbind_copy",
    "unflatten",
    "unfold_copy",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_copy",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "view_as_complex",
    "view_as_complex_copy",
    "view_as_real",
    "view_as_real_copy",
    "view_copy",
    "vsplit",
    "vstack",
    "where",
    "xlogy",
    "zeros",
    "zeros_like",
    "Event",
    "Future",
    "OutOfMemoryError",
    "ScriptFunction",
    "ScriptModule",
    "StorageBase",
    "Stream",
    "SymBool",
    "SymFloat",
    "SymInt",
    "TensorType",
    "TypedStorage",
    "UntypedStorage",
    "abs_",
    "accelerator",
    "acos_",
    "acosh_",
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "addmv_",
    "adjoint",
    "affine_grid_generator",
    "amp",
    "ao",
    "arccos_",
    "arccosh_",
    "arcsin_",
    "arcsinh_",
    "arctan_",
    "arctanh_",
    "are_deterministic_algorithms_enabled",
    "asin_",
    "asinh_",
    "atan_",
    "atanh_",
    "autocast",
    "avg_pool1d",
    "backends",
    "bilinear",
    "cdouble",
    "ceil_",
    "celu",
    "celu_",
    "cfloat",
    "chalf",
    "channel_shuffle",
    "clamp_",
    "clamp_max_",
    "clamp_min_",
    "classes",
    "clear_autocast_cache",
    "clip_",
    "compile",
    "compiler",
    "complex32",
    "cond",
    "constant_pad_nd",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cos_",
    "cosh_",
    "cosine_similarity",
    "cpu",
    "deg2rad_",
    "detach_",
    "distributions",
    "dsmm",
    "erf_",
    "erfc_",
    "exp2_",
    "exp_",
    "expm1_",
    "export",
    "fft",
    "fill_",
    "fix_",
    "floor_",
    "frac_",
    "from_dlpack",
    "func",
    "functional",
    "functorch",
    "futures",
    "fx",
    "gcd_",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "group_norm",
    "hardshrink",
    "hub",
    "i0_",
    "index_put_",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "jagged",
    "jit",
    "layer_norm",
    "lcm_",
    "ldexp_",
    "legacy_contiguous_format",
    "library",
    "linalg",
    "lobpcg",
    "log10_",
    "log1p_",
    "log2_",
    "log_",
    "logit_",
    "masked",
    "matrix_rank",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "monitor",
    "mps",
    "mtia",
    "multiprocessing",
    "nan_to_num_",
    "native_batch_norm",
    "native_channel_shuffle",
    "native_group_norm",
    "native_layer_norm",
    "neg_",
    "negative_",
    "nested",
    "onnx",
    "overrides",
    "package",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "qint32",
    "qint8",
    "quantization",
    "quasirandom",
    "rad2deg_",
    "random",
    "reciprocal_",
    "relu_",
    "resize_as_",
    "return_types",
    "rms_norm",
    "round_",
    "rrelu",
    "rrelu_",
    "rsqrt_",
    "run",
    "segment_reduce",
    "selu",
    "selu_",
    "set_anomaly_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "sigmoid_",
    "signal",
    "sin_",
    "sinc_",
    "sinh_",
    "special",
    "sqrt_",
    "square_",
    "storage",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sum",
    "tan_",
    "tanh_",
    "testing",
    "threshold",
    "threshold_",
    "torch",
    "torch_version",
    "trapz",
    "trunc_",
    "types",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
    "use_deterministic_algorithms",
    "version",
    "vmap",
    "while_loop",
    "xlogy_",
    "xpu",
    "zero_",
]

def BFloat16Tensor(*data: Any, device: Any = None) -> Any:
    """Create bfloat16 tensors on the CPU from sizes or values."""

def BoolTensor(*data: Any, device: Any = None) -> Any:
    """Create bool tensors on the CPU from sizes or values."""

def ByteTensor(*data: Any, device: Any = None) -> Any:
    """Create uint8 tensors on the CPU from sizes or values."""

def CharTensor(*data: Any, device: Any = None) -> Any:
    """Create int8 tensors on the CPU from sizes or values."""

def DoubleTensor(*data: Any, device: Any = None) -> Any:
    """Create float64 tensors on the CPU from sizes or values."""

def FloatTensor(*data: Any, device: Any = None) -> Any:
    """Create float32 tensors on the CPU from sizes or values."""

def HalfTensor(*data: Any, device: Any = None) -> Any:
    """Create float16 tensors on the CPU from sizes or values."""

def IntTensor(*data: Any, device: Any = None) -> Any:
    """Create int32 tensors on the CPU from sizes or values."""

def LongTensor(*data: Any, device: Any = None) -> Any:
    """Create int64 tensors on the CPU from sizes or values."""

def ShortTensor(*data: Any, device: Any = None) -> Any:
    """Create int16 tensors on the CPU from sizes or values."""

def abs(input: Tensor) -> Tensor:
    """|x|; the gradient at 0 is 0, elementwise."""

def absolute(input: Tensor) -> Tensor:
    """|x|; the gradient at 0 is 0, elementwise."""

def acos(input: Tensor) -> Tensor:
    """arccos x, elementwise."""

def acosh(input: Tensor) -> Tensor:
    """arcosh x, elementwise."""

def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether no element over ``dim`` is 0, as bool (uint8 for uint8)."""

def amax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The largest element over ``dim``. Unlike in ``max``, ties share the gradient. For a NaN result, it is NaN."""

def amin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The smallest element over ``dim``. Unlike in ``min``, ties share the gradient. For a NaN result, it is NaN."""

def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether any element over ``dim`` is not 0, as bool (uint8 for uint8)."""

def arange(
    *bounds: Any,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` up to but excluding ``end``. They are int64 unless one of the arguments is a float."""

def arccos(input: Tensor) -> Tensor:
    """arccos x, elementwise."""

def arccosh(input: Tensor) -> Tensor:
    """arcosh x, elementwise."""

def arcsin(input: Tensor) -> Tensor:
    """arcsin x, elementwise."""

def arcsinh(input: Tensor) -> Tensor:
    """arsinh x, elementwise."""

def arctan(input: Tensor) -> Tensor:
    """arctan x, elementwise."""

def arctan2(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """The angle of the point (b, a), elementwise; the operands broadcast."""

def arctanh(input: Tensor) -> Tensor:
    """artanh x, elementwise."""

def argmax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the largest element along ``dim``, or in the flattened tensor if None."""

def argmin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the smallest element along ``dim``, or in the flattened tensor if None."""

def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements, as an (N, ndim) tensor."""

def as_strided_copy(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """Like ``as_strided``, but returns a copy."""

def asin(input: Tensor) -> Tensor:
    """arcsin x, elementwise."""

def asinh(input: Tensor) -> Tensor:
    """arsinh x, elementwise."""

def atan(input: Tensor) -> Tensor:
    """arctan x, elementwise."""

def atan2(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """The angle of the point (b, a), elementwise; the operands broadcast."""

def atanh(input: Tensor) -> Tensor:
    """artanh x, elementwise."""

def atleast_1d(*tensors: Any) -> Any:
    """Convert 0-d tensors to vectors."""

def atleast_2d(*tensors: Any) -> Any:
    """Add leading axes to tensors with fewer than two."""

def atleast_3d(*tensors: Any) -> Any:
    """Add axes to tensors with fewer than three: a vector becomes (1, N, 1), and a matrix (M, N, 1)."""

def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle, (window_length,)."""

def bitwise_and(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a & b, bit by bit (logical and of bools), elementwise; the operands broadcast."""

def bitwise_left_shift(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a · 2ᵇ for integers, elementwise; the operands broadcast."""

def bitwise_not(input: Tensor) -> Tensor:
    """~x, bit by bit (logical not of bools), elementwise."""

def bitwise_or(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a | b, bit by bit, elementwise; the operands broadcast."""

def bitwise_right_shift(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """⌊a / 2ᵇ⌋ for integers, elementwise; the operands broadcast."""

def bitwise_xor(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ^ b, bit by bit, elementwise; the operands broadcast."""

def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """0.42 - 0.5 cos 2πt + 0.08 cos 4πt, (window_length,)."""

def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Like ``expand``, with the shape as one argument."""

def ceil(input: Tensor) -> Tensor:
    """⌈x⌉, elementwise."""

def clamp_max(input: Tensor, max: Scalar) -> Tensor:
    """input clamped to at most ``max``."""

def clamp_min(input: Tensor, min: Scalar) -> Tensor:
    """input clamped to at least ``min``."""

def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along axis 1. Vectors are treated as columns."""

def conj_physical(input: Tensor) -> Tensor:
    """The same as ``conj``, which is never lazy."""

def copysign(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """|a| with the sign of b, where -0.0 counts as negative, elementwise; the operands broadcast."""

def cos(input: Tensor) -> Tensor:
    """cos x, elementwise."""

def cosh(input: Tensor) -> Tensor:
    """cosh x, elementwise."""

def deg2rad(input: Tensor) -> Tensor:
    """Convert degrees to radians."""

def detach_copy(input: Tensor) -> Tensor:
    """Like ``detach``, but returns a copy."""

def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with these diagonal elements."""

def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Like ``diagonal``, but returns a copy."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with its diagonal set to ``src``."""

def digamma(input: Tensor) -> Tensor:
    """The derivative of ln Γ(x), elementwise."""

def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along axis 2."""

def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along axis 2, after ``atleast_3d``."""

def empty(*size: Any, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, **size_kw: Any) -> Tensor:
    """An uninitialized tensor with this shape."""

def empty_like(
    input: Tensor,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Uninitialized elements with the shape and, by default, the dtype and device of another tensor."""

def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """An uninitialized tensor with these strides (in elements)."""

def eq(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a = b, elementwise; the operands broadcast."""

def erf(input: Tensor) -> Tensor:
    """2/√π ∫₀ˣ exp(-t²) dt, elementwise."""

def erfc(input: Tensor) -> Tensor:
    """1 - erf x, precise even where the result is tiny, elementwise."""

def erfinv(input: Tensor) -> Tensor:
    """The inverse of erf, elementwise."""

def exp(input: Tensor) -> Tensor:
    """eˣ, elementwise."""

def exp2(input: Tensor) -> Tensor:
    """2ˣ, elementwise."""

def expand_copy(input: Tensor, *shape: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Like ``expand``, but returns a copy."""

def expm1(input: Tensor) -> Tensor:
    """eˣ - 1, accurate near 0, elementwise."""

def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """An n by m matrix with ones on the diagonal."""

def fill(input: Tensor, value: Any) -> Tensor:
    """A copy of the input filled with ``value``. The gradient of ``value`` is the sum of the elements' gradients."""

def fix(input: Tensor) -> Tensor:
    """x without its fractional part, elementwise."""

def fliplr(input: Tensor) -> Tensor:
    """The tensor reversed along axis 1."""

def floor(input: Tensor) -> Tensor:
    """⌊x⌋, elementwise."""

def floor_divide(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """⌊a / b⌋, constant almost everywhere, elementwise; the operands broadcast."""

def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The maximum, ignoring NaN."""

def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The minimum, ignoring NaN."""

def fmod(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a - trunc(a / b) b, with the sign of a, elementwise; the operands broadcast."""

def frac(input: Tensor) -> Tensor:
    """The fractional part, input - trunc(input)."""

def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A vector of ``size`` elements in a memory-mapped file. Changes are written to the file if ``shared`` is True."""

def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of shape ``size`` filled with one number. By default, it has the number's dtype."""

def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor filled with one number, with the shape (and by default the dtype and device) of another tensor."""

def gcd(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """The greatest common divisor of integers, elementwise; the operands broadcast."""

def ge(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ≥ b, elementwise; the operands broadcast."""

def greater(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a > b, elementwise; the operands broadcast."""

def greater_equal(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ≥ b, elementwise; the operands broadcast."""

def gt(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a > b, elementwise; the operands broadcast."""

def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - beta cos 2πt, (window_length,)."""

def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """(1 - cos 2πt) / 2, (window_length,)."""

def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where input < 0, 1 where input > 0, and ``values`` where input is 0. NaN becomes 0, as in PyTorch."""

def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along axis 1, or axis 0 for vectors."""

def hypot(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """√(a² + b²), without overflow, elementwise; the operands broadcast."""

def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0, elementwise."""

def igamma(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a), elementwise; the operands broadcast."""

def igammac(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """∫ tᵃ⁻¹ e⁻ᵗ dt / Γ(a) from x to ∞, elementwise; the operands broadcast."""

def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with out[indices] = values. With ``accumulate``, adds the values, even at repeated indices."""

def initial_seed() -> int:
    """The initial seed of the default generator."""

def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""

def is_conj(input: Tensor) -> bool:
    """Always False, as conjugation is never lazy."""

def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""

def is_inference(input: Tensor) -> bool:
    """Always False, as inference mode creates ordinary tensors."""

def is_nonzero(input: Tensor) -> bool:
    """Whether the tensor's only element is not 0."""

def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""

def is_signed(input: Tensor) -> bool:
    """Whether the dtype is signed."""

def isfinite(input: Tensor) -> Tensor:
    """x is finite: not NaN and not infinite, elementwise."""

def isinf(input: Tensor) -> Tensor:
    """x is infinite, elementwise."""

def isnan(input: Tensor) -> Tensor:
    """x is NaN, elementwise."""

def isneginf(input: Tensor) -> Tensor:
    """Whether each element is -inf."""

def isposinf(input: Tensor) -> Tensor:
    """Whether each element is +inf."""

def isreal(input: Tensor) -> Tensor:
    """Whether each element is real, that is, has imaginary part 0."""

def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """I₀(beta √(1 - (2t - 1)²)) / I₀(beta), (window_length,)."""

def lcm(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """The least common multiple of integers, elementwise; the operands broadcast."""

def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input · 2ᵒᵗʰᵉʳ."""

def le(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ≤ b, elementwise; the operands broadcast."""

def less(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a < b, elementwise; the operands broadcast."""

def less_equal(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ≤ b, elementwise; the operands broadcast."""

def lgamma(input: Tensor) -> Tensor:
    """ln |Γ(x)|, elementwise."""

def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included. For an integer dtype, both bounds
    are truncated first. Raises NotImplementedError for bool."""

def log(input: Tensor) -> Tensor:
    """ln x, elementwise."""

def log10(input: Tensor) -> Tensor:
    """log₁₀ x, elementwise."""

def log1p(input: Tensor) -> Tensor:
    """ln(1 + x), accurate near 0, elementwise."""

def log2(input: Tensor) -> Tensor:
    """log₂ x, elementwise."""

def logaddexp(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """ln(eᵃ + eᵇ), without overflow, elementwise; the operands broadcast."""

def logical_and(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """Both are nonzero, elementwise; the operands broadcast."""

def logical_not(input: Tensor) -> Tensor:
    """x is 0, elementwise."""

def logical_or(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """At least one is nonzero, elementwise; the operands broadcast."""

def logical_xor(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """Exactly one is nonzero, elementwise; the operands broadcast."""

def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` raised to the power of each number that ``linspace`` returns."""

def lt(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a < b, elementwise; the operands broadcast."""

def maximum(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """max(a, b); equal operands share the gradient, elementwise; the operands broadcast."""

def minimum(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """min(a, b); equal operands share the gradient, elementwise; the operands broadcast."""

def mul(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a b, elementwise; the operands broadcast."""

def multiply(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a b, elementwise; the operands broadcast."""

def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``narrow``, copied."""

def ne(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ≠ b, elementwise; the operands broadcast."""

def nextafter(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """The next representable number after a, towards b, elementwise; the operands broadcast."""

def not_equal(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ≠ b, elementwise; the operands broadcast."""

def ones(*size: Any, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, **size_kw: Any) -> Tensor:
    """A tensor of ones with this shape."""

def ones_like(
    input: Tensor,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones with the shape and, by default, the dtype and device of another tensor."""

def permute_copy(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """Like ``permute``, but returns a copy."""

def positive(input: Tensor) -> Tensor:
    """The tensor itself."""

def pow(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """aᵇ, elementwise; the operands broadcast."""

def rad2deg(input: Tensor) -> Tensor:
    """Convert radians to degrees."""

def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **size_kw: Any,
) -> Tensor:
    """Uniform numbers in [0, 1)."""

def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Uniform numbers with the shape and, by default, the dtype and device of a tensor."""

def randint(
    *bounds: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Random integers in [low, high): ``randint(low, high, size)``. ``randint(high, size)`` starts at 0."""

def randint_like(
    input: Tensor,
    *bounds: int,
    low: int = 0,
    high: int | None = None,
    generator: Generator | None = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Random integers in [low, high) with the shape (and by default the dtype and device) of a tensor."""

def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **size_kw: Any,
) -> Tensor:
    """Standard normal numbers."""

def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Normal numbers with the shape and, by default, the dtype and device of a tensor."""

def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A random permutation of the integers from 0 to n - 1."""

def range(
    start: float = 0,
    end: float = 0,
    step: float = 1,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Floats from ``start`` up to and including ``end``. This is PyTorch's predecessor of ``arange``."""

def ravel(input: Tensor) -> Tensor:
    """All elements as a vector."""

def reciprocal(input: Tensor) -> Tensor:
    """1 / x, elementwise."""

def relu(input: Tensor) -> Tensor:
    """max(x, 0); the gradient at 0 is 0, elementwise."""

def remainder(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a - ⌊a / b⌋ b, with the sign of b, elementwise; the operands broadcast."""

def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, as conjugation is never lazy."""

def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, as negation is never lazy."""

def rsqrt(input: Tensor) -> Tensor:
    """1 / √x, elementwise."""

def scalar_tensor(
    s: Any,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor that contains a number. It has the default dtype unless ``dtype`` is passed."""

def seed() -> int:
    """Seed the default generator randomly and return the seed."""

def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    """Like ``select``, but returns a copy."""

def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e⁻ˣ), computed as eˣ far below 0, where e⁻ˣ overflows, elementwise."""

def signbit(input: Tensor) -> Tensor:
    """Whether each element has a minus sign, including -0.0."""

def sin(input: Tensor) -> Tensor:
    """sin x, elementwise."""

def sinc(input: Tensor) -> Tensor:
    """sin(πx) / (πx), 1 at 0, elementwise."""

def sinh(input: Tensor) -> Tensor:
    """sinh x, elementwise."""

def split_copy(input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Like ``split``, but returns a copy."""

def split_with_sizes_copy(
    input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Like ``split_with_sizes``, but returns a copy."""

def sqrt(input: Tensor) -> Tensor:
    """√x, elementwise."""

def square(input: Tensor) -> Tensor:
    """x²; int64 for bools, elementwise."""

def squeeze_copy(input: Tensor, dim: Any = None, *dims: int) -> Tensor:
    """Like ``squeeze``, but returns a copy."""

def std(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The standard deviation over ``dim``: the square root of ``var``."""

def t_copy(input: Tensor) -> Tensor:
    """Like ``t``, but returns a copy."""

def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at these indices of the flattened tensor."""

def tan(input: Tensor) -> Tensor:
    """tan x, elementwise."""

def tanh(input: Tensor) -> Tensor:
    """tanh x, elementwise."""

def transpose_copy(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Like ``transpose``, but returns a copy."""

def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of the last two axes, up to and including diagonal number ``diagonal`` (0 is the main one)."""

def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The indices of the lower triangle of a (row, col) matrix, as a (2, N) tensor."""

def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of the last two axes, starting with diagonal number ``diagonal``."""

def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The indices of the upper triangle of a (row, col) matrix, as a (2, N) tensor."""

def true_divide(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a / b, elementwise; the operands broadcast."""

def trunc(input: Tensor) -> Tensor:
    """x without its fractional part, elementwise."""

def unbind_copy(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Like ``unbind``, but returns a copy."""

def unfold_copy(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Like ``unfold``, but returns a copy."""

def unsqueeze_copy(input: Tensor, dim: int) -> Tensor:
    """Like ``unsqueeze``, but returns a copy."""

def var(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The variance over ``dim``, with divisor n - correction (by default n - 1)."""

def view_as_complex_copy(input: Tensor) -> Tensor:
    """Like ``view_as_complex``, but returns a copy."""

def view_as_real_copy(input: Tensor) -> Tensor:
    """Like ``view_as_real``, but returns a copy."""

def view_copy(input: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """Like ``view``, but returns a copy."""

def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along axis 0."""

def xlogy(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """a ln b, 0 where a = 0 unless b is NaN, elementwise; the operands broadcast."""

def zeros(*size: Any, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, **size_kw: Any) -> Tensor:
    """A tensor of zeros with this shape."""

def zeros_like(
    input: Tensor,
    *,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros with the shape and, by default, the dtype and device of another tensor."""

# Other spellings, which minigrad.compat supplies

Event: Any
Future: Any
OutOfMemoryError: Any
ScriptFunction: Any
ScriptModule: Any
StorageBase: Any
Stream: Any
SymBool: Any
SymFloat: Any
SymInt: Any
TensorType: Any
TypedStorage: Any
UntypedStorage: Any
abs_: Any
accelerator: Any
acos_: Any
acosh_: Any
adaptive_avg_pool1d: Any
adaptive_max_pool1d: Any
addmv_: Any
adjoint: Any
affine_grid_generator: Any
amp: Any
ao: Any
arccos_: Any
arccosh_: Any
arcsin_: Any
arcsinh_: Any
arctan_: Any
arctanh_: Any
are_deterministic_algorithms_enabled: Any
asin_: Any
asinh_: Any
atan_: Any
atanh_: Any
autocast: Any
avg_pool1d: Any
backends: Any
bilinear: Any
cdouble: Any
ceil_: Any
celu: Any
celu_: Any
cfloat: Any
chalf: Any
channel_shuffle: Any
clamp_: Any
clamp_max_: Any
clamp_min_: Any
classes: Any
clear_autocast_cache: Any
clip_: Any
compile: Any
compiler: Any
complex32: Any
cond: Any
constant_pad_nd: Any
conv1d: Any
conv2d: Any
conv3d: Any
conv_transpose1d: Any
conv_transpose2d: Any
conv_transpose3d: Any
cos_: Any
cosh_: Any
cosine_similarity: Any
cpu: Any
deg2rad_: Any
detach_: Any
distributions: Any
dsmm: Any
erf_: Any
erfc_: Any
exp2_: Any
exp_: Any
expm1_: Any
export: Any
fft: Any
fill_: Any
fix_: Any
floor_: Any
frac_: Any
from_dlpack: Any
func: Any
functional: Any
functorch: Any
futures: Any
fx: Any
gcd_: Any
get_autocast_cpu_dtype: Any
get_autocast_dtype: Any
get_autocast_gpu_dtype: Any
get_deterministic_debug_mode: Any
get_device_module: Any
get_float32_matmul_precision: Any
get_num_interop_threads: Any
grid_sampler: Any
grid_sampler_2d: Any
grid_sampler_3d: Any
group_norm: Any
hardshrink: Any
hub: Any
i0_: Any
index_put_: Any
is_anomaly_check_nan_enabled: Any
is_anomaly_enabled: Any
is_autocast_cache_enabled: Any
is_autocast_cpu_enabled: Any
is_autocast_enabled: Any
is_deterministic_algorithms_warn_only_enabled: Any
jagged: Any
jit: Any
layer_norm: Any
lcm_: Any
ldexp_: Any
legacy_contiguous_format: Any
library: Any
linalg: Any
lobpcg: Any
log10_: Any
log1p_: Any
log2_: Any
log_: Any
logit_: Any
masked: Any
matrix_rank: Any
max_pool1d: Any
max_pool2d: Any
max_pool3d: Any
monitor: Any
mps: Any
mtia: Any
multiprocessing: Any
nan_to_num_: Any
native_batch_norm: Any
native_channel_shuffle: Any
native_group_norm: Any
native_layer_norm: Any
neg_: Any
negative_: Any
nested: Any
onnx: Any
overrides: Any
package: Any
pairwise_distance: Any
pixel_shuffle: Any
pixel_unshuffle: Any
prelu: Any
qint32: Any
qint8: Any
quantization: Any
quasirandom: Any
rad2deg_: Any
random: Any
reciprocal_: Any
relu_: Any
resize_as_: Any
return_types: Any
rms_norm: Any
round_: Any
rrelu: Any
rrelu_: Any
rsqrt_: Any
run: Any
segment_reduce: Any
selu: Any
selu_: Any
set_anomaly_enabled: Any
set_autocast_cache_enabled: Any
set_autocast_dtype: Any
set_autocast_enabled: Any
set_float32_matmul_precision: Any
set_num_interop_threads: Any
sigmoid_: Any
signal: Any
sin_: Any
sinc_: Any
sinh_: Any
special: Any
sqrt_: Any
square_: Any
storage: Any
sym_float: Any
sym_int: Any
sym_ite: Any
sym_max: Any
sym_min: Any
sym_not: Any
sym_sum: Any
tan_: Any
tanh_: Any
testing: Any
threshold: Any
threshold_: Any
torch: Any
torch_version: Any
trapz: Any
trunc_: Any
types: Any
uint1: Any
uint2: Any
uint3: Any
uint4: Any
uint5: Any
uint6: Any
uint7: Any
use_deterministic_algorithms: Any
version: Any
vmap: Any
while_loop: Any
xlogy_: Any
xpu: Any
zero_: Any
