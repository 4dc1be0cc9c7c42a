"""a classifier in scikit-learn's pipeline, grid search, a regressor with early stopping and a checkpoint"""

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring, LRScheduler
from torch import nn


class Net(nn.Module):
    def __init__(self, width: int = 16, outputs: int = 3) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


def run() -> dict[str, object]:
    random = np.random.RandomState(0)
    x = random.randn(120, 6).astype(np.float32)
    y = (x @ random.randn(6, 3)).argmax(1)
    options = {"criterion": nn.CrossEntropyLoss, "optimizer": torch.optim.Adam, "lr": 0.02, "verbose": 0}
    scoring = EpochScoring("f1_macro", lower_is_better=False, name="f1")
    classifier = NeuralNetClassifier(Net, max_epochs=5, batch_size=32, callbacks=[scoring], **options)
    pipeline = Pipeline([("scale", StandardScaler()), ("net", classifier)]).fit(x, y)
    history = pipeline["net"].history
    quick = NeuralNetClassifier(Net, max_epochs=2, train_split=None, **options)
    search = GridSearchCV(quick, {"module__width": [4, 16]}, cv=2).fit(x, y)
    callbacks = [EarlyStopping(patience=3), LRScheduler(policy="StepLR", step_size=2), Checkpoint(dirname="kept")]
    options = {"optimizer": torch.optim.SGD, "optimizer__momentum": 0.9, "lr": 0.01, "iterator_train__shuffle": True}
    options |= {"max_epochs": 6, "callbacks": callbacks, "verbose": 0}
    regressor = NeuralNetRegressor(Net, module__outputs=1, **options).fit(x, x[:, :1] * 2)
    regressor.load_params(checkpoint=Checkpoint(dirname="kept"))
    return {
        **{name: history[:, name] for name in ("train_loss", "valid_loss", "f1")},
        "probabilities": pipeline.predict_proba(x[:5]),
        "classes": pipeline.predict(x),
        "best width": search.best_params_["module__width"],
        "scores": search.cv_results_["mean_test_score"],
        "regression": regressor.history[:, "train_loss"],
        "predictions": regressor.predict(x[:5]),
    }
