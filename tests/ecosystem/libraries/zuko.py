"""flows (spline, autoregressive, coupling, polynomial, continuous): densities, samples, gradients, five steps"""

import torch
import zuko


def run() -> dict[str, object]:
    x, context = torch.randn(32, 3), torch.randn(32, 2)
    flows = {
        "NSF": lambda: zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16,)),
        "MAF": lambda: zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16,), randperm=True),
        "NICE": lambda: zuko.flows.NICE(3, 2, transforms=2, hidden_features=(16,)),
        "RealNVP": lambda: zuko.flows.RealNVP(3, 2, transforms=2, hidden_features=(16,)),
        "SOSPF": lambda: zuko.flows.SOSPF(3, 2, transforms=1, hidden_features=(16,)),
        "NAF": lambda: zuko.flows.NAF(3, 2, transforms=1, hidden_features=(16,)),
        "GMM": lambda: zuko.flows.GMM(3, 2, components=2, hidden_features=(16,)),
        "CNF": lambda: zuko.flows.CNF(3, 2, hidden_features=(16,)),
    }
    results: dict[str, object] = {}
    for name, make in flows.items():
        torch.manual_seed(1)
        flow, given = make(), (x, context)
        if name == "CNF":  # whose steps depend on the last digits
            flow, given = flow.double(), (x.double(), context.double())
        optimizer, losses = torch.optim.Adam(flow.parameters(), lr=1e-3), []
        for _ in range(2 if name == "CNF" else 5):
            loss = -flow(given[1]).log_prob(given[0]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        gradients = [p.grad for p in flow.parameters() if p.grad is not None]
        results[name] = {"losses": losses, "gradients": gradients, "densities": flow(given[1]).log_prob(given[0])}
        if name not in ("NAF", "SOSPF"):
            results[name]["samples"] = flow(given[1][0]).sample((4,))
    return results
