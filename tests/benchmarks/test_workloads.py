"""The measured models: the same on both libraries, and their products counted as they are multiplied."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from benchmarks import steps, workloads
from benchmarks.peers import batch, causal, weights
from benchmarks.process import Differ

TINY = sorted(workloads.TINY)


@pytest.mark.parametrize("work", TINY)
def test_products_are_those_that_pytorch_multiplies(work: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    size = workloads.TINY[work]
    model = workloads.build(torch, size, 0.0)
    loss = workloads.loss_function(torch, size)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        loss(model).backward()
    assert counter.get_total_flops() == workloads.flops(size)


@pytest.mark.parametrize("work", TINY)
def test_both_libraries_compute_the_same(work: str) -> None:
    pytest.importorskip("torch")
    ours, theirs = (steps.check(library, work) for library in steps.BOTH)
    for what in ("loss", "norm"):
        steps.same(what, {"minigrad": ours[what], "torch": theirs[what]})


def test_another_loss_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = steps.check("minigrad", "tiny")
    from dataclasses import replace

    monkeypatch.setitem(workloads.SIZES, "tiny", replace(workloads.SIZES["tiny"], smoothing=0.1001))
    after = steps.check("minigrad", "tiny")
    for what in ("loss", "norm"):
        with pytest.raises(Differ, match="minigrad"):
            steps.same(what, {"minigrad": before[what], "torch": after[what]})


def test_peers_begin_with_the_same_weights_and_data() -> None:
    work = workloads.TINY["tiny-gpt"]
    model = workloads.build(minigrad, work, 0.0)
    for ours, theirs in zip(model.parameters(), weights(work, np.float32).values(), strict=True):
        assert np.array_equal(ours.detach().numpy(), theirs)
    given, wanted = batch(work)
    assert given.shape == (work.batch, work.length)
    assert np.array_equal(given[:, 1:], wanted.reshape(given.shape)[:, :-1])
    assert np.array_equal(np.isinf(causal(3, np.float32)), [[0, 1, 1], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize("work", TINY)
def test_masks_positions_and_batches_are_where_the_model_is(work: str, device: str) -> None:
    size = workloads.TINY[work]
    model = workloads.build(minigrad, size, 0.0).double().to(device)
    loss = workloads.loss_function(minigrad, size, device=device)(model)
    loss.backward()
    assert loss.item() == pytest.approx(steps.check("minigrad", work)["loss"], rel=steps.EXACT)
