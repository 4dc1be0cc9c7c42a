"""graphs in space: features that do not change and coordinates that turn as the input is turned; training, gradients"""

import torch
from egnn_pytorch import EGNN, EGNN_Network


def run() -> dict[str, object]:
    layer = EGNN(dim=16, edge_dim=4, m_dim=8, num_nearest_neighbors=4, norm_coors=True, soft_edges=True)
    features, places = torch.randn(1, 12, 16), torch.randn(1, 12, 3)
    near = layer(features, places, torch.randn(1, 12, 12, 4))
    model = EGNN_Network(
        num_tokens=10, num_positions=12, dim=16, depth=2, num_nearest_neighbors=4, coor_weights_clamp_value=2.0
    )
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    tokens, mask = torch.randint(0, 10, (2, 12)), torch.arange(12) < torch.tensor([[12], [9]])
    places = torch.randn(2, 12, 3, requires_grad=True)
    for _ in range(4):
        feats, moved = model(tokens, places, mask=mask)
        loss = feats.square().mean() + (moved - places).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "layer": near,
        "losses": losses,
        "gradients": {name: p.grad for name, p in model.named_parameters() if p.grad is not None},
        "gradient of places": places.grad,
        "features": feats,
    }
