"""GCN, GAT, SAGE, GIN and a transformer's convolution on a graph, trained; batches of graphs, pooling, loaders"""

import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv, global_max_pool, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, to_dense_adj, to_dense_batch, to_undirected
from training import train


def graph(nodes: int, edges: int) -> Data:
    ends = to_undirected(torch.randint(0, nodes, (2, edges)))
    return Data(x=torch.randn(nodes, 6), edge_index=ends, y=torch.randint(0, 3, (nodes,)))


def run() -> dict[str, object]:
    data = graph(20, 40)
    layers = {
        "GCN": lambda i, o: GCNConv(i, o),
        "GAT": lambda i, o: GATConv(i, o // 2 if o > 3 else o, heads=2, concat=o > 3, dropout=0.1),
        "SAGE": lambda i, o: SAGEConv(i, o),
        "GIN": lambda i, o: GINConv(torch.nn.Linear(i, o)),
        "transformer": lambda i, o: TransformerConv(i, o),
    }
    results: dict[str, object] = {}
    for name, layer in layers.items():
        torch.manual_seed(1)
        first, second = layer(6, 8), layer(8, 3)
        parameters = [*first.parameters(), *second.parameters()]
        out = lambda first=first, second=second: second(F.relu(first(data.x, data.edge_index)), data.edge_index)
        optimizer = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4)
        losses = train(optimizer, lambda out=out: F.cross_entropy(out(), data.y), 5)
        results[name] = {"losses": losses, "out": out(), "gradients": [p.grad for p in parameters]}
    loader = DataLoader([graph(4 + n, 6) for n in range(6)], batch_size=3, shuffle=True)
    pooled, sizes = [], []
    for batch in loader:
        h = GCNConv(6, 4)(batch.x, batch.edge_index)
        pooled += [global_mean_pool(h, batch.batch), global_max_pool(h, batch.batch)]
        sizes.append(batch.ptr)
    dense, mask = to_dense_batch(batch.x, batch.batch)
    looped, _ = add_self_loops(data.edge_index, num_nodes=20)
    results |= {"pooled": pooled, "sizes": sizes, "dense": dense, "mask": mask, "text": str(data)}
    return {**results, "adjacency": to_dense_adj(data.edge_index), "degrees": degree(looped[0], 20)}
