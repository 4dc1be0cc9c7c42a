"""Normalisation by channel: batch and instance norm, which share their parameters and running statistics."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ..backend import dtype as dt
from ..functions.creation import empty, tensor, zeros
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "SyncBatchNorm",
]

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class _NormBase(Module):
    """What batch and instance norm share.

    Attributes:
        weight, bias: (num_features), at first 1 and 0, or None.
        running_mean, running_var: (num_features) buffers, at first 0 and 1, or None.
        num_batches_tracked: a buffer that counts the batches of training, or None.
    """

    _version = 2
    _dims: ClassVar[tuple[int, ...]]  # how many axes an input may have
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

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

        def new(wanted: bool) -> Parameter | None:
            return Parameter(empty(num_features, device=device, dtype=dtype)) if wanted else None

        self.register_parameter("weight", new(affine))
        self.register_parameter("bias", new(affine and bias))
        mean = zeros(num_features, device=device, dtype=dtype)
        count = tensor(0, dtype=dt.int64, device=device)
        for name, start in zip(_STATISTICS, (mean, mean.add(1), count), strict=True):
            self.register_buffer(name, start if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        if self.track_running_stats:
            assert self.running_mean is not None and self.running_var is not None
            assert self.num_batches_tracked is not None
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and no statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim not in self._dims:
            raise ValueError(
                f"expected {' or '.join(f'{n}D' for n in self._dims)} input (got {input.array.ndim}D input)"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Files of before version 2 have no ``num_batches_tracked``."""
        version, key = local_metadata.get("version"), prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.num_batches_tracked is not None:
            state_dict.setdefault(key, self.num_batches_tracked)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """Batch norm over the axes that a subclass checks."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        tracks = self.training and self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        if tracks and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches so far
                momentum = 1.0 / float(self.num_batches_tracked)
        training = self.training or (self.running_mean is None and self.running_var is None)
        kept = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if kept else None,
            self.running_var if kept else None,
            self.weight,
            self.bias,
            training,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(x - mean) / √(variance + eps) · weight + bias for each channel (Ioffe and Szegedy 2015).

    (N, C) or (N, C, L) -> the same. In training, mean and variance are the batch's; in evaluation, the
    running ones, if there are any.

    Args:
        num_features: C. eps: under the root.
        momentum: by how much the running statistics move towards a batch's; None: they are the mean of all.
        affine: whether there is a weight. bias: whether a weight has a bias with it.
        track_running_stats: whether there are running statistics.
        device, dtype: of parameters and buffers.

    Attributes:
        weight, bias: (C), at first 1 and 0, or None. running_mean, running_var: (C), num_batches_tracked: ().

    Raises:
        ValueError: an input of another number of axes; one value a channel in training.
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch norm of (N, C, H, W). Args and attributes: as of ``BatchNorm1d``."""

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch norm of (N, C, D, H, W). Args and attributes: as of ``BatchNorm1d``."""

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm over all processes; here there is one, so it is BatchNorm of (N, C, ...).

    Args and attributes: as of ``BatchNorm1d``; ``process_group`` is without effect.
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
        """The module itself: its batch norms already see all that the one process sees."""
        return module


class _InstanceNorm(_NormBase):
    """Instance norm over the axes that a subclass checks; the smaller of ``_dims`` has no batch axis."""

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
        alone = input.array.ndim == self._dims[0]
        self._check_features(input, 0 if alone else 1)
        out = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if alone else out

    def _check_features(self, input: Tensor, dim: int) -> None:
        given = input.array.shape[dim]
        if given == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {given}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
            "passing in num_features, which is not used because affine=False",
            stacklevel=3,
        )


class InstanceNorm1d(_InstanceNorm):
    """(x - mean) / √(variance + eps) · weight + bias for each channel of each sample (Ulyanov et al. 2016).

    (N, C, L) or (C, L) -> the same. Args and attributes: as of ``BatchNorm1d``, but neither weight nor
    running statistics unless asked for.
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of (N, C, H, W) or (C, H, W). Args and attributes: as of ``InstanceNorm1d``."""

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of (N, C, D, H, W) or (C, D, H, W). Args and attributes: as of ``InstanceNorm1d``."""

    _dims = (4, 5)
