"""The NumPy backend, and the lookup of an array's backend."""

from typing import Any

import numpy as np

from minigrad.backend import Device, for_device, is_array, kernels, of, xp
from minigrad.compat.ops.registry import REGISTRY


def test_arrays_find_their_backend(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3,))
    for array in (np.ones(2), np.float32(1), mapped, np.ma.masked_array([1.0])):
        assert of(array).name == "numpy"
        assert xp(array) is np
        assert is_array(array)
    assert not is_array([1.0])
    assert not is_array(1.0)
    assert for_device(Device("cpu")) is of(np.ones(1))


def test_conversions_share_memory() -> None:
    array, numpy = np.ones(3), of(np.ones(1))
    assert numpy.asarray(array, Device("cpu")) is numpy.to_numpy(array) is array
    assert numpy.device_of(array) == "cpu" and numpy.kernels("nothing") == ()


def test_every_fused_op_has_a_kernel() -> None:
    fused = {op.kernel for op in REGISTRY.values() if op.kernel}
    assert fused == kernels.NAMES - {"adam", "clip_grad_norm", "muon", "sgd"}
