"""Stochastic gradient descent."""

from __future__ import annotations

from ..autograd.tape import wrap
from ..backend import in_order
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import Optimizer, Params, Rate, Values, checked, together


class SGD(Optimizer):
    """Stochastic gradient descent: θ ← θ - lr · b, where b ← momentum · b + (1 - dampening) · g; the first b is g.
    Without momentum, b is g. ``nesterov`` (Sutskever et al. 2013) uses g + momentum · b for b, without dampening.

    >>> w = mg.ones(1, requires_grad=True)
    >>> sgd = mg.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> w.sum().backward()
    >>> sgd.step()
    >>> w.detach()
    tensor([0.9000])
    """

    _kernel = "sgd"

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

    @staticmethod
    def _numbers(x: Array) -> Array:
        return x  # the rule is linear, so it also works on complex numbers

    def _rule_state(self, p: Tensor, options: Values, names: list[str]) -> Values:
        return Values(saved=self.state[p]) if options.momentum else Values()

    def _update_together(self, params: list[Tensor], options: Values) -> list[Tensor]:
        ready = [p for p in params if not options.momentum or self.state[p].get("momentum_buffer") is not None]
        if (kernel := together("sgd", ready)) is None:
            return params
        rows: list[tuple[Array, ...]] = [(p.array, in_order(p._grad.array)) for p in ready]
        if options.momentum:
            rows = [(*row, self.state[p]["momentum_buffer"].array) for row, p in zip(rows, ready, strict=True)]
        many = kernel.Many(rows)
        sign, rest = -1.0 if options.maximize else 1.0, 1 - options.dampening
        kernel.step_all(many, sign, options.weight_decay, options.momentum, rest, options.nesterov, options.lr)
        changed = {p for p, fits in zip(ready, many.fits, strict=True) if fits}
        return [p for p in params if p not in changed]

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
