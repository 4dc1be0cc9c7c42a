"""A Learner trains a small model for an epoch, with a metric and one-cycle learning rates"""

import tempfile

import torch
from fastai.basics import DataLoader, DataLoaders, Learner, TensorBase, accuracy
from fastai.losses import CrossEntropyLossFlat
from torch import nn


class Image(TensorBase):
    pass


def run() -> dict[str, object]:
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = (x[:, 0] > 0).long()
    items = [(a, b) for a, b in zip(x, y, strict=True)]
    loaders = DataLoaders(DataLoader(items[:48], bs=8), DataLoader(items[48:], bs=8))
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
    with tempfile.TemporaryDirectory() as folder:
        learner = Learner(loaders, model, loss_func=CrossEntropyLossFlat(), metrics=accuracy, path=folder)
        learner.remove_cbs([callback for callback in learner.cbs if type(callback).__name__ == "ProgressCallback"])
        learner.logger = lambda values: None
        learner.fit(2, 1e-2)
        values = learner.recorder.values
        predictions, targets = learner.get_preds()
    image = Image(torch.ones(2, 3), kind="scan")
    results = {"predictions": predictions, "targets": targets, "shown": repr(image.sum())}
    results["values"] = [[float(v) for v in row] for row in [*values, learner.recorder.losses]]
    kinds = f"{type(image * 2).__name__} {type(image[0]).__name__} {getattr(image + 1, 'kind', None)}"
    return {**results, "class": kinds}
