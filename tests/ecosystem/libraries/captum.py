"""Captum: attributions of a small network's answer to the pixels of a picture, by twelve methods."""

import torch
from captum import attr
from torch import nn


class Net(nn.Module):
    """Two convolutions and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.relu1 = nn.Conv2d(1, 4, 3, padding=1), nn.ReLU()
        self.conv2, self.relu2 = nn.Conv2d(4, 8, 3, stride=2), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc1, self.relu3 = nn.Linear(8, 6), nn.ReLU()
        self.fc2 = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.relu2(self.conv2(self.relu1(self.conv1(x)))))
        return self.fc2(self.relu3(self.fc1(x.flatten(2).mean(2))))


def run() -> dict[str, object]:
    torch.manual_seed(0)
    model = Net().eval()
    image = torch.randn(2, 1, 12, 12)
    base = torch.zeros_like(image)
    target = torch.tensor([0, 2])
    gradcam = attr.LayerGradCam(model, model.conv2).attribute(image, target=target)
    results: dict[str, object] = {"gradcam": gradcam}
    results["interpolated"] = attr.LayerAttribution.interpolate(gradcam, (12, 12))
    for method in (attr.Saliency, attr.InputXGradient, attr.GuidedBackprop, attr.FeatureAblation, attr.LRP):
        results[method.__name__] = method(model).attribute(image, target=target)
    more = {"n_steps": 20, "return_convergence_delta": True}
    results["integrated"] = attr.IntegratedGradients(model).attribute(image, base, target=target, **more)
    results["deeplift"] = attr.DeepLift(model).attribute(image, base, target=target)
    results["occluded"] = attr.Occlusion(model).attribute(image, (1, 4, 4), (1, 4, 4), target=target)
    results["layer"] = attr.LayerConductance(model, model.conv2).attribute(image, target=target, n_steps=10)
    return {**results, "neuron": attr.NeuronGradient(model, model.fc1).attribute(image, 2)}
