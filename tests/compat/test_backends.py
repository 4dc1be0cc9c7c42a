"""Switches, precision, and unavailable devices."""

import importlib
import operator
from typing import Any

import pytest

import minigrad as mg
from minigrad.backend import cublas
from tests.support.cases import cases, raises
from tests.support.parity import torch

SWITCHES = [f"backends.cudnn.{name}" for name in ("benchmark", "deterministic", "enabled", "allow_tf32")]


@cases("path", [*SWITCHES, "backends.cuda.matmul.allow_tf32"])
def test_switches_start_like_pytorchs_and_keep_their_values(path: str) -> None:
    place, _, name = path.rpartition(".")
    ours, theirs = (operator.attrgetter(place)(library) for library in (mg, torch))
    before = getattr(ours, name)
    assert before == getattr(theirs, name)
    setattr(ours, name, not before)
    assert getattr(ours, name) is not before
    setattr(ours, name, before)


def test_modules_of_switches() -> None:
    import minigrad.backends.cudnn as cudnn
    from minigrad.backends import cuda

    assert cudnn is mg.backends.cudnn and cudnn.is_available() is False and cudnn.version() is None
    assert mg.backends.mps.is_available() is mg.backends.mps.is_built() is False
    with cudnn.flags(enabled=False, deterministic=True):
        assert cudnn.deterministic
    assert cudnn.enabled and not cudnn.deterministic
    with cuda.sdp_kernel(enable_flash=True, enable_math=False):
        pass
    cuda.enable_flash_sdp(False)
    assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    cuda.enable_flash_sdp(True)
    assert not hasattr(cudnn, "nonesuch")


def test_the_three_names_of_tf32_agree() -> None:
    """PyTorch rejects a program that mixes old and new names, so they are compared under the old ones."""

    def state(library: Any) -> tuple[Any, ...]:
        products = library.backends.cuda.matmul
        return products.allow_tf32, library.get_float32_matmul_precision(), products.fp32_precision

    changes: list[Any] = [lambda t, p=p: t.set_float32_matmul_precision(p) for p in ("high", "medium", "highest")]
    changes += [lambda t, on=on: setattr(t.backends.cuda.matmul, "allow_tf32", on) for on in (True, False)]
    mg.backends.cuda.matmul.fp32_precision = "none"
    try:
        assert state(mg) == state(torch) == (False, "highest", "none")
        for change in changes:
            change(mg), change(torch)
            assert state(mg) == state(torch) and cublas.is_tf32_allowed() is state(mg)[0]
        for precision, allowed in (("tf32", True), ("ieee", False), ("tf32", True), ("none", False)):
            mg.backends.cuda.matmul.fp32_precision = precision
            assert state(mg) == (allowed, "high" if allowed else "highest", precision)
        with mg.backends.cuda.matmul.flags(allow_tf32=True):
            assert cublas.is_tf32_allowed()
        assert not cublas.is_tf32_allowed()
        with pytest.raises(RuntimeError, match="Unknown precision: fp8"):
            mg.backends.cuda.matmul.fp32_precision = "fp8"
        with pytest.warns(UserWarning, match="low is not one of"):
            mg.set_float32_matmul_precision("low")
        assert state(mg)[:2] == (False, "highest")
        raises(TypeError, None, lambda: mg.set_float32_matmul_precision(1))
    finally:
        for library in (mg, torch):
            library.backends.cuda.matmul.fp32_precision = "none"


def test_deterministic_modes_and_thread_counts_are_stored() -> None:
    mg.use_deterministic_algorithms(True, warn_only=True)
    assert mg.are_deterministic_algorithms_enabled() and mg.is_deterministic_algorithms_warn_only_enabled()
    mg.use_deterministic_algorithms(False)
    assert not mg.are_deterministic_algorithms_enabled()
    assert not mg.is_deterministic_algorithms_warn_only_enabled()
    mg.set_num_interop_threads(2)
    assert mg.get_num_interop_threads() == 2
    raises(RuntimeError, None, lambda: mg.set_num_interop_threads(0))


@cases("name", ["mps", "xpu"])
def test_an_unavailable_device(name: str) -> None:
    module: Any = importlib.import_module(f"minigrad.{name}")
    assert module is getattr(mg, name) and not module.is_available() and module.device_count() == 0
    module.manual_seed(1)
    module.empty_cache()
    raises(RuntimeError, f"no {name} device", module.synchronize)
    assert not hasattr(module, "nonesuch")


def test_the_cpu_is_available() -> None:
    assert mg.cpu.is_available() and mg.cpu.device_count() == 1
    mg.cpu.synchronize()


@pytest.mark.skipif(mg.cuda.is_available(), reason="this machine has a GPU")
def test_no_accelerator() -> None:
    assert not mg.accelerator.is_available() and mg.accelerator.device_count() == 0
    assert mg.accelerator.current_accelerator() is None and mg.accelerator.memory_allocated() == 0
    raises(RuntimeError, "cuda", mg.accelerator.synchronize)
