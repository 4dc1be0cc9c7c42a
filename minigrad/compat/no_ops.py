"""What PyTorch programs call and minigrad does not need: functions that do nothing, each with a reason.

Nothing is compiled, traced or recorded here, so that functions and modules come back as they are; a module that was
"compiled" is the same module, and its state dict's keys have no ``_orig_mod.``. A name is written without "torch.".
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any

from ..backend.dtype import bfloat16
from ..cuda import is_available, manual_seed
from .absent import rows
from .backends import settings

MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
SHARING = {"file_descriptor", "file_system"}

# Forms that several functions share.
same = lambda fn: fn
same_object = lambda obj, *args, **kwargs: obj
never = lambda: False


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> Any:
    """Return ``model``, a function or a module, as it is; without it, a decorator that does so. Raises RuntimeError: a
    mode that PyTorch does not have, or a mode and options."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but not both at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    return same if model is None else model


def unwrap_optional(x: Any) -> Any:
    """Return what is not None. Raises AssertionError: it is None."""
    assert x is not None, "Unwrapping null optional"
    return x


def set_sharing_strategy(new_strategy: str) -> None:
    """Check the name. Raises AssertionError: there is no such strategy."""
    assert new_strategy in SHARING


def check_nonzero(input: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raises RuntimeError if a tensor of one element is zero: not asynchronously."""
    if not input:
        raise RuntimeError(assert_msg)


def _each(place: str, names: str, value: Any) -> dict[str, Any]:
    """Rows of functions of a module that are the same."""
    return {f"{place}.{name}": value for name in names.split()}


def _device(name: str, there: bool) -> dict[str, Any]:
    """Rows of a device that is not CUDA; without the device, ``synchronize`` raises RuntimeError."""

    def synchronize(device: Any = None) -> None:
        if not there:
            raise RuntimeError(f"there is no {name} device here: guard the call with is_available()")

    return {
        **_each(name, "current_allocated_memory driver_allocated_memory memory_allocated memory_reserved", lambda: 0),
        f"{name}.device_count": lambda: int(there),
        **_each(name, "empty_cache seed", lambda: None),
        f"{name}.is_available": lambda: there,
        f"{name}.is_bf16_supported": lambda including_emulation=True: False,
        f"{name}.is_initialized": never,
        **_each(name, "manual_seed manual_seed_all", manual_seed),
        f"{name}.synchronize": synchronize,
    }


_REASONS = """
torch | settings have no effect
torch._C | there is no C++ library, nothing records a program, and keys choose no implementation
torch._C._functorch | func.vmap and func.grad work on tensors like any other
torch.__config__ | there is no build to tell of
torch._dynamo._trace_wrapped_higher_order_op | inside vmap, too, a tensor of one element is an index that stays a tensor
torch.autograd | a backward pass runs in the thread that calls it, and a profiler is an observer
torch.autograd.forward_ad | there are no dual numbers; func.jvp computes with two tensors
torch.compiler | NumPy and CuPy run one op after another
torch.cpu | the CPU is always there, and nothing runs in the background
torch.cuda | nothing is put off or shared with other processes
torch.distributed.elastic.multiprocessing.errors | a rank shows its error itself
torch.distributed.rpc | no rank calls functions of another
torch.fx torch.onnx torch.onnx.symbolic_helper | nothing records a program
torch.jit | there are no scripts: functions and modules stay Python
torch.mps torch.mtia torch.xpu | there is no such device
torch.multiprocessing | tensors are sent by pickle
torch.utils._python_dispatch | no class wraps tensors
torch.utils.checkpoint | the second run of a function goes to its end
torch.utils.data | pipes of data have no methods for each other
"""
# Why the functions of a module need do nothing, by PyTorch's path for it.
REASONS = {
    place.removeprefix("torch").removeprefix("."): reason
    for places, reason in rows(_REASONS)
    for place in places.split()
}
NO_OPS: dict[str, Any] = {
    "_assert_async": check_nonzero,
    "are_deterministic_algorithms_enabled": lambda: settings["deterministic"],
    "get_deterministic_debug_mode": lambda: settings["deterministic"] * (1 if settings["warn"] else 2),
    "get_float32_matmul_precision": lambda: settings["precision"],
    "get_num_interop_threads": lambda: settings["interop"],
    "is_deterministic_algorithms_warn_only_enabled": lambda: settings["warn"],
    "_C.DispatchKeySet": lambda *keys: frozenset(keys),
    "_C._ExcludeDispatchKeyGuard": lambda keys: nullcontext(),
    "_C._dispatch_has_kernel_for_dispatch_key": lambda name, dispatch_key: False,
    "_C._get_privateuse1_backend_name": lambda: "privateuseone",
    **_each("_C", "_are_functorch_transforms_active _cuda_isInBadFork", never),
    **_each("_C", "_jit_can_fuse_on_cpu _jit_can_fuse_on_gpu", never),
    **_each("_C", "_cuda_clearCublasWorkspaces _get_tracing_state", lambda: None),
    **_each("_C", "_jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_gpu", lambda override: None),
    **_each("_C", "_jit_set_profiling_executor _jit_set_profiling_mode", lambda profiling_flag: False),
    **_each("_C", "_jit_set_texpr_fuser_enabled _log_api_usage_once", lambda enabled: None),
    **_each(
        "_C._functorch", "is_batchedtensor is_functorch_wrapped_tensor is_gradtrackingtensor", lambda tensor: False
    ),
    "__config__.parallel_info": lambda: "minigrad's threads: see get_num_threads()\n",
    "__config__.show": lambda: "minigrad, on NumPy and CuPy\n",
    "_dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex": nullcontext,
    "autograd._disable_profiler": lambda: None,
    "autograd._profiler_enabled": never,
    "autograd.set_multithreading_enabled": lambda mode: nullcontext(),
    "autograd.forward_ad.unpack_dual": lambda tensor, *, level=None: SimpleNamespace(primal=tensor, tangent=None),
    "compiler.MODES": MODES,
    "compiler.compile": compile,
    "compiler.config": SimpleNamespace(suppress_errors=False, cache_size_limit=8, recompile_limit=8, verbose=False),
    "compiler.disable": lambda fn=None, recursive=True, *, reason=None: same if fn is None else fn,
    "compiler.list_backends": lambda exclude_tags=("debug", "experimental"): [],
    "compiler.optimize": lambda *args, **kwargs: same,
    "compiler.run": lambda fn=None: same if fn is None else fn,
    "compiler.set_stance": lambda stance="default", **options: nullcontext(),
    **_each("compiler", "allow_in_graph assume_constant_result disallow_in_graph forbid_in_graph", same),
    **_each("compiler", "substitute_in_graph", same),
    **_each("compiler", "cudagraph_mark_step_begin graph_break reset", lambda *args, **kwargs: None),
    **_each("compiler", "is_compiling is_dynamo_compiling is_exporting", never),
    **_each("compiler", "mark_dynamic mark_static mark_static_address", lambda tensor, *args, **kwargs: None),
    **_each("compiler", "maybe_mark_dynamic", lambda tensor, *args, **kwargs: None),
    **_device("cpu", there=True),
    "cpu.current_device": lambda: "cpu",
    "cpu.set_device": lambda device: None,
    "cpu.stream": lambda stream: nullcontext(),
    "cuda._lazy_call": lambda callable, **kwargs: callable() if is_available() else None,
    "cuda.ipc_collect": lambda: None,
    "cuda.is_current_stream_capturing": never,
    "cuda.is_bf16_supported": lambda including_emulation=True: is_available() and bfloat16.is_available,
    "distributed.elastic.multiprocessing.errors.record": lambda fn, error_handler=None: fn,
    "distributed.rpc.is_available": never,
    "fx.wrap": lambda fn_or_name: fn_or_name,
    "jit._unwrap_optional": unwrap_optional,
    "jit.annotate": lambda the_type, the_value: the_value,
    "jit.fuser": lambda name: nullcontext(),
    "jit.ignore": lambda drop=False, **kwargs: drop if callable(drop) else same,
    "jit.isinstance": lambda obj, target_type: isinstance(obj, target_type),
    "jit.optimized_execution": lambda should_optimize: nullcontext(),
    "jit.unused": same,
    **_each("jit", "_overload _overload_method _script_if_tracing export freeze interface", same_object),
    **_each("jit", "optimize_for_inference script script_if_tracing script_method trace trace_module", same_object),
    **_each("jit", "is_scripting is_tracing", never),
    **_device("mps", there=False),
    **_device("mtia", there=False),
    **_device("xpu", there=False),
    "multiprocessing.get_all_sharing_strategies": lambda: SHARING,
    "multiprocessing.get_sharing_strategy": lambda: "file_descriptor",
    "multiprocessing.set_sharing_strategy": set_sharing_strategy,
    "onnx.is_in_onnx_export": never,
    "onnx.register_custom_op_symbolic": lambda symbolic_name, symbolic_fn, opset_version: None,
    "onnx.symbolic_helper.parse_args": lambda *arg_descriptors: same,
    "utils._python_dispatch.is_traceable_wrapper_subclass": lambda t: False,
    "utils.checkpoint.set_checkpoint_early_stop": lambda enable: nullcontext(),
    "utils.data.functional_datapipe": lambda name, *args: same,
}


@cache
def no_ops(place: str) -> dict[str, Any]:
    """The no-ops of a module, by PyTorch's path for it."""
    parts = ((*path.rpartition("."), value) for path, value in NO_OPS.items())
    return {name: _named(place, name, value) for parent, _, name, value in parts if parent == place}


def _named(place: str, name: str, value: Any) -> Any:
    """A copy of a lambda, with a name, and the reason as docstring; another value as it is."""
    if getattr(value, "__name__", "") != "<lambda>":
        return value
    function = FunctionType(value.__code__, value.__globals__, name, value.__defaults__, value.__closure__)
    function.__kwdefaults__, function.__qualname__ = value.__kwdefaults__, name
    function.__module__, function.__doc__ = f"minigrad.{place}".rstrip("."), f"No-op: {REASONS[place]}."
    return function
