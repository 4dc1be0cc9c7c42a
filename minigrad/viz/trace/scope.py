"""What the functions of a program call the values that they compute."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType

from ...tensor import Tensor
from ..graph.graph_names import variables

_BORDERS = ("minigrad.nn.module", "minigrad.nn.hooks", f"{__package__}.trace_record")  # what calls a module's forward
_SILENT: tuple[str, ...] = ("minigrad.autograd", "minigrad.backend", "minigrad.functions")
_SILENT += ("minigrad.nn", "minigrad.ops", "minigrad.tensor", "minigrad.viz", "numpy")
_SPEAKING = ("minigrad.nn.functional.multihead", "minigrad.nn.recurrent", "minigrad.nn.transformer")


def functions(frame: FrameType | None) -> Iterator[FrameType]:
    """The functions that are running since the innermost module was called, and that name what they compute."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module in _BORDERS:
            return
        if module in _SPEAKING or not any(f"{module}.".startswith(f"{silent}.") for silent in _SILENT):
            yield frame
        frame = frame.f_back


class Scope:
    """A call of a module: its name, and the functions that have run in it."""

    def __init__(self, name: str, path: str, start: int) -> None:
        self.name, self.path = name, path
        self.start = start  # the number of values before it
        self._frames: dict[FrameType, int] = {}  # each with the number of values before it was seen
        self._told: set[tuple[str, int]] = set()

    def within(self, name: str) -> str:
        """The full name of something in it."""
        return f"{self.name}.{name}" if self.name else name

    def bound(self, frame: FrameType | None, count: int) -> Iterator[tuple[str, Tensor, int]]:
        """The variables that have been bound to tensors since it was last asked, and how old these may be: an argument
        names nothing that was there before. Functions that do not run any more at ``frame`` (with none, all) are asked
        for the last time.

        Args:
            count: how many values there are now.
        """
        running = dict.fromkeys(functions(frame), count)
        self._frames = {**running, **self._frames}  # the innermost first
        for asked, first in list(self._frames.items()):
            code = asked.f_code
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            for name, value in variables(asked).items():
                if not isinstance(value, Tensor) or (name, id(value)) in self._told:
                    continue
                self._told.add((name, id(value)))
                if name.isidentifier() and not name.startswith("_"):
                    yield name, value, first if name in arguments else self.start
        self._frames = {asked: self._frames[asked] for asked in running}
