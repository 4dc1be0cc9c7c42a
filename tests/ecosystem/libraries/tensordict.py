"""TensorDict: stacked, indexed, reshaped; a TensorDictModule trained; TensorDictSequential; functional parameters"""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn
from training import train


def run() -> dict[str, object]:
    torch.manual_seed(0)
    data = TensorDict({"a": torch.randn(4, 3), "nested": {"b": torch.arange(8.0).view(4, 2)}}, batch_size=[4])
    stacked = torch.stack([data, data.apply(lambda t: t + 1)], 0)
    joined = torch.cat([data, data], 0)
    part = data[1:3].clone()
    part["c"] = part["a"].sum(-1)
    first = TensorDictModule(nn.Linear(3, 8), in_keys=["a"], out_keys=["hidden"])
    second = TensorDictModule(nn.Sequential(nn.Tanh(), nn.Linear(8, 1)), in_keys=["hidden"], out_keys=["y"])
    model = TensorDictSequential(first, second)
    target = data["nested", "b"].sum(-1) / 10
    loss = lambda: (model(data.clone())["y"].squeeze(-1) - target).square().mean()
    losses = train(torch.optim.Adam(model.parameters(), lr=0.05), loss, 10)
    params = TensorDict.from_module(first)
    with params.data.mul(2.0).to_module(first):
        doubled = first(data.clone())["hidden"]
    results = {"losses": losses, "shape": str(tuple(stacked.batch_size)), "stacked": stacked["nested", "b"]}
    results |= {"joined": joined["a"], "part": part["c"], "viewed": data.view(2, 2)["a"], "doubled": doubled}
    results |= {"unbound": data.unbind(0)[2]["a"], "keys": ",".join(sorted(map(str, data.keys(True, True))))}
    where = torch.tensor([True, False, True, False])
    return {**results, "zeros": torch.zeros_like(data)["a"], "where": data.masked_select(where)["a"]}
