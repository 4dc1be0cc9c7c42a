"""The training steps that are measured: those of ``benchmarks.workloads``, and one of nanoGPT's size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from ..process import Missing
from ..workloads import TINY, WORK, Work, build, loss_function, optimizer
from .place import Place

GPT = replace(
    WORK["gpt-384"],
    title="decoder-only 12 × 768, T 1024, V 50,304",
    layers=12,
    width=768,
    heads=12,
    hidden=3072,
    vocabulary=50_304,  # GPT-2's, rounded up as nanoGPT does
    batch=4,
    length=1024,
    dropout=0.0,
)
PRECISIONS = ("float32", "bfloat16", "TF32")


def works(place: Place) -> dict[str, Work]:
    """The five workloads, or tiny ones."""
    return place.choose(WORK, TINY)


def larger(place: Place) -> dict[str, Work]:
    """The same and nanoGPT's size."""
    return place.choose({**WORK, "gpt-768": GPT}, TINY)


class Step:
    """A training step that does not wait for the device.

    Args:
        precision: "float32"; "TF32", of products; "bfloat16", by autocast.
        capturable: whether PyTorch may capture it as a CUDA graph.

    Raises:
        Missing: the library lacks a package for bfloat16.
    """

    def __init__(self, place: Place, work: Work, precision: str = "float32", capturable: bool = False) -> None:
        torch = self.torch = place.module()
        if precision == "bfloat16" and place.library == "minigrad" and not find_spec("ml_dtypes"):
            raise Missing("ml_dtypes is not installed")
        self.device, self.precision, self.cache = place.named(), precision, not capturable
        torch.set_float32_matmul_precision("high" if precision == "TF32" else "highest")
        torch.manual_seed(0)
        self.model = build(torch, work, work.dropout).to(self.device)
        self.loss_of = loss_function(torch, work, device=self.device)
        self.optimizer = optimizer(torch, work, self.model)
        if capturable:  # the optimiser counts its steps on the GPU
            for group in self.optimizer.param_groups:
                group["capturable"] = True

    def lowered(self) -> AbstractContextManager[Any]:
        """The context of the forward pass."""
        if self.precision != "bfloat16":
            return nullcontext()
        how: dict[str, Any] = {"dtype": self.torch.bfloat16, "cache_enabled": self.cache}
        context: AbstractContextManager[Any] = self.torch.autocast(self.device, **how)
        return context

    def __call__(self) -> None:
        """Forward, backward, update."""
        self.optimizer.zero_grad()
        with self.lowered():
            loss = self.loss_of(self.model)
        loss.backward()
        self.optimizer.step()


def as_graph(step: Step) -> Callable[[], None]:
    """PyTorch's step as a CUDA graph: a function that launches it."""
    cuda = step.torch.cuda
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        for _ in range(3):
            step()
    cuda.current_stream().wait_stream(stream)
    step.optimizer.zero_grad()  # gradients are the graph's own memory
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        step()
    launch: Callable[[], None] = graph.replay
    return launch
