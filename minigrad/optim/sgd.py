"""Stochastic gradient descent."""

from __future__ import annotations

from ..autograd.tape import wrap
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, Rate, check_number, check_rate, gradient


class SGD(Optimizer):
    """θ ← θ - lr · b, where b ← momentum · b + (1 - dampening) · g and g = ∇θ + weight_decay · θ.

    Without momentum b is g. With ``nesterov`` the step is g + momentum · b (Sutskever et al. 2013).

    Args:
        params: see Optimizer. lr: the length of a step.
        momentum, dampening, nesterov: as above; the first step starts with b = g.
        weight_decay: an L2 penalty. maximize: go up instead.
        foreach, fused: taken for PyTorch's signature, without effect. differentiable: True is refused.

    Raises:
        ValueError: a negative option, or nesterov without momentum or with dampening.
    """

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_number("momentum value", momentum, momentum >= 0)
        check_number("weight_decay value", weight_decay, weight_decay >= 0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        g, momentum = gradient(p, group), float(group["momentum"])
        if momentum:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                state["momentum_buffer"] = buffer = wrap(g.copy())
            else:
                buffer.array *= momentum
                buffer.array += (1 - float(group["dampening"])) * g
            g = g + momentum * buffer.array if group["nesterov"] else buffer.array
        array = p.array
        array -= float(group["lr"]) * g
