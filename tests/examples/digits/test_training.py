"""The digits that ship with the example; shifts, batches, and a training run."""

import math

import numpy as np

import minigrad as mg
from examples.digits import digits_data as data, train_digits as training
from examples.digits.digits_data import Digits, split
from examples.digits.shifts import all_ways, shifted
from examples.digits.train_digits import ARCHITECTURES, Batches, accuracy, read, train
from minigrad_models.training.progress import Progress


def test_all_digits() -> None:
    images, labels = data.load()
    assert images.shape == (1797, 8, 8) and images.dtype == np.float32
    assert images.min() == 0 and images.max() == 1 and np.array_equal(images * 16, np.round(images * 16))
    assert labels.shape == (1797,) and labels.dtype == np.int64
    of_uci = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # UCI's list for its test set
    assert np.bincount(labels).tolist() == of_uci
    inside, rim = images[labels == 0][:, 3:5, 3:5].mean(), images[labels == 0][:, 3:5, 2].mean()
    assert inside < 0.2 < 0.6 < rim  # a zero has a hole


def test_a_third_is_held_out() -> None:
    train, held_out = data.split(3)
    assert (len(train.labels), len(held_out.labels)) == (1198, 599)
    together = np.concatenate([train.images, held_out.images]).reshape(1797, -1)
    assert np.array_equal(sorted(map(tuple, together)), sorted(map(tuple, data.load().images.reshape(1797, -1))))
    assert np.array_equal(data.split(3)[1].images, held_out.images)
    assert not np.array_equal(data.split(4)[1].labels, held_out.labels)


DOT = np.zeros((1, 8, 8), np.float32)
DOT[0, 3, 6] = 1


def places(images: np.ndarray) -> list[list[int]]:
    """The row and column of the dot in each image, or [] if it moved out."""
    return [np.argwhere(image).ravel().tolist() for image in images]


def test_each_image_has_its_own_shift() -> None:
    steps = np.array([[0, 0], [2, 1], [-3, 0], [0, -2], [0, 2], [-4, 0]])
    moved = shifted(DOT.repeat(len(steps), 0), steps)
    assert places(moved) == [[3, 6], [5, 7], [0, 6], [3, 4], [], []] and moved.dtype == np.float32
    assert places(np.concatenate(all_ways(DOT, 1))) == [[3, 7], [3, 5], [4, 6], [2, 6]]
    assert len(all_ways(DOT, 0)) == 1 and np.array_equal(all_ways(DOT, 0)[0], DOT)


def test_batches_depend_only_on_seed_and_epoch() -> None:
    digits, _ = split(0)
    numbered = Digits(digits.images, np.arange(len(digits.labels)))
    first = [(x.numpy(), y.numpy()) for x, y in Batches(numbered, 2, 7).epoch(3)]
    again = [(x.numpy(), y.numpy()) for x, y in Batches(numbered, 2, 7).epoch(3, 5)]
    assert len(first) == 18 and len(again) == 13
    for one, other in zip(first[5:], again, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    for batches in (Batches(numbered, 2, 8).epoch(3), Batches(numbered, 2, 7).epoch(4)):
        assert not np.array_equal(next(batches)[1].numpy(), first[0][1])
    images, labels = (np.concatenate(parts) for parts in zip(*first, strict=True))
    assert len(set(labels.tolist())) == 18 * 64  # each digit at most once
    far = {(y, x) for y in range(-2, 3) for x in range(-2, 3)}
    ways = {way: shifted(digits.images[labels[:200]], np.array([way] * 200)) for way in far}
    reached = {way for i in range(200) for way in far if np.array_equal(ways[way][i], images[i])}
    assert reached == far


def test_a_training() -> None:
    digits, held_out = split(1)

    def fit(seed: int) -> training.Trained:
        with Progress(2 * 18, math.inf) as bar:
            return train("fully-connected", digits, held_out, 0, seed, 2, bar, 0.0)

    one = fit(5)
    assert one.updates == [*range(2, 37, 2)] and len(one.losses) == len(one.accuracies) == 18
    assert one.losses[-1] < 0.8 < 2 < one.losses[0] and one.accuracies[-1] > 0.8 and one.seconds > 0
    right = np.mean(read(one.model, held_out.images) == held_out.labels)
    assert one.accuracies[-1] == accuracy(one.model, held_out) == right and one.model.training
    other = fit(5)
    assert other.losses == one.losses and other.accuracies == one.accuracies
    assert fit(6).losses != one.losses


def test_accuracy_after_a_shift() -> None:
    """A network that predicts the row of the dot is right if the shift is zero or horizontal."""

    class Row(mg.nn.Module):
        def forward(self, images: mg.Tensor) -> mg.Tensor:
            return images.sum(2)

    assert [accuracy(Row(), Digits(DOT, np.array([3])), distance) for distance in (0, 1)] == [1, 0.5]


def test_all_architectures_have_the_same_size() -> None:
    sizes = [sum(p.numel() for p in one.build().parameters()) for one in ARCHITECTURES.values()]
    assert max(sizes) < 1.02 * min(sizes)
