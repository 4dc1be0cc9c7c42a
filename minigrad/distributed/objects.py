"""Collectives of Python objects, which travel as pickles: for ranks that trust each other, as those of one job do."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..autograd.tape import wrap
from ..tensor import Tensor
from . import collectives
from .group import OF_FIRST, ProcessGroup, is_outside, the_group
from .messages import recv, send

Group = ProcessGroup | int | None
T = TypeVar("T")


def _packed(value: Any) -> Tensor:
    return wrap(np.frombuffer(bytearray(pickle.dumps(value)), np.uint8))


def _unpacked(array: Any) -> Any:
    return pickle.loads(array.tobytes())


def _room(size: int) -> Tensor:
    return wrap(np.empty(size, np.uint8))


def _size(value: int = 0) -> Tensor:
    return wrap(np.array([value]))


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give all ranks the objects of rank ``src``, in place.

    Args:
        object_list: as long on all ranks. device: of no effect.

    Raises:
        RuntimeError: lists of different lengths.
    """
    if is_outside(group):
        return
    g = the_group(group)
    root = collectives._root(g, src, group_src, "src")
    found = _broadcast(_packed(object_list) if g.number == root else None, g, root)
    if found is not None:
        if len(found) != len(object_list):
            raise RuntimeError(f"rank {g.ranks[root]} broadcasts {len(found)} objects, and here are {len(object_list)}")
        object_list[:] = found


def _broadcast(data: Tensor | None, g: ProcessGroup, root: int) -> Any:
    """Send what the root has packed; the others get it. None on the root."""
    size = _size(0 if data is None else data.array.size)
    collectives.broadcast(size, group=g, group_src=root)
    room = _room(int(size.array[0])) if data is None else data
    collectives.broadcast(room, group=g, group_src=root)
    return _unpacked(room.array) if data is None else None


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Put the object of rank r into the r-th place of the list, on all ranks.

    Raises:
        ValueError: the list has another length than the group.
    """
    if is_outside(group):
        return
    g = the_group(group)
    _check(object_list, g, "object_list")
    data = _packed(obj)
    sizes = _room(0).new_zeros(g.size(), dtype=_size().dtype)
    collectives.all_gather_into_tensor(sizes, _size(data.array.size), group=g)
    most = int(sizes.array.max())
    padded, rows = np.zeros(most, np.uint8), wrap(np.empty((g.size(), most), np.uint8))
    padded[: data.array.size] = data.array
    collectives.all_gather_into_tensor(rows, wrap(padded), group=g)
    object_list[:] = [_unpacked(row[:size]) for row, size in zip(rows.array, sizes.array.tolist(), strict=True)]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """The same on rank ``dst`` alone; the others give no list.

    Raises:
        ValueError: the list has another length than the group.
    """
    if is_outside(group):
        return
    g = the_group(group)
    is_root = g.number == collectives._root(g, dst, group_dst, "dst")
    if is_root:
        _check(object_gather_list, g, "object_gather_list, on the rank dst,")
    objects = [None] * g.size()
    all_gather_object(objects, obj, g)
    if is_root and object_gather_list is not None:
        object_gather_list[:] = objects


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Put the r-th object of the list of rank ``src`` into the first place of the output of rank r.

    Raises:
        ValueError: the list has another length than the group, or the output no place.
    """
    if is_outside(group):
        return
    g = the_group(group)
    root = collectives._root(g, src, group_src, "src")
    if not scatter_object_output_list:
        raise ValueError("scatter_object_output_list must hold a place for the object")
    objects: list[Any] = [None] * g.size()
    if g.number == root:
        _check(scatter_object_input_list, g, "scatter_object_input_list, on the rank src,")
        objects = list(scatter_object_input_list or ())
    broadcast_object_list(objects, group=g, group_src=root)
    scatter_object_output_list[0] = objects[g.number]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group = None,
    device: Any = None,
    group_dst: int | None = None,
) -> None:
    """Send objects to a rank, which receives as many."""
    if is_outside(group):
        return
    data = _packed(object_list)
    send(_size(data.array.size), dst, group, group_dst=group_dst)
    send(data, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> int:
    """Receive objects, in place. Returns the rank that sent. Raises RuntimeError: another number of objects."""
    if is_outside(group):
        return -1
    size = _size()
    sender = recv(size, src, group, group_src=group_src)
    data = _room(int(size.array[0]))
    recv(data, sender, group)
    objects = _unpacked(data.array)
    if len(objects) != len(object_list):
        raise RuntimeError(f"rank {sender} sends {len(objects)} objects, and here are {len(object_list)}")
    object_list[:] = objects
    return sender


def of_first(make: Callable[[], T], group: Group = None) -> T:
    """What a function returns on rank 0, which alone calls it. All ranks get it, or its exception.

    Raises:
        Whatever ``make`` raises.
    """
    g = the_group(group)
    if g.number != 0:
        value, error = _broadcast(None, g, 0)
        if error is not None:
            setattr(error, OF_FIRST, True)
            raise error
        return value
    try:
        value = make()
        data = _packed((value, None))
    except Exception as raised:
        _broadcast(_packed((None, _sendable(raised))), g, 0)
        raise
    _broadcast(data, g, 0)
    return value


def _sendable(error: Exception) -> Exception:
    """The error, or one that says as much, if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _check(objects: Any, g: ProcessGroup, what: str) -> None:
    if not isinstance(objects, list) or len(objects) != g.size():
        raise ValueError(f"{what} must be a list with a place for each of {g.size()} ranks")
