"""``torch.onnx``, which is absent: its functions say so when they are called."""

from __future__ import annotations

from .refused import Refused

__all__ = ["dynamo_export", "export"]

_ADVICE = "nothing records a program; save the state dict, which PyTorch loads, and export from there"
export = Refused("torch.onnx.export", _ADVICE)
dynamo_export = Refused("torch.onnx.dynamo_export", _ADVICE)


def is_in_onnx_export() -> bool:
    """False."""
    return False
