"""Four classifiers for small images: a fully-connected, a convolutional and a recurrent network, and a transformer.

Each maps images (B, S, S), with S rows of S pixels, to the logits of C classes (B, C). Its docstring names the paper
that it follows. The defaults are for digits of 8 × 8 pixels, with about 10,000 parameters each. Shapes: B batch, S
side, C classes, H hidden units, P patch side, N patches, D width.
"""

from __future__ import annotations

import minigrad as mg
from minigrad import Tensor, nn


class FullyConnected(nn.Module):
    """Each of H hidden units sees every pixel (Rumelhart, Hinton and Williams 1986, "Learning representations by
    back-propagating errors"), so it must learn from the examples which pixels are adjacent."""

    def __init__(self, side: int = 8, classes: int = 10, hidden: int = 131, dropout: float = 0.5) -> None:
        super().__init__()
        self.hidden = nn.Linear(side * side, hidden)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, S, S) -> logits (B, C)."""
        units = self.hidden(images.flatten(1)).relu()  # (B, S, S) -> (B, S²) -> (B, H)
        return self.output(self.dropout(units))


class Convolutional(nn.Module):
    """Small filters that slide over the image, so that all positions share them, and max pooling (LeCun, Bottou, Bengio
    and Haffner 1998, "Gradient-based learning applied to document recognition"); ``first`` and ``second`` are the
    numbers of 3 × 3 filters in the two layers. Raises ValueError if the side is odd."""

    def __init__(
        self, side: int = 8, classes: int = 10, first: int = 16, second: int = 32, dropout: float = 0.5
    ) -> None:
        super().__init__()
        if side % 2:
            raise ValueError(f"images of {side} × {side} pixels cannot be halved: the side must be even")
        self.first = nn.Conv2d(1, first, 3, padding=1)
        self.second = nn.Conv2d(first, second, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(second * (side // 2) ** 2, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, S, S) -> logits (B, C)."""
        maps = self.first(images[:, None]).relu()  # (B, 1, S, S) -> (B, first, S, S)
        maps = self.pool(self.second(maps).relu())  # (B, second, S/2, S/2)
        return self.output(self.dropout(maps.flatten(1)))


class Recurrent(nn.Module):
    """Reads the rows of the image one by one, from the top. The state of a GRU (Cho et al. 2014, arXiv 1406.1078)
    summarizes the rows read so far, and the last state, of width H, is classified."""

    def __init__(self, side: int = 8, classes: int = 10, hidden: int = 51, dropout: float = 0.2) -> None:
        super().__init__()
        self.recurrent = nn.GRU(side, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, classes)

    def states(self, images: Tensor) -> Tensor:
        """Images (B, S, S) -> the state after each row (B, S, H), from -1 to 1."""
        states: Tensor = self.recurrent(images)[0]
        return states

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, S, S) -> logits (B, C)."""
        return self.output(self.dropout(self.states(images)[:, -1]))


class PatchTransformer(nn.Module):
    """The image as a sentence of patches (Dosovitskiy et al. 2021, arXiv 2010.11929). Each patch is projected to the
    model width and gets a learned position. A class token comes first, and its final state is classified. Patches may
    overlap, so that a stroke cut by one is whole in another (Yuan et al. 2021, arXiv 2101.11986). ``stride`` is the
    distance between patches in pixels. Raises ValueError if patches do not fill the image."""

    def __init__(
        self,
        side: int = 8,
        classes: int = 10,
        patch: int = 4,
        stride: int = 2,
        width: int = 24,
        heads: int = 4,
        layers: int = 2,
        d_ff: int = 40,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        if patch > side or (side - patch) % stride:
            sizes = f"patches of {patch} × {patch} pixels, {stride} apart"
            raise ValueError(f"{sizes}, do not fill images of {side} × {side}")
        self.patch, self.stride = patch, stride
        self.across = (side - patch) // stride + 1
        self.embedding = nn.Linear(patch * patch, width)
        self.token = nn.Parameter(mg.zeros(width))  # the class token
        self.positions = nn.Parameter(0.5 * mg.randn(self.across**2 + 1, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, d_ff, dropout, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, classes)

    def patches(self, images: Tensor) -> Tensor:
        """Images (B, S, S) -> their patches, row by row (B, N, P²)."""
        grid = images.unfold(1, self.patch, self.stride).unfold(2, self.patch, self.stride)  # (B, √N, √N, P, P)
        return grid.reshape(len(images), self.across**2, self.patch**2)

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, S, S) -> logits (B, C)."""
        first = self.token.expand(len(images), 1, -1)  # (D,) -> (B, 1, D)
        x = mg.cat([first, self.embedding(self.patches(images))], 1) + self.positions  # (B, 1 + N, D)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x[:, 0]))
