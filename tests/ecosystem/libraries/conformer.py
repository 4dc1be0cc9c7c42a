"""blocks of convolution and relative attention, causal and not, trained five steps"""

import torch
from conformer import Conformer, ConformerBlock


def run() -> dict[str, object]:
    model = Conformer(dim=32, depth=2, dim_head=8, heads=4, ff_mult=2, conv_kernel_size=7, conv_dropout=0.1)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), []
    sound, target = torch.randn(2, 30, 32), torch.randn(2, 30, 32)
    for _ in range(5):
        loss = (model(sound) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    causal = ConformerBlock(dim=32, dim_head=8, heads=4, conv_kernel_size=7, conv_causal=True).eval()
    return {
        "losses": losses,
        "gradients": {name: p.grad for name, p in model.named_parameters()},
        "statistics": dict(model.named_buffers()),
        "out": model.eval()(sound),
        "causal": causal(sound, mask=torch.arange(30)[None] < torch.tensor([[30], [20]])),
    }
