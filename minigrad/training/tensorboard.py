"""The log's numbers for TensorBoard, where they are wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


class Board:
    """Writes numbers to the folder "tensorboard" of a run; one that is not ``wanted`` does nothing.

    Args:
        folder: of the run. step: what was written after it, by a run that was killed, is forgotten.
        told: called with a text when a disk refuses the numbers, which are then lost.

    Raises:
        ImportError: TensorBoard is wanted, and not installed.
    """

    def __init__(self, folder: Path, step: int, wanted: bool, told: Callable[[str], None]) -> None:
        self._writer: Any = None
        self._told = told
        if wanted:
            from ..utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(folder / "tensorboard", purge_step=step + 1)

    def add(self, numbers: dict[str, Any], step: int) -> None:
        """Write the numbers of a line: as "training/NAME", and an evaluation's as "evaluation/NAME"."""
        if self._writer is None:
            return
        try:
            for name, value in numbers.items():
                inner = value if isinstance(value, dict) else {}
                for metric, number in inner.items():
                    self._writer.add_scalar(f"{name}/{metric}", number, step)
                if isinstance(value, float):
                    self._writer.add_scalar(f"training/{name}", value, step)
        except OSError as error:
            self._told(f"warning: TensorBoard's log cannot be written: {error}")

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._writer is not None:
            try:
                self._writer.close()
            except OSError as error:
                self._told(f"warning: TensorBoard's log cannot be written: {error}")
