"""Normalisation by channel: batch and instance norm, which share their parameters and running statistics."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ..backend import dtype as dt
from ..functions.creation import tensor, zeros
from ..tensor import Tensor
from . import functional as F
from .module import Module
from .normalization import Affine
from .parameter import Parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
__all__ += ["SyncBatchNorm"]


class _NormBase(Affine):
    """What batch and instance norm share.

    Attributes:
        weight, bias: (num_features), initially 1 and 0, or None.
        running_mean, running_var: (num_features) buffers, initially 0 and 1, or None.
        num_batches_tracked: a buffer that counts the training batches, or None.
    """

    _version = 2
    _dims: ClassVar[tuple[int, ...]]  # the numbers of axes that an input may have
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init_subclass__(cls, dims: tuple[int, ...] = ()) -> None:
        super().__init_subclass__()
        if dims:
            cls._dims = dims

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        mean = zeros(num_features, device=device, dtype=dtype)
        count = tensor(0, dtype=dt.int64, device=device)
        statistics = {"running_mean": mean, "running_var": mean.add(1), "num_batches_tracked": count}
        for name, initial in statistics.items():
            self.register_buffer(name, initial if track_running_stats else None)
        self._add_affine(num_features, device, dtype, weight=affine, bias=affine and bias)

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            if self.track_running_stats:
                getattr(self, name).fill_(value)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and initial statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim not in self._dims:
            expected = " or ".join(f"{n}D" for n in self._dims)
            raise ValueError(f"expected {expected} input (got {input.array.ndim}D input)")

    def extra_repr(self) -> str:
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        rest = f"momentum={self.momentum}, {affine}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, {rest}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *others: Any, **named: Any
    ) -> None:
        """Files from before version 2 have no ``num_batches_tracked``."""
        version, key = local_metadata.get("version"), prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.num_batches_tracked is not None:
            state_dict.setdefault(key, self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others, **named)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the statistics become the mean of all batches so far
                momentum = 1.0 / float(self.num_batches_tracked)
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        takes_running = self.track_running_stats or not self.training
        running = (self.running_mean, self.running_var) if takes_running else (None, None)
        return F.batch_norm(input, *running, self.weight, self.bias, uses_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm, dims=(2, 3)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel (Ioffe and Szegedy 2015).

    (N, C) or (N, C, L) -> the same. In training, mean and variance are those of the batch; in evaluation, the
    running ones, if there are any.

    Args:
        num_features: C. eps: added to the variance.
        momentum: the weight of a new batch in the running statistics; None: they are the mean over all batches.
        affine: whether there is a weight. bias: whether there is a bias, too.
        track_running_stats: whether there are running statistics.
        device, dtype: of parameters and buffers.

    Attributes:
        weight, bias: (C), initially 1 and 0, or None. running_mean, running_var: (C), num_batches_tracked: ().

    Raises:
        ValueError: the input has another number of axes, or, in training, one value a channel.
    """


class BatchNorm2d(_BatchNorm, dims=(4,)):
    """Batch norm of (N, C, H, W). Args and attributes: as of ``BatchNorm1d``."""


class BatchNorm3d(_BatchNorm, dims=(5,)):
    """Batch norm of (N, C, D, H, W). Args and attributes: as of ``BatchNorm1d``."""


class SyncBatchNorm(_BatchNorm):
    """Batch norm over all processes; there is one process here, so this is BatchNorm of (N, C, ...).

    Args and attributes: as of ``BatchNorm1d``; ``process_group`` has no effect.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.array.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module itself: one process sees the whole batch."""
        return module


class _InstanceNorm(_NormBase):
    """Instance norm; an input with the smaller number of axes in ``dims`` has no batch axis."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        is_single = input.array.ndim == self._dims[0]
        self._check_features(input, 0 if is_single else 1)
        x = input.unsqueeze(0) if is_single else input
        uses_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        parameters = (self.running_mean, self.running_var, self.weight, self.bias)
        out = F.instance_norm(x, *parameters, uses_input, momentum, self.eps)
        return out.squeeze(0) if is_single else out

    def _check_features(self, input: Tensor, dim: int) -> None:
        size = input.array.shape[dim]
        if size == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {size}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
            "passing in num_features, which is not used because affine=False",
            stacklevel=3,
        )


class InstanceNorm1d(_InstanceNorm, dims=(2, 3)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel of each sample (Ulyanov et al. 2016).

    (N, C, L) or (C, L) -> the same. Args and attributes: as of ``BatchNorm1d``, but by default there are no
    parameters and no running statistics.
    """


class InstanceNorm2d(_InstanceNorm, dims=(3, 4)):
    """Instance norm of (N, C, H, W) or (C, H, W). Args and attributes: as of ``InstanceNorm1d``."""


class InstanceNorm3d(_InstanceNorm, dims=(4, 5)):
    """Instance norm of (N, C, D, H, W) or (C, D, H, W). Args and attributes: as of ``InstanceNorm1d``."""
