"""A person's program, of which type checkers must say nothing."""

from __future__ import annotations

from pathlib import Path

PROGRAM = """
from typing import assert_type

import minigrad as mg
from minigrad import Tensor, nn, viz


class Classifier(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, width)
        self.out = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(mg.relu(self.hidden(x)))


model = Classifier(8)
optimizer = mg.optim.Adam(model.parameters(), lr=1e-2)
x, labels = mg.randn(16, 4), mg.randint(0, 3, (16,))
loss = mg.tensor(0.0)
for _ in range(3):
    scores = assert_type(model.hidden(x), Tensor)
    loss = assert_type(nn.functional.cross_entropy(model(x), labels), Tensor)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
values, places = model(x).max(1)
print(values.shape, places.dtype, loss.item())
viz.graph(loss).save("user.html")
"""


def write_user_program() -> None:
    """user.py."""
    Path("user.py").write_text(PROGRAM, encoding="utf-8")
