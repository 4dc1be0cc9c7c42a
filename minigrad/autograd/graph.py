"""The graph as PyTorch shows it: the names of nodes, the nodes before them, and a leaf's AccumulateGrad."""

from __future__ import annotations

from typing import Any

from . import tape
from .tape import Variable


class Node(tape.Node):
    """What ``Tensor.grad_fn`` gives (``torch.autograd.graph.Node``)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self.name()} of {self.op.name}>"

    def name(self) -> str:
        """PyTorch's name for it: "MulBackward0"; of a user's Function "CubeBackward"."""
        name = "".join(part[:1].upper() + part[1:] for part in self.op.name.split("_"))
        return f"{name}Backward" if self.op.backward else f"{name}Backward0"

    @property
    def next_functions(self) -> tuple[tuple[tape.Node | AccumulateGrad, int], ...]:
        """The nodes of the inputs that want a gradient; an AccumulateGrad stands for a leaf."""
        return tuple((t if isinstance(t, tape.Node) else AccumulateGrad(t), slot) for t, slot, _, _ in self.edges)


class AccumulateGrad:
    """Stands for a leaf among the nodes of a graph.

    Attributes:
        variable: the leaf.
    """

    next_functions: tuple[tuple[Any, int], ...] = ()

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def name(self) -> str:
        """PyTorch's name of it, "struct torch::autograd::AccumulateGrad" without the namespaces."""
        return "AccumulateGrad"


tape.classes_are(node=Node)
