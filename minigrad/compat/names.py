"""The one table of names and paths that are only another spelling of something, and how they are looked up.

A *source* is a module below minigrad ("" is minigrad itself), or "module:name" for something in one. The left
column is PyTorch's spelling, without "torch.".
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from types import ModuleType
from typing import Any

from ..missing import MissingName

Sources = str | tuple[str, ...]

# Paths. An alias of several modules looks a name up in one after the other.
MODULES: dict[str, Sources] = {
    # Parts whose files are elsewhere
    "_C": "compat.core",
    "accelerator": "compat.accelerator",
    "amp": "compat.amp",
    "amp.autocast_mode": "compat.amp",
    "amp.grad_scaler": "compat.amp",
    "backends": "compat.backends",
    "backends.cpu": "compat.backends:cpu",
    "backends.cuda": "compat.backends:cuda",
    "backends.cudnn": "compat.backends:cudnn",
    "backends.mkl": "compat.backends:mkl",
    "backends.mkldnn": "compat.backends:mkldnn",
    "backends.mps": "compat.backends:mps",
    "backends.openmp": "compat.backends:openmp",
    "backends.opt_einsum": "compat.backends:opt_einsum",
    "compiler": "compat.compiler",
    "cpu": "compat.devices:cpu",
    "cpu.amp": ("compat.amp",),
    "cuda.amp": ("compat.amp",),
    "cuda.amp.autocast_mode": ("cuda.amp",),
    "cuda.amp.grad_scaler": ("cuda.amp",),
    "cuda.memory": "cuda",
    "cuda.random": "cuda",
    "distributed": "compat.distributed",
    "distributed.distributed_c10d": "compat.distributed",
    "_dynamo": "compat.compiler",
    "export": "compat.export",
    "fx": "compat.fx",
    "hub": "compat.hub",
    "jit": "compat.jit",
    "mps": "compat.devices:mps",
    "multiprocessing": "compat.multiprocessing",
    "onnx": "compat.onnx",
    "testing": "compat.testing",
    "types": "compat.types",
    "xpu": "compat.devices:xpu",
    # Files by other names
    "_tensor": ("tensor", ""),
    "functional": ("",),
    "return_types": "functions.return_types",
    "random": ("functions.random", "functions.creation", "backend.random", ""),
    "torch_version": "version",
    "autograd.anomaly_mode": ("autograd.anomaly", "autograd"),
    "autograd.grad_mode": ("autograd.mode", "autograd"),
    "autograd.profiler": "compat.profiler",
    "autograd.profiler_util": "compat.profiler",
    "autograd.variable": "compat.variable",
    "nn.common_types": "compat.types",
    "nn.modules": ("nn",),
    "nn.modules.activation": ("nn.activation", "nn"),
    "nn.modules.adaptive": ("nn.loss", "nn"),
    "nn.modules.batchnorm": ("nn.batchnorm", "nn"),
    "nn.modules.container": ("nn.containers", "nn"),
    "nn.modules.conv": ("nn.convolution", "nn"),
    "nn.modules.distance": ("nn.distance", "nn"),
    "nn.modules.dropout": ("nn.dropout", "nn"),
    "nn.modules.flatten": ("nn.shaping", "nn"),
    "nn.modules.fold": ("nn.shaping", "nn"),
    "nn.modules.instancenorm": ("nn.batchnorm", "nn"),
    "nn.modules.linear": ("nn.linear", "nn"),
    "nn.modules.loss": ("nn.loss", "nn"),
    "nn.modules.module": ("nn.module", "nn"),
    "nn.modules.normalization": ("nn.normalization", "nn"),
    "nn.modules.padding": ("nn.padding", "nn"),
    "nn.modules.pixelshuffle": ("nn.shaping", "nn"),
    "nn.modules.pooling": ("nn.pooling", "nn"),
    "nn.modules.rnn": ("nn.recurrent", "nn"),
    "nn.modules.sparse": ("nn.embedding", "nn"),
    "nn.modules.transformer": ("nn.transformer", "nn"),
    "nn.modules.upsampling": ("nn.shaping", "nn"),
    "nn.modules.utils": "compat.types",
    "nn._functions": ("nn.parallel",),
    "optim.adamw": "optim.adam",
    "utils.hooks": ("nn.hooks", "tensor"),
}

# Functions of torch.nn.functional that torch has, too.
FUNCTIONAL = (
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "alpha_dropout",
    "avg_pool1d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "ctc_loss",
    "dropout",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "group_norm",
    "hardshrink",
    "hinge_embedding_loss",
    "instance_norm",
    "kl_div",
    "layer_norm",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
)

# Methods of Tensor that torch has as functions, too.
METHODS = (
    "abs_",
    "acos_",
    "acosh_",
    "addmv_",
    "arccos_",
    "arccosh_",
    "arcsin_",
    "arcsinh_",
    "arctan_",
    "arctanh_",
    "asin_",
    "asinh_",
    "atan_",
    "atanh_",
    "ceil_",
    "clamp_",
    "clamp_max_",
    "clamp_min_",
    "clip_",
    "cos_",
    "cosh_",
    "deg2rad_",
    "detach_",
    "erf_",
    "erfc_",
    "exp_",
    "exp2_",
    "expm1_",
    "fill_",
    "fix_",
    "floor_",
    "frac_",
    "gcd_",
    "i0_",
    "index_put_",
    "lcm_",
    "ldexp_",
    "log_",
    "log10_",
    "log1p_",
    "log2_",
    "logit_",
    "nan_to_num_",
    "neg_",
    "negative_",
    "rad2deg_",
    "reciprocal_",
    "resize_as_",
    "round_",
    "rsqrt_",
    "sigmoid_",
    "sin_",
    "sinc_",
    "sinh_",
    "sqrt_",
    "square_",
    "tan_",
    "tanh_",
    "trunc_",
    "xlogy_",
    "zero_",
    "adjoint",
    "resolve_neg",
)
_CUDA_TYPES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")

# Names in a module, by its path here.
NAMES: dict[str, dict[str, str]] = {
    "": {
        **{name: f"nn.functional:{name}" for name in FUNCTIONAL},
        **{name: f"tensor:Tensor.{name}" for name in METHODS},
        "Event": "compat.refused:Event",
        "OutOfMemoryError": "compat.devices:OutOfMemoryError",
        "Stream": "compat.refused:Stream",
        "are_deterministic_algorithms_enabled": "compat.backends:are_deterministic_algorithms_enabled",
        "autocast": "compat.amp:autocast",
        "cdouble": "backend.dtype:complex128",
        "cfloat": "backend.dtype:complex64",
        "compile": "compat.compiler:compile",
        "get_autocast_dtype": "compat.amp:get_autocast_dtype",
        "get_autocast_gpu_dtype": "compat.amp:get_autocast_gpu_dtype",
        "get_float32_matmul_precision": "compat.backends:get_float32_matmul_precision",
        "get_num_interop_threads": "compat.backends:get_num_interop_threads",
        "is_autocast_cache_enabled": "compat.amp:is_autocast_enabled",
        "is_autocast_cpu_enabled": "compat.amp:is_autocast_enabled",
        "is_autocast_enabled": "compat.amp:is_autocast_enabled",
        "is_deterministic_algorithms_warn_only_enabled": "compat.backends:is_warn_only",
        "set_float32_matmul_precision": "compat.backends:set_float32_matmul_precision",
        "set_num_interop_threads": "compat.backends:set_num_interop_threads",
        "use_deterministic_algorithms": "compat.backends:use_deterministic_algorithms",
        "matrix_rank": "linalg:matrix_rank",
        "trapz": "functions.reduction:trapezoid",
        "unsafe_chunk": "functions.shaping:chunk",
        "unsafe_split": "functions.shaping:split",
        "vmap": "func:vmap",
        "_log_softmax_backward_data": "compat.core:log_softmax_backward_data",
        "_softmax_backward_data": "compat.core:softmax_backward_data",
    },
    "autograd": {"Variable": "compat.variable:Variable"},
    "cuda": {
        **{f"{name}Tensor": f"functions.typed:cuda.{name}Tensor" for name in _CUDA_TYPES},
        "Event": "compat.refused:Event",
        "OutOfMemoryError": "compat.devices:OutOfMemoryError",
        "Stream": "compat.refused:Stream",
    },
    "cuda.amp": {"GradScaler": "compat.amp:CudaGradScaler", "autocast": "compat.amp:CudaAutocast"},
    "cpu.amp": {"GradScaler": "compat.amp:CpuGradScaler", "autocast": "compat.amp:CpuAutocast"},
    "nn": {
        "DataParallel": "nn.parallel:DataParallel",
        "DistributedDataParallel": "nn.parallel:DistributedDataParallel",
        "_Loss": "nn.loss:_Loss",
        "_WeightedLoss": "nn.loss:_WeightedLoss",
        "_get_clones": "nn.transformer:_get_clones",
        "data_parallel": "nn.parallel:data_parallel",
        "parallel_apply": "nn.parallel:parallel_apply",
    },
    "nn.functional": {"pdist": "functions.linalg:pdist"},
}


class AliasModule(ModuleType):
    """A module without names of its own: it looks them up in others.

    Args:
        name: what it is called, "minigrad.nn.modules.activation".
        sources: modules, first to last.
    """

    __path__: list[str] = []  # it may have further modules below it

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(name, f"Another spelling of {', '.join(map(_full, sources))}.")
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [found for found in dir(self) if not found.startswith("_")]
        if name.startswith("__"):
            raise MissingName(self.__name__, name)
        try:
            return find(self.__name__, name)
        except MissingName:
            for source in self._sources:
                if hasattr(resolve(source), name):
                    return getattr(resolve(source), name)
            raise

    def __dir__(self) -> list[str]:
        theirs = (name for source in self._sources for name in dir(resolve(source)))
        return sorted({*others(self.__name__), *theirs})


def find(place: str, name: str) -> Any:
    """What ``name`` in the module ``place`` is another spelling of.

    Raises:
        MissingName: it is none.
    """
    own = _own(place)
    if source := NAMES.get(own, {}).get(name):
        return resolve(source)
    path = f"{own}.{name}" if own else name
    if path in MODULES or _is_module(_full(path)):
        return import_module(_full(path))
    raise MissingName(place, name)


def _is_module(path: str) -> bool:
    try:
        return find_spec(path) is not None
    except ModuleNotFoundError:  # what it would stand in is no package
        return False


def load(module: str) -> ModuleType:
    """The module that a path of ``MODULES`` (written with "minigrad.") is another spelling of."""
    sources = MODULES[_own(module)]
    if isinstance(sources, tuple):
        return AliasModule(module, sources)
    found: ModuleType = resolve(sources)
    vars(found).setdefault("__path__", [])  # as a package it may have further paths below it
    return found


def resolve(source: str) -> Any:
    """The module, or what it holds, that a source of the table names."""
    path, _, name = source.partition(":")
    module = import_module(_full(path))
    return attrgetter(name)(module) if name else module


def others(place: str) -> list[str]:
    """Other spellings in the module ``place``, for ``dir``."""
    own = _own(place)
    paths = (path.rpartition(".") for path in MODULES)
    return sorted({*NAMES.get(own, {}), *(name for parent, _, name in paths if parent == own)})


@cache
def _spellings() -> dict[str, str]:
    """PyTorch's path for the modules of this folder."""
    rows = reversed(MODULES.items())  # the first of several counts
    return {f"minigrad.{source}": path for path, source in rows if str(source).startswith("compat.")}


def public(place: str, name: str = "") -> str:
    """PyTorch's full name of something in a module of minigrad."""
    path = _spellings().get(place, _own(place))
    return ".".join(part for part in ("torch", path, name) if part)


def _full(path: str) -> str:
    return f"minigrad.{path}" if path else "minigrad"


def _own(module: str) -> str:
    return module.partition("minigrad")[2].removeprefix(".")
