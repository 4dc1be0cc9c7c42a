"""The table of alternative names and paths, the lookup, and the error messages.

A row lists PyTorch modules, a *source*, and names in the modules. Continuation lines are indented. A source is a
minigrad module ("=typing" is a Python module), or "module:" for the contents of a module. If a source ends in "." or
":", the name is appended to it, or minigrad's name if that is different ("theirs=ours").
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
from .absent import ABSENT, AbsentModule, absent, instead, refusal, rows

# Modules without a file, and files with other names. Sources in parentheses are searched in order, after the other
# tables. With (), an empty list, only the tables are searched.
_MODULES = """
torch | () | _C _C._autograd _C._functions _C._functorch __config__ _dynamo._trace_wrapped_higher_order_op _tensor_str
    accelerator ao autograd.forward_ad autograd.variable compiler cpu distributed.algorithms
    distributed.algorithms.ddp_comm_hooks distributed.checkpoint.state_dict distributed.elastic
    distributed.elastic.multiprocessing distributed.elastic.multiprocessing.errors distributed.optim distributed.rpc
    distributed.tensor distributed.tensor.placement_types export fx jit mps mtia nn.utils._named_member_accessor onnx
    onnx.symbolic_helper utils._contextlib utils._python_dispatch xpu
torch | compat. | backends distributions func hub library linalg masked overrides special testing types
torch | compat.functions. | fft return_types
torch | backend. | storage version
torch | backend.version | torch_version
torch | compat.internal | _C._nn _utils compat.core utils.dlpack utils.weak
torch | compiler | _dynamo
torch torch.distributed | distributed.launch | run
torch torch.ao | nn.quantized | quantization
torch | (=multiprocessing) | multiprocessing
torch | (compat.amp compat.autocast) | amp
torch | (compat.func) | functorch
torch | (distributed.work) | futures
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
torch.distributed | (distributed) | constants distributed_c10d utils
torch.distributed | (distributed.functional) | nn
torch.distributed.algorithms | compat. | join
torch.distributed.algorithms.ddp_comm_hooks | distributed.hooks | default_hooks
torch.distributed.nn | distributed. | functional
torch.distributed.optim | optim.zero_redundancy | zero_redundancy_optimizer
torch.distributions | compat.distributions.choices | relaxed_bernoulli
torch.distributions | (compat.distributions) | bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli
    dirichlet exp_family exponential fishersnedecor geometric gumbel half_cauchy half_normal independent
    inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal
    mixture_same_family multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson
    relaxed_categorical studentT transformed_distribution uniform von_mises weibull wishart
torch.multiprocessing | (distributed.spawn) | spawn
torch.nn | compat.types | common_types
torch.nn | (nn) | modules
torch.nn | (compat.one_device) | _functions
torch.nn.attention | compat. | flex_attention
torch.nn torch.nn.modules | compat.nn.spatial | padding
torch.nn.modules | compat. | adaptive lazy
torch.nn.modules | (compat.types) | utils
torch.nn.modules | (nn. nn) | activation batchnorm=normalization container=containers conv=linear distance=loss
    dropout=activation flatten=shaping fold=shaping instancenorm=normalization linear loss normalization
    pixelshuffle=shaping pooling=shaping rnn=recurrent sparse=embedding transformer upsampling=shaping
torch.nn.modules | (nn.module nn.hooks nn.state nn) | module
torch.nn.parallel | compat.ddp | distributed
torch.nn.parallel | compat. | one_device
torch.nn.parallel | compat.one_device | _functions data_parallel parallel_apply replicate scatter_gather
torch.nn.utils | compat. | fusion prune
torch.nn.utils | compat.nn.utils. | convert_parameters parametrizations parametrize weight_norm
torch.nn.utils | compat.nn.utils.weight_norm | spectral_norm
torch.nn.utils | (compat.func) | stateless
torch.nn.utils | (nn.init) | init
torch.optim | (optim) | adadelta adafactor adagrad adamax adamw asgd lbfgs nadam radam rmsprop rprop sparse_adam
torch.utils | compat.foreach | _foreach_utils
torch.utils | compat.hub | model_zoo
torch.utils | (nn.hooks tensor) | hooks
torch.utils.data | utils.data.sampler | distributed
"""

# Names in a module.
_NAMES = """
torch | : | legacy_contiguous_format=contiguous_format
torch | minigrad | torch
torch | =builtins: | sym_float=float sym_int=int sym_max=max sym_min=min
torch | =operator: | sym_not=not_
torch | backend.dtype: | cdouble=complex128 cfloat=complex64 qint8=int8
torch | backend.storage: | TypedStorage UntypedStorage
torch | compat.anomaly: | is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled=set_detect_anomaly
torch | compat.autocast: | autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype
    get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
    set_autocast_cache_enabled set_autocast_dtype set_autocast_enabled
torch | compat.backends: | set_float32_matmul_precision set_num_interop_threads use_deterministic_algorithms
torch | compat.func: | vmap
torch | compat.functions: | alias_copy aminmax as_strided_copy bartlett_window bincount blackman_window bucketize cdist
    chain_matmul cholesky cholesky_inverse cholesky_solve corrcoef cov cross cummax cummin det detach_copy
    diagonal_copy digamma dist expand_copy geqrf hamming_window hann_window histc histogram histogramdd i0 igamma
    igammac inner inverse isin istft kaiser_window kron kthvalue lgamma logcumsumexp logdet lu lu_solve lu_unpack
    matrix_exp matrix_power median mode msort mvlgamma nanmean nanmedian nanquantile nansum orgqr ormqr pca_lowrank
    pdist permute_copy pinverse polygamma qr quantile searchsorted select_copy sinc slogdet split_copy
    split_with_sizes_copy squeeze_copy std_mean stft svd svd_lowrank t_copy tensordot transpose_copy triangular_solve
    unbind_copy unfold_copy unique_consecutive unsqueeze_copy vander var_mean vdot view_as_complex_copy
    view_as_real_copy view_copy
torch | compat.internal: | ScriptModule _assert _check _check_tensor_all
    _check_tensor_all_with _check_with _shape_as_tensor from_dlpack get_device_module
torch | compat.linalg: | matrix_rank
torch | compat.native: | _chunk_cat _grouped_mm=grouped_mm _softmax_backward_data constant_pad_nd grid_sampler
    grid_sampler_2d=grid_sampler grid_sampler_3d=grid_sampler group_norm layer_norm native_batch_norm native_group_norm
    native_layer_norm
torch | compat.nn.functional: | affine_grid_generator=affine_grid
torch | compiler: | compile
torch | cuda: | Event OutOfMemoryError Stream
torch | distributed.work: | Future
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
torch._C._autograd | compat.graph: | SavedTensor
torch._C._functions | autograd.graph: | AccumulateGrad
torch._tensor_str | functions.printing: | PRINT_OPTS=options _tensor_str=values_text
torch.accelerator | compat.internal: | current_accelerator
torch.accelerator | cuda: | current_device_idx=current_device current_device_index=current_device device_count
    empty_cache is_available max_memory_allocated memory_allocated memory_reserved reset_peak_memory_stats
    set_device_idx=set_device set_device_index=set_device synchronize
torch.autograd | compat.anomaly: | detect_anomaly set_detect_anomaly
torch.autograd | compat.function: | Function
torch.autograd | compat.graph: | SavedTensor
torch.autograd | utils.gradcheck: | GradcheckError gradcheck gradgradcheck
torch.autograd torch.autograd.variable | compat.internal: | Variable
torch.autograd.graph | compat.graph: | GradientEdge disable_saved_tensors_hooks get_gradient_edge
    increment_version save_on_cpu saved_tensors_hooks
torch.cpu.amp | compat.amp: | GradScaler=CpuGradScaler
torch.cpu.amp | compat.autocast: | autocast=CpuAutocast
torch.cuda | compat.internal: | OutOfMemoryError
torch.cuda | functions.typed:cuda. | BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor
    IntTensor LongTensor ShortTensor
torch.cuda.amp | compat.amp: | GradScaler=CudaGradScaler
torch.cuda.amp | compat.autocast: | autocast=CudaAutocast custom_bwd=cuda_custom_bwd custom_fwd=cuda_custom_fwd
torch.distributed | =builtins: | DistBackendError=RuntimeError DistError=RuntimeError DistNetworkError=RuntimeError
    DistStoreError=TimeoutError
torch.distributed | compat.distributed: | _sync_module_states new_subgroups new_subgroups_by_enumeration
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
torch.jit | compat.internal: | ScriptModule TracerWarning
torch.multiprocessing | distributed.spawn: | ProcessContext ProcessExitedException ProcessRaisedException spawn
torch.multiprocessing torch.multiprocessing.spawn | distributed.spawn: | SpawnContext=ProcessContext
    start_processes=spawn
torch.nn | compat.adaptive: | AdaptiveLogSoftmaxWithLoss
torch.nn | compat.lazy: | LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d
    LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
    LazyLinear UninitializedBuffer UninitializedParameter
torch.nn torch.nn.containers | compat.nn.containers: | ParameterDict ParameterList
torch.nn | compat.nn.spatial: | CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
    FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
    ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d
    ZeroPad2d ZeroPad3d
torch.nn | compat.nn.loss: | CTCLoss CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss
    MultiLabelSoftMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss
torch.nn torch.nn.loss | compat.nn.loss: | GaussianNLLLoss LinearCrossEntropyLoss PoissonNLLLoss
torch.nn torch.nn.recurrent | compat.nn.recurrent: | GRUCell LSTMCell RNNCell RNNCellBase
torch.nn | nn.loss: | NLLLoss2d=NLLLoss _Loss _WeightedLoss
torch.nn torch.nn.parallel | compat.ddp: | DistributedDataParallel
torch.nn torch.nn.parallel | compat.one_device: | DataParallel data_parallel parallel_apply
torch.nn | nn.transformer: | _get_clones
torch.nn.attention | compat.backends: | SDPBackend sdpa_kernel
torch.nn.functional | compat.functions.products: | pdist
torch.nn.functional | compat.native: | grouped_mm
torch.nn.functional | compat.nn.functional: | affine_grid cosine_embedding_loss ctc_loss fractional_max_pool2d
    fractional_max_pool3d grid_sample hinge_embedding_loss lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss
    max_unpool1d max_unpool2d max_unpool3d multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
    soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss
torch.nn.modules.module | compat.internal: | _EXTRA_STATE_KEY_SUFFIX
torch.nn.modules.utils | compat.internal: | consume_prefix_in_state_dict_if_present
torch.nn.parallel | compat.one_device: | gather replicate scatter
torch.nn.parameter | compat.lazy: | UninitializedBuffer UninitializedParameter UninitializedTensorMixin
torch.nn.utils | compat.fusion: | fuse_conv_bn_eval fuse_conv_bn_weights
torch.nn.utils | compat.nn.utils.convert_parameters: | parameters_to_vector vector_to_parameters
torch.nn.utils | compat.nn.utils.weight_norm: | remove_spectral_norm remove_weight_norm spectral_norm weight_norm
torch.nn.utils._named_member_accessor | compat.internal: | swap_tensor
torch.nn.utils.stateless | compat.func: | _functional_call=functional_call
torch.ops | compat.library: | load_library
torch.optim | compat.optim.lbfgs: | LBFGS
torch.optim | compat.optim.rules: | ASGD Adadelta Adafactor Adagrad Adamax NAdam RAdam RMSprop Rprop SparseAdam
torch.optim.lr_scheduler | compat.optim.schedules: | CyclicLR OneCycleLR
torch.optim.optimizer | =typing: | ParamsT=Any
torch.optim.swa_utils | compat.optim.schedules: | SWALR update_bn
torch.serialization | =typing: | MAP_LOCATION=Any
torch.utils._contextlib | compat.internal: | _DecoratorContextManager
torch | compat.backends: | are_deterministic_algorithms_enabled get_deterministic_debug_mode
    get_float32_matmul_precision get_num_interop_threads is_deterministic_algorithms_warn_only_enabled
torch | compat.no_ops: | _assert_async=check_nonzero
torch._C | compat.no_ops: | DispatchKeySet=dispatch_keys _ExcludeDispatchKeyGuard=context
    _get_privateuse1_backend_name=name_of_others
torch._C | compat.no_ops:never | _are_functorch_transforms_active _cuda_isInBadFork
    _dispatch_has_kernel_for_dispatch_key _jit_can_fuse_on_cpu _jit_can_fuse_on_gpu _jit_set_profiling_executor
    _jit_set_profiling_mode
torch._C | compat.no_ops:nothing | _cuda_clearCublasWorkspaces _get_tracing_state _jit_override_can_fuse_on_cpu
    _jit_override_can_fuse_on_gpu _jit_set_texpr_fuser_enabled _log_api_usage_once
torch._C._functorch | compat.no_ops:never | is_batchedtensor is_functorch_wrapped_tensor is_gradtrackingtensor
torch.__config__ | compat.no_ops: | parallel_info show
torch._dynamo._trace_wrapped_higher_order_op | compat.no_ops: | TransformGetItemToIndex=context
torch.autograd | compat.no_ops: | _disable_profiler=nothing _profiler_enabled=never set_multithreading_enabled=context
torch.autograd.forward_ad | compat.no_ops: | unpack_dual
torch.compiler | compat.no_ops: | MODES compile config disable=decorator is_compiling=never is_dynamo_compiling=never
    is_exporting=never list_backends optimize=decorators run=decorator set_stance=context substitute_in_graph=decorators
torch.compiler | compat.no_ops:nothing | cudagraph_mark_step_begin graph_break mark_dynamic mark_static
    mark_static_address maybe_mark_dynamic reset
torch.compiler | compat.no_ops:same | allow_in_graph assume_constant_result disallow_in_graph forbid_in_graph
torch.cpu torch.mps torch.mtia torch.xpu | compat.no_ops: | empty_cache=nothing is_bf16_supported=never
    is_initialized=never seed=nothing
torch.cpu torch.mps torch.mtia torch.xpu | compat.no_ops:zero | current_allocated_memory driver_allocated_memory
    memory_allocated memory_reserved
torch.cpu torch.mps torch.mtia torch.xpu | cuda:manual_seed | manual_seed manual_seed_all
torch.cpu | compat.no_ops: | current_device=name_of_cpu device_count=one is_available=always set_device=nothing
    stream=context synchronize=nothing
torch.mps torch.mtia torch.xpu | compat.no_ops: | device_count=zero is_available=never
torch.mps | compat.no_ops: | synchronize=synchronize_mps
torch.mtia | compat.no_ops: | synchronize=synchronize_mtia
torch.xpu | compat.no_ops: | synchronize=synchronize_xpu
torch.cuda | compat.no_ops: | _lazy_call=call_if_available ipc_collect=nothing is_bf16_supported=has_bf16
    is_current_stream_capturing=never
torch.distributed | compat.no_ops:never | is_ucc_available is_xccl_available
torch.distributed.elastic.multiprocessing.errors | compat.no_ops: | record=same
torch.distributed.rpc | compat.no_ops: | is_available=never
torch.fx | compat.no_ops: | wrap=same
torch.jit | =builtins: | isinstance
torch.jit | compat.no_ops: | _unwrap_optional=unwrap_optional annotate fuser=context ignore=decorator is_scripting=never
    is_tracing=never optimized_execution=context
torch.jit | compat.no_ops:same | _overload _overload_method _script_if_tracing export freeze interface
    optimize_for_inference script script_if_tracing script_method trace trace_module unused
torch.multiprocessing | compat.no_ops: | get_all_sharing_strategies get_sharing_strategy set_sharing_strategy
torch.onnx | compat.no_ops: | is_in_onnx_export=never register_custom_op_symbolic=nothing
torch.onnx.symbolic_helper | compat.no_ops: | parse_args=decorators
torch.utils._python_dispatch | compat.no_ops: | is_traceable_wrapper_subclass=never
torch.utils.checkpoint | compat.no_ops: | set_checkpoint_early_stop=context
torch.utils.data | compat.no_ops: | functional_datapipe=decorators
"""


def _sources(table: str) -> dict[str, dict[str, Any]]:
    """The sources in a table, by PyTorch module (without "torch.") and name. Sources in parentheses become a tuple."""
    modules: dict[str, dict[str, Any]] = {}
    for places, source, names in rows(table):
        for place, pair in product(places.split(), names.split()):
            theirs, _, ours = pair.partition("=")
            sources = tuple(_path(s) for s in source.strip("()").split())
            full = tuple(s + (ours or theirs) if s.endswith((".", ":")) else s for s in sources)
            modules.setdefault(_path(place, "torch"), {})[theirs] = full if source[0] == "(" else full[0]
    return modules


def _path(module: str, package: str = PACKAGE) -> str:
    """A module path without its package."""
    return module.removeprefix(package).removeprefix(".")


MODULES: dict[str, str | tuple[str, ...]] = {
    f"{place}.{name}".removeprefix("."): source
    for place, row in _sources(_MODULES).items()
    for name, source in row.items()
}
NAMES: dict[str, dict[str, str]] = _sources(_NAMES)
# PyTorch's paths for the modules in this folder: the first path if there are several.
_TORCH_PATHS = {f"{PACKAGE}.{s}": path for path, s in reversed(MODULES.items()) if str(s).startswith("compat.")}


class _Package(ModuleType):
    """A module whose functions may have the same names as submodules."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Prefer the table's attribute over a submodule of the same name set by an import, as in PyTorch."""
        row = NAMES.get(_path(self.__name__), {}).get(name) if isinstance(value, ModuleType) else None
        super().__setattr__(name, resolve(row) if row else value)


class AliasModule(ModuleWithoutFile, _Package):
    """A module that looks up names in the table and then in other modules (``sources``, in order)."""

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(name, f"Names of {' and '.join(map(_full, sources)) or PACKAGE}.")
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [public for public in dir(self) if not public.startswith("_")]
        if name in (row := NAMES.get(_path(self.__name__), {})):  # takes precedence over a submodule with this name
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
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Allow ``viz.embedding(...)`` even if a program has imported the module ``minigrad.viz.embedding``."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)


def find(place: str, name: str) -> Any:
    """Look up a name that a module lacks: in the table, as a submodule, or as an absent name. May raise MissingName."""
    path = _torch_path(place)
    if (source := NAMES.get(path, {}).get(name)) is not None:
        return resolve(source)
    if path == "ops":
        return library.Namespace(name)
    if path == "" and (function := foreach.find(name)):
        return function
    full = _torch_name(place, name)
    if path == "viz" and old_paths.new_path(full):
        return old_paths.picture(name)
    if full in MODULES or old_paths.new_path(full):
        return import_module(f"{PACKAGE}.{full}")
    if instead(full):
        return absent(full)
    raise MissingName(place, name)


def add_methods() -> None:
    """Define the Tensor methods that are outside the core."""
    import_module(f"{PACKAGE}.compat.functions")


def has_module(path: str) -> bool:
    """Whether a table contains a path, which begins with "minigrad."."""
    return _path(path) in MODULES or bool(old_paths.new_path(_path(path)) or instead(_path(path)))


def load(path: str) -> ModuleType:
    """The module for an alternative path that begins with "minigrad."."""
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
    vars(module).setdefault("__path__", [NO_FOLDER])  # as a package, it may have further submodules
    return module


def resolve(source: str) -> Any:
    """Import a source from a table: a module or an attribute of one."""
    path, _, name = source.partition(":")
    module = import_module(_full(path))
    return attrgetter(name)(module) if name else module


def others(place: str) -> list[str]:
    """All names that ``find`` finds in a module, for ``dir``."""
    path = _torch_path(place)
    parts = (path.rpartition(".") for path in (*MODULES, *ABSENT) if "*" not in path)
    return sorted({*NAMES.get(path, {}), *(name for parent, _, name in parts if parent == path)})


def _torch_path(place: str) -> str:
    """PyTorch's path for a module, without "torch."."""
    return _TORCH_PATHS.get(place, _path(place))


def _torch_name(place: str, name: str) -> str:
    return ".".join(part for part in (_torch_path(place), name) if part)


def _full(path: str) -> str:
    if path.startswith("="):  # a Python module
        return path[1:]
    return f"{PACKAGE}.{path}" if path else PACKAGE


# Where to search for names that are missing elsewhere.
_SEARCHED = "nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler utils.data Tensor"


def missing(place: str, name: str) -> str:
    """The error message for a missing name. It suggests a PyTorch name's replacement, the closest spelling in the
    module, or the same name in another module. See MissingName."""
    if instead(_torch_name(place, name)):
        return refusal(_torch_name(place, name))
    full = dtype.shown(_torch_name(place, name))  # "minigrad.nn.x" or, in a PyTorch program, "torch.nn.x"
    text = f"minigrad has no {full}" if full.startswith("torch.") else f"there is no {full}"
    close = difflib.get_close_matches(name, _public_names(place), n=1)
    near = [_torch_name(place, other) for other in close]
    if not close or close[0].lower() != name.lower():
        near = [_torch_name(p, name) for p in map(_full, ("", *_SEARCHED.split())) if name in _public_names(p)] + near
    return f"{text}; did you mean {dtype.shown(near[0])}?" if near else text


def _public_names(place: str) -> list[str]:
    try:
        holder = Tensor if place == "minigrad.Tensor" else import_module(place)
    except ImportError:
        return []
    return [name for name in dict.fromkeys([*dir(holder), *others(place)]) if not name.startswith("_")]
