"""Points on a sphere, in hyperbolic space and orthogonal matrices, by Riemannian Adam and SGD"""

import geoopt
import torch


def run() -> dict[str, object]:
    torch.manual_seed(0)
    sphere, ball, stiefel = geoopt.Sphere(), geoopt.PoincareBall(), geoopt.Stiefel()
    point = geoopt.ManifoldParameter(sphere.projx(torch.randn(5)), manifold=sphere)
    inner = geoopt.ManifoldParameter(ball.expmap0(torch.randn(3, 2) * 0.3), manifold=ball)
    frame = geoopt.ManifoldParameter(stiefel.projx(torch.randn(4, 2)), manifold=stiefel)
    target, matrix = sphere.projx(torch.randn(5)), torch.randn(4, 4)
    matrix = matrix @ matrix.T
    losses = []
    adam = geoopt.optim.RiemannianAdam([point, inner], lr=0.05)
    sgd = geoopt.optim.RiemannianSGD([frame], lr=0.01, momentum=0.9)
    for _ in range(15):
        adam.zero_grad()
        sgd.zero_grad()
        loss = sphere.dist(point, target) ** 2 + ball.dist0(inner).square().sum()
        loss = loss - (frame.T @ matrix @ frame).trace() / 10
        loss.backward()
        adam.step()
        sgd.step()
        losses.append(loss.item())
    results = {"losses": losses, "point": point, "frame": frame.T @ frame, "inner": inner}
    return {**results, "kind": str(isinstance(point, torch.nn.Parameter))}
