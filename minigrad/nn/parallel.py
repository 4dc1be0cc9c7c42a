"""``DataParallel`` and its like for one device: the module itself, under PyTorch's state-dict keys.

There is one process and one device, so that nothing is split, copied or sent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..backend import Device
from .module import Module

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]

Devices = Sequence[Any]


class _Wrapper(Module):
    """A module that calls another one."""

    def __init__(self, module: Module, device_ids: Devices | None, output_device: Any, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids = [_index(one) for one in device_ids or ()]
        if len(self.device_ids) > 1:
            raise _several(type(self).__name__, self.device_ids)
        self.output_device = output_device if output_device is None else _index(output_device)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives, with all its arguments."""
        return self.module(*inputs, **kwargs)


class DataParallel(_Wrapper):
    """Calls ``module`` with the whole batch, on the device where it is.

    Args:
        module: a module.
        device_ids: one GPU, or none.
        output_device: kept.
        dim: the batch's dimension; kept.

    Raises:
        NotImplementedError: for several devices.
    """

    def __init__(
        self, module: Module, device_ids: Devices | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__(module, device_ids, output_device, dim)


class DistributedDataParallel(_Wrapper):
    """Calls ``module``, in a world of one process: the gradients are those of all.

    Args:
        module: a module.
        device_ids: one GPU, or none.
        output_device: kept.
        dim: the batch's dimension; kept.
        find_unused_parameters: kept, as are the other options of how gradients are sent.

    Raises:
        NotImplementedError: for several devices.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Devices | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__(module, device_ids, output_device, dim)
        self.find_unused_parameters = find_unused_parameters
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.process_group = process_group
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """For backwards whose gradients are only added up: here they are never sent."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """A context for inputs of different lengths: there are no others to wait for."""
        return _nothing()

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """The hook is never called: nothing is sent."""


DistributedDataParallelCPU = DistributedDataParallel


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Devices | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """``module(*inputs, **module_kwargs)``."""
    _one(device_ids or [0], "data_parallel")
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any] | None] | None = None,
    devices: Any = None,
) -> list[Any]:
    """Call each module with its own inputs, one after the other."""
    if len(modules) != len(inputs):
        raise AssertionError(f"{len(modules)} modules, but {len(inputs)} inputs")
    given = zip(modules, inputs, kwargs_tup or [None] * len(modules), strict=True)
    return [
        call(*(args if isinstance(args, (list, tuple)) else (args,)), **(kwargs or {})) for call, args, kwargs in given
    ]


def replicate(network: Module, devices: Devices, detach: bool = False) -> list[Module]:
    """The network, for the one device.

    Raises:
        NotImplementedError: for several devices.
    """
    _one(devices, "replicate")
    return [network]


def scatter(inputs: Any, target_gpus: Devices, dim: int = 0) -> list[Any]:
    """The inputs, for the one device; no inputs for none.

    Raises:
        NotImplementedError: for several devices.
    """
    _one(target_gpus, "scatter")
    return [inputs] if inputs or not isinstance(inputs, (tuple, list, dict)) else []


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Devices, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """``scatter`` of positional and keyword arguments."""
    _one(target_gpus, "scatter_kwargs")
    return (tuple(inputs),), (kwargs or {},)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The one device's output.

    Raises:
        NotImplementedError: for several devices.
    """
    _one(outputs, "gather")
    return outputs[0]


class _OneDevice:
    """What PyTorch's Broadcast, Scatter, Gather and ReduceAddCoalesced do to the tensors of one device."""

    @staticmethod
    def apply(target: Any, *inputs: Any) -> tuple[Any, ...]:
        """The tensors as they are.

        Raises:
            NotImplementedError: for several devices.
        """
        _one(target if isinstance(target, (tuple, list)) else [target], "apply")
        return inputs


class Broadcast(_OneDevice):
    """``Broadcast.apply(target_gpus, *tensors)``: the tensors."""


class ReduceAddCoalesced(_OneDevice):
    """``ReduceAddCoalesced.apply(destination, num_inputs, *grads)``: the gradients."""

    @staticmethod
    def apply(target: Any, *inputs: Any) -> tuple[Any, ...]:
        """The gradients as they are; ``inputs`` begins with how many there are for each device."""
        return inputs[1:]


class Scatter(_OneDevice):
    """``Scatter.apply(target_gpus, chunk_sizes, dim, tensor)``: the tensor."""

    @staticmethod
    def apply(target: Any, *inputs: Any) -> tuple[Any, ...]:
        """The tensor, alone in a tuple."""
        _one(target, "Scatter.apply")
        return inputs[2:]


class Gather(_OneDevice):
    """``Gather.apply(target_device, dim, *tensors)``: the one tensor."""

    @staticmethod
    def apply(target: Any, *inputs: Any) -> Any:
        """The one device's tensor."""
        return gather(inputs[1:], target)


def _one(devices: Devices, what: str) -> None:
    if len(devices) != 1:
        raise _several(what, devices)


def _several(what: str, devices: Devices) -> NotImplementedError:
    return NotImplementedError(
        f"minigrad computes on one device: there is no {what} for {len(devices)}. Name one device, or none"
    )


def _index(device: Any) -> int | None:
    return device if isinstance(device, int) else Device(device).index


# In PyTorch each of these is a file, some called as a function that must stay the attribute: they are entered
# as imported, so that `import` leaves the attributes alone.
for _name in ("_functions", "data_parallel", "distributed", "parallel_apply", "replicate", "scatter_gather"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
__path__: list[str] = []
