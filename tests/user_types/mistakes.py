"""Mistakes of a user, which type checkers report: in each line that says so, and in no other."""

import minigrad
import minigrad.nn.functional as F
from minigrad import Tensor, nn, optim
from minigrad.utils.data import DataLoader, TensorDataset

x = minigrad.randn(2, 3)
layer = nn.Linear(3, 4)
lstm = nn.LSTM(3, 4)


class Model(nn.Module):
    """Says what it takes and returns."""

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return x * scale


x.sofmax(-1)  # mistake: no such method
x + "one"  # mistake: no number
x.max(0).value  # mistake: no such name
x.max(0).argmax()  # mistake: a pair has no methods of a tensor
x.sum().item().backward()  # mistake: a number
x.shape.append(1)  # mistake: a shape does not change
minigrad.softmax(x)  # mistake: no dim
minigrad.zerros(3)  # mistake: no such function
F.cross_entropy(x)  # mistake: no target
layer("text")  # mistake: no tensor
layer(x, x)  # mistake: too much
nn.Linear(3)  # mistake: no out_features
nn.Linear(3, 4, bais=False)  # mistake: no such argument
lstm(x).mean()  # mistake: a pair
lstm(x, x)  # mistake: the state is a pair
out, (h,) = lstm(x)  # mistake: h and c
Model()(x, scale="large")  # mistake: no number
Model()(x, sclae=2.0)  # mistake: no such argument
Model()(x).sofmax(-1)  # mistake: no such method of the result
optim.Adam(Model())  # mistake for pyright: not its parameters; to mypy a module may have any attribute, even __iter__
optim.SGD(layer.parameters(), learning_rate=0.1)  # mistake: no such argument
optim.SGD(layer.parameters(), lr=0.1).step().item()  # mistake: None without a closure
DataLoader(TensorDataset(x), batchsize=2)  # mistake: no such argument
minigrad.save(layer.state_dict())  # mistake: no path
number: int = x.sum()  # mistake: a tensor
