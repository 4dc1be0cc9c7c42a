"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence

from ...functions.creation import full
from ...tensor import Tensor


def pad_sequence(sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:  # fmt: skip
    """Tensors (L, ...) of different L as one (T, B, ...), or (B, T, ...), T being the longest; no gradients.

    Raises:
        ValueError: an unknown side. RuntimeError: no sequences, or axes after the first that differ.
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side must be 'left' or 'right', not {padding_side!r}")
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    rest = tuple(sequences[0].shape[1:])
    if any(tuple(s.shape[1:]) != rest for s in sequences):
        raise RuntimeError(
            f"pad_sequence: axes after the first must be equal, got {[tuple(s.shape) for s in sequences]}"
        )
    longest = max(len(s) for s in sequences)
    out = full(
        (len(sequences), longest, *rest), padding_value, dtype=sequences[0].dtype, device=sequences[0].device
    )
    for i, sequence in enumerate(sequences):
        start = longest - len(sequence) if padding_side == "left" else 0
        out[i, start : start + len(sequence)] = sequence
    return out if batch_first else out.transpose(0, 1)
