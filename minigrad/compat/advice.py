"""The text for a name that is not here: what to use instead, or the nearest that there is."""

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
    """What the error says: PyTorch's full name, and what to use instead or the nearest that there is.

    Args:
        place: where it was looked for: "minigrad.nn", "minigrad.Tensor".
        name: what was looked for.
    """
    wanted = names.public(place, name)
    text = f"minigrad has no {wanted}"
    if reason := absent(wanted.removeprefix("torch.")):
        return f"{text}: {reason}"
    near = nearest(place, name)
    return f"{text}; nearest: {near}" if near else text


def absent(path: str) -> str:
    """What to use instead of something that PyTorch has and minigrad has not; "" for other names."""
    parts = path.split(".")
    for count in range(1, len(parts) + 1):
        beginning = ".".join(parts[:count])
        for pattern, reason in ABSENT.items():
            if fnmatchcase(beginning, pattern):
                return reason
    return ""


def nearest(place: str, name: str) -> str:
    """The full name of what is spelt most like ``name``: in the same place, or just so in another; or ""."""
    found = difflib.get_close_matches(name, _public_names(place), n=1)
    if not found or found[0].lower() != name.lower():
        for path in _SEARCHED:
            if name in _public_names(f"minigrad.{path}".rstrip(".")):
                return names.public(f"minigrad.{path}".rstrip("."), name)
    return names.public(place, found[0]) if found else ""


def _public_names(place: str) -> list[str]:
    try:
        holder = Tensor if place == "minigrad.Tensor" else names.module_of(place)
    except ImportError:
        return []
    every = [*dir(holder), *names.others(place)]
    return [name for name in dict.fromkeys(every) if not name.startswith("_")]
