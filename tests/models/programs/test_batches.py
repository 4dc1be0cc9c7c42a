"""The tensors of a batch on a device: one copy moves them."""

import numpy as np

import minigrad as mg
from minigrad_models.programs.validation import moved, windows
from tests.support import launches
from tests.support.cases import raises


def test_one_copy_moves_all_tensors_of_one_dtype(device: str) -> None:
    source, target = mg.arange(6).view(2, 3), mg.arange(8).view(2, 4)
    with launches.count() as counts:
        parts = moved(device, source, target, target[:, :-1])
    assert counts.launches == counts.by_name["upload"] == (1 if device == "strict" else 0)  # not counted on a GPU
    for part, tensor in zip(parts, (source, target, target[:, :-1]), strict=True):
        assert part.device.type == device
        np.testing.assert_array_equal(part.numpy(force=True), tensor.numpy())
    with launches.count() as counts:
        batch = windows(np.arange(20), np.array([3, 9]), 4, device)
    assert counts.launches <= 1 and batch.weight == 8
    assert batch.tokens.tolist() == [[3, 4, 5, 6], [9, 10, 11, 12]]
    assert batch.targets.tolist() == [[4, 5, 6, 7], [10, 11, 12, 13]]
    raises(TypeError, "tensors to move must share a dtype", lambda: moved("meta", mg.zeros(2), mg.arange(2)))
