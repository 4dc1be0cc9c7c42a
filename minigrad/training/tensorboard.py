"""The numbers of the log for TensorBoard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any


class Board(AbstractContextManager["Board"]):
    """Writes numbers to the folder "tensorboard" of a run, if that is ``enabled``. Numbers after ``step``, of a run
    that was killed, are discarded; if a disk refuses numbers, they are lost, and ``warn`` is called with a text. Raises
    ImportError: TensorBoard is not installed."""

    def __init__(self, folder: Path, step: int, enabled: bool, warn: Callable[[str], None]) -> None:
        self._writer: Any = None
        self._warn = warn
        if enabled:
            from ..utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(folder / "tensorboard", purge_step=step + 1)

    def add(self, numbers: dict[str, Any], step: int) -> None:
        """Write the numbers of a line: as "training/NAME", and those of an evaluation as "evaluation/NAME"."""
        with self._writing():
            for name, value in numbers.items() if self._writer else ():
                group, entries = (name, value) if isinstance(value, dict) else ("training", {name: value})
                for metric, number in entries.items():
                    if isinstance(number, float):
                        self._writer.add_scalar(f"{group}/{metric}", number, step)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._warn(f"warning: TensorBoard's log cannot be written: {error}")

    def __exit__(self, *raised: object) -> None:
        if self._writer is not None:
            with self._writing():
                self._writer.close()
