"""The one table of names and paths that are another spelling of something, the look-up, and what an error says.

A row has PyTorch's modules, a *source*, and names in the modules; its further lines are indented. A source is a module
below minigrad ("=typing" is one of Python's), or "module:" for what one holds. One that ends in "." or ":" goes on with
the name, or with ours, "theirs=ours", where they differ.
"""

from __future__ import annotations

import difflib
import sys
from importlib import import_module
from itertools import product
from operator import attrgetter
from types import ModuleType
from typing import Any

from ..backend import dtype
from ..extension import NO_FOLDER, PACKAGE, MissingName, ModuleWithoutFile
from ..tensor import Tensor
from . import foreach, library, old_paths
from .absent import AbsentModule, absent, instead, names_in, refusal, rows
from .no_ops import no_ops

# Modules without a file, and files by other names. Sources in parentheses are asked for a name one after the other,
# after the other tables, and (), which is none, leaves these alone.
_MODULES = """
torch | () | _C __config__ _tensor_str accelerator compiler cpu export fx jit mps mtia onnx xpu
torch._C | () | _autograd _functions _functorch
torch._C | compat.internal | _nn
torch._dynamo | () | _trace_wrapped_higher_order_op
torch.autograd | () | forward_ad variable
torch.nn.utils | () | _named_member_accessor
torch.onnx | () | symbolic_helper
torch.utils | () | _contextlib _python_dispatch
torch | compat. | backends distributions func hub library linalg masked overrides signal special testing types
torch | compat.functions. | fft return_types
torch | backend. | storage version
torch | backend.version | torch_version
torch | compat.internal | _utils
torch | compiler | _dynamo
torch | distributed.torchrun | run
torch | (=multiprocessing) | multiprocessing
torch | (compat.amp compat.autocast) | amp
torch | (compat.func) | functorch
torch | (distributed.future) | futures
torch | (functions.random functions.creation backend.random minigrad) | random
torch | (minigrad) | functional
torch | (tensor minigrad) | _tensor
torch.amp | compat.amp | grad_scaler
torch.amp | compat.autocast | autocast_mode
torch.autograd | compat.profiler | profiler profiler_util
torch.autograd | (compat.anomaly) | anomaly_mode
torch.autograd | compat. | function functional
torch.autograd | utils. | gradcheck
torch.autograd | (autograd.mode autograd) | grad_mode
torch.backends | compat.backends: | cpu cuda cudnn mkl mkldnn mps openmp opt_einsum
torch.cpu torch.cuda | (compat.amp) | amp
torch.cuda.amp | (cuda.amp) | autocast_mode grad_scaler
torch.cuda | cuda | memory random
torch.distributed | () | algorithms elastic optim rpc tensor
torch.distributed | distributed.launch | run
torch.distributed | (distributed) | constants distributed_c10d utils
torch.distributed | (distributed.functional) | nn
torch.distributed.algorithms | () | ddp_comm_hooks
torch.distributed.algorithms | compat. | join
torch.distributed.algorithms.ddp_comm_hooks | distributed.hooks | default_hooks
torch.distributed.checkpoint | () | state_dict
torch.distributed.elastic | () | multiprocessing
torch.distributed.elastic.multiprocessing | () | errors
torch.distributed.nn | distributed. | functional
torch.distributed.optim | optim.zero_redundancy | zero_redundancy_optimizer
torch.distributed.tensor | () | placement_types
torch.distributions | compat.distributions.choices | bernoulli categorical continuous_bernoulli geometric multinomial
    one_hot_categorical binomial negative_binomial relaxed_bernoulli relaxed_categorical
torch.distributions | compat.distributions.derived | half_cauchy half_normal independent inverse_gamma kumaraswamy
    log_normal logistic_normal mixture_same_family pareto transformed_distribution weibull
torch.distributions | compat.distributions.distribution | exp_family kl
torch.distributions | compat.distributions.gamma | beta chi2 dirichlet exponential fishersnedecor poisson studentT
torch.distributions | compat.distributions.location_scale | cauchy gumbel laplace normal uniform von_mises
torch.distributions | compat.distributions.multivariate | lkj_cholesky lowrank_multivariate_normal multivariate_normal
    wishart
torch.multiprocessing | (distributed.spawn) | spawn
torch.nn | compat.legacy | _reduction
torch.nn | compat.types | common_types
torch.nn | (nn) | modules
torch.nn | (compat.one_device) | _functions
torch.nn.attention | compat. | flex_attention
torch.nn torch.nn.modules | compat.nn. | padding
torch.nn.modules | compat. | adaptive lazy
torch.nn.modules | (compat.types) | utils
torch.nn.modules | (nn. nn) | activation batchnorm=normalization container=containers conv=convolution distance=loss
    dropout flatten=shaping fold=shaping instancenorm=normalization linear loss normalization
    pixelshuffle=shaping pooling rnn=recurrent sparse=embedding transformer upsampling=shaping
torch.nn.modules | (nn.module nn.hooks nn.state nn) | module
torch.nn.parallel | compat.ddp | distributed
torch.nn.parallel | compat. | one_device
torch.nn.parallel | compat.one_device | _functions data_parallel parallel_apply replicate scatter_gather
torch.nn.utils | compat. | fusion prune
torch.nn.utils | compat.nn.utils. | convert_parameters parametrizations parametrize weight_norm
torch.nn.utils | compat.nn.utils.weight_norm | spectral_norm
torch.nn.utils | (compat.func.stateless) | stateless
torch.nn.utils | (nn.init) | init
torch.optim | optim.adam | adamw
torch.optim | compat.optim. | adagrad lbfgs
torch.optim | compat.optim.adagrad | adadelta adafactor rmsprop
torch.optim | compat.optim.adam | adamax nadam radam sparse_adam
torch.optim | compat.optim.sgd | asgd rprop
torch.utils | compat.foreach | _foreach_utils
torch.utils | compat.hub | model_zoo
torch.utils | compat.internal | dlpack weak
torch.utils | (nn.hooks tensor) | hooks
torch.utils.data | utils.data.sampler | distributed
torch.compat | compat.legacy | core
"""

# Names in a module.
_NAMES = """
torch | : | legacy_contiguous_format=contiguous_format
torch | minigrad | torch
torch | =builtins: | sym_float=float sym_int=int sym_max=max sym_min=min
torch | =operator: | sym_not=not_
torch | backend.dtype: | cdouble=complex128 cfloat=complex64
torch | backend.storage: | TypedStorage UntypedStorage
torch | compat.anomaly: | is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled=set_detect_anomaly
torch | compat.autocast: | autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype
    get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
    set_autocast_cache_enabled set_autocast_dtype set_autocast_enabled
torch | compat.backends: | set_float32_matmul_precision set_num_interop_threads use_deterministic_algorithms
torch | compat.func: | vmap
torch | compat.functions: | aminmax bartlett_window bincount blackman_window bucketize cdist chain_matmul cholesky
    cholesky_inverse cholesky_solve corrcoef cov cross cummax cummin det digamma dist geqrf hamming_window hann_window
    histc histogram histogramdd i0 igamma igammac inner inverse isin istft kaiser_window kron kthvalue lgamma
    logcumsumexp logdet lu lu_solve lu_unpack matrix_exp matrix_power median mode msort mvlgamma nanmean nanmedian
    nanquantile nansum orgqr ormqr pca_lowrank pdist pinverse polygamma qr quantile searchsorted sinc slogdet std_mean
    stft svd svd_lowrank tensordot triangular_solve unique_consecutive vander var_mean vdot
torch | compat.internal: | _assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all
    _check_tensor_all_with _check_type _check_value _check_with _shape_as_tensor from_dlpack get_device_module
torch | compat.legacy: | ScriptModule has_mps
torch | compat.linalg: | matrix_rank
torch | compat.native: | _chunk_cat _grid_sampler_2d_cpu_fallback=grid_sampler _grouped_mm=grouped_mm _log_softmax
    _log_softmax_backward_data _masked_softmax _softmax _softmax_backward_data alpha_dropout alpha_dropout_ batch_norm
    batch_norm_update_stats binary_cross_entropy_with_logits constant_pad_nd cosine_embedding_loss ctc_loss dropout
    dropout_ embedding feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ grid_sampler
    grid_sampler_2d=grid_sampler grid_sampler_3d=grid_sampler group_norm hinge_embedding_loss instance_norm kl_div
    layer_norm margin_ranking_loss native_batch_norm native_dropout native_group_norm native_layer_norm poisson_nll_loss
    triplet_margin_loss
torch | compat.nn.functional: | affine_grid_generator=affine_grid
torch | compiler: | compile
torch | cuda: | Event OutOfMemoryError Stream
torch | distributed.future: | Future
torch | functions.reduction: | trapz=trapezoid
torch | nn.functional: | adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d bilinear celu celu_ channel_shuffle conv1d
    conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink max_pool1d max_pool2d
    max_pool3d native_channel_shuffle=channel_shuffle pairwise_distance pixel_shuffle pixel_unshuffle prelu relu_
    rms_norm rrelu rrelu_ selu selu_ threshold threshold_
torch | tensor:Tensor. | _cast_Long=long abs_ acos_ acosh_ addmv_ adjoint arccos_ arccosh_ arcsin_ arcsinh_ arctan_
    arctanh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_
    exp_ exp2_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log_ log10_ log1p_ log2_ logit_
    nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_
    tan_ tanh_ trunc_ xlogy_ zero_
torch._C | =builtins: | _TensorMeta=type
torch._C | autograd.mode: | is_grad_enabled is_inference_mode_enabled
torch._C | autograd.tracebacks: | _disabled_torch_dispatch_impl=disabled_torch_function
    _disabled_torch_function_impl=disabled_torch_function
torch._C | backend.device: | _get_accelerator=get_default_device
torch._C | backend.random: | Generator
torch._C | compat.overrides: | DisableTorchFunction DisableTorchFunctionSubclass _is_torch_function_enabled
    _is_torch_function_mode_enabled _len_torch_function_stack
torch._C | tensor: | TensorBase=Tensor _TensorBase=Tensor
torch._C._autograd | compat.saved: | SavedTensor _saved_tensors_hooks_is_enabled
torch._C._functions | autograd.graph: | AccumulateGrad
torch._tensor_str | functions.printing: | PRINT_OPTS=options _tensor_str=values_text
torch.accelerator | compat.internal: | current_accelerator
torch.accelerator | cuda: | current_device_idx=current_device current_device_index=current_device device_count
    empty_cache is_available max_memory_allocated memory_allocated memory_reserved reset_peak_memory_stats
    set_device_idx=set_device set_device_index=set_device synchronize
torch.autograd | compat.anomaly: | detect_anomaly set_detect_anomaly
torch.autograd | compat.function: | Function
torch.autograd | compat.saved: | SavedTensor
torch.autograd | utils.gradcheck: | GradcheckError gradcheck gradgradcheck
torch.autograd torch.autograd.variable | compat.legacy: | Variable
torch.autograd.function | compat.legacy: | InplaceFunction
torch.autograd.graph | compat.edges: | GradientEdge get_gradient_edge increment_version register_multi_grad_hook
torch.autograd.graph | compat.saved: | allow_mutation_on_saved_tensors disable_saved_tensors_hooks save_on_cpu
    saved_tensors_hooks
torch.cpu.amp | compat.amp: | GradScaler=CpuGradScaler
torch.cpu.amp | compat.autocast: | autocast=CpuAutocast
torch.cuda | compat.internal: | OutOfMemoryError
torch.cuda | functions.typed:cuda. | BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor
    IntTensor LongTensor ShortTensor
torch.cuda.amp | compat.amp: | GradScaler=CudaGradScaler
torch.cuda.amp | compat.autocast: | autocast=CudaAutocast custom_bwd=cuda_custom_bwd custom_fwd=cuda_custom_fwd
torch.distributed | =builtins: | DistBackendError=RuntimeError DistError=RuntimeError DistNetworkError=RuntimeError
    DistStoreError=TimeoutError
torch.distributed | compat.distributed: | _broadcast_coalesced _sync_module_states get_default_backend_for_device
    new_subgroups new_subgroups_by_enumeration
torch.distributed | distributed.collectives: | _all_gather_base=all_gather_into_tensor
    _reduce_scatter_base=reduce_scatter_tensor
torch.distributed | distributed.group: | _get_default_group=the_group _rank_not_in_group=is_outside
torch.distributed | nn.parallel.buckets: | GradBucket
torch.distributed.algorithms | compat.join: | Join JoinHook Joinable
torch.distributed.checkpoint.state_dict | compat.distributed: | StateDictOptions get_model_state_dict
    set_model_state_dict
torch.distributed.optim | optim.zero_redundancy: | ZeroRedundancyOptimizer
torch.distributed.tensor torch.distributed.tensor.placement_types | compat.distributed: | Partial Placement Replicate
    Shard
torch.hub | compat.hub: | load_url=load_state_dict_from_url
torch.jit | =typing: | Final
torch.jit | compat.legacy: | ScriptModule TracerWarning
torch.multiprocessing | distributed.spawn: | ProcessContext ProcessExitedException ProcessRaisedException spawn
torch.multiprocessing torch.multiprocessing.spawn | distributed.spawn: | SpawnContext=ProcessContext
    start_processes=spawn
torch.nn | compat.adaptive: | AdaptiveLogSoftmaxWithLoss
torch.nn | compat.lazy: | LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d
    LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
    LazyLinear UninitializedBuffer UninitializedParameter
torch.nn | compat.legacy: | CrossMapLRN2d
torch.nn torch.nn.containers | compat.nn.containers: | ParameterDict ParameterList
torch.nn | compat.nn.padding: | CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
    ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d
    ZeroPad2d ZeroPad3d
torch.nn | compat.nn.loss: | CTCLoss CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss
    MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss
torch.nn torch.nn.loss | compat.nn.loss: | GaussianNLLLoss LinearCrossEntropyLoss PoissonNLLLoss
torch.nn torch.nn.recurrent | compat.nn.recurrent: | GRUCell LSTMCell RNNCell RNNCellBase
torch.nn | compat.nn.pooling: | FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxUnpool1d
    MaxUnpool2d MaxUnpool3d
torch.nn | nn.loss: | _Loss _WeightedLoss
torch.nn torch.nn.parallel | compat.ddp: | DistributedDataParallel
torch.nn torch.nn.parallel | compat.one_device: | DataParallel data_parallel parallel_apply
torch.nn | nn.transformer: | _get_clones
torch.nn.attention | compat.backends: | SDPBackend sdpa_kernel
torch.nn.functional | compat.functions.products: | pdist
torch.nn.functional | compat.native: | GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES grouped_mm
torch.nn.functional | compat.nn.functional: | affine_grid cosine_embedding_loss ctc_loss fractional_max_pool2d
    fractional_max_pool3d grid_sample hinge_embedding_loss lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss
    max_unpool1d max_unpool2d max_unpool3d multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
    soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss
torch.nn.modules.module | compat.internal: | _EXTRA_STATE_KEY_SUFFIX
torch.nn.modules.utils | compat.internal: | consume_prefix_in_state_dict_if_present
torch.nn.parallel | compat.one_device: | gather replicate scatter scatter_kwargs
torch.nn.parameter | compat.lazy: | UninitializedBuffer UninitializedParameter UninitializedTensorMixin
torch.nn.utils | compat.fusion: | fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights
torch.nn.utils | compat.nn.utils.convert_parameters: | parameters_to_vector vector_to_parameters
torch.nn.utils | compat.nn.utils.weight_norm: | remove_spectral_norm remove_weight_norm spectral_norm weight_norm
torch.nn.utils._named_member_accessor | compat.internal: | swap_tensor
torch.nn.utils.stateless | compat.func.stateless: | _functional_call=functional_call
torch.ops | compat.library: | load_library
torch.optim | compat.optim.adagrad: | Adadelta Adafactor Adagrad RMSprop
torch.optim | compat.optim.adam: | Adamax NAdam RAdam SparseAdam
torch.optim | compat.optim.lbfgs: | LBFGS
torch.optim | compat.optim.sgd: | ASGD Rprop
torch.optim.lr_scheduler | compat.optim.cyclic: | CyclicLR OneCycleLR
torch.optim.optimizer | =typing: | ParamsT=Any
torch.optim.swa_utils | compat.optim.swa_utils: | SWALR update_bn
torch.serialization | =typing: | MAP_LOCATION=Any
torch.utils._contextlib | compat.internal: | _DecoratorContextManager
"""


def _sources(table: str) -> dict[str, dict[str, Any]]:
    """A table, by PyTorch's modules without "torch." and names in them; sources in parentheses as a tuple."""
    modules: dict[str, dict[str, Any]] = {}
    for places, source, names in rows(table):
        for place, pair in product(places.split(), names.split()):
            theirs, _, ours = pair.partition("=")
            sources = tuple(_path(s) for s in source.strip("()").split())
            full = tuple(s + (ours or theirs) if s.endswith((".", ":")) else s for s in sources)
            modules.setdefault(_path(place, "torch"), {})[theirs] = full if source[0] == "(" else full[0]
    return modules


def _path(module: str, package: str = PACKAGE) -> str:
    """A module's path without the package that it is in."""
    return module.removeprefix(package).removeprefix(".")


MODULES: dict[str, str | tuple[str, ...]] = {
    f"{place}.{name}".removeprefix("."): source
    for place, row in _sources(_MODULES).items()
    for name, source in row.items()
}
NAMES: dict[str, dict[str, str]] = _sources(_NAMES)
# PyTorch's path for the modules of this folder, the first of several.
_TORCH_PATHS = {f"{PACKAGE}.{s}": path for path, s in reversed(MODULES.items()) if str(s).startswith("compat.")}


class _Package(ModuleType):
    """A module whose functions may have the names of modules below it."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Importing a module enters it here: but what the table has by its name, as in PyTorch."""
        row = NAMES.get(_path(self.__name__), {}).get(name) if isinstance(value, ModuleType) else None
        super().__setattr__(name, resolve(row) if row else value)


class AliasModule(ModuleWithoutFile, _Package):
    """A module that looks names up in others (``sources``, first to last), after the table."""

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(name, f"Names of {' and '.join(map(_full, sources)) or PACKAGE}.")
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


class _OldModule(AliasModule):
    def __call__(self, *args: Any, **named: Any) -> Any:
        """``viz.embedding(...)``, where a program has imported the module ``minigrad.viz.embedding`` as well."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **named)


def find(place: str, name: str) -> Any:
    """What a module lacks: another spelling, a no-op, a refusal, or a module below it. Raises MissingName: no table has
    the name."""
    path = _torch_path(place)
    if (source := NAMES.get(path, {}).get(name)) is not None:
        return resolve(source)
    if path == "ops":
        return library.Namespace(name)
    if path == "" and (function := foreach.find(name)):
        return function
    if name in no_ops(path):
        return no_ops(path)[name]
    full = _torch_name(place, name)
    if path == "viz" and old_paths.new_path(full):
        return old_paths.picture(name)
    if full in MODULES or old_paths.new_path(full):
        return import_module(f"{PACKAGE}.{full}")
    if instead(full):
        return absent(full)
    raise MissingName(place, name)


def add_methods() -> None:
    """Define the methods of Tensor that stand above the core."""
    import_module(f"{PACKAGE}.compat.functions")


def has_module(path: str) -> bool:
    """Whether a path, written with "minigrad.", is in a table."""
    return _path(path) in MODULES or bool(old_paths.new_path(_path(path)) or instead(_path(path)))


def load(path: str) -> ModuleType:
    """The module that a path, written with "minigrad.", is another spelling of."""
    if new := old_paths.new_path(_path(path)):
        old_paths.note(path, new)
        return _OldModule(path, (f"={new}",))
    if _path(path) not in MODULES:
        return AbsentModule(_path(path))
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
    below = (name for parent, _, name in (module.rpartition(".") for module in MODULES) if parent == path)
    return sorted({*NAMES.get(path, {}), *no_ops(path), *names_in(path), *below})


def _torch_path(place: str) -> str:
    """PyTorch's path for a module, without "torch."."""
    return _TORCH_PATHS.get(place, _path(place))


def _torch_name(place: str, name: str) -> str:
    """PyTorch's path for something in a module of minigrad, without "torch."."""
    return ".".join(part for part in (_torch_path(place), name) if part)


def _full(path: str) -> str:
    if path.startswith("="):  # one of Python's
        return path[1:]
    return f"{PACKAGE}.{path}" if path else PACKAGE


# The text about a missing name -----------------------------------------------------------------------------

# Where a name that is missing elsewhere may be.
_SEARCHED = "nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler utils.data Tensor"


def missing(place: str, name: str) -> str:
    """The error's text: the full name, and what to use instead of PyTorch's or the nearest name. See MissingName."""
    if instead(_torch_name(place, name)):
        return refusal(_torch_name(place, name))
    full = dtype.shown(_torch_name(place, name))  # "minigrad.nn.x", in a PyTorch program "torch.nn.x"
    text = f"minigrad has no {full}" if full.startswith("torch.") else f"there is no {full}"
    near = _nearest(place, name)
    return f"{text}; nearest: {dtype.shown(near)}" if near else text


def _nearest(place: str, name: str) -> str:
    """The path of the name that is spelt most like ``name`` in its place, or exactly like it in another; or ""."""
    close = difflib.get_close_matches(name, _public_names(place), n=1)
    if not close or close[0].lower() != name.lower():
        for path in map(_full, ("", *_SEARCHED.split())):
            if name in _public_names(path):
                return _torch_name(path, name)
    return _torch_name(place, close[0]) if close else ""


def _public_names(place: str) -> list[str]:
    try:
        holder = Tensor if place == "minigrad.Tensor" else import_module(place)
    except ImportError:
        return []
    return [name for name in dict.fromkeys([*dir(holder), *others(place)]) if not name.startswith("_")]
