"""pytorch-ignite: engines that train and evaluate, with metrics, handlers and checkpoints."""

import tempfile

import torch
from ignite.contrib.handlers import PiecewiseLinear
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping, TerminateOnNan
from ignite.metrics import Accuracy, ConfusionMatrix, Fbeta, Loss, Precision, Recall, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def run() -> dict[str, object]:
    torch.manual_seed(0)
    x = torch.randn(48, 4)
    data = DataLoader(TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long()), batch_size=8)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    criterion = nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    measures = {"accuracy": Accuracy(), "loss": Loss(criterion), "precision": Precision(), "recall": Recall()}
    measures |= {"f1": Fbeta(1.0), "confusion": ConfusionMatrix(3)}
    evaluator = create_supervised_evaluator(model, measures)
    RunningAverage(output_transform=lambda loss: loss).attach(trainer, "average")
    rates = PiecewiseLinear(optimizer, "lr", [(0, 0.02), (24, 0.001)])
    trainer.add_event_handler(Events.ITERATION_STARTED, rates)
    trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
    losses, averages, evaluated = [], [], []

    @trainer.on(Events.ITERATION_COMPLETED(every=2))
    def note(engine: Engine) -> None:
        losses.append(engine.state.output)
        averages.append(engine.state.metrics["average"])

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine: Engine) -> None:
        evaluator.run(data)
        evaluated.append(evaluator.state.metrics["loss"])

    results: dict[str, object] = {"losses": losses, "averages": averages, "evaluated": evaluated}
    with tempfile.TemporaryDirectory() as folder:
        keep = {"model": model, "optimizer": optimizer, "trainer": trainer}
        checkpoint = Checkpoint(keep, DiskSaver(folder, require_empty=False), n_saved=1)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, checkpoint)
        stop = EarlyStopping(5, lambda engine: -engine.state.metrics["loss"], trainer)
        evaluator.add_event_handler(Events.COMPLETED, stop)
        trainer.run(data, max_epochs=4)
        state = torch.load(checkpoint.last_checkpoint)
        again = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
        Checkpoint.load_objects({"model": again}, state)
        results["read"] = again(x[:4])
    results |= {name: torch.as_tensor(evaluator.state.metrics[name]) for name in measures}
    return {**results, "rate": optimizer.param_groups[0]["lr"]}
