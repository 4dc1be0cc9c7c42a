"""The one table of names and paths that are another spelling of something, the look-up, and what an error says.

A *source* is a module below minigrad ("" is minigrad itself, "=typing" a module of Python), or "module:name" for
something in one. The left column is PyTorch's spelling, without "torch.".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
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


# A row: our module, and PyTorch's paths that are other spellings of it (".beta": in the folder of ours). In parentheses
# stand the modules in which an alias looks a name up, one after the other; one of none has the tables' names alone.
_PATHS = """
() _C __config__ accelerator autograd.variable compiler cpu export fx nn.utils._named_member_accessor
    utils._contextlib xpu _C._autograd _C._functions _C._functorch autograd.forward_ad jit mps onnx
    onnx.symbolic_helper distributed.algorithms distributed.algorithms.ddp_comm_hooks distributed.optim
    distributed.elastic distributed.elastic.multiprocessing distributed.elastic.multiprocessing.errors
    distributed.checkpoint.state_dict distributed.tensor distributed.tensor.placement_types mtia
    utils._python_dispatch _dynamo._trace_wrapped_higher_order_op _tensor_str distributed.rpc
compat.distributions distributions
compat.func func
compat.linalg linalg
compat.masked masked
compat.signal signal
compat.special special
functions.fft fft
distributed.torchrun run
(compat.amp,compat.autocast) amp
compat.autocast amp.autocast_mode
compat.amp amp.grad_scaler
compat.backends backends
(compat.amp) cpu.amp cuda.amp
(cuda.amp) cuda.amp.autocast_mode cuda.amp.grad_scaler
cuda cuda.memory cuda.random
(distributed) distributed.constants distributed.distributed_c10d distributed.utils
(distributed.functional) distributed.nn
distributed.functional distributed.nn.functional
distributed.launch distributed.run
optim.zero_redundancy distributed.optim.zero_redundancy_optimizer
distributed.hooks distributed.algorithms.ddp_comm_hooks.default_hooks
compat.join distributed.algorithms.join
(distributed.future) futures
compiler _dynamo
compat.hub hub utils.model_zoo
compat.library library
(=multiprocessing) multiprocessing
(distributed.spawn) multiprocessing.spawn
compat.overrides overrides
backend.storage storage
compat.testing testing
compat.types types nn.common_types
(tensor,.) _tensor
(.) functional
(compat.func) functorch
functions.return_types return_types
(functions.random,functions.creation,backend.random,.) random
backend.version torch_version version
compat.internal _utils utils.dlpack nn._reduction
(autograd.anomaly,autograd) autograd.anomaly_mode
(autograd.mode,autograd) autograd.grad_mode
compat.profiler autograd.profiler autograd.profiler_util
(nn) nn.modules
compat.adaptive nn.modules.adaptive
compat.lazy nn.modules.lazy
(nn.module,nn.hooks,nn.state,nn) nn.modules.module
(compat.types) nn.modules.utils
compat.flex_attention nn.attention.flex_attention
(nn.parallel.one_device) nn._functions
compat.fusion nn.utils.fusion
(nn.init) nn.utils.init
compat.distributions.choices .bernoulli .categorical .continuous_bernoulli .geometric .multinomial .one_hot_categorical
compat.distributions.counts .binomial .negative_binomial
compat.distributions.distribution .exp_family .kl
compat.distributions.mixture .mixture_same_family
compat.distributions.multivariate_normal .lowrank_multivariate_normal
compat.distributions.gamma .beta .chi2 .dirichlet .exponential .fishersnedecor .poisson .studentT
compat.distributions.location_scale .cauchy .gumbel .laplace .normal .uniform
compat.distributions.transformed_distribution .half_cauchy .half_normal .inverse_gamma .kumaraswamy .log_normal
    .logistic_normal .pareto .weibull
compat.distributions.relaxed .relaxed_bernoulli .relaxed_categorical
optim.adagrad .adadelta .rmsprop
optim.adam .adamax .adamw .nadam .radam .sparse_adam
optim.sgd .asgd .rprop
utils.data.sampler utils.data.distributed
compat.prune nn.utils.prune
(compat.func.stateless) nn.utils.stateless
compat.weak utils.weak
(nn.hooks,tensor) utils.hooks
compat.foreach utils._foreach_utils
"""
# PyTorch's files of layers; ours follows a colon where it is called otherwise.
_LAYERS = """
activation batchnorm:normalization container:containers conv:convolution distance:loss dropout flatten:shaping
fold:shaping instancenorm:normalization linear loss normalization padding pixelshuffle:shaping pooling rnn:recurrent
sparse:embedding transformer upsampling:shaping
"""
# A row: modules that lack names ("." is minigrad), the one that has them, and the names, THEIRS=OURS where they differ.
_SPELLINGS = """
_tensor_str functions.printing _tensor_str=values_text PRINT_OPTS=options
. nn.functional adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d
    conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink max_pool1d max_pool2d
    max_pool3d native_channel_shuffle=channel_shuffle pairwise_distance pixel_shuffle pixel_unshuffle prelu relu_
    rms_norm rrelu rrelu_ selu selu_ threshold threshold_
. tensor:Tensor _cast_Long=long abs_ acos_ acosh_ addmv_ adjoint arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_
    asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp2_
    exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_
    neg_ negative_ rad2deg_ reciprocal_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_
    trunc_ xlogy_ zero_
. compat.autocast autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
    is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled
    set_autocast_dtype set_autocast_enabled
. compat.backends set_float32_matmul_precision set_num_interop_threads use_deterministic_algorithms
. compat.native _chunk_cat=chunk_cat _grid_sampler_2d_cpu_fallback=grid_sampler _grouped_mm=grouped_mm
    affine_grid_generator alpha_dropout_ batch_norm_update_stats constant_pad_nd dropout_ feature_alpha_dropout_
    feature_dropout feature_dropout_ grid_sampler grid_sampler_2d=grid_sampler grid_sampler_3d=grid_sampler
    native_batch_norm native_dropout native_group_norm native_layer_norm
. cuda Event OutOfMemoryError Stream
. distributed.future Future
. compat.core _assert _log_softmax _log_softmax_backward_data=log_softmax_backward_data _masked_softmax _softmax
    _softmax_backward_data=softmax_backward_data has_mps ScriptModule
. backend.dtype cdouble=complex128 cfloat=complex64
. compiler compile
. compat.internal _shape_as_tensor from_dlpack get_device_module
. . legacy_contiguous_format=contiguous_format torch=
. =builtins sym_float=float sym_int=int sym_max=max sym_min=min
. =operator sym_not=not_
. compat.linalg matrix_rank
. backend.storage TypedStorage UntypedStorage
. autograd.anomaly is_anomaly_check_nan_enabled is_anomaly_enabled
. autograd set_anomaly_enabled=set_detect_anomaly
. functions.reduction trapz=trapezoid
. compat.func vmap
_C autograd.mode is_grad_enabled is_inference_mode_enabled
_C backend.device _get_accelerator=get_default_device
_C compat.overrides _is_torch_function_enabled _is_torch_function_mode_enabled _len_torch_function_stack
    DisableTorchFunction DisableTorchFunctionSubclass
_C backend.random Generator
_C tensor _TensorBase=Tensor TensorBase=Tensor
_C =builtins _TensorMeta=type
_C autograd.tracebacks _disabled_torch_dispatch_impl=disabled_torch_function
    _disabled_torch_function_impl=disabled_torch_function
accelerator cuda current_device_idx=current_device current_device_index=current_device device_count empty_cache
    is_available max_memory_allocated memory_allocated memory_reserved reset_peak_memory_stats
    set_device_idx=set_device set_device_index=set_device synchronize
accelerator compat.core current_accelerator
_C._autograd compat.saved _saved_tensors_hooks_is_enabled SavedTensor
_C._functions autograd.graph AccumulateGrad
autograd compat.saved SavedTensor
autograd,autograd.variable compat.core Variable
autograd.function compat.core InplaceFunction
autograd.graph compat.edges get_gradient_edge GradientEdge increment_version register_multi_grad_hook
autograd.graph compat.saved allow_mutation_on_saved_tensors disable_saved_tensors_hooks save_on_cpu
    saved_tensors_hooks
cuda functions.typed:cuda BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor
    IntTensor LongTensor ShortTensor
cuda compat.core OutOfMemoryError
cuda.amp compat.amp GradScaler=CudaGradScaler
cuda.amp compat.autocast autocast=CudaAutocast custom_bwd=cuda_custom_bwd custom_fwd=cuda_custom_fwd
cpu.amp compat.amp GradScaler=CpuGradScaler
cpu.amp compat.autocast autocast=CpuAutocast
jit =typing Final
jit compat.internal TracerWarning
jit compat.core ScriptModule
distributed compat.distributed _broadcast_coalesced _get_default_group _rank_not_in_group _sync_module_states
    get_default_backend_for_device new_subgroups new_subgroups_by_enumeration
distributed =builtins DistBackendError=RuntimeError DistError=RuntimeError DistNetworkError=RuntimeError
    DistStoreError=TimeoutError
distributed nn.parallel.distributed GradBucket
distributed distributed.collectives _all_gather_base=all_gather_into_tensor
    _reduce_scatter_base=reduce_scatter_tensor
distributed.algorithms compat.join Join Joinable JoinHook
distributed.checkpoint.state_dict compat.distributed get_model_state_dict set_model_state_dict StateDictOptions
distributed.tensor,distributed.tensor.placement_types compat.distributed Partial Placement Replicate Shard
distributed.optim optim.zero_redundancy ZeroRedundancyOptimizer
multiprocessing distributed.spawn ProcessContext ProcessExitedException ProcessRaisedException spawn
    SpawnContext=ProcessContext start_processes=spawn
multiprocessing.spawn distributed.spawn SpawnContext=ProcessContext start_processes=spawn
nn compat.adaptive AdaptiveLogSoftmaxWithLoss
nn compat.lazy LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d
    LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear
    UninitializedBuffer UninitializedParameter
nn nn.parallel data_parallel DataParallel DistributedDataParallel parallel_apply
nn compat.core CrossMapLRN2d
nn nn.loss _Loss _WeightedLoss
nn nn.transformer _get_clones
nn.functional compat.native GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES grouped_mm
nn.functional functions.linalg pdist
nn.parameter compat.lazy UninitializedBuffer UninitializedParameter UninitializedTensorMixin
nn.modules.module compat.internal _EXTRA_STATE_KEY_SUFFIX
nn.modules.utils compat.internal consume_prefix_in_state_dict_if_present
nn.utils.parametrizations compat.orthogonal orthogonal
nn.utils compat.fusion fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights
nn.utils.stateless compat.func.stateless _functional_call=functional_call
nn.utils._named_member_accessor compat.internal swap_tensor
utils._contextlib compat.internal _DecoratorContextManager
serialization =typing MAP_LOCATION=Any
optim.optimizer =typing ParamsT=Any
hub compat.hub load_url=load_state_dict_from_url
ops compat.library load_library
"""


def _rows(table: str) -> Iterator[list[str]]:
    """The words of each row, whose further lines are indented."""
    return (row.split() for row in table.replace("\n    ", " ").splitlines() if row)


def _modules() -> Iterator[tuple[str, Sources]]:
    for source, *paths in _rows(_PATHS):
        several = tuple(part.removeprefix(".") for part in source[1:-1].split(",") if part)
        for path in paths:
            folder = source.removeprefix("compat.").partition(".")[0]
            full = folder + path if path.startswith(".") else path
            yield full, several if source[0] == "(" else source
    for theirs, _, ours in (file.partition(":") for file in _LAYERS.split()):
        yield f"nn.modules.{theirs}", (f"nn.{ours or theirs}", "nn")
    for name in backends.__all__:
        yield f"backends.{name}", f"compat.backends:{name}"


def _names() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {"": {f"_{name}": f"compat.checks:{name}" for name in checks.CHECKS}}
    table[""] |= {name: f"compat.native:{name}" for name in " ".join(native.ORDERS).split()}
    for places, source, *pairs in _rows(_SPELLINGS):
        start = f"{source}." if ":" in source else f"{source.removeprefix('.')}:"
        row = {theirs: start + (ours if sign else theirs) for theirs, sign, ours in (p.partition("=") for p in pairs)}
        for place in places.split(","):
            table.setdefault(place.removeprefix("."), {}).update(row)
    return table


MODULES, NAMES = dict(_modules()), _names()

# Where a name that is missing elsewhere may be.
SEARCHED = "nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler utils.data Tensor"


class AliasModule(ModuleWithoutFile):
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

    def __setattr__(self, name: str, value: Any) -> None:
        """Importing a module enters it here: not in place of what the table has by its name, as in PyTorch."""
        if not (isinstance(value, ModuleType) and name in NAMES.get(_path(self.__name__), {})):
            super().__setattr__(name, value)

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
    return {f"minigrad.{source}": path for path, source in rows if str(source).startswith(("compat.", "functions.fft"))}


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
