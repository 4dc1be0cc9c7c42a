"""Every CUDA source compiles for the GPUs in use with NVIDIA's compiler, which needs no GPU."""

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from minigrad.backend import kernels
from minigrad.backend.kernels import _launch as launch
from minigrad.backend.kernels.scaled_dot_product_attention_cuda import plan

SOURCES = sorted(path.stem for path in Path(kernels.__path__[0]).glob("*.cu"))


@pytest.fixture(scope="module")
def nvrtc() -> Any:
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("needs CuPy (cupy-cuda12x), nvidia-cuda-nvrtc-cu12 and nvidia-cuda-runtime-cu12")
    importlib.import_module("cupy")  # finds the compiler's library
    compiler = importlib.import_module("cupy_backends.cuda.libs.nvrtc")
    try:
        compiler.getVersion()
    except RuntimeError as error:
        pytest.skip(f"the NVRTC library is not installed (nvidia-cuda-nvrtc-cu12): {error}")
    return compiler


def headers() -> tuple[str, ...]:
    """The option that names the folder of CUDA headers for the compiler's version, from PyPI or from a toolkit."""
    major: int = importlib.import_module("cupy_backends.cuda.libs.nvrtc").getVersion()[0]
    spec = importlib.util.find_spec("nvidia")
    packages = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    name = "cuda_runtime" if major < 13 else f"cu{major}"  # nvidia-cuda-runtime-cu12; nvidia-cuda-runtime from 13 on
    toolkit = Path(os.environ.get("CUDA_PATH", "/usr/local/cuda"))
    places = (place / "include" for place in (*(package / name for package in packages), toolkit))
    return tuple(f"-I{place}" for place in places if (place / "cuda_fp16.h").exists())[:1]


def compiled(nvrtc: Any, source: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    """The GPU's machine code, and the compiler's log."""
    program = nvrtc.createProgram(launch.code(source), f"{source}.cu", (), ())
    try:
        nvrtc.compileProgram(program, options)
        return nvrtc.getCUBIN(program), nvrtc.getProgramLog(program)
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)


def check_source(nvrtc: Any, source: str, bits: int, arch: str, brain: bool = False) -> None:
    """Compile a source as CuPy does, and fail on any warning."""
    if bits == 16 and not headers():
        pytest.skip("cuda_fp16.h is not installed (nvidia-cuda-runtime-cu12, or nvidia-cuda-runtime for CUDA 13)")
    defines = (("HEAD", 64), ("TILE", 32)) if source == "scaled_dot_product_attention" else ()
    options = launch.options(bits, (*defines, ("REAL_BFLOAT", 1)) if brain else defines)
    as_cupy_does = ("--device-as-default-execution-space", "-ftz=true", f"-arch={arch}")
    code, log = compiled(nvrtc, source, options + as_cupy_does + headers())
    assert len(code) > 1000
    assert "warning" not in log


@pytest.mark.parametrize("source", SOURCES)
def test_source_compiles(nvrtc: Any, source: str) -> None:
    check_source(nvrtc, source, 32, "sm_90")


@pytest.mark.nightly
@pytest.mark.parametrize("source", SOURCES)
def test_source_compiles_for_every_dtype_and_an_older_gpu(nvrtc: Any, source: str) -> None:
    for bits, arch in ((16, "sm_80"), (16, "sm_90"), (32, "sm_80"), (64, "sm_80"), (64, "sm_90")):
        check_source(nvrtc, source, bits, arch)
    check_source(nvrtc, source, 16, "sm_90", brain=True)


@pytest.mark.nightly
@pytest.mark.parametrize("head", [64, 128, 256])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_attention_keeps_its_sums_in_registers(nvrtc: Any, head: int, itemsize: int) -> None:
    """No array that was meant for registers ends up in slow local memory."""
    cut = plan(head, 1024, itemsize, 227 << 10)
    assert cut is not None
    options = launch.options(8 * itemsize, cut.macros)
    _, log = compiled(nvrtc, "scaled_dot_product_attention", (*options, "-arch=sm_90", "--ptxas-options=-v"))
    frames = [line for line in log.splitlines() if "stack frame" in line]
    assert len(frames) == 3
    assert all("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in line for line in frames)
