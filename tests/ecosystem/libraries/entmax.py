"""sparsemax, 1.5-entmax, α-entmax with a learnt α, normmax, and their losses, with gradients"""

import entmax
import torch


def run() -> dict[str, object]:
    scores, target = torch.randn(5, 8), torch.randint(0, 8, (5,))
    alpha = torch.full((5, 1), 1.3, requires_grad=True)
    functions = {
        "sparsemax": lambda x: entmax.sparsemax(x, dim=-1),
        "sparsemax of k": lambda x: entmax.sparsemax(x, dim=-1, k=3),
        "sparsemax by bisection": lambda x: entmax.sparsemax_bisect(x, dim=-1),
        "entmax15": lambda x: entmax.entmax15(x, dim=0),
        "entmax of α": lambda x: entmax.entmax_bisect(x, alpha, dim=-1),
        "normmax": lambda x: entmax.normmax_bisect(x, alpha=2, dim=-1),
        "budget": lambda x: entmax.budget_bisect(x, budget=2, dim=-1),
        "sparsemax's loss": lambda x: entmax.SparsemaxLoss(reduction="none")(x, target),
        "entmax15's loss": lambda x: entmax.Entmax15Loss(reduction="sum")(x, target),
        "entmax's loss": lambda x: entmax.entmax_bisect_loss(x, target, alpha=1.7),
    }
    results: dict[str, object] = {}
    for name, function in functions.items():
        x = scores.clone().requires_grad_()
        y = function(x)
        (y * torch.linspace(0.5, 1.5, y.numel()).view_as(y)).sum().backward()
        results[name], results[f"{name}: gradient"] = y, x.grad
    return {**results, "α's gradient": alpha.grad}
