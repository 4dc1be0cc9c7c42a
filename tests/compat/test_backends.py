"""Switches, precision, and devices that are not here."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import minigrad as mg
from tests.support.parity import torch


@pytest.mark.parity
@pytest.mark.parametrize(
    "path",
    [
        "backends.cudnn.benchmark",
        "backends.cudnn.deterministic",
        "backends.cudnn.enabled",
        "backends.cudnn.allow_tf32",
        "backends.cuda.matmul.allow_tf32",
    ],
)
def test_switches_begin_as_pytorchs_and_are_kept(path: str) -> None:
    *parents, name = path.split(".")
    ours, theirs = mg, torch
    for part in parents:
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    before = getattr(ours, name)
    assert before == getattr(theirs, name)
    setattr(ours, name, not before)
    assert getattr(ours, name) is not before
    setattr(ours, name, before)


def test_modules_of_switches() -> None:
    import minigrad.backends.cudnn as cudnn
    from minigrad.backends import cuda

    assert cudnn is mg.backends.cudnn
    assert cudnn.is_available() is False
    assert cudnn.version() is None
    assert mg.backends.mps.is_available() is False
    assert mg.backends.mps.is_built() is False
    with cudnn.flags(enabled=False, deterministic=True):
        assert cudnn.deterministic
    assert cudnn.enabled
    assert not cudnn.deterministic
    with cuda.sdp_kernel(enable_flash=True, enable_math=False):
        pass
    cuda.enable_flash_sdp(False)
    assert not cuda.flash_sdp_enabled()
    assert cuda.math_sdp_enabled()
    cuda.enable_flash_sdp(True)
    assert not hasattr(cudnn, "nonesuch")


def test_precision_and_repeatability_are_kept() -> None:
    assert mg.get_float32_matmul_precision() == "highest"
    mg.set_float32_matmul_precision("high")
    assert mg.get_float32_matmul_precision() == "high"
    mg.set_float32_matmul_precision("highest")
    with pytest.raises(TypeError):
        mg.set_float32_matmul_precision(1)
    mg.use_deterministic_algorithms(True, warn_only=True)
    assert mg.are_deterministic_algorithms_enabled()
    assert mg.is_deterministic_algorithms_warn_only_enabled()
    mg.use_deterministic_algorithms(False)
    assert not mg.are_deterministic_algorithms_enabled()
    assert not mg.is_deterministic_algorithms_warn_only_enabled()
    mg.set_num_interop_threads(2)
    assert mg.get_num_interop_threads() == 2
    with pytest.raises(RuntimeError):
        mg.set_num_interop_threads(0)


@pytest.mark.parametrize("name", ["mps", "xpu"])
def test_a_device_that_is_not_here(name: str) -> None:
    module: Any = importlib.import_module(f"minigrad.{name}")
    assert module is getattr(mg, name)
    assert not module.is_available()
    assert module.device_count() == 0
    module.manual_seed(1)
    module.empty_cache()
    with pytest.raises(RuntimeError, match=f"no {name} device"):
        module.synchronize()
    assert not hasattr(module, "nonesuch")


def test_the_cpu_is_here() -> None:
    assert mg.cpu.is_available()
    assert mg.cpu.device_count() == 1
    mg.cpu.synchronize()


@pytest.mark.skipif(mg.cuda.is_available(), reason="this machine has a GPU")
def test_no_accelerator() -> None:
    assert not mg.accelerator.is_available()
    assert mg.accelerator.device_count() == 0
    assert mg.accelerator.current_accelerator() is None
    assert mg.accelerator.memory_allocated() == 0
    with pytest.raises(RuntimeError, match="cuda"):
        mg.accelerator.synchronize()
