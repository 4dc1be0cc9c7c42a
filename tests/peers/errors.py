"""PyTorch's error inputs on minigrad: rejected clearly, rejected in another library's words, or accepted.

The database has error inputs for each operator. Inputs that PyTorch accepts after all, and inputs without a counterpart
(sparse tensors, say), are left out.
"""

import linecache
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch.testing._internal.common_methods_invocations import op_db

import minigrad

from .translation import NoCounterpart, Translation, counterpart

PACKAGE = str(Path(minigrad.__file__).parent)


@dataclass
class Refusal:
    """The outcome for an input that PyTorch rejects.

    Attributes:
        name: the operator's name.
        number: the input's number, from 0.
        verdict: "clear"; "others": the message is NumPy's or Python's; "accepted".
        theirs, ours: the libraries' messages.
    """

    name: str
    number: int
    verdict: str
    theirs: str
    ours: str


def refusals() -> Iterator[Refusal]:
    """All inputs that PyTorch rejects, for the operators that minigrad has."""
    for info in op_db:
        if info.error_inputs_func is None:
            continue
        try:
            ours = counterpart(info.name, info.op)
        except (AttributeError, NotImplementedError):
            continue
        with warnings.catch_warnings(), patch.object(torch, "empty", _ones):
            warnings.simplefilter("ignore")
            for number, error_input in enumerate(info.error_inputs("cpu")):
                refusal = _compare(info, number, ours, error_input.sample_input)
                if refusal is not None:
                    yield refusal


_empty = torch.empty


def _ones(*size: Any, **options: Any) -> torch.Tensor:
    """Replaces torch.empty, whose numbers are whatever the memory contains: the same error each time."""
    tensor = _empty(*size, **options)
    with torch.no_grad():
        return tensor.fill_(1) if tensor.layout == torch.strided else tensor


def _compare(info: Any, number: int, ours: Callable[..., Any], sample: Any) -> Refusal | None:
    """Compare one input on both libraries; None if it is not usable."""
    translate = Translation()
    try:
        args, kwargs = translate((sample.input, *sample.args)), translate(dict(sample.kwargs))
    except (NoCounterpart, ValueError):  # NumPy has no more than 64 axes
        return None
    try:
        info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:
        theirs = _line(error)
    else:
        return None
    try:
        result = ours(*args, **kwargs)
    except NoCounterpart:
        return None
    except Exception as error:
        return Refusal(info.name, number, "clear" if is_own(error) else "others", theirs, _line(error))
    return Refusal(info.name, number, "accepted", theirs, f"{type(result).__name__}")


def is_own(error: BaseException) -> bool:
    """Whether a message is minigrad's own: from a ``raise`` that does not pass on another library's words."""
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    path = trace.tb_frame.f_code.co_filename
    if not path.startswith(PACKAGE) or not linecache.getline(path, trace.tb_lineno).lstrip().startswith("raise"):
        return False
    cause = error.__cause__
    return cause is None or is_own(cause) or str(cause) not in str(error)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def summary(verdicts: Counter[str]) -> str:
    """The counts in one line."""
    clear, others, accepted = (verdicts[name] for name in ("clear", "others", "accepted"))
    return f"{verdicts.total()} inputs: {clear} rejected clearly, {others} in others' words, {accepted} accepted"
