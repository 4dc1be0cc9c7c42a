"""Checks of collectives of Python objects."""

import threading
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
import minigrad.distributed as dist
from minigrad.distributed import ProcessGroup
from minigrad.distributed.objects import of_first
from tests.support.ranks import at_least, raised


def _object(rank: int) -> dict[str, Any]:
    """A different length on each rank."""
    return {"rank": rank, "text": "é" * 1000 * rank, "nested": [None, (rank, {1.5})], "tensor": minigrad.ones(rank)}


def _same(one: Any, rank: int) -> None:
    expected = _object(rank)
    assert np.array_equal(one.pop("tensor").numpy(), expected.pop("tensor").numpy())
    assert one == expected


def check_broadcast_object_list(g: ProcessGroup) -> None:
    for root in range(g.size()):
        objects = [_object(root), root, None] if g.rank() == root else [None] * 3
        dist.broadcast_object_list(objects, root, g)
        _same(objects[0], root)
        assert objects[1:] == [root, None]
    objects = [g.rank()]
    dist.broadcast_object_list(objects, group=g, group_src=g.size() - 1)
    assert objects == [g.size() - 1]


def check_all_gather_object(g: ProcessGroup) -> None:
    objects: list[Any] = [None] * g.size()
    dist.all_gather_object(objects, _object(g.rank()), g)
    for rank, one in enumerate(objects):
        _same(one, rank)


def check_gather_object(g: ProcessGroup) -> None:
    for root in range(g.size()):
        objects: Any = [None] * g.size() if g.rank() == root else None
        dist.gather_object(_object(g.rank()), objects, root, g)
        for rank, one in enumerate(objects or []):
            _same(one, rank)


@at_least(2)
def check_another_number_of_objects(g: ProcessGroup) -> None:
    objects = [1] if g.rank() == 0 else [None, None]
    if g.rank() == 0:
        dist.broadcast_object_list(objects, 0, g)
    else:
        assert "1 objects" in raised(RuntimeError, lambda: dist.broadcast_object_list(objects, 0, g))
        assert objects == [None, None]
    check_all_gather_object(g)


def check_lists_of_another_length(g: ProcessGroup) -> None:
    for call in (
        lambda: dist.all_gather_object([None] * (g.size() + 1), 1, g),
        lambda: dist.gather_object(1, [], g.rank(), g),
        lambda: dist.gather_object(1, None, g.rank(), g),
    ):
        raised(ValueError, call)
    check_all_gather_object(g)


@at_least(2)
def check_nothing_happens_outside(g: ProcessGroup) -> None:
    group = dist.new_group([0])
    if g.rank() > 0:
        objects: list[Any] = ["mine"]
        dist.broadcast_object_list(objects, 0, group)
        dist.all_gather_object(objects, 1, group)
        dist.gather_object(1, objects, 0, group)
        assert objects == ["mine"]


def check_a_result_of_the_first_rank(g: ProcessGroup) -> None:
    calls = []
    assert of_first(lambda: calls.append(1) or "made", g) == "made"
    assert len(calls) == (g.rank() == 0)
    assert raised(FileNotFoundError, lambda: of_first(Path("/no/such/file").read_text, g))
    check_all_gather_object(g)


class _Odd(Exception):
    """An exception that pickle writes but cannot read."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class _Closed(Exception):
    """An exception that pickle cannot write."""

    def __reduce__(self) -> Any:
        raise TypeError("no")


def check_an_exception_that_does_not_travel(g: ProcessGroup) -> None:
    """The other ranks get an exception with the same text."""

    def make(error: Exception) -> Any:
        raise error

    for error in (_Closed("odd"), _Odd(1, 2)):
        message = raised(Exception, lambda error=error: of_first(lambda: make(error), g))
        assert str(error) in message, message
    check_all_gather_object(g)


def check_a_result_that_cannot_travel(g: ProcessGroup) -> None:
    """An object that pickle cannot write is an error on all ranks, not on one while the others wait."""
    raised(TypeError, lambda: dist.all_gather_object([None] * g.size(), threading.Lock(), g))
    if g.size() > 1:
        message = raised(Exception, lambda: of_first(threading.Lock, g))
        assert "pickle" in message, message
    check_all_gather_object(g)
