"""A softmax over many classes that is cheaper for frequent classes (Grave et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..functions import shaping
from ..nn import functional as F
from ..nn.containers import ModuleList, Sequential
from ..nn.linear import Linear
from ..nn.module import Module
from ..tensor import Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class ASMOutput(NamedTuple):
    """The result of ``AdaptiveLogSoftmaxWithLoss``: each target's log-probability, and the loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Computes ln p(target), with the rarer classes grouped into clusters (Grave et al. 2017). The head scores the
    first ``cutoffs[0]`` classes and each cluster. A cluster projects its input to a smaller width first.

    Args:
        in_features, n_classes: D and C; classes are sorted by decreasing frequency. head_bias: add a bias to the head.
        cutoffs: the first class of each cluster, in increasing order, each in 1 .. C - 1.
        div_value: the ratio of the widths of successive clusters.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cuts = list(cutoffs)
        if not cuts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cuts != sorted({int(cut) for cut in cuts}) or cuts[0] <= 0 or cuts[-1] >= n_classes:
            expected = "unique, positive integers sorted in an increasing order, each between 1 and n_classes-1"
            raise ValueError(f"cutoffs should be a sequence of {expected}")
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs, self.div_value, self.head_bias = [*cuts, n_classes], div_value, head_bias
        self.shortlist_size, self.n_clusters = cuts[0], len(cuts)
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(self._clusters()):
            width = int(in_features // div_value ** (i + 1))
            down = Linear(in_features, width, bias=False, **kind)
            self.tail.append(Sequential(down, Linear(width, high - low, bias=False, **kind)))

    def _clusters(self) -> list[tuple[int, int]]:
        """Each cluster's first class and the class after its last class."""
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Reinitialise all weights."""
        self.head.reset_parameters()
        for down, up in self.tail:
            down.reset_parameters()
            up.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMOutput:
        """Inputs (N, D), integer targets (N) -> log-probabilities (N), the loss. Without a batch: (D), () -> (), ()."""
        ndim = target_.array.ndim
        if ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.array.ndim != ndim + 1:
            expected = f"{ndim}D target tensor expects {ndim + 1}D input tensors"
            raise RuntimeError(f"{expected}, but found inputs with size {input_.shape}")
        if ndim and input_.array.shape[0] != target_.array.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target_.array.size and not bool(((target_.array >= 0) & (target_.array < self.n_classes)).all()):
            actual = f"values in range [{target_.min().item()}, {target_.max().item()}] were found"
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but {actual}")
        batched = ndim == 1
        rows, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        head = F.log_softmax(self.head(rows), 1)
        in_head, places, parts = target, [], []
        for i, (low, high) in enumerate(self._clusters()):
            mask = (target >= low) & (target < high)
            where = mask.nonzero().squeeze(1)
            if where.numel():
                in_head = in_head.masked_fill(mask, self.shortlist_size + i)
                in_cluster = F.log_softmax(self.tail[i](rows.index_select(0, where)), 1)
                places.append(where)
                parts.append(in_cluster.gather(1, (target.index_select(0, where) - low).unsqueeze(1)).squeeze(1))
        output = head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        if parts:
            output = output.index_add(0, shaping.cat(places), shaping.cat(parts))
        loss = -output.mean()
        return ASMOutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """ln p for every class: (N, D) -> (N, C)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            in_cluster = F.log_softmax(cluster(input), 1)
            parts.append(in_cluster + head[:, self.shortlist_size + i].unsqueeze(1))
        return shaping.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class: (N, D) -> (N) integers. A cluster is only scored for rows where it is most likely."""
        classes = self.head(input).argmax(1)
        rare = (classes >= self.shortlist_size).nonzero().squeeze(1)
        if rare.numel():
            classes[rare] = self.log_prob(input.index_select(0, rare)).argmax(1)
        return classes
