"""Lightning: fit, validate, test and predict, with callbacks, a log, accumulation and resuming; Fabric."""

import csv
import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.fabric import Fabric
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
QUIET = {"accelerator": "cpu", "devices": 1, "enable_progress_bar": False, "enable_model_summary": False}


class Regression(lightning.LightningModule):
    """A small network, trained on squares."""

    def __init__(self, width: int = 16, lr: float = 0.05) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))
        self.losses: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)

    def training_step(self, batch: Any, place: int) -> torch.Tensor:
        loss = nn.functional.mse_loss(self(batch[0]), batch[1])
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: Any, place: int) -> None:
        self.log("val_loss", nn.functional.mse_loss(self(batch[0]), batch[1]), prog_bar=True)

    def test_step(self, batch: Any, place: int) -> None:
        self.log("test_loss", nn.functional.l1_loss(self(batch[0]), batch[1]))

    def predict_step(self, batch: Any, place: int) -> torch.Tensor:
        return self(batch[0])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "epoch"}}


def data(seed: int) -> DataLoader:
    """Batches of eight."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(32, 4, generator=generator)
    return DataLoader(TensorDataset(x, x.pow(2).sum(1, keepdim=True)), batch_size=8)


def with_fabric() -> list[float]:
    """The losses of a custom loop."""
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    fabric.seed_everything(0, verbose=False)
    model, losses = nn.Linear(4, 1), []
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.01))
    for x, y in fabric.setup_dataloaders(data(0)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def run() -> dict[str, object]:
    warnings.simplefilter("ignore")
    lightning.seed_everything(0, verbose=False)
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        best = ModelCheckpoint(dirpath=folder, monitor="val_loss", save_last=True)
        logger = CSVLogger(folder, name="log")
        callbacks = [best, EarlyStopping(monitor="val_loss", patience=3), LearningRateMonitor("epoch")]
        options = {"gradient_clip_val": 0.5, "accumulate_grad_batches": 2, "log_every_n_steps": 1, "logger": logger}
        trainer = lightning.Trainer(max_epochs=4, callbacks=callbacks, default_root_dir=folder, **options, **QUIET)
        model = Regression()
        trainer.fit(model, data(1), data(2))
        results["losses"] = model.losses
        results["best"], results["steps"] = best.best_model_score, trainer.global_step
        results["tested"] = trainer.test(model, data(3), verbose=False)[0]["test_loss"]
        results["validated"] = trainer.validate(model, data(2), verbose=False)[0]["val_loss"]
        results["predicted"] = torch.cat(trainer.predict(model, data(3)))
        with (Path(logger.log_dir) / "metrics.csv").open() as file:
            rows = list(csv.DictReader(file))
        results["columns"] = sorted(rows[0])
        results["rates"] = [float(row["lr-AdamW"]) for row in rows if row.get("lr-AdamW")]

        read = Regression.load_from_checkpoint(best.best_model_path)
        results["width"], results["read"] = read.hparams.width, read.net[0].weight
        resumed = Regression()
        options = {"accumulate_grad_batches": 2, "logger": False, "enable_checkpointing": False}
        longer = lightning.Trainer(max_epochs=6, **options, **QUIET)
        longer.fit(resumed, data(1), ckpt_path=f"{folder}/last.ckpt")
        results["resumed"] = resumed.losses
    results["fabric"] = with_fabric()
    return results
