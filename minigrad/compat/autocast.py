"""``torch.autocast``: matrix products in 16 bits, sums and losses in float32 (Micikevicius et al. 2018, section 3).

The table of functions is PyTorch's (https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference). Its functions
are wrapped when a program enters its first autocast (``overrides.interpose``). The wrappers convert operands with
recorded ops, so that each gradient has its parameter's dtype. Functions called by a wrapped function do not convert
anything, because in PyTorch the wrapped function is a single op.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ContextDecorator, contextmanager, suppress
from functools import cache, reduce
from importlib import import_module
from inspect import getattr_static, signature
from types import FunctionType
from typing import Any, NamedTuple

from ..autograd import is_grad_enabled, mode
from ..autograd.calls import apply
from ..backend import dtype as dt, of
from ..backend.device import Device
from ..cuda import is_available
from ..extension import PACKAGE
from ..nn import functional
from ..ops.elementwise import cast
from ..tensor import Tensor
from . import overrides
from .absent import rows

__all__ = ["autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd"]
__all__ += ["get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available"]
__all__ += ["is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled"]
__all__ += ["set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled"]

Dtypes = Mapping[str, dt.DType]
Cache = dict[int, tuple[Tensor, Any, Tensor]]


class _Setting(NamedTuple):
    enabled: Dtypes  # by device type
    dtypes: Dtypes  # by device type, where not the default
    caches: bool  # whether ``cache`` stores parameter conversions by id
    cache: Cache  # that of the outermost context or of a checkpointed run


class _State(threading.local):
    """A thread's autocast state: a setting for each active context, innermost last, and whether the thread is inside a
    wrapped function, where nothing is converted."""

    inside = False

    def __init__(self) -> None:
        self.settings: tuple[_Setting, ...] = (_Setting({}, {}, True, {}),)

    @property
    def now(self) -> _Setting:
        return self.settings[-1]

    def change(self, **changes: Any) -> None:
        self.settings = (*self.settings[:-1], self.now._replace(**changes))


_state = _State()


Policy = Callable[[Any, tuple[Any, ...], dict[str, Any], str, dt.DType], Any]
# Run in 16 bits
_lower: Policy = lambda run, args, kwargs, place, dtype: run(*_in(args, place, dtype), **_in(kwargs, place, dtype))
# Convert nothing, not even in functions that it calls, because this is one op in PyTorch
_as_is: Policy = lambda run, args, kwargs, place, dtype: run(*args, **kwargs)


def _wide(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], place: str, dtype: dt.DType) -> Any:
    """Run in float32 unless the program passes a dtype."""
    if isinstance(kwargs.get("dtype"), dt.DType) or any(isinstance(a, dt.DType) for a in args):
        return run(*args, **kwargs)
    return _lower(run, args, kwargs, place, dt.float32)


def _widest(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], place: str, dtype: dt.DType) -> Any:
    operands = [x for x in _tensors((*args, *kwargs.values())) if _converts(x, place)]
    widest = reduce(dt.promote_types, (x.dtype for x in operands), dtype)
    return _lower(run, args, kwargs, place, widest)


def _as_first(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], place: str, dtype: dt.DType) -> Any:
    """Run a norm of a 16-bit input with float32 parameters in float32. The result has the input's dtype."""
    first = next(_tensors((*args, *kwargs.values())))
    return _widest(run, args, kwargs, place, dtype).to(first.dtype)


def _layer(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], place: str, dtype: dt.DType) -> Any:
    """Run a recurrent layer in 16 bits; for a GRU, only the products with the input."""
    return run.args[0](*args, **kwargs) if args[0] == "GRU" else _lower(run, args, kwargs, place, dtype)


def _in_two_steps(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], place: str, dtype: dt.DType) -> Any:
    """Compute the logits in 16 bits and the loss in float32, since a single op would return a 16-bit result."""
    options = signature(functional.linear_cross_entropy).bind(*args, **kwargs).arguments
    x, weight, target = (options.pop(name) for name in ("input", "linear_weight", "target"))
    bias, reduction = options.pop("linear_bias", None), options.pop("reduction", "mean")
    options = {name: value for name, value in options.items() if name != "options" and value is not None}
    logits = functional.linear(x, weight.reshape(-1, weight.shape[-1]), bias if bias is None else bias.reshape(-1))
    if weight.ndim == 2 and dt.kind_of(target.array) != "f" and reduction != "none":
        logits, target = logits.reshape(-1, len(weight)), target.reshape(-1)
    else:
        logits = logits.reshape(*x.shape[:-1], *weight.shape[:-1])  # (N, C d1 ...) -> (N, C, d1, ...)
    return functional.cross_entropy(logits, target, reduction=reduction, **options)


def _refused(*call: Any) -> Any:
    raise RuntimeError(
        "binary_cross_entropy and BCELoss are unsafe to autocast: use binary_cross_entropy_with_logits or "
        "BCEWithLogitsLoss, which are safe, or compute the loss within autocast(enabled=False)"
    )


# Which functions convert operands, how, and on which devices. Names are PyTorch's or, with a module, our own.
_TABLE = """
cpu gpu | lower | addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    einsum linear matmul __matmul__ __rmatmul__ mm prelu scaled_dot_product_attention vecdot
    nn.functional.attention:attend
gpu | lower | addmv addr chain_matmul multi_dot mv nn.recurrent:_direction
cpu | layer | nn.recurrent:_direction
cpu gpu | wide | binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss
    kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss
    smooth_l1_loss soft_margin_loss triplet_margin_loss
cpu | wide | adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cdist cholesky cholesky_ex
    cholesky_inverse cholesky_solve cond ctc_loss eig eigh eigvals eigvalsh fft fft2 fftn fractional_max_pool2d
    fractional_max_pool3d geqrf grid_sample hfft householder_product ifft ifft2 ifftn ihfft inv inv_ex inverse irfft
    irfft2 irfftn istft lstsq lu_solve matrix_rank max_pool3d max_unpool2d max_unpool3d nanquantile orgqr ormqr pinverse
    polar prod qr quantile rfft rfft2 rfftn solve stft svd svdvals tensorinv tensorsolve trace triangular_solve
    view_as_complex
gpu | wide | acos asin cdist cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm interpolate
    layer_norm log log10 log1p log2 log_softmax logsumexp matrix_norm norm pdist pow __pow__ __rpow__ prod reciprocal
    renorm rms_norm rsqrt sinh softmax softplus square sum tan vector_norm ops.attention:attention_weights
cpu | widest | cat stack index_copy
gpu | widest | addcdiv addcmul atan2 bilinear cross dot grid_sample index_put scatter_add tensordot vdot
cpu | as_first | batch_norm group_norm instance_norm layer_norm rms_norm
gpu | as_first | batch_norm instance_norm
cpu | as_is | bilinear dot mv vdot
gpu | as_is | logit nanmean nansum trace
gpu | refused | binary_cross_entropy
cpu gpu | in_two_steps | linear_cross_entropy
"""
_HOLDERS = ("", "nn.functional", "linalg", "fft", "special")


def _functions(name: str) -> Iterator[FunctionType]:
    """The functions and methods with a given name. Functions in ``nn.functional`` are also yielded without their border
    (``tracebacks.border``), because the library calls this form."""
    place, _, own = name.rpartition(":")
    public = (module for p in _HOLDERS for module in overrides.modules(p))
    for holder in (import_module(f"{PACKAGE}.{place}"),) if place else (*public, Tensor):
        if callable(value := getattr_static(holder, own, None)):
            yield value
            if holder in overrides.modules("nn.functional") and hasattr(value, "is_border"):
                yield value.__wrapped__


@cache
def _install() -> None:
    """Make the functions in the table check, from now on, whether autocast is active."""
    policies: dict[FunctionType, dict[str, Policy]] = {}
    for places, policy, text in rows(_TABLE):
        for function in (f for name in text.split() for f in _functions(name)):
            policies.setdefault(function, {}).update(dict.fromkeys(places.split(), globals()[f"_{policy}"]))
    converting = {f: functools.partial(_converting, p.get("cpu"), p.get("gpu")) for f, p in policies.items()}
    overrides.interpose(converting)
    mode.carried.append(lambda: functools.partial(_run_of_a_checkpoint, _state.now))


def _converting(on_cpu: Policy | None, on_gpu: Policy | None, run: Any) -> Any:
    def convert(*args: Any, **kwargs: Any) -> Any:
        enabled = _state.now.enabled
        if not enabled or _state.inside or kwargs.get("out") is not None:
            return run(*args, **kwargs)
        first = next(_tensors((*args, *kwargs.values())), None)
        place = "" if first is None else of(first.array).device_type
        policy = on_cpu if place == "cpu" else on_gpu
        if policy is None or place not in enabled:
            return run(*args, **kwargs)
        return policy(functools.partial(_inside, run), args, kwargs, place, enabled[place])

    return convert


def _inside(run: Any, *args: Any, **kwargs: Any) -> Any:
    with mode.at_end(setattr, _state, "inside", False) as end, end:
        _state.inside = True
        return run(*args, **kwargs)


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _converts(x: Tensor, place: str) -> bool:
    """Whether autocast converts a tensor, which must be on a matching device and have a float dtype except float64."""
    array = x.array
    return dt.kind_of(array) == "f" and array.dtype.itemsize in (2, 4) and of(array).device_type == place


def _in(value: Any, place: str, dtype: dt.DType) -> Any:
    if isinstance(value, Tensor):
        return _converted(value, dtype) if _converts(value, place) and value.dtype is not dtype else value
    if isinstance(value, dict):
        return {key: _in(v, place, dtype) for key, v in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_in(v, place, dtype) for v in value)
    return value


def _converted(x: Tensor, dtype: dt.DType) -> Tensor:
    """Convert a tensor to a dtype. A converted parameter stays in the cache until the outermost context ends, so a step
    converts it and its gradient only once, however often the parameter is used."""
    setting = _state.now
    if not (x.requires_grad and x.is_leaf and x.dtype is dt.float32 and setting.caches and is_grad_enabled()):
        return apply(cast, (x, dtype.numpy))
    version = x._changes[0], dtype
    entry = setting.cache.get(id(x))
    if entry is None or entry[1] != version:
        entry = setting.cache[id(x)] = (x, version, apply(cast, (x, dtype.numpy)))
    return entry[2]


class autocast(ContextDecorator):
    """A context or decorator within which float32 products are computed in 16 bits, and 16-bit sums and losses in
    float32. Functions convert their operands according to PyTorch's tables.

    Use it for the forward pass and the loss. Each function's gradient is computed in the function's dtype, and each
    parameter's gradient has the parameter's dtype. float16 requires a ``GradScaler``; bfloat16 has float32's range.

    Args:
        device_type: "cpu", "cuda", ... Only tensors on such devices are converted. Device indices are ignored.
        dtype: float16 or bfloat16. None means bfloat16 on the CPU and float16 elsewhere.
        enabled: if False, nothing is converted, even within another autocast.
        cache_enabled: whether to convert a parameter only once if it is used several times.

    Raises RuntimeError if ``device_type`` is not a device name, and ValueError if it is not a string.

    >>> layer, x = mg.nn.Linear(3, 2), mg.ones(4, 3)
    >>> with mg.autocast("cpu", dtype=mg.float16):
    ...     y = layer(x)
    >>> y.dtype
    minigrad.float16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type = Device(device_type).type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dt.as_dtype(dtype)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        why = ""
        if enabled and device_type == "cuda" and not is_available():
            why = "User provided device_type of 'cuda', but CUDA is not available"
        elif enabled and self.fast_dtype not in (dt.float16, dt.bfloat16):
            why = f"autocast supports float16 and bfloat16, not {self.fast_dtype}"
        if why:
            warnings.warn(f"{why}. Disabling autocast.", stacklevel=2)
        self._enabled = enabled and not why

    def __enter__(self) -> autocast:
        around, own = _state.now, {self.device: self.fast_dtype}
        enabled = {place: dtype for place, dtype in around.enabled.items() if place != self.device}
        if self._enabled:
            _install()
            enabled |= own
        cache = around.cache if len(_state.settings) > 1 else {}
        setting = _Setting(enabled, {**around.dtypes, **own}, self._cache_enabled, cache)
        _state.settings = (*_state.settings, setting)
        return self

    def __exit__(self, *error: object) -> None:
        _state.settings = _state.settings[:-1]


class CudaAutocast(autocast):
    """``torch.cuda.amp.autocast``: ``autocast`` for the "cuda" device."""

    def __init__(self, enabled: bool = True, dtype: Any = dt.float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class CpuAutocast(autocast):
    """``torch.cpu.amp.autocast``: ``autocast`` for the "cpu" device."""

    def __init__(self, enabled: bool = True, dtype: Any = dt.bfloat16, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


@contextmanager
def _run_of_a_checkpoint(setting: _Setting) -> Iterator[None]:
    """Restore the setting at a checkpoint's start, with an empty cache, so that all runs convert the same tensors."""
    with mode.at_end(setattr, _state, "settings", _state.settings) as end, end:
        _state.settings = (*_state.settings, setting._replace(cache={}))
        yield


def is_autocast_available(device_type: str) -> bool:
    """Whether a device type supports autocast."""
    with suppress(RuntimeError):
        return bool(Device(device_type).type)
    return False


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is enabled on this thread for a device type."""
    return device_type in _state.now.enabled


def get_autocast_dtype(device_type: str) -> dt.DType:
    """The dtype that autocast converts to: bfloat16 on the CPU, float16 elsewhere, unless set otherwise."""
    return _state.now.dtypes.get(device_type, dt.bfloat16 if device_type == "cpu" else dt.float16)


is_autocast_cpu_enabled = functools.partial(is_autocast_enabled, "cpu")
get_autocast_cpu_dtype, get_autocast_gpu_dtype = (functools.partial(get_autocast_dtype, p) for p in ("cpu", "cuda"))
is_autocast_cache_enabled: Callable[[], bool] = lambda: _state.now.caches
set_autocast_cache_enabled = lambda enabled: _state.change(caches=enabled)
clear_autocast_cache = lambda: _state.now.cache.clear()


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Enable or disable autocast for a device type on this thread, as ``autocast`` does in a ``with`` block."""
    if enabled:
        _install()
    others = {place: dtype for place, dtype in _state.now.enabled.items() if place != device_type}
    _state.change(enabled={**others, device_type: get_autocast_dtype(device_type)} if enabled else others)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the dtype that autocast converts to on this thread."""
    own = {device_type: dt.as_dtype(dtype)}
    _state.change(dtypes={**_state.now.dtypes, **own})
    if is_autocast_enabled(device_type):
        _state.change(enabled={**_state.now.enabled, **own})


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate a ``Function``'s ``forward``. Within an autocast, float inputs are converted to ``cast_inputs``, and
    ``forward`` runs without autocast. If ``cast_inputs`` is None, autocast stays on, and ``custom_bwd`` restores it."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        active = is_autocast_enabled(device_type)
        context._dtype = get_autocast_dtype(device_type)
        context._fwd_used_autocast = active and cast_inputs is None
        if not active or cast_inputs is None:
            return fwd(*args, **kwargs)
        dtype = dt.as_dtype(cast_inputs)
        with autocast(device_type, enabled=False):
            return fwd(*_in(args, device_type, dtype), **_in(kwargs, device_type, dtype))

    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a ``Function`` whose ``forward`` has ``custom_fwd``, to run in the same autocast."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


cuda_custom_fwd, cuda_custom_bwd = (functools.partial(f, device_type="cuda") for f in (custom_fwd, custom_bwd))
