"""Python's ``multiprocessing``, under the name of ``torch.multiprocessing``; ``spawn`` for a world of one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

from ..extension import MissingName

__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> None:
    """Call ``fn(0, *args)``, in this process: a world of one needs no other.

    Raises:
        NotImplementedError: for more than one process.
    """
    if nprocs != 1:
        raise NotImplementedError(
            f"minigrad trains on one device: spawn(nprocs={nprocs}) is absent. Call it with nprocs=1, or use "
            "Python's multiprocessing for work that is not distributed"
        )
    fn(0, *args)


start_processes = spawn


def get_all_sharing_strategies() -> set[str]:
    """Tensors are sent by pickle."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """Kept for PyTorch's signature."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Tensors are sent by pickle whatever is set."""
    assert new_strategy in get_all_sharing_strategies()


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and hasattr(multiprocessing, name):
        return getattr(multiprocessing, name)
    raise MissingName(__name__, name)
