"""pytorch-tabnet: a classifier and a regressor on tables; their attention; pretraining."""

import tempfile
import warnings

import numpy as np
import torch
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor


def run() -> dict[str, object]:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    table = np.random.default_rng(0).normal(size=(64, 6)).astype(np.float32)
    classes = (table[:, 0] + table[:, 1] > 0).astype(np.int64)
    small = {"n_d": 4, "n_a": 4, "n_steps": 2, "seed": 0, "verbose": 0, "device_name": "cpu"}
    small["optimizer_params"] = {"lr": 2e-3}
    fit = {"max_epochs": 3, "batch_size": 32, "virtual_batch_size": 16, "drop_last": False}
    results: dict[str, object] = {}
    schedule = {"scheduler_fn": torch.optim.lr_scheduler.StepLR, "scheduler_params": {"step_size": 2}}
    classifier = TabNetClassifier(**small, **schedule)
    classifier.fit(table, classes, eval_set=[(table, classes)], eval_metric=["logloss"], **fit)
    losses = lambda model, name="loss": [float(loss) for loss in model.history[name]]
    results["losses"], results["evaluated"] = losses(classifier), losses(classifier, "val_0_logloss")
    results["probabilities"], results["explained"] = classifier.predict_proba(table), classifier.explain(table)
    results["importances"] = classifier.feature_importances_
    with tempfile.TemporaryDirectory() as folder:
        again = TabNetClassifier(device_name="cpu", verbose=0)
        again.load_model(classifier.save_model(f"{folder}/model"))
        results["read"] = again.predict_proba(table)
    regressor = TabNetRegressor(**small, mask_type="entmax")
    regressor.fit(table, table[:, :2] ** 2, **fit)
    results["regression"] = losses(regressor)
    pretrainer = TabNetPretrainer(**small)
    pretrainer.fit(table, pretraining_ratio=0.5, **fit)
    results["pretraining"] = losses(pretrainer)
    return results
