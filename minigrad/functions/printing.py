"""The text form of a tensor, like PyTorch's ``repr``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.tracebacks import is_ours
from ..backend import dtype as dt, of
from ..tensor import Tensor
from .define import attached


class Options:
    """How tensors are printed: the number of decimals, the number of elements above which they are summarized, how many
    elements are shown at each end of an axis, the line width, and whether exponents are always (or never) used."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = Options()
_PROFILES: dict[str, dict[str, float]]
_PROFILES = {"default": {}, "short": {"precision": 2, "edgeitems": 2}, "full": {"threshold": math.inf}}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed. The profile can be "default", "short" or "full"."""
    if profile is not None:
        vars(options).clear()
        vars(options).update(_PROFILES[profile])
    changes = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    vars(options).update({name: value for name, value in changes.items() if value is not None})
    options.sci_mode = sci_mode


@attached
def __repr__(tensor: Tensor) -> str:
    """ "tensor([1., 2.], requires_grad=True)": values in columns, with the middle of large axes omitted."""
    prefix = "tensor(" if is_ours(type(tensor)) else f"{type(tensor).__name__}("
    body, empty = "..." if tensor.is_meta else values_text(tensor, len(prefix)), tensor.numel() == 0
    suffixes = []
    device = tensor.device
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    if tensor.is_meta or (empty and tensor.ndim != 1):
        suffixes.append(f"size={tuple(tensor.shape)}")
    dtype = tensor.dtype
    usual = dtype in (dt.get_default_dtype(), dt.get_default_dtype().to_complex(), dt.int64, dt.bool_)
    if not usual or ((empty or tensor.is_meta) and dtype is not dt.get_default_dtype()):
        suffixes.append(f"dtype={dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{type(tensor.grad_fn).__name__}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    text = prefix + body
    length = len(text) - text.rfind("\n") + 1  # two more than the last line, as in PyTorch
    for suffix in suffixes:  # dtype etc., on a new line if they do not fit (the first one after ")")
        if length + len(suffix) + 2 > options.linewidth:
            text, length = f"{text},\n{' ' * len(prefix)}{suffix}", len(prefix) + len(suffix)
        else:
            text, length = f"{text}, {suffix}", length + len(suffix) + 2
    return text + ")"


def values_text(tensor: Tensor, indent: int) -> str:
    """The text of only a tensor's values, in brackets that begin in column ``indent``."""
    values = of(tensor.array).to_numpy(tensor.array)
    values = values.view(np.uint8) if tensor.dtype is dt.float4_e2m1fn_x2 else values
    if values.size == 0:
        return "[]"
    printed, summarise = values, values.size > options.threshold
    for axis, n in enumerate(values.shape):
        if summarise and n > 2 * options.edgeitems:
            printed = np.take(printed, [*range(options.edgeitems), *range(n - options.edgeitems, n)], axis)
    return _lines(values, *_formatter(printed.reshape(-1)), indent, summarise)


def _formatter(values: np.ndarray[Any, Any]) -> tuple[Any, int]:
    """A function that formats an element, and the width to which it pads the text."""
    if values.dtype.kind == "c":
        (real, left), (imag, right) = _formatter(values.real), _formatter(values.imag)
        return lambda v: f"{real(v.real)}{'' if (i := imag(v.imag).lstrip())[0] in '+-' else '+'}{i}j", left + right + 1
    if dt.kind_of(values) != "f":
        width = max(len(str(v)) for v in values.tolist())
        return lambda v: str(v).rjust(width), width
    finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    size = np.abs(finite)  # PyTorch's choice between "1.", "1.5000" and "1.5000e+10" depends on the range of the values
    top, bottom = float(size.max(initial=0)), float(size.min(initial=math.inf))
    whole, wide = bool((size == np.ceil(size)).all()), top / bottom > 1000 or top > 1e8
    scientific = wide or (bottom < 1e-4 and not whole) if options.sci_mode is None else options.sci_mode
    if whole and (not size.size or (not scientific and options.sci_mode is None)):
        text: Any = lambda v: f"{v:.0f}." if math.isfinite(v) else str(v)
    else:
        text = lambda v: f"{v:.{options.precision}{'e' if scientific else 'f'}}"
    width = max((len(text(v)) for v in finite.tolist()), default=1)  # zeros and infinities do not count, as in PyTorch
    return lambda v: text(v).rjust(width), width


def _lines(values: np.ndarray[Any, Any], text: Any, width: int, indent: int, summarise: bool) -> str:
    """Nested brackets, with the last axis wrapped at the line width."""
    if values.ndim == 0:
        return str(text(values.item()))
    n = len(values)
    cut = summarise and n > 2 * options.edgeitems
    indices = [*range(options.edgeitems), *range(n - options.edgeitems, n)] if cut else list(range(n))
    if values.ndim == 1:
        items = [text(values[i].item()) for i in indices]
        if cut:
            items.insert(options.edgeitems, " ...")
        per_line = max(1, (options.linewidth - indent) // (width + 2))
        rows = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(rows) + "]"
    parts = [_lines(values[i], text, width, indent + 1, summarise) for i in indices]
    if cut:
        parts.insert(options.edgeitems, "...")
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
