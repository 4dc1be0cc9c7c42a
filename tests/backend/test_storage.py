"""Storages: the bytes behind tensors, also in files, as in PyTorch."""

import copy
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.backend.storage import TypedStorage, UntypedStorage
from tests.support.cases import raises


def test_the_bytes_of_a_tensor_and_of_its_views_are_the_same() -> None:
    x = mg.arange(12.0).reshape(3, 4)
    storage = x.untyped_storage()
    assert (storage.nbytes(), len(storage), storage.element_size()) == (48, 48, 1)
    assert x.t()[1:].untyped_storage() == storage
    assert x.t()[1:].untyped_storage().data_ptr() == storage.data_ptr() == x.data_ptr()
    assert storage.tolist()[:8] == [0, 0, 0, 0, 0, 0, 128, 63]
    storage[7] = 64
    assert x[0, 1].item() == 4.0
    assert storage.untyped() is storage.cpu() is storage
    assert storage.clone() != storage
    assert copy.deepcopy(storage).tolist() == storage.tolist()
    assert mg.ones(2, 2).t().untyped_storage().tolist() == mg.ones(2, 2).untyped_storage().tolist()


def test_a_slice_is_a_new_storage_in_the_same_memory() -> None:
    x = mg.arange(12.0)
    part = x.untyped_storage()[4:12]
    assert (part.nbytes(), part.data_ptr() - x.data_ptr()) == (8, 4)
    tensor = mg.asarray(part, dtype=mg.uint8).view(dtype=mg.float32)
    assert tensor.tolist() == [1.0, 2.0]
    assert (tensor.storage_offset(), tensor.untyped_storage().nbytes()) == (0, 8)
    tensor[0] = 7.0
    assert x[1].item() == 7.0
    assert x.untyped_storage()[3:3].nbytes() == 0
    raises(RuntimeError, "only a step of 1", lambda: x.untyped_storage()[::2])


def test_elements_of_a_typed_storage() -> None:
    storage = mg.arange(3, dtype=mg.int16).storage()
    assert isinstance(storage, TypedStorage)
    assert (storage.size(), len(storage), storage.nbytes(), storage.element_size()) == (3, 3, 6, 2)
    assert (storage.tolist(), storage[2], storage.dtype) == ([0, 1, 2], 2, mg.int16)
    assert storage.untyped().nbytes() == 6
    raises(RuntimeError, "slices are only supported", lambda: storage[:1])


def test_a_tensor_shows_a_part_of_a_storage() -> None:
    x = mg.arange(12.0)
    view = mg.tensor([]).set_(x.untyped_storage(), 2, (2, 3), (4, 1))
    assert view.tolist() == [[2.0, 3.0, 4.0], [6.0, 7.0, 8.0]]
    assert mg.tensor([]).set_(x.storage(), 1, (2, 2)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert mg.tensor([]).set_(x.untyped_storage()).shape == (12,)
    assert mg.tensor([]).set_(x, 3, (2,), (3,)).tolist() == [3.0, 6.0]
    assert mg.ones(3).set_().shape == (0,)
    view[0, 0] = 9.0
    assert x[2].item() == 9.0
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 48"):
        mg.tensor([]).set_(x.untyped_storage(), 10, (5,))
    raises(RuntimeError, "expected a storage of dtype", lambda: mg.tensor([], dtype=mg.int32).set_(x.storage()))


def test_files_are_mapped(tmp_path: Path) -> None:
    """The mapping makes no copy, and changes reach the file if it is shared."""
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(32)))
    mine = UntypedStorage.from_file(str(file), shared=False, nbytes=32)
    assert mine.filename == str(file)
    assert mine.tolist() == list(range(32))
    tensor = mg.asarray(mine[8:16], dtype=mg.uint8)
    tensor[0] = 99
    assert mine[8] == 99
    assert file.read_bytes()[8] == 8
    shared = UntypedStorage.from_file(file, shared=True, nbytes=32)
    shared[8] = 55
    assert mg.from_file(file, dtype=mg.uint8, size=9)[8].item() == 55
    with pytest.raises(RuntimeError, match="smaller than the required mapping size <64>"):
        UntypedStorage.from_file(file, False, 64)


def test_bytes_are_filled_and_copied() -> None:
    assert UntypedStorage(2).fill_(3).tolist() == [3, 3]
    assert UntypedStorage(3).copy_(UntypedStorage([1, 2, 3])).tolist() == [1, 2, 3]
    assert UntypedStorage(3).resize_(3).nbytes() == 3
    raises(NotImplementedError, "cannot be resized", lambda: UntypedStorage(3).resize_(0))


def test_on_other_devices(device: str) -> None:
    x = mg.arange(4.0, device=device)
    storage = x[1:].untyped_storage()
    assert (storage.device.type, storage.nbytes()) == (device, 16)
    assert storage.cpu().tolist() == mg.arange(4.0).untyped_storage().tolist()
    assert mg.tensor([], device=device).set_(storage, 1, (2,)).tolist() == [1.0, 2.0]
    assert mg.empty(4, device="meta").untyped_storage().nbytes() == 16
    assert mg.empty(4, device="meta").untyped_storage().data_ptr() == 0
