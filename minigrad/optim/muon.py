"""Muon (Jordan et al. 2024): orthogonalised momentum for a network's hidden weight matrices."""

from __future__ import annotations

import math

from ..backend import xp
from ..backend.dtype import Array
from ..ops.linear import matmul
from ..tensor import Tensor
from .adam import AdamW
from .optimizer import Group, Optimizer, Params, Rate, Values, arguments, checked, plain_options, together, zeros_like

Coefficients = tuple[float, float, float]
JORDAN: Coefficients = (3.4445, -4.775, 2.0315)
ORIGINAL, MATCHED = "original", "match_rms_adamw"


def orthogonal(matrix: Array, coefficients: Coefficients = JORDAN, eps: float = 1e-7, steps: int = 5) -> Array:
    """Approximately U Vᵀ for a matrix U S Vᵀ. The Newton-Schulz iteration X ← a X + (b XXᵀ + c (XXᵀ)²) X, which needs
    only matrix products, moves the singular values close to 1 (0.7 to 1.2 after 5 or more steps)."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix  # XXᵀ is now the smaller of the two products
    m = xp(x)
    x = x / m.maximum(m.sqrt((x * x).sum()), eps)
    for _ in range(steps):
        gram = matmul(x, x.T)
        factor = c * matmul(gram, gram)
        factor += b * gram
        factor.reshape(-1)[:: len(factor) + 1] += a
        x = matmul(factor, x)
    return x.T if tall else x


def rate_of(lr: float, shape: tuple[int, ...], adjust: str | None) -> float:
    """The rate for a matrix of this shape, chosen so that updates of all shapes have about the same size. "original"
    multiplies by Jordan's √max(1, rows / columns), and "match_rms_adamw" by 0.2 √max(rows, columns), so that each
    element changes about as much as with AdamW at the same rate (Liu et al. 2025, arXiv 2502.16982)."""
    rows, columns = shape
    if adjust == MATCHED:
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1.0, rows / columns))


def muon_step(param: Array, grad: Array, mean: Array, options: Values) -> None:
    """Update a matrix and its momentum in place."""
    lr = options.lr
    mean += (1 - options.momentum) * (grad - mean)
    update = grad + options.momentum * (mean - grad) if options.nesterov else mean
    if options.weight_decay:
        param *= 1 - lr * options.weight_decay
    direction = orthogonal(update, options.ns_coefficients, options.eps, options.ns_steps)
    param -= rate_of(lr, param.shape, options.adjust_lr_fn) * direction


def check_options(lr: Rate, weight_decay: float, momentum: float, ns_steps: int, adjust_lr_fn: str | None) -> None:
    """Reject options outside their ranges with PyTorch's error messages."""
    for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
        if not float(value) >= 0:
            raise ValueError(f"{name} should be >= 0 but is: {value}")
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if adjust_lr_fn not in (None, ORIGINAL, MATCHED):
        raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")


class Muon(Optimizer):
    """θ ← θ - lr' · O, where O is the orthogonal matrix closest to the momentum; see ``orthogonal`` and ``rate_of``.

    Use Muon for matrices between hidden layers. Embeddings, the last layer and all vectors need another optimiser;
    ``MuonWithAdamW`` combines both. PyTorch, unlike minigrad, rounds the iteration to bfloat16.

    Args:
        params: matrices. lr: the rate before ``rate_of`` adjusts it. weight_decay: see AdamW.
        momentum, nesterov: m ← m + (1 - momentum)(g - m); O is closest to m (if ``nesterov``: to g + momentum (m - g)).
        ns_coefficients, eps, ns_steps: parameters of the iteration.
        adjust_lr_fn: "original" (or None) or "match_rms_adamw".

    Raises ValueError for an option outside its range or a non-matrix, and RuntimeError for a complex parameter."""

    _refusal = "Muon only supports 2D parameters whereas we found a parameter with size: {size}"

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Coefficients = JORDAN,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_options(lr, weight_decay, momentum, ns_steps, adjust_lr_fn)
        super().__init__(params, arguments(locals()))

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in param_group["params"] if param_group.get("muon", True) else ():
            if p.is_complex() or p.ndim != 2:
                self.param_groups.pop()
            if p.is_complex():
                raise RuntimeError("Muon does not support complex parameters: train real parameters viewed as complex")
            if p.ndim != 2:
                raise ValueError(self._refusal.format(size=p.size(), shape=tuple(p.shape)))

    def _update_all(self, params: list[Tensor], group: Group) -> None:
        if not group.get("muon", True):
            return super()._update_all(params, group)
        options = plain_options(group)
        for p in params:
            if not self.state[p]:
                self.state[p]["momentum_buffer"] = zeros_like(p)
        params = self._update_together(params, options)
        with self._in_float32(params):
            for p in params:
                muon_step(p.array, p._grad.array, self.state[p]["momentum_buffer"].array, options)

    def _update_together(self, params: list[Tensor], options: Values) -> list[Tensor]:
        if not getattr(options, "muon", True):
            return super()._update_together(params, options)
        if (kernel := together("muon", params)) is None:
            return params
        many = kernel.Many([(p.array, p._grad.array, self.state[p]["momentum_buffer"].array) for p in params])
        rates = [rate_of(options.lr, p.array.shape, options.adjust_lr_fn) for p in params]
        share = options.momentum if options.nesterov else 1.0
        a, b, c = options.ns_coefficients
        numbers = 1 - options.lr * options.weight_decay, 1 - options.momentum, share, a, b, c, options.eps
        changed = kernel.step_all(many, rates, numbers, options.ns_steps)
        return [p for p, is_changed in zip(params, changed, strict=True) if not is_changed]


class MuonWithAdamW(Muon, AdamW):
    """Muon for groups with ``muon=True``, and AdamW for all others, in one optimiser with one schedule.

        MuonWithAdamW([{"params": matrices, "muon": True}, {"params": rest}], lr=5e-3, betas=(0.9, 0.98))

    Muon's learning rate is scaled so that its updates match AdamW's in size ("match_rms_adamw"). Both use ``lr`` and
    ``weight_decay``. AdamW also uses ``betas`` and ``eps``; Muon also uses ``momentum`` and ``ns_steps``."""

    _refusal = "Muon supports only matrices, but a parameter has shape {shape}"

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        *,
        momentum: float = 0.95,
        ns_steps: int = 5,
    ) -> None:
        check_options(lr, weight_decay, momentum, ns_steps, MATCHED)
        options = checked(locals())
        options |= {"muon": False, "nesterov": True, "ns_coefficients": JORDAN, "adjust_lr_fn": MATCHED}
        options |= {"amsgrad": False, "maximize": False, "decoupled_weight_decay": True}
        Optimizer.__init__(self, params, options)
