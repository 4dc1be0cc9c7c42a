"""classification, regression, retrieval, text and image metrics, in a collection and over batches"""

import torch
from torchmetrics import MeanMetric, MetricCollection, classification
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
from torchmetrics.regression import KendallRankCorrCoef, MeanSquaredError, PearsonCorrCoef, R2Score, SpearmanCorrCoef
from torchmetrics.retrieval import RetrievalMAP, RetrievalNormalizedDCG
from torchmetrics.text import BLEUScore, CharErrorRate, Perplexity, WordErrorRate

CLASSES = "Accuracy F1Score AUROC AveragePrecision CalibrationError ConfusionMatrix"


def run() -> dict[str, object]:
    classes = MetricCollection({name: getattr(classification, f"Multiclass{name}")(5) for name in CLASSES.split()})
    numbers = MetricCollection(
        MeanSquaredError(), R2Score(), PearsonCorrCoef(), SpearmanCorrCoef(), KendallRankCorrCoef()
    )
    mean, steps = MeanMetric(), []
    for _ in range(3):
        logits, target = torch.randn(40, 5), torch.randint(0, 5, (40,))
        steps.append(classes(logits.softmax(-1), target)["Accuracy"].item())
        x = torch.randn(40)
        numbers.update(x + 0.5 * torch.randn(40), x)
        mean.update(logits.mean(1), weight=target.float())
    labels = classification.MultilabelAUROC(3)(torch.rand(30, 3), torch.randint(0, 2, (30, 3)))
    scores, relevant, query = torch.rand(20), torch.rand(20) > 0.6, torch.arange(4).repeat_interleave(5)
    images = torch.rand(2, 3, 32, 32, requires_grad=True)
    similarity = StructuralSimilarityIndexMeasure(data_range=1.0)(images, torch.rand(2, 3, 32, 32))
    similarity.backward()
    predictions, targets = ["the cat sat on a mat"], ["the cat is on the mat"]
    results = {"classes": classes.compute(), "numbers": numbers.compute(), "steps": steps, "mean": mean.compute()}
    results |= {"labels": labels, "similarity": similarity, "similarity's gradient": images.grad}
    for metric in (RetrievalMAP(), RetrievalNormalizedDCG()):
        results[type(metric).__name__] = metric(scores, relevant, indexes=query)
    results["noise"] = PeakSignalNoiseRatio(data_range=1.0)(images.detach(), torch.rand(2, 3, 32, 32))
    results["bleu"] = BLEUScore(n_gram=2)(predictions, [targets])
    results["errors"] = [WordErrorRate()(predictions, targets).item(), CharErrorRate()(predictions, targets).item()]
    return {**results, "perplexity": Perplexity()(torch.randn(2, 6, 9), torch.randint(0, 9, (2, 6)))}
