"""Training steps whose results can be compared bit for bit; run as a program, it prints a digest of them."""

import hashlib
import importlib
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import Tensor, nn, optim
from minigrad.backend import parallel, products
from minigrad.nn import functional as F
from minigrad.ops import elementwise


class Model(nn.Module):
    """An encoder and a decoder with one layer each, dropout, an embedding, and a large last layer."""

    def __init__(self, words: int = 400) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.transformer = nn.Transformer(16, 2, 1, 1, 32, dropout=0.1, activation="gelu", batch_first=True)
        self.head = nn.Linear(16, words)

    def forward(self, source: Tensor, target: Tensor, following: Tensor) -> Tensor:
        """The loss of predicting the next target tokens, without complete logits."""
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        out = self.transformer(self.embed(source), self.embed(target), tgt_mask=mask, tgt_is_causal=True)
        return F.linear_cross_entropy(out, self.head.weight, following, linear_bias=self.head.bias)


# Names of thresholds above which threads share work, in any module.
SMALL = {"SMALL": 1 << 9, "LARGE": 1 << 10}
SMALL |= {"PART": 1 << 8, "LEAST": 4, "LEAST_ROWS": 16, "CHUNK_BYTES": 1 << 12}
MODULES = [parallel, products, elementwise, importlib.import_module("minigrad.nn.functional.linear")]
MODULES += [importlib.import_module("minigrad.backend.kernels.cross_entropy_numba")]


def cut_small(patch: pytest.MonkeyPatch) -> None:
    """Let threads also share small arrays and products."""
    for module in MODULES:
        for name, value in SMALL.items():
            if hasattr(module, name):
                patch.setattr(module, name, value)  # there they are exponents


def train(threads: int, dtype: Any = minigrad.float32, steps: int = 3) -> tuple[list[Any], list[Any]]:
    """The loss of each step and the gradients of the last; the parameters; all as NumPy arrays."""
    before = parallel.get_num_threads()
    parallel.set_num_threads(threads)
    try:
        minigrad.manual_seed(1)
        model = Model().to(dtype)
        optimizer = optim.AdamW(model.parameters(), lr=1e-3)
        losses: list[Any] = []
        for _ in range(steps):
            source, target = minigrad.randint(0, 400, (4, 9)), minigrad.randint(0, 400, (4, 8))
            optimizer.zero_grad()
            loss = model(source, target[:, :-1], target[:, 1:])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach().numpy())
        parameters = list(model.parameters())
        return [*losses, *(p.grad.numpy() for p in parameters)], [p.detach().numpy() for p in parameters]
    finally:
        parallel.set_num_threads(before)


def digest(results: tuple[list[Any], list[Any]]) -> str:
    """A text that changes if a single bit of ``train``'s results changes."""
    total = hashlib.sha256()
    for arrays in results:
        for array in arrays:
            total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as context:
        cut_small(context)
        print(digest(train(3)))
