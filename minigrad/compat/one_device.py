"""``DataParallel`` and similar classes for one process and one device. They run the module itself, without splitting,
copying or sending anything. Functions with a devices argument raise NotImplementedError for several devices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from ..backend import Device
from ..nn.layer import FunctionLayer
from ..nn.module import Module

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]

Devices = Sequence[Any]


def _check_one(devices: Devices, what: str) -> None:
    if len(devices) != 1:
        problem = f"{what} for {len(devices)} devices is not supported. Pass one device, or none"
        raise NotImplementedError(f"minigrad computes on one device: {problem}")


class Wrapper(FunctionLayer, fields=True):
    """A module that calls another module."""

    _repr_fields = ()

    module: Module
    device_ids: Devices | None = None
    output_device: Any = None
    dim: int = 0

    def __post_init__(self) -> None:
        index: Any = lambda device: device if isinstance(device, int) else Device(device).index
        self.device_ids = [index(device) for device in self.device_ids or ()]
        _check_one(self.device_ids or [0], type(self).__name__)
        self.output_device = None if self.output_device is None else index(self.output_device)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DataParallel(Wrapper):
    """Calls ``module`` with the whole batch. ``device_ids`` is one GPU or None. ``output_device`` and ``dim`` are
    ignored. Raises NotImplementedError for several devices."""


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Devices | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call ``module(*inputs, **module_kwargs)``."""
    _check_one(device_ids or [0], "data_parallel")
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


def parallel_apply(
    modules: Sequence[Module], inputs: Devices, kwargs_tup: Any = None, devices: Any = None
) -> list[Any]:
    """Call each module with its own inputs, one after another."""
    if len(modules) != len(inputs):
        raise AssertionError(f"got {len(modules)} modules, but {len(inputs)} inputs")
    calls = zip(modules, inputs, kwargs_tup or [None] * len(modules), strict=True)
    return [call(*(x if isinstance(x, (list, tuple)) else (x,)), **(kwargs or {})) for call, x, kwargs in calls]


def replicate(network: Module, devices: Devices, detach: bool = False) -> list[Module]:
    """The network for the only device, in a list."""
    _check_one(devices, "replicate")
    return [network]


def scatter(inputs: Any, target_gpus: Devices, dim: int = 0) -> list[Any]:
    """The inputs for the only device, in a list; an empty list if there are no inputs."""
    _check_one(target_gpus, "scatter")
    return [inputs] if inputs or not isinstance(inputs, (tuple, list, dict)) else []


def gather(outputs: Devices, target_device: Any, dim: int = 0) -> Any:
    """The output of the only device."""
    _check_one(outputs, "gather")
    return outputs[0]


# The functions of ``nn.parallel._functions``: ``Broadcast.apply(target_gpus, *tensors)`` and similar


def _tensors(name: str, options: int, devices: Any, *args: Any) -> Any:
    """The tensor arguments, which follow ``options`` other arguments."""
    _check_one(devices if isinstance(devices, (tuple, list)) else [devices], f"{name}.apply")
    return args[options:]


Broadcast, ReduceAddCoalesced, Scatter = (
    SimpleNamespace(apply=partial(_tensors, name, options))
    for options, name in enumerate(("Broadcast", "ReduceAddCoalesced", "Scatter"))
)
Gather = SimpleNamespace(apply=lambda target_device, dim, *tensors: gather(tensors, target_device))
