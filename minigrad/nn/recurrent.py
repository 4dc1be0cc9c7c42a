"""Recurrent layers: RNN, LSTM and GRU over whole sequences, and their cells for one step.

Shape letters: B batch, T steps, I input_size, H hidden_size, P what the hidden state is wide (proj_size if
there is one, else H), D directions (1 or 2), L layers, N rows of all steps together.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

from ..autograd.calls import apply
from ..functions.creation import empty, zeros
from ..functions.shaping import cat, stack
from ..ops import recurrent as ops
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

Shape = tuple[int, ...]
States = tuple[Tensor, ...]
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _direction(
    mode: str, x: Tensor, weights: Sequence[Tensor | None], states: States, sizes: Shape, reverse: bool
) -> States:
    """One direction of one layer over all steps: rows (N, I) -> each step's h (N, P), and the last states.

    ``weights`` are weight_ih, weight_hh, bias_ih, bias_hh and weight_hr, None where there is none.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    assert w_ih is not None
    if mode == "GRU":
        found = apply(ops.gru, (F.linear(x, w_ih, b_ih), w_hh, b_hh, *states, sizes, reverse))
    else:
        gates = F.linear(x, w_ih, b_ih if b_ih is None or b_hh is None else b_ih + b_hh)
        if mode == "LSTM":
            found = apply(ops.lstm, (gates, w_hh, w_hr, *states, sizes, reverse))
        else:
            found = apply(ops.rnn, (gates, w_hh, *states, sizes, reverse, mode == "RNN_RELU"))
    results: States = found
    return results


def _permuted(states: States, order: Tensor | None) -> States:
    """States (L·D, B, ·) with the batch in another order."""
    return states if order is None else tuple(s.index_select(1, order) for s in states)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters, checks, layers and directions.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size, hidden_size: I and H.
        num_layers: L, each over the results of the one before.
        bias: whether there are biases.
        batch_first: (B, T, ...) and not (T, B, ...), for input and output; never for the hidden state.
        dropout: of the results of every layer but the last, in training.
        bidirectional: a second pass over each layer from the end, its results put after the first's.
        proj_size: P, if the LSTM's hidden state is projected to fewer numbers; 0 for none.
        device, dtype: of the parameters.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0: of layer 0, at first uniform in
            ±1/√H; "_reverse" after the name for the other direction.

    Raises:
        ValueError, TypeError: sizes or options that make no sense.
    """

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
        _check_options(mode, input_size, hidden_size, num_layers, dropout, proj_size)
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for end in ("", "_reverse") if bidirectional else ("",):
                self._add_weights(layer, end, device, dtype)
        self.reset_parameters()

    def _add_weights(self, layer: int, end: str, device: Any, dtype: Any) -> None:
        rows, state = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        width = state * (1 + self.bidirectional) if layer else self.input_size
        shapes: dict[str, Shape] = {"weight_ih": (rows, width), "weight_hh": (rows, state)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            made = Parameter(empty(*shape, device=device, dtype=dtype))
            self.register_parameter(f"{name}_l{layer}{end}", made)
        self._all_weights.append([f"{name}_l{layer}{end}" for name in shapes])

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: PyTorch brings the weights into one piece of GPU memory, which is of no use here."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    # Shapes -------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input (T, B, I), or packed (N, I), of another dtype or width.

        Raises:
            ValueError: its dtype is not that of the weights. RuntimeError: its width is not I, or it has no
                steps.
        """
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert "
                f"input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )
        if batch_sizes is None and input.size(1 if self.batch_first else 0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> Shape:
        """(L·D, B, P): the shape of the hidden state for an input."""
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        layers = self.num_layers * (1 + self.bidirectional)
        return layers, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: Shape, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Refuse a hidden state of another shape. Raises RuntimeError with ``msg``."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or hidden state that does not fit; see the two checks."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A hidden state with the batch in another order."""
        return _permuted((hx,), permutation)[0]

    # Running ------------------------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run over sequences.

        Args:
            input: (T, B, I), (B, T, I) with ``batch_first``, (T, I) for one sequence, or a PackedSequence.
            hx: the hidden state to begin with, (L·D, B, P), without B for one sequence; zeros if None. An
                LSTM takes a pair of it and the cell state (L·D, B, H).

        Returns:
            Each step's result of the last layer, shaped as the input with D·P for I, and the last hidden
            state, shaped as ``hx``.

        Raises:
            ValueError, RuntimeError: shapes or dtypes that do not fit.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._told()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batch_axis = 0 if self.batch_first else 1
        batched = input.dim() == 3
        x = input if batched else input.unsqueeze(batch_axis)
        states = self._begin(x, self._states(hx, batched), None)
        x = x.transpose(0, 1) if self.batch_first else x
        time, batch = x.shape[:2]
        out, states = self._layers(x.reshape(time * batch, self.input_size), states, (batch,) * time)
        out = out.reshape(time, batch, out.shape[-1])
        out = out.transpose(0, 1) if self.batch_first else out
        if not batched:
            out, states = out.squeeze(batch_axis), tuple(s.squeeze(1) for s in states)
        return out, self._returned(states)

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, order, back = packed
        states = _permuted(self._begin(data, self._states(hx, True), batch_sizes), order)
        out, states = self._layers(data, states, tuple(batch_sizes.tolist()))
        return PackedSequence(out, batch_sizes, order, back), self._returned(_permuted(states, back))

    def _layers(self, x: Tensor, states: States, sizes: Shape) -> tuple[Tensor, States]:
        """Rows (N, I) through all layers: (N, D·P), and the last states, each (L·D, B, ·)."""
        directions = 1 + self.bidirectional
        begin = list(zip(*(s.unbind(0) for s in states), strict=True))
        last: list[States] = []
        for layer in range(self.num_layers):
            outs = []
            for reverse in range(directions):
                k = layer * directions + reverse
                out, *ends = _direction(self.mode, x, self._weights(k), begin[k], sizes, bool(reverse))
                outs.append(out)
                last.append(tuple(ends))
            x = outs[0] if directions == 1 else cat(outs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack(parts) for parts in zip(*last, strict=True))

    def _weights(self, k: int) -> list[Any]:
        """weight_ih, weight_hh, bias_ih, bias_hh, weight_hr of a layer and direction, None for none."""
        held = [getattr(self, name) for name in self._all_weights[k]]
        biases = held[2:4] if self.bias else [None, None]
        return [*held[:2], *biases, held[-1] if self.proj_size else None]

    # Hidden states: a tuple of one here, of two in the LSTM -------------------------------------------------

    def _told(self) -> str:
        return self.mode.partition("_")[0]

    def _states(self, hx: Any, batched: bool) -> States:
        """A hidden state as a tuple with a batch axis; () for None."""
        if hx is None:
            return ()
        if not isinstance(hx, Tensor):
            raise TypeError(f"{self._told()}: hx must be a Tensor, not {type(hx).__name__}")
        if hx.dim() != 2 + batched:
            raise RuntimeError(
                f"For {_batch_told(batched)} input, hx should also be {2 + batched}-D but got {hx.dim()}-D tensor"
            )
        return (hx if batched else hx.unsqueeze(1),)

    def _begin(self, x: Tensor, states: States, batch_sizes: Tensor | None) -> States:
        """The states to begin with, checked; zeros if none are given."""
        if states:
            self.check_forward_args(x, self._returned(states), batch_sizes)
            for state in states:
                if state.dtype != x.dtype:
                    raise RuntimeError(
                        f"{self._told()}: input and hx must have the same dtype, but got {x.dtype} and {state.dtype}"
                    )
            return states
        self.check_input(x, batch_sizes)
        return tuple(zeros(*s, dtype=x.dtype, device=x.device) for s in self._state_shapes(x, batch_sizes))

    def _state_shapes(self, x: Tensor, batch_sizes: Tensor | None) -> list[Shape]:
        return [self.get_expected_hidden_size(x, batch_sizes)]

    def _returned(self, states: States) -> Any:
        return states[0]

    def extra_repr(self) -> str:
        shown = [f"{self.input_size}, {self.hidden_size}"]
        shown += [f"proj_size={self.proj_size}"] if self.proj_size else []
        shown += [f"num_layers={self.num_layers}"] if self.num_layers != 1 else []
        shown += [] if self.bias else ["bias=False"]
        shown += ["batch_first=True"] if self.batch_first else []
        shown += [f"dropout={self.dropout}"] if self.dropout else []
        return ", ".join(shown + (["bidirectional=True"] if self.bidirectional else []))


def _batch_told(batched: bool) -> str:
    return "batched 3-D" if batched else "unbatched 2-D"


def _check_options(mode: str, input_size: int, hidden_size: int, num_layers: int, dropout: Any, proj_size: int) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, Number) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError(
            f"dropout should be a number in range [0, 1] representing the probability of an element being "
            f"zeroed, not {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            f"dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    if mode not in _GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")
    sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
    for name, size in sizes.items():
        if not hasattr(size, "__index__"):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNN(RNNBase):
    """h ← tanh(W x + b + W' h + b'), or relu, over sequences (Elman 1990).

    Args:
        nonlinearity: "tanh" or "relu". The others: see RNNBase.

    Attributes:
        weight_ih_l0: (H, I). weight_hh_l0: (H, H). bias_ih_l0, bias_hh_l0: (H). And so on for other layers,
            whose input is D·H wide.
    """

    nonlinearity: str

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
        device: Any = None,
        dtype: Any = None,
        **other: Any,
    ) -> None:
        _refuse_projection("RNN", other)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """The gated recurrent unit over sequences (Cho et al. 2014): r, z = σ(W x + b + W' h + b'),
    n = tanh(W x + b + r (W' h + b')), h ← (1 - z) n + z h.

    Args: see RNNBase.

    Attributes:
        weight_ih_l0: (3H, I), for r, z and n. weight_hh_l0: (3H, H). bias_ih_l0, bias_hh_l0: (3H). And so on
            for other layers, whose input is D·H wide.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **other: Any,
    ) -> None:
        _refuse_projection("GRU", other)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )


def _refuse_projection(name: str, other: dict[str, Any]) -> None:
    """Only the LSTM can project its hidden state; no other keywords are known either."""
    if "proj_size" in other:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if other:
        raise TypeError(f"{name}.__init__() got an unexpected keyword argument {next(iter(other))!r}")


class LSTM(RNNBase):
    """Long short-term memory over sequences (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et
    al. 2000): i, f, o = σ(W x + b + W' h + b'), g = tanh(likewise), c ← f c + i g, h ← o tanh c.

    Args: see RNNBase. ``hx`` is a pair (h, c), and so is the last hidden state.

    Attributes:
        weight_ih_l0: (4H, I), for i, f, g and o. weight_hh_l0: (4H, P). bias_ih_l0, bias_hh_l0: (4H).
            weight_hr_l0: (P, H), if there is a ``proj_size``. And so on for other layers, whose input is D·P
            wide.
    """

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
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> Shape:
        """(L·D, B, H): the shape of the cell state for an input."""
        return *self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a pair of states that does not fit."""
        self.check_input(input, batch_sizes)
        for i, shape in enumerate(self._state_shapes(input, batch_sizes)):
            self.check_hidden_size(hidden[i], shape, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A pair of states with the batch in another order."""
        return _permuted(tuple(hx), permutation)

    def _states(self, hx: Any, batched: bool) -> States:
        if hx is None:
            return ()
        if len(hx) != 2:
            raise RuntimeError("LSTM expects two hidden states: hx must be a pair (h_0, c_0)")
        h, c = hx
        if h.dim() != 2 + batched or c.dim() != 2 + batched:
            raise RuntimeError(
                f"For {_batch_told(batched)} input, hx and cx should also be {2 + batched}-D but got "
                f"({h.dim()}-D, {c.dim()}-D) tensors"
            )
        return (h, c) if batched else (h.unsqueeze(1), c.unsqueeze(1))

    def _state_shapes(self, x: Tensor, batch_sizes: Tensor | None) -> list[Shape]:
        return [self.get_expected_hidden_size(x, batch_sizes), self.get_expected_cell_size(x, batch_sizes)]

    def _returned(self, states: States) -> Any:
        return states


# Cells ---------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share: parameters and checks.

    Args:
        input_size, hidden_size: I and H.
        bias: whether there are biases.
        num_chunks: how many times H rows the weights have.
        device, dtype: of the parameters.

    Attributes:
        weight_ih: (num_chunks·H, I), weight_hh: (num_chunks·H, H), bias_ih, bias_hh: (num_chunks·H) or None,
            all uniform in ±1/√H at first.
    """

    mode: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes = {
            "weight_ih": (rows, input_size),
            "weight_hh": (rows, hidden_size),
            "bias_ih": (rows,),
            "bias_hh": (rows,),
        }
        for name, shape in shapes.items():
            has = bias or name.startswith("weight")
            made = Parameter(empty(*shape, device=device, dtype=dtype)) if has else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, input: Tensor, states: tuple[Any, ...], mode: str, count: int = 1) -> States:
        """One step: (B, I), or (I), and ``count`` states (B, H), or (H), () for zeros -> the next states."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states):
            if state.dim() not in (1, 2):
                told = "hidden" if count == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {told} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        states = tuple(s if batched else s.unsqueeze(0) for s in states)
        self._check(x, states)
        if not states:
            states = (zeros(x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device),) * count
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None)
        found = _direction(mode, x, weights, states, (x.shape[0],), False)[1:]
        return found if batched else tuple(s.squeeze(0) for s in found)

    def _check(self, x: Tensor, states: States) -> None:
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        for i, state in enumerate(states):
            batch = state.shape[0] if state.dim() == 2 else state.numel()
            if state.dim() != 2 or batch != x.shape[0]:
                raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size {batch}")
            if state.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.shape[1]}, expected {self.hidden_size}"
                )
            if state.dtype != x.dtype:
                raise RuntimeError(f"input and hidden{i} must have the same dtype, but got {x.dtype} and {state.dtype}")

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """One step of an RNN: h' = tanh(W x + b + W' h + b'), or relu.

    Args:
        nonlinearity: "tanh" or "relu". The others: see RNNCellBase.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """input (B, I), or (I), and h (B, H), or (H), zeros if None -> the next h."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(input, () if hx is None else (hx,), f"RNN_{self.nonlinearity.upper()}")[0]

    def extra_repr(self) -> str:
        shown = super().extra_repr()
        return shown if self.nonlinearity == "tanh" else f"{shown}, nonlinearity={self.nonlinearity}"


class GRUCell(RNNCellBase):
    """One step of a GRU. See GRU for the formula, RNNCellBase for the arguments."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """input (B, I), or (I), and h (B, H), or (H), zeros if None -> the next h."""
        return self._step(input, () if hx is None else (hx,), "GRU")[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM. See LSTM for the formula, RNNCellBase for the arguments."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """input (B, I), or (I), and a pair h, c of (B, H), or (H), zeros if None -> the next h and c."""
        if isinstance(hx, Tensor):
            raise TypeError("LSTMCell: argument hx must be a tuple of Tensors (h, c), not a Tensor")
        if hx is not None and len(hx) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        h, c = self._step(input, () if hx is None else tuple(hx), "LSTM", 2)
        return h, c
