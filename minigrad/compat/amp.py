"""Mixed precision, under the names of ``torch.amp``: ``autocast`` changes nothing, ``GradScaler`` scales.

Everything is computed in the dtype of its tensors; move a model with ``half()`` to compute in float16.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..autograd import no_grad
from ..backend.dtype import float16, float32
from ..cuda import is_available
from ..functions.creation import tensor
from ..functions.pointwise import isfinite
from ..tensor import Tensor

__all__ = ["GradScaler", "autocast"]

F = TypeVar("F", bound=Callable[..., Any])
DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "mtia", "xla", "meta", "strict")
_STATE = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


class autocast:
    """A context or decorator inside which PyTorch chooses lower precision; here nothing changes.

    Args:
        device_type: "cpu", "cuda", ...
        dtype, enabled, cache_enabled: kept, not used.

    Raises:
        RuntimeError: ``device_type`` is the name of no device.
        ValueError: it is no text.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in DEVICES:
            raise RuntimeError(f"{device_type!r} is not a device type: expected one of {', '.join(DEVICES)}")
        self.device, self.fast_dtype = device_type, dtype
        self._enabled, self._cache_enabled = enabled, cache_enabled

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was changed."""

    def __call__(self, function: F) -> F:
        return function


class CudaAutocast(autocast):
    """``torch.cuda.amp.autocast``: ``autocast`` of the device "cuda"."""

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class CpuAutocast(autocast):
    """``torch.cpu.amp.autocast``: ``autocast`` of the device "cpu"."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler:
    """Scales losses, so that small gradients in float16 do not become 0 (Micikevicius et al. 2018).

    A disabled scaler changes nothing. It is enabled for "cpu", and for "cuda" where there is a GPU (it warns where
    there is none, as in PyTorch).

    Args:
        device: the device type.
        init_scale: the first scale.
        growth_factor: multiplies the scale after ``growth_interval`` updates without Inf or NaN.
        backoff_factor: multiplies the scale after a step with Inf or NaN.
        growth_interval: in updates.
        enabled: False for a disabled scaler.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = str(device)
        if enabled and self._device.startswith("cuda") and not is_available():
            warnings.warn("GradScaler is disabled: it is for cuda, and there is no GPU", stacklevel=2)
            enabled = False
        self._enabled = enabled
        if enabled and growth_factor <= 1:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and not backoff_factor < 1:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._overflow: dict[int, bool] = {}  # by optimiser: whether its unscaled gradients hold Inf or NaN
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        """False for a disabled scaler."""
        return self._enabled

    def get_scale(self) -> float:
        """The present scale; 1 when disabled."""
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * tensor(self._scale, dtype=float32, device=outputs.device)
        if isinstance(outputs, Iterable):
            scaled = [self.scale(output) for output in outputs]
            if hasattr(outputs, "_make"):
                return outputs._make(scaled)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, in place (to clip them, say).

        Raises:
            RuntimeError: a second call in one iteration, or a call after ``step``.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._overflow:
            raise RuntimeError("unscale_() has already been called on this optimizer since update().")
        parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
        grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
        with no_grad():
            if grads:
                self._overflow[id(optimizer)] = not all(bool(isfinite(grad).all()) for grad in grads)
            for grad in grads:
                grad.mul_(1 / self._scale)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)``, but not where a gradient is Inf or NaN.

        Raises:
            RuntimeError: a second step without ``update``; a closure.
            AssertionError: no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._overflow:
            self.unscale_(optimizer)
        if id(optimizer) not in self._overflow:
            raise AssertionError("No inf checks were recorded for this optimizer: there is no gradient.")
        self._stepped.add(id(optimizer))
        return None if self._overflow[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Grow or reduce the scale after the steps of an iteration, or set it.

        Raises:
            AssertionError: no gradients were unscaled before.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._overflow:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._overflow.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._growth_tracker = 0
                if math.isfinite(self._scale * self._growth_factor):
                    self._scale *= self._growth_factor
        self._overflow.clear()
        self._stepped.clear()

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor that reduces the scale."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor that reduces the scale."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Updates between growths."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the updates between growths."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors, interval and count, by PyTorch's names; empty when disabled."""
        if not self._enabled:
            return {}
        return {name: getattr(self, f"_{name.removeprefix('_')}") for name in _STATE}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a ``state_dict``.

        Raises:
            RuntimeError: an empty one, of a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("the state dict is empty: was it saved from a disabled GradScaler?")
        for name in _STATE:
            setattr(self, f"_{name.removeprefix('_')}", state_dict[name])
        self._scale = float(self._scale)


class CudaGradScaler(GradScaler):
    """``torch.cuda.amp.GradScaler``: ``GradScaler`` of the device "cuda"."""

    __init__ = functools.partialmethod(GradScaler.__init__, "cuda")


class CpuGradScaler(GradScaler):
    """``torch.cpu.amp.GradScaler``: ``GradScaler`` of the device "cpu"."""

    __init__ = functools.partialmethod(GradScaler.__init__, "cpu")
