"""The cells of recurrent layers: one step of an RNN, an LSTM or a GRU. ``nn/recurrent.py`` explains shape letters."""

from __future__ import annotations

from typing import Any

from ...functions.creation import zeros
from ...nn.recurrent import _GATES, States, _direction, _Recurrent, _shapes
from ...tensor import Tensor

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(_Recurrent):
    """The base class of the cells, with their parameters and checks. Args: see RNNBase; G is ``num_chunks``.
    Attributes: weight_ih (G·H, I); weight_hh (G·H, H); bias_ih and bias_hh, (G·H) or None."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        none = {} if bias else {"bias_ih": None, "bias_hh": None}
        self._add_parameters(device, dtype, **_shapes(num_chunks, input_size, hidden_size, bias), **none)

    def _step(self, input: Tensor, states: tuple[Any, ...], mode: str) -> States:
        """Return the next states for an input (B, I) or (I), and states (B, H) or (H), which default to zeros."""
        for value in (input, *states):
            if value.dim() not in (1, 2):
                problem = f"Expected {'input' if value is input else 'hx'} to be 1D or 2D, got {value.dim()}D instead"
                raise ValueError(f"{self._get_name()}: {problem}")
        batched = input.dim() == 2
        x, *initial = (t if batched else t.unsqueeze(0) for t in (input, *states))
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        shape = (x.shape[0], self.hidden_size)
        for i, state in enumerate(initial):
            if tuple(state.shape) != shape:
                problem = f"got {tuple(state.shape)}, expected (batch size, hidden_size) = {shape}"
                raise RuntimeError(f"hidden{i} has inconsistent shape: {problem}")
            if state.dtype != x.dtype:
                raise RuntimeError(f"input and hidden{i} must have the same dtype, but got {x.dtype} and {state.dtype}")
        if not initial:
            initial = [zeros(shape, dtype=x.dtype, device=x.device)] * (2 if mode == "LSTM" else 1)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None)
        _, *ends = _direction(mode, x, weights, tuple(initial), (x.shape[0],), False)
        return tuple(s if batched else s.squeeze(0) for s in ends)


class RNNCell(RNNCellBase):
    """One step of an RNN: f(W x + b + W' h + b'), where f is tanh or relu. Args: see RNNCellBase."""

    _usual = {"bias": True, "nonlinearity": "tanh"}
    _repr_fields = ("input_size", "hidden_size", *_usual)

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
        """Return the next h for an input (B, I) or (I), and ``hx`` (B, H) or (H), which defaults to zeros."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(input, () if hx is None else (hx,), f"RNN_{self.nonlinearity.upper()}")[0]


class GRUCell(RNNCellBase):
    """One step of a GRU. See GRU for the formula and RNNCellBase for the arguments."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, _GATES["GRU"], device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next h for an input (B, I) or (I), and ``hx`` (B, H) or (H), which defaults to zeros."""
        return self._step(input, () if hx is None else (hx,), "GRU")[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM. See LSTM for the formula and RNNCellBase for the arguments."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, _GATES["LSTM"], device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return the next (h, c) for an input (B, I) or (I), and (h, c), both (B, H) or (H), which default to zeros."""
        if isinstance(hx, Tensor):
            raise TypeError("LSTMCell: argument hx must be a tuple of Tensors (h, c), not a Tensor")
        if hx is not None and len(hx) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        h, c = self._step(input, () if hx is None else tuple(hx), "LSTM")
        return h, c
