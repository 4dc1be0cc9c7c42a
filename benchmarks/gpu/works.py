"""The training steps that are measured: those of ``benchmarks.workloads``, and one of nanoGPT's size."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from importlib.util import find_spec

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

    Raises:
        Missing: the library lacks a package for bfloat16.
    """

    def __init__(self, place: Place, work: Work, precision: str = "float32") -> None:
        torch = self.torch = place.module()
        if precision == "bfloat16" and place.library == "minigrad" and not find_spec("ml_dtypes"):
            raise Missing("ml_dtypes is not installed")
        self.device, self.precision = place.named(), precision
        torch.set_float32_matmul_precision("high" if precision == "TF32" else "highest")
        torch.manual_seed(0)
        self.model = build(torch, work, work.dropout).to(self.device)
        self.loss_of = loss_function(torch, work, device=self.device)
        self.optimizer = optimizer(torch, work, self.model)

    def __call__(self) -> None:
        """Forward, backward, update."""
        self.optimizer.zero_grad()
        with self.torch.autocast(self.device, self.torch.bfloat16) if self.precision == "bfloat16" else nullcontext():
            loss = self.loss_of(self.model)
        loss.backward()
        self.optimizer.step()
