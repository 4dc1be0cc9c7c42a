"""Collectives of Python objects, sent as pickles. Use them only if ranks trust each other, as in a single job."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

from . import mpi
from .collectives import Rank, barrier, inside, root_of
from .group import OF_FIRST, Group, ProcessGroup, the_group

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object"]
T = TypeVar("T")


def _together(g: ProcessGroup) -> Any:
    """The communicator, returned once all ranks have arrived, as MPI's object calls would busy-wait for them."""
    barrier(g)
    return mpi.Alone if g.comm is None else g.comm


def broadcast_object_list(
    object_list: list[Any], src: Rank = None, group: Group = None, device: Any = None, group_src: Rank = None
) -> None:
    """Copy the objects of rank ``src`` to all ranks, in place. ``device`` is ignored. Raises RuntimeError if the list
    lengths differ between ranks."""
    if (g := inside(group)) is None:
        return
    root = root_of(g, src, group_src, "src")
    arrived = _together(g).bcast(object_list, root)
    if len(arrived) != len(object_list):
        raise RuntimeError(f"rank {g.ranks[root]} sends {len(arrived)} objects, but this list has {len(object_list)}")
    object_list[:] = arrived


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Store rank r's object at index r of all ranks' lists. Raises ValueError unless the list has an item per rank."""
    if (g := inside(group)) is not None:
        _check(object_list, g, "object_list")
        object_list[:] = _together(g).allgather(obj)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: Rank = None, group: Group = None, group_dst: Rank = None
) -> None:
    """Like ``all_gather_object``, but only rank ``dst`` receives the objects. Other ranks do not pass a list. Raises
    ValueError unless the list has an item per rank."""
    if (g := inside(group)) is None:
        return
    root = root_of(g, dst, group_dst, "dst")
    if g.number == root:
        _check(object_gather_list, g, "object_gather_list on rank dst")
    objects = _together(g).gather(obj, root)
    if g.number == root and object_gather_list is not None:
        object_gather_list[:] = objects


def of_first(make: Callable[[], T], group: Group = None) -> T:
    """Call a function only on rank 0. All ranks receive its result or exception."""
    g = the_group(group)
    if g.number != 0:
        value, error = pickle.loads(_together(g).bcast(None, 0))
        if error is not None:
            setattr(error, OF_FIRST, True)
            raise error
        return value
    try:
        value = make()
        data = pickle.dumps((value, None))
    except Exception as raised:
        try:
            data = pickle.dumps((None, raised))
            pickle.loads(data)
        except Exception:  # an error that cannot be pickled
            data = pickle.dumps((None, RuntimeError(f"{type(raised).__name__}: {raised}")))
        _together(g).bcast(data, 0)
        raise
    _together(g).bcast(data, 0)
    return value


def _check(objects: Any, g: ProcessGroup, what: str) -> None:
    if not isinstance(objects, list) or len(objects) != g.size():
        raise ValueError(f"{what} must be a list with one element for each of the {g.size()} ranks")
