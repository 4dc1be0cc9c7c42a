"""The one table of names and paths that are another spelling of something, the look-up, and what an error says.

A *source* is a module below minigrad ("" is minigrad itself, "=typing" a module of Python), or "module:name" for
something in one. The left column is PyTorch's spelling, without "torch.".
"""

from __future__ import annotations

import difflib
import sys
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any

from ..backend import dtype
from ..extension import NO_FOLDER, PACKAGE, MissingName, ModuleWithoutFile
from ..tensor import Tensor
from . import backends, checks, foreach, library, moved, native
from .absent import AbsentModule, absent, instead, names_in, refusal
from .no_ops import no_ops

Sources = str | tuple[str, ...]


def _of(source: str, names: str) -> dict[str, str]:
    """Rows for names that are the same where they come from."""
    return {name: source + name for name in names.split()}


def _layers(files: str) -> dict[str, Sources]:
    """Rows for PyTorch's files of layers; ours follows a colon where it is called otherwise."""
    pairs = (file.partition(":") for file in files.split())
    return {f"nn.modules.{theirs}": (f"nn.{ours or theirs}", "nn") for theirs, _, ours in pairs}


def _optimisers(file: str, files: str) -> dict[str, Sources]:
    """Rows for PyTorch's files of optimisers that are in one of ours."""
    return {f"optim.{theirs}": f"compat.optim.{file}" for theirs in files.split()}


def _drawn(file: str, files: str) -> dict[str, Sources]:
    """Rows for PyTorch's files of distributions that are in one of ours."""
    return {f"distributions.{theirs}": f"compat.distributions.{file}" for theirs in files.split()}


# Paths. An alias of several modules looks a name up in one after the other; one of none has the tables' names alone.
MODULES: dict[str, Sources] = {
    # Modules without a file, and parts whose files are elsewhere
    **dict.fromkeys(("_C", "__config__", "accelerator", "autograd.variable", "compiler", "cpu", "export", "fx"), ()),
    **dict.fromkeys(("nn.utils._named_member_accessor", "utils._contextlib", "xpu"), ()),
    **dict.fromkeys(("_C._autograd", "_C._functions", "_C._functorch"), ()),
    **dict.fromkeys(("autograd.forward_ad", "jit", "mps", "onnx", "onnx.symbolic_helper"), ()),
    **{name: f"compat.{name}" for name in ("distributions", "func", "linalg", "masked", "signal", "special")},
    "fft": "compat.functions.fft",
    "run": "distributed.torchrun",
    "amp": ("compat.amp", "compat.autocast"),
    "amp.autocast_mode": "compat.autocast",
    "amp.grad_scaler": "compat.amp",
    "backends": "compat.backends",
    **{f"backends.{name}": f"compat.backends:{name}" for name in backends.__all__},
    "cpu.amp": ("compat.amp",),
    "cuda.amp": ("compat.amp",),
    "cuda.amp.autocast_mode": ("cuda.amp",),
    "cuda.amp.grad_scaler": ("cuda.amp",),
    "cuda.memory": "cuda",
    "cuda.random": "cuda",
    **dict.fromkeys((f"distributed.{file}" for file in ("constants", "distributed_c10d", "utils")), ("distributed",)),
    "distributed.nn": ("distributed.functional",),
    "distributed.nn.functional": "distributed.functional",
    "distributed.run": "distributed.launch",
    "distributed.optim.zero_redundancy_optimizer": "optim.zero_redundancy",
    "distributed.algorithms.ddp_comm_hooks.default_hooks": "distributed.hooks",
    "distributed.algorithms.join": "compat.join",
    **dict.fromkeys(("distributed.algorithms", "distributed.algorithms.ddp_comm_hooks", "distributed.optim"), ()),
    **dict.fromkeys(("distributed.elastic", "distributed.elastic.multiprocessing"), ()),
    **dict.fromkeys(("distributed.elastic.multiprocessing.errors", "distributed.checkpoint.state_dict"), ()),
    **dict.fromkeys(("distributed.tensor", "distributed.tensor.placement_types"), ()),
    "futures": ("distributed.future",),
    **dict.fromkeys(("mtia", "utils._python_dispatch"), ()),
    "_dynamo": "compiler",
    "_dynamo._trace_wrapped_higher_order_op": (),
    "hub": "compat.hub",
    "library": "compat.library",
    "multiprocessing": ("=multiprocessing",),
    "multiprocessing.spawn": ("distributed.spawn",),
    "overrides": "compat.overrides",
    "storage": "backend.storage",
    "testing": "compat.testing",
    "types": "compat.types",
    # Files by other names
    "_tensor": ("tensor", ""),
    "functional": ("",),
    "functorch": ("compat.func",),
    "return_types": "compat.functions.return_types",
    "random": ("functions.random", "functions.creation", "backend.random", ""),
    "torch_version": "backend.version",
    "version": "backend.version",
    "_utils": "compat.internal",
    "utils.dlpack": "compat.internal",
    "nn._reduction": "compat.internal",
    "autograd.anomaly_mode": ("autograd.anomaly", "autograd"),
    "autograd.grad_mode": ("autograd.mode", "autograd"),
    "autograd.profiler": "compat.profiler",
    "autograd.profiler_util": "compat.profiler",
    "nn.common_types": "compat.types",
    "nn.modules": ("nn",),
    **_layers("activation batchnorm:normalization container:containers conv:convolution distance:loss dropout"),
    **_layers("flatten:shaping fold:shaping instancenorm:normalization linear loss normalization padding"),
    **_layers("pixelshuffle:shaping pooling rnn:recurrent sparse:embedding transformer upsampling:shaping"),
    "nn.modules.adaptive": "compat.adaptive",
    "nn.modules.lazy": "compat.lazy",
    "nn.modules.module": ("nn.module", "nn.hooks", "nn.state", "nn"),
    "nn.modules.utils": ("compat.types",),
    "nn.attention.flex_attention": "compat.flex_attention",
    "nn._functions": ("nn.parallel.one_device",),
    "nn.utils.fusion": "compat.fusion",
    **{
        f"nn.utils.{name}": f"compat.nn.utils.{name}"
        for name in ("convert_parameters", "parametrizations", "parametrize", "spectral_norm", "weight_norm")
    },
    "nn.utils.init": ("nn.init",),
    **_drawn("choices", "bernoulli categorical continuous_bernoulli geometric multinomial one_hot_categorical"),
    **_drawn("counts", "binomial negative_binomial"),
    **_drawn("distribution", "exp_family kl"),
    **_drawn("mixture", "mixture_same_family"),
    **_drawn("multivariate_normal", "lowrank_multivariate_normal"),
    **_drawn("gamma", "beta chi2 dirichlet exponential fishersnedecor poisson studentT"),
    **_drawn("location_scale", "cauchy gumbel laplace normal uniform"),
    **_drawn("transformed_distribution", "half_cauchy half_normal inverse_gamma kumaraswamy log_normal"),
    **_drawn("transformed_distribution", "logistic_normal pareto weibull"),
    **_drawn("relaxed", "relaxed_bernoulli relaxed_categorical"),
    "optim.adamw": "optim.adam",
    **_optimisers("adafactor", "adafactor"),
    **_optimisers("adagrad", "adagrad adadelta rmsprop"),
    **_optimisers("adam", "adamax nadam radam sparse_adam"),
    **_optimisers("lbfgs", "lbfgs"),
    **_optimisers("sgd", "asgd rprop"),
    "utils.data.distributed": "utils.data.sampler",
    "nn.utils.prune": "compat.prune",
    "nn.utils.stateless": ("compat.func.stateless",),
    "utils.model_zoo": "compat.hub",
    "utils.weak": "compat.weak",
    "utils.hooks": ("nn.hooks", "tensor"),
    "utils._foreach_utils": "compat.foreach",
    **dict.fromkeys(("_tensor_str", "distributed.rpc"), ()),
}

# Names in a module, by its path here.
NAMES: dict[str, dict[str, str]] = {
    "_tensor_str": {"PRINT_OPTS": "functions.printing:options", "_tensor_str": "functions.printing:values_text"},
    "": {
        **_of(
            "nn.functional:",
            """
            adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d
            conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink max_pool1d
            max_pool2d max_pool3d pairwise_distance pixel_shuffle pixel_unshuffle prelu relu_ rms_norm rrelu
            rrelu_ selu selu_ threshold threshold_
            """,
        ),
        **_of(
            "tensor:Tensor.",
            """
            abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_
            atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp_ exp2_
            expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log_ log10_ log1p_ log2_ logit_
            nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_
            sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_ adjoint
            """,
        ),
        **_of(
            "compat.functions:",
            """
            aminmax bartlett_window bincount blackman_window bucketize cdist chain_matmul cholesky cholesky_inverse
            cholesky_solve corrcoef cov cross cummax cummin det digamma dist geqrf hamming_window hann_window histc
            histogram histogramdd i0 igamma igammac inner inverse isin istft kaiser_window kron kthvalue lgamma
            logcumsumexp logdet lu lu_solve lu_unpack matrix_exp matrix_power median mode msort mvlgamma nanmean
            nanmedian nanquantile nansum orgqr ormqr pca_lowrank pdist pinverse polygamma qr quantile searchsorted
            sinc slogdet std_mean stft svd svd_lowrank tensordot triangular_solve unique_consecutive vander var_mean
            vdot
            """,
        ),
        **_of("compat.autocast:", "autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype"),
        **_of("compat.autocast:", "get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled"),
        **_of("compat.autocast:", "is_autocast_enabled set_autocast_cache_enabled set_autocast_dtype"),
        **_of("compat.autocast:", "set_autocast_enabled"),
        **_of("compat.backends:", "set_float32_matmul_precision set_num_interop_threads use_deterministic_algorithms"),
        **_of("compat.native:", "constant_pad_nd native_batch_norm native_group_norm native_layer_norm"),
        **_of("compat.native:", " ".join(native.ORDERS)),
        **_of("compat.native:", "native_dropout feature_dropout feature_dropout_ batch_norm_update_stats"),
        **_of("compat.native:", "affine_grid_generator grid_sampler"),
        **dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d"), "compat.native:grid_sampler"),
        "_grid_sampler_2d_cpu_fallback": "compat.native:grid_sampler",
        "native_channel_shuffle": "nn.functional:channel_shuffle",
        **_of("compat.native:", "dropout_ alpha_dropout_ feature_alpha_dropout_"),
        **_of("cuda:", "Event OutOfMemoryError Stream"),
        **{f"_{name}": f"compat.checks:{name}" for name in checks.CHECKS},
        "Future": "distributed.future:Future",
        "ScriptModule": "compat.core:ScriptModule",
        "_assert": "compat.core:_assert",
        "_chunk_cat": "compat.native:chunk_cat",
        "_grouped_mm": "compat.native:grouped_mm",
        "cdouble": "backend.dtype:complex128",
        "cfloat": "backend.dtype:complex64",
        "compile": "compiler:compile",
        "from_dlpack": "compat.internal:from_dlpack",
        "has_mps": "compat.core:has_mps",
        "_cast_Long": "tensor:Tensor.long",
        "_shape_as_tensor": "compat.internal:_shape_as_tensor",
        "get_device_module": "compat.internal:get_device_module",
        "legacy_contiguous_format": ":contiguous_format",
        "sym_float": "=builtins:float",
        "sym_int": "=builtins:int",
        "sym_max": "=builtins:max",
        "sym_min": "=builtins:min",
        "sym_not": "=operator:not_",
        "torch": "",
        "matrix_rank": "compat.linalg:matrix_rank",
        **_of("backend.storage:", "TypedStorage UntypedStorage"),
        **_of("autograd.anomaly:", "is_anomaly_enabled is_anomaly_check_nan_enabled"),
        "set_anomaly_enabled": "autograd:set_detect_anomaly",
        "trapz": "functions.reduction:trapezoid",
        "vmap": "compat.func:vmap",
        **_of("compat.core:", "_log_softmax _masked_softmax _softmax"),
        "_log_softmax_backward_data": "compat.core:log_softmax_backward_data",
        "_softmax_backward_data": "compat.core:softmax_backward_data",
    },
    "_C": {
        **_of("autograd.mode:", "is_grad_enabled is_inference_mode_enabled"),
        "_get_accelerator": "backend.device:get_default_device",
        **_of("compat.overrides:", "DisableTorchFunction DisableTorchFunctionSubclass _is_torch_function_enabled"),
        **_of("compat.overrides:", "_is_torch_function_mode_enabled _len_torch_function_stack"),
        "Generator": "backend.random:Generator",
        "TensorBase": "tensor:Tensor",
        "_TensorBase": "tensor:Tensor",
        "_TensorMeta": "=builtins:type",
        "_disabled_torch_function_impl": "autograd.tracebacks:disabled_torch_function",
        "_disabled_torch_dispatch_impl": "autograd.tracebacks:disabled_torch_function",
    },
    "accelerator": {
        **_of("cuda:", "device_count empty_cache is_available max_memory_allocated memory_allocated memory_reserved"),
        **_of("cuda:", "reset_peak_memory_stats synchronize"),
        "current_accelerator": "compat.core:current_accelerator",
        "current_device_idx": "cuda:current_device",
        "current_device_index": "cuda:current_device",
        "set_device_idx": "cuda:set_device",
        "set_device_index": "cuda:set_device",
    },
    "_C._autograd": _of("compat.saved:", "SavedTensor _saved_tensors_hooks_is_enabled"),
    "_C._functions": {"AccumulateGrad": "autograd.graph:AccumulateGrad"},
    "autograd": {"SavedTensor": "compat.saved:SavedTensor", "Variable": "compat.core:Variable"},
    "autograd.function": {"InplaceFunction": "compat.core:InplaceFunction"},
    "autograd.graph": {
        **_of("compat.edges:", "GradientEdge get_gradient_edge increment_version register_multi_grad_hook"),
        **_of("compat.saved:", "allow_mutation_on_saved_tensors disable_saved_tensors_hooks save_on_cpu"),
        "saved_tensors_hooks": "compat.saved:saved_tensors_hooks",
    },
    "autograd.variable": {"Variable": "compat.core:Variable"},
    "cuda": {
        **_of("functions.typed:cuda.", "FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor"),
        **_of("functions.typed:cuda.", "ShortTensor CharTensor ByteTensor BoolTensor"),
        "OutOfMemoryError": "compat.core:OutOfMemoryError",
    },
    "cuda.amp": {
        "GradScaler": "compat.amp:CudaGradScaler",
        "autocast": "compat.autocast:CudaAutocast",
        "custom_bwd": "compat.autocast:cuda_custom_bwd",
        "custom_fwd": "compat.autocast:cuda_custom_fwd",
    },
    "cpu.amp": {"GradScaler": "compat.amp:CpuGradScaler", "autocast": "compat.autocast:CpuAutocast"},
    "jit": {
        "Final": "=typing:Final",
        "TracerWarning": "compat.internal:TracerWarning",
        "ScriptModule": "compat.core:ScriptModule",
    },
    "distributed": {
        **_of("compat.distributed:", "_broadcast_coalesced _get_default_group _rank_not_in_group _sync_module_states"),
        **_of("compat.distributed:", "get_default_backend_for_device new_subgroups new_subgroups_by_enumeration"),
        "DistStoreError": "=builtins:TimeoutError",  # what minigrad raises where PyTorch raises these
        **dict.fromkeys(("DistBackendError", "DistError", "DistNetworkError"), "=builtins:RuntimeError"),
        "GradBucket": "nn.parallel.distributed:GradBucket",
        "_all_gather_base": "distributed.collectives:all_gather_into_tensor",
        "_reduce_scatter_base": "distributed.collectives:reduce_scatter_tensor",
    },
    "distributed.algorithms": _of("compat.join:", "Join JoinHook Joinable"),
    "distributed.checkpoint.state_dict": _of(
        "compat.distributed:", "StateDictOptions get_model_state_dict set_model_state_dict"
    ),
    **dict.fromkeys(
        ("distributed.tensor", "distributed.tensor.placement_types"),
        _of("compat.distributed:", "Partial Placement Replicate Shard"),
    ),
    "distributed.optim": {"ZeroRedundancyOptimizer": "optim.zero_redundancy:ZeroRedundancyOptimizer"},
    "multiprocessing": {
        **_of("distributed.spawn:", "ProcessContext ProcessExitedException ProcessRaisedException spawn"),
        "SpawnContext": "distributed.spawn:ProcessContext",
        "start_processes": "distributed.spawn:spawn",
    },
    "multiprocessing.spawn": {
        "SpawnContext": "distributed.spawn:ProcessContext",
        "start_processes": "distributed.spawn:spawn",
    },
    "nn": {
        **_of("compat.nn.loss:", "CTCLoss CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss"),
        **_of("compat.nn.loss:", "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d"),
        **_of("compat.nn.loss:", "SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"),
        **_of("compat.nn.pooling:", "FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxUnpool1d"),
        **_of("compat.nn.pooling:", "MaxUnpool2d MaxUnpool3d"),
        "AdaptiveLogSoftmaxWithLoss": "compat.adaptive:AdaptiveLogSoftmaxWithLoss",
        **_of("compat.lazy:", "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d"),
        **_of("compat.lazy:", "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d"),
        **_of("compat.lazy:", "LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear"),
        **_of("compat.lazy:", "UninitializedBuffer UninitializedParameter"),
        **_of("nn.parallel:", "DataParallel DistributedDataParallel data_parallel parallel_apply"),
        "CrossMapLRN2d": "compat.core:CrossMapLRN2d",
        **_of("nn.loss:", "_Loss _WeightedLoss"),
        "_get_clones": "nn.transformer:_get_clones",
    },
    "nn.functional": {
        **_of("compat.nn.functional:", "affine_grid cosine_embedding_loss ctc_loss"),
        **_of("compat.nn.functional:", "fractional_max_pool2d fractional_max_pool3d grid_sample hinge_embedding_loss"),
        **_of("compat.nn.functional:", "lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_unpool1d max_unpool2d"),
        **_of("compat.nn.functional:", "max_unpool3d multi_margin_loss multilabel_margin_loss"),
        **_of("compat.nn.functional:", "multilabel_soft_margin_loss soft_margin_loss"),
        **_of("compat.nn.functional:", "triplet_margin_loss triplet_margin_with_distance_loss"),
        **_of("compat.native:", "GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES grouped_mm"),
        "pdist": "compat.functions.products:pdist",
    },
    "nn.parameter": _of("compat.lazy:", "UninitializedBuffer UninitializedParameter UninitializedTensorMixin"),
    "nn.modules.module": {"_EXTRA_STATE_KEY_SUFFIX": "compat.internal:_EXTRA_STATE_KEY_SUFFIX"},
    "nn.modules.utils": _of("compat.internal:", "consume_prefix_in_state_dict_if_present"),
    "nn.utils.parametrizations": _of("compat.nn.utils.orthogonal:", "orthogonal"),
    "nn.utils": {
        **_of("compat.fusion:", "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights"),
        **_of("compat.nn.utils.convert_parameters:", "parameters_to_vector vector_to_parameters"),
        **_of("compat.nn.utils.spectral_norm:", "remove_spectral_norm spectral_norm"),
        **_of("compat.nn.utils.weight_norm:", "remove_weight_norm weight_norm"),
    },
    "nn.utils.stateless": {"_functional_call": "compat.func.stateless:functional_call"},
    "nn.utils._named_member_accessor": {"swap_tensor": "compat.internal:swap_tensor"},
    "utils._contextlib": {"_DecoratorContextManager": "compat.internal:_DecoratorContextManager"},
    "serialization": {"MAP_LOCATION": "=typing:Any"},
    "optim": {
        "Adafactor": "compat.optim.adafactor:Adafactor",
        "LBFGS": "compat.optim.lbfgs:LBFGS",
        **_of("compat.optim.adagrad:", "Adadelta Adagrad RMSprop"),
        **_of("compat.optim.adam:", "Adamax NAdam RAdam SparseAdam"),
        **_of("compat.optim.sgd:", "ASGD Rprop"),
    },
    "optim.lr_scheduler": _of("compat.optim.cyclic:", "CyclicLR OneCycleLR"),
    "optim.optimizer": {"ParamsT": "=typing:Any"},
    "optim.swa_utils": _of("compat.optim.swa_utils:", "SWALR update_bn"),
    "hub": {"load_url": "compat.hub:load_state_dict_from_url"},
    "ops": {"load_library": "compat.library:load_library"},
}


# Where a name that is missing elsewhere may be.
SEARCHED = "nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler utils.data Tensor"


class _Package(ModuleType):
    """A module whose functions may have the names of modules below it."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Importing a module enters it here: but what the table has by its name, as in PyTorch."""
        row = NAMES.get(_path(self.__name__), {}).get(name) if isinstance(value, ModuleType) else None
        super().__setattr__(name, resolve(row) if row else value)


class AliasModule(ModuleWithoutFile, _Package):
    """A module that looks names up in others (``sources``, first to last), after the table."""

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(name, f"Names of {' and '.join(map(_full, sources)) or PACKAGE}, as PyTorch spells them.")
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [public for public in dir(self) if not public.startswith("_")]
        if name in (row := NAMES.get(_path(self.__name__), {})):  # before a module of that name below this one
            return resolve(row[name])
        try:
            return super().__getattr__(name)
        except MissingName:
            for source in () if name.startswith("__") else self._sources:
                if hasattr(resolve(source), name):
                    return getattr(resolve(source), name)
            raise

    def __dir__(self) -> list[str]:
        theirs = (name for source in self._sources for name in dir(resolve(source)))
        return sorted({*others(self.__name__), *theirs})


def find(place: str, name: str) -> Any:
    """What a module lacks: another spelling, a no-op, a refusal, or a module below it.

    Raises:
        MissingName: no table has the name.
    """
    path = _torch_path(place)
    if (source := NAMES.get(path, {}).get(name)) is not None:
        return resolve(source)
    if path == "ops":
        return library.namespace(name)
    if path == "" and name.startswith(foreach.PREFIX) and (function := foreach.find(name)):
        return function
    if name in no_ops(path):
        return no_ops(path)[name]
    if (full := _torch_name(place, name)) in MODULES:
        return import_module(f"{PACKAGE}.{full}")
    if path == "viz" and moved.place(full):
        return moved.picture(name)
    if moved.place(full):
        return import_module(f"{PACKAGE}.{full}")
    if instead(full):
        return absent(full)
    raise MissingName(place, name)


def add_methods() -> None:
    """Define the methods of Tensor that stand above the core."""
    import_module(f"{PACKAGE}.compat.functions")


def has_module(path: str) -> bool:
    """Whether a path, written with "minigrad.", is in a table."""
    return _path(path) in MODULES or bool(moved.place(_path(path)) or instead(_path(path)))


def load(path: str) -> ModuleType:
    """The module that a path, written with "minigrad.", is another spelling of."""
    if place := moved.place(_path(path)):
        return moved.Moved(path, place)
    if _path(path) not in MODULES:
        return AbsentModule(path, refusal(_path(path)))
    sources = MODULES[_path(path)]
    if isinstance(sources, tuple):
        return AliasModule(path, sources)
    package = sys.modules[path.rpartition(".")[0]]
    package.__class__ = _Package if type(package) is ModuleType else type(package)
    module: ModuleType = resolve(sources)
    vars(module).setdefault("__path__", [NO_FOLDER])  # as a package it may have further paths below it
    return module


def resolve(source: str) -> Any:
    """The module, or what it holds, that a source of the table names."""
    path, _, name = source.partition(":")
    module = import_module(_full(path))
    return attrgetter(name)(module) if name else module


def others(place: str) -> list[str]:
    """All names that ``find`` knows in a module, for ``dir``."""
    path = _torch_path(place)
    modules = (module.rpartition(".") for module in MODULES)
    below = (name for parent, _, name in modules if parent == path)
    return sorted({*NAMES.get(path, {}), *no_ops(path), *names_in(path), *below})


def _torch_path(place: str) -> str:
    """PyTorch's path for a module, without "torch."."""
    return _spellings().get(place, _path(place))


@cache
def _spellings() -> dict[str, str]:
    """PyTorch's path for the modules of this folder."""
    rows = reversed(MODULES.items())  # the first of several counts
    return {f"minigrad.{source}": path for path, source in rows if str(source).startswith("compat.")}


def public(place: str, name: str) -> str:
    """The full name of something in a module of minigrad: "minigrad.nn.Linear", in a PyTorch program "torch..."."""
    return dtype.shown(_torch_name(place, name))


def _torch_name(place: str, name: str) -> str:
    """PyTorch's path for something in a module of minigrad, without "torch."."""
    return ".".join(part for part in (_torch_path(place), name) if part)


def _full(path: str) -> str:
    if path.startswith("="):  # one of Python's
        return path[1:]
    return f"{PACKAGE}.{path}" if path else PACKAGE


def _path(module: str) -> str:
    return module.removeprefix(PACKAGE).removeprefix(".")


# The text about a missing name -----------------------------------------------------------------------------


def missing(place: str, name: str) -> str:
    """The error's text: the full name, and what to use instead of PyTorch's or the nearest name. See MissingName."""
    if instead(_torch_name(place, name)):
        return refusal(_torch_name(place, name))
    wanted = public(place, name)
    text = f"minigrad has no {wanted}" if wanted.startswith("torch.") else f"there is no {wanted}"
    near = nearest(place, name)
    return f"{text}; nearest: {near}" if near else text


def nearest(place: str, name: str) -> str:
    """The full name that is spelt most like ``name`` in its place, or exactly like it in another; or ""."""
    close = difflib.get_close_matches(name, _public_names(place), n=1)
    if not close or close[0].lower() != name.lower():
        for path in map(_full, ("", *SEARCHED.split())):
            if name in _public_names(path):
                return public(path, name)
    return public(place, close[0]) if close else ""


def _public_names(place: str) -> list[str]:
    try:
        holder = Tensor if place == "minigrad.Tensor" else import_module(place)
    except ImportError:
        return []
    return [name for name in dict.fromkeys([*dir(holder), *others(place)]) if not name.startswith("_")]
