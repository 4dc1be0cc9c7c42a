"""Operations of a model counted, its parameters, statistics of its batch norms, and losses of detection"""

import torch
from fvcore.nn import FlopCountAnalysis, giou_loss, parameter_count, sigmoid_focal_loss, smooth_l1_loss
from fvcore.nn.precise_bn import update_bn_stats
from torch import nn


def run() -> dict[str, object]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
    update_bn_stats(model, [torch.randn(4, 3, 8, 8) for _ in range(3)], num_iters=3)
    boxes = torch.rand(4, 2).repeat(1, 2) + torch.tensor([0.0, 0.0, 1.0, 2.0])
    moved = (boxes + 0.1).requires_grad_()
    loss = giou_loss(moved, boxes, "sum") + smooth_l1_loss(moved, boxes, 0.1, "mean")
    loss = loss + sigmoid_focal_loss(moved, (boxes > 1).float(), reduction="mean")
    loss.backward()
    results = {"loss": loss, "gradient": moved.grad, "parameters": str(dict(parameter_count(model)))}
    results |= {"mean": model[1].running_mean, "variance": model[1].running_var}
    return {**results, "operations": FlopCountAnalysis(model.eval(), torch.randn(1, 3, 8, 8)).total()}
