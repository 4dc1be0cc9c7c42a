"""Layers that normalise over the last axes, per channel or per channel group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..autograd.tracebacks import warn
from ..backend import dtype as dt
from ..functions.arguments import in_float32
from ..functions.creation import tensor, zeros
from ..tensor import Tensor
from . import functional as F, init
from .functional._checks import tuple_of
from .functional.normalization import move, scaled
from .layer import FunctionLayer, Layer
from .module import Module
from .parameter import Parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d"]
__all__ += ["InstanceNorm3d", "LayerNorm", "LocalResponseNorm", "RMSNorm", "SyncBatchNorm"]


class _Affine(Layer):
    """Base class of normalisation layers. The weight is initially 1 and the bias 0; either may be None."""

    def reset_parameters(self) -> None:
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = self._parameters.get(name)
            if parameter is not None:
                fill(parameter)


class LayerNorm(_Affine):
    """(x - mean) / √(variance + eps) · weight + bias over the last axes (Ba et al. 2016).

    Args:
        normalized_shape: the length of the last axis, or the lengths of several last axes.
        eps: added to the variance.
        elementwise_affine: whether to multiply by a weight. bias: whether to add a bias as well.

    Attributes:
        weight: shaped ``normalized_shape``, initially 1, or None. bias: shaped like the weight, initially 0, or None.

    >>> x = nn.LayerNorm(4)(mg.tensor([[1.0, 2.0, 3.0, 4.0]]))
    >>> abs(x.mean().item()) < 1e-6
    True
    """

    _repr_fields, _unnamed = ("normalized_shape", "eps", "elementwise_affine", "bias"), 1

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape = tuple_of(normalized_shape, 1)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = shape if elementwise_affine else None
        self._add_parameters(device, dtype, weight=weight, bias=weight if bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Affine):
    """x / √(mean of x² + eps) · weight over the last axes (Zhang and Sennrich 2019). See ``LayerNorm`` for the
    arguments and the weight. If ``eps`` is None, it is the machine epsilon (that of float32 for 16-bit dtypes)."""

    _repr_fields, _unnamed = ("normalized_shape", "eps", "elementwise_affine"), 1

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape = tuple_of(normalized_shape, 1)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._add_parameters(device, dtype, weight=shape if elementwise_affine else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Affine):
    """(x - mean) / √(variance + eps) · weight + bias over each channel group (Wu and He 2018): (N, C, ...) -> the same
    shape. ``num_groups`` must divide C. ``num_channels``: C. ``affine``: whether to use a weight. The other arguments
    and attributes are as in ``LayerNorm``, except that the weight and bias have shape (C)."""

    _repr_fields, _unnamed = ("num_groups", "num_channels", "eps", "affine", "bias"), 2

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        weight = num_channels if affine else None
        self._add_parameters(device, dtype, weight=weight, bias=weight if bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LocalResponseNorm(FunctionLayer, function=F.local_response_norm):
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
    _unnamed = 1


class _NormBase(_Affine):
    """Base class of batch and instance norm. It stores parameters, and running statistics as buffers."""

    _version = 2
    _repr_fields, _unnamed = ("num_features", "eps", "momentum", "affine", "bias", "track_running_stats"), 1
    _dims: ClassVar[tuple[int, ...]]  # the supported numbers of input axes
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
        mean = zeros(num_features, device=device, dtype=dtype)
        count = tensor(0, dtype=dt.int64, device=device)
        statistics = {"running_mean": mean, "running_var": mean.add(1), "num_batches_tracked": count}
        for name, initial in statistics.items():
            self.register_buffer(name, initial if track_running_stats else None)
        weight = num_features if affine else None
        self._add_parameters(device, dtype, weight=weight, bias=weight if bias else None)

    def reset_running_stats(self) -> None:
        """Reset the running mean to 0, the running variance to 1, and the batch count to 0."""
        for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            if self.track_running_stats:
                getattr(self, name).fill_(value)

    def reset_parameters(self) -> None:
        """Reset the weight to 1, the bias to 0, and the running statistics to their initial values."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim not in self._dims:
            expected = f"expected {' or '.join(f'{n}D' for n in self._dims)} input (got {input.array.ndim}D input)"
            actual = f"takes (N, C, ...), but the input has shape {tuple(input.array.shape)}"
            raise ValueError(f"{expected}: {self._get_name()} {actual}")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *others: Any, **kwargs: Any
    ) -> None:
        """Load the state. State dicts saved before version 2 lack ``num_batches_tracked``."""
        version, key = local_metadata.get("version"), prefix + "num_batches_tracked"
        if (version is None or version < 2) and (count := self.num_batches_tracked) is not None:
            state_dict.setdefault(key, tensor(0, dtype=dt.int64) if count.is_meta else count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others, **kwargs)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the statistics are the mean over all batches so far
                momentum = 1.0 / float(self.num_batches_tracked)
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        return self._normalize(input, uses_batch, momentum)

    def _normalize(self, input: Tensor, uses_batch: bool, momentum: float) -> Tensor:
        takes_running = self.track_running_stats or not self.training
        running = (self.running_mean, self.running_var) if takes_running else (None, None)
        return F.batch_norm(input, *running, self.weight, self.bias, uses_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm, dims=(2, 3)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel (Ioffe and Szegedy 2015): (N, C) or (N, C, L) ->
    the same shape. Training uses the batch statistics, and evaluation uses the running statistics, if any.

    Args:
        num_features: C. eps: added to the variance. affine: whether to use a weight. bias: whether to use a bias.
        momentum: the weight of a new batch in the running statistics; None averages over all batches.
        track_running_stats: whether to keep running statistics.

    Attributes:
        weight, bias: (C), initially 1 and 0, or None. running_mean, running_var: (C) buffers, initially 0 and 1, or
            None. num_batches_tracked: (), the number of training batches, or None.

    Raises ValueError if the input has the wrong number of axes or, in training, only one value per channel."""


class BatchNorm2d(_BatchNorm, dims=(4,)):
    """Batch norm for inputs (N, C, H, W). See ``BatchNorm1d`` for the arguments and attributes."""


class BatchNorm3d(_BatchNorm, dims=(5,)):
    """Batch norm for inputs (N, C, D, H, W). See ``BatchNorm1d`` for the arguments and attributes."""


class SyncBatchNorm(_BatchNorm):
    """Batch norm for inputs (N, C, ...) with statistics across all ranks or the ranks in ``process_group``. With a
    single rank or in evaluation, it is plain batch norm. See ``BatchNorm1d`` for the arguments and attributes. Raises
    ValueError if there are fewer than two axes or, in training, only one value per channel across all ranks."""

    def __init__(self, num_features: int, *options: Any, process_group: Any = None, **kwargs: Any) -> None:
        super().__init__(num_features, *options, **kwargs)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.array.ndim}D input)")

    def _normalize(self, input: Tensor, uses_batch: bool, momentum: float) -> Tensor:
        from .. import distributed
        from ..distributed import functional

        group = self.process_group
        if not uses_batch or not distributed.is_initialized() or distributed.get_world_size(group) == 1:
            return super()._normalize(input, uses_batch, momentum)
        dtype, input = input.dtype, in_float32(input)  # 16-bit dtypes are summed in float32
        dims = [0, *range(2, input.ndim)]
        shape = [1, -1, *[1] * (input.ndim - 2)]
        count = tensor(input.numel() / self.num_features, dtype=dt.float64)
        distributed.all_reduce(count, group=group)
        total = float(count)
        if total <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got {total:g} across ranks")
        # Gradients flow through both reductions, and thus to the inputs of all ranks
        mean = functional.all_reduce(input.sum(dims), group=group) / total
        centred = input - mean.reshape(shape)
        variance = functional.all_reduce((centred * centred).sum(dims), group=group) / total
        move(self.running_mean, mean.detach(), momentum)
        move(self.running_var, variance.detach() * (total / (total - 1)), momentum)
        return scaled(centred, variance.reshape(shape), self.weight, self.bias, self.eps).to(dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each batch norm in a module with a SyncBatchNorm that shares its parameters; return the module."""
        converted = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            statistics = module.momentum, module.affine, module.track_running_stats
            converted = cls(module.num_features, module.eps, *statistics, process_group=process_group)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _InstanceNorm(_NormBase):
    """Base class of instance norms. An input with the smaller number of axes in ``dims`` is unbatched."""

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
        dim = 0 if is_single else 1
        size = input.array.shape[dim]
        if size != self.num_features and self.affine:
            expected = f"expected input's size at dim={dim} to match num_features ({self.num_features})"
            raise ValueError(f"{expected}, but got: {size}.")
        if size != self.num_features:
            warn(f"input's size at dim={dim} does not match num_features, which is not used because affine=False")
        x = input.unsqueeze(0) if is_single else input
        uses_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        parameters = (self.running_mean, self.running_var, self.weight, self.bias)
        out = F.instance_norm(x, *parameters, uses_input, momentum, self.eps)
        return out.squeeze(0) if is_single else out


class InstanceNorm1d(_InstanceNorm, dims=(2, 3)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel of each sample (Ulyanov et al. 2016): (N, C, L)
    or (C, L). See ``BatchNorm1d`` for the arguments. By default, there are no parameters or running statistics."""


class InstanceNorm2d(_InstanceNorm, dims=(3, 4)):
    """Instance norm for inputs (N, C, H, W) or (C, H, W). See ``InstanceNorm1d`` for the arguments."""


class InstanceNorm3d(_InstanceNorm, dims=(4, 5)):
    """Instance norm for inputs (N, C, D, H, W) or (C, D, H, W). See ``InstanceNorm1d`` for the arguments."""
