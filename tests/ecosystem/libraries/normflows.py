"""RealNVP, Glow's parts, splines and planar flows: likelihood, gradients, samples, the inverse, five steps"""

import normflows as nf
import torch


def run() -> dict[str, object]:
    def coupling() -> list[torch.nn.Module]:
        parts: list[torch.nn.Module] = []
        for _ in range(3):
            parts += [nf.flows.AffineCouplingBlock(nf.nets.MLP([2, 16, 4], init_zeros=True))]
            parts += [nf.flows.Permute(4, mode="swap"), nf.flows.ActNorm(4)]
        return parts

    def splines() -> list[torch.nn.Module]:
        spline = nf.flows.AutoregressiveRationalQuadraticSpline(4, 1, 16, num_bins=4)
        return [spline, nf.flows.LULinearPermute(4), nf.flows.CoupledRationalQuadraticSpline(4, 1, 16, num_bins=4)]

    def masked() -> list[torch.nn.Module]:
        mask = torch.tensor([1.0, 0.0, 1.0, 0.0])
        nets = [nf.nets.MLP([4, 16, 4], init_zeros=True) for _ in range(4)]
        return [nf.flows.MaskedAffineFlow(mask, *nets[:2]), nf.flows.MaskedAffineFlow(1 - mask, *nets[2:])]

    results: dict[str, object] = {}
    x = torch.randn(24, 4) * 0.7 + 0.3
    for name, make in {"coupling": coupling, "splines": splines, "masked": masked}.items():
        torch.manual_seed(1)
        model = nf.NormalizingFlow(nf.distributions.DiagGaussian(4), make())
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), []
        for _ in range(5):
            loss = model.forward_kld(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        z, log_determinant = model.inverse_and_log_det(x)
        results[name] = {
            "losses": losses,
            "gradients": [p.grad for p in model.parameters() if p.grad is not None],
            "likelihood": model.log_prob(x),
            "z": z,
            "log determinant": log_determinant,
            "samples": model.sample(6),
        }
    target = nf.distributions.TwoMoons()
    planar = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), [nf.flows.Planar(2) for _ in range(4)], target)
    loss = planar.reverse_kld(32)
    loss.backward()
    image = nf.flows.GlowBlock(4, 8, scale=True)
    pixels, log_determinant = image(torch.randn(2, 4, 4, 4))
    return {
        **results,
        "reverse": loss,
        "reverse gradients": [p.grad for p in planar.parameters() if p.grad is not None],
        "pixels": pixels,
        "pixels' log determinant": log_determinant,
    }
