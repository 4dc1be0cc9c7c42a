"""torch.cuda's names on machines without a GPU: they return PyTorch's results or say what to install."""

from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg
from minigrad import cuda
from tests.support.cases import raises
from tests.support.parity import torch

pytestmark = pytest.mark.skipif(cuda.is_available(), reason="this machine has a GPU")


SAME = """
is_available() device_count() manual_seed(1) manual_seed_all(1) seed() seed_all() empty_cache() set_device(-1)
memory_allocated() max_memory_allocated() memory_reserved() max_memory_reserved() is_bf16_supported() is_initialized()
get_rng_state_all() set_rng_state_all([])
"""


def test_harmless_calls_answer_as_pytorch() -> None:
    for call in SAME.split():
        assert eval(f"cuda.{call}") == eval(f"torch.cuda.{call}"), call
    assert len(cuda.memory_stats()) == len(torch.cuda.memory_stats())


NEED_A_GPU: list[Callable[[], Any]] = [
    *(cuda.synchronize, cuda.current_device, cuda.get_device_capability, cuda.mem_get_info, cuda.get_rng_state),
    *(cuda.init, lambda: cuda.get_device_name(0), lambda: cuda.get_device_properties(0)),
    *(lambda: cuda.set_device(0), lambda: cuda.device(0).__enter__()),
]


def test_calls_that_need_a_gpu_say_what_to_install() -> None:
    for call in NEED_A_GPU:
        raises(RuntimeError, r"pip install cupy|nvidia-smi", call)


def test_contexts_that_change_nothing() -> None:
    with cuda.device(-1), cuda.device(None):
        pass
    cuda.reset_peak_memory_stats()
    cuda.ipc_collect()


def test_a_device_that_is_not_a_gpu() -> None:
    raises(ValueError, "Expected a cuda device, but got: cpu", lambda: cuda.set_device("cpu"))


def test_the_seed_of_masks() -> None:
    def draw() -> list[bool]:
        return mg.nn.functional.dropout(mg.ones(100), 0.5).tolist()

    cuda.manual_seed(3)
    first = draw()
    cuda.manual_seed(3)
    assert draw() == first
    cuda.seed()
    assert draw() != first
