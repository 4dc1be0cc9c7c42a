"""Peers compute what minigrad computes, and what they lack is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import minigrad
from benchmarks import libraries, steps
from benchmarks.process import ask
from benchmarks.workloads import SIZES, build, loss_function, optimizer

Answers = dict[str, list[dict[str, Any]]]


@pytest.mark.parametrize(
    ("library", "work"), [*((name, "tiny-gpt") for name in libraries.PEERS), *((n, "tiny") for n in libraries.COMPILED)]
)
def test_loss_and_gradients_are_ours(library: str, work: str) -> None:
    module = libraries.PEERS[library]
    pytest.importorskip(libraries.PACKAGES.get(module, module))
    ours = steps.check("minigrad", work)
    theirs = ask("benchmarks.libraries:check", library, work=work)
    for what in ("loss", "norm"):
        steps.same(what, {"minigrad": ours[what], library: theirs[what]})
    trained = ask("benchmarks.libraries:train", library, work=work, seconds=0.001)
    assert trained["loss"] == pytest.approx(ours["loss"], rel=1e-5 if work == "tiny-gpt" else 0.05)
    assert len(trained["times"]) >= steps.LEAST


@pytest.mark.parametrize("work", ["tiny", "tiny-gpt"])
def test_jax_takes_our_steps(work: str) -> None:
    """The first step changes every weight as ours does: without dropout and with much decay."""
    pytest.importorskip("jax")
    size = replace(SIZES[work], dropout=0.0, weight_decay=0.5)
    model = build(minigrad, size, 0.0)
    loss, adam = loss_function(minigrad, size), optimizer(minigrad, size, model)
    peer = libraries.model("JAX", work, np.float32).__class__(size, np.float32)
    for _ in range(3):
        adam.zero_grad()
        ours = loss(model)
        ours.backward()
        adam.step()
        assert peer.step() == pytest.approx(ours.item(), rel=1e-4)
    for name, parameter in model.named_parameters():
        theirs = np.asarray(peer.state[0][name])
        np.testing.assert_allclose(theirs, parameter.detach().numpy(), atol=5e-5, err_msg=name)


def test_rows_say_what_is_missing_and_how_much_slower_the_others_are() -> None:
    found: Answers = {
        "minigrad": [{"times": [2.0, 2.0], "memory": 10.0}],
        "torch": [{"missing": "not installed"}],
        "MyGrad": [{"times": [60.0], "memory": 30.0}],
    }
    table = libraries.empty()
    libraries.add(table, "a step", found)
    assert table.written() == [
        ["a step", "minigrad", "2.0", "–", "1.0", "10"],
        ["a step", "PyTorch eager", "not installed", "–", "–", "–"],
        ["a step", "MyGrad", "60.0", "–", "30.0", "30"],
    ]
