"""Optimisers that follow the gradient, or its sign, without a measure of its size."""

from __future__ import annotations

from ..autograd.tape import wrap
from ..backend import in_order, xp
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, check, checked, scalar, together


class SGD(Optimizer):
    """Stochastic gradient descent: θ ← θ - lr · b, where b ← momentum · b + (1 - dampening) · g; the first b is g.

    Without momentum b is g. With ``nesterov``, which needs a momentum and no dampening, the step is g + momentum · b
    (Sutskever et al. 2013).

    >>> w = mg.ones(1, requires_grad=True)
    >>> sgd = mg.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> w.sum().backward()
    >>> sgd.step()
    >>> w.detach()
    tensor([0.9000])
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

    @staticmethod
    def _numbers(x: Array) -> Array:
        return x  # the rule is linear: right for complex numbers as they are

    def _rule_state(self, p: Tensor, options: Values, names: list[str]) -> Values:
        return Values(saved=self.state[p]) if options.momentum else Values()

    def _update_together(self, params: list[Tensor], options: Values) -> list[Tensor]:
        begun = [p for p in params if not options.momentum or self.state[p].get("momentum_buffer") is not None]
        if (kernel := together("sgd", begun)) is None:
            return params
        rows: list[tuple[Array, ...]] = [(p.array, in_order(p._grad.array)) for p in begun]
        if options.momentum:
            rows = [(*row, self.state[p]["momentum_buffer"].array) for row, p in zip(rows, begun, strict=True)]
        many = kernel.Many(rows)
        sign, rest = -1.0 if options.maximize else 1.0, 1 - options.dampening
        kernel.step_all(many, sign, options.weight_decay, options.momentum, rest, options.nesterov, options.lr)
        done = {p for p, fits in zip(begun, many.fits, strict=True) if fits}
        return [p for p in params if p not in done]

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


class ASGD(Optimizer):
    """θ ← (1 - lambd η) θ - η g; the mean of the θ from step t0 on is ``state[p]["ax"]`` (Polyak and Juditsky 1992).

    Args:
        lr: the first η. lambd, alpha: η = lr / (1 + lambd · lr · t)^alpha. t0: where the mean begins.
    """

    _state = {"step": 0, "eta": 0, "mu": 1, "ax": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        lr, lambd, step = options.lr, options.lambd, state.step
        if step == 1:
            state.eta.fill(lr)
        eta = float(state.eta)
        param *= 1 - lambd * eta
        param -= eta * grad
        state.ax += float(state.mu) * (param - state.ax)
        state.eta.fill(scalar(lr / (1 + lambd * lr * step) ** options.alpha).item())
        state.mu.fill(scalar(1 / max(1, step - options.t0)).item())


class Rprop(Optimizer):
    """Resilient backpropagation (Riedmiller and Braun 1993): only the sign of a gradient counts.

    Each number has a step size of its own. Where the sign is the last one's, the size grows; where it has changed, it
    shrinks, and this step is left out.

    Args:
        lr: the first size. step_sizes: the bounds of sizes.
        etas: the factors by which a size shrinks and grows, 0 < shrink < 1 < grow.
    """

    _state = {"step": 0, "prev": ZEROS, "step_size": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(0 < etas[0] < 1 < etas[1], "eta values", f"{etas[0]}, {etas[1]}")
        super().__init__(params, checked(locals(), "lr etas step_sizes foreach maximize differentiable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        lib, (shrink, grow), step_size = xp(param), options.etas, state.step_size
        if state.step == 1:
            step_size[...] = options.lr
        agree = grad * state.prev
        step_size *= lib.where(agree > 0, grow, lib.where(agree < 0, shrink, 1.0)).astype(step_size.dtype)
        lib.clip(step_size, *options.step_sizes, out=step_size)
        grad = lib.where(agree < 0, 0 * grad, grad)
        param -= lib.sign(grad) * step_size
        state.prev[...] = grad
