"""pytorch-lightning: the older name of the package; training by hand, a data module, averaged weights."""

from __future__ import annotations

import logging
import tempfile
import warnings
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import StochasticWeightAveraging
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Points(pl.LightningDataModule):
    """Points on the plane, in two classes."""

    def setup(self, stage: str) -> None:
        x = torch.randn(32, 2, generator=torch.Generator().manual_seed(0))
        self.points = TensorDataset(x, (x[:, 0] > x[:, 1]).long())

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.points, batch_size=8, shuffle=True)


class Classifier(pl.LightningModule):
    """Steps its optimiser itself."""

    def __init__(self, automatic: bool) -> None:
        super().__init__()
        self.automatic_optimization = automatic
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
        self.losses: list[float] = []

    def training_step(self, batch: Any, place: int) -> torch.Tensor:
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.losses.append(loss.item())
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            optimizer.step()
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=0.05)


def run() -> dict[str, object]:
    warnings.simplefilter("ignore")
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for automatic in (True, False):
            pl.seed_everything(0, verbose=False)
            model = Classifier(automatic)
            trainer = pl.Trainer(
                max_epochs=3,
                accelerator="cpu",
                devices=1,
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                default_root_dir=folder,
                callbacks=[StochasticWeightAveraging(0.01, swa_epoch_start=1)] if automatic else [],
            )
            trainer.fit(model, datamodule=Points())
            results["automatic" if automatic else "by hand"] = model.losses
            results[f"weights {automatic}"] = model.net[0].weight
    return results
