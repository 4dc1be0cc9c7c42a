"""Mistakes that type checkers must report, in exactly the lines that are marked."""

import minigrad
import minigrad.nn.functional as F
from minigrad import Tensor, nn, optim
from minigrad.utils.data import DataLoader, TensorDataset

x = minigrad.randn(2, 3)
layer = nn.Linear(3, 4)
lstm = nn.LSTM(3, 4)


class Model(nn.Module):
    """A module with annotated types."""

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return x * scale


x.sofmax(-1)  # mistake: no such method
x + "one"  # mistake: not a number
x.max(0).value  # mistake: no such name
x.max(0).argmax()  # mistake: a pair has no tensor methods
x.sum().item().backward()  # mistake: a number
x.shape.append(1)  # mistake: a shape is immutable
minigrad.softmax(x)  # mistake: no dim
minigrad.zerros(3)  # mistake: no such function
F.cross_entropy(x)  # mistake: no target
layer("text")  # mistake: not a tensor
layer(x, x)  # mistake: too many arguments
nn.Linear(3)  # mistake: no out_features
nn.Linear(3, 4, bais=False)  # mistake: no such argument
lstm(x).mean()  # mistake: the result is a pair
lstm(x, x)  # mistake: the state is a pair
out, (h,) = lstm(x)  # mistake: the state is h and c
Model()(x, scale="large")  # mistake: not a number
Model()(x, sclae=2.0)  # mistake: no such argument
Model()(x).sofmax(-1)  # mistake: the result has no such method
optim.Adam(Model())  # mistake for pyright: not parameters; for mypy a module may have any attribute, even __iter__
optim.SGD(layer.parameters(), learning_rate=0.1)  # mistake: no such argument
optim.SGD(layer.parameters(), lr=0.1).step().item()  # mistake: None without a closure
DataLoader(TensorDataset(x), batchsize=2)  # mistake: no such argument
minigrad.save(layer.state_dict())  # mistake: no path
number: int = x.sum()  # mistake: a tensor
