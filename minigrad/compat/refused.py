"""Names that programs import but that cannot be had here: they say so when they are called."""

from __future__ import annotations

from typing import Any, NoReturn


class Refused:
    """A function or class that is absent.

    Args:
        name: PyTorch's full name.
        advice: what to use instead.
    """

    def __init__(self, name: str, advice: str) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = f"Absent: {advice}."
        self._text = f"minigrad has no {name}: {advice}"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(self._text)

    def __repr__(self) -> str:
        return f"<{self._text}>"


class _Refusing(type):
    _text: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls._text)

    def __repr__(cls) -> str:
        return f"<{cls._text}>"


def refused_class(name: str, advice: str) -> type:
    """A class that is absent: for annotations, ``isinstance`` and bases; nothing is one.

    Args:
        name: PyTorch's full name.
        advice: what to use instead.
    """
    text = f"minigrad has no {name}: {advice}"
    return _Refusing(name.rpartition(".")[2], (), {"__doc__": f"Absent: {advice}.", "_text": text})


Event = Refused("torch.cuda.Event", "call cuda.synchronize() and time.perf_counter()")
Stream = Refused("torch.cuda.Stream", "there are no streams of one's own; CuPy's current stream is used")
