"""The table of a model's layers, shapes and parameters"""

import torch
from torch import nn
from torchinfo import summary


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.recurrent = nn.LSTM(36, 5, batch_first=True)
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        hidden = torch.relu(self.norm(self.convolution(x)))
        return self.out(self.recurrent(hidden.flatten(2))[0])


def run() -> dict[str, object]:
    torch.manual_seed(0)
    table = summary(
        Net(), (2, 1, 8, 8), depth=3, verbose=0, col_names=("input_size", "output_size", "num_params", "mult_adds")
    )
    counts = [table.total_params, table.total_mult_adds, table.total_output_bytes]
    return {"table": str(table), "counts": counts}
