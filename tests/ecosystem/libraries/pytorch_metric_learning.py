"""losses with gradients, miners' pairs and triplets, distances, accuracy of neighbours"""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from pytorch_metric_learning.regularizers import LpRegularizer


def run() -> dict[str, object]:
    points, labels = torch.randn(24, 8), torch.arange(24) % 4
    makers = {
        "contrastive": lambda: losses.ContrastiveLoss(),
        "triplet": lambda: losses.TripletMarginLoss(distance=distances.CosineSimilarity(), margin=0.2),
        "ntxent": lambda: losses.NTXentLoss(temperature=0.1),
        "supcon": lambda: losses.SupConLoss(embedding_regularizer=LpRegularizer()),
        "multi": lambda: losses.MultiSimilarityLoss(),
        "circle": lambda: losses.CircleLoss(),
        "angular": lambda: losses.AngularLoss(),
        "lifted": lambda: losses.LiftedStructureLoss(),
        "fastap": lambda: losses.FastAPLoss(num_bins=5),
        "nca": lambda: losses.NCALoss(),
        "arcface": lambda: losses.ArcFaceLoss(4, 8),
        "cosface": lambda: losses.CosFaceLoss(4, 8),
        "proxy": lambda: losses.ProxyAnchorLoss(4, 8),
        "softtriple": lambda: losses.SoftTripleLoss(4, 8, centers_per_class=2),
        "vicreg": lambda: losses.VICRegLoss(),
        "margin": lambda: losses.MarginLoss(reducer=reducers.AvgNonZeroReducer()),
    }
    results: dict[str, object] = {}
    for name, make in makers.items():
        loss_of, x = make(), points.clone().requires_grad_()
        loss = loss_of(x, ref_emb=points.flip(0)) if name == "vicreg" else loss_of(x, labels)
        loss.backward()
        results[name] = {"loss": loss, "gradient": x.grad, "proxies": [p.grad for p in loss_of.parameters()]}
    pairs = miners.MultiSimilarityMiner()(points, labels)
    hardest = miners.BatchHardMiner()(points, labels)
    semihard = miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")(points, labels)
    mined = losses.TripletMarginLoss()(points, labels, semihard)
    matrices = [d(points[:5], points[5:10]) for d in (distances.LpDistance(), distances.SNRDistance())]
    memory = losses.CrossBatchMemory(losses.NTXentLoss(), 8, memory_size=32)
    remembered = [memory(points, labels).item(), memory(points * 1.1, labels).item()]
    return {
        **results,
        "pairs": pairs,
        "hardest": hardest,
        "semihard": semihard,
        "mined": mined,
        "matrices": matrices,
        "remembered": remembered,
    }
