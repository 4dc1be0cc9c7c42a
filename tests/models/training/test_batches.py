"""Batches are functions of the epoch."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest

import minigrad
from minigrad_models.training import LoaderBatches, ShuffledOrder
from minigrad_models.training.batches import Stream
from tests.support.cases import raises


def test_an_order_is_a_function_of_seed_and_epoch() -> None:
    order = ShuffledOrder(23, 4, seed=5)
    first, second = list(order.epoch(0)), list(order.epoch(1))
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(23))
    assert first != second and {frozenset(b) for b in first} != {frozenset(b) for b in second}
    assert [len(batch) for batch in first] == [4] * 5 + [3] and len(order) == 6
    assert first == list(ShuffledOrder(23, 4, seed=5).epoch(0)) != list(ShuffledOrder(23, 4, seed=6).epoch(0))
    for start in range(8):
        assert list(order.epoch(1, start)) == second[start:]


def test_other_orders() -> None:
    assert [len(rows) for rows in ShuffledOrder(5, 2).epoch(7)] == [2, 2, 1]
    assert [len(rows) for rows in ShuffledOrder(5, 2, drop_last=True).epoch(7)] == [2, 2]
    for size, batch_size in ((0, 2), (2, 0)):
        with pytest.raises(ValueError, match="cannot be split"):
            ShuffledOrder(size, batch_size)


def test_batches_of_similar_length() -> None:
    lengths = np.random.default_rng(1).integers(3, 100, 1003).tolist()
    order = ShuffledOrder(1003, 8, seed=3, lengths=lengths)
    batches = list(order.epoch(2))
    assert sorted(i for batch in batches for i in batch) == list(range(1003)) and len(batches) == len(order) == 126
    assert {len(batch) for batch in batches} == {8, 3}
    spread = np.mean([np.ptp([lengths[i] for i in batch]) for batch in batches])
    assert spread < 5  # of 97
    assert list(order.epoch(2, 100)) == batches[100:] and list(order.epoch(3)) != batches
    assert list(ShuffledOrder(1003, 8, seed=4, lengths=lengths).epoch(2)) != batches


def test_loader_batches() -> None:
    data = [[i, i * i] for i in range(10)]
    before = minigrad.default_generator.get_state()
    batches = LoaderBatches(data, 3, minigrad.tensor, seed=1)
    whole = [batch.tolist() for batch in batches.epoch(2)]
    assert sorted(chain(*whole)) == data
    assert [batch.tolist() for batch in batches.epoch(2, 2)] == whole[2:]
    assert (minigrad.default_generator.get_state() == before).all(), "the model's random numbers are its own"


def test_a_loader_accepts_another_order() -> None:
    class Order:
        def epoch(self, number: int, start: int = 0) -> Iterator[list[int]]:
            yield from [[number, 1], [2, 3]][start:]

    batches = [batch.tolist() for batch in LoaderBatches([5, 6, 7, 8], Order()).epoch(3)]
    assert batches == [[8, 6], [7, 8]]


def test_a_stream_resumes_from_any_place_unless_an_epoch_is_empty() -> None:
    order = ShuffledOrder(7, 2, seed=1)
    stream = Stream(order)
    places, batches = [], []
    for _ in range(11):
        places.append((stream.epoch, stream.batch))
        batches.append(stream.take())
    assert batches == [*order.epoch(0), *order.epoch(1), *list(order.epoch(2))[:3]]
    for i, place in enumerate(places):
        again = Stream(order, *place)
        assert [again.take() for _ in batches[i:]] == batches[i:]
    closed: list[bool] = []

    class Watched:
        def epoch(self, number: int, start: int = 0) -> Iterator[int]:
            try:
                yield from range(5)
            finally:
                closed.append(True)

    watched = Stream(Watched())
    watched.take()
    watched.close()
    assert closed == [True]

    class Empty:
        def epoch(self, number: int, start: int = 0) -> Iterator[int]:
            return iter(range(2) if number == 0 else [])

    empty = Stream(Empty())
    empty.take(), empty.take()
    raises(ValueError, "epoch 1 has no batches", empty.take)
