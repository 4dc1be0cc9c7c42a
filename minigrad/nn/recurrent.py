"""Recurrent layers: RNN, LSTM and GRU over whole sequences. Their cells are in ``compat/nn/recurrent.py``.

Shape letters: B batch, T steps, I input_size, H hidden_size, P hidden state width (proj_size if given, else H), D
directions (1 or 2), L layers, N total rows over all steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..autograd.tracebacks import warn
from ..functions.creation import zeros
from ..functions.shaping import cat, stack
from ..ops import recurrent as ops
from ..tensor import Tensor, apply
from . import functional as F, init
from .layer import Layer
from .utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

Shape = tuple[int, ...]
States = tuple[Tensor, ...]
Weights = Sequence[Tensor | None]
Sequences = TypeVar("Sequences", Tensor, PackedSequence)  # a layer's inputs and outputs
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _direction(mode: str, x: Tensor, weights: Weights, states: States, sizes: Shape, reverse: bool) -> States:
    """Run one direction of one layer over all steps, for rows x (N, I). ``weights``: weight_ih, weight_hh, bias_ih,
    bias_hh and weight_hr (None if missing). Returns each step's h (N, P), and the last states."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    assert w_ih is not None
    if mode == "GRU":
        return apply(ops.gru, (F.linear(x, w_ih, b_ih), w_hh, b_hh, *states, sizes, reverse))
    gates = F.linear(x, w_ih, b_ih if b_ih is None or b_hh is None else b_ih + b_hh)
    if mode == "LSTM":
        return apply(ops.lstm, (gates, w_hh, w_hr, *states, sizes, reverse))
    return apply(ops.rnn, (gates, w_hh, *states, sizes, reverse, mode == "RNN_RELU"))


def _permuted(states: States, order: Tensor | None) -> States:
    return states if order is None else tuple(s.index_select(1, order) for s in states)


class _Recurrent(Layer):
    """Base class of recurrent layers and cells. Parameters are initialised uniformly in ±1/√H."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("input_size", "hidden_size", "bias")
    _unnamed, _usual = 2, {"bias": True}
    input_size: int
    hidden_size: int

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


class RNNBase(_Recurrent):
    """Base class of RNN, LSTM and GRU. It creates the parameters, checks inputs, and runs all layers and directions.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU". input_size, hidden_size: I and H.
        num_layers: L; each layer runs over the results of the previous one.
        batch_first: input and output are (B, T, ...) instead of (T, B, ...); this does not apply to the hidden state.
        dropout: the dropout probability for the results of every layer except the last, in training.
        bidirectional: also run each layer backwards over the sequence, and concatenate the results.
        proj_size: P, the smaller width to which an LSTM projects its hidden state; 0 means no projection.

    Attributes:
        weight_ih_l0: (G·H, I) for layer 0, where G = 4 for LSTM, 3 for GRU and 1 for RNN. weight_hh_l0: (G·H, P).
        bias_ih_l0, bias_hh_l0: (G·H). weight_hr_l0: (P, H) with ``proj_size``. All are initialised uniformly in ±1/√H.
            The inputs of the other layers have width D·P. Names for the reverse direction end in "_reverse".

    Raises ValueError or TypeError for invalid sizes or options."""

    _usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
    _repr_fields = ("input_size", "hidden_size", *_usual)

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, Number) or not 0 <= dropout <= 1:
            raise ValueError(f"dropout should be a number in range [0, 1] (a probability), not {dropout!r}")
        if dropout > 0 and num_layers == 1:
            use = "dropout option adds dropout after all but last recurrent layer"
            expected = f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}"
            warn(f"{use}, so non-zero dropout expects {expected}")
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        for name, size in {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}.items():
            if not hasattr(size, "__index__"):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size and mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        for name, flag in {"bias": bias, "batch_first": batch_first}.items():
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        parameters: dict[str, Shape] = {}
        for layer in range(num_layers):
            width = (proj_size or hidden_size) * (1 + bidirectional) if layer else input_size
            shapes = _shapes(_GATES[mode], width, hidden_size, bias, proj_size)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes_by_name = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                self._all_weights.append(list(shapes_by_name))
                parameters |= shapes_by_name
        self._add_parameters(device, dtype, **parameters)

    def flatten_parameters(self) -> None:
        """Do nothing. PyTorch moves the weights into one block of GPU memory, which minigrad does not need."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [weight for weights in self.all_weights for weight in weights]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run the layers over sequences.

        Args:
            input: (T, B, I), (B, T, I) with ``batch_first``, (T, I) for one sequence, or a PackedSequence.
            hx: the initial hidden state, (L·D, B, P), without B for one sequence; zeros if None. An LSTM expects a
                pair: the hidden state and the cell state (L·D, B, H).

        Returns the last layer's result at each step, shaped like the input except for its width D·P, and the final
        hidden state, shaped like ``hx``. Raises ValueError or RuntimeError if shapes or dtypes do not match."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            states = _permuted(self._initial_states(data, hx, batch_sizes), order)
            out, states = self._layers(data, states, tuple(batch_sizes.tolist()))
            return PackedSequence(out, batch_sizes, order, back), self._returned(_permuted(states, back))
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._kind()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batch_axis = 0 if self.batch_first else 1
        batched = input.dim() == 3
        x = input if batched else input.unsqueeze(batch_axis)
        states = self._initial_states(x, hx, None, batched)
        x = x.transpose(0, 1) if self.batch_first else x
        time, batch = x.shape[:2]
        out, states = self._layers(x.reshape(time * batch, self.input_size), states, (batch,) * time)
        out = out.reshape(time, batch, out.shape[-1])
        out = out.transpose(0, 1) if self.batch_first else out
        if not batched:
            out, states = out.squeeze(batch_axis), tuple(s.squeeze(1) for s in states)
        return out, self._returned(states)

    def _layers(self, x: Tensor, states: States, sizes: Shape) -> tuple[Tensor, States]:
        """Run rows (N, I) through all layers. Returns (N, D·P), and the last states, each (L·D, B, ·)."""
        directions = 1 + self.bidirectional
        initial = list(zip(*(s.unbind(0) for s in states), strict=True))
        last: list[States] = []
        for layer in range(self.num_layers):
            outs = []
            for reverse in range(directions):
                k = layer * directions + reverse
                weights = [getattr(self, name) for name in self._all_weights[k]]
                biases = weights[2:4] if self.bias else [None, None]
                weights = [*weights[:2], *biases, weights[-1] if self.proj_size else None]
                out, *ends = _direction(self.mode, x, weights, initial[k], sizes, bool(reverse))
                outs.append(out)
                last.append(tuple(ends))
            x = outs[0] if directions == 1 else cat(outs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack(parts) for parts in zip(*last, strict=True))

    if TYPE_CHECKING:

        def __call__(self, input: Sequences, hx: Tensor | None = None) -> tuple[Sequences, Tensor]: ...

    # Hidden states: a tuple of one tensor, or of two for an LSTM --------------------------------------------

    def _kind(self) -> str:
        return self.mode.partition("_")[0]

    def _returned(self, states: States) -> Any:
        return states if self.mode == "LSTM" else states[0]

    def _initial_states(self, x: Tensor, hx: Any, sizes: Tensor | None, batched: bool = True) -> States:
        """Check ``hx`` and the input, and return the initial states with a batch axis (zeros if ``hx`` is None). ``x``:
        (T, B, I), or packed rows (N, I) with ``sizes``, the number of rows per step."""
        weight = getattr(self, self._all_weights[0][0])
        if x.dtype != weight.dtype:
            problem = f"RNN input dtype ({x.dtype}) does not match weight dtype ({weight.dtype})"
            remedy = f"Convert input: input.to({weight.dtype}), or convert model: model.to({x.dtype})"
            raise ValueError(f"{problem}. {remedy}")
        if x.size(-1) != self.input_size:
            problem = f"input.size(-1) must be equal to input_size={self.input_size}, got {x.size(-1)}"
            raise RuntimeError(f"{self._kind()}: {problem} (the input's shape is {tuple(x.array.shape)})")
        if sizes is None and x.size(1 if self.batch_first else 0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        batch = x.size(0 if self.batch_first else 1) if sizes is None else int(sizes[0])
        layers = self.num_layers * (1 + self.bidirectional)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: 2 if self.mode == "LSTM" else 1]
        shapes = [(layers, batch, width) for width in widths]
        if hx is None:
            return tuple(zeros(*shape, dtype=x.dtype, device=x.device) for shape in shapes)
        if self.mode == "LSTM" and len(hx) != 2:
            raise RuntimeError(f"LSTM expects two hidden states: hx must be a pair (h_0, c_0), not {type(hx).__name__}")
        if self.mode != "LSTM" and not isinstance(hx, Tensor):
            raise TypeError(f"{self._kind()}: hx must be a Tensor, not {type(hx).__name__}")
        states: States = tuple(hx) if self.mode == "LSTM" else (hx,)
        if any(state.dim() != 2 + batched for state in states):
            form, actual = "batched 3-D" if batched else "unbatched 2-D", ", ".join(f"{s.dim()}-D" for s in states)
            raise RuntimeError(f"For {form} input, hx (and cx) should also be {2 + batched}-D but got {actual} tensors")
        states = states if batched else tuple(state.unsqueeze(1) for state in states)
        for i, (state, shape) in enumerate(zip(states, shapes, strict=True)):
            if tuple(state.shape) != shape:
                problem = f"Expected hidden{f'[{i}]' if len(states) > 1 else ''} size {shape}, got {list(state.shape)}"
                axes = "(layers · directions, batch, hidden size), whether batch_first or not"
                raise RuntimeError(f"{problem}: {self._kind()} expects {axes}")
        if any(state.dtype != x.dtype for state in states):
            dtypes = ", ".join(str(t.dtype) for t in (x, *states))
            raise RuntimeError(f"{self._kind()}: input and hx must have the same dtype, but got {dtypes}")
        return states


def _shapes(gates: int, width: int, hidden: int, bias: bool, projected: int = 0) -> dict[str, Shape]:
    rows = gates * hidden
    shapes: dict[str, Shape] = {"weight_ih": (rows, width), "weight_hh": (rows, projected or hidden)}
    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
    return shapes | ({"weight_hr": (projected, hidden)} if projected else {})


class RNN(RNNBase):
    """h ← f(W x + b + W' h + b'), where f is tanh or relu (Elman 1990). See RNNBase for the arguments."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        options = (num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, *options)
        self.nonlinearity = nonlinearity


class _Gated(RNNBase):
    """Base class of layers whose class determines the mode."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = (num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)
        super().__init__(self.mode, input_size, hidden_size, *options)


class GRU(_Gated):
    """The gated recurrent unit over sequences (Cho et al. 2014): r, z = σ(W x + b + W' h + b'),
    n = tanh(W x + b + r (W' h + b')), h ← (1 - z) n + z h.

    See RNNBase for the arguments and attributes. The weight rows are in the order r, z, n.

    >>> out, h = nn.GRU(4, 8, num_layers=2)(mg.zeros(5, 2, 4))
    >>> out.shape, h.shape
    (minigrad.Size([5, 2, 8]), minigrad.Size([2, 2, 8]))
    """

    mode = "GRU"


class LSTM(_Gated):
    """Long short-term memory over sequences (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et
    al. 2000): i, f, o = σ(W x + b + W' h + b'), g = tanh(W x + b + W' h + b'), c ← f c + i g, h ← o tanh c.

    See RNNBase for the arguments and attributes. The weight rows are in the order i, f, g, o. ``hx`` is a pair (h, c).

    >>> out, (h, c) = nn.LSTM(4, 8, batch_first=True)(mg.zeros(2, 5, 4))
    >>> out.shape, h.shape
    (minigrad.Size([2, 5, 8]), minigrad.Size([1, 2, 8]))
    """

    mode = "LSTM"

    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]
            self, input: Sequences, hx: tuple[Tensor, Tensor] | None = None
        ) -> tuple[Sequences, tuple[Tensor, Tensor]]: ...
