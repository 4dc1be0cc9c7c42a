"""losses with gradients, miners' pairs and triplets, distances, accuracy of neighbours"""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from pytorch_metric_learning.regularizers import LpRegularizer


def run() -> dict[str, object]:
    points, labels = torch.randn(24, 8), torch.arange(24) % 4
    plain = "Contrastive MultiSimilarity Circle Angular LiftedStructure NCA VICReg"
    makers = {name: getattr(losses, f"{name}Loss") for name in plain.split()}
    proxies = ("ArcFaceLoss", "CosFaceLoss", "ProxyAnchorLoss")
    makers |= {name: lambda name=name: getattr(losses, name)(4, 8) for name in proxies}
    makers |= {
        "triplet": lambda: losses.TripletMarginLoss(distance=distances.CosineSimilarity(), margin=0.2),
        "ntxent": lambda: losses.NTXentLoss(temperature=0.1),
        "supcon": lambda: losses.SupConLoss(embedding_regularizer=LpRegularizer()),
        "fastap": lambda: losses.FastAPLoss(num_bins=5),
        "softtriple": lambda: losses.SoftTripleLoss(4, 8, centers_per_class=2),
        "margin": lambda: losses.MarginLoss(reducer=reducers.AvgNonZeroReducer()),
    }
    results: dict[str, object] = {}
    for name, make in makers.items():
        loss_of, x = make(), points.clone().requires_grad_()
        loss = loss_of(x, ref_emb=points.flip(0)) if name == "VICReg" else loss_of(x, labels)
        loss.backward()
        results[name] = {"loss": loss, "gradient": x.grad, "proxies": [p.grad for p in loss_of.parameters()]}
    for miner in (miners.MultiSimilarityMiner, miners.BatchHardMiner):
        results[miner.__name__] = miner()(points, labels)
    semihard = miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")(points, labels)
    results["semihard"], results["mined"] = semihard, losses.TripletMarginLoss()(points, labels, semihard)
    results["matrices"] = [d(points[:5], points[5:10]) for d in (distances.LpDistance(), distances.SNRDistance())]
    memory = losses.CrossBatchMemory(losses.NTXentLoss(), 8, memory_size=32)
    results["remembered"] = [memory(points, labels).item(), memory(points * 1.1, labels).item()]
    return results
