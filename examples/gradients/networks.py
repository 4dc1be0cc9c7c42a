"""The untrained networks whose gradients are measured, each with its theoretical rate.

Near state 0, a recurrent network is linear: h' = J h, and the gradient over k steps is Jᵏ. Asymptotically, each step
multiplies its norm by the spectral radius of J (Gelfand's formula); with orthogonal recurrent matrices, whose powers
preserve norms, it does so from the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import minigrad as mg
from minigrad import Tensor, nn

from .distance import Model

WIDTH = 64  # of inputs and states
HEADS, LAYERS = 4, 2  # of the transformer
REST = 1e-12  # inputs so small that states stay near 0 even if they grow by 1.1 for 200 steps


@dataclass(frozen=True)
class Network:
    """A network (B, T, D) -> (B, T, H)."""

    name: str
    model: Model
    rate: float  # the theoretical factor of the gradient norm per step, at rest
    formula: str  # the formula of the rate


def rnn(radius: float) -> Network:
    """h' = tanh(W x + U h), where U is an orthogonal matrix times the spectral radius. At rest J = U."""
    layer = nn.RNN(WIDTH, WIDTH, batch_first=True, dtype=mg.float64)
    _prepare(layer, radius)
    return Network(f"RNN, radius {radius:g}", lambda x: layer(x)[0], _radius(layer.weight_hh_l0), "ρ(U)")


def lstm(bias: float) -> Network:
    """Hochreiter & Schmidhuber 1997, with forget gates (Gers et al. 2000) of a given bias. At rest, the input and
    output gates are ½ and the state changes by c' = σ(b) c + ½ · U_c (½ c), so that J = σ(b) I + ¼ U_c. The other
    recurrent matrices are then multiplied by 0."""
    layer = nn.LSTM(WIDTH, WIDTH, batch_first=True, dtype=mg.float64)
    _, forget, candidate, _ = _prepare(layer)
    layer.bias_ih_l0.data[forget] = bias
    step = _sigmoid(bias) * mg.eye(WIDTH, dtype=mg.float64) + layer.weight_hh_l0[candidate] / 4
    return Network(f"LSTM, forget bias {bias:g}", lambda x: layer(x)[0], _radius(step), "ρ(σ(b) I + ¼ U)")


def gru(bias: float) -> Network:
    """Cho et al. 2014, with the reset gate placed as in PyTorch, given the bias of the update gate. At rest, h' = z h +
    (1 − z) · U_n (½ h) with z = σ(b): J = z I + ½ (1 − z) U_n."""
    layer = nn.GRU(WIDTH, WIDTH, batch_first=True, dtype=mg.float64)
    _, keep, candidate = _prepare(layer)
    layer.bias_ih_l0.data[keep] = bias
    z = _sigmoid(bias)
    step = z * mg.eye(WIDTH, dtype=mg.float64) + (1 - z) / 2 * layer.weight_hh_l0[candidate]
    return Network(f"GRU, update bias {bias:g}", lambda x: layer(x)[0], _radius(step), "ρ(z I + ½ (1 − z) U)")


def transformer(length: int) -> Network:
    """Blocks of causal self-attention (Vaswani et al. 2017). Any two positions are as many steps apart as there are
    blocks."""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, dtype=mg.float64)
    blocks = nn.TransformerEncoder(layer, LAYERS)
    for parameter in blocks.parameters():  # initialize each, as the layers are copies
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    positions = nn.SinusoidalPositionalEncoding(WIDTH, length, dtype=mg.float64)
    mask = nn.Transformer.generate_square_subsequent_mask(length, dtype=mg.float64)

    def model(x: Tensor) -> Tensor:
        return blocks(positions(x), mask=mask, is_causal=True)

    return Network("transformer", model, 1.0, "1: no step leads to another")


def _prepare(layer: nn.RNN | nn.LSTM | nn.GRU, gain: float = 1.0) -> list[slice]:
    """Set recurrent matrices to orthogonal matrices times ``gain``, and biases to 0. Returns the rows of each gate."""
    count = layer.weight_hh_l0.shape[0] // WIDTH
    gates = [slice(i * WIDTH, (i + 1) * WIDTH) for i in range(count)]
    with mg.no_grad():
        for rows in gates:
            nn.init.orthogonal_(layer.weight_hh_l0[rows], gain)
        layer.bias_ih_l0.zero_()
        layer.bias_hh_l0.zero_()
    return gates


def _radius(matrix: Tensor) -> float:
    """The largest absolute value of an eigenvalue."""
    return mg.linalg.eigvals(matrix.detach()).abs().max().item()


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
