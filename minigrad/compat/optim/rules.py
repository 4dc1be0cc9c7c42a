"""Optimisers outside the core: variants of Adam and SGD, and others that scale each gradient element by its size."""

from __future__ import annotations

import math

from ...backend import xp
from ...backend.dtype import Array
from ...optim.adam import update_means
from ...optim.optimizer import ZEROS, Optimizer, Params, Rate, State, Values, arguments, check, checked, parts, scalar
from ...tensor import Tensor, wrap

Betas = tuple[float, float]


class Adagrad(Optimizer):
    """θ ← θ - lr / (1 + (t - 1) lr_decay) · g / (√s + ε), where s is the sum of all g² so far (Duchi et al. 2011).

    The initial s is ``initial_accumulator_value``.
    """

    _state = {"step": 0, "sum": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, checked(locals(), "lr lr_decay eps"))
        for group in self.param_groups:  # as in PyTorch, the state exists from the start
            for p in group["params"]:
                self.state[p] = self._start(p, Values(**group))

    def _start(self, p: Tensor, options: Values) -> State:
        state = super()._start(p, options)
        parts(state["sum"].array)[...] = options.initial_accumulator_value
        return state

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        state.sum += grad * grad
        rate = options.lr / (1 + (state.step - 1) * options.lr_decay)
        param -= rate * grad / (xp(grad).sqrt(state.sum) + options.eps)


class Adadelta(Optimizer):
    """θ ← θ - lr · d, where d = g · √(u + ε) / √(v + ε), and v and u are running means of g² and d² (Zeiler 2012).

    Zeiler uses an lr of 1. ``rho``: the decay rate of the means, in [0, 1].
    """

    _state = {"step": 0, "square_avg": ZEROS, "acc_delta": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(0 <= rho <= 1, "rho value", rho)
        super().__init__(params, checked(locals(), "lr rho eps weight_decay maximize capturable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        sqrt, rho, eps = xp(param).sqrt, options.rho, options.eps
        square_avg, acc_delta = state.square_avg, state.acc_delta
        square_avg *= rho
        square_avg += (1 - rho) * grad * grad
        change = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad
        acc_delta *= rho
        acc_delta += (1 - rho) * change * change
        param -= options.lr * change


class RMSprop(Optimizer):
    """θ ← θ - lr · g / (√v + ε), where v ← α v + (1 - α) g² (Hinton 2012, lecture 6).

    Args:
        alpha: the decay rate of v.
        momentum: step along b ← momentum · b + g / (√v + ε) (Sutskever et al. 2013).
        centered: subtract the square of the mean gradient from v (Graves 2013).
    """

    _state = {"step": 0, "square_avg": ZEROS, "momentum_buffer": "momentum", "grad_avg": "centered"}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(alpha >= 0, "alpha value", alpha)
        super().__init__(params, checked(locals(), "lr momentum alpha eps centered"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        alpha, square_avg = options.alpha, state.square_avg
        square_avg *= alpha
        square_avg += (1 - alpha) * grad * grad
        if options.centered:
            state.grad_avg += (1 - alpha) * (grad - state.grad_avg)
            square_avg = square_avg - state.grad_avg * state.grad_avg
        change = grad / (xp(grad).sqrt(square_avg) + options.eps)
        if options.momentum:
            state.momentum_buffer *= options.momentum
            state.momentum_buffer += change
            change = state.momentum_buffer
        param -= options.lr * change


class Adafactor(Optimizer):
    """Stores only the row and column means of a matrix's squared gradients (Shazeer and Stern 2018).

    θ ← θ - α u / max(1, rms(u) / d), with u = g / √v and α = max(ε₂, rms(θ)) · min(lr, 1 / √t).

    v is a running mean of g², in which the new g² has weight t^beta2_decay. For a matrix, and the last two axes of any
    tensor, v is r c / mean(r), where r and c are running means of the row and column means of g². So the state of a
    matrix (M, N) has M + N numbers. Weight decay works as in AdamW.

    Args:
        eps: (ε₁, ε₂). ε₁ is the lower bound of √v and of the mean of r; None means the dtype's machine epsilon.
        d: the root mean square of u above which u is scaled down.

    Raises ValueError if an option is outside its range, and RuntimeError for complex parameters.
    """

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        options = arguments(locals())
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for label, fits, value in (
            ("Learning rate should be >= 0", lr >= 0, lr),
            ("beta2_decay should be <= 0", beta2_decay <= 0, beta2_decay),
            ("epsilon1 should be >= 0", eps[0] is None or eps[0] >= 0, eps[0]),
            ("epsilon2 should be >= 0", eps[1] >= 0, eps[1]),
            ("Clipping threshold d should be >= 1", d >= 1, d),
            ("weight_decay should be >= 0", weight_decay >= 0, weight_decay),
        ):
            if not fits:
                raise ValueError(f"{label} but is: {value}")
        super().__init__(params, options)

    def _start(self, p: Tensor, options: Values) -> State:
        shape = p.array.shape
        shapes = {"variance": shape}
        if len(shape) > 1:
            shapes = {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
        zeros = {name: wrap(xp(p.array).zeros(part, p.array.dtype)) for name, part in shapes.items()}
        return {"step": scalar(0), **zeros}

    def _rule_state(self, p: Tensor, options: Values, names: list[str]) -> Values:
        return super()._rule_state(p, options, [name for name in self._begun(p, options) if name != "step"])

    def _gradient(self, p: Tensor, options: Values) -> Array:
        """The gradient, negated to maximise; the rule itself applies weight decay."""
        if p.array.dtype.kind == "c":
            raise RuntimeError("Adafactor does not support complex parameters")
        grad: Array = -p._grad.array if options.maximize else p._grad.array
        return grad

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        least = float(xp(param).finfo(param.dtype).eps) if options.eps[0] is None else options.eps[0]
        new = state.step**options.beta2_decay
        rate = max(options.eps[1], _rms(param)) * min(options.lr, 1 / math.sqrt(state.step))
        if options.weight_decay:
            param *= 1 - options.lr * options.weight_decay
        squares = grad * grad
        if grad.ndim < 2:
            state.variance += new * (squares - state.variance)
            variance = state.variance
        else:
            state.row_var += new * (squares.mean(axis=-1, keepdims=True) - state.row_var)
            state.col_var += new * (squares.mean(axis=-2, keepdims=True) - state.col_var)
            means = state.row_var.mean(axis=-2, keepdims=True)
            variance = state.row_var * state.col_var / xp(param).maximum(means, least)
        update = grad / xp(param).sqrt(xp(param).maximum(variance, least * least))
        param -= rate / max(1.0, _rms(update) / options.d) * update


def _rms(x: Array) -> float:
    return math.sqrt(float((x * x).sum()) / max(x.size, 1))


class Adamax(Optimizer):
    """θ ← θ - lr / (1 - β₁ᵗ) · m / u, where m ← β₁ m + (1 - β₁) g and u ← max(β₂ u, |g| + ε) (Kingma and Ba 2015,
    section 7.1). The arguments are the same as for Optimizer.
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_inf": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        (beta1, beta2), exp_avg, exp_inf = options.betas, state.exp_avg, state.exp_inf
        exp_avg += (1 - beta1) * (grad - exp_avg)
        exp_inf *= beta2
        xp(grad).maximum(exp_inf, abs(grad) + options.eps, out=exp_inf)
        param -= options.lr / (1 - beta1**state.step) * exp_avg / exp_inf


class NAdam(Optimizer):
    """Adam with Nesterov momentum, which looks one step ahead. The momentum coefficient grows (Dozat 2016).

    θ ← θ - lr · ((1 - μₜ) / (1 - Πₜ) · g + μₜ₊₁ / (1 - Πₜ₊₁) · m) / (√(v / (1 - β₂ᵗ)) + ε), where m and v are the means
    in Adam, μₜ = β₁ (1 - 0.96^(t · momentum_decay) / 2), and Πₜ is the product of μ₁ to μₜ.
    """

    _state = {"step": 0, "mu_product": 1, "exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = checked(locals(), "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize")
        super().__init__(params, options)

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        (beta1, beta2), step = options.betas, state.step
        update_means(state.exp_avg, state.exp_avg_sq, grad, options.betas)
        root = xp(grad).sqrt(state.exp_avg_sq / (1 - beta2**step)) + options.eps
        now, then = (beta1 * (1 - 0.5 * 0.96 ** (t * options.momentum_decay)) for t in (step, step + 1))
        state.mu_product *= now
        product = float(state.mu_product)
        param -= options.lr * (1 - now) / (1 - product) * grad / root
        param -= options.lr * then / (1 - product * then) * state.exp_avg / root


class RAdam(Optimizer):
    """Rectified Adam (Liu et al. 2020): divides by √v only once v averages enough steps.

    Let ρ∞ = 2 / (1 - β₂) - 1 and ρₜ = ρ∞ - 2 t β₂ᵗ / (1 - β₂ᵗ). While ρₜ ≤ 5, the step is lr · m̂. After that, it is
    lr · r · m̂ / (√v + ε) · √(1 - β₂ᵗ), where r² = (ρₜ - 4)(ρₜ - 2) ρ∞ / ((ρ∞ - 4)(ρ∞ - 2) ρₜ). Args: see Optimizer.
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals(), "lr betas eps weight_decay maximize foreach capturable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        beta1, beta2 = options.betas
        update_means(state.exp_avg, state.exp_avg_sq, grad, options.betas)
        change = state.exp_avg / (1 - beta1**state.step)
        last, rest = 2 / (1 - beta2) - 1, 1 - beta2**state.step
        now = last - 2 * state.step * beta2**state.step / rest
        if now > 5:
            factor = math.sqrt((now - 4) * (now - 2) * last / ((last - 4) * (last - 2) * now) * rest)
            change = change * factor / (xp(grad).sqrt(state.exp_avg_sq) + options.eps)
        param -= options.lr * change


class SparseAdam(Optimizer):
    """Adam for embedding tables of which each batch uses only a few rows. Only these rows and their means change.

    PyTorch's SparseAdam takes sparse gradients. Here, gradients are dense, and a row of zeros counts as unused. The
    arguments are the same as for Optimizer; lr and eps must be positive.
    """

    _state = {"exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self, params: Params, lr: Rate = 1e-3, betas: Betas = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        defaults = checked(locals())
        check(lr > 0, "learning rate", lr)
        check(eps > 0, "epsilon value", eps)
        super().__init__(params, defaults)
        if any(p.array.dtype.kind == "c" for group in self.param_groups for p in group["params"]):
            raise ValueError("SparseAdam does not support complex parameters")

    def _start(self, p: Tensor, options: Values) -> State:
        return {"step": 0, **super()._start(p, options)}  # a plain number, as in PyTorch

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        arrays = (param, grad, state.exp_avg, state.exp_avg_sq)
        table, grad, exp_avg, exp_avg_sq = (a if a.ndim else a[None] for a in arrays)
        rows = (grad != 0).reshape(len(grad), -1).any(1)
        g, (beta1, beta2) = grad[rows], options.betas
        exp_avg[rows] += (1 - beta1) * (g - exp_avg[rows])
        exp_avg_sq[rows] += (1 - beta2) * (g * g - exp_avg_sq[rows])
        rate = options.lr * math.sqrt(1 - beta2**state.step) / (1 - beta1**state.step)
        table[rows] -= rate * exp_avg[rows] / (xp(g).sqrt(exp_avg_sq[rows]) + options.eps)


class ASGD(Optimizer):
    """θ ← (1 - lambd η) θ - η g; ``state[p]["ax"]`` is the mean of θ from step t0 on (Polyak and Juditsky 1992).

    Args:
        lr: the initial η. lambd, alpha: η = lr / (1 + lambd · lr · t)^alpha. t0: the first step that the mean includes.
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
    """Resilient backpropagation (Riedmiller and Braun 1993): only the sign of a gradient matters.

    Each element has its own step size. If its gradient keeps its sign, the step size grows. If the sign has changed,
    the step size shrinks and this step is skipped.

    Args:
        lr: the initial step size. step_sizes: the bounds of step sizes.
        etas: the factors by which a step size shrinks and grows, 0 < shrink < 1 < grow.
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
