"""SparseAdam: Adam that leaves alone what has no gradient."""

from __future__ import annotations

import math

from ..backend import xp
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, Rate, check_betas, check_number, check_rate, zeros_like


class SparseAdam(Optimizer):
    """Adam for the rows of a table of which each batch uses few: only these, and their means, change.

    PyTorch's takes sparse gradients. These are dense, and a row that is all zeros counts as not used.

    Args:
        params: see Optimizer. lr: about the length of a step for each number.
        betas: how slowly the two means forget. eps: keeps the division from 0.
        maximize: go up instead.

    Raises:
        ValueError: an option outside its range.
    """

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_rate(lr, positive=True)
        check_number("epsilon value", eps, eps > 0)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _update(self, p: Tensor, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"], state["exp_avg"], state["exp_avg_sq"] = 0, zeros_like(p), zeros_like(p)
        state["step"] += 1
        table, grad, means, squares = (
            a if a.ndim else a[None]
            for a in (p.array, p._grad.array, state["exp_avg"].array, state["exp_avg_sq"].array)
        )
        used = (grad != 0).reshape(len(grad), -1).any(1)
        g = -grad[used] if group["maximize"] else grad[used]
        beta1, beta2 = map(float, group["betas"])
        means[used] += (1 - beta1) * (g - means[used])
        squares[used] += (1 - beta2) * (g * g - squares[used])
        bias1, bias2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        rate = float(group["lr"]) * math.sqrt(bias2) / bias1
        table[used] -= rate * means[used] / (xp(g).sqrt(squares[used]) + float(group["eps"]))
