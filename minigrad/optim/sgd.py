"""Stochastic gradient descent."""

from __future__ import annotations

from ..autograd.tape import wrap
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import Optimizer, Params, Rate, Values, checked


class SGD(Optimizer):
    """θ ← θ - lr · b, where b ← momentum · b + (1 - dampening) · g; the first b is g.

    Without momentum b is g. With ``nesterov`` the step is g + momentum · b (Sutskever et al. 2013).

    Args:
        momentum, dampening, nesterov: as above; nesterov needs a momentum, and no dampening.
        params, lr, weight_decay, maximize and the rest: see Optimizer.
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
        defaults = checked(locals())
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    def _rule_state(self, p: Tensor, options: Values, names: list[str]) -> Values:
        return Values(saved=self.state[p]) if options.momentum else Values()

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        if options.momentum:
            buffer = state.saved.get("momentum_buffer")
            if buffer is None:
                state.saved["momentum_buffer"] = buffer = wrap(grad.copy())
            else:
                buffer.array *= options.momentum
                buffer.array += (1 - options.dampening) * grad
            grad = grad + options.momentum * buffer.array if options.nesterov else buffer.array
        param -= options.lr * grad
