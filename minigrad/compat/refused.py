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


class RefusedType(type):
    """The class of a class that nothing belongs to: it can stand in annotations and in ``isinstance``.

    Args:
        name: PyTorch's full name.
        advice: what to use instead.
    """

    _text: str

    def __new__(cls, name: str, advice: str) -> RefusedType:
        """The class, called as the last part of its name."""
        text = f"minigrad has no {name}: {advice}"
        return super().__new__(cls, name.rpartition(".")[2], (), {"__doc__": f"Absent: {advice}.", "_text": text})

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(self.__name__, (), {})

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls._text)


Event = Refused("torch.cuda.Event", "call cuda.synchronize() and time.perf_counter()")
Stream = Refused("torch.cuda.Stream", "there are no streams of one's own; CuPy's current stream is used")
