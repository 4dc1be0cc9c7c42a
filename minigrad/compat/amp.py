"""``torch.amp.GradScaler``: scales losses so that small gradients do not underflow to 0 in float16.

Gradients are divided by the scale and checked for Inf and NaN on their device. A step reads back only one number.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd import no_grad
from ..backend import of, xp
from ..backend.dtype import Array, float16, float32
from ..cuda import is_available
from ..functions.creation import tensor
from ..nn.utils.clip_grad import scale_
from ..tensor import Tensor

__all__ = ["GradScaler"]

LARGEST = float(np.finfo(np.float32).max)  # scales and most losses are float32
_STATE = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


class GradScaler:
    """Scales losses so that small gradients do not underflow to 0 in float16 (Micikevicius et al. 2018).

    Args:
        device: the device type. With "cuda" but no GPU, the scaler warns and is disabled, as in PyTorch.
        init_scale: the initial scale.
        growth_factor: the factor by which the scale grows after ``growth_interval`` updates without Inf or NaN.
        backoff_factor: the factor by which the scale shrinks after a step with Inf or NaN.
        enabled: if False, the scaler has no effect.
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
            warnings.warn("GradScaler is disabled: it needs CUDA, but there is no GPU", stacklevel=2)
            enabled = False
        self._enabled = enabled
        if enabled and growth_factor <= 1:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and not backoff_factor < 1:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._scaled = False  # whether ``scale`` has been called
        # For each optimiser: the sum of its unscaled gradients per device, which is Inf or NaN if any gradient is.
        # After a check: whether any gradient is Inf or NaN.
        self._overflow: dict[int, list[Array] | bool] = {}
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        """Whether the scaler is enabled."""
        return self._enabled

    def get_scale(self) -> float:
        """The current scale; 1 when disabled."""
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or tensors in lists and tuples, by the scale."""
        if not self._enabled:
            return outputs
        self._scaled = True
        if isinstance(outputs, Tensor):
            if outputs.dtype is float32:
                return outputs * self._scale
            return outputs * tensor(self._scale, dtype=float32, device=outputs.device)  # a float16 loss would overflow
        if isinstance(outputs, Iterable):
            scaled = [self.scale(output) for output in outputs]
            if hasattr(outputs, "_make"):
                return outputs._make(scaled)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide an optimiser's gradients by the scale, in place (for example, to clip them). Raises AssertionError if
        ``scale`` was never called, RuntimeError if ``unscale_`` is called twice in an iteration or after ``step``, and
        ValueError for float16 gradients (parameters must be in float32)."""
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._overflow:
            raise RuntimeError("unscale_() has already been called on this optimizer since update().")
        if not self._scaled:
            raise AssertionError("The gradients are not scaled: scale() was never called.")
        parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
        grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if any(grad.dtype is float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        with no_grad(), np.errstate(all="ignore"):
            scale_(grads, 1 / self._scale)
            sums: dict[Any, list[Array]] = {}  # by device; one kernel per array, without reading back
            for array in (grad.array for grad in grads):
                sums.setdefault(of(array).device_of(array), []).append(xp(array).asarray(array.sum()))
            stacked = (xp(each[0]).stack(each) for each in sums.values())
            totals = [s.sum(dtype=np.complex128 if s.dtype.kind == "c" else np.float64) for s in stacked]
            if totals:
                self._overflow[id(optimizer)] = totals

    def _overflowed(self, optimizer: int) -> bool:
        """Whether an optimiser's gradients contain Inf or NaN. Reads from the device once."""
        overflow = self._overflow[optimizer]
        if not isinstance(overflow, bool):
            overflow = self._overflow[optimizer] = not all(math.isfinite(abs(total.item())) for total in overflow)
        return overflow

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``optimizer.step(...)`` unless a gradient is Inf or NaN. Raises RuntimeError for a closure or for a
        second step without ``update``, and AssertionError if there is no gradient or ``scale`` was never called."""
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
        return None if self._overflowed(id(optimizer)) else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Grow, shrink or set the scale after an iteration's steps. Raises AssertionError if there were no steps."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._overflow:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(map(self._overflowed, self._overflow)):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._growth_tracker = 0
                if self._scale * self._growth_factor <= LARGEST:
                    self._scale *= self._growth_factor
        self._overflow.clear()
        self._stepped.clear()

    def state_dict(self) -> dict[str, Any]:
        """The scale, factors, interval and count, with PyTorch's keys. It is empty if the scaler is disabled."""
        if not self._enabled:
            return {}
        return {name: getattr(self, f"_{name.removeprefix('_')}") for name in _STATE}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a ``state_dict``. Raises RuntimeError if it is empty (from a disabled scaler)."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("the state dict is empty: was it saved from a disabled GradScaler?")
        for name in _STATE:
            setattr(self, f"_{name.removeprefix('_')}", state_dict[name])
        self._scale = float(self._scale)


for _name in ("growth_factor", "backoff_factor", "growth_interval"):
    setattr(GradScaler, f"get_{_name}", functools.partialmethod(getattr, f"_{_name}"))
    setattr(GradScaler, f"set_{_name}", functools.partialmethod(setattr, f"_{_name}"))


class CudaGradScaler(GradScaler):
    """``torch.cuda.amp.GradScaler``: a ``GradScaler`` for the "cuda" device."""

    __init__ = functools.partialmethod(GradScaler.__init__, "cuda")


class CpuGradScaler(GradScaler):
    """``torch.cpu.amp.GradScaler``: a ``GradScaler`` for the "cpu" device."""

    __init__ = functools.partialmethod(GradScaler.__init__, "cpu")
