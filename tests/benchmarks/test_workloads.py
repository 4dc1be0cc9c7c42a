"""The measured models: both libraries agree, and the count of multiplications is correct."""

import math

import pytest

import minigrad
from benchmarks import steps, workloads

TINY = sorted(workloads.TINY)


@pytest.mark.parametrize("work", TINY)
def test_products_and_results_match_pytorch(work: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    size = workloads.TINY[work]
    model = workloads.build(torch, size, 0.0)
    loss = workloads.loss_function(torch, size)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        loss(model).backward()
    assert counter.get_total_flops() == sum(2 * math.prod(product) for product in workloads.products(size))
    ours, theirs = (steps.check(library, work) for library in steps.BOTH)
    for name in ("loss", "norm"):
        steps.same(name, {"minigrad": ours[name], "torch": theirs[name]})


@pytest.mark.parametrize("work", TINY)
def test_masks_positions_and_batches_are_on_the_models_device(work: str, device: str) -> None:
    size = workloads.TINY[work]
    model = workloads.build(minigrad, size, 0.0).double().to(device)
    loss = workloads.loss_function(minigrad, size, device=device)(model)
    loss.backward()
    assert loss.item() == pytest.approx(steps.check("minigrad", work)["loss"], rel=steps.EXACT)
