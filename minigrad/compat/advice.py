"""The text of the error about a missing name: what to use instead, or the nearest name."""

from __future__ import annotations

import difflib
from fnmatch import fnmatchcase

from ..tensor import Tensor
from . import names
from .absent import ABSENT

_SEARCHED = (
    "",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "optim",
    "optim.lr_scheduler",
    "utils.data",
    "Tensor",
)


def missing(place: str, name: str) -> str:
    """The error's text: PyTorch's full name, and what to use instead or the nearest name.

    Args:
        place: the module, as "minigrad.nn", or "minigrad.Tensor".
        name: the name that it lacks.
    """
    wanted = names.public(place, name)
    text = f"minigrad has no {wanted}"
    if reason := absent(wanted.removeprefix("torch.")):
        return f"{text}: {reason}"
    near = nearest(place, name)
    return f"{text}; nearest: {near}" if near else text


def absent(path: str) -> str:
    """What to use instead of a path in ``ABSENT``; "" for other paths."""
    parts = path.split(".")
    for count in range(1, len(parts) + 1):
        beginning = ".".join(parts[:count])
        for pattern, reason in ABSENT.items():
            if fnmatchcase(beginning, pattern):
                return reason
    return ""


def nearest(place: str, name: str) -> str:
    """The full name that is spelt most like ``name`` in its place, or exactly like it in another; or ""."""
    close = difflib.get_close_matches(name, _public_names(place), n=1)
    if not close or close[0].lower() != name.lower():
        for path in _SEARCHED:
            if name in _public_names(f"minigrad.{path}".rstrip(".")):
                return names.public(f"minigrad.{path}".rstrip("."), name)
    return names.public(place, close[0]) if close else ""


def _public_names(place: str) -> list[str]:
    try:
        holder = Tensor if place == "minigrad.Tensor" else names.module_of(place)
    except ImportError:
        return []
    every = [*dir(holder), *names.others(place)]
    return [name for name in dict.fromkeys(every) if not name.startswith("_")]
